"""The builtins on their own: whatever words the policy admits, they end with a status, within bounds."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diffmem.shell import policy
from diffmem.shell.builtins import BUILTINS
from diffmem.shell.builtins.printing import quoted
from diffmem.shell.policy import Refused
from diffmem.shell.rules import Rules
from diffmem.shell.state import State
from diffmem.shell.stops import ExpansionError, LoopExit, ShellExit

ENDS_ITSELF = sorted(set(BUILTINS) - {"read", "tac", "xargs", "cd"})
WORDS = st.one_of(
    st.sampled_from(
        ["-n", "-e", "-a", "-s", "-w", "-f", "-d", "-I", "-R", "-u", "--", "!", "(", ")", "-o", "=", "!=", "<", "-eq",
         "-lt", "]", "+%Y", "+%s",
         "0", "1", "-1", "3.5", "1e3", "99999999999999999999", "%s", "%d", "%5.2f", "%b", "%q", "%c", "%x", "a/b.c",
         "/", "", "now", "@0",
         "2026-03-05", "3 days ago", "x=1", "x++", "index.md", ".", "\udcff", "é", "\n", "\\c", "\\0101", "%999d",
         "%", "\\x41"]
    ),
    st.text("abc%\\0123.-+ dsx'\"", max_size=8),
)  # fmt: skip


class Enough(Exception):
    """More was written than a test wants to hold."""


class RecordingShell:
    """A shell that keeps what its builtins write."""

    def __init__(self, tree: Path) -> None:
        self.state = State(str(tree), Rules())
        self.output = b""

    def write(self, data: bytes) -> None:
        self.output += data
        if len(self.output) > 100_000:
            raise Enough

    def complain(self, message: str) -> None:
        assert "Traceback" not in message

    def complain_as(self, name: str, message: str) -> None:
        self.complain(f"{name}: {message}")

    def trace(self, line: str) -> None:
        self.complain(line)

    def run(self, argv: Sequence[str]) -> int:
        return len(argv) % 2


def run(words: Sequence[str], tree: Path) -> tuple[int | None, bytes]:
    """The status of a builtin on words as they are typed, None where it ends its loop or its shell, and its output."""
    admitted = policy.check(words, os.fspath(tree), os.fspath(tree))
    shell = RecordingShell(tree)
    try:
        return BUILTINS[admitted.argv[0]](shell, list(admitted.argv[1:])), shell.output
    except (LoopExit, ShellExit, ExpansionError, Enough):
        return None, shell.output


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(ENDS_ITSELF), arguments=st.lists(WORDS, max_size=6))
def test_whatever_is_admitted_ends_with_a_status(name: str, arguments: list[str], tmp_path: Path) -> None:
    try:
        status, _ = run([name, *arguments], tmp_path)
    except Refused:
        return
    assert status is None or 0 <= status <= 255


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["seq", "1", "99999999999999999999999999"], b"1\n2\n3\n"),
        (["seq", "-w", "9", "11"], b"09\n10\n11\n"),
        (["printf", "%s-%03d\\n", "a", "7"], b"a-007\n"),
        (["date", "-u", "-d", "2026-03-05 12:00 -2 days", "+%F"], b""),
        (["date", "-d", "@0", "+%s %N %%z"], b"0 000000000 %z\n"),
        (["basename", "/a/b.md", ".md"], b"b\n"),
        (["dirname", "a//b/"], b"a\n"),
        (["echo", "-e", "\\0101\\x42\\c", "no"], b"AB"),
    ],
)
def test_a_builtin_writes_what_the_program_of_its_name_writes(
    words: list[str], expected: bytes, tmp_path: Path
) -> None:
    assert run(words, tmp_path)[1].startswith(expected)


@pytest.mark.parametrize("word", ["a b", "it's", "", "a\nb", "é", "\x1b[0m", "#x", "~", "a{b}"])
def test_a_quoted_word_is_printed_as_one_word(word: str) -> None:
    assert "\n" not in quoted(word)
    assert "\x1b" not in quoted(word)
    assert quoted(word)


def test_cd_stays_in_the_tree_even_if_it_is_let_out(tmp_path: Path) -> None:
    before = Path.cwd()
    shell = RecordingShell(tmp_path)
    try:
        os.chdir(tmp_path)
        assert BUILTINS["cd"](shell, ["/"]) == 1
        assert Path.cwd() == tmp_path
    finally:
        os.chdir(before)
