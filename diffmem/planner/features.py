"""What speaks for a passage, in numbers: its words, its neighbours, the speaker, the day, the kind of answer.

An answer often stands beside the words of its question, so what the messages before and after say counts too. The
words' part is BM25 (Robertson and Zaragoza 2009) with a term's share bounded per passage.
"""

import math
import re
from collections.abc import Sequence
from datetime import date

from diffmem.planner.matching import Match, Matches
from diffmem.planner.query import Query
from diffmem.planner.reading import Corpus, Passage

_K1, _B = 1.2, 0.5
_TOO_COMMON = 0.5
_MORE_OF_A_TOPIC = 0.3
_RECENT_DAYS = 14
_SHORT_WORDS = 15
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|(?:week|month|year|day)s?|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|january|february|march|april|may|june|july|august|september|october|november|december|recently|just|since"
    r"|morning|evening|night|soon|\d+(?:st|nd|rd|th)?|gestern|heute|morgen|hier|demain|ayer|hoy|manana)\b"
    r"|昨日|今日|明日|先週|来週|昨天|今天|明天|上周|下周|어제|오늘|내일",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s*")
_CAPITALISED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_MOST_NAMES = 3
_MOST_SAID = 5
_AKIN_SHARE = 0.3


class Evidence:
    """The numbers of every passage of a corpus for one query; costly ones are made for asked-for passages only."""

    def __init__(self, query: Query, corpus: Corpus, matches: Matches, named: frozenset[str], today: date) -> None:
        self._query, self._corpus, self._named, self._today = query, corpus, named, today
        self._passages = corpus.passages
        size = len(corpus.passages)
        self._lengths = [len(passage.words) for passage in corpus.passages]
        self._mean_length = sum(self._lengths) / max(1, size)
        self._own, self._share, self._peak, self._around = ([0.0] * size for _ in range(4))
        self._back, self._back2, self._ahead2, self._akin = ([0.0] * size for _ in range(4))
        self._file = [0.0] * len(corpus.documents)
        self._total = sum(self._rarity(0) * term.weight for term in query.terms) or 1.0
        self._found = [match for match in matches.terms if len(match.counts) <= max(3.0, _TOO_COMMON * size)]
        known = {match.term.stem for match in matches.terms}
        self._total -= sum((self._rarity(0) - self._rarity(len(m.counts))) * m.term.weight for m in matches.terms)
        self._total = max(self._total, 1e-6)
        for match in self._found:
            self._add_words(match)
            self._add_neighbours(match)
            self._add_file(match)
        for match in self._with_unfound(query):
            self._add_akin(match, matches, known)

    def _with_unfound(self, query: Query) -> Sequence[Match]:
        have = {match.term.stem for match in self._found}
        return [*self._found, *(Match(term, {}) for term in query.terms if term.stem not in have)]

    def candidates(self) -> list[int]:
        """The passages for which anything speaks."""
        days = {at for at, document in enumerate(self._corpus.documents) if self._on_the_day(document.day)}
        return [
            index
            for index, passage in enumerate(self._passages)
            if self._around[index] or self._akin[index] or passage.document in days
        ]

    def match(self, index: int) -> float:
        """The share of the query that the passage itself matches, 0 to 1; words of the same topic count a little."""
        return min(1.0, (self._share[index] + _AKIN_SHARE * self._akin[index]) / self._total)

    def said(self, index: int) -> list[str]:
        """The words of the query that the passage has, the rarest first."""
        held = [match for match in self._found if index in match.counts]
        return [match.term.word for match in sorted(held, key=lambda match: len(match.counts))[:_MOST_SAID]]

    def circumstance(self, index: int) -> str:
        """What speaks for a passage that has no word of the query."""
        passage = self._passages[index]
        if self._on_the_day(self._corpus.documents[passage.document].day):
            return "said on the days asked about"
        if self._akin[index]:
            return "of the same topic"
        return "beside what matches" if self._around[index] else "among the most recent sessions"

    def words(self, index: int) -> tuple[float, ...]:
        """The numbers that the words alone give: own, back, back2, ahead2, around, share, peak, file, akin, date."""
        passage = self._passages[index]
        return (
            self._own[index],
            self._back[index],
            self._back2[index],
            self._ahead2[index],
            self._around[index] / self._total,
            self._share[index] / self._total,
            self._peak[index],
            self._file[passage.document],
            self._akin[index],
            self._on_the_day(self._corpus.documents[passage.document].day),
        )

    def manner(self, index: int) -> tuple[float, ...]:
        """What the passage is like: speaker, when, answers, asks, short, opening, names, assistant, recent, future."""
        passage = self._passages[index]
        document = self._corpus.documents[passage.document]
        before = self._passages[index - 1] if index > document.first else None
        age = (self._today - document.day).days if document.day else 10_000
        return (
            1.0 if passage.label in self._named else 0.0,
            1.0 if self._query.asks_when and _TIME.search(passage.text) else 0.0,
            1.0 if before and _ends_asking(before) else 0.0,
            _share_of_questions(passage.text),
            max(0.0, 1 - self._lengths[index] / _SHORT_WORDS),
            1 / (1 + index - document.first),
            min(_MOST_NAMES, len(_CAPITALISED.findall(passage.text))) if self._query.asks_name else 0.0,
            1.0 if passage.assistant else 0.0,
            0.0 if age < -1 else 1 / (1 + max(age, 0) / _RECENT_DAYS),
            1.0 if age < -1 else 0.0,
        )

    def _rarity(self, frequency: int, size: int | None = None) -> float:
        """Robertson's inverse document frequency, never negative."""
        of = len(self._passages) if size is None else size
        return math.log(1 + (of - frequency + 0.5) / (frequency + 0.5))

    def _add_words(self, match: Match) -> None:
        weight = self._rarity(len(match.counts)) * match.term.weight
        for index, count in match.counts.items():
            length = 1 - _B + _B * self._lengths[index] / self._mean_length
            self._own[index] += weight * count * (_K1 + 1) / (count + _K1 * length)
            self._share[index] += weight
            self._peak[index] = max(self._peak[index], weight)

    def _add_neighbours(self, match: Match) -> None:
        weight = self._rarity(len(match.counts)) * match.term.weight
        covered = set(match.counts)
        for index, count in match.counts.items():
            length = 1 - _B + _B * self._lengths[index] / self._mean_length
            value = weight * count * (_K1 + 1) / (count + _K1 * length)
            for numbers, neighbour in ((self._back, 1), (self._back2, 2), (self._ahead2, -2), (None, -1)):
                at = index + neighbour
                if not self._same_session(index, at):
                    continue
                if neighbour != -2:
                    covered.add(at)
                if numbers is not None and at not in match.counts:
                    numbers[at] += value
        for at in covered:
            self._around[at] += weight

    def _same_session(self, index: int, other: int) -> bool:
        if not 0 <= other < len(self._passages):
            return False
        document = self._passages[index].document
        return self._passages[other].document == document and self._corpus.documents[document].kind == "session"

    def _add_file(self, match: Match) -> None:
        held: dict[int, int] = {}
        for index in match.counts:
            document = self._passages[index].document
            held[document] = held.get(document, 0) + 1
        weight = self._rarity(len(held), len(self._file)) * match.term.weight
        for document, count in held.items():
            self._file[document] += weight * min(1.0, count / 2)

    def _add_akin(self, match: Match, matches: Matches, known: set[str]) -> None:
        """Words of the same topic, where the term itself does not stand; several of them together count little more."""
        most = self._rarity(len(match.counts)) * match.term.weight
        values: dict[int, float] = {}
        for key, share in match.term.related.items():
            counts = matches.related.get(key)
            if counts is None or key in known:
                continue
            value = share * min(most, self._rarity(len(counts)) * match.term.weight)
            for index in counts:
                before = values.get(index)
                values[index] = value if before is None else min(most, before + _MORE_OF_A_TOPIC * value)
        for index, value in values.items():
            if index not in match.counts:
                self._akin[index] += value

    def _on_the_day(self, day: date | None) -> float:
        if day is None:
            return 0.0
        weights = [period.weight(day) for period in self._query.periods]
        return max(weights, default=0.0)


def _ends_asking(passage: Passage) -> bool:
    return _spoken(passage.text).endswith(("?", "？"))


def _share_of_questions(text: str) -> float:
    sentences = [part for part in _SENTENCE_END.split(_spoken(text)) if part.strip()]
    asking = [part for part in sentences if part.rstrip().endswith(("?", "？"))]
    return len(asking) / max(1, len(sentences))


def _spoken(text: str) -> str:
    """`text` without a note on what was attached, `[shares an image: ...]`, at its end."""
    stripped = text.rstrip()
    return stripped[: stripped.rindex("[")].rstrip() if stripped.endswith("]") and "[" in stripped else stripped
