"""The policy: what is admitted and in which form, what is refused and with which advice."""

import json
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.shell import policy
from diffmem.shell.policy import awk, find, git_tables, program_tables, sed, xargs
from diffmem.shell.policy.options import Table
from tests.support.policy_place import PolicyPlace, make_place

BENIGN = Path(__file__).with_name("data") / "benign.jsonl"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> PolicyPlace:
    return make_place(tmp_path_factory.mktemp("policy"))


ADMITTED = {
    "head -5 index.md": "head -n 5 -- index.md",
    "head index.md -n5": "head -n 5 -- index.md",
    "tail -20q index.md": None,
    "tail -n +3 -- -rf": "tail -n +3 -- -rf",
    "cat -- -": "cat -- -",
    "cat near.md": "cat -- near.md",
    "cat /dev/null": "cat -- /dev/null",
    "grep -A3 -B1 tea memories/a.md": "grep -D skip -A 3 -B 1 -- tea memories/a.md",
    "grep -Rin tea .": "grep -D skip -r -i -n -- tea .",
    "grep -3 tea index.md": "grep -D skip -C 3 -- tea index.md",
    "grep -e tea -e coffee index.md": "grep -D skip -e tea -e coffee -- index.md",
    "grep -- -x index.md": "grep -D skip -- -x index.md",
    "grep /etc/passwd index.md": "grep -D skip -- /etc/passwd index.md",
    "egrep 'a|b' index.md": "grep -D skip -E -- 'a|b' index.md",
    "fgrep a.b index.md": "grep -D skip -F -- a.b index.md",
    "grep -f index.md memories/a.md": "grep -D skip -f index.md -- memories/a.md",
    "sort -rnk2,2 index.md": "sort -S 64M --parallel=1 -r -n -k 2,2 -- index.md",
    "sort -t, -k1": "sort -S 64M --parallel=1 -t , -k 1 --",
    "uniq -c": "uniq -c --",
    "cut -d' ' -f1-3 index.md": "cut -d ' ' -f 1-3 -- index.md",
    "paste -d '' index.md": "paste -d '' -- index.md",
    "tr '[:upper:]' '[:lower:]'": "tr -- '[:upper:]' '[:lower:]'",
    "ls -la memories/": "ls -l -a -- memories/",
    "ls --color=never": "ls --color=never --",
    "fold -80 index.md": "fold -w 80 -- index.md",
    "stat -c '%n %s' index.md": "stat -c '%n %s' -- index.md",
    "file index.md": "file -h -- index.md",
    "diff -u index.md memories/a.md": "diff --no-dereference -u -- index.md memories/a.md",
    "find": "find -P .",
    "find . -name '*.md' -not -path './.git/*'": "find -P . -name '*.md' -not -path './.git/*'",
    "find memories -type f -size +1k -printf '%s %p\\n'": "find -P memories -type f -size +1k -printf '%s %p\\n'",
    "find . ( -name a -o -name b ) -print": "find -P . '(' -name a -o -name b ')' -print",
    "xargs -0 -n1 wc -l": "xargs -0 -n 1 -- wc -l",
    "xargs": "xargs --",
    "xargs -I{} grep -n {} index.md": "xargs -I '{}' -- grep -n '{}' index.md",
    "test -f index.md": "test -f index.md",
    "[ index.md -nt memories/a.md ]": "'[' index.md -nt memories/a.md ']'",
    "echo -n --output=x": "echo -n --output=x",
    "printf %s%5d a 3": "printf %s%5d a 3",
    "seq 5 -1 1": "seq -- 5 -1 1",
    "seq -s , 3": "seq -s , -- 3",
    "date +%F": "date -- +%F",
    "cd memories": "cd memories",
    "cd -": "cd -",
    "true --whatever": "true",
    "basename -a memories/a.md": "basename -a -- memories/a.md",
}  # fmt: skip


@pytest.mark.parametrize(("command", "line"), [(command, line) for command, line in ADMITTED.items() if line])
def test_a_command_is_admitted_in_its_final_form(place: PolicyPlace, command: str, line: str) -> None:
    assert place.line(command) == line


