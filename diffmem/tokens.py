"""Exact token counts with tiktoken's o200k_base, without a network.

The rank file ships in `diffmem/data` under the name tiktoken looks for (the SHA-1 of its URL). It is read here and not
by tiktoken, which takes twice as long and would download what it does not find. That still takes 0.15 s and 84 MB, so
`preload` does it in a thread behind the first storage wait, and `upper_bound` serves a request whose time is over
before it is there.
"""

import functools
import importlib.resources
import re
import threading
import time
from binascii import a2b_base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken

_RANKS = "fb374d419588a4632f3f557e76b4b70aebbca790"
_PORTION_BYTES = 8 * 1024
_SPECIAL_TOKENS = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
# tiktoken_ext.openai_public.o200k_base, the function, has these; a test compares.
_PATTERN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
# tiktoken's regular expression overflows its stack, and panics, on a million blanks in a row.
_LONG_BLANK = re.compile(r"(\s{10000})")


@functools.cache
def encoding() -> "tiktoken.Encoding":
    """o200k_base, read once a process."""
    import tiktoken  # at first use: nobody needs it before the thread of `preload`

    ranks: dict[bytes, int] = {}
    with (importlib.resources.files("diffmem") / "data" / _RANKS).open("rb") as file:
        while words := (file.read(_PORTION_BYTES) + file.readline()).split():
            ranks.update(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))
            time.sleep(0)  # a thread that waits for its turn would be given it after 5 ms only, each time
    return tiktoken.Encoding("o200k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens=_SPECIAL_TOKENS)


def preload() -> threading.Thread:
    """Start loading the rank file; the thread ends when `count` no longer has to wait."""
    thread = threading.Thread(target=encoding, name="tokens-preload", daemon=True)
    thread.start()
    return thread


def count(text: str) -> int:
    """The number of o200k_base tokens of `text`, special tokens counted as the plain text they are."""
    found = encoding()
    return sum(len(found.encode_ordinary(piece)) for piece in _LONG_BLANK.split(text) if piece)


def upper_bound(text: str) -> int:
    """A number that `count(text)` never exceeds, without the rank file: a token covers at least one byte of UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))
