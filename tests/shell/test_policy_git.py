"""git: lines as people type them mean the same in their final form; what writes, runs or reads elsewhere is refused."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.shell import policy
from diffmem.shell.policy import git_tables

ENVIRONMENT = {
    "PATH": os.defpath, "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TZ": "UTC", "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.org", "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
}  # fmt: skip


@dataclass(frozen=True)
class Repository:
    tree: Path

    def git(self, words: Sequence[str], folder: str = "") -> tuple[int, bytes, bytes]:
        done = subprocess.run(
            ["git", *words],
            cwd=self.tree / folder,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
        )
        return done.returncode, done.stdout, done.stderr

    def final(self, command: str, folder: str = "") -> tuple[str, ...]:
        return policy.check(shlex.split(command), str(self.tree / folder), str(self.tree)).argv

    def refusal(self, command: str) -> str:
        try:
            self.final(command)
        except policy.Refused as refused:
            return refused.message
        return ""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    tree = tmp_path_factory.mktemp("git") / "tree"
    (tree / "memories" / "people").mkdir(parents=True)
    (tree.parent / "secret.txt").write_text("CANARY\n")
    found = Repository(tree)
    found.git(["init", "-q", "-b", "main", "."])
    for number in range(1, 7):
        (tree / "index.md").write_text("".join(f"line {one}\n" for one in range(number)))
        (tree / "memories" / "people" / "anna.md").write_text(f"# Anna\n- likes tea {number} (a)\n")
        found.git(["add", "-A"])
        found.git(["commit", "-q", "-m", f"session {number}"])
    found.git(["tag", "v1", "HEAD~2"])
    found.git(["branch", "old", "HEAD~3"])
    return found


SAME = (
    "git log", "git log -3", "git log -n 2 --oneline", "git log -n2 --oneline", "git log --max-count 2 --oneline",
    "git log --oneline HEAD~4..HEAD~1 -- index.md memories", "git log --oneline index.md",
    "git log --oneline memories/people/anna.md", "git log --oneline main", "git log --oneline main old --",
    "git log --oneline ^old main", "git log --oneline HEAD -- 'memories/*.md'", "git log --oneline 'memories/*.md'",
    "git log --oneline -- ':(glob)**/*.md'", "git log --oneline -- ':!index.md'", "git log --oneline -- .",
    "git log --format='%h %ad %s' --date=short", "git log --format='%h%n%<(20,trunc)%s%x09%an'",
    "git log --pretty=oneline --abbrev-commit", "git log --grep='session 3' --oneline",
    "git log --grep session --author Ann -i --oneline", "git log -S'tea 3' --oneline",
    "git log -Gtea --oneline -- memories", "git log --follow --oneline -- index.md",
    "git log -L1,2:index.md --oneline", "git log --stat -2", "git log -p -1 --unified=0", "git log -p -U0 -1",
    "git log --name-only --diff-filter=A --format=", "git log --graph --oneline --all",
    "git log --reverse --format=%s", "git log --since=2000-01-01 --oneline", "git log nosuch", "git log nosuch.md",
    "git log --oneline HEAD~100", "git log -- gone.md", "git log --decorate=short --oneline",
    "git log -z --format=%h", "git log --word-diff -p -1", "git log -M50% -C --name-status", "git show",
    "git show HEAD", "git show HEAD~2:index.md", "git show HEAD:memories/", "git show HEAD --stat",
    "git show --name-only --format='%h %s' HEAD~1", "git show HEAD -- index.md", "git show :index.md", "git show v1",
    "git show HEAD:nosuch.md", "git show 'HEAD^{tree}'", "git show ':/session 4'", "git show 'HEAD@{0}'",
    "git diff HEAD~2", "git diff HEAD~2 HEAD", "git diff HEAD~3..", "git diff HEAD~2 HEAD --name-only",
    "git diff HEAD~3.. -- memories/people/anna.md", "git diff HEAD~1 index.md",
    "git diff --stat HEAD~2 HEAD -- index.md", "git diff", "git diff --cached",
    "git diff HEAD~2:index.md HEAD:index.md", "git diff index.md memories", "git diff -w --exit-code HEAD~1",
    "git blame index.md", "git blame -L 1,2 --date=short index.md", "git blame -s -w index.md",
    "git blame HEAD~2 -- index.md", "git blame HEAD~2 index.md", "git blame -L/line/,+1 index.md",
    "git blame nosuch.md", "git annotate index.md", "git grep -n tea", "git grep -in TEA HEAD~3 -- memories",
    "git grep -n 'line 1' -- '*.md'", "git grep -c line index.md", "git grep -e line --and -e 1",
    "git grep -E 'tea|line' HEAD", "git grep nothing", "git grep -l tea HEAD~1 HEAD", "git shortlog -sn HEAD",
    "git shortlog HEAD -- index.md", "git rev-list --count HEAD", "git rev-list HEAD -- index.md",
    "git rev-list -2 HEAD", "git rev-list --all --max-count=2", "git rev-parse HEAD", "git rev-parse --short HEAD~1",
    "git rev-parse --abbrev-ref HEAD", "git rev-parse --verify nosuch", "git rev-parse v1 old",
    "git cat-file -p HEAD:index.md", "git cat-file -t HEAD", "git cat-file blob HEAD:index.md",
    "git cat-file -s HEAD:index.md", "git ls-files", "git ls-files memories", "git ls-files -s -- index.md",
    "git ls-files '*.md'", "git ls-tree HEAD", "git ls-tree -r --name-only HEAD", "git ls-tree HEAD memories/",
    "git ls-tree HEAD -- memories", "git ls-tree -l HEAD:memories", "git name-rev HEAD~1", "git merge-base main old",
    "git merge-base --is-ancestor old main", "git describe --tags", "git describe --tags --abbrev=4 HEAD",
    "git diff-tree --no-commit-id --name-only -r HEAD", "git diff-tree -p HEAD~1 HEAD -- index.md",
    "git for-each-ref", "git for-each-ref --format='%(refname:short) %(committerdate:short)' refs/heads",
    "git for-each-ref --sort=-committerdate --count=1", "git show-ref", "git show-ref --heads main", "git branch",
    "git branch -a", "git branch -vv", "git branch --show-current", "git branch --list 'o*'",
    "git branch --contains old", "git tag", "git tag -l 'v*'", "git tag -n", "git status", "git status -s",
    "git status --short --branch", "git count-objects", "git whatchanged -1 --oneline", "git version",
    "git --version", "git --no-pager log -1",
)  # fmt: skip


@pytest.mark.parametrize("command", SAME)
def test_the_final_line_means_what_was_typed(repository: Repository, command: str) -> None:
    final = repository.final(command)
    assert repository.git(final[1:]) == repository.git(shlex.split(command)[1:])


@pytest.mark.parametrize("command", SAME)
def test_checking_a_final_line_changes_nothing(repository: Repository, command: str) -> None:
    final = repository.final(command)
    assert repository.final(shlex.join(final)) == final


def test_options_after_operands_are_put_before_them(repository: Repository) -> None:
    assert repository.final("git log index.md HEAD~1 --oneline")[-4:] == ("--oneline", "HEAD~1", "--", "index.md")


def test_a_pattern_of_git_grep_is_never_an_option_or_a_parenthesis(repository: Repository) -> None:
    final = repository.final("git grep -n '(' -- memories")
    assert final[-3:] == ("-e(", "--", "memories")
    assert repository.git(final[1:])[:2] == (0, b"memories/people/anna.md:2:- likes tea 6 (a)\n")


def test_from_a_folder_paths_are_relative_to_it(repository: Repository) -> None:
    final = repository.final("git log --oneline people/anna.md ../index.md", "memories")
    assert final[-3:] == ("--", "people/anna.md", "../index.md")
    assert repository.git(final[1:], "memories")[0] == 0
    assert repository.final("git show HEAD:./people/anna.md", "memories")[-1] == "HEAD:./people/anna.md"
    with pytest.raises(policy.Refused):
        repository.final("git show HEAD:../../x", "memories")


REFUSED = {
    "git": "no sub-command",
    "git -c a.b=c log": "configuration is fixed",
    "git -C .. log": "cd FOLDER",
    "git --git-dir=../x log": "one repository",
    "git --git-dir ../x log": "one repository",
    "git -p log": "no pager",
    "git --exec-path=x log": "before the sub-command",
    "git --paginate log": "no pager",
    "git push": "no network",
    "git remote -v": "no remote",
    "git commit -m x": "read-only",
    "git config -l": "configuration",
    "git reflog": "git log",
    "git hlep": "not available",
    "git help log": "refusal names",
    "git lgo": "git log",
    "git log --help": "refusal names",
    "git log --output=x": "writes a file",
    "git log --outpu=x": "not available",
    "git log --output x": "writes a file",
    "git log -1 --ext-diff": "another program",
    "git show --textconv HEAD": "another program",
    "git log --stdin": "operands",
    "git log --show-signature": "signatures",
    "git log --remerge-diff": "writes objects",
    "git log --diff-merges=remerge": "must be",
    "git log -g": "reflog",
    "git log -Oindex.md -p": "another file",
    "git log --format=%G?": "signatures",
    "git log --format='%+GK'": "signatures",
    "git log --pretty='tformat:%h %GG'": "signatures",
    "git log --format='%(describe)'": "long placeholder",
    "git log --format='%<(501)%h'": "width over 500",
    "git log --format='%>|(2147483647)%h'": "width over 500",
    "git log --format='%w(1,2,999)%h'": "width over 500",
    "git log --date='format:%9999d'": "width over",
    "git log --date=nonsense": "not a date format",
    "git log -p -U1000000": "up to 9999",
    "git diff --stat=2147483647": "not a width",
    "git log --encoding=UTF-16": "UTF-8",
    "git log --submodule=log": "submodules",
    "git diff --no-index a b": "diff A B",
    "git diff /dev/null ../secret.txt": "outside",
    "git diff index.md ../secret.txt": "outside",
    "git diff -- ../secret.txt index.md": "outside",
    "git diff --ignore-submodules=none": "submodules",
    "git show HEAD:/etc/passwd": "absolute",
    "git show HEAD:../secret.txt": "outside",
    "git show :../secret.txt": "outside",
    "git log :/../secret.txt": "outside",
    "git log :///etc": "outside",
    "git rev-parse :!../secret.txt": "paths come after",
    "git log ':(top)../secret.txt' -- index.md": "paths come after",
    "git log -- :(attr:x)index.md": "unknown magic",
    "git log -- ':(prefix:3)index.md'": "unknown magic",
    "git log -- ':(top)../secret.txt'": "outside",
    "git log -- ':/../secret.txt'": "outside",
    "git log -- ':!../secret.txt'": "outside",
    "git log -L1,2:../secret.txt": "outside",
    "git log -L1,2": "names no file",
    "git log -S ''": "empty argument",
    "git blame --contents ../secret.txt index.md": "another file",
    "git blame --contents=../secret.txt index.md": "another file",
    "git blame -S index.md index.md": "another file",
    "git blame --ignore-revs-file=index.md index.md": "another file",
    "git grep -Ox tea": "another program",
    "git grep -nO tea": "another program",
    "git grep --op=x tea": "not available",
    "git grep -e tea -O --": "another program",
    "git grep -f index.md": "repeat '-e'",
    "git grep --no-index tea": "memory's files",
    "git grep": "no pattern",
    "git grep ''": "pattern is empty",
    "git cat-file --batch": "operands",
    "git cat-file --textconv HEAD:index.md": "another program",
    "git cat-file --filters HEAD:index.md": "another program",
    "git cat-file HEAD": "needs -p",
    "git cat-file -p HEAD HEAD": "one object",
    "git cat-file -p -- -x": "begins with a dash",
    "git ls-files -X index.md": "another file",
    "git rev-parse --show-toplevel": "root",
    "git rev-parse --absolute-git-dir": "root",
    "git rev-parse /etc/passwd": "outside",
    "git branch new": "would make one",
    "git branch -D old": "change a branch",
    "git branch --list -- -D": "begins with a dash",
    "git tag v2": "would make one",
    "git tag -d v1": "change a branch or a tag",
    "git tag -v v1": "signatures",
    "git for-each-ref --format='%(signature)'": "not available",
    "git for-each-ref --format='%(align:9999)x%(end)'": "width over",
    "git for-each-ref --shell": "not available",
    "git status --ignored": "not available",
    "git name-rev --stdin": "operands",
    "git describe --dirty": "not available",
    "git show-ref --exclude-existing": "not available",
    "git rev-list --objects --all": "not available",
    "git count-objects x": "no operands",
}  # fmt: skip


@pytest.mark.parametrize(("command", "advice"), REFUSED.items())
def test_a_refusal_of_git_teaches(repository: Repository, command: str, advice: str) -> None:
    assert advice in repository.refusal(command)


@pytest.mark.parametrize("name", sorted(git_tables.SUBCOMMANDS))
@pytest.mark.parametrize(
    "option",
    [
        "--output=x",
        "--ext-diff",
        "--textconv",
        "--no-index",
        "-Ox",
        "--stdin",
        "--help",
        "--contents=x",
        "--git-dir=x",
        "--open-files-in-pager",
        "--exec=x",
        "--upload-pack=x",
        "--filters",
        "--batch",
        "--ignore-revs-file=x",
    ],
)
def test_no_subcommand_takes_an_option_that_reaches_further(repository: Repository, name: str, option: str) -> None:
    assert repository.refusal(f"git {name} {option}")
    assert repository.refusal(f"git {name} HEAD {option}")


OPERANDS = st.sampled_from(
    [
        "HEAD",
        "HEAD~1",
        "HEAD:index.md",
        "index.md",
        "memories",
        "nosuch",
        "*.md",
        ":(top)index.md",
        ":!x",
        "^HEAD",
        "HEAD..",
        "..",
        "../secret.txt",
        "/dev/null",
        "/etc/passwd",
        "up/x",
        "-x",
        "--output=x",
        "--",
        "v1",
        ":/x",
        ":index.md",
        "@{u}",
        "a:b:c",
        "",
        ":",
        "~",
        "{}",
    ],
)


@settings(max_examples=150, deadline=None)
@given(
    name=st.sampled_from(
        [
            "log",
            "diff",
            "show",
            "blame",
            "grep",
            "rev-parse",
            "ls-tree",
            "shortlog",
            "rev-list",
            "cat-file",
            "diff-tree",
        ]
    ),
    operands=st.lists(OPERANDS, min_size=1, max_size=4),
)
def test_no_operand_reads_outside_or_becomes_an_option(repository: Repository, name: str, operands: list[str]) -> None:
    try:
        final = policy.check(["git", name, *operands], str(repository.tree), str(repository.tree)).argv
    except policy.Refused:
        return
    _, output, _ = repository.git(final[1:])
    assert b"CANARY" not in output and b"root:" not in output
    assert not (repository.tree / "x").exists()
