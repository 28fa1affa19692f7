from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from diffmem import tokens
from diffmem.context import Resolved, resolve
from diffmem.limits import Deadline
from diffmem.memory import CONTEXT_FRAME_CLOSE, CONTEXT_FRAME_OPEN, Message, Session, render_session, session_path
from diffmem.plan import Plan, Pointer
from diffmem.repository import Snapshot
from tests.support.memories import Memory

MAYA = "memories/people/maya.md"
ACME = "memories/contexts/acme.md"
MAYA_THEN = b"""---
name: Maya
always_load: ["Work"]
---

# Maya

## Work

- Works at Acme as a nurse. ^[s1#3]

## Home

- Lives in Berlin. ^[s1#1]
- Has a cat. ^[s1#2]
"""
MAYA_NOW = MAYA_THEN.replace(b"Works at Acme as a nurse. ^[s1#3]", b"Left Acme. ^[s2#1]") + b"- Runs marathons.\n"
CHAT = Session(
    "s1",
    datetime(2024, 1, 20, 18, tzinfo=UTC),
    tuple(Message("user", f"Message {n} of the evening.", name=name) for n, name in enumerate(("Maya", "Alex") * 4, 1)),
)
CHAT_PATH = session_path(CHAT)


class Alex:
    """A memory of three commits: January, February and March of 2024."""

    def __init__(self, folder: Path) -> None:
        self.memory = Memory(folder)
        self.january = self.memory.write(
            {MAYA: MAYA_THEN, CHAT_PATH: render_session(CHAT), "timeline/2024-01.md": b"## 2024-01-20\n\n- dinner\n"},
            "2024-01-20",
            "Remember session s1",
        )
        self.february = self.memory.write({MAYA: MAYA_NOW, "old.md": b"gone soon\n"}, "2024-02-10", "Maya left Acme")
        self.march = self.memory.write(
            {ACME: b"# Acme\n\n- A hospital.\n", "old.md": None, "empty.md": b"", "notes.txt": b"some text\n"},
            "2024-03-05",
            "Consolidate",
        )


@pytest.fixture(scope="module")
def alex(tmp_path_factory: pytest.TempPathFactory) -> Alex:
    return Alex(tmp_path_factory.mktemp("alex"))


@pytest.fixture
def snapshot(alex: Alex) -> Iterator[Snapshot]:
    with alex.memory.open() as snapshot:
        yield snapshot


def resolved(snapshot: Snapshot, *pointers: Pointer, max_tokens: int = 2000) -> Resolved:
    made = resolve(Plan(pointers), snapshot, None, max_tokens, Deadline(10))
    assert made.tokens == tokens.count(made.text) <= max_tokens
    return made


def why(snapshot: Snapshot, pointer: Pointer) -> str:
    made = resolved(snapshot, pointer, Pointer("file", ACME))
    assert [block.path for block in made.blocks] == [ACME], "the good pointer beside the bad one is used"
    (rejected,) = made.rejected
    assert rejected.pointer is pointer
    return rejected.why


def test_a_file(snapshot: Snapshot, alex: Alex) -> None:
    made = resolved(snapshot, Pointer("file", ACME, priority="must_include", reason="the company"))
    assert made.text == f"{CONTEXT_FRAME_OPEN}\n{ACME}:\n# Acme\n\n- A hospital.\n{CONTEXT_FRAME_CLOSE}"
    (block,) = made.blocks
    assert (block.type, block.path, block.lines, block.commit) == ("file", ACME, (1, 3), alex.march)
    assert block.occurred_at == datetime(2024, 3, 5, 12, tzinfo=UTC)
    assert (block.priority, block.reason, block.truncated) == ("must_include", "the company", False)
    assert block.content == "# Acme\n\n- A hospital."
    assert block.tokens == tokens.count(block.content)
    assert (made.rejected, made.warnings) == ((), ())


def test_a_section_of_a_file_up_to_its_end(snapshot: Snapshot, alex: Alex) -> None:
    made = resolved(snapshot, Pointer("file_section", MAYA, 14, 999))
    assert [(block.type, block.lines) for block in made.blocks][-1] == ("file_section", (14, 16))
    assert made.blocks[-1].content == "- Lives in Berlin. ^[s1#1]\n- Has a cat. ^[s1#2]\n- Runs marathons."
    assert made.blocks[-1].commit == alex.february


def test_a_session_is_shown_under_its_day_without_its_markers(snapshot: Snapshot) -> None:
    content = CHAT.messages[2].content
    line = render_session(CHAT).decode().split("\n").index(f"**Maya:** {content}") + 1
    made = resolved(snapshot, Pointer("file_section", CHAT_PATH, line, line), Pointer("file_section", CHAT_PATH, 1, 12))
    assert made.text.split("\n")[1:-1] == [
        "20 January 2024:",
        "Maya: Message 1 of the evening.",
        "Alex: Message 2 of the evening.",
        "Maya: Message 3 of the evening.",
    ]


