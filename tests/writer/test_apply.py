"""Edits put into effect: existing entities found, hand-written text kept, nothing made twice."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.memory import Message, Session, parse_entity, render_session, session_path
from diffmem.memory.facts import fact_key
from diffmem.memory.outline import outline
from diffmem.memory.settings import DEFAULT_KINDS, Kind, Settings
from diffmem.memory.workspace import Workspace
from diffmem.writer.apply import apply_edits
from diffmem.writer.edits import Edit, EditPlan, parse_edits
from diffmem.writer.quotes import Source
from tests.memory.test_markdown import TEXTS
from tests.writer.world import AT, MAYA, facts

DAY = date(2026, 3, 5)
QUOTE = "the one thing that was said"
SESSION = Session("s", AT, (Message("user", f"So this is {QUOTE}, really."),))
SOURCE = Source(session_path(SESSION), render_session(SESSION))


def workspace(**files: str) -> Workspace:
    """The files of a memory: `maya`, `acme` and `profile`."""
    paths = {"maya": MAYA, "acme": "memories/contexts/acme.md", "profile": "profile.md", "march": "timeline/2026-03.md"}
    return Workspace({paths[name]: text.encode() for name, text in files.items()})


def applied(files: Workspace, *edits: dict[str, Any], settings: Settings | None = None) -> list[str]:
    """The problems of making `edits`, which all quote the session unless they say otherwise."""
    plan = parse_edits([{"quote": QUOTE, **edit} for edit in edits])
    assert not plan.rejected
    return [problem.why for problem in apply_edits(plan, files, SOURCE, settings or Settings(), DAY)]


def test_an_entity_that_exists_is_found_by_name_alias_or_file_and_never_made_twice() -> None:
    files = workspace(maya="---\nname: Maya Smith\naliases: [my wife]\nkind: people\n---\n")
    for n, name in enumerate(
        ("Maya Smith", "MAYA  SMITH", "My Wife", "maya", MAYA, "people/maya", "[[memories/people/maya|Maya]]")
    ):
        assert applied(files, {"op": "add", "entity": name, "fact": f"Fact {n}."}) == []
    assert files.paths == [MAYA]
    assert len(facts(files.text(MAYA))) == 7


def test_creating_what_exists_adds_what_is_new_of_it_and_overwrites_nothing() -> None:
    text = "---\nname: Maya # hers\naliases: [my wife]\nmine: yes\n---\n\nMy own words.\n"
    files = workspace(maya=text)
    assert applied(files, {"op": "create", "entity": "maya", "aliases": ["My Wife", "Mia"], "cues": ["tea"]}) == []
    assert files.text(MAYA) == text.replace("[my wife]", '[my wife, "Mia"]').replace("yes\n", 'yes\ncues: ["tea"]\n')


def test_an_alias_that_is_the_name_of_an_entity_says_who_is_meant() -> None:
    files = workspace(maya="---\nname: Maya\nkind: people\n---\n")
    assert applied(files, {"op": "create", "entity": "Maya Smith", "kind": "people", "aliases": ["Maya"]}) == []
    assert files.paths == [MAYA]
    assert parse_entity(MAYA, files.text(MAYA).encode()).aliases == ("Maya Smith",)


def test_an_alias_belongs_to_one_entity() -> None:
    files = workspace(maya="---\nname: Maya\naliases: [my friend]\nkind: people\n---\n")
    assert applied(files, {"op": "create", "entity": "Ben", "kind": "people", "aliases": ["my friend", "Benny"]}) == []
    ben = parse_entity("", files.text("memories/people/ben.md").encode())
    assert ben.aliases == ("Benny",)


@pytest.mark.parametrize(
    ("first", "second"),
    [("C++", "C#"), ("a/b", "a.b"), ("🎉", "party popper"), ("x" * 70, "x" * 71), ("CON", "con name")],
)
def test_names_that_share_a_slug_have_files_of_their_own(first: str, second: str) -> None:
    files = workspace()
    for name in (first, second):
        assert applied(files, {"op": "create", "entity": name, "kind": "contexts"}) == []
        assert applied(files, {"op": "add", "entity": name, "fact": f"About {name}."}) == []
    assert len(files.paths) == 2
    assert files.find(first) != files.find(second)


def test_an_entity_that_nobody_created_is_made_of_its_kind_or_of_the_most_general_one() -> None:
    files = workspace()
    assert applied(files, {"op": "add", "entity": "Ida", "kind": "person", "fact": "Visits."}) == []
    assert applied(files, {"op": "add", "entity": "Pottery", "fact": "Is fun."}) == []
    assert files.paths == ["memories/contexts/pottery.md", "memories/people/ida.md"]


def test_the_users_own_ontology_decides_folders_sections_and_what_is_always_loaded() -> None:
    pets = Kind("pets", "an animal", ("Health", "Food"), ("Health",))
    files = workspace()
    own = Settings(kinds=(pets, *DEFAULT_KINDS))
    plan = [
        {"op": "create", "entity": "Rex", "kind": "Pets"},
        {"op": "add", "entity": "Rex", "section": "Food", "fact": "Eats fish."},
        {"op": "add", "entity": "Rex", "section": "Toys", "fact": "Has a ball."},
        {"op": "add", "entity": "Rex", "section": "Health", "fact": "Allergic to nuts."},
    ]
    assert applied(files, *plan, settings=own) == []
    rex = parse_entity("memories/pets/rex.md", files.text("memories/pets/rex.md").encode())
    assert [section.heading for section in rex.sections] == ["Health", "Food", "Toys"]
    assert (rex.kind, rex.always_load) == ("pets", ("Health",))


@pytest.mark.parametrize("name", ["profile", "Profile.md", "the user", "Alex"])
def test_the_user_is_the_profile(name: str) -> None:
    files = workspace(profile="# Alex\n")
    assert applied(files, {"op": "add", "entity": name, "section": "Food", "fact": "Is vegetarian."}) == []
    assert files.text("profile.md") == "# Alex\n\n## Food\n\n- Is vegetarian. ^[s#1]\n"


@pytest.mark.parametrize("name", ["user", "The User", "me", "I", "profile", "profile.md"])
def test_no_entity_takes_the_place_of_the_user(name: str) -> None:
    files = workspace(profile="# Alex\n", maya="---\nname: Maya\nkind: people\n---\n")
    (problem,) = applied(files, {"op": "create", "entity": name, "kind": "people", "aliases": ["Alexander"]})
    assert "is the user" in problem
    assert applied(files, {"op": "describe", "entity": "Maya", "aliases": [name, "Alex", "Mia"]}) == []
    assert applied(files, {"op": "create", "entity": "Ben", "kind": "people", "aliases": [name, "Alex"]}) == []
    assert applied(files, {"op": "add", "entity": name, "fact": "Is vegetarian."}) == []
    assert facts(files.text("profile.md")) == ["Is vegetarian. ^[s#1]"]
    assert parse_entity(MAYA, files.text(MAYA).encode()).aliases == ("Mia",)


def test_a_contradicted_fact_is_replaced_and_named_by_its_text() -> None:
    files = workspace(maya="# Maya\r\n\r\n* Works at Beta. ^[old#7]\r\n* Likes tea")
    edit = {"op": "replace", "entity": "maya", "old": "works at beta", "fact": "Works at Acme."}
    assert applied(files, edit) == []
    assert files.text(MAYA) == "# Maya\r\n\r\n* Works at Acme. ^[s#1]\r\n* Likes tea"
    assert "nearest reads" in applied(files, {**edit, "old": "Works at Betta.", "fact": "Works at Gamma."})[0]


@pytest.mark.parametrize("op", ["add", "replace", "remove", "event"])
def test_no_edit_goes_without_a_quote_of_the_session(op: str) -> None:
    files = workspace(maya="- Works at Beta.\n")
    edit = {
        "op": op,
        "entity": "maya",
        "old": "Works at Beta.",
        "fact": "x y",
        "date": "2026-03-05",
        "quote": "made up words",
    }
    assert applied(files, edit) == ["the session does not say 'made up words'"]
    assert files.changes("2026-03-05") == {}


def test_an_event_without_a_date_goes_to_its_entity_or_nowhere() -> None:
    files = workspace(maya="# Maya\n")
    event = {"op": "event", "fact": "Ran a marathon."}
    assert applied(files, {**event, "entity": "maya"}) == []
    assert facts(files.text(MAYA)) == ["Ran a marathon. ^[s#1]"]
    assert "needs the entity" in applied(files, event)[0]
    assert "no date" in applied(files, {**event, "date": "yesterday", "entity": "maya"})[0]
    assert applied(files, {**event, "date": "unknown", "entity": "maya"}) == []
    assert files.paths == [MAYA]


def test_an_event_that_did_not_happen_leaves_no_empty_day() -> None:
    files = workspace(march="# Timeline 2026-03\n\n## 2026-03-07\n\n- Dinner with Ida. ^[old#1]\n")
    gone = {"op": "remove", "entity": "timeline/2026-03.md", "old": "Dinner with Ida."}
    assert applied(files, gone, {"op": "event", "date": "2026-03-08", "fact": "Lunch with Ida."}) == []
    assert files.text("timeline/2026-03.md") == "# Timeline 2026-03\n\n## 2026-03-08\n\n- Lunch with Ida. ^[s#1]\n"
    assert applied(files, {**gone, "old": "Lunch with Ida."}) == []
    assert files.paths == []


def test_facts_do_not_go_into_the_timeline_nor_names_to_the_profile() -> None:
    files = workspace(profile="# Alex\n", march="# x\n")
    assert applied(files, {"op": "add", "entity": "timeline/2026-03.md", "fact": "x y"}) == [
        "the timeline takes events"
    ]
    assert applied(files, {"op": "describe", "entity": "profile", "aliases": ["Al"]}) == [
        "only an entity has aliases and cues"
    ]


def test_a_plan_that_makes_and_removes_one_fact_does_the_first_of_the_two() -> None:
    files = workspace(maya="- Likes tea\n")
    plan = [
        {"op": "remove", "entity": "maya", "old": "Likes tea"},
        {"op": "add", "entity": "maya", "fact": "Likes tea."},
    ]
    assert applied(files, *plan) == ["another edit of this plan does the opposite"]
    assert facts(files.text(MAYA)) == []


NAMES = st.sampled_from(["Maya", "my wife", "Acme", "profile", "Ida", "C#", "timeline/2026-03.md", "index.md", "../x"])
FACTS = st.sampled_from(["Likes tea", "Works at Acme", "A b c", "# 1", "1. one", "---", "a | b", "x" * 600])
EDITS = st.builds(
    Edit,
    op=st.sampled_from(["create", "describe", "add", "replace", "remove", "event"]),
    entity=NAMES,
    kind=st.sampled_from(["", "people", "nonsense"]),
    section=st.sampled_from(["", "Work", "Home"]),
    old=FACTS,
    fact=FACTS,
    quote=st.sampled_from([QUOTE, QUOTE, QUOTE, "made up words"]),
    date=st.sampled_from(["2026-03-05", "2026-04", "", "never"]),
    aliases=st.lists(st.sampled_from(["my wife", "Mia", "Acme"]), max_size=2).map(tuple),
    cues=st.lists(st.sampled_from(["tea", "work: hard", "[x"]), max_size=2).map(tuple),
)
FILES = st.fixed_dictionaries({MAYA: TEXTS, "memories/contexts/acme.md": TEXTS, "profile.md": TEXTS})


@given(FILES, st.lists(EDITS, max_size=6))
def test_a_plan_applied_twice_changes_nothing_more(files: dict[str, str], edits: list[Edit]) -> None:
    start = {path: text.encode("utf-8", "surrogatepass") for path, text in files.items()}
    once, twice = Workspace(start), Workspace(start)
    plan = EditPlan(edits=tuple(edits))
    apply_edits(plan, once, SOURCE, Settings(), DAY)
    for _ in range(2):
        apply_edits(plan, twice, SOURCE, Settings(), DAY)
    assert once.changes("2026-03-05") == twice.changes("2026-03-05")


@given(FILES, st.lists(EDITS, max_size=6))
def test_what_no_edit_is_about_stands_as_it_was(files: dict[str, str], edits: list[Edit]) -> None:
    now = Workspace({path: text.encode("utf-8", "surrogatepass") for path, text in files.items()})
    apply_edits(EditPlan(edits=tuple(edits)), now, SOURCE, Settings(), DAY)
    about = {fact_key(edit.old) for edit in edits} | {fact_key(edit.fact) for edit in edits}
    for path, text in files.items():
        before, after = outline(text), iter(now.text(path).split("\n"))
        own = {at for fact in before.facts if fact.key in about for at in range(fact.start, fact.end)}
        kept = [
            line
            for at, line in enumerate(text.split("\n"))
            if at not in own and at >= before.body and line.strip() and at < len(before.lines) - 1
        ]
        assert all(line in after for line in kept)


@given(FILES, st.lists(EDITS, max_size=6))
def test_every_file_parses_again(files: dict[str, str], edits: list[Edit]) -> None:
    now = Workspace({path: text.encode("utf-8", "surrogatepass") for path, text in files.items()})
    problems = apply_edits(EditPlan(edits=tuple(edits)), now, SOURCE, Settings(), DAY)
    refused = [problem.edit for problem in problems]
    for edit in edits:
        if edit.op == "add" and edit not in refused:
            found = [fact.key for path in now.paths for fact in outline(now.text(path)).facts]
            assert fact_key(edit.fact) in found


def test_a_person_who_is_called_like_the_user_keeps_their_own_file() -> None:
    files = Workspace({"profile.md": b"# Alex\n", "memories/people/alex.md": b"---\nname: Alex\n---\n"})
    assert applied(files, {"op": "add", "entity": "Alex", "fact": "Is a neighbour."}) == []
    assert facts(files.text("memories/people/alex.md")) == ["Is a neighbour. ^[s#1]"]