@pytest.mark.parametrize("command", [command for command, line in ADMITTED.items() if line])
def test_checking_what_was_admitted_changes_nothing(place: PolicyPlace, command: str) -> None:
    line = place.line(command)
    assert place.line(line) == line


REFUSED = {
    "sort -o x index.md": "writes a file",
    "sort -ox": "'-o' (in '-ox')",
    "sort -ruo x": "'-o' (in '-ruo')",
    "sort --outp x": "'--outp' is not available; the nearest",
    "sort --output=x": "writes a file",
    "sort --compress-program=x": "runs a program",
    "sort --compress-prog x": "not available",
    "sort -S 1k": "fixed",
    "sort -T memories": "nothing is written",
    "sort --files0-from=index.md": "xargs",
    "sort --random-source=index.md": "another file",
    "sort -k '1,2;x'": "not a sort key",
    "uniq index.md memories/a.md": "overwritten",
    "uniq -c -- index.md memories/a.md": "overwritten",
    "grep --exclude-from=index.md x": "repeat '--exclude'",
    "grep -D read x index.md": "devices are always skipped",
    "grep x index.md --inclu=y": "nearest that is: '--include'",
    "tail -f index.md": "never ends",
    "tail -20f index.md": "not available",
    "tail --retry index.md": "never ends",
    "wc --files0-from=-": "xargs",
    "ls -L up/": "follows links",
    "ls -Z": "not available",
    "ls --hyperlink": "control characters",
    "stat -L index.md": "follows links",
    "stat -f .": "describes the machine",
    "stat -c %m index.md": "not a format",
    "file -f index.md": "xargs",
    "file -C": "writes",
    "nl -w 1000 index.md": "up to 999",
    "printf %1000d 1": "width over 999",
    "printf %*d 9999999 1": "from an argument",
    "printf -vx a": "'-v'",
    "head -n": "needs an argument",
    "head -n x index.md": "not a number",
    "head --silent=1": "takes no argument",
    "tr a b index.md": "tr A B < FILE",
    "sed -i s/a/b/ index.md": "writes the file",
    "sed -ni.bak p index.md": "(in '-ni.bak')",
    "sed -f index.md": "write the script",
    "sed": "no script",
    "find . -exec rm {} ;": "xargs grep",
    "find . -delete": "read-only",
    "find . -fprint x": "writes a file",
    "find -L . -name x": "follows links",
    "find . -newer": "needs an argument",
    "find . -nmae x": "nearest that is: '-name'",
    "find . -name x memories": "paths come before",
    "find . -printf %9999p": "width over",
    "find . -size 1kk": "not a size",
    "xargs -P64 --max-lines=0 cat": "above 0",
    "xargs -i cat": "-I {}",
    "xargs xargs": "does not run xargs",
    "date -s now": "sets the clock",
    "date -f index.md": "reads a file",
    "cd a b": "too many",
    "cd -P": "not available",
    "read -u 3 x": "standard input",
    "rg foo": "grep -rn",
    "less index.md": "head -50",
    "tree": "find .",
    "bash -c x": "no other program",
    "curl x": "no network",
    "touch x": "read-only",
    "Cat index.md": "nearest command that is: cat",
    "./cat index.md": "without a path",
    "/bin/cat index.md": "without a path",
    "\u0441at index.md": "not available",
    "'' index.md": "empty word",
}  # fmt: skip


@pytest.mark.parametrize(("command", "advice"), REFUSED.items())
def test_a_refusal_names_what_is_wrong_and_teaches(place: PolicyPlace, command: str, advice: str) -> None:
    assert advice in place.refusal(command)


