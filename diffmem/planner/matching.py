"""Where the words of a query stand in a corpus: for each term, the passages that hold a form of it.

Only the words that can match are stemmed: those that begin as a stem does. A word of the query that the memory does not
know is compared once more, letter by letter, because people mistype.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from diffmem.planner.query import MAX_TERMS, Query, Term
from diffmem.planner.reading import Passage
from diffmem.planner.stemming import IRREGULAR, stem

_PREFIX = 3
_FUZZY_CHARS = 5
_MOST_FUZZY = 8
_MOST_INFLECTED = 60
_LOOSE_CHARS = 5
_ENDING_CHARS = 3


@dataclass(frozen=True, slots=True)
class Match:
    """A term, and how often each passage (by index) holds it."""

    term: Term
    counts: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Matches:
    """The terms found; and for every related stem found, its counts."""

    terms: tuple[Match, ...]
    related: Mapping[str, Mapping[int, int]]


def match(query: Query, passages: Sequence[Passage], without: frozenset[str] = frozenset()) -> Matches:
    """Where the terms of `query`, but those in `without`, and the stems related to them stand in `passages`."""
    terms = [term for term in query.terms if term.stem not in without]
    vocabulary: set[str] = set()
    for passage in passages:
        vocabulary.update(passage.words)
    forms = _forms(terms, vocabulary, query.english)
    counts = _count(passages, forms)
    found = [Match(term, counts[term.stem]) for term in terms if term.stem in counts]
    # The rarest terms say most; a term of the latest message comes before one of an earlier message.
    found.sort(key=lambda item: (-item.term.weight, len(item.counts)))
    return Matches(tuple(found[:MAX_TERMS]), counts)


def _forms(terms: Sequence[Term], vocabulary: set[str], english: bool) -> dict[str, str]:
    """The words of the memory that match, each with the stem it is a form of."""
    wanted = {term.stem for term in terms}
    for term in terms:
        wanted.update(term.related)
    beginnings = {key[:_PREFIX] for key in wanted}
    candidates = {word for word in vocabulary if word[:_PREFIX] in beginnings} | (IRREGULAR.keys() & vocabulary)
    forms = {word: key for word in candidates if (key := stem(word)) in wanted}
    if english:
        known = set(forms.values())
        unknown = {term.word: term.stem for term in terms if term.stem not in known and len(term.word) >= _FUZZY_CHARS}
        near = _nearest(dict(islice(unknown.items(), _MOST_FUZZY)), vocabulary, _mistyped)
    else:
        near = _nearest({term.stem: term.stem for term in terms[:_MOST_INFLECTED]}, candidates, _inflected)
    return near | forms


def _nearest(
    keys: Mapping[str, str], vocabulary: Iterable[str], are_alike: Callable[[str, str], bool]
) -> dict[str, str]:
    """The words of `vocabulary` that are alike a spelling in `keys`, each with that spelling's stem."""
    by_initial: dict[str, list[str]] = {}
    for spelling in keys:
        by_initial.setdefault(spelling[:1], []).append(spelling)
    found: dict[str, str] = {}
    for word in vocabulary:
        for spelling in by_initial.get(word[:1], ()):
            if are_alike(spelling, word):
                found[word] = keys[spelling]
    return found


def _mistyped(key: str, word: str) -> bool:
    """Whether the two differ by one letter that is missing, added, wrong or swapped with the next."""
    if abs(len(key) - len(word)) > 1 or len(word) < _FUZZY_CHARS:
        return False
    at = next((i for i, (one, other) in enumerate(zip(key, word, strict=False)) if one != other), None)
    if at is None:
        return True
    swapped = key[at : at + 2] == word[at : at + 2][::-1] and key[at + 2 :] == word[at + 2 :]
    return swapped or key[at + 1 :] == word[at + 1 :] or key[at:] == word[at + 1 :] or key[at + 1 :] == word[at:]


def _inflected(key: str, word: str) -> bool:
    """Whether the two begin alike and differ in a short ending: what inflection comes to in most spaced scripts."""
    shared = max(_LOOSE_CHARS, max(len(key), len(word)) - _ENDING_CHARS)
    return len(key) >= _LOOSE_CHARS and key[:shared] == word[:shared]


def _count(passages: Sequence[Passage], forms: Mapping[str, str]) -> dict[str, dict[int, int]]:
    counts: dict[str, dict[int, int]] = {}
    for index, passage in enumerate(passages):
        for key in [forms[word] for word in passage.words if word in forms]:
            held = counts.setdefault(key, {})
            held[index] = held.get(index, 0) + 1
    return counts
