"""What the offline planner points at."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from diffmem.limits import Deadline
from diffmem.repository import Snapshot
from tests.support.memories import Memory
from tests.support.planning import NOW, archived, first_shown, paths_of, plan_for, shown

MAYA = b"""---
name: Maya
aliases: ["my sister"]
kind: people
cues: ["ceramics"]
---

# Maya

## Work

- Works as a nurse in Kiel. ^[lake#1]

## Home

- Has two tortoises. ^[lake#2]
"""
FILES = {
    "index.md": b"- [Maya](memories/people/maya.md): people\n",
    "profile.md": b"# Alex\n\nLikes violins.\n",
    "memories/people/maya.md": MAYA,
    "timeline/2024-02.md": b"# February 2024\n\n## 2024-02-10\n\n- Bought a canoe. ^[canoe#1]\n",
    **archived(
        "lake",
        "2024-01-05",
        "Ann: We should meet more often, it is lovely to see you!",
        "Bob: Which instrument do you practise these days?",
        "Ann: Mostly the old one from my grandmother, every single evening before supper.",
        "Bob: I sold my violin in spring, it was too expensive to insure.",
    ),
    **archived(
        "canoe",
        "2024-02-10",
        "Ann: I bought a canoe yesterday!",
        "Bob: Wow, congrats on that, what a fine thing to have.",
        "Ann: We paddled around the island with Christopher.",
        "Bob: My canoe was stolen years ago.",
    ),
    **archived(
        "tokyo", "2024-03-01", "Ken: 昨日は友達の誕生日だったのでケーキを作りました。", "Yui: 犬の名前はポチです。"
    ),
    **archived("kiel", "2024-03-06", "Ann: The ferry was late again and we froze on the pier.", "Bob: Poor you."),
}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    memory = Memory(Path(tmp_path_factory.mktemp("plan")))
    for path, data in FILES.items():
        memory.write({path: data}, "2024-03-06")
    with memory.open() as opened:
        yield opened


def test_a_message_that_says_the_words_comes_first(snapshot: Snapshot) -> None:
    assert "stolen years ago" in first_shown(snapshot, plan_for(snapshot, "Whose canoe was stolen?"))[0]


def test_the_answer_beside_the_words_of_its_question_is_found(snapshot: Snapshot) -> None:
    found = "\n".join(first_shown(snapshot, plan_for(snapshot, "Which instrument does Ann practise?"), 2))
    assert "from my grandmother" in found


def test_who_is_asked_about_is_preferred(snapshot: Snapshot) -> None:
    [ann], [bob] = (first_shown(snapshot, plan_for(snapshot, f"What about {name}'s canoe?")) for name in ("Ann", "Bob"))
    assert ann.startswith("**Ann:**") and bob.startswith("**Bob:**")


def test_a_question_of_when_prefers_who_tells_the_time(snapshot: Snapshot) -> None:
    assert "yesterday" in first_shown(snapshot, plan_for(snapshot, "When did Ann get the canoe?"))[0]


def test_a_topic_finds_its_words(snapshot: Snapshot) -> None:
    found = "\n".join(first_shown(snapshot, plan_for(snapshot, "Which music does Bob like to play?"), 3))
    assert "violin" in found


def test_a_day_is_found_without_a_word(snapshot: Snapshot) -> None:
    plan = plan_for(snapshot, "What happened on 6 March 2024?")
    assert "06-kiel" in (plan.pointers[0].path or "")
    assert "ferry" in "\n".join(first_shown(snapshot, plan, 2))


def test_last_week_is_meant_against_the_asking_time(snapshot: Snapshot) -> None:
    asked = plan_for(snapshot, "What annoyed Ann last week?", now=NOW)
    later = plan_for(snapshot, "What annoyed Ann last week?", now=NOW + timedelta(days=300))
    assert "06-kiel" in (asked.pointers[0].path or "")
    assert all("on the days" not in pointer.reason for pointer in later.pointers)


def test_last_time_means_the_newest_session(snapshot: Snapshot) -> None:
    plan = plan_for(snapshot, "What was it that we talked about last time?")
    assert "06-kiel" in (plan.pointers[0].path or "")


def test_scripts_without_spaces_are_searched(snapshot: Snapshot) -> None:
    assert "ケーキ" in first_shown(snapshot, plan_for(snapshot, "誕生日に何を作りましたか"))[0]
    assert "ポチ" in first_shown(snapshot, plan_for(snapshot, "犬の名前は？"))[0]


@pytest.mark.parametrize(
    "question", ["How is Maya?", "Call my sister, please", "Any ceramics ideas?", "Are there tortoises?"]
)
def test_an_entity_is_found_by_name_alias_cue_and_fact(snapshot: Snapshot, question: str) -> None:
    plan = plan_for(snapshot, question)
    [pointer] = [pointer for pointer in plan.pointers if pointer.path == "memories/people/maya.md"]
    assert pointer.priority == "must_include" and pointer.reason
    assert "maya" in plan.entities


def test_an_entity_that_is_too_long_comes_by_section_what_matches_first(tmp_path: Path) -> None:
    sections = "".join(f"\n## Part {number}\n\n- {'very long fact ' * 30}\n" for number in range(10))
    text = f"---\nname: Maya\n---\n\n# Maya\n{sections}\n## Pets\n\n- Two tortoises.\n"
    memory = Memory(tmp_path)
    memory.write({"memories/people/maya.md": text.encode()})
    with memory.open() as opened:
        plan = plan_for(opened, "Does Maya still have tortoises?", max_tokens=600)
        assert "tortoises" in shown(opened, plan.pointers[0])
        must = [pointer for pointer in plan.pointers if pointer.priority == "must_include"]
        assert sum(pointer.est_tokens or 0 for pointer in must) <= 300


def test_earlier_messages_tell_what_the_latest_is_about(snapshot: Snapshot) -> None:
    plan = plan_for(snapshot, "I was thinking of the canoe", "assistant: Which one?", "Who was with her around it?")
    assert "canoe" in "\n".join(first_shown(snapshot, plan, 3))


def test_every_pointer_says_why_and_lies_within_its_file(snapshot: Snapshot) -> None:
    for question in ("canoe", "How is Maya?", "犬", "", "zzz qqq", "When? Where? Who?"):
        for pointer in plan_for(snapshot, question).pointers:
            assert pointer.reason
            assert shown(snapshot, pointer).strip()


def test_what_every_context_holds_anyway_is_not_pointed_at(snapshot: Snapshot) -> None:
    for question in ("violins", "Maya", "Alex"):
        assert not {"index.md", "profile.md"} & set(paths_of(plan_for(snapshot, question).pointers))


def test_without_any_match_the_newest_sessions_come(snapshot: Snapshot) -> None:
    plan = plan_for(snapshot, "zzz qqq")
    assert "06-kiel" in (plan.pointers[0].path or "")


def test_the_same_question_gets_the_same_plan(snapshot: Snapshot) -> None:
    assert plan_for(snapshot, "Ann's canoe") == plan_for(snapshot, "Ann's canoe")


@pytest.mark.parametrize("max_tokens", [64, 500, 200_000])
def test_a_plan_is_somewhat_more_than_fits(snapshot: Snapshot, max_tokens: int) -> None:
    pointers = plan_for(snapshot, "Ann's canoe", max_tokens=max_tokens).pointers
    assert 0 < sum(pointer.est_tokens or 0 for pointer in pointers) < 2 * max_tokens + 200


def test_without_time_the_newest_sessions_are_all_there_is(snapshot: Snapshot) -> None:
    plan = plan_for(snapshot, "Ann's canoe", deadline=Deadline(0))
    assert paths_of(plan.pointers)[0] == "sessions/2024/03/06-kiel.md"
    assert {pointer.type for pointer in plan.pointers} == {"file"}


def test_time_that_ends_anywhere_gives_a_plan_of_what_was_read(snapshot: Snapshot) -> None:
    for readings in range(1, 40):
        clock = iter([*range(readings), *[1_000_000] * 10_000])
        plan = plan_for(snapshot, "Ann's canoe", deadline=Deadline(1000, lambda clock=clock: next(clock)))  # type: ignore[misc]
        assert plan.pointers


def test_a_budget_for_everything_gets_neighbours_as_one(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    talks = (
        archived(f"talk-{at}", "2024-01-05", *[f"Ann: canoe number {at} {turn}" for turn in range(90)])
        for at in range(9)
    )
    memory.write({path: data for files in talks for path, data in files.items()})
    with memory.open() as opened:
        plan = plan_for(opened, "Ann's canoe", max_tokens=200_000)
        assert len(paths_of(plan.pointers)) == len(plan.pointers) == 9
        text = "".join(shown(opened, pointer) for pointer in plan.pointers)
        assert text.count("canoe number") == 810


def test_an_empty_memory_gives_an_empty_plan(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.write({"profile.md": b"# Alex\n"})
    with memory.open() as opened:
        assert plan_for(opened, "Ann's canoe").pointers == ()


def test_what_lies_after_the_asking_time_comes_last(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.write(
        {
            **archived("old", "2024-01-05", "Ann: My canoe is green."),
            **archived("new", "2025-01-05", "Ann: My canoe is green."),
        }
    )
    with memory.open() as opened:
        plan = plan_for(opened, "Ann's canoe", now=datetime(2024, 2, 1, tzinfo=UTC))
        assert paths_of(plan.pointers)[0] == "sessions/2024/01/05-old.md"


def test_notes_of_the_timeline_are_found(snapshot: Snapshot) -> None:
    assert "timeline/2024-02.md" in paths_of(plan_for(snapshot, "When was the canoe bought?").pointers)


def test_a_message_longer_than_the_budget_comes_in_parts(tmp_path: Path) -> None:
    pasted = "\n".join(f"line {number} of a pasted text" for number in range(300)) + "\nthe tortoise is called Emma"
    memory = Memory(tmp_path)
    memory.write(archived("paste", "2024-01-05", f"Ann: {pasted}"))
    with memory.open() as opened:
        plan = plan_for(opened, "What is the name of the tortoise?", max_tokens=500)
        assert "Emma" in shown(opened, plan.pointers[0])
        assert (plan.pointers[0].line_end or 0) - (plan.pointers[0].line_start or 0) < 100


WEIRD = (
    b"\xff\xfe canoe",
    b"---\nname: [canoe\n---\n# canoe\n",
    b"---\ncanoe without an end",
    b"\xef\xbb\xbf---\r\nname: Canoe\r\n---\r\n\r\n# Canoe\r\n\r\n## Facts\r\n\r\n- canoe\r\n",
    b"<!-- {} -->\ncanoe\n<!-- {\"n\": -->\ncanoe\n",
    b"canoe " * 20_000,
    b"- canoe\n" * 5_000,
    b"\n\n\ncanoe\n\n\n\n",
    b"#" * 300 + b" canoe\n## \n##\n### canoe",
    "カヌー canoe \u200b\u0301\u202e canoe".encode(),
    b"| canoe | b |\n|---|---|\n| 1 | 2 |\n",
)  # fmt: skip


def test_whatever_the_files_hold_the_pointers_lie_within_them(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    places = ("memories/people/p{}.md", "sessions/2024/01/0{}-s{}.md", "timeline/2024-{}.md", "notes/n{}.md")
    memory.write({place.replace("{}", str(at)): data for at, data in enumerate(WEIRD) for place in places})
    with memory.open() as opened:
        for question in ("canoe", "カヌー", "When did I get the canoe? Last week?", "nothing"):
            for max_tokens in (64, 2_000):
                plan = plan_for(opened, question, max_tokens=max_tokens)
                assert plan.pointers
                assert all(shown(opened, pointer) for pointer in plan.pointers)
