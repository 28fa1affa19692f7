"""What speaks for a passage, in numbers: its words, its neighbours, the speaker, the day, the kind of answer.

An answer often stands beside the words of its question, so what the two messages before say counts too. The words' part
is BM25 (Robertson and Zaragoza 2009).
"""

import math
from collections.abc import Iterator, Sequence
from datetime import date

from diffmem.planner.matching import Match, Matches
from diffmem.planner.query import Query
from diffmem.planner.reading import Corpus, Passage
from diffmem.planner.wordlists import FIRST_PERSON, SECOND_PERSON, TIME_WORDS

WORDS = ("own", "back", "back2", "around", "share", "peak", "akin", "date")
MANNER = ("speaker", "when", "answers", "tells", "addresses", "short", "opening", "assistant", "recent", "future")

_K1, _B = 1.2, 0.5
_TOO_COMMON = 0.5
_FEW = 3
_MORE_OF_A_TOPIC = 0.3
_AKIN_SHARE = 0.3
_RECENT_DAYS = 14
_UNKNOWN_DAYS = 10_000
_SHORT_WORDS = 15
_MOST_PRONOUNS = 3
_MOST_SAID = 5
_ENOUGH_TERMS = 6
_ASKED_FOR_LATEST = 6.0


class Evidence:
    """The numbers of every passage of a corpus for one query; costly ones are made for asked-for passages only."""

    def __init__(self, query: Query, corpus: Corpus, matches: Matches, named: frozenset[str], today: date) -> None:
        self._query, self._corpus, self._named, self._today = query, corpus, named, today
        self._passages = corpus.passages
        self._recency = _ASKED_FOR_LATEST if query.asks_latest else 1.0
        size = len(corpus.passages)
        self._lengths = [len(passage.words) for passage in corpus.passages]
        self._mean_length = sum(self._lengths) / max(1, size) or 1.0
        self._days = [self._on_the_day(document.day) for document in corpus.documents]
        self._own, self._share, self._peak, self._akin = ([0.0] * size for _ in range(4))
        self._back, self._back2, self._around = ([0.0] * size for _ in range(3))
        known = {match.term.stem: match for match in matches.terms}
        every = [known.get(term.stem, Match(term, {})) for term in query.terms]
        weights = sorted(map(self._weight, every), reverse=True)
        self._total = sum(weights) or 1.0
        self._enough = sum(weights[:_ENOUGH_TERMS]) or 1.0
        self._found = [match for match in matches.terms if len(match.counts) <= max(_FEW, _TOO_COMMON * size)]
        for match in self._found:
            self._add_words(match)
        for match in every:
            self._add_akin(match, matches, frozenset(known))

    def candidates(self) -> list[int]:
        """The passages for which anything speaks."""
        return [
            index
            for index, passage in enumerate(self._passages)
            if self._around[index] or self._akin[index] or self._days[passage.document]
        ]

    def match(self, index: int) -> float:
        """How well the passage itself matches, 0 to 1: the share of the query, or of so much as would be enough.

        Words of the same topic count a little.
        """
        return min(1.0, (self._share[index] + _AKIN_SHARE * self._akin[index]) / self._enough)

    def said(self, index: int) -> list[str]:
        """The words of the query that the passage has, the rarest first."""
        held = [match for match in self._found if index in match.counts]
        return [match.term.word for match in sorted(held, key=lambda match: len(match.counts))[:_MOST_SAID]]

    def circumstance(self, index: int) -> str:
        """What speaks for a passage that has no word of the query, for a person to read."""
        if self._days[self._passages[index].document]:
            return "said on the days asked about"
        if self._akin[index]:
            return "of the same topic"
        return "beside what matches" if self._around[index] else "among the most recent sessions"

    def words(self, index: int) -> tuple[float, ...]:
        """The numbers that the words and the day give, as `WORDS` names them."""
        return (
            self._own[index],
            self._back[index],
            self._back2[index],
            self._around[index] / self._total,
            self._share[index] / self._total,
            self._peak[index],
            self._akin[index],
            self._days[self._passages[index].document],
        )

    def manner(self, index: int) -> tuple[float, ...]:
        """The numbers that tell what the passage is like, as `MANNER` names them."""
        passage = self._passages[index]
        document = self._corpus.documents[passage.document]
        age_days = (self._today - document.day).days if document.day else _UNKNOWN_DAYS
        return (
            1.0 if passage.label in self._named else 0.0,
            1.0 if self._query.asks_when and _tells_time(passage.words) else 0.0,
            1.0 if index > document.first and _ends_asking(self._passages[index - 1]) else 0.0,
            min(_MOST_PRONOUNS, sum(map(FIRST_PERSON.__contains__, passage.words))),
            min(_MOST_PRONOUNS, sum(map(SECOND_PERSON.__contains__, passage.words))),
            max(0.0, 1 - self._lengths[index] / _SHORT_WORDS),
            1 / (1 + index - document.first),
            1.0 if passage.assistant else 0.0,
            0.0 if age_days < -1 else self._recency / (1 + max(age_days, 0) / _RECENT_DAYS),
            1.0 if age_days < -1 else 0.0,
        )

    def _weight(self, match: Match) -> float:
        """The rarity of a term, by what it counts in the query."""
        return rarity(len(match.counts), len(self._passages)) * match.term.weight

    def _add_words(self, match: Match) -> None:
        weight = self._weight(match)
        covered = set(match.counts)
        for index, count in match.counts.items():
            length = 1 - _B + _B * self._lengths[index] / self._mean_length
            value = weight * count * (_K1 + 1) / (count + _K1 * length)
            self._own[index] += value
            self._share[index] += weight
            self._peak[index] = max(self._peak[index], weight)
            covered.update(self._add_neighbours(match, index, value))
        for index in covered:
            self._around[index] += weight

    def _add_neighbours(self, match: Match, index: int, value: float) -> Iterator[int]:
        """Credit the two messages after `index`, and give those beside it of the same session."""
        document = self._corpus.documents[self._passages[index].document]
        if document.kind != "session":
            return
        if index > document.first:
            yield index - 1
        for after, numbers in ((index + 1, self._back), (index + 2, self._back2)):
            if after < document.end:
                yield after
                if after not in match.counts:
                    numbers[after] += value

    def _add_akin(self, match: Match, matches: Matches, known: frozenset[str]) -> None:
        """Words of the same topic, where the term itself does not stand; several of them together count little more."""
        most = self._weight(match)
        values: dict[int, float] = {}
        for key, share in match.term.related.items():
            counts = matches.related.get(key)
            if counts is None or key in known:
                continue
            value = share * min(most, self._weight(Match(match.term, counts)))
            for index in counts:
                before = values.get(index)
                values[index] = value if before is None else min(most, before + _MORE_OF_A_TOPIC * value)
        for index, value in values.items():
            if index not in match.counts:
                self._akin[index] += value

    def _on_the_day(self, day: date | None) -> float:
        weights = [period.weight(day) for period in self._query.periods] if day else []
        return max(weights, default=0.0)


def _tells_time(found: Sequence[str]) -> bool:
    return not TIME_WORDS.isdisjoint(found) or any(word[0].isdigit() for word in found)


def _ends_asking(passage: Passage) -> bool:
    """Whether a message ends with a question, but for a note on what was attached (`[shares an image: ...]`)."""
    text = passage.text.rstrip()
    if text.endswith("]") and "[" in text:
        text = text[: text.rindex("[")].rstrip()
    return text.endswith(("?", "？", "؟"))


def rarity(frequency: int, size: int) -> float:
    """Robertson's inverse document frequency, which is never negative, of what `frequency` of `size` passages have."""
    return math.log(1 + (size - frequency + 0.5) / (frequency + 0.5))
