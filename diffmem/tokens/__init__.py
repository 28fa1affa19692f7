"""Exact token counts with tiktoken's o200k_base, without a network.

counting      `count`: by ourselves while that is cheaper, by tiktoken from then on; the tests hold the two equal
vocabulary    the tokens in a file that is looked up and not parsed
"""

from diffmem.tokens.counting import Counter, count

__all__ = ["Counter", "count"]
