"""Who speaks in a memory's sessions, and which of them a question names."""

from collections import Counter

from diffmem.planner.query import Query
from diffmem.planner.reading import Corpus
from diffmem.planner.stemming import stem
from diffmem.planner.words import is_stop_word, words

_ROLES = frozenset({"user", "assistant", "system", "tool", "message"})
_LEAST_NICKNAME_CHARS = 3
_OFTEN = 0.1


def named_speakers(query: Query, corpus: Corpus) -> tuple[frozenset[str], frozenset[str]]:
    """The labels of the speakers that `query` names, and the stems of those names that tell nothing more.

    A name that begins as the speaker's does counts: `Mel` is Melanie. Where all speakers are named, none is told apart.
    The name of somebody who speaks all the time says nothing as a word.
    """
    labels = Counter(passage.label for passage in corpus.passages if passage.label)
    speakers = [label for label in labels if label.lower() not in _ROLES]
    asked = [
        word for word in query.words if len(word) >= _LEAST_NICKNAME_CHARS and not is_stop_word(word, query.english)
    ]
    named: set[str] = set()
    plain: set[str] = set()
    for label in speakers:
        first = (words(label) or [""])[0]
        used = [word for word in asked if first.startswith(word)]
        if used:
            named.add(label)
            often = labels[label] >= _OFTEN * len(corpus.passages)
            plain.update(stem(word) for word in used if often)
    return (frozenset(named) if len(named) < len(speakers) else frozenset()), frozenset(plain)
