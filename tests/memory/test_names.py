"""Slugs and the comparison of names."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.memory.names import free_slug, name_key, slug


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Maya", "maya"),
        ("Zoë O'Neil", "zoë-o-neil"),
        ("Zoe\u0308 O'Neil", "zoë-o-neil"),
        ("../../etc/passwd", "etc-passwd"),
        ("a\\b:c*d", "a-b-c-d"),
        ("  .git  ", "git-name"),
        ("CON", "con-name"),
        ("com¹", "com1-name"),
        ("Index", "index-name"),
        ("profile", "profile-name"),
        ("Straße", "strasse"),
        ("会社", "会社"),
        ("МАЙЯ", "майя"),
        ("हिन्दी", "हिन्दी"),
        ("🎉", "party-popper"),
        ("🎉 party", "party"),
        ("C++", "c"),
        ("ﬁne", "fine"),
        ("a\u200bb", "ab"),
    ],
)
def test_a_name_becomes_a_file_name_in_its_own_script(name: str, expected: str) -> None:
    assert slug(name) == expected


@pytest.mark.parametrize(
    "name", ["x" * 300, "会" * 300, "é" * 300, "a" + "\u0301" * 300, "", "\x00", "...", "///", "\u202e", "-"]
)
def test_no_name_is_too_long_or_too_odd(name: str) -> None:
    assert re.fullmatch(r"[^\W_](?:[\w\u0300-\u036f-]*[^\W_]|[\u0300-\u036f])*", slug(name))
    assert len(slug(name)) <= 65


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_a_slug_is_stable_and_safe_on_every_file_system(name: str) -> None:
    made = slug(name)
    assert slug(made.removesuffix("-name")) == made
    assert made == unicodedata.normalize("NFC", made).casefold() == unicodedata.normalize("NFKC", made)
    assert 1 <= len(made) <= 65 and len(made.encode()) <= 185
    assert not set(made) & set('./\\:*?"<>| \n\r\t\x00')


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_spellings_of_one_name_are_one(name: str) -> None:
    spellings = {name, f" {name}\t", unicodedata.normalize("NFD", name), unicodedata.normalize("NFC", name)}
    assert len({name_key(spelling) for spelling in spellings}) == 1
    assert name_key(name_key(name)) == name_key(name)


def test_names_that_share_a_slug_get_files_of_their_own() -> None:
    sharp = free_slug("C#", {"c"})
    assert re.fullmatch(r"c-[0-9a-f]{8}", sharp)
    assert sharp != free_slug("C++", {"c"})
    assert free_slug("C#", ()) == "c"
