"""A user's settings: zone, ontology, instructions."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.errors import InvalidRequest
from diffmem.memory.settings import DEFAULT_KINDS, Kind, Settings, parse_settings, render_settings


def test_no_settings_are_the_defaults() -> None:
    assert parse_settings(b"") == Settings(None, "", DEFAULT_KINDS)


def test_what_is_set_is_read_again() -> None:
    ontology = {
        "People": "one file a person",
        "Pets & co": {"about": "an animal", "sections": ["Food"], "always_load": ["Food"]},
    }
    data = render_settings(b"", timezone="Europe/Berlin", instructions="Be short.\n\nNo gossip.", ontology=ontology)
    assert data.decode() == (
        "---\ntimezone: Europe/Berlin\nontology:\n  people:\n    about: one file a person\n"
        '  pets-co:\n    about: an animal\n    sections: ["Food"]\n    always_load: ["Food"]\n---\n\n'
        "Be short.\n\nNo gossip.\n"
    )
    kinds = (Kind("people", "one file a person"), Kind("pets-co", "an animal", ("Food",), ("Food",)))
    assert parse_settings(data) == Settings("Europe/Berlin", "Be short.\n\nNo gossip.", kinds)
    assert kinds[1].folder == "memories/pets-co"


def test_what_is_not_given_stays_as_a_person_wrote_it() -> None:
    old = (
        b"---\n# mine\ntimezone: Asia/Tokyo # home\nontology:\n  pets: all of them\n  # nothing else\n"
        b"colour: blue\n---\nBe kind.\n"
    )
    assert render_settings(old) == old
    assert render_settings(old, timezone="UTC") == old.replace(b"Asia/Tokyo", b"UTC")
    assert render_settings(old, instructions="Be short.") == old.replace(b"Be kind.", b"\nBe short.")
    replaced = render_settings(old, ontology={"plants": "green"})
    assert parse_settings(replaced).kinds == (Kind("plants", "green"),)
    assert b"colour: blue\n" in replaced and b"# home" in replaced


def test_setting_twice_changes_nothing() -> None:
    once = render_settings(b"", timezone="UTC", instructions="x", ontology={"pets": {"sections": ["A"]}})
    assert render_settings(once, timezone="UTC", instructions="x", ontology={"pets": {"sections": ["A"]}}) == once


@pytest.mark.parametrize(
    "ontology",
    [
        {},
        {"": "x"},
        {"pets": 1},
        {"pets": {"about": "x", "colour": "red"}},
        {"pets": {"sections": "A"}},
        {"k" * 100: ""},
    ],
)
def test_an_ontology_that_is_none_is_refused(ontology: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="ontology"):
        render_settings(b"", ontology=ontology)


def test_kinds_are_found_in_the_singular() -> None:
    assert [Settings().kind(name) for name in ("People", "person", "context")] == [
        DEFAULT_KINDS[0],
        DEFAULT_KINDS[0],
        DEFAULT_KINDS[1],
    ]
    assert Settings().kind("pets") is None


@given(st.binary(max_size=200))
def test_any_bytes_are_settings(data: bytes) -> None:
    parse_settings(data)
    parse_settings(b"---\nontology:\n  a: " + data + b"\n---\n")
