"""Which entity files a conversation is about: by name, by cue, or by what their facts say."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from diffmem.planner.features import Evidence
from diffmem.planner.query import Query
from diffmem.planner.reading import Corpus, Document
from diffmem.planner.stemming import stem
from diffmem.planner.words import is_stop_word, words

_NAMED = 1.0
_CUED = 0.6
_LEAST_SHARE = 0.3
_MOST_BY_FACTS = 0.8
_MOST_FOUND = 12
_FILE_NAME = re.compile(r"([^/]+)\.md\Z")


@dataclass(frozen=True, slots=True)
class Found:
    """An entity file that the conversation is about, how surely (0 to 1), and why, for a person to read."""

    document: Document
    strength: float
    reason: str


def find(query: Query, corpus: Corpus, evidence: Evidence) -> list[Found]:
    """The entity files of `corpus` that `query` names or whose facts match it, surest first."""
    weights = {term.stem: term.weight for term in query.terms}
    found = []
    for document in corpus.documents:
        if document.kind == "entity":
            best = max(_ways(query, weights, document, evidence), key=lambda way: way.strength)
            if best.strength >= _LEAST_SHARE:
                found.append(best)
    return sorted(found, key=lambda item: (-item.strength, item.document.path))[:_MOST_FOUND]


def _ways(query: Query, weights: dict[str, float], document: Document, evidence: Evidence) -> list[Found]:
    entity = document.entity
    names = [*(entity.names if entity else ()), _file_name(document.path)]
    cues = entity.cues if entity else ()
    ways = [Found(document, _said(name, weights, query) * _NAMED, f"{name!r} is named") for name in names]
    ways += [Found(document, _said(cue, weights, query) * _CUED, f"{cue!r} is a cue of it") for cue in cues]
    return [*ways, _by_facts(document, evidence)]


def _file_name(path: str) -> str:
    match = _FILE_NAME.search(path)
    return match[1].replace("-", " ") if match else path


def _said(name: str, weights: dict[str, float], query: Query) -> float:
    """How much the message counts in which every word of `name` stands; 0.0 where none has them all."""
    parts = [stem(word) for word in words(name) if not is_stop_word(word, query.english)]
    return min((weights.get(part, 0.0) for part in parts), default=0.0)


def _by_facts(document: Document, evidence: Evidence) -> Found:
    best = max(range(document.first, document.end), key=evidence.match, default=None)
    if best is None:
        return Found(document, 0.0, "")
    said = evidence.said(best)
    reason = f"its facts say {', '.join(map(repr, said))}" if said else "its facts are of the same topic"
    return Found(document, min(_MOST_BY_FACTS, evidence.match(best)), reason)


def by_match(document: Document, evidence: Evidence) -> Sequence[int]:
    """The passages of `document`, those that match best first, then in their order."""
    return sorted(range(document.first, document.end), key=lambda index: (-round(evidence.match(index), 2), index))
