"""Each command on a store: what it prints, what it changes, and how it ends."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from diffmem.cli.parser import parsed
from tests.cli.conftest import Command
from tests.support.bundles import Repository

ROOT = Path(__file__).parent.parent.parent
COMMANDS = (
    "serve", "remember", "ask", "run", "log", "blame", "diff", "forget", "export", "import", "maintain", "evals",
    "doctor",
)  # fmt: skip
NOTES = "# Monday\n\nMaya starts at the clinic on Thursday. She is nervous.\n"


@pytest.fixture
def remembered(home: Path, diffmem: Command) -> Path:
    """A memory with one session."""
    (home / "notes.md").write_text(NOTES)
    assert diffmem("remember", "notes.md").code == 0
    return home


def _session(diffmem: Command) -> str:
    commits = json.loads(diffmem("log", "--json").out)["commits"]
    paths: list[str] = [path for commit in commits for path in commit["paths"]]
    return next(path for path in paths if path.startswith("sessions/"))


def test_ask_prints_the_context_and_how_it_came(remembered: Path, diffmem: Command) -> None:
    ended = diffmem("ask", "How", "does", "Maya", "feel?")
    assert ended.code == 0
    assert "She is nervous." in ended.out
    assert "planned offline (no_model)" in ended.err
    quiet = diffmem("ask", "-q", "Maya", "--max-tokens", "64", "--json")
    assert json.loads(quiet.out)["tokens"] <= 64
    assert quiet.err == ""


def test_a_question_comes_from_standard_input_too(remembered: Path) -> None:
    done = _process("ask", "-q", stdin=b"How does Maya feel?")
    assert b"She is nervous." in done.stdout
    assert _process("ask", stdin=b"  \n").returncode == 2


def test_run_ends_as_its_command_does(remembered: Path, diffmem: Command) -> None:
    assert "clinic" in diffmem("run", "grep -rh clinic sessions").out
    assert diffmem("run", "grep", "-rh", "clinic", "sessions").code == 2, "one command line is one argument"
    refused = diffmem("run", "rm -rf sessions")
    assert (refused.code, "read-only" in refused.out) == (1, True)
    assert json.loads(diffmem("run", "false", "--json").out)["exit_code"] == 1


def test_log_blame_and_diff_say_where_it_comes_from(remembered: Path, diffmem: Command) -> None:
    path = _session(diffmem)
    log = diffmem("log", path).out.splitlines()
    assert len(log) == 1
    assert "notes-md-" in log[0]
    assert len(diffmem("log", "--limit", "1").out.splitlines()) == 1
    line = next(line for line in diffmem("blame", path).out.splitlines() if "nervous" in line)
    assert "notes-md-" in line
    assert "+Maya starts at the clinic on Thursday." in diffmem("diff").out
    assert "+Maya" in diffmem("diff", "HEAD~1", "HEAD", "--path", path).out
    assert diffmem("diff", "--json").code == 2


def test_an_error_is_one_line_and_a_code(remembered: Path, diffmem: Command) -> None:
    ended = diffmem("blame", "nothing.md")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("diffmem: no file 'nothing.md'")
    assert ended.err.count("\n") == 1
    assert diffmem("ask", "x", "--user", "nobody").err == "diffmem: no memory of 'nobody'\n"
    assert diffmem("ask", "x", "--max-tokens", "3").err.startswith("diffmem: max_tokens:")
    assert diffmem("log", "--since", "yesterday").code == 1
    assert diffmem("log", "-u", "a/b").err.startswith("diffmem: user: 'a/b' is not")
    assert diffmem("log", "--store", "s3://nope").err.startswith("diffmem: DIFFMEM_STORE must be")


@pytest.mark.parametrize(
    "arguments", [(), ("frobnicate",), ("log", "--lim", "3"), ("log", "--limit", "many"), ("remember",), ("blame",)]
)
def test_a_wrong_command_line_is_told_so(diffmem: Command, arguments: tuple[str, ...]) -> None:
    ended = diffmem(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert "usage: python -m diffmem" in ended.err


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "evals"])
def test_every_command_has_help(diffmem: Command, command: str) -> None:
    ended = diffmem(command, "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"usage: python -m diffmem {command}")


def test_the_help_lists_every_command(diffmem: Command) -> None:
    text = diffmem("--help").out
    assert all(f"\n    {command} " in text for command in COMMANDS)


def test_options_stand_before_the_command_or_behind_it() -> None:
    for arguments in (["-u", "alex", "--json", "log"], ["log", "-u", "alex", "--json"]):
        options = parsed(arguments)
        assert (options.user, options.json, options.url) == ("alex", True, None)


def test_forget_says_what_goes_before_it_goes(remembered: Path, diffmem: Command) -> None:
    planned = diffmem("forget", "--text", "nervous", "--dry-run")
    assert planned.code == 0
    assert "would be rewritten" in planned.out
    assert "She is nervous." in diffmem("ask", "Maya").out
    done = diffmem("forget", "--text", "nervous", "--yes")
    assert "receipt: sha256 " in done.out
    assert "nervous" not in diffmem("ask", "Maya").out
    assert diffmem("forget", "--text", "nervous", "--yes").out == "nothing in memory or in its history has it\n"
    assert diffmem("forget").code == 2
    assert json.loads(diffmem("forget", "--text", "nervous", "--yes", "--json").out)["files"] == []


def test_forget_does_nothing_where_nobody_can_be_asked(remembered: Path) -> None:
    done = _process("forget", "--text", "nervous", stdin=b"forget\n")
    assert done.returncode == 2
    assert b"say --yes" in done.stderr


@pytest.mark.parametrize(("answer", "code"), [(b"no\n", 1), (b"\n", 1), (b"forget\n", 0)])
def test_forget_asks_on_a_terminal(remembered: Path, diffmem: Command, answer: bytes, code: int) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    done = subprocess.run(
        [sys.executable, "-m", "diffmem", "forget", "--text", "nervous"], stdin=theirs, capture_output=True, env=_here()
    )
    os.close(theirs)
    os.close(ours)
    assert done.returncode == code, done.stderr
    assert b"notes-md-" in done.stderr
    assert ("nervous" in diffmem("ask", "Maya").out) == (code == 1)


def test_a_memory_is_taken_along_and_brought_back(remembered: Path, diffmem: Command) -> None:
    ended = diffmem("export", "me.bundle")
    assert (ended.code, "git clone me.bundle" in ended.err) == (0, True)
    clone = subprocess.run(["git", "clone", "--quiet", "me.bundle", "clone"], capture_output=True)
    assert (clone.returncode, clone.stderr) == (0, b"")
    assert diffmem("export", "me.bundle").code == 2
    assert json.loads(diffmem("export", "me.bundle", "--force", "--json").out)["bytes"] > 100
    assert diffmem("export", "nowhere/me.bundle").err.startswith("diffmem: 'nowhere/me.bundle' cannot be written")
    assert diffmem("export", "me.bundle/x").err.startswith("diffmem: 'me.bundle/x' cannot be written")
    assert diffmem("import", "me.bundle", "-u", "alex").out.startswith("imported: 2 commits of branch 'main'")
    assert "nothing was changed" in diffmem("import", "me.bundle", "-u", "alex").out
    assert diffmem("log", "-u", "alex").out == diffmem("log").out
    assert list(Path.cwd().glob(".*.part")) == []


def test_an_import_says_what_it_mapped_and_what_it_refuses(remembered: Path, diffmem: Command) -> None:
    stranger = Repository(remembered / "stranger")
    bundle = stranger.bundle({"user/maya": stranger.files({"maya.md": b"# Maya\n"})}, head=None)
    Path("old.bundle").write_bytes(bundle)
    ended = diffmem("import", "old.bundle", "-u", "maya")
    assert "  maya.md -> profile.md\n" in ended.out
    assert diffmem("import", "old.bundle").err.startswith("diffmem: the memory of 'me' has 2 commits")
    assert diffmem("import", "old.bundle", "--replace").out.startswith("replaced: 1 commit of branch 'user/maya'")
    assert diffmem("import", "notes.md").err.startswith("diffmem: a bundle begins with a line")
    assert diffmem("import", "nothing.bundle").err.startswith("diffmem: 'nothing.bundle' cannot be read")
    assert diffmem("import", "old.bundle", "-u", "x", "--branch", "main").code == 1


def test_bundles_pass_through_pipes(remembered: Path, diffmem: Command) -> None:
    bundle = _process("export", "-").stdout
    assert bundle.startswith(b"# v2 git bundle\n")
    done = _process("import", "-", "-u", "piped", stdin=bundle)
    assert done.stdout.startswith(b"imported: 2 commits")
    assert diffmem("export", "-", "--json").code == 2


def test_house_is_kept_of_one_or_of_all(remembered: Path, diffmem: Command) -> None:
    diffmem("remember", "notes.md", "-u", "alex")
    ended = diffmem("maintain")
    assert (ended.code, ended.out) == (0, "2 memories: 0 rebuilt, 0 objects (0 bytes) removed\n")
    rows = json.loads(diffmem("maintain", "-u", "alex", "--json", "-q").out)
    assert [row["user"] for row in rows] == ["alex"]
    assert diffmem("maintain", "-u", "nobody").code == 1
    assert diffmem("maintain", "--url", "http://127.0.0.1:9").code == 2


def test_evals_are_handed_over(diffmem: Command) -> None:
    ended = diffmem("evals", "nothing.jsonl")
    assert (ended.code, ended.err.startswith("diffmem.evals:")) == (2, True)
    assert diffmem("evals", "--help").out.startswith("usage: python -m diffmem.evals")
    assert "invalid int value" in diffmem("evals", "--limit", "many", "nothing.jsonl").err


def test_serve_checks_the_configuration_first(diffmem: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFMEM_AUTH", "maybe")
    assert diffmem("serve").err.startswith("diffmem: DIFFMEM_AUTH must be one of")
    monkeypatch.setenv("DIFFMEM_AUTH", "key")
    monkeypatch.setenv("DIFFMEM_API_KEYS", "abc")
    assert diffmem("serve").err.startswith("diffmem: DIFFMEM_API_KEYS: entry 1 must be")
    monkeypatch.setenv("DIFFMEM_AUTH", "none")
    monkeypatch.delenv("DIFFMEM_API_KEYS")
    monkeypatch.setenv("DIFFMEM_HOOKS", "[]")
    assert diffmem("serve").err.startswith("diffmem: DIFFMEM_HOOKS must be")
    monkeypatch.delenv("DIFFMEM_HOOKS")
    monkeypatch.setenv("PATH", "/nowhere")
    assert diffmem("serve").err.startswith("diffmem: git is not installed")
    assert diffmem("serve", "--port", "0").code == 2


def test_a_reader_that_leaves_early_is_no_disaster(remembered: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "diffmem", "log"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_here()
    )
    assert process.stdout and process.stderr
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait()


def test_help_costs_no_more_than_python_itself() -> None:
    code = (
        "import sys; from diffmem.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    heavy = {"flask", "pydantic", "tiktoken", "openai", "git", "google.cloud.storage", "urllib.request", "diffmem.api"}
    assert not loaded & heavy


def test_a_server_is_asked_without_importing_the_store() -> None:
    code = (
        "import sys; from diffmem.cli.main import main\n"
        "main(['log', '--url', 'http://127.0.0.1:9'])\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr.startswith("diffmem: no answer from http://127.0.0.1:9")
    assert not set(done.stdout.split()) & {"flask", "pydantic", "tiktoken", "git", "diffmem.api"}


def _here() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def _process(*arguments: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "diffmem", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, env=_here(), check=False)
