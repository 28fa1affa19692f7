"""git: a sub-command that only reads, its options from an exact table, its operands as revisions and paths.

*Covered*: global options, aliases (they are not sub-commands), options that write, run or read elsewhere, in any
spelling; `--no-index`, explicit or implied; formats that run gpg or pad without bound. *Not covered*: the
configuration, the hooks and the attributes of the repository: the checkout is made by us and
`diffmem.git.environment` and `FLAGS` hold for every call.
"""

import difflib
from collections.abc import Callable, Mapping

from diffmem.shell.policy import git_operands
from diffmem.shell.policy.git_tables import SUBCOMMANDS, Shape, SubCommand
from diffmem.shell.policy.options import Parsed, emit, parse, without
from diffmem.shell.policy.verdict import Admitted, Place, Refused

_IGNORED = frozenset(("--no-pager", "-P", "--no-optional-locks"))
_GLOBAL: Mapping[str, str] = {
    "-C": "use: cd FOLDER",
    "-c": "the configuration is fixed",
    "-p": "there is no pager",
    "--paginate": "there is no pager",
    "--git-dir": "there is one repository",
    "--work-tree": "there is one repository",
}
_TYPES = frozenset(("blob", "tree", "commit", "tag"))
_READ_ONLY = "memory is read-only here"
_NO_REMOTE = "there is no remote and no network"
_HINTS: Mapping[str, str] = {
    **dict.fromkeys(
        ("add", "commit", "checkout", "switch", "restore", "reset", "revert", "merge", "rebase", "cherry-pick", "mv",
         "rm", "clean", "stash", "notes", "apply", "am", "gc", "prune", "init", "update-ref", "update-index",
         "hash-object", "replace", "worktree", "maintenance"),
        _READ_ONLY,
    ),
    **dict.fromkeys(("push", "pull", "fetch", "clone", "remote", "ls-remote", "submodule"), _NO_REMOTE),
    **dict.fromkeys(("reflog", "range-diff", "cherry", "show-branch", "bisect"), "use: git log"),
    **dict.fromkeys(("diff-index", "diff-files", "difftool", "merge-tree"), "use: git diff"),
    **dict.fromkeys(("archive", "bundle", "checkout-index", "fast-export"), "use: git show REV:PATH"),
    **dict.fromkeys(
        ("config", "var", "credential", "check-attr", "check-ignore"), "the configuration is not part of memory"
    ),
    **dict.fromkeys(("help",), "use the options you know; a refusal names the nearest one"),
    **dict.fromkeys(("fsck", "verify-pack", "verify-commit", "verify-tag"), "integrity is checked elsewhere"),
}  # fmt: skip


def check(words: tuple[str, ...], place: Place) -> Admitted:
    """The final line of git, without the global flags: `git SUB-COMMAND FORCED OPTIONS REVISIONS -- PATHS`.

    Raises:
        Refused: a global option, an unknown sub-command, an option outside its table, an operand that leads outside.
    """
    rest = list(words[1:])
    while rest and rest[0] in _IGNORED:
        rest.pop(0)
    if rest[:1] == ["--version"]:
        return Admitted(("git", "version"), "git")
    if not rest:
        raise Refused("git: no sub-command; for example: git log --oneline -10", "git")
    name = rest.pop(0)
    if name.startswith("-"):
        hint = _GLOBAL.get(name.partition("=")[0], "type: git SUB-COMMAND")
        raise Refused(f"git: option '{name}' before the sub-command is not available: {hint}", "git")
    if name not in SUBCOMMANDS:
        raise Refused(_unknown(name), "git")
    return _sub_command(name, SUBCOMMANDS[name], rest, place)


def _sub_command(name: str, sub: SubCommand, rest: list[str], place: Place) -> Admitted:
    parsed = parse(f"git {name}", without(rest, sub.forced), sub.table, place)
    options = [one for one in parsed.options if one[0] not in sub.forced]
    kept = Parsed(tuple(options), parsed.operands, parsed.before_dashes)
    return Admitted(("git", name, *sub.forced, *_SHAPES[sub.shape](f"git {name}", kept, place)), "git")


def _revisions_and_paths(command: str, parsed: Parsed, place: Place) -> list[str]:
    operands = git_operands.split(command, parsed, place)
    return [*emit(parsed.options, glued=True), *operands.words()]


