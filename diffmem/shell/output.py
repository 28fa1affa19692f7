"""The outputs of a call as one text for a model.

A single command's output stands as it is. In a chain each command has its own:

    #4f1c2a 1/2 $ head -1 index.md
    # Index
    #4f1c2a 1/2 exit 0

The number after `#` is drawn for each call, since a file can hold lines that look like these. *Bounded*: `max_bytes`
for all outputs together, divided so that a long output takes only what the short ones leave; of each two thirds from
the head and one third from the tail, with counts of what is left out; 2,000 characters a line; twice `max_bytes` for
all of the text, headers, refusals and hints included, cut in the same way: a chain may have thousands of commands.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from diffmem.shell.capture import LINE_CHARACTERS
from diffmem.shell.cleaning import clean
from diffmem.shell.stops import REFUSED

_SOURCE_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class UnitOutput:
    """One command that was run: what is left of its output (see `capture.Captured`) and what is said beside it."""

    status: int
    head: bytes
    tail: bytes
    between_bytes: int
    between_lines: int
    cuts_lines: bool
    refused: tuple[str, ...]
    hints: tuple[str, ...]
    cut: str | None


@dataclass(frozen=True, slots=True)
class Shaped:
    """The text, and whether something of an output was left out."""

    text: str
    truncated: bool


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    truncated: bool


def shape(
    sources: Sequence[str], units: Sequence[UnitOutput | None], stopped: str | None, token: str, max_bytes: int
) -> Shaped:
    """The text for the commands `sources`, of which `units` has the outputs (None: not run).

    `stopped` says why the call ended early.
    """
    shares = _shares([0 if unit is None else _size(unit) for unit in units], max_bytes)
    single = len(sources) == 1
    lines: list[str] = []
    truncated = False
    for number, (source, unit, share) in enumerate(zip(sources, units, shares, strict=True), 1):
        mark = f"#{token}" if single else f"#{token} {number}/{len(sources)}"
        part = _Part("", False) if unit is None else _fitted(unit, share, mark)
        truncated = truncated or part.truncated
        if not single:
            lines.append(f"{mark} $ {_title(source)}")
        if part.text:
            lines.append(part.text.removesuffix("\n"))
        lines += [f"{mark} {note}" for note in _notes(unit, bool(part.text), single)]
    if stopped:
        lines.append(f"#{token} stopped: {stopped}")
    text = "\n".join(lines)
    whole = _within(text, 2 * max_bytes, token)
    return Shaped(whole, truncated or whole != text)


def _within(text: str, max_bytes: int, token: str) -> str:
    """`text`, or as much of its head and of its tail as `max_bytes` allows."""
    data = text.encode()
    if len(data) <= max_bytes:
        return text
    head = _first(data, max_bytes * 2 // 3)
    tail = _last(data[len(head) :], max_bytes - max_bytes * 2 // 3)
    between = data[len(head) : len(data) - len(tail)]
    lines = between.count(b"\n")
    note = f"#{token} … {lines} lines, {len(between)} bytes left out …"
    return "\n".join((head.decode(errors="ignore").removesuffix("\n"), note, tail.decode(errors="ignore")))


def _notes(unit: UnitOutput | None, has_text: bool, single: bool) -> list[str]:
    if unit is None:
        return ["not run"]
    notes = [*(f"refused: {clean(text)}" for text in unit.refused), *(f"hint: {clean(text)}" for text in unit.hints)]
    if unit.cut:
        notes.append(unit.cut)
    said = bool(unit.refused) and unit.status == REFUSED
    if not said and (not single or unit.status or not (has_text or notes)):
        notes.append(f"exit {unit.status}" + ("" if has_text else " (no output)"))
    return notes


def _title(source: str) -> str:
    first, _, rest = clean(source).strip().partition("\n")
    return first[:_SOURCE_CHARACTERS] + (" …" if rest or len(first) > _SOURCE_CHARACTERS else "")


def _size(unit: UnitOutput) -> int:
    return len(unit.head) + len(unit.tail)


def _shares(sizes: Sequence[int], total: int) -> list[int]:
    """What each may take of `total`: the small ones all they need, the others equal parts of what is left."""
    shares = [0] * len(sizes)
    left = total
    for taken, index in enumerate(sorted(range(len(sizes)), key=lambda i: sizes[i])):
        shares[index] = min(sizes[index], left // (len(sizes) - taken))
        left -= shares[index]
    return shares


def _fitted(unit: UnitOutput, share: int, mark: str) -> _Part:
    if not unit.between_bytes and _size(unit) <= share:
        return _Part(
            _shown(unit.head) + _cut_lines(_shown(unit.tail)) if unit.tail else _shown(unit.head), unit.cuts_lines
        )
    whole = unit.head + unit.tail
    head = _first(unit.head if unit.between_bytes else whole, share * 2 // 3)
    tail = _last(unit.tail if unit.between_bytes else whole[len(head) :], share - share * 2 // 3)
    left_out = unit.between_bytes + len(whole) - len(head) - len(tail)
    lines = unit.between_lines + whole.count(b"\n") - head.count(b"\n") - tail.count(b"\n")
    note = f"{mark} … {lines} lines, {left_out} bytes left out …"
    return _Part("\n".join(filter(None, [_shown(head).removesuffix("\n"), note, _cut_lines(_shown(tail))])), True)


def _first(data: bytes, size: int) -> bytes:
    """At most `size` bytes from the beginning: whole lines, where there is one."""
    newline = data.rfind(b"\n", 0, size)
    return data[: newline + 1] if newline >= 0 else data[:size]


def _last(data: bytes, size: int) -> bytes:
    """At most `size` bytes from the end: whole lines, where there is one."""
    start = max(0, len(data) - size)
    newline = data.find(b"\n", start, len(data) - 1)
    return data[newline + 1 :] if newline >= 0 else data[start:]


def _shown(data: bytes) -> str:
    return clean(data.decode(errors="replace"))


def _cut_lines(text: str) -> str:
    return "\n".join(_cut_line(line) for line in text.split("\n"))


def _cut_line(line: str) -> str:
    over = len(line) - LINE_CHARACTERS
    return line if over <= 0 else f"{line[:LINE_CHARACTERS]}…[+{over} characters]"