OUTSIDE = (
    "../outside/secret.txt",
    "up/outside/secret.txt",
    "leak.md",
    "/etc/passwd",
    "memories/../../outside/secret.txt",
    "index.md/../../outside/secret.txt",
    "/dev/zero",
    "/proc/self/environ",
    "/dev/stdin",
    "up",
    "..",
    ".git/config",
    ".GIT/config",
    "memories/.git",
    "git~1/config",
)
READERS = (
    "cat {}",
    "head -1 {}",
    "wc -l index.md {}",
    "grep -n x {}",
    "grep -r x {}",
    "grep -f {} index.md",
    "sed -n p {}",
    "sort {}",
    "uniq {}",
    "cut -f1 {}",
    "paste {}",
    "diff index.md {}",
    "comm {} index.md",
    "join index.md {}",
    "cmp {} index.md",
    "ls -l {}",
    "du {}",
    "stat {}",
    "file {}",
    "find {}",
    "find . -newer {}",
    "test -e {}",
    "[ -d {} ]",
    "test {} -nt index.md",
    "cd {}",
    "xargs -a {} cat",
    "git log -- {}",
    "git diff {} index.md",
    "git diff index.md {}",
    "git log {}",
    "git blame {}",
    "git grep x -- {}",
    "git ls-files {}",
    "git show {}",
    "git log -L1,2:{}",
    "git ls-tree HEAD {}",
)


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_outside_is_read_by_anything(place: PolicyPlace, command: str, path: str) -> None:
    assert place.refusal(command.format(shlex.quote(path)))


def test_a_path_may_climb_as_long_as_it_stays_inside(place: PolicyPlace) -> None:
    assert place.line("cat ../index.md people/../a.md", "memories") == "cat -- ../index.md people/../a.md"
    assert place.refusal("cat ../../index.md", "memories")


def test_an_absolute_path_in_the_tree_is_inside(place: PolicyPlace) -> None:
    assert place.line(f"cat {place.tree}/index.md") == f"cat -- {place.tree}/index.md"


def test_a_prefix_of_the_trees_name_is_outside(place: PolicyPlace) -> None:
    assert place.refusal(f"cat {place.tree}-evil/x")


def test_a_word_with_nul_is_refused(place: PolicyPlace) -> None:
    with pytest.raises(policy.Refused, match="NUL"):
        policy.check(["cat", "index.md\0x"], str(place.tree), str(place.tree))


@settings(max_examples=300, deadline=None)
@given(
    command=st.sampled_from(sorted(policy.COMMANDS)), words=st.lists(st.text(st.characters(), max_size=8), max_size=4)
)
def test_whatever_is_typed_is_admitted_or_refused(place: PolicyPlace, command: str, words: list[str]) -> None:
    try:
        policy.check([command, *words], str(place.tree), str(place.tree))
    except policy.Refused as refused:
        assert refused.message.isprintable()


def test_a_refusal_is_short_and_printable(place: PolicyPlace) -> None:
    with pytest.raises(policy.Refused) as caught:
        policy.check(["cat", "--\x1b[31m\u202e" + "x" * 20_000], str(place.tree), str(place.tree))
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 1_000
    assert caught.value.command == "cat"


def test_awk_is_gawk_in_its_sandbox_or_nothing(place: PolicyPlace) -> None:
    if policy.binaries.find("gawk") is None:
        assert "needs gawk" in place.refusal("awk '{print}' index.md")
        return
    assert place.line("awk -F, -v n=1 '{print $1}' index.md") == "gawk --sandbox -F , -v n=1 -- '{print $1}' index.md"
    assert "no program" in place.refusal("awk")
    for command in (
        "awk -f x",
        "awk -o x",
        "awk -d",
        "awk -p x",
        "awk -i x",
        "awk -l x",
        "awk --include x",
        "awk -E x",
    ):
        assert "not available" in place.refusal(command + " '{print}'")
    for program in ('@include "x"', '@load "x"', 'BEGIN{}\n@ \\\n include "x"', '@#c\ninclude "x"'):
        assert "another file" in place.refusal("awk " + shlex.quote(program))


@pytest.mark.skipif(not BENIGN.exists(), reason="the corpus of benign commands is not there")
def test_every_simple_command_of_the_benign_corpus_is_admitted(place: PolicyPlace) -> None:
    for line in BENIGN.read_text().splitlines():
        command = json.loads(line)["command"]
        for words in _simple_commands(command):
            policy.check(words, str(place.tree), str(place.tree))


