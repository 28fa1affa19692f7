"""Counting: words by ourselves in a process that has just started, and whole texts by tiktoken in one that has not.

tiktoken takes 0.15 s of the processor, holding the interpreter for most of it, and 84 MB before it counts its first
word; a cold start cannot hide that. Nearly every word of a text is one token, though, and to know it a look into the
vocabulary is enough. So a process begins without tiktoken, which counts faster once it is there, and begins to load it,
beside its requests, when it has lost a second without it: by then its time and memory are worth having. What is slow or
uncertain to do here waits for tiktoken at once: large texts, words of over 300 bytes, and characters on which the two
regular expression engines disagree.
"""

import functools
import importlib.resources
import re
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from diffmem.tokens.vocabulary import ABSENT, Vocabulary

if TYPE_CHECKING:
    import tiktoken

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
# Characters that `regex` knows as letters, marks or numbers and tiktoken's engine, of Unicode 16, does not, and then
# some beside them, so that the ranges are few. A surrogate alone is no character at all: tiktoken replaces it.
UNSETTLED = re.compile(
    "[\u0295\u0558\u058b\u058c\u05c8\u05c9\u088f\u0b53\u0b54\u0c5c\u0cdc\u1acf-\u1af0\u208f\u209d-\u209f\ua7ce-\ua7f1"
    "\uab6c\uab6d\ud800-\udfff\U000107bb-\U0001d3ff\U0001d6a6\U0001df1f-\U0001efff\U0002b000-\U0010ffff]"
)
# A character takes 0.1 us longer here than by tiktoken, and a byte of a word that has to be merged 20 times that.
_LOADING_CHARS, _MERGED_BYTE_CHARS = 10_000_000, 20
_LONG_WORD_BYTES = 300  # merging takes the square of it: 1 ms
_REMEMBERED_WORDS, _REMEMBERED_CHARS = 8192, 64
# tiktoken takes a second for a word of two megabytes, which nothing can interrupt, and panics on a million blanks.
_LARGE_TEXT_CHARS, _PORTION_CHARS = 200_000, 10_000


class Counter:
    """Counts tokens; thread-safe, for one process."""

    def __init__(self, loading_chars: int = _LOADING_CHARS) -> None:
        """Load tiktoken when it has counted `loading_chars` characters of plain words itself."""
        self._left = loading_chars
        self._lock = threading.Lock()
        self._encoding: tiktoken.Encoding | None = None
        self._rank = functools.lru_cache(_REMEMBERED_WORDS)(self._vocabulary_rank)
        self._remembered_length = functools.lru_cache(_REMEMBERED_WORDS)(self._word_length)

    def count(self, text: str) -> int:
        """The number of o200k_base tokens of `text`, special tokens counted as the plain text they are.

        Only a text of over 200,000 characters may be some tokens off, and that where one of its words has over 10,000
        characters: by one or two, and rarely too few, for each 10,000 of them.
        """
        large = len(text) > _LARGE_TEXT_CHARS
        if large and max(map(len, self._words(text))) > _PORTION_CHARS:
            return sum(map(self._portioned_length, self._words(text)))
        if large or self._encoding is not None or UNSETTLED.search(text):
            return len(self.load().encode_ordinary(text))
        self._spend(len(text))
        return sum(map(self._remembered_length, self._words(text)))

    def load(self) -> "tiktoken.Encoding":
        """tiktoken, which counts from now on."""
        with self._lock:
            if self._encoding is None:
                import tiktoken

                self._encoding = tiktoken.Encoding(
                    "o200k_base",
                    pat_str=_PATTERN,
                    mergeable_ranks=self._vocabulary.ranks(),
                    special_tokens=_SPECIAL_TOKENS,
                )
        return self._encoding

    @functools.cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary((importlib.resources.files("diffmem") / "data" / "o200k_base.vocabulary").read_bytes())

    @functools.cached_property
    def _words(self) -> Callable[[str], list[str]]:
        import regex

        words: Callable[[str], list[str]] = regex.compile(_PATTERN).findall
        return words

    def _vocabulary_rank(self, token: bytes) -> int:
        return self._vocabulary.rank(token)

    def _spend(self, chars: int) -> None:
        before, self._left = self._left, self._left - chars
        if before > 0 >= self._left:
            threading.Thread(target=self.load, name="tiktoken", daemon=True).start()

    def _portioned_length(self, word: str) -> int:
        if len(word) <= _REMEMBERED_CHARS:
            return self._remembered_length(word)
        portions = [word[at : at + _PORTION_CHARS] for at in range(0, len(word), _PORTION_CHARS)]
        return sum(map(self._word_length, portions)) + len(portions) - 1

    def _word_length(self, word: str) -> int:
        data = word.encode("utf-8", "surrogatepass")
        if self._rank(data) != ABSENT:
            return 1
        if self._encoding is not None or len(data) > _LONG_WORD_BYTES:
            return len(self.load().encode_ordinary(word))
        self._spend(_MERGED_BYTE_CHARS * len(data))
        return len(self._merged(data))

    def _merged(self, data: bytes) -> Sequence[bytes]:
        """The tokens of a word: of all neighbours the pair of the least rank is joined, again and again."""
        parts = [data[at : at + 1] for at in range(len(data))]
        ranks = [self._rank(left + right) for left, right in pairwise(parts)]
        while ranks and (least := min(ranks)) != ABSENT:
            at = ranks.index(least)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
            del ranks[at]
            if at > 0:
                ranks[at - 1] = self._rank(parts[at - 1] + parts[at])
            if at < len(ranks):
                ranks[at] = self._rank(parts[at] + parts[at + 1])
        return parts


count = Counter().count
