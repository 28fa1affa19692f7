"""The passages of sessions and notes in order of worth: what speaks for each, weighed, against the tokens it takes.

The weights are those of a conditional logit (McFadden 1974) over 1,252 questions on conversations, but the last two:
what is recent is likelier to matter, and what lies after the time of asking is not.
"""

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul

from diffmem.planner.echoes import company, echoes
from diffmem.planner.features import MANNER, WORDS, Evidence
from diffmem.planner.query import Query
from diffmem.planner.reading import Corpus

WEIGHTS = {
    "own": 0.185, "back": 0.181, "back2": 0.162, "around": 2.37, "share": 1.94, "peak": 0.305, "akin": 0.234,
    "date": 2.77, "speaker": 1.07, "when": 2.63, "answers": 0.75, "tells": 0.11, "addresses": -0.24,
    "short": 0.26, "opening": 1.2, "assistant": -0.87, "company": 1.84, "echo": 0.41, "recent": 0.3, "future": -1.0,
}  # fmt: skip
_WORD_WEIGHTS = tuple(WEIGHTS[name] for name in WORDS)
_MANNER_WEIGHTS = tuple(WEIGHTS[name] for name in MANNER)

_COST_POWER = 0.8
_OVERHEAD_TOKENS = 9
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


def rank(query: Query, evidence: Evidence, corpus: Corpus, max_tokens: int) -> list[Ranked]:
    """The passages worth showing, best first: of those that anything speaks for, and of others where these are few.

    Where nothing speaks for any, the newest sessions' in their order.
    """
    most = _LEAST_CONSIDERED + max_tokens // 8
    scores = {index: _weighed(_WORD_WEIGHTS, evidence.words(index)) for index in evidence.candidates()}
    matched = bool(scores)
    _fill_up(scores, corpus, most)
    if not matched:
        return [_ranked(index, 0.0, corpus) for index in scores]
    kept = heapq.nlargest(most, scores, key=scores.__getitem__)
    full = {index: scores[index] + _weighed(_MANNER_WEIGHTS, evidence.manner(index)) for index in kept}
    found = [_ranked(index, score, corpus) for index, score in _looked_at_again(full, query, corpus).items()]
    return sorted(found, key=lambda item: (-item.worth, item.index))


def _ranked(index: int, score: float, corpus: Corpus) -> Ranked:
    return Ranked(index, score, estimate(corpus.passages[index].text) + _OVERHEAD_TOKENS)


def _looked_at_again(scores: Mapping[int, float], query: Query, corpus: Corpus) -> dict[int, float]:
    """The scores, higher where other passages of the document are likely too, and where words of the likeliest echo."""
    best = max(scores.values(), default=0.0)
    likely = {index: math.exp(score - best) for index, score in scores.items()}
    beside = company(likely, corpus.passages)
    echoed = echoes(likely, query, corpus.passages)
    return {
        index: score
        + WEIGHTS["company"] * math.log1p(beside[index])
        + WEIGHTS["echo"] * math.log1p(echoed.get(index, 0.0))
        for index, score in scores.items()
    }


def estimate(text: str) -> int:
    """About the tokens of `text`: four letters of English, or two to five bytes of other scripts, are one."""
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
    return sum(map(mul, weights, numbers), 0.0)
