"""A byte-pair vocabulary in one file that needs no parsing: a token is found in it by its hash.

tiktoken's own file is lines of Base64, and takes 0.1 s to become a dictionary of 200,000 tokens and 60 MB. This one
holds the same tokens as four arrays, each number an unsigned 32-bit little-endian integer:

    count                     how many tokens there are; their ranks are 0 to count - 1
    starts[BUCKETS + 1]       where a bucket begins in `ranks`; a token's bucket is its CRC-32 modulo BUCKETS
    ranks[count]              the ranks, bucket by bucket
    offsets[count + 1]        where the token of a rank begins in `bytes`
    bytes                     the tokens, one after another

`python -m diffmem.tokens.vocabulary o200k_base.tiktoken diffmem/data/o200k_base.vocabulary` makes it of tiktoken's.
"""

import sys
from array import array
from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from zlib import crc32

ABSENT = 1 << 32
_BUCKETS = 1 << 17
_NUMBER_BYTES = 4


class Vocabulary:
    """The tokens of one file; thread-safe, for it is only read."""

    def __init__(self, data: bytes) -> None:
        """Raises ValueError for what `pack` did not make."""
        count = int.from_bytes(data[:_NUMBER_BYTES], "little")
        sizes = (1, _BUCKETS + 1, count, count + 1)
        ends = [_NUMBER_BYTES * end for end in accumulate(sizes)]
        if len(data) < ends[-1]:
            raise ValueError("not a vocabulary, or cut short")
        self._starts, self._ranks, self._offsets = (_numbers(data[start:end]) for start, end in pairwise(ends))
        self._bytes = data[ends[-1] :]

    def rank(self, token: bytes) -> int:
        """The rank of `token`, or `ABSENT`, which is more than any rank."""
        bucket = crc32(token) % _BUCKETS
        for rank in self._ranks[self._starts[bucket] : self._starts[bucket + 1]]:
            if self._bytes[self._offsets[rank] : self._offsets[rank + 1]] == token:
                return rank
        return ABSENT

    def ranks(self) -> dict[bytes, int]:
        """All tokens with their ranks: what tiktoken is made of."""
        return {self._bytes[start:end]: rank for rank, (start, end) in enumerate(pairwise(self._offsets))}


def pack(ranks: Mapping[bytes, int]) -> bytes:
    """The file of the tokens `ranks`, whose ranks are 0 and up without a gap."""
    tokens = sorted(ranks, key=ranks.__getitem__)
    buckets: list[list[int]] = [[] for _ in range(_BUCKETS)]
    for rank, token in enumerate(tokens):
        buckets[crc32(token) % _BUCKETS].append(rank)
    starts = accumulate(map(len, buckets), initial=0)
    offsets = accumulate(map(len, tokens), initial=0)
    numbers = array("I", [len(tokens), *starts, *(rank for bucket in buckets for rank in bucket), *offsets])
    return _little_endian(numbers).tobytes() + b"".join(tokens)


def _numbers(data: bytes) -> Sequence[int]:
    return _little_endian(array("I", data))


def _little_endian(numbers: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


if __name__ == "__main__":
    words = Path(sys.argv[1]).read_bytes().split()
    Path(sys.argv[2]).write_bytes(pack(dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))))
