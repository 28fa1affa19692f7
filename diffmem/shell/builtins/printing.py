"""`echo` and `printf`, with bash's escapes and conversions. Widths and precisions are at most 999."""

import re
from collections.abc import Iterator
from typing import NoReturn

from diffmem.shell.builtins.shell import Shell, encoded

_ESCAPE = re.compile(
    rb"\\(?:0(?P<zero>[0-7]{0,3})|(?P<octal>[1-7][0-7]{0,2})|x(?P<hex>[0-9A-Fa-f]{1,2})|u(?P<short>[0-9A-Fa-f]{1,4})"
    rb"|U(?P<long>[0-9A-Fa-f]{1,8})|(?P<letter>[abceEfnrtv\\\"'?]))"
)
_LETTERS = {
    b"a": b"\a", b"b": b"\b", b"e": b"\x1b", b"E": b"\x1b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t",
    b"v": b"\v", b"\\": b"\\", b'"': b'"', b"'": b"'", b"?": b"?",
}  # fmt: skip
_CONVERSION = re.compile(
    rb"%(?P<flags>[-+ #0']*)(?P<width>\*|[0-9]*)(?P<precision>\.(?:\*|[0-9]*))?[hlLqjzt]*?(?P<kind>[a-zA-Z%]|$)"
)
_NUMBER = re.compile(r"[ \t\n]*(?P<sign>[+-]?)(?P<digits>0[xX][0-9a-fA-F]+|[0-9]+)")
_FLOAT = re.compile(r"[ \t\n]*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_QUOTED = re.compile(r"""[ \t"'\\|&;()<>!{}*\[\]?^$`,]|^[#~]""")
_MAX_WIDTH = 999
_MASK = (1 << 64) - 1


class _End(Exception):
    r"""A `\c`: nothing more is written."""


def echo(shell: Shell, arguments: list[str]) -> int:
    """`echo [-neE] WORD...`."""
    newline, escapes, at = True, False, 0
    while at < len(arguments) and re.fullmatch("-[neE]+", arguments[at]):
        for letter in arguments[at][1:]:
            newline, escapes = newline and letter != "n", letter == "e" or (escapes and letter != "E")
        at += 1
    data = encoded(" ".join(arguments[at:]))
    if escapes:
        pieces: list[bytes] = []
        try:
            pieces.extend(_escaped(data, zero=True))
        except _End as end:
            shell.write(b"".join(pieces) + end.args[0])
            return 0
        data = b"".join(pieces)
    shell.write(data + (b"\n" if newline else b""))
    return 0


def printf(shell: Shell, arguments: list[str]) -> int:
    """`printf FORMAT WORD...`: the format is used again until the words are used up."""
    if not arguments:
        shell.complain("printf: usage: printf [-v var] format [arguments]")
        return 2
    return _Printf(shell, encoded(arguments[0]), arguments[1:]).run()


class _Printf:
    def __init__(self, shell: Shell, template: bytes, arguments: list[str]) -> None:
        self._shell = shell
        self._template = template
        self._arguments = arguments
        self._written: list[bytes] = []
        self._status = 0

    def run(self) -> int:
        try:
            while True:
                left = len(self._arguments)
                self._once()
                if not self._arguments or len(self._arguments) == left:
                    break
        except _End as end:
            self._written.append(end.args[0])
        self._shell.write(b"".join(self._written))
        return self._status

    def _once(self) -> None:
        at = 0
        while at < len(self._template):
            percent = self._template.find(b"%", at)
            text = self._template[at:] if percent < 0 else self._template[at:percent]
            self._written.extend(_escaped(text, zero=False))
            if percent < 0:
                return
            at = self._convert(percent)

    def _convert(self, at: int) -> int:
        found = _CONVERSION.match(self._template, at)
        if found is None or not found["kind"]:
            self._fail(f"`{self._template[at:].decode(errors='replace')}': missing format character")
        kind = found["kind"]
        if kind == b"%":
            self._written.append(b"%")
        elif kind in b"sbqc":
            self._text(found)
        elif kind in b"diouxX":
            self._integer(found)
        elif kind in b"eEfFgG":
            self._float(found)
        else:
            self._fail(f"`{kind.decode()}': invalid format character")
        return found.end()

    def _fail(self, message: str) -> NoReturn:
        self._status = 1
        self._shell.complain(f"printf: {message}")
        raise _End(b"")

    def _next(self) -> str | None:
        return self._arguments.pop(0) if self._arguments else None

    def _size(self, text: bytes | None, default: int) -> int:
        if text is None or text in (b"", b"."):
            return default if text is None or not text else 0
        digits = text.lstrip(b".")
        value = self._whole(self._next()) if digits == b"*" else int(digits[:9])
        if abs(value) > _MAX_WIDTH:
            self._fail(f"{value}: a width is at most {_MAX_WIDTH}")
        return value

    def _text(self, found: re.Match[bytes]) -> None:
        width, precision = self._size(found["width"], 0), self._size(found["precision"], -1)
        word = self._next() or ""
        kind = found["kind"]
        ended = False
        data = encoded(word)
        if kind == b"q":
            data = encoded(quoted(word))
        elif kind == b"c":
            data = encoded(word[:1])
        elif kind == b"b":
            data, ended = _all_escaped(data)
        if precision >= 0 and kind != b"c":
            data = data[:precision]
        left = b"-" in found["flags"] or width < 0
        padded = data.ljust(abs(width)) if left else data.rjust(abs(width))
        if ended:
            raise _End(padded)
        self._written.append(padded)

    def _integer(self, found: re.Match[bytes]) -> None:
        flags, kind = found["flags"].decode().replace("'", ""), found["kind"].decode()
        width, precision = self._size(found["width"], 0), self._size(found["precision"], -1)
        value = self._whole(self._next())
        if kind in "ouxX":
            value &= _MASK
        alternate = "#" in flags and value
        digits = {"o": f"{abs(value):o}", "x": f"{abs(value):x}", "X": f"{abs(value):X}"}.get(kind, str(abs(value)))
        digits = digits.zfill(precision) if precision > 0 else ("" if precision == 0 and not value else digits)
        prefix = ""
        if kind in "di":
            prefix = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
        elif alternate:
            prefix = {"x": "0x", "X": "0X", "o": "" if digits.startswith("0") else "0"}.get(kind, "")
        self._written.append(_padded(prefix, digits, flags, width, zero=precision < 0).encode())

    def _float(self, found: re.Match[bytes]) -> None:
        flags, kind = found["flags"].decode().replace("'", ""), found["kind"].decode()
        width, precision = self._size(found["width"], 0), self._size(found["precision"], 6)
        value = self._real(self._next())
        text = f"%{'#' if '#' in flags else ''}.{max(0, precision)}{kind}" % abs(value)
        negative = value < 0 or str(value).startswith("-")
        sign = "-" if negative else "+" if "+" in flags else " " if " " in flags else ""
        self._written.append(_padded(sign, text, flags, width, zero=True).encode())

    def _whole(self, word: str | None) -> int:
        if word is None:
            return 0
        if word[:1] in ("'", '"'):
            return ord(word[1]) if len(word) > 1 else 0
        found = _NUMBER.match(word)
        if found is None or found.end() < len(word):
            self._invalid(word)
        if found is None:
            return 0
        digits = found["digits"][:40]
        base = (
            16 if digits[:2].lower() == "0x" else 8 if digits.startswith("0") and digits.strip("01234567") == "" else 10
        )
        value = int(digits, base) * (-1 if found["sign"] == "-" else 1)
        return max(-(1 << 63), min(value, (1 << 63) - 1))

    def _real(self, word: str | None) -> float:
        if word is None:
            return 0.0
        if word[:1] in ("'", '"'):
            return float(ord(word[1])) if len(word) > 1 else 0.0
        found = _FLOAT.match(word)
        if found is None or found.end() < len(word):
            self._invalid(word)
        return float(found[0]) if found else 0.0

    def _invalid(self, word: str) -> None:
        self._status = 1
        self._shell.complain(f"printf: {word}: invalid number")


def _padded(prefix: str, digits: str, flags: str, width: int, *, zero: bool) -> str:
    missing = abs(width) - len(prefix) - len(digits)
    if "-" in flags or width < 0:
        return prefix + digits + " " * missing
    if "0" in flags and zero:
        return prefix + "0" * missing + digits
    return " " * missing + prefix + digits


def quoted(word: str) -> str:
    """The word as bash's `%q` writes it."""
    if not word:
        return "''"
    if not word.isprintable():
        escapes = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\x1b": "\\E", "'": "\\'", "\\": "\\\\"}
        return "$'" + "".join(escapes.get(c, c if c.isprintable() else _octal(c)) for c in word) + "'"
    return _QUOTED.sub(lambda found: "\\" + found[0], word)


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in encoded(character))


