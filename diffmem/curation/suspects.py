"""What a consolidation should look at: entities that may be one, and files that have grown too long."""

import itertools
from collections.abc import Iterator, Sequence

from diffmem.memory.entities import Entity
from diffmem.memory.names import name_key
from diffmem.memory.workspace import Workspace

OVERGROWN_CHARS = 24_000

_MAX_SUSPICIONS = 40
_MIN_WORD_CHARS = 3


def suspicions(workspace: Workspace) -> list[tuple[str, tuple[str, ...]]]:
    """`(why, paths)` of what may need to be put in order, by code's lights: names that overlap, files that are long."""
    overgrown = [entity.path for entity in workspace.entities if len(workspace.text(entity.path)) > OVERGROWN_CHARS]
    long = [("it has grown long: split it?", (path,)) for path in overgrown]
    return [*itertools.islice(_look_alikes(workspace.entities), _MAX_SUSPICIONS), *long[:_MAX_SUSPICIONS]]


def _look_alikes(entities: Sequence[Entity]) -> Iterator[tuple[str, tuple[str, ...]]]:
    words = {entity.path: _words(entity) for entity in entities}
    for one, other in itertools.combinations(entities, 2):
        shared = {name_key(name) for name in one.names} & {name_key(name) for name in other.names}
        if shared:
            yield f"both go by {sorted(shared)[0]!r}", (one.path, other.path)
        elif one.kind == other.kind and any(
            a <= b or b <= a for a in words[one.path] for b in words[other.path] if a and b
        ):
            yield "the name of one is part of the other's", (one.path, other.path)


def _words(entity: Entity) -> list[frozenset[str]]:
    return [frozenset(word for word in name_key(name).split() if len(word) >= _MIN_WORD_CHARS) for name in entity.names]
