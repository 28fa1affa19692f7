"""Which lines have been chosen so far, by which claim, and what they cost.

Tokens do not add up exactly; lines nearly do. Choosing adds up lines, each counted once, and the text that is made of
them is what is counted in the end.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from diffmem.context import headings
from diffmem.context.sources import Source
from diffmem.plan import Priority

STRIDE_CHARS = 2_000


# Not slotted: what is wanted is found when it is first asked for, as a source's content is.
@dataclass(frozen=True, eq=False)
class Claim:
    """What one pointer wants of a source; `first` and `last` are lines of its file."""

    source: Source
    priority: Priority
    reason: str
    first: int | None = None
    last: int | None = None

    @cached_property
    def span(self) -> range:
        """The indexes of the lines wanted."""
        return self.source.content.between(self.first, self.last)

    @cached_property
    def wanted(self) -> Sequence[int]:
        """The same, what matters most first."""
        order = self.source.content.order
        return self.span if isinstance(order, range) else [index for index in order if index in self.span]


# A line break ends a word of the tokenizer unless blanks, another one or a slash follow.
_ENDS = re.compile(r"\n(?=[^\s/])")


class Costs:
    """Tokens of lines, each counted once."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self.count = count
        self._known: dict[str, int] = {}
        # Between two lines an empty one usually costs nothing: its end joins the token of the end before.
        self._known[""] = count("x\n\n") - count("x\n")

    def line(self, text: str) -> int:
        """Tokens of `text` as a line."""
        if text not in self._known:
            # A tokenizer may take quadratic time on one long run of a character.
            strides = [text[at : at + STRIDE_CHARS] for at in range(0, len(text), STRIDE_CHARS)]
            self._known[text] = sum(map(self.count, [*strides[:-1], f"{strides[-1]}\n"]))
        return self._known[text]

    def text(self, text: str) -> int:
        """Tokens of `text`, exactly: where o200k_base always ends a word, its parts add up, and most were counted."""
        *parts, last = _ENDS.split(text)
        return sum(map(self._part, parts)) + self.count(last)

    def _part(self, part: str) -> int:
        return self.line(part) if 0 < len(part) <= STRIDE_CHARS else self.count(f"{part}\n")

    def heading(self, source: Source) -> int:
        """Tokens of the line that names `source`."""
        return self.line(headings.day(source.day, with_year=True) if source.day else source.heading)

    @cached_property
    def gap(self) -> int:
        """Tokens of the mark between two parts of one source."""
        return self.line(headings.GAP)

    def cut(self, claim: Claim) -> int:
        """Tokens, at most, of the mark that says how much of `claim` was left out."""
        return self.line(headings.left_out(9_999, claim.source.day, must=claim.priority == "must_include"))


_LEVELS: dict[Priority, int] = {"if_budget_allows": 1, "must_include": 2}
MUST = _LEVELS["must_include"]

_WORD_CHARS = 24
_MOST_CHARS_A_TOKEN = 128