def _simple_commands(command: str) -> Iterator[list[str]]:
    """The simple commands of those lines that are nothing but a pipe of them."""
    if any(mark in command for mark in ("$", "\n", ";", "&", "<", ">", "`", "#")):
        return
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, "|"]:
        if word == "|":
            yield words
            words = []
        else:
            words.append(word)


_TABLES: dict[str, tuple[Table, ...]] = {
    **{name: (program.table,) for name, program in program_tables.PROGRAMS.items()},
    "sed": (sed._TABLE,),
    "xargs": (xargs._TABLE,),
    "awk": (awk._TABLE,),
}
_NASTY = [
    "-o", "-ox", "-ruo", "--output", "--output=x", "--outp=x", "-O", "-Ox", "--open-files-in-pager=x", "-f", "-i",
    "-n", "-nO", "-S", "--compress-program=x", "--no-index", "--ext-diff", "--textconv", "--contents=x", "--stdin",
    "-exec", "-delete", "-e", "-p", "-c", "--", "-", "--x", "-x", "-1", "-12", "--git-dir=x", "-C", "--batch", "x",
    "index.md", "HEAD", "HEAD~1", "p", "1,2", "s/a/b/", "1", "", "a=b", "*.md", ":(top)x", "always", "(", ")", "!",
    ";", "{}", "--count", "-l", "-r", "-R", "-D", "skip", "--format=%h", "-L",
]  # fmt: skip
_WORDS = st.one_of(st.sampled_from(_NASTY), st.text(st.sampled_from("-=oOefinSTrR1x/."), max_size=5))


@settings(max_examples=500, deadline=None)
@given(command=st.sampled_from(sorted({*_TABLES, *policy.COMMANDS})), words=st.lists(_WORDS, max_size=6))
def test_no_admitted_line_has_an_option_outside_the_table(place: PolicyPlace, command: str, words: list[str]) -> None:
    tree = str(place.tree)
    try:
        admitted = policy.check([command, *words], tree, tree)
    except policy.Refused:
        return
    if admitted.kind == "builtin" and command not in _TABLES:
        return
    assert policy.check(admitted.argv, tree, tree).argv == admitted.argv
    for word in _options(command, admitted.argv):
        assert word in _allowed(command, admitted.argv), admitted.argv


def _options(command: str, argv: tuple[str, ...]) -> Iterator[str]:
    """What the program will read as an option: words with a dash before `--` that are no argument of the one before."""
    required = {
        name for table in _tables(command, argv) for name, one in table.options.items() if one.arity == "required"
    }
    glued = argv[0] == "git"
    words = iter(argv[1:])
    for word in words:
        if word == "--":
            return
        if word.startswith("-") and word != "-":
            name = word.partition("=")[0] if word.startswith("--") else word if not glued else word[:2]
            yield name
            if name in required and not glued and not word.startswith("--"):
                next(words, None)


def _tables(command: str, argv: tuple[str, ...]) -> tuple[Table, ...]:
    if argv[0] == "git":
        return (git_tables.SUBCOMMANDS[argv[1]].table,)
    return _TABLES.get(command, _TABLES.get(argv[0], ()))


def _allowed(command: str, argv: tuple[str, ...]) -> set[str]:
    forced = {
        "-D",
        "skip",
        "-E",
        "-F",
        "-S",
        "64M",
        "--parallel",
        "--no-dereference",
        "--sandbox",
        "-h",
        "-P",
        "--list",
    }
    if argv[0] == "find":
        return {
            *find._ALONE,
            *find._WITH,
            "-P",
            *(word for before, word in pairwise(argv) if before in find._WITH),
        }
    if argv[0] == "git":
        sub = git_tables.SUBCOMMANDS[argv[1]]
        names = {name if name.startswith("--") else name[:2] for name in sub.table.options}
        return {*names, *(word.partition("=")[0] for word in sub.forced), "--list"}
    tables = _tables(command, argv)
    if not tables:
        return set(argv)
    return {option.spelling for table in tables for option in table.options.values()} | forced
