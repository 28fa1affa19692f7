"""What reads standard input: `read`, one line of it into variables, and `tac`, all of it backwards."""

import os

from diffmem.shell.builtins.shell import Shell, options
from diffmem.shell.stops import MAX_READ_BYTES, MAX_TEXT


def read(shell: Shell, arguments: list[str]) -> int:
    """`read [-r] [-d CHARACTER] [-n N] [NAME...]`: 1 at the end of input. No byte after the line is consumed."""
    given, names = options(arguments, ("-d", "-n", "-N", "-p"))
    counts = [int(value) for name in ("-n", "-N") for value in given.get(name, ())]
    delimiters = given.get("-d", ["\n"])
    ends = None if "-N" in given else (delimiters[-1].encode(errors="surrogateescape")[:1] or b"\0")
    limit = counts[-1] if counts else MAX_TEXT
    for name in names:
        if not name.isidentifier() or not name.isascii():
            shell.complain(f"read: `{name}': not a valid identifier")
            return 1
    line, complete = _line(ends, "-r" in given, limit)
    whole = "-N" in given or not names
    values = [line] if whole else _split(line, shell.state.separators, len(names))
    for name, value in zip(names or ["REPLY"], [*values, *[[]] * len(names)], strict=False):
        shell.state.variables[name] = _text(value)
    return 0 if complete or (bool(counts) and len(line) == limit) else 1


def tac(shell: Shell, _arguments: list[str]) -> int:
    """`tac` without a file: the lines of standard input, the last one first, as many bytes as the shell may hold."""
    data = bytearray()
    while chunk := os.read(0, 65536):
        data += chunk
        if len(data) > MAX_READ_BYTES:
            shell.complain_as("tac", f"more than {MAX_READ_BYTES} bytes of standard input; name a file, or use tail")
            return 1
    backwards = bytearray()
    end = len(data)
    while end:
        start = data.rfind(b"\n", 0, end - 1) + 1
        backwards += data[start:end]
        end = start
    shell.write(bytes(backwards))
    return 0


_Characters = list[tuple[bytes, bool]]
"""Bytes, each with whether a backslash stood before it."""


def _text(characters: _Characters) -> str:
    return b"".join(byte for byte, _ in characters).replace(b"\0", b"").decode(errors="surrogateescape")


def _line(ends: bytes | None, raw: bool, limit: int) -> tuple[_Characters, bool]:
    """The bytes up to `ends`, and whether it was found."""
    line: _Characters = []
    while len(line) < limit:
        byte = os.read(0, 1)
        if not byte:
            return line, False
        if byte == ends:
            return line, True
        if byte == b"\\" and not raw:
            byte = os.read(0, 1)
            if byte not in (b"", b"\n"):
                line.append((byte, True))
            continue
        line.append((byte, False))
    return line, ends is None


def _split(line: _Characters, separators: str, count: int) -> list[_Characters]:
    """At most `count` fields; the last takes the rest."""
    blanks = [c.encode() for c in separators if c in " \t\n"]
    others = [c.encode() for c in separators if c not in " \t\n" and c.isascii()]
    rest = _stripped(line, blanks)
    fields: list[_Characters] = []
    while rest and len(fields) < count - 1:
        at = next(
            (i for i, (byte, escaped) in enumerate(rest) if not escaped and (byte in blanks or byte in others)),
            len(rest),
        )
        fields.append(rest[:at])
        rest = _stripped(rest[at:], blanks)
        if rest and at + 1 <= len(line) and not rest[0][1] and rest[0][0] in others:
            rest = _stripped(rest[1:], blanks)
    while rest and not rest[-1][1] and rest[-1][0] in blanks:
        rest = rest[:-1]
    if rest and not rest[-1][1] and rest[-1][0] in others and sum(byte in others and not e for byte, e in rest) == 1:
        rest = rest[:-1]
    return [*fields, rest]


def _stripped(line: _Characters, blanks: list[bytes]) -> _Characters:
    at = 0
    while at < len(line) and not line[at][1] and line[at][0] in blanks:
        at += 1
    return line[at:]
