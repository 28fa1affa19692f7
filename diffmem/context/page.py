"""The chosen lines as one text: grouped under headings, must_include before the rest, sessions by date.

Blocks stand in the text in the order in which they are returned. Lines chosen next to each other are one block, whoever
chose them; it has the higher of their priorities and all their reasons.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from diffmem.context import headings
from diffmem.context.selection import MUST, Claim, Selection
from diffmem.context.sources import Source
from diffmem.memory import CONTEXT_FRAME_CLOSE, CONTEXT_FRAME_OPEN

# Lines without text between two chosen parts are cheaper than a mark between them.
_BRIDGED_BLANKS = 2


@dataclass(frozen=True, slots=True)
class Piece:
    """One block to be: the lines `start` to `end` (excluded) of a source, and how many lines were left out after it."""

    source: Source
    start: int
    end: int
    must: bool
    reason: str
    truncated: bool
    left_out: int
    content: str

    @property
    def lines(self) -> tuple[int, int] | None:
        """First and last line in the file; None where there is no file."""
        numbers = self.source.content.numbers
        return (numbers[self.start], numbers[self.end - 1]) if numbers else None

    @property
    def whole(self) -> bool:
        """Whether it shows everything that its source has to show."""
        return not self.truncated and self.end - self.start == len(self.source.content.texts)


def pieces(selection: Selection, claims: Sequence[Claim]) -> list[Piece]:
    """The blocks that were chosen, in the order in which they will stand."""
    by_source: dict[Source, list[Claim]] = {}
    for claim in claims:
        by_source.setdefault(claim.source, []).append(claim)
    found: list[Piece] = []
    ranks = {source: rank for rank, source in enumerate(by_source)}
    for source in selection.levels:
        found += _pieces_of(source, selection, by_source[source])
    return sorted(found, key=lambda piece: (not piece.must, *_place(piece.source, ranks), piece.start))


def _place(source: Source, ranks: dict[Source, int]) -> tuple[bool, date, str, int]:
    """Files and the like in the plan's order, then sessions by date."""
    if source.day is None:
        return False, date.min, "", ranks[source]
    return True, source.day, source.path or "", ranks[source]


def _pieces_of(source: Source, selection: Selection, claims: Sequence[Claim]) -> Iterator[Piece]:
    levels, texts = selection.levels[source], source.content.texts
    runs = _bridged(_runs(levels), texts) if source.split else _runs(levels)
    spans = [[run] for run in runs] if source.split else [runs] if runs else []
    for span in spans:
        run = range(span[0].start, span[-1].stop)
        touching = [claim for claim in claims if _chosen(claim, levels, run)]
        cut = [claim for claim in touching if _last(claim, levels) in run]
        missing = {index for claim in cut for index in claim.span if not levels[index] and texts[index].strip()}
        short = selection.shortened.get(source, {})
        yield Piece(
            source,
            run.start,
            run.stop,
            must=MUST in levels[run.start : run.stop],
            reason="; ".join(dict.fromkeys(claim.reason for claim in touching if claim.reason)),
            truncated=bool(missing) or any(_is_cut(claim, levels, texts) for claim in touching) or _has(short, run),
            left_out=len(missing),
            content=f"\n{headings.GAP}\n".join("\n".join(short.get(n, texts[n]) for n in part) for part in span),
        )


def _runs(levels: bytearray) -> list[range]:
    """The stretches of chosen lines."""
    numbered = groupby(range(len(levels)), key=lambda index: levels[index] > 0)
    stretches = [list(group) for chosen, group in numbered if chosen]
    return [range(stretch[0], stretch[-1] + 1) for stretch in stretches]


def _bridged(runs: list[range], texts: Sequence[str]) -> list[range]:
    joined: list[range] = []
    for run in runs:
        between = range(joined[-1].stop, run.start) if joined else range(0)
        if joined and len(between) <= _BRIDGED_BLANKS and not any(texts[index].strip() for index in between):
            joined[-1] = range(joined[-1].start, run.stop)
        else:
            joined.append(run)
    return joined


def _chosen(claim: Claim, levels: bytearray, run: range) -> bool:
    return any(levels[max(claim.span.start, run.start) : min(claim.span.stop, run.stop)])


def _last(claim: Claim, levels: bytearray) -> int:
    """The last chosen line of a claim; -1 where there is none."""
    return next((index for index in reversed(claim.span) if levels[index]), -1)


def _is_cut(claim: Claim, levels: bytearray, texts: Sequence[str]) -> bool:
    return any(not levels[index] and texts[index].strip() for index in claim.span)


def _has(short: dict[int, str], run: range) -> bool:
    return any(index in run for index in short)


def render(found: Sequence[Piece]) -> str:
    """The whole context in its frame; empty where nothing was chosen."""
    lines: list[str] = []
    for must in (True, False):
        lines += _section([piece for piece in found if piece.must is must])
    return "\n".join([CONTEXT_FRAME_OPEN, *lines, CONTEXT_FRAME_CLOSE]) if lines else ""


def _section(found: Sequence[Piece]) -> Iterator[str]:
    year = None
    for source, group in groupby(found, key=lambda piece: piece.source):
        if source.day:
            yield headings.day(source.day, with_year=source.day.year != year)
            year = source.day.year
        else:
            yield source.heading
        yield from _parts(list(group))


def _parts(group: Sequence[Piece]) -> Iterator[str]:
    for piece in group:
        yield piece.content
        if piece.left_out:
            yield headings.left_out(piece.left_out, piece.source.day, must=piece.must)
        elif piece is not group[-1]:
            yield headings.GAP
