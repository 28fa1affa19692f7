"""DiffMem: a git repository of Markdown files as the memory of an AI assistant, served by one stateless function."""

__version__ = "0.1.0"
