"""The tables and the installed programs agree on which options exist and on which of them take an argument.

An unknown option after the one in question tells: a program that complains about it has not taken it as an argument.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from diffmem.shell.policy import binaries, git_tables, program_tables, sed
from diffmem.shell.policy.options import Option, Table
from diffmem.shell.policy.verdict import BadValue, Place

UNKNOWN = "--zzz-unknown"
COMPLAINT = re.compile(r"(unrecognized option|unrecognized argument|unknown option|invalid option).*zzz-unknown")
SAMPLE_WORDS = (
    "1 2 1,2 1.1 +1 a x index.md always none read text rn literal name atime mtime iso long slash %n auto numeric "
    "quiet separate prepend skip across full short oneline %h HEAD 50% A myers off plain lines v1 author refname "
    "strict color unsorted no"
)
SAMPLES = SAMPLE_WORDS.split()
TABLES = {name: (program.name or name, program.table) for name, program in program_tables.PROGRAMS.items()}
TABLES["sed"] = ("sed", sed._TABLE)
# These stop before they read the next option, or take the whole line for something else.
SILENT_IN_GIT = {"--follow", "-L", "--graph", "--cached", "--staged", "--merge-base", "-u", "--untracked-files"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables")
    (path / "index.md").write_text("a\n")
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=path, check=True)
    subprocess.run(["git", "add", "."], cwd=path, check=True)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, "commit", "-q", "-m", "one"], cwd=path, check=True)
    return path


def _complains(folder: Path, *line: str) -> bool:
    done = subprocess.run(
        line,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=10,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
    )
    return bool(COMPLAINT.search(done.stderr.decode(errors="replace")))


def _accepted(option: Option, folder: Path) -> Iterator[str]:
    for sample in SAMPLES:
        try:
            option.check(sample, Place(str(folder), str(folder)))
        except BadValue:
            continue
        yield sample


def _spelled(option: Option, value: str, table: Table) -> list[str]:
    if option.spelling.startswith("--"):
        return [f"{option.spelling}={value}"]
    return [option.spelling + value] if table.glued or option.arity == "optional" else [option.spelling, value]


def test_no_program_has_a_short_option_whose_argument_may_be_left_out() -> None:
    for name, (_, table) in TABLES.items():
        for spelling, option in table.options.items():
            assert option.arity != "optional" or spelling.startswith("--"), (name, spelling)


@pytest.mark.parametrize("command", sorted(TABLES))
def test_a_program_takes_the_options_as_its_table_says(command: str, folder: Path) -> None:
    name, table = TABLES[command]
    program = binaries.find(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    for option in {option.spelling: option for option in table.options.values()}.values():
        if option.spelling in ("-f", "--file"):
            continue  # grep reads the file before it looks at the next option
        if option.arity != "required":
            assert _complains(folder, program, option.spelling, UNKNOWN), f"{option.spelling} takes an argument"
        else:
            assert not _complains(folder, program, option.spelling, UNKNOWN), f"{option.spelling} takes no argument"
        if option.arity != "none":
            lines = [[program, *_spelled(option, value, table), UNKNOWN] for value in _accepted(option, folder)]
            assert any(_complains(folder, *line) for line in lines), f"{option.spelling} with an argument is unknown"


@pytest.mark.parametrize(
    "name",
    [
        "log",
        "show",
        "diff",
        "shortlog",
        "blame",
        "grep",
        "ls-files",
        "ls-tree",
        "cat-file",
        "branch",
        "tag",
        "status",
        "describe",
        "name-rev",
        "merge-base",
        "for-each-ref",
        "show-ref",
    ],
)
def test_git_takes_the_options_as_their_table_says(name: str, folder: Path) -> None:
    table = git_tables.SUBCOMMANDS[name].table
    for spelling, option in table.options.items():
        if spelling in SILENT_IN_GIT:
            continue
        if option.arity != "required":
            assert _complains(folder, "git", name, spelling, UNKNOWN), f"{spelling} takes an argument"
        if option.arity != "none":
            lines = [["git", name, *_spelled(option, value, table), UNKNOWN] for value in _accepted(option, folder)]
            assert any(_complains(folder, *line) for line in lines), f"{spelling} with an argument is unknown"


@pytest.mark.parametrize("name", ["rev-list", "diff-tree", "whatchanged"])
def test_git_knows_every_option_of_the_table(name: str, folder: Path) -> None:
    for spelling, option in git_tables.SUBCOMMANDS[name].table.options.items():
        if option.arity == "required" or spelling in ("--follow", "-L"):
            continue
        done = subprocess.run(
            ["git", name, spelling, "HEAD"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=10
        )
        assert done.returncode != 129, spelling
        assert b"unrecognized" not in done.stderr, spelling
