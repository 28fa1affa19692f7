"""The passages of sessions and notes in order of worth: what speaks for each, weighed, against the tokens it takes.

The weights are those of a conditional logit (McFadden 1974) over 1,252 questions on conversations, but the last two:
what is recent is likelier to matter, and what lies after the time of asking is not.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

from diffmem.planner.features import Evidence
from diffmem.planner.reading import Corpus, Passage

WORD_WEIGHTS = (0.16, 0.18, 0.17, 0.085, 4.1, 2.3, 0.32, 0.12, 0.28, 4.3)
MANNER_WEIGHTS = (1.1, 2.7, 0.95, -0.57, -0.9, 1.3, 0.27, -1.6, 0.5, -1.0)

_COST_POWER = 0.8
_OVERHEAD_TOKENS = 6
_LEAST_CONSIDERED = 300


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage (by index), what speaks for it, and about how many tokens it takes."""

    index: int
    score: float
    tokens: int

    @property
    def worth(self) -> float:
        """The score against the tokens; the logarithm of a likelihood for a token, roughly."""
        return self.score - _COST_POWER * math.log(self.tokens)


def rank(evidence: Evidence, corpus: Corpus, max_tokens: int) -> list[Ranked]:
    """The passages worth showing, best first: of those that the words find, and of others where these are few."""
    most = _LEAST_CONSIDERED + max_tokens // 8
    scores = {index: _weighed(WORD_WEIGHTS, evidence.words(index)) for index in evidence.candidates()}
    _fill_up(scores, corpus, most)
    kept = heapq.nlargest(most, scores, key=scores.__getitem__)
    found = [
        Ranked(
            index,
            scores[index] + _weighed(MANNER_WEIGHTS, evidence.manner(index)),
            estimated_tokens(corpus.passages[index]) + _OVERHEAD_TOKENS,
        )
        for index in kept
    ]
    return sorted(found, key=lambda item: (-item.worth, item.index))


def estimated_tokens(passage: Passage) -> int:
    """About the tokens of the passage and its label: four letters of English, or two to five bytes of other scripts."""
    return estimate(passage.text) + 3


def estimate(text: str) -> int:
    """About the tokens of `text`."""
    bytes_beyond = 0 if text.isascii() else len(text.encode("utf-8", "replace")) - len(text)
    return int(len(text) / 4.3 + bytes_beyond / 4) + 1


def _fill_up(scores: dict[int, float], corpus: Corpus, most: int) -> None:
    """Take in passages that no word finds, in the order in which the corpus was read, up to `most` in all."""
    for document in corpus.documents:
        if len(scores) >= most:
            return
        if document.kind == "session":
            for index in range(document.first, document.end):
                scores.setdefault(index, 0.0)


def _weighed(weights: Sequence[float], numbers: Sequence[float]) -> float:
    return sum(weight * number for weight, number in zip(weights, numbers, strict=True))
