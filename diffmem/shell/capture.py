"""The output of one command, kept within a bound: its head, its tail, and counts of what lies between.

Standard library only: this module runs in the worker.
"""

from dataclasses import dataclass

LINE_CHARACTERS = 2_000

_CONTINUATION = bytes(range(0x80, 0xC0))


@dataclass(frozen=True, slots=True)
class Captured:
    """`head` and `tail` of an output; they meet where nothing lies between.

    `between_bytes` and `between_lines` count what is in neither. A line of the head that was cut says so: `…[+123
    characters]`.
    """

    head: bytes
    tail: bytes
    between_bytes: int
    between_lines: int
    cuts_lines: bool


class Capture:
    """Takes an output in chunks: two thirds of `max_bytes` for the head; where `raw`, all of it, and no line is cut."""

    def __init__(self, max_bytes: int, raw: bool) -> None:
        self._head_bytes = max_bytes if raw else max_bytes * 2 // 3
        self._tail_bytes = 0 if raw else max_bytes - self._head_bytes
        self._cuts_lines = not raw
        self._head = bytearray()
        self._tail = bytearray()
        self._line = 0
        self._has_cut = False
        self._between_bytes = 0
        self._between_lines = 0
        self.total_bytes = 0

    def feed(self, data: bytes) -> None:
        """Take what comes next."""
        self.total_bytes += len(data)
        if len(self._head) < self._head_bytes:
            data = self._feed_head(data)
        self._tail += data
        if len(self._tail) > 2 * self._tail_bytes + 65_536:
            self._trim()

    def result(self) -> Captured:
        """What was taken so far."""
        self._end_line()
        self._trim()
        return Captured(bytes(self._head), bytes(self._tail), self._between_bytes, self._between_lines, self._has_cut)

    def _feed_head(self, data: bytes) -> bytes:
        """Keep the beginning of `data`, lines cut; what does not fit comes back."""
        at = 0
        while at < len(data) and len(self._head) < self._head_bytes:
            newline = data.find(b"\n", at)
            end = min(len(data) if newline < 0 else newline, at + self._head_bytes - len(self._head))
            self._keep(data[at:end])
            at = end
            if at == newline and len(self._head) < self._head_bytes:
                self._end_line()
                self._head += b"\n"
                at += 1
        return data[at:]

    def _keep(self, piece: bytes) -> None:
        characters = len(piece.translate(None, _CONTINUATION))
        room = LINE_CHARACTERS - self._line
        self._line += characters
        if not self._cuts_lines or characters <= room:
            self._head += piece
        elif room > 0:
            self._head += piece[: _offset(piece, room)]

    def _end_line(self) -> None:
        if self._cuts_lines and self._line > LINE_CHARACTERS:
            self._has_cut = True
            self._head += f"…[+{self._line - LINE_CHARACTERS} characters]".encode()
        self._line = 0

    def _trim(self) -> None:
        over = len(self._tail) - self._tail_bytes
        if over > 0:
            self._between_bytes += over
            self._between_lines += self._tail.count(b"\n", 0, over)
            del self._tail[:over]


def _offset(piece: bytes, characters: int) -> int:
    """Where the character after so many begins."""
    if piece.isascii():
        return characters
    starts = (at for at, byte in enumerate(piece) if byte & 0xC0 != 0x80)
    return next((at for count, at in enumerate(starts) if count == characters), len(piece))
