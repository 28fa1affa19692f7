"""What every edit of a file has in common: text in and out without loss, and an outcome that may be a problem."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edited:
    """The text after an edit; where `problem` says why it could not be made, the text is what it was."""

    text: str
    problem: str = ""


def decoded(data: bytes) -> str:
    """The text of `data`; `encoded` gives the same bytes back, whatever they are."""
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """The bytes that `decoded` made `text` of."""
    return text.encode("utf-8", "surrogateescape")


def line_ending(text: str) -> str:
    """How the lines of `text` end: CRLF where most of them do, else LF."""
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
