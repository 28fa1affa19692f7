"""What files say: text, JSON, ChatGPT's and Claude's exports, whole and odd."""

import json
import os
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.cli import exports
from diffmem.cli.access import Misused
from diffmem.cli.output import Progress, note, show_rows
from diffmem.cli.sources import Item, read


def _write(path: Path, document: Any) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def _node(name: str, parent: str | None, role: str, *parts: Any, at: float = 1_741_000_000, **more: Any) -> Any:
    content = {"content_type": more.pop("kind", "text"), "parts": list(parts)}
    message = {"id": f"m-{name}", "author": {"role": role}, "create_time": at, "content": content, "metadata": more}
    return {"id": name, "message": message, "parent": parent, "children": []}


CHATGPT = {
    "id": "67c1",
    "conversation_id": "67c1",
    "title": "Trip to\u202e Rome",
    "current_node": "good",
    "mapping": {
        "root": {"id": "root", "message": None, "parent": None, "children": ["system"]},
        "system": _node("system", "root", "system", "", is_visually_hidden_from_conversation=True),
        "ask": _node("ask", "system", "user", "Plan a week in Rome."),
        "bad": _node("bad", "ask", "assistant", "An answer that was asked for again."),
        "tool": _node("tool", "ask", "tool", "search results", kind="tether_quote"),
        "good": _node(
            "good", "tool", "assistant", "Day one.", {"content_type": "image_asset_pointer"}, at=1_741_000_060
        ),
    },
}
CLAUDE = {
    "uuid": "9a0b",
    "name": "Clinic",
    "created_at": "2025-03-04T08:00:00.123456Z",
    "chat_messages": [
        {
            "uuid": "a",
            "sender": "human",
            "text": "",
            "content": [{"type": "text", "text": "Look at this."}, {"type": "tool_use", "name": "x"}],
            "created_at": "2025-03-04T08:00:01Z",
            "attachments": [{"file_name": "plan.txt", "extracted_content": "Thursday: clinic."}],
        },
        {"uuid": "b", "sender": "assistant", "text": "Thursday it is.", "created_at": "2025-03-04T08:00:02Z"},
        {"uuid": "c", "sender": "human", "text": "   "},
    ],
}


def test_the_branch_of_a_chatgpt_conversation_that_was_shown_last_is_taken(tmp_path: Path) -> None:
    (item,) = read([_write(tmp_path / "conversations.json", [CHATGPT])])
    assert item.body["session_id"] == "chatgpt-67c1"
    assert item.body["metadata"] == {"title": "Trip to Rome"}
    assert [(message["role"], message["content"]) for message in item.body["messages"]] == [
        ("user", "Plan a week in Rome."),
        ("assistant", "Day one.\n[image]"),
    ]
    assert item.body["messages"][1]["at"] == "2025-03-03T11:07:40+00:00"


def test_a_claude_conversation_has_its_attachments(tmp_path: Path) -> None:
    (item,) = read([_write(tmp_path / "conversations.json", [CLAUDE])])
    assert item.body["session_id"] == "claude-9a0b"
    assert [(message["role"], message["content"]) for message in item.body["messages"]] == [
        ("user", "Look at this.\n[plan.txt]\nThursday: clinic."),
        ("assistant", "Thursday it is."),
    ]


def test_sessions_come_in_the_order_in_which_they_happened(tmp_path: Path) -> None:
    _write(tmp_path / "a.json", [CLAUDE, CHATGPT])
    _write(tmp_path / "b.json", {"messages": [{"role": "user", "content": "x", "at": "2024-01-01T00:00:00+01:00"}]})
    _write(tmp_path / "c.json", {"transcript": "no time", "session_id": "c"})
    _write(tmp_path / "ignored.png", "x")
    os.utime(_write(tmp_path / "old.md", "old text"), (1_600_000_000, 1_600_000_000))
    found = [item.body.get("session_id", item.name) for item in read([tmp_path])]
    assert found[0].startswith("old-md-")
    assert found[1:] == [str(tmp_path / "b.json"), "chatgpt-67c1", "claude-9a0b", "c"]


def test_a_text_is_known_by_its_path_whatever_it_says(tmp_path: Path) -> None:
    path = _write(tmp_path / "Mes notes ÄÖ.md", "one")
    (before,) = read([path])
    _write(path, "two")
    (after,) = read([path])
    assert before.body["session_id"] == after.body["session_id"]
    assert before.body["session_id"].startswith("mes-notes-md-")
    (tmp_path / "other").mkdir()
    (other,) = read([_write(tmp_path / "other" / "Mes notes ÄÖ.md", "one")])
    assert other.body["session_id"] != before.body["session_id"]


