"""The words that a model is told, from the files of `diffmem/prompts`."""

import functools
import importlib.resources


@functools.cache
def prompt(name: str) -> str:
    """The text of `diffmem/prompts/{name}.md`, without the line feed at its end."""
    return (importlib.resources.files("diffmem") / "prompts" / f"{name}.md").read_text("utf-8").rstrip("\n")
