"""Exact token counts with tiktoken's o200k_base, without a network.

The rank file ships in `diffmem/data` under the name tiktoken looks for (the SHA-1 of its URL). Loading it takes about 0.3 s
and 84 MB, so `preload` does it in a thread behind the first storage wait, and `upper_bound` serves a request whose time is
over before it is there.
"""

import functools
import importlib.resources
import os
import re
import threading

import tiktoken

# tiktoken's regular expression overflows its stack, and panics, on a million blanks in a row.
_LONG_BLANK = re.compile(r"(\s{10000})")


@functools.cache
def _encoding() -> tiktoken.Encoding:
    # tiktoken knows no other way to be told where the file is; it would download it, with no time-out, to elsewhere.
    os.environ["TIKTOKEN_CACHE_DIR"] = str(importlib.resources.files("diffmem") / "data")
    return tiktoken.get_encoding("o200k_base")


def preload() -> threading.Thread:
    """Start loading the rank file; the thread ends when `count` no longer has to wait."""
    thread = threading.Thread(target=_encoding, name="tokens-preload", daemon=True)
    thread.start()
    return thread


def count(text: str) -> int:
    """The number of o200k_base tokens of `text`, special tokens counted as the plain text they are."""
    encoding = _encoding()
    return sum(len(encoding.encode_ordinary(piece)) for piece in _LONG_BLANK.split(text) if piece)


def upper_bound(text: str) -> int:
    """A number that `count(text)` never exceeds, without the rank file: a token covers at least one byte of UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))