def test_sections_always_loaded_come_with_the_entity(snapshot: Snapshot) -> None:
    made = resolved(snapshot, Pointer("file_section", MAYA, 13, 13))
    assert [(block.lines, block.priority, block.reason) for block in made.blocks] == [
        ((8, 10), "must_include", "'Work' is always loaded"),
        ((13, 13), "if_budget_allows", ""),
    ]


def test_the_profile_is_always_loaded(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.write({"profile.md": b"# Alex\n\n- Vegetarian.\n" + b"- And so on.\n" * 500})
    with memory.open() as snapshot:
        made = resolved(snapshot, max_tokens=800)
    assert made.text.startswith(f"{CONTEXT_FRAME_OPEN}\nprofile.md:\n# Alex\n\n- Vegetarian.\n- And so on.")
    assert 60 < made.tokens <= 120
    assert made.blocks[0].truncated


def test_a_plan_without_pointers_says_nothing_where_there_is_no_profile(snapshot: Snapshot) -> None:
    assert resolved(snapshot) == Resolved("", (), 0, (), ())


def test_what_changed_since_a_commit(snapshot: Snapshot, alex: Alex) -> None:
    made = resolved(snapshot, Pointer("git_diff", MAYA, since=alex.january))
    block = made.blocks[-1]
    assert f"diff {MAYA} since 20 January 2024:\n" in made.text
    assert (block.type, block.path, block.lines, block.commit) == ("git_diff", MAYA, None, alex.february)
    assert block.content.split("\n") == [
        "@@ -9,3 +9,3 @@",
        " ",
        "-- Works at Acme as a nurse. ^[s1#3]",
        "+- Left Acme. ^[s2#1]",
        " ",
        "@@ -15 +15,2 @@",
        " - Has a cat. ^[s1#2]",
        "+- Runs marathons.",
    ]


@pytest.mark.parametrize("since", ["HEAD~2", "2024-02-10", "2024-02-01", "2024-01-21T10:00:00Z"])
def test_what_changed_since_a_day_or_a_step_back(snapshot: Snapshot, since: str) -> None:
    assert "+- Left Acme" in resolved(snapshot, Pointer("git_diff", MAYA, since=since)).text


def test_since_before_its_beginning_all_of_a_file_is_new(snapshot: Snapshot) -> None:
    made = resolved(snapshot, Pointer("git_diff", ACME, since="2023-12-01"))
    assert f"diff {ACME}:\n@@ -0,0 +1,3 @@\n+# Acme\n" in made.text


def test_what_was_in_a_file_that_is_gone(snapshot: Snapshot, alex: Alex) -> None:
    made = resolved(snapshot, Pointer("git_diff", "old.md", since=alex.february))
    assert "-gone soon" in made.text
    assert made.blocks[0].commit == alex.march


@pytest.mark.parametrize("rev", ["HEAD~2", "2024-01-20", "2024-02-09"])
def test_a_file_as_it_was(snapshot: Snapshot, alex: Alex, rev: str) -> None:
    made = resolved(snapshot, Pointer("git_show", MAYA, 10, 10, rev=rev, priority="must_include"))
    block = next(block for block in made.blocks if block.type == "git_show")
    assert f"{MAYA} at 20 January 2024:\n- Works at Acme as a nurse." in made.text
    assert (block.lines, block.commit) == ((10, 10), alex.january)


def test_the_log_of_a_file_of_a_folder_and_of_everything(snapshot: Snapshot, alex: Alex) -> None:
    file = resolved(snapshot, Pointer("git_log", MAYA))
    assert f"log {MAYA}:\n2024-02-10 Maya left Acme\n2024-01-20 Remember session s1\n" in file.text
    assert next(block for block in file.blocks if block.type == "git_log").commit == alex.february
    folder = resolved(snapshot, Pointer("git_log", "memories"))
    assert "log memories:\n2024-03-05 Consolidate\n" in folder.text
    everything = resolved(snapshot, Pointer("git_log", max_count=1))
    assert everything.text.split("\n")[1:-1] == ["log of everything:", "2024-03-05 Consolidate"]


def test_duplicates_are_shown_once_with_all_reasons(snapshot: Snapshot) -> None:
    pointers = [
        pointer
        for reason in ("one", "two")
        for pointer in (
            Pointer("file", ACME, reason=reason),
            Pointer("git_log", ACME, reason=reason),
            Pointer("git_diff", ACME, since="HEAD~1", reason=reason),
            Pointer("git_show", ACME, rev="HEAD", reason=reason),
        )
    ]
    made = resolved(snapshot, *pointers)
    assert [block.type for block in made.blocks] == ["file", "git_log", "git_diff", "git_show"]
    assert {block.reason for block in made.blocks} == {"one; two"}


def test_a_path_that_differs_by_case_is_mended(snapshot: Snapshot) -> None:
    assert resolved(snapshot, Pointer("file", "Memories/Contexts/ACME.md")).blocks[0].path == ACME


@pytest.mark.parametrize(
    ("pointer", "reason"),
    [
        (Pointer("file", "memories/people/bob.md"), "no file 'memories/people/bob.md'"),
        (Pointer("file", "people/maya.md"), "no file 'people/maya.md'; there is memories/people/maya.md"),
        (Pointer("file", "memories/people/mayaa.md"), "there is memories/people/maya.md"),
        (
            Pointer("file", "memories"),
            "'memories' is a folder, with memories/contexts/acme.md, memories/people/maya.md",
        ),
        (Pointer("file", "../bob/profile.md"), "no file '../bob/profile.md'"),
        (Pointer("file", ".git/config"), "no file '.git/config'"),
        (Pointer("file", ""), "no file ''"),
        (Pointer("file", "empty.md"), "'empty.md' is empty"),
        (Pointer("file_section", ACME, 4, 9), "'memories/contexts/acme.md' has 3 lines, and no line 4"),
        (Pointer("git_diff", ACME, since="nowhere"), "no commit 'nowhere'; name one by its sha"),
        (Pointer("git_diff", ACME, since="2 weeks ago"), "no commit '2 weeks ago'"),
        (Pointer("git_diff", ACME, since="HEAD"), "nothing changed in 'memories/contexts/acme.md' since 'HEAD'"),
        (Pointer("git_diff", "nothing.md", since="HEAD~1"), "no file 'nothing.md'"),
        (Pointer("git_show", ACME, rev="HEAD~2"), "no file 'memories/contexts/acme.md' at"),
        (Pointer("git_show", ACME, rev="2023-01-01"), "'memories/contexts/acme.md' was not there on '2023-01-01'"),
        (Pointer("git_show", ACME, rev="0" * 40), "no commit"),
        (Pointer("git_show", "empty.md", rev="HEAD"), "'empty.md' was empty at 'HEAD'"),
        (Pointer("git_log", "nothing.md"), "no commit touched 'nothing.md'"),
        (Pointer("git_log", "../bob"), "'../bob' has an empty, '.' or '..' part"),
        (Pointer("git_diff", "/etc/passwd", since="HEAD~1"), "'/etc/passwd' has"),
        (Pointer("git_show", ".git/config", rev="HEAD"), "'.git/config' has a part that git keeps for itself"),
        (Pointer("command", command="rg x"), "there is no tool"),
    ],
)
def test_what_is_not_there_is_rejected_with_a_reason(snapshot: Snapshot, pointer: Pointer, reason: str) -> None:
    assert reason in why(snapshot, pointer)


def test_other_files_than_markdown_are_called_files(snapshot: Snapshot) -> None:
    assert "\nfile notes.txt:\nsome text\n" in resolved(snapshot, Pointer("file", "notes.txt")).text


def test_the_past_is_resolved_as_it_was_then(alex: Alex) -> None:
    with alex.memory.open(as_of=datetime(2024, 1, 31, tzinfo=UTC)) as then:
        made = resolved(then, Pointer("file", MAYA))
        assert "Works at Acme" in made.text
        assert {block.commit for block in made.blocks} == {alex.january}
        assert "no file" in why_only(then, Pointer("file", ACME))
        assert "not in the history" in why_only(then, Pointer("git_show", MAYA, rev=alex.february))


def why_only(snapshot: Snapshot, pointer: Pointer) -> str:
    return resolved(snapshot, pointer).rejected[0].why


def test_musts_without_room_are_warned_of(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.write({f"memories/people/{n}.md": b"- a fact about somebody\n" * 20 for n in range(20)})
    with memory.open() as snapshot:
        pointers = [Pointer("file", f"memories/people/{n}.md", priority="must_include") for n in range(20)]
        made = resolved(snapshot, *pointers, max_tokens=64)
    assert made.blocks
    (warning,) = made.warnings
    assert warning.startswith("no room in 64 tokens for 1") and "memories/people/19.md" in warning


def test_a_budget_that_holds_not_even_the_frame_holds_nothing(snapshot: Snapshot) -> None:
    made = resolved(snapshot, Pointer("file", ACME, priority="must_include"), max_tokens=12)
    assert (made.text, made.blocks, len(made.warnings)) == ("", (), 1)


def test_out_of_time_everything_is_rejected_and_nothing_is_raised(alex: Alex) -> None:
    clock = [0.0]
    deadline = Deadline(10, lambda: clock[0])
    with alex.memory.open(deadline=deadline) as snapshot:
        clock[0] = 11.0
        made = resolve(Plan([Pointer("file_section", MAYA, 10, 10)]), snapshot, None, 500, deadline)
    assert tokens.count(made.text) <= 500
    assert made.warnings
