"""Words that belong to one topic, so that a question about pets finds the dog: a small hand-made lexicon.

`topics.txt` has one topic a line, `pet animal: dog cat puppy`. A head brings in the members, a member its heads, a head
the other heads. English alone; in other languages what changed together stands in for it.
"""

import functools
import importlib.resources
from collections.abc import Mapping
from types import MappingProxyType

from diffmem.planner.stemming import stem
from diffmem.planner.words import words

_TO_MEMBER, _TO_HEAD = 1.0, 0.6
_NONE: Mapping[str, float] = MappingProxyType({})


def related(key: str) -> Mapping[str, float]:
    """The stems that a stem brings in, each with its share of the weight; empty for most."""
    return _lexicon().get(key, _NONE)


@functools.cache
def _lexicon() -> Mapping[str, Mapping[str, float]]:
    lexicon: dict[str, dict[str, float]] = {}
    text = importlib.resources.files("diffmem.planner").joinpath("topics.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        heads, _, members = line.partition(":")
        _add_topic(lexicon, [stem(word) for word in words(heads)], [stem(word) for word in words(members)])
    return lexicon


def _add_topic(lexicon: dict[str, dict[str, float]], heads: list[str], members: list[str]) -> None:
    for head in heads:
        akin = lexicon.setdefault(head, {})
        akin.update((other, _TO_MEMBER) for other in (*heads, *members) if other != head)
        for member in members:
            if member != head:
                lexicon.setdefault(member, {}).setdefault(head, _TO_HEAD)
