"""What changed together: entity files that the commit history ties to what the words found.

A file that changed in most of the commits in which a found file changed belongs to the same story, whatever its words
are. A commit counts the less the more files it changed, and the older it is; files that change with everything
(`index.md`, the profile, the timeline) tell nothing and are left out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from diffmem.git import Commit
from diffmem.memory import is_entity_path, stem_of

MAX_COMMITS = 500

_HALF_LIFE_DAYS = 180.0
_LEAST_AGED = 0.25
_MANY_FILES = 30
_PRIOR = 0.5
_MOST_LIFT = 2.0
_LEAST_STRENGTH = 0.12
_MOST_COMPANIONS = 5


@dataclass(frozen=True, slots=True)
class Companion:
    """An entity file, how strongly it is tied to what was found, and why, for a person to read."""

    path: str
    strength: float
    reason: str


@dataclass(frozen=True, slots=True)
class _Change:
    entities: frozenset[str]
    paths: frozenset[str]
    weight: float


def companions(commits: Sequence[Commit], seeds: Mapping[str, float], now: datetime) -> list[Companion]:
    """The entity files that changed together with `seeds` (paths with a strength of 0 to 1), strongest first.

    `commits` are newest first. A seed is a companion only where it is tied more strongly than it was found.
    """
    changes = [_change(commit, now) for commit in commits[:MAX_COMMITS]]
    changes = [change for change in changes if change.entities]
    often = Counter(path for change in changes for path in change.entities)
    least = {path: max(strength, _LEAST_STRENGTH) for path, strength in seeds.items()}
    best: dict[str, Companion] = {}
    for seed, strength in seeds.items():
        for companion in _tied(changes, often, seed, strength):
            if companion.strength > least.get(companion.path, _LEAST_STRENGTH):
                best[companion.path] = companion
                least[companion.path] = companion.strength
    ranked = sorted(best.values(), key=lambda companion: (-companion.strength, companion.path))
    return ranked[:_MOST_COMPANIONS]


def _change(commit: Commit, now: datetime) -> _Change:
    entities = frozenset(path for path in commit.paths if is_entity_path(path))
    size = len(entities) + sum(stem_of(path) is not None for path in commit.paths)
    age_days = max(0.0, (now - commit.occurred_at).total_seconds() / 86_400)
    aged = max(_LEAST_AGED, 0.5 ** (age_days / _HALF_LIFE_DAYS))
    crowded = 0.0 if size > _MANY_FILES else 1 / max(1, size - 1)
    return _Change(entities, frozenset(commit.paths), aged * crowded)


def _tied(changes: Sequence[_Change], often: Mapping[str, int], seed: str, strength: float) -> list[Companion]:
    with_seed = [change for change in changes if seed in change.paths]
    total = sum(change.weight for change in with_seed) + _PRIOR
    together: dict[str, list[_Change]] = {}
    for change in with_seed:
        for path in change.entities - {seed}:
            together.setdefault(path, []).append(change)
    found = []
    for path, shared in together.items():
        confidence = sum(change.weight for change in shared) / total
        lift = min(_MOST_LIFT, len(shared) / len(with_seed) * len(changes) / often[path])
        found.append(Companion(path, strength * confidence * lift**0.5, _reason(seed, len(shared), len(with_seed))))
    return found


def _reason(seed: str, together: int, of: int) -> str:
    if stem_of(seed) is not None:
        return f"changed by the session {seed}, which matches"
    return f"changed together with {seed} in {together} of {of} commits"