class Selection:
    """The lines chosen of each source, and their tokens with those of headings and marks.

    `levels` holds 0 for a line that is not chosen, 1 for one that the budget allows and 2 for one of must_include;
    `shortened` has the lines of which only the beginning was chosen.
    """

    def __init__(self, costs: Costs) -> None:
        self.costs = costs
        self.spent = 0
        self.levels: dict[Source, bytearray] = {}
        self.shortened: dict[Source, dict[int, str]] = {}
        self._marked: set[Claim] = set()

    def missing(self, claim: Claim) -> list[int]:
        """The indexes of the lines that `claim` wants and that are not chosen whole, what matters most first."""
        chosen, short = self._chosen(claim.source), self.shortened.get(claim.source, {})
        return [index for index in claim.wanted if not chosen[index] or index in short]

    def unserved(self, claim: Claim) -> bool:
        """Whether `claim` wants something and nothing of it is chosen."""
        chosen = self._chosen(claim.source)
        return bool(claim.span) and not any(chosen[claim.span.start : claim.span.stop])

    def demand(self, claim: Claim, limit: int) -> int:
        """Tokens that `claim` needs to be shown whole; those beyond `limit` are not all counted."""
        texts = claim.source.content.texts
        total = self.costs.heading(claim.source)
        for index in self.missing(claim):
            if total > limit:
                break
            # A line too long for the limit need not be counted to be known as such.
            long = len(texts[index]) > limit * _MOST_CHARS_A_TOKEN
            total += limit + 1 if long else self.costs.line(texts[index])
        return total

    def take(self, claim: Claim, room: int, *, useful: int = 0, split: int | None = None) -> bool:
        """Choose as many whole lines of `claim` as `room` tokens hold, and say whether those are all.

        What is neither half of the claim nor `useful` tokens is not chosen at all. Where not one line has room, the
        beginning of the first is chosen, if that is at least `split` tokens.
        """
        most = self.spent + room
        cut_before = self._reopen(claim)
        before = self.spent
        missing = self.missing(claim)
        picked = self._pick(claim, missing, most)
        if len(picked) == len(missing):
            return True
        texts = claim.source.content.texts
        while picked and (self.spent + self.costs.cut(claim) > most or not texts[picked[-1][0]].strip()):
            self._drop(claim, picked)
        if self.spent - before < useful and 2 * len(picked) < len(missing):
            while picked:
                self._drop(claim, picked)
        if not picked and split is not None:
            picked = self._split(claim, missing, most, split)
        if picked or cut_before:
            self.spent += self.costs.cut(claim)
            self._marked.add(claim)
        return False

    def _chosen(self, source: Source) -> bytearray:
        if source not in self.levels:
            self.levels[source] = bytearray(len(source.content.texts))
        return self.levels[source]

    def _reopen(self, claim: Claim) -> bool:
        """Take back the mark of a cut and a shortened line, so that more can be chosen; whether there was a mark."""
        cut_before = claim in self._marked
        if cut_before:
            self._marked.remove(claim)
            self.spent -= self.costs.cut(claim)
        short = self.shortened.get(claim.source, {})
        for index in [index for index in short if index in claim.span]:
            self._chosen(claim.source)[index] = 0
            self.spent -= self.costs.line(short.pop(index)) + self._overhead(claim, index)
        return cut_before

    def _pick(self, claim: Claim, missing: Sequence[int], most: int) -> list[tuple[int, int]]:
        """Choose from `missing` in its order while no more than `most` is spent in all; the indexes and their costs."""
        texts, chosen, level = claim.source.content.texts, self._chosen(claim.source), _LEVELS[claim.priority]
        picked = []
        for index in missing:
            if len(texts[index]) > (most - self.spent) * _MOST_CHARS_A_TOKEN:
                break
            cost = self.costs.line(texts[index]) + self._overhead(claim, index)
            if self.spent + cost > most:
                break
            chosen[index] = level
            self.spent += cost
            picked.append((index, cost))
        return picked

    def _drop(self, claim: Claim, picked: list[tuple[int, int]]) -> None:
        index, cost = picked.pop()
        self._chosen(claim.source)[index] = 0
        self.spent -= cost

    def _overhead(self, claim: Claim, index: int) -> int:
        """Tokens of the heading or the mark that a line at `index` needs before it."""
        chosen, level = self._chosen(claim.source), _LEVELS[claim.priority]
        if any(chosen[max(0, index - 1) : index + 2]):
            return 0
        return self.costs.gap if level in chosen else self.costs.heading(claim.source)

    def _split(self, claim: Claim, missing: Sequence[int], most: int, least: int) -> list[tuple[int, int]]:
        """Choose the beginning of the first missing line, if that is at least `least` tokens."""
        index, overhead = missing[0], self._overhead(claim, missing[0])
        room = most - self.spent - overhead - self.costs.cut(claim)
        text = beginning(claim.source.content.texts[index], room, self.costs.line) if room >= least else ""
        if not text or self.costs.line(text) < least:
            return []
        cost = self.costs.line(text) + overhead
        self._chosen(claim.source)[index] = _LEVELS[claim.priority]
        self.shortened.setdefault(claim.source, {})[index] = text
        self.spent += cost
        return [(index, cost)]


def beginning(line: str, room: int, cost: Callable[[str], int]) -> str:
    """As much of `line` as costs about `room` with the mark at its end, cut between words if it has any; or nothing."""
    start, spent = 0, 0
    while start < len(line) and spent + (stride := cost(line[start : start + STRIDE_CHARS])) <= room:
        start, spent = start + STRIDE_CHARS, spent + stride
    low, high = start, min(len(line), start + STRIDE_CHARS)
    while low < high:
        middle = (low + high + 1) // 2
        fits = spent + cost(f"{line[start:middle]} …") <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    kept = line[:low]
    words = kept.rpartition(" ")[0]
    kept = words if len(words) > low - _WORD_CHARS and low < len(line) else kept
    return f"{kept} …" if kept.strip() else ""
