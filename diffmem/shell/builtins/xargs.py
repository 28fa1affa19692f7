"""`xargs`: words of the input as arguments of a command, which is checked anew in each final form and waited for."""

import os
import re
from collections.abc import Iterator

from diffmem.shell.builtins.shell import Shell, options
from diffmem.shell.stops import MAX_TEXT, MAX_WORDS, ExpansionError

_MAX_CHARACTERS = 128 * 1024
_VALUED = ("-n", "-L", "-s", "-P", "-I", "-d", "-a", "-E")
_WORDS = re.compile(r"""(?:[^ \t\n"'\\]|\\(?:.|\n)|"[^"\n]*"|'[^'\n]*')+""")
_UNQUOTED = re.compile(r"""\\(.|\n)|"([^"\n]*)"|'([^'\n]*)'""", re.DOTALL)
_ESCAPES: dict[str, str] = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "0": "\0",
}


def xargs(shell: Shell, arguments: list[str]) -> int:
    """`xargs [-0rt] [-n N] [-L N] [-I R] [-d C] [-a FILE] [COMMAND WORD...]`; without a command, `echo`."""
    given, command = options(arguments, _VALUED)
    command = command or ["echo"]
    try:
        text = _input(given)
        groups = _replaced(given, command, text) if "-I" in given else _grouped(given, command, text)
        return _run(shell, given, groups)
    except ExpansionError as error:
        shell.complain_as("xargs", str(error))
        return 1


def _run(shell: Shell, given: dict[str, list[str]], commands: Iterator[list[str]]) -> int:
    status = 0
    for argv in commands:
        if "-t" in given or "--verbose" in given:
            shell.trace(" ".join(argv))
        ended = shell.run(argv)
        if ended == 255:
            shell.complain_as("xargs", f"{argv[0]}: exited with status 255; aborting")
            return 124
        if ended in (126, 127):
            return ended
        if ended > 128:
            shell.complain_as("xargs", f"{argv[0]}: terminated by signal {ended - 128}")
            return 125
        status = 123 if ended else status
    return status


def _input(given: dict[str, list[str]]) -> str:
    file = _last(given, "-a", "--arg-file")
    try:
        descriptor = os.dup(0) if file is None else os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise ExpansionError(f"Cannot open input file ‘{file}’: {error.strerror}") from None
    data = bytearray()
    try:
        while chunk := os.read(descriptor, 65536):
            data += chunk
            if len(data) > MAX_TEXT:
                raise ExpansionError(f"more than {MAX_TEXT} bytes of input")
    finally:
        os.close(descriptor)
    return data.decode(errors="surrogateescape")


def _replaced(given: dict[str, list[str]], command: list[str], text: str) -> Iterator[list[str]]:
    mark = given["-I"][-1]
    for item in _items(given, text, by_line=True):
        if sum(len(word) + word.count(mark) * len(item) for word in command) > _MAX_CHARACTERS:
            raise ExpansionError("argument line too long")
        yield [word.replace(mark, item) for word in command]


def _grouped(given: dict[str, list[str]], command: list[str], text: str) -> Iterator[list[str]]:
    lines = _number(given, "-L", "--max-lines")
    most = _number(given, "-n", "--max-args") or MAX_WORDS - len(command)
    if lines:
        yield from _by_lines(given, command, text, lines)
        return
    limit = min(_number(given, "-s", "--max-chars") or _MAX_CHARACTERS, _MAX_CHARACTERS)
    fixed = sum(len(word) + 1 for word in command)
    batch: list[str] = []
    size, runs = fixed, 0
    broken: ExpansionError | None = None
    items = _items(given, text, by_line=False)
    while True:
        try:
            item = next(items, None)
        except ExpansionError as error:  # what was read before it is still run, as GNU xargs does
            item, broken = None, error
        if item is None:
            break
        if batch and (len(batch) >= most or size + len(item) + 1 > limit):
            yield command + batch
            runs, batch, size = runs + 1, [], fixed
        batch.append(item)
        size += len(item) + 1
        if size > limit:
            raise ExpansionError("argument line too long")
    if batch or not (runs or broken or "-r" in given or "--no-run-if-empty" in given):
        yield command + batch
    if broken:
        raise broken


def _by_lines(given: dict[str, list[str]], command: list[str], text: str, count: int) -> Iterator[list[str]]:
    lines = [line for line in re.sub(r"[ \t]+\n", " ", text).split("\n") if line.strip()]
    for at in range(0, len(lines), count):
        argv = command + list(_items(given, "\n".join(lines[at : at + count]), by_line=False))
        _check(argv)
        yield argv


def _items(given: dict[str, list[str]], text: str, *, by_line: bool) -> Iterator[str]:
    delimiter = _delimiter(given)
    if delimiter is not None:
        found = text.split(delimiter)
        items = iter(found[:-1] if not found[-1] else found)
    elif by_line:
        items = (_unquoted(line.lstrip(" \t")) for line in text.split("\n") if line.strip())
    else:
        items = _words(text)
    end = _last(given, "-E")
    for item in items:
        if item == end:
            return
        yield item


def _words(text: str) -> Iterator[str]:
    at = 0
    for found in _WORDS.finditer(text):
        _check_blank(text[at : found.start()])
        yield _unquoted(found[0])
        at = found.end()
    _check_blank(text[at:])


def _check_blank(text: str) -> None:
    for quote, name in (('"', "double"), ("'", "single")):
        if text.lstrip(" \t\n").startswith(quote):
            raise ExpansionError(
                f"unmatched {name} quote; by default quotes are special to xargs unless you use the -0 option"
            )


def _unquoted(word: str) -> str:
    left = _UNQUOTED.sub("", word)
    _check_blank(left.lstrip("".join(set(left) - {'"', "'"})))
    return _UNQUOTED.sub(lambda found: found[1] or found[2] or found[3] or "", word)


def _delimiter(given: dict[str, list[str]]) -> str | None:
    if "-0" in given or "--null" in given:
        return "\0"
    text = _last(given, "-d", "--delimiter")
    if text is None:
        return None
    if not text.startswith("\\") or len(text) < 2:
        return text
    if text[1] == "x" and len(text) > 2:
        return chr(int(text[2:], 16) & 0xFF)
    return _ESCAPES.get(text[1], text[1])


def _number(given: dict[str, list[str]], *names: str) -> int | None:
    value = _last(given, *names)
    return int(value) if value else None


def _last(given: dict[str, list[str]], *names: str) -> str | None:
    values = [value for name in names for value in given.get(name, [])]
    return values[-1] if values else None


def _check(argv: list[str]) -> None:
    if len(argv) > MAX_WORDS or sum(len(word) + 1 for word in argv) > _MAX_CHARACTERS:
        raise ExpansionError("argument line too long")
