"""What a conversation asks of memory: weighted terms, the names it uses, the days it speaks of, the kind of answer.

The latest message of the user counts most, earlier ones less. However long the conversation, what is kept is bounded.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from diffmem.planner.dates import AnyPeriod, periods
from diffmem.planner.stemming import stem
from diffmem.planner.topics import related
from diffmem.planner.words import fold, is_asking_word, is_english, is_stop_word, words

MAX_TERMS = 40
_MOST_TERMS_SAID = 200
_MAX_MESSAGES = 8
_MAX_CHARS = 4_000
_USER_DECAY, _OTHER_SHARE = 0.45, 0.5
_LEAST_WEIGHT = 0.05
_ASKING_SHARE = 0.5

_WHEN = re.compile(
    r"^\W*(?:when|what (?:date|day|month|year|time)|how long|since when|wann|quand|cuando|quando)\b"
    r"|\bhow (?:long|many (?:days|weeks|months|years))\b|\bwhich (?:month|year|date|day)\b|いつ|什么时候|何时|언제"
)
_LATEST = re.compile(
    r"\b(?:(?:last|previous|latest|most recent) (?:time|session|conversation|chat|talk)|just now|earlier today|lately"
    r"|letztes mal|zuletzt|la derniere fois|la ultima vez|l'ultima volta|da ultima vez)\b|前回|上次|지난번"
)


@dataclass(frozen=True, slots=True)
class Term:
    """A stem that the conversation uses, as which word, how much it counts (1.0 at most), and the stems akin to it."""

    stem: str
    word: str
    weight: float
    related: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for; `words` are those of the latest message, stop words too."""

    terms: tuple[Term, ...]
    words: frozenset[str]
    english: bool
    periods: tuple[AnyPeriod, ...]
    asks_when: bool
    asks_latest: bool


def understand(conversation: Sequence[tuple[str, str]], now: datetime) -> Query:
    """The query that `conversation`, oldest message first as `(role, content)`, makes at `now`."""
    latest = _latest(conversation)
    found = words(latest)
    english = is_english(found)
    folded = fold(latest)
    return Query(
        terms=tuple(_terms(conversation, english)),
        words=frozenset(found),
        english=english,
        periods=periods(folded, now.date()),
        asks_when=_WHEN.search(folded) is not None,
        asks_latest=_LATEST.search(folded) is not None,
    )


def _latest(conversation: Sequence[tuple[str, str]]) -> str:
    said = [content for role, content in conversation if role == "user"] or [content for _, content in conversation]
    return _bounded(said[-1]) if said else ""


def _bounded(text: str) -> str:
    """The beginning and the end of a long text: a request stands at either."""
    half = _MAX_CHARS // 2
    return text if len(text) <= _MAX_CHARS else f"{text[:half]} {text[-half:]}"


def _terms(conversation: Sequence[tuple[str, str]], english: bool) -> Iterator[Term]:
    weights: dict[str, tuple[str, float]] = {}
    for content, weight in _weighted(conversation):
        for word in words(content):
            if not is_stop_word(word, english):
                key = stem(word)
                weights.setdefault(key, (word, weight * (_ASKING_SHARE if is_asking_word(word) else 1.0)))
    for key, (word, weight) in islice(weights.items(), _MOST_TERMS_SAID):
        yield Term(key, word, weight, related(key) if english else {})


def _weighted(conversation: Sequence[tuple[str, str]]) -> Iterator[tuple[str, float]]:
    """The messages from the newest, each with its weight; they end where the weight is little or the bound reached."""
    weight = 1.0
    last_user = max((at for at, (role, _) in enumerate(conversation) if role == "user"), default=len(conversation) - 1)
    for at in range(last_user, max(-1, last_user - _MAX_MESSAGES), -1):
        role, content = conversation[at]
        yield _bounded(content), weight if role == "user" or at == last_user else weight * _OTHER_SHARE
        if role == "user":
            weight *= _USER_DECAY
        if weight < _LEAST_WEIGHT:
            return
