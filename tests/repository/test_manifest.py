"""The manifest's encoding: what goes in comes out, and nothing else ever does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.errors import CorruptObject
from diffmem.git.packs import Pack
from diffmem.repository.manifest import Manifest, StoredPack, decode, encode

HEX = "0123456789abcdef"
NAME = "v1/6f1c/m"

numbers = st.integers(0, 2**53)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def digits(length: int) -> st.SearchStrategy[str]:
    return st.text(HEX, min_size=length, max_size=length)


stored_packs = st.builds(StoredPack, text, digits(64), digits(64), numbers, numbers, numbers, numbers)
packs = st.builds(Pack, st.binary(max_size=80), st.binary(max_size=80))
manifests = st.builds(
    Manifest,
    user=text,
    id=digits(32),
    epoch=numbers,
    seq=numbers,
    gc=numbers,
    head=digits(40),
    commits=numbers,
    head_recorded_at=numbers,
    packs=st.lists(stored_packs, max_size=4).map(tuple),
    tail=st.lists(packs, max_size=4).map(tuple),
    erase_pending=st.lists(text, max_size=3).map(tuple),
)


@given(manifests)
def test_a_manifest_comes_back_as_it_was(manifest: Manifest) -> None:
    assert decode(encode(manifest), NAME) == manifest


@given(manifests)
def test_the_same_manifest_is_always_the_same_bytes(manifest: Manifest) -> None:
    assert encode(manifest) == encode(decode(encode(manifest), NAME))


@given(manifests, st.data())
def test_a_truncated_manifest_is_a_corrupt_object_that_is_named(manifest: Manifest, data: st.DataObject) -> None:
    whole = encode(manifest)
    with pytest.raises(CorruptObject, match=NAME):
        decode(whole[: data.draw(st.integers(0, len(whole) - 1))], NAME)


@given(manifests, st.data())
def test_a_changed_byte_is_a_corrupt_object_that_is_named(manifest: Manifest, data: st.DataObject) -> None:
    changed = bytearray(encode(manifest))
    changed[data.draw(st.integers(0, len(changed) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(CorruptObject, match=NAME):
        decode(bytes(changed), NAME)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_manifest_are_a_corrupt_object(data: bytes) -> None:
    with pytest.raises(CorruptObject, match=NAME):
        decode(data, NAME)


def test_a_manifest_of_a_later_version_is_refused_by_name() -> None:
    import hashlib

    manifest = Manifest("u", "0" * 32, 0, 0, 0, "0" * 40, 1, 0)
    body = encode(manifest)[:-32].replace(b'"v":1', b'"v":2')
    with pytest.raises(CorruptObject, match="version 2"):
        decode(body + hashlib.sha256(body).digest(), NAME)
