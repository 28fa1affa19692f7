"""`cd`, `pwd`, `basename`, `dirname`."""

import os
import posixpath

from diffmem.shell.builtins.shell import Shell, encoded, options


def cd(shell: Shell, arguments: list[str]) -> int:
    """`cd [DIRECTORY]`: without one, or to `~`, the root of the memory; `cd -` goes back."""
    named = target = arguments[0] if arguments else "~"
    before = shell.state.directory
    if target == "-":
        if shell.state.previous_directory is None:
            shell.complain("cd: OLDPWD not set")
            return 1
        target = shell.state.previous_directory
        _write_place(shell, target)
    try:
        os.chdir(shell.state.tree if target == "~" else target or ".")
    except OSError as error:
        shell.complain(f"cd: {named}: {error.strerror}")
        return 1
    if not _inside(shell.state.directory, shell.state.tree):
        os.chdir(before)
        shell.complain(f"cd: {named}: is outside the memory")
        return 1
    shell.state.previous_directory = before
    return 0


def pwd(shell: Shell, _arguments: list[str]) -> int:
    """`pwd`, from the memory's root, which is `.`: where that lies on the host is nobody's business."""
    _write_place(shell, shell.state.directory)
    return 0


def _write_place(shell: Shell, directory: str) -> None:
    path = posixpath.relpath(directory, shell.state.tree)
    shell.write(encoded(path if path == "." else f"./{path}") + b"\n")


def basename(shell: Shell, arguments: list[str]) -> int:
    """`basename PATH [SUFFIX]`, `basename -a PATH...`, `-s SUFFIX`, `-z`."""
    given, operands = options(arguments, ("-s",))
    suffixes = [*given.get("-s", ()), *given.get("--suffix", ())]
    several = bool(suffixes) or "-a" in given or "--multiple" in given
    if not _count(shell, "basename", operands, None if several else 2):
        return 1
    suffix = suffixes[-1] if suffixes else ""
    if not several and len(operands) == 2:
        suffix = operands.pop()
    return _lines(shell, given, [_base(path, suffix) for path in operands])


def dirname(shell: Shell, arguments: list[str]) -> int:
    """`dirname PATH...`, `-z`."""
    given, operands = options(arguments)
    if not _count(shell, "dirname", operands, None):
        return 1
    return _lines(shell, given, [_directory(path) for path in operands])


def _count(shell: Shell, name: str, operands: list[str], most: int | None) -> bool:
    if not operands:
        shell.complain_as(name, f"missing operand\nTry '{name} --help' for more information.")
    elif most is not None and len(operands) > most:
        shell.complain_as(name, f"extra operand ‘{operands[most]}’\nTry '{name} --help' for more information.")
    else:
        return True
    return False


def _lines(shell: Shell, given: dict[str, list[str]], lines: list[str]) -> int:
    end = b"\0" if "-z" in given or "--zero" in given else b"\n"
    shell.write(b"".join(encoded(line) + end for line in lines))
    return 0


def _base(path: str, suffix: str) -> str:
    stripped = path.rstrip("/")
    if not stripped:
        return path[:1]
    name = posixpath.basename(stripped)
    return name[: -len(suffix)] if suffix and name.endswith(suffix) and name != suffix else name


def _directory(path: str) -> str:
    stripped = path.rstrip("/")
    if "/" not in stripped:
        return "/" if path.startswith("/") else "."
    return stripped[: stripped.rindex("/")].rstrip("/") or "/"


def _inside(path: str, tree: str) -> bool:
    return path == tree or path.startswith(tree.rstrip("/") + "/")