def test_bodies_lists_of_them_lists_of_messages_and_lines_are_read(tmp_path: Path) -> None:
    message = {"role": "user", "content": "x"}
    assert len(read([_write(tmp_path / "1.json", {"messages": [message]})])) == 1
    assert len(read([_write(tmp_path / "2.json", [{"messages": [message]}, {"transcript": "y"}])])) == 2
    (item,) = read([_write(tmp_path / "3.json", [message, message])])
    assert item.body["messages"] == [message, message]
    lines = f"{json.dumps({'transcript': 'a'})}\n\n{json.dumps({'transcript': 'b'})}\n"
    assert len(read([_write(tmp_path / "4.jsonl", lines)])) == 2


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.md", b"", "empty"),
        ("a.md", b" \n\t\n", "empty"),
        ("a.md", b"\xff\xfe", "not UTF-8 text"),
        ("a.txt", b"x" * 4_000_001, "longer than 4000000 characters: split it"),
        ("a.json", b"{", "not JSON"),
        ("a.json", b"[" * 100_000, "not JSON"),
        ("a.json", b"[]", "no conversations in it"),
        ("a.json", b"3", "not a conversation of a form that is known"),
        ("a.json", b'{"a": 1}', "no 'messages' and no 'transcript'"),
        ("a.json", b'[{"mapping": {}, "title": "x"}]', "no messages in it"),
        ("a.json", b'[{"mapping": 3}]', "no messages in it"),
        ("a.json", b'[{"chat_messages": null}]', "no messages in it"),
    ],
)
def test_what_cannot_be_remembered_says_why(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    (item,) = read([tmp_path / name])
    assert item.skipped == reason


def test_a_path_that_is_not_there_is_told_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(Misused, match="no file"):
        read([_write(tmp_path / "a.md", "x"), tmp_path / "b.md"])


def test_a_conversation_that_is_too_long_becomes_parts(tmp_path: Path) -> None:
    messages = [{"uuid": str(n), "sender": "human", "text": f"{n}"} for n in range(12_000)]
    items = read([_write(tmp_path / "c.json", {"uuid": "long", "chat_messages": messages})])
    assert [(item.body["session_id"], len(item.body["messages"])) for item in items] == [
        ("claude-long-part-1", 5000),
        ("claude-long-part-2", 5000),
        ("claude-long-part-3", 2000),
    ]
    large = [{"uuid": str(n), "sender": "human", "text": "x" * 500_000} for n in range(6)]
    items = read([_write(tmp_path / "d.json", {"uuid": "large", "chat_messages": large})])
    assert [len(item.body["messages"]) for item in items] == [5, 1]
    assert items[0].body["messages"][0]["content"].endswith("[cut off here]")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
FIELDS = ("id", "message", "author", "role", "content", "content_type", "parts", "text", "parent", "sender", "uuid")
NEARLY = st.dictionaries(st.sampled_from((*FIELDS, "create_time", "created_at", "metadata", "attachments")), JSON)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.dictionaries(st.sampled_from("abc"), NEARLY | JSON), JSON, st.lists(NEARLY | JSON, max_size=4))
def test_whatever_an_export_holds_gives_messages_or_none(mapping: Any, node: Any, messages: Any) -> None:
    for document in (
        {"mapping": {key: {"message": value, "parent": "a"} for key, value in mapping.items()}, "current_node": node},
        {"mapping": mapping, "title": node, "id": node},
        {"chat_messages": messages, "name": node, "uuid": node},
        {"chat_messages": mapping},
    ):
        for message in exports.conversation(document).messages:
            assert message["role"] in ("user", "assistant")
            assert isinstance(message["content"], str) and message["content"]


class Terminal(StringIO):
    """What a terminal would show."""

    def isatty(self) -> bool:
        return True


def test_progress_is_a_bar_on_a_terminal_and_a_few_lines_elsewhere() -> None:
    terminal, elsewhere, quiet = Terminal(), StringIO(), StringIO()
    for stream in (terminal, elsewhere, quiet):
        progress = Progress(100, quiet=stream is quiet, stream=stream)
        for number in range(100):
            progress.step(f"\x1b[31mfile {number}")
        progress.say("skipped one")
        progress.close()
    assert terminal.getvalue().count("\r\x1b[K[") == 100
    assert "\x1b[31m" not in terminal.getvalue(), "a file's name does not colour the terminal"
    assert len(elsewhere.getvalue().splitlines()) == 12
    assert quiet.getvalue() == ""


def test_what_is_in_a_memory_gives_a_terminal_no_orders(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows([("one", "\x1b]0;title\x07\x1b[2J"), ("three", "\u202etxt")])
    note("\x1b[31mred\nnext")
    printed = capsys.readouterr()
    assert printed.out == "one    \ufffd]0;title\ufffd\ufffd[2J\nthree  \ufffdtxt\n"
    assert printed.err == "\ufffd[31mred\nnext\n"


def test_an_item_has_the_time_of_its_last_message() -> None:
    body = {"messages": [{"at": "2026-01-01T00:00:00Z"}, {"at": "2026-01-02T01:00:00+02:00"}, {}]}
    assert Item("x", body).occurred_at == "2026-01-01T23:00:00+00:00"
    assert Item("x", {"messages": 3}).occurred_at == ""
