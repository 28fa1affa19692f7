"""The story that the design promises: what no word finds comes back, because it changed together with what one does."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from diffmem.context import resolve
from diffmem.limits import Deadline
from diffmem.plan import Plan
from diffmem.planner import plan_offline
from diffmem.planner.words import is_stop_word, words
from diffmem.repository import Snapshot
from tests.support.memories import Memory
from tests.support.story import ALLOTMENT, BIRTHDAY, CHOIR, COMPANY, WIFE, writes

NOW = datetime(2026, 4, 2, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    memory = Memory(Path(tmp_path_factory.mktemp("story")))
    for day, files in writes():
        memory.write(files, day)
    with memory.open() as opened:
        yield opened


def _plan(snapshot: Snapshot, message: str = BIRTHDAY, max_tokens: int = 1500) -> Plan:
    return plan_offline(snapshot, [("user", message)], NOW, max_tokens, Deadline(20))


def _content_words(text: str) -> set[str]:
    return {word for word in words(text) if not is_stop_word(word, english=True)}


def test_a_lonely_birthday_brings_back_the_company_that_it_never_mentions(snapshot: Snapshot) -> None:
    must = {pointer.path: pointer for pointer in _plan(snapshot).pointers if pointer.priority == "must_include"}
    assert must[WIFE].reason == "'Nora' is named"
    assert must[COMPANY].reason == f"changed together with {WIFE} in 7 of 8 commits"
    assert CHOIR not in must and ALLOTMENT not in must


def test_the_company_is_in_the_context_that_the_plan_becomes(snapshot: Snapshot) -> None:
    resolved = resolve(_plan(snapshot), snapshot, None, 1500, Deadline(20))
    assert "80,000 euros" in resolved.text and "guest room" in resolved.text
    assert resolved.rejected == ()


def test_plain_keyword_search_does_not_find_the_company(snapshot: Snapshot) -> None:
    asked = _content_words(BIRTHDAY)
    assert not asked & _content_words(snapshot.read(COMPANY).decode())
    assert asked & _content_words(snapshot.read(WIFE).decode())


def test_the_plan_names_the_entities_it_found(snapshot: Snapshot) -> None:
    assert list(_plan(snapshot).entities)[:2] == ["wife", "company"]


def test_a_session_that_matches_brings_the_files_it_changed(snapshot: Snapshot) -> None:
    plan = _plan(snapshot, "Do you remember the hedgehog?")
    reasons = {pointer.path: pointer.reason for pointer in plan.pointers}
    assert reasons[ALLOTMENT].startswith("changed by the session sessions/2026/03/06-evening-10.md")


def test_entities_and_excerpts_share_a_small_budget(snapshot: Snapshot) -> None:
    resolved = resolve(_plan(snapshot, max_tokens=500), snapshot, None, 500, Deadline(20))
    paths = [block.path for block in resolved.blocks]
    assert {WIFE, COMPANY} <= set(paths)
    assert any(path and path.startswith("sessions/") for path in paths)
