"""Entity files, read leniently."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.memory.entities import Section, find_entity, is_entity_path, parse_entity

MAYA = """---
name: Maya
aliases: ["Mia", "my wife"]
kind: people
cues: [marriage]
always_load: [Basics]
colour: blue
---

# Maya

## Basics

- Born 1990-03-05. ^[dinner#3]
* Likes tea ^[a#1] ^[b]

```
## not a heading
- not a fact
```

## Work ##

1. first
- Nurse
"""


def test_an_entity_file_says_who_it_is_and_where_its_sections_are() -> None:
    maya = parse_entity("memories/people/maya.md", MAYA.encode())
    assert (maya.name, maya.aliases, maya.kind, maya.cues) == ("Maya", ("Mia", "my wife"), "people", ("marriage",))
    assert maya.always_load == ("Basics",)
    assert maya.sections == (Section("Basics", 12, 21), Section("Work", 22, 25))
    assert (maya.facts, maya.lines) == (3, 25)
    assert maya.section("basics") == Section("Basics", 12, 21)


def test_line_numbers_are_the_same_with_crlf() -> None:
    crlf = parse_entity("memories/people/maya.md", MAYA.replace("\n", "\r\n").encode())
    assert crlf == parse_entity("memories/people/maya.md", MAYA.encode())


@pytest.mark.parametrize(
    ("data", "name"),
    [(b"", "acme corp"), (b"# Acme", "Acme"), (b"---\nname: ACME\n---\n# x", "ACME"), (b"---\nname: [\n---\n# x", "[")],
)
def test_a_file_made_by_hand_has_a_name(data: bytes, name: str) -> None:
    entity = parse_entity("memories/contexts/acme-corp.md", data)
    assert (entity.name, entity.kind) == (name, "contexts")


@given(st.binary(max_size=200))
def test_any_bytes_are_an_entity(data: bytes) -> None:
    parse_entity("memories/people/x.md", data)


def test_an_entity_is_found_by_name_alias_and_kind() -> None:
    person = parse_entity("memories/people/paris.md", b"---\nname: Paris\naliases: [P]\n---\n")
    city = parse_entity("memories/contexts/paris.md", b"---\nname: Paris\naliases: [The City]\n---\n")
    nick = parse_entity("memories/people/nick.md", b"---\nname: Nick\naliases: [paris]\n---\n")
    known = [nick, city, person]
    assert find_entity(known, " PARIS ", "people") is person
    assert find_entity(known, "paris", "contexts") is city
    assert find_entity(known, "the  city", "people") is city
    assert find_entity(known, "London") is None


def test_paths_of_entities() -> None:
    assert is_entity_path("memories/people/maya.md")
    assert is_entity_path("memories/contexts/work/acme.md")
    assert not is_entity_path("memories/maya.md")
    assert not is_entity_path("sessions/2023/05/08-x.md")