def _all_escaped(data: bytes) -> tuple[bytes, bool]:
    pieces: list[bytes] = []
    try:
        pieces.extend(_escaped(data, zero=True))
    except _End as end:
        return b"".join(pieces) + end.args[0], True
    return b"".join(pieces), False


def _escaped(data: bytes, *, zero: bool) -> Iterator[bytes]:
    r"""`data` with its escapes resolved; `zero` says that octal digits follow `\0` and that `\c` ends the output."""
    at = 0
    while True:
        backslash = data.find(b"\\", at)
        if backslash < 0:
            yield data[at:]
            return
        yield data[at:backslash]
        found = _ESCAPE.match(data, backslash)
        if found is None or (found["letter"] == b"c" and not zero):
            yield data[backslash : backslash + 1]
            at = backslash + 1
            continue
        if found["letter"] == b"c":
            raise _End(b"")
        value, at = _escape(found, zero)
        yield value


def _escape(found: re.Match[bytes], zero: bool) -> tuple[bytes, int]:
    if found["zero"] is not None:
        digits = found["zero"] if zero else found["zero"][:2]
        return bytes([int(digits or b"0", 8) & 0xFF]), found.start() + 2 + len(digits)
    if found["octal"]:
        return bytes([int(found["octal"], 8) & 0xFF]), found.end()
    if found["hex"]:
        return bytes([int(found["hex"], 16)]), found.end()
    code = found["short"] or found["long"]
    if code:
        number = int(code, 16)
        return (chr(number).encode(errors="replace") if number <= 0x10FFFF else b"?"), found.end()
    return _LETTERS[found["letter"]], found.end()
