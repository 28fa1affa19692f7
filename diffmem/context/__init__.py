"""Pointers into memory become text for a prompt, within a budget of tokens.

What came out of memory stands in a frame that says so, and cannot pose as the frame, as a heading or as another
block (`headings` says how). The budget holds for every character of the text, and the same plan, head and budget give
the same text.
"""

from diffmem.context.resolve import resolve
from diffmem.context.types import Block, Resolved

__all__ = ["Block", "Resolved", "resolve"]
