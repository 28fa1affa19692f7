"""A second look, from the likeliest passages at the others: who stands in the same document, who talks of the same.

The latter is pseudo-relevance feedback (Rocchio 1971): words that the best passages share with few others, and that the
question does not have, speak for whoever else uses them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from diffmem.planner.features import rarity
from diffmem.planner.query import Query
from diffmem.planner.reading import Passage
from diffmem.planner.stemming import stem
from diffmem.planner.words import is_asking_word, is_stop_word

_BEST_PASSAGES = 15
_MOST_WORDS = 40
_LEAST_CHARS = 3
_COMMON = 0.05


def company(likely: Mapping[int, float], passages: Sequence[Passage]) -> dict[int, float]:
    """For each passage (by index) the likelihood of the others of its document, added up."""
    sums: dict[int, float] = {}
    for index, likelihood in likely.items():
        document = passages[index].document
        sums[document] = sums.get(document, 0.0) + likelihood
    return {index: sums[passages[index].document] - likelihood for index, likelihood in likely.items()}


def echoes(likely: Mapping[int, float], query: Query, passages: Sequence[Passage]) -> dict[int, float]:
    """How much of what the likeliest passages talk of is in each passage; 0 where nothing is and it is left out.

    `likely` gives the likelihoods of passages (by index), up to any factor.
    """
    best = sorted(likely, key=lambda index: (-likely[index], index))[:_BEST_PASSAGES]
    asked = {term.stem for term in query.terms}
    told = {index: _matters(passages[index].words, query, asked) for index in best}
    holders = _holders(passages, set().union(*told.values()))
    total = sum(likely.values())
    weights: dict[str, float] = {}
    for index, words in told.items():
        for word in words:
            if 2 <= len(holders[word]) <= _COMMON * len(passages):
                share = math.sqrt(likely[index] / total) * rarity(len(holders[word]), len(passages))
                weights[word] = weights.get(word, 0.0) + share
    return _spread(weights, holders, len(passages))


def _matters(words: Iterable[str], query: Query, asked: set[str]) -> set[str]:
    return {
        word
        for word in words
        if (len(word) >= _LEAST_CHARS or not word.isascii())
        and not is_stop_word(word, query.english)
        and not is_asking_word(word)
        and stem(word) not in asked
    }


def _holders(passages: Sequence[Passage], wanted: set[str]) -> dict[str, list[int]]:
    """The passages that hold each of `wanted`."""
    holders: dict[str, list[int]] = {word: [] for word in wanted}
    for index, passage in enumerate(passages):
        for word in wanted.intersection(passage.words):
            holders[word].append(index)
    return holders


def _spread(weights: Mapping[str, float], holders: Mapping[str, list[int]], size: int) -> dict[int, float]:
    found: dict[int, float] = {}
    for word in sorted(weights, key=lambda word: (-weights[word], word))[:_MOST_WORDS]:
        value = weights[word] * rarity(len(holders[word]), size)
        for index in holders[word]:
            found[index] = found.get(index, 0.0) + value
    return found
