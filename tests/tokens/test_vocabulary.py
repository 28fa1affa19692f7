import hashlib
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.tokens.vocabulary import ABSENT, Vocabulary, pack
from tests.support.published_ranks import SHA256, published, vocabulary_file

SHIPPED = Vocabulary(vocabulary_file())
RANKS = SHIPPED.ranks()


def test_the_tokens_that_ship_are_those_that_are_published() -> None:
    assert hashlib.sha256(published()).hexdigest() == SHA256


def test_the_file_that_ships_is_the_one_that_would_be_made_of_them() -> None:
    assert pack(RANKS) == vocabulary_file()


def test_every_token_is_found_under_its_rank() -> None:
    assert all(SHIPPED.rank(token) == rank for token, rank in RANKS.items())


@given(st.binary(max_size=12))
def test_what_is_no_token_is_absent(token: bytes) -> None:
    assert SHIPPED.rank(token) == RANKS.get(token, ABSENT)


@given(st.sets(st.binary(max_size=6)).map(sorted))
def test_any_tokens_can_be_packed(tokens: list[bytes]) -> None:
    ranks = {token: rank for rank, token in enumerate(tokens)}
    found = Vocabulary(pack(ranks))
    assert found.ranks() == ranks
    assert [found.rank(token) for token in tokens] == list(range(len(tokens)))


@pytest.mark.parametrize("data", [b"", b"\0\0\0\0", vocabulary_file()[:1_000_000]])
def test_a_file_cut_short_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="cut short"):
        Vocabulary(data)


def test_the_numbers_are_little_endian() -> None:
    assert pack({b"a": 0, b"b": 1})[:4] == b"\2\0\0\0"
    assert array("I").itemsize == 4
