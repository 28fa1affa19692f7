"""POST sessions: durable first, exactly once, finished later where it could not be finished now."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from diffmem.claims import Claims
from diffmem.curation.forget import oblivion
from diffmem.errors import DiffMemError, ModelError, ModelTimeout, StorageUnavailable
from diffmem.limits import Deadline
from diffmem.memory import Message, parse_session
from tests.support.scripted_model import ScriptedModel, edits, runs, said
from tests.writer.world import (
    AT,
    BEGAN,
    CREATE,
    DIET,
    MAYA,
    NURSE,
    SAID,
    SECONDS,
    USER,
    World,
    facts,
    session,
)

SESSION_PATH = "sessions/2026/03/05-dinner.md"
GOOD = edits(CREATE, NURSE, BEGAN, DIET, summary="Maya works at Acme as a nurse")


def test_a_session_becomes_facts_a_timeline_a_profile_and_an_index(world: World) -> None:
    done = world.remember(ScriptedModel([GOOD]))
    assert (done.status, done.writer, done.pending, done.session_id) == ("committed", "agent", False, "dinner")
    assert done.summary == "Maya works at Acme as a nurse"
    assert done.warnings == ()
    files = world.files()
    assert files[MAYA] == (
        '---\nname: Maya\naliases: ["my wife"]\nkind: people\ncues: ["marriage"]\n---\n\n# Maya\n\n'
        "## Work\n\n- Works at Acme as a nurse. ^[dinner#1]\n"
    )
    assert files["timeline/2026-03.md"].endswith("## 2026-03-04\n\n- Maya began to work at Acme. ^[dinner#1]\n")
    assert files["profile.md"] == "# Profile\n\n## Food\n\n- Is vegetarian. ^[dinner#3]\n"
    assert f"- [Maya]({MAYA}): people; marriage; aliases: my wife; 1 fact; changed 2026-03-05\n" in files["index.md"]
    assert "state: distilled\n" in files[SESSION_PATH]
    assert parse_session(files[SESSION_PATH].encode()).messages == SAID


def test_the_transcript_is_durable_before_a_model_is_asked(world: World) -> None:
    seen: list[str] = []

    def look(_: Any) -> str:
        seen.append(World(world.folder, "another").files()[SESSION_PATH])
        return GOOD

    world.remember(ScriptedModel([look]))
    assert "state: pending\n" in seen[0]
    assert "She’s happy." in seen[0]


def test_the_session_changes_in_the_commit_of_what_it_taught(world: World) -> None:
    done = world.remember(ScriptedModel([GOOD]))
    distilled, archived, _root = world.log()
    assert distilled.sha == done.commit
    assert set(distilled.paths) == {"index.md", MAYA, "profile.md", SESSION_PATH, "timeline/2026-03.md"}
    assert archived.paths == (SESSION_PATH,)
    assert distilled.occurred_at == archived.occurred_at == AT
    assert distilled.subject == "Maya works at Acme as a nurse"
    expected = {"Session-Id": "dinner", "Session-Digest": session().digest, "Writer": "agent", "Model": "scripted"}
    assert expected.items() <= distilled.trailers.items()
    assert archived.trailers["Writer"] == "archive"


def test_the_answer_names_every_file_once(world: World) -> None:
    done = world.remember(ScriptedModel([GOOD]))
    assert [(change.path, change.change) for change in done.files] == [
        ("index.md", "added"),
        (MAYA, "added"),
        ("profile.md", "added"),
        (SESSION_PATH, "added"),
        ("timeline/2026-03.md", "added"),
    ]


def test_nothing_to_remember_is_a_good_answer(world: World) -> None:
    model = ScriptedModel([edits(summary="Small talk")])
    done = world.remember(model)
    assert (done.writer, done.pending, done.warnings, model.calls) == ("agent", False, (), 1)
    assert set(world.files()) == {SESSION_PATH}


@pytest.mark.parametrize("items", [["add", 1, None, []], [{"op": "rumour"}], [{"op": "add", "entity": "Maya"}]])
def test_edits_of_which_none_can_be_read_leave_the_session_pending(world: World, items: list[Any]) -> None:
    done = world.remember(ScriptedModel([edits(*items)]))
    assert done.pending and 'none of "edits" is an edit' in done.warnings[0]
    assert world.remember(ScriptedModel([GOOD])).pending is False
    assert MAYA in world.files()


def test_two_calls_are_enough_where_the_model_investigates(world: World) -> None:
    model = ScriptedModel([runs("cat profile.md"), GOOD])
    done = world.remember(model)
    assert (model.calls, done.usage.llm_calls, done.pending) == (2, 2, False)


def test_the_second_turn_is_the_last(world: World) -> None:
    model = ScriptedModel([runs("ls"), runs("ls"), runs("ls")])
    done = world.remember(model)
    assert done.pending and model.calls <= 3
    assert done.warnings and "not distilled yet" in done.warnings[0]


def test_edits_that_do_not_apply_are_repaired_once(world: World) -> None:
    wrong = {**NURSE, "quote": "Maya is a nurse at Acme"}
    model = ScriptedModel([edits(CREATE, wrong, DIET), edits(NURSE)])
    done = world.remember(model)
    assert (model.calls, done.warnings) == (2, ())
    assert "the session does not say 'Maya is a nurse at Acme'" in said(model.asked[1])
    assert facts(world.files()[MAYA]) == ["Works at Acme as a nurse. ^[dinner#1]"]
    assert facts(world.files()["profile.md"]) == ["Is vegetarian. ^[dinner#3]"]


@pytest.mark.parametrize("second", ["no plan at all", edits(), edits({**NURSE, "quote": "made up"}), ModelError("out")])
def test_what_cannot_be_shown_is_never_remembered(world: World, second: Any) -> None:
    wrong = {**NURSE, "quote": "Maya is a nurse at Acme"}
    model = ScriptedModel([edits(CREATE, wrong, DIET), second])
    done = world.remember(model)
    assert (model.calls, done.pending, done.writer) == (2, False, "agent")
    assert any(warning.startswith("not remembered: add 'Works at Acme") for warning in done.warnings)
    assert facts(world.files()[MAYA]) == []
    assert facts(world.files()["profile.md"]) == ["Is vegetarian. ^[dinner#3]"]


def test_the_same_session_again_is_a_duplicate_and_asks_nobody(world: World) -> None:
    first = world.remember(ScriptedModel([GOOD]))
    model = ScriptedModel([GOOD])
    again = world.remember(model, session(occurred_at=AT, metadata={"other": "metadata"}))
    assert (again.status, again.commit, again.pending, model.calls) == ("duplicate", first.commit, False, 0)
    assert again.files == ()
    assert len(world.log()) == 3


def test_without_a_model_a_session_waits_and_the_next_write_distils_it(world: World) -> None:
    first = world.remember(None)
    assert (first.status, first.writer, first.pending) == ("committed", "archive", True)
    model = ScriptedModel([edits(), GOOD])
    second = world.remember(model, session("later", (Message("user", "Good morning!"),)))
    assert (second.pending, second.also_distilled, model.calls) == (False, ("dinner",), 2)
    assert facts(world.files()[MAYA]) == ["Works at Acme as a nurse. ^[dinner#1]"]


def test_a_session_that_is_refused_keeps_no_other_waiting_for_a_write(world: World) -> None:
    for n, content in enumerate(["poison", "tea"]):
        world.remember(None, session(f"s{n}", (Message("user", content),)))
    model = ScriptedModel([lambda messages: "I would rather not." if "poison" in said(messages) else edits()])
    done = world.remember(model, session("later", (Message("user", "Good morning!"),)))
    assert (done.pending, done.also_distilled) == (False, ("s1",))


@pytest.mark.parametrize(
    "failure", [ModelError("503"), ModelTimeout("too slow"), "I would rather not.", '{"edits": 1}']
)
def test_a_failing_model_leaves_the_session_pending_and_a_repeat_finishes_it(world: World, failure: Any) -> None:
    first = world.remember(ScriptedModel([failure]))
    assert (first.status, first.writer, first.pending) == ("committed", "archive", True)
    assert first.warnings[0].startswith("not distilled yet: ")
    again = world.remember(ScriptedModel([GOOD]))
    assert (again.status, again.writer, again.pending) == ("duplicate", "agent", False)
    assert facts(world.files()[MAYA]) == ["Works at Acme as a nurse. ^[dinner#1]"]


class _Killed(BaseException):
    """A process that ends, whatever the code would like to catch."""


def test_a_kill_while_the_model_thinks_loses_nothing(world: World) -> None:
    def kill(_: Any) -> str:
        raise _Killed

    with pytest.raises(_Killed):
        world.remember(ScriptedModel([kill]))
    assert "state: pending\n" in world.files()[SESSION_PATH]
    done = World(world.folder, "another").distill(ScriptedModel([GOOD]))
    assert (done.distilled, done.pending) == (("dinner",), ())
    assert facts(world.files()[MAYA]) == ["Works at Acme as a nurse. ^[dinner#1]"]


def test_only_archived_is_not_pending_and_can_be_distilled_later(world: World) -> None:
    model = ScriptedModel([GOOD])
    first = world.remember(model, mode="archive")
    assert (first.status, first.pending, model.calls) == ("committed", False, 0)
    assert "state: archived\n" in world.files()[SESSION_PATH]
    again = world.remember(model, mode="archive")
    assert (again.status, again.commit, model.calls) == ("duplicate", first.commit, 0)
    later = world.remember(model)
    assert (later.status, later.writer, later.pending, model.calls) == ("duplicate", "agent", False, 1)
    assert "state: distilled\n" in world.files()[SESSION_PATH]


def test_other_content_takes_the_place_of_the_old_and_doubles_nothing(world: World) -> None:
    world.remember(ScriptedModel([GOOD]))
    corrected = (Message("user", "Maya started at Acme on Monday, as a doctor.", "Alex", AT), *SAID[1:])
    doctor = {**NURSE, "fact": "Works at Acme as a doctor.", "quote": "Maya started at Acme on Monday, as a doctor"}
    began = {**BEGAN, "date": "2026-03-02", "quote": "started at Acme on Monday"}
    model = ScriptedModel([edits(CREATE, doctor, began, DIET)])
    done = world.remember(model, session(messages=corrected))
    assert (done.status, done.writer, done.pending) == ("amended", "agent", False)
    assert "as a nurse. ^[dinner" not in said(model.asked[0])
    files = world.files()
    assert facts(files[MAYA]) == ["Works at Acme as a doctor. ^[dinner#1]"]
    assert facts(files["profile.md"]) == ["Is vegetarian. ^[dinner#3]"]
    assert (
        files["timeline/2026-03.md"]
        == "# Timeline 2026-03\n\n## 2026-03-02\n\n- Maya began to work at Acme. ^[dinner#1]\n"
    )
    assert files[SESSION_PATH].count("as a doctor") == 1 and "as a nurse" not in files[SESSION_PATH]


def test_an_amended_session_may_have_happened_on_another_day(world: World) -> None:
    world.remember(None)
    moved = session(messages=SAID[1:], occurred_at=AT.replace(day=7))
    done = world.remember(None, moved)
    assert done.status == "amended"
    assert [path for path in world.files() if path.startswith("sessions/")] == ["sessions/2026/03/07-dinner.md"]


def test_an_amendment_keeps_what_other_sessions_and_people_have_written(world: World) -> None:
    world.remember(ScriptedModel([GOOD]))
    world.write({MAYA: world.files()[MAYA] + "- Likes tea\n- Sings ^[dinner#1] ^[choir#2]\n"})
    world.remember(ScriptedModel([edits()]), session(messages=SAID[1:]))
    assert facts(world.files()[MAYA]) == ["Likes tea", "Sings ^[choir#2]"]


def test_two_instances_at_once_both_land_each_once(world: World) -> None:
    def write(n: int) -> Any:
        words = (Message("user", f"Person {n} likes the number {n}."),)

        def answer(messages: Any) -> str:
            found = re.findall(r"likes the number (\d)", said(messages[1:2]))
            quote = f"likes the number {found[-1]}"
            return edits(
                {"op": "add", "entity": f"Person {found[-1]}", "kind": "people", "fact": quote, "quote": quote}
            )

        return World(world.folder, f"cache-{n % 2}").remember(ScriptedModel([answer]), session(f"s-{n}", words))

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(write, range(6)))
    assert [outcome.pending for outcome in outcomes] == [False] * 6
    files = world.files()
    for n in range(6):
        assert facts(files[f"memories/people/person-{n}.md"]) == [f"likes the number {n} ^[s-{n}#1]"]
    assert files["index.md"].count("memories/people/person-") == 6


def test_threads_of_one_process_do_not_ask_twice_about_one_session(world: World) -> None:
    world.claims = Claims()
    models = [ScriptedModel([edits()]) for _ in range(6)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: world.remember(models[n], session(f"s-{n}")), range(6)))
    assert sum(model.calls for model in models) == 6


def test_the_same_session_from_two_instances_at_once_is_remembered_once(world: World) -> None:
    def write(n: int) -> Any:
        return World(world.folder, f"cache-{n}").remember(ScriptedModel([GOOD]))

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(write, range(2)))
    assert sorted(outcome.status for outcome in outcomes) == ["committed", "duplicate"]
    assert facts(world.files()[MAYA]) == ["Works at Acme as a nurse. ^[dinner#1]"]
    assert sum(SESSION_PATH in commit.paths for commit in world.log()) == 2


def test_a_session_that_was_replaced_while_the_model_thought_is_not_distilled(world: World) -> None:
    def amend(_: Any) -> str:
        World(world.folder, "another").remember(None, session(messages=SAID[1:]))
        return GOOD

    done = world.remember(ScriptedModel([amend]))
    assert done.pending
    files = world.files()
    assert set(files) == {SESSION_PATH} and "state: pending\n" in files[SESSION_PATH]


def test_what_was_forgotten_while_the_model_thought_does_not_come_back(world: World) -> None:
    def forget(_: Any) -> str:
        forgotten = oblivion(texts=["Maya"])
        other = World(world.folder, "another").repositories
        other.rewrite(USER, forgotten.content, Deadline(SECONDS), reword=forgotten.message)
        return GOOD

    done = world.remember(ScriptedModel([forget]))
    assert done.pending
    assert any("forgotten" in warning for warning in done.warnings)
    assert "Maya" not in str((world.files(), world.log()))
    assert not world.remember(ScriptedModel([edits(DIET)])).pending


def test_what_was_erased_while_the_model_thought_does_not_come_back(world: World) -> None:
    def erase(_: Any) -> str:
        other = World(world.folder, "another")
        other.repositories.erase(USER, Deadline(SECONDS))
        other.remember(None)
        return GOOD

    done = world.remember(ScriptedModel([erase]))
    assert done.pending
    assert set(world.files()) == {SESSION_PATH}


def test_an_edit_by_hand_while_the_model_thought_is_respected(world: World) -> None:
    world.remember(ScriptedModel([edits(CREATE, NURSE)]))

    def edit_by_hand(_: Any) -> str:
        World(world.folder, "another").write({MAYA: "# Maya\r\n\r\nMy own words.\r\n\r\n* Works at Acme as a midwife"})
        return edits({**NURSE, "op": "replace", "old": "Works at Acme as a nurse.", "fact": "Left Acme."}, CREATE)

    done = world.remember(ScriptedModel([edit_by_hand]), session("second"))
    assert any("no fact here reads" in warning for warning in done.warnings)
    text = world.files()[MAYA]
    assert text.endswith("# Maya\r\n\r\nMy own words.\r\n\r\n* Works at Acme as a midwife")


def test_no_time_at_all_acknowledges_nothing(world: World) -> None:
    with pytest.raises(StorageUnavailable):
        world.remember(None, seconds=0.0)
    with pytest.raises(DiffMemError):
        world.files()


def test_an_id_may_be_anything(world: World) -> None:
    for session_id in ("../../etc/passwd", "会話 1", "A/B", "a/b", "x" * 200, "-", ".git"):
        done = world.remember(ScriptedModel([edits(DIET)]), session(session_id))
        assert (done.session_id, done.status, done.pending) == (session_id, "committed", False)
        assert world.remember(None, session(session_id)).status == "duplicate"
    assert len([path for path in world.files() if path.startswith("sessions/2026/03/05-")]) == 7


def test_a_session_without_an_id_is_named_by_its_content(world: World) -> None:
    first, other = session(""), session("", SAID[1:])
    assert first.session_id == session("").session_id != other.session_id
    assert world.remember(None, first).status == "committed"
    assert world.remember(None, session("")).status == "duplicate"


def test_a_transcript_is_kept_word_for_word_and_cited_as_a_whole(world: World) -> None:
    text = 'Alex: hi\r\n<!-- {"n":1} -->\n---\nI\'m vegetarian now, said Alex.\n\n'
    done = world.remember(ScriptedModel([edits(DIET)]), session(messages=(), transcript=text))
    assert not done.pending and done.warnings == ()
    assert parse_session(world.files()[SESSION_PATH].encode()).transcript == text
    assert facts(world.files()["profile.md"]) == ["Is vegetarian. ^[dinner]"]
