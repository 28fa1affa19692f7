"""The text of a `$'...'` string."""

import re

from diffmem.shell.policy import Refused

_ESCAPE = re.compile(
    rb"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9A-Fa-f]{1,2})|u(?P<short>[0-9A-Fa-f]{1,4})|U(?P<long>[0-9A-Fa-f]{1,8})"
    rb"|c(?P<control>[\x20-\x7e])|(?P<letter>[\x00-\x7f]))|(?P<plain>[^\\']+)|(?P<close>')"
)
_LETTERS = {
    b"a": b"\a", b"b": b"\b", b"e": b"\x1b", b"E": b"\x1b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t",
    b"v": b"\v", b"\\": b"\\", b"'": b"'", b'"': b'"', b"?": b"?",
}  # fmt: skip


def ansi_c(source: bytes, at: int, end: int) -> tuple[str, int]:
    """The text of the string that opened before `at`, and the offset after its closing quote (bash, "ANSI-C Quoting").

    Bytes that are no UTF-8 become surrogates, as in file names.
    """
    value = bytearray()
    while at < end:
        token = _ESCAPE.match(source, at, end)
        if token is None:
            break
        at = token.end()
        if token["close"]:
            if b"\0" in value:
                raise Refused("a NUL character cannot be in a command")
            return value.decode(errors="surrogateescape"), at
        value += _value(token)
    raise Refused("a $' is not closed")


def _value(token: re.Match[bytes]) -> bytes:
    if token["plain"]:
        return token["plain"]
    if token["octal"]:
        return bytes([int(token["octal"], 8) & 0xFF])
    if token["hex"]:
        return bytes([int(token["hex"], 16)])
    if token["short"] or token["long"]:
        return _character(int(token["short"] or token["long"], 16))
    if token["control"]:
        return bytes([token["control"][0] & 0x1F])
    return _LETTERS.get(token["letter"], b"\\" + token["letter"])


def _character(code: int) -> bytes:
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise Refused(f"\\U{code:08x} is no character")
    return chr(code).encode()