def _paths(command: str, parsed: Parsed, place: Place) -> list[str]:
    for operand in parsed.operands:
        git_operands.checked(command, operand, place, git_operands.pathspec)
    return [*emit(parsed.options, glued=True), "--", *parsed.operands]


def _tree_and_paths(command: str, parsed: Parsed, place: Place) -> list[str]:
    for operand in parsed.operands[:1]:
        git_operands.checked(command, operand, place, git_operands.revision)
    for operand in parsed.operands[1:]:
        git_operands.checked(command, operand, place, git_operands.pathspec)
    return [*emit(parsed.options, glued=True), "--", *parsed.operands]


def _revisions(command: str, parsed: Parsed, place: Place) -> list[str]:
    for operand in parsed.operands:
        git_operands.checked(command, operand, place, git_operands.revision)
    return [*emit(parsed.options, glued=True), *parsed.operands]


def _type_and_object(command: str, parsed: Parsed, place: Place) -> list[str]:
    operands = parsed.operands
    if not parsed.options and (len(operands) != 2 or operands[0] not in _TYPES):
        raise Refused(f"{command}: needs -p, -t, -s or -e, and one object: git cat-file -p HEAD:index.md", "git")
    if parsed.options and len(operands) != 1:
        raise Refused(f"{command}: takes one object", "git")
    return _revisions(command, parsed, place)


def _pattern(command: str, parsed: Parsed, place: Place) -> list[str]:
    """The pattern of `git grep` always goes behind `-e`: as an operand, `(` would be read as an option."""
    options, operands, cut = list(parsed.options), parsed.operands, parsed.before_dashes
    if not parsed.has("-e"):
        if not operands or cut == 0:
            raise Refused(f"{command}: no pattern; for example: git grep -n PATTERN -- '*.md'", "git")
        options.append(("-e", operands[0]))
        operands, cut = operands[1:], None if cut is None else cut - 1
    if not all(value for name, value in options if name == "-e"):
        raise Refused(f"{command}: the pattern is empty", "git")
    split = git_operands.split(command, Parsed(tuple(options), operands, cut), place)
    return [*emit(options, glued=True), *split.words()]


def _list(command: str, parsed: Parsed, place: Place) -> list[str]:
    """`git branch` and `git tag` list and nothing else: a name without `--list` would make one."""
    listing = parsed.has("-l", "--list")
    if parsed.operands and not listing:
        raise Refused(
            f"{command} {parsed.operands[0]}: would make one; memory is read-only here; use: {command} --list", "git"
        )
    words = emit((one for one in parsed.options if one[0] not in ("-l", "--list")), glued=True)
    if parsed.has("--show-current"):
        return words
    return ["--list", *words, "--", *_names(command, parsed)]


def _refs(command: str, parsed: Parsed, place: Place) -> list[str]:
    return [*emit(parsed.options, glued=True), "--", *_names(command, parsed)]


def _names(command: str, parsed: Parsed) -> tuple[str, ...]:
    for operand in parsed.operands:
        if operand.startswith("-"):
            raise Refused(f"{command}: {operand!r} begins with a dash", "git")
    return parsed.operands


def _none(command: str, parsed: Parsed, place: Place) -> list[str]:
    if parsed.operands:
        raise Refused(f"{command}: takes no operands", "git")
    return emit(parsed.options, glued=True)


_SHAPES: Mapping[Shape, Callable[[str, Parsed, Place], list[str]]] = {
    "revisions and paths": _revisions_and_paths,
    "paths": _paths,
    "tree and paths": _tree_and_paths,
    "revisions": _revisions,
    "type and object": _type_and_object,
    "pattern": _pattern,
    "list": _list,
    "names": _refs,
    "none": _none,
}


def _unknown(name: str) -> str:
    if name in _HINTS:
        return f"git {name}: not available; {_HINTS[name]}"
    near = difflib.get_close_matches(name.casefold(), sorted(SUBCOMMANDS), n=1, cutoff=0.6)
    if near:
        return f"git {name}: not available; the nearest that is: git {near[0]}"
    return f"git {name}: not available; sub-commands: {' '.join(sorted(SUBCOMMANDS))}"
