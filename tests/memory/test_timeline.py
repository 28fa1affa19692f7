"""The timeline and the entity manifest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.memory.entities import Entity, parse_entity, render_entity
from diffmem.memory.index import changed_days, render_index
from diffmem.memory.timeline import add_event, is_timeline_path, normal_date, timeline_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-05", "2026-03-05"),
        (" 2026-3-5 ", "2026-03-05"),
        ("2026-03-05T10:00:00Z", "2026-03-05"),
        ("2026-03", "2026-03"),
        ("2026", "2026"),
        ("2026-02-30", None),
        ("2026-13", None),
        ("0000-01-01", None),
        ("yesterday", None),
        ("unknown", None),
        ("", None),
        ("２０２６-03-05", "2026-03-05"),
    ],
)
def test_a_date_is_a_day_a_month_a_year_or_none(text: str, expected: str | None) -> None:
    assert normal_date(text) == expected


def test_days_stand_in_order_whatever_order_they_come_in() -> None:
    text = ""
    for day in ("2026-03-05", "2026-03-20", "2026-03-01", "2026-03", "2026-03-05"):
        text = add_event(text, day, f"on {day}", "^[s#1]").text
    text = add_event(text, "2026-03-05", "another").text
    assert text == (
        "# Timeline 2026-03\n\n## 2026-03\n\n- on 2026-03 ^[s#1]\n\n## 2026-03-01\n\n- on 2026-03-01 ^[s#1]\n\n"
        "## 2026-03-05\n\n- on 2026-03-05 ^[s#1]\n- another\n\n## 2026-03-20\n\n- on 2026-03-20 ^[s#1]\n"
    )


def test_the_same_event_may_happen_on_two_days() -> None:
    once = add_event("", "2026-03-05", "Went to yoga").text
    twice = add_event(once, "2026-03-12", "Went to yoga").text
    assert twice.count("yoga") == 2
    assert add_event(twice, "2026-03-12", "Went to yoga").text == twice


def test_a_heading_that_a_person_extended_is_still_that_day() -> None:
    assert add_event("## 2026-03-05 Thursday\n", "2026-03-05", "x").text == "## 2026-03-05 Thursday\n\n- x\n"


def test_paths_of_the_timeline() -> None:
    assert [timeline_path(day) for day in ("2026-03-05", "2026-03", "2026")] == [
        "timeline/2026-03.md",
        "timeline/2026-03.md",
        "timeline/2026.md",
    ]
    assert is_timeline_path("timeline/2026-03.md") and not is_timeline_path("timeline/x.md")


@given(st.lists(st.tuples(st.dates().map(str), st.sampled_from("abc")), max_size=6))
def test_the_order_of_learning_does_not_matter(events: list[tuple[str, str]]) -> None:
    month = [(f"2026-03-{day[8:]}", name) for day, name in events if day[8:] <= "31"]
    text, days = "", set()
    for day, name in month:
        text = add_event(text, day, name).text
        days.add(day)
    assert [line[3:] for line in text.split("\n") if line.startswith("## ")] == sorted(days)


def test_the_manifest_has_a_line_an_entity_the_latest_change_first() -> None:
    maya = parse_entity(
        "memories/people/maya.md",
        b"---\nname: Maya\naliases: [my wife]\nkind: people\ncues: [marriage]\n---\n\n- one\n- two\n",
    )
    odd = Entity("memories/contexts/a (b).md", "[x]", kind="contexts")
    index = render_index([odd, maya], {"memories/people/maya.md": "2026-03-05"})
    assert index.decode().split("\n")[4:] == [
        "- [Maya](memories/people/maya.md): people; marriage; aliases: my wife; 2 facts; changed 2026-03-05",
        "- [\\[x\\]](<memories/contexts/a (b).md>): contexts; 0 facts",
        "",
    ]
    assert changed_days(index) == {"memories/people/maya.md": "2026-03-05"}
    assert render_index([maya, odd], changed_days(index)) == index


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), max_size=3),
)
def test_a_new_entity_file_says_what_it_was_made_of(name: str, aliases: list[str]) -> None:
    clean = " ".join(name.split()) or "x"
    known = tuple(" ".join(alias.split()) for alias in aliases if alias.strip())
    made = parse_entity("memories/people/x.md", render_entity(Entity("", clean, known, "people")))
    assert (made.name, made.aliases, made.kind, made.facts) == (clean, known, "people", 0)
