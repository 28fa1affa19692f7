"""POST messages and POST distill: chat messages as they come, and what waits."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from diffmem.errors import ModelError, ModelRefused, UnknownPath, UnknownUser
from diffmem.memory import Message, parse_session
from tests.support.scripted_model import Entry, ScriptedModel, edits, runs
from tests.support.scripted_model import said as said_to
from tests.writer.world import AT, World, facts, message

FIRST = "sessions/2026/03/05-chat-2026-03-05-193000.md"
DIET = {"op": "add", "entity": "profile", "fact": "Is vegetarian.", "quote": "I'm vegetarian"}


def said(world: World, path: str = FIRST) -> list[str]:
    """What the messages of an archived session say."""
    return [message.content for message in parse_session(world.files()[path].encode()).messages]


def test_messages_come_into_the_open_session_of_their_conversation(world: World) -> None:
    first = world.append(message("one"), message("two", 1))
    second = world.append(message("three", 2))
    assert (first.status, second.status) == ("appended", "appended")
    assert first.session_id == second.session_id == "chat-2026-03-05-193000"
    assert (second.closed, second.pending) == ((), ())
    assert said(world) == ["one", "two", "three"]
    assert "conversation: chat\nstate: open\n" in world.files()[FIRST]


def test_a_gap_closes_the_session_and_opens_another(world: World) -> None:
    first = world.append(message("evening"))
    later = world.append(message("late", 30), message("night", 60.5))
    assert later.closed == later.pending == (first.session_id,)
    assert later.session_id == "chat-2026-03-05-203030"
    assert said(world) == ["evening", "late"]
    assert "state: pending\n" in world.files()[FIRST]
    assert world.append(message("again", 61)).pending == (first.session_id,)


def test_one_call_may_bring_several_sessions(world: World) -> None:
    done = world.append(*[message(f"m{n}", 60 * n) for n in range(3)])
    assert (len(done.closed), done.session_id) == (2, "chat-2026-03-05-213000")


def test_a_message_that_is_there_already_is_not_added_again(world: World) -> None:
    first = world.append(message("one", id="a"), message("two", id="b"))
    again = world.append(message("one", id="a"))
    assert (again.status, again.commit, again.session_id) == ("duplicate", first.commit, first.session_id)
    mixed = world.append(message("two", id="b"), message("three", 1, id="c"), message("three", 1, id="c"))
    assert mixed.status == "appended"
    assert said(world) == ["one", "two", "three"]


def test_a_message_that_comes_again_after_its_session_closed_is_known(world: World) -> None:
    world.append(message("one", id="a"))
    world.append(message("two", 90, id="b"))
    again = world.append(message("one", 0, id="a"))
    assert again.status == "duplicate"
    assert said(world) == ["one"]


def test_a_message_that_comes_again_after_many_sessions_is_known(world: World) -> None:
    history = [message(f"m{n}", 60 * n, id=str(n)) for n in range(120)]
    world.append(*history)
    before = world.files()
    assert world.append(history[0]).status == "duplicate"
    assert world.append(*history).status == "duplicate"
    assert world.files() == before
    mixed = world.append(*history, message("new", 60 * 119 + 1, id="new"))
    assert mixed.status == "appended"
    assert sum(text.count("**user:**") for text in world.files().values()) == 121


def test_sessions_of_a_conversation_whose_name_begins_alike_hide_no_open_one(world: World) -> None:
    first = world.append(message("one", id="a"))
    world.append(*[message(f"m{n}", 60 * n) for n in range(1, 60)], conversation="chat-work")
    assert world.append(message("one", id="a")).status == "duplicate"
    assert world.append(message("two", 60 * 60)).closed == (first.session_id,)


def test_messages_without_ids_may_be_equal(world: World) -> None:
    world.append(message("ok"), message("ok"))
    assert said(world) == ["ok", "ok"]


def test_conversations_are_apart_whatever_they_are_called(world: World) -> None:
    names = ["work", "Work", "work/1", "会話", "x" * 200, "wo rk", "会" * 60, "é/" * 40]
    ids = [world.append(message(f"in {name}"), conversation=name).session_id for name in names]
    assert len(set(ids)) == len(names)
    again = [world.append(message("more", 1), conversation=name).session_id for name in names]
    assert again == ids


def test_sessions_that_begin_in_the_same_second_are_apart(world: World) -> None:
    first = world.append(message("one"))
    world.distill(None, close=True)
    second = world.append(message("two"))
    assert second.session_id == f"{first.session_id}-2"


def test_a_message_that_does_not_say_when_is_taken_to_be_said_now(world: World) -> None:
    world.append(Message("user", "[image]"), now=AT)
    world.append(Message("user", "sent later"), now=AT + timedelta(hours=2))
    assert said(world) == ["[image]"]
    assert parse_session(world.files()[FIRST].encode()).messages[0].at == AT


def test_messages_that_come_late_and_out_of_order_are_kept(world: World) -> None:
    world.append(message("second", 10))
    world.append(message("first", 0))
    assert said(world, "sessions/2026/03/05-chat-2026-03-05-194000.md") == ["second", "first"]


def test_messages_of_two_instances_at_once_all_land(world: World) -> None:
    def send(n: int) -> str:
        return World(world.folder, f"cache-{n % 2}").append(message(f"m{n}", n / 10, id=str(n))).status

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(send, range(8))) == ["appended"] * 8
    assert sorted(said(world, next(path for path in world.files() if path.startswith("sessions/")))) == [
        f"m{n}" for n in range(8)
    ]


def test_a_file_that_a_person_has_edited_is_appended_to(world: World) -> None:
    world.append(message("one"))
    world.write({FIRST: world.files()[FIRST].replace("one", "one, corrected").rstrip("\n")})
    world.append(message("two", 1))
    assert said(world) == ["one, corrected", "two"]


def test_distilling_closes_what_is_over_and_distils_it(world: World) -> None:
    world.append(message("I'm vegetarian"))
    model = ScriptedModel([edits(DIET)])
    early = world.distill(model, now=AT + timedelta(minutes=30))
    assert (early.distilled, early.pending, early.commit, model.calls) == ((), (), None, 0)
    done = world.distill(model, now=AT + timedelta(minutes=31))
    assert done.distilled == ("chat-2026-03-05-193000",)
    assert (done.pending, done.warnings, done.usage.llm_calls) == ((), (), 1)
    assert done.commit == world.log()[0].sha
    assert facts(world.files()["profile.md"]) == ["Is vegetarian. ^[chat-2026-03-05-193000#1]"]


def test_closing_does_not_wait_for_the_gap(world: World) -> None:
    session_id = world.append(message("I'm vegetarian")).session_id
    world.append(message("hi"), conversation="other")
    done = world.distill(ScriptedModel([edits(DIET)]), session_id, close=True)
    assert (done.distilled, done.pending) == ((session_id,), ())
    assert world.distill(None, close=True).pending == ("other-2026-03-05-193000",)


def test_with_nothing_pending_nothing_is_done(world: World) -> None:
    with pytest.raises(UnknownUser):
        world.distill(None)
    world.write({"profile.md": "# Alex\n"})
    model = ScriptedModel([edits()])
    done = world.distill(model)
    assert (done.distilled, done.pending, done.commit, model.calls) == ((), (), None, 0)
    with pytest.raises(UnknownPath):
        world.distill(model, "nobody-knows-it")


def test_an_outage_ends_it_and_the_rest_stays_pending(world: World) -> None:
    for n in range(3):
        world.append(message(f"m{n}", n), conversation=f"c{n}")
    model = ScriptedModel([edits(), ModelError("503"), edits()])
    done = world.distill(model, close=True)
    assert done.distilled == ("c0-2026-03-05-193000",)
    assert done.pending == ("c1-2026-03-05-193100", "c2-2026-03-05-193200")
    assert done.warnings == ("not distilled yet: model_error: 503",)
    rest = world.distill(ScriptedModel([edits()]))
    assert (rest.distilled, rest.pending) == (done.pending, ())


REFUSED: list[Entry] = [ModelRefused("400: filtered"), "I would rather not.", '{"edits": 1}', runs("ls")]


def refusing(failure: Entry) -> ScriptedModel:
    """A model that fails wherever a session says "poison"."""
    return ScriptedModel([lambda messages: failure if "poison" in said_to(messages) else edits()])


@pytest.mark.parametrize("failure", REFUSED)
def test_a_session_that_is_refused_keeps_no_later_one_waiting(world: World, failure: Entry) -> None:
    for n, content in enumerate(["poison", "tea", "poison", "milk"]):
        world.append(message(content, n), conversation=f"c{n}")
    done = world.distill(refusing(failure), close=True)
    assert done.distilled == ("c1-2026-03-05-193100", "c3-2026-03-05-193300")
    assert done.pending == ("c0-2026-03-05-193000", "c2-2026-03-05-193200")
    assert [warning[:17] for warning in done.warnings] == ["not distilled yet"] * 2
    assert done.commit == world.log()[0].sha


def test_where_everything_is_refused_few_sessions_are_asked_about(world: World) -> None:
    world.append(*[message("poison", 60 * n) for n in range(10)])
    model = refusing(REFUSED[0])
    done = world.distill(model, close=True)
    assert (done.distilled, len(done.pending), model.calls) == ((), 10, 3)


def test_however_many_are_refused_a_later_one_gets_its_turn(world: World) -> None:
    world.append(*[message("poison" if n < 6 else "tea", 60 * n) for n in range(7)])
    for _ in range(200):
        done = world.distill(refusing(REFUSED[0]), close=True)
        if done.distilled:
            break
    assert (done.distilled, len(done.pending)) == (("chat-2026-03-06-013000",), 6)


def test_a_session_that_is_gone_when_its_turn_comes_keeps_no_later_one_waiting(world: World) -> None:
    for n in range(3):
        world.append(message(f"m{n}", n), conversation=f"c{n}")

    def forget(_: object) -> str:
        World(world.folder, "another").write({"sessions/2026/03/05-c1-2026-03-05-193100.md": None})
        return edits()

    done = world.distill(ScriptedModel([forget, edits()]), close=True)
    assert done.distilled == ("c0-2026-03-05-193000", "c2-2026-03-05-193200")


def test_without_a_model_pending_sessions_are_named(world: World) -> None:
    session_id = world.append(message("one")).session_id
    done = world.distill(None, close=True)
    assert (done.distilled, done.pending) == ((), (session_id,))


def test_many_messages_at_once_are_appended_in_order(world: World) -> None:
    world.append(*[message(f"m{n}", n / 100, id=str(n)) for n in range(2000)])
    assert said(world) == [f"m{n}" for n in range(2000)]


def test_a_session_that_has_grown_too_large_is_closed(world: World) -> None:
    done = world.append(*[message("x" * 400_000, n) for n in range(4)])
    assert len(done.closed) == 1
    assert done.session_id == "chat-2026-03-05-193300"


def test_text_that_cannot_be_stored_is_replaced(world: World) -> None:
    world.append(message("a\ud800b\x00c \ud83d\ude00"))
    assert said(world) == ["a\ufffdb\ufffdc 😀"]
