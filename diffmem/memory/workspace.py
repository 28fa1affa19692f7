"""The files of a memory, its sessions aside, and what edits have made of them: from a snapshot's files to a change."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from diffmem.memory.editing import decoded, encoded
from diffmem.memory.entities import Entity, find_entity, is_entity_path, parse_entity
from diffmem.memory.index import INDEX_PATH, changed_days, render_index


class _Files(Protocol):
    """What is asked of a snapshot."""

    def paths(self) -> Sequence[str]: ...

    def read_all(self, paths: Iterable[str]) -> Mapping[str, bytes]: ...


class Workspace:
    """Text by path. A path that does not exist reads as empty; writing makes it."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._old = dict(files)
        self._new: dict[str, bytes | None] = {}
        self._entities = {path: parse_entity(path, data) for path, data in files.items() if is_entity_path(path)}

    @classmethod
    def of(cls, snapshot: _Files) -> "Workspace":
        """The files of `snapshot`, of which no session is read."""
        return cls(snapshot.read_all(path for path in snapshot.paths() if not path.startswith("sessions/")))

    @property
    def paths(self) -> list[str]:
        """The paths that exist now, sorted."""
        there = {**self._old, **self._new}
        return sorted(path for path, data in there.items() if data is not None)

    @property
    def entities(self) -> Sequence[Entity]:
        """The entities as they are now, by path."""
        return [self._entities[path] for path in sorted(self._entities)]

    def find(self, name: str, kind: str | None = None) -> Entity | None:
        """The entity that `name` belongs to; see `find_entity`."""
        return find_entity(self._entities.values(), name, kind)

    def text(self, path: str) -> str:
        """The text at `path`."""
        return decoded(self._new.get(path, self._old.get(path)) or b"")

    def put(self, path: str, text: str) -> None:
        """Make `text` the file at `path`."""
        data = encoded(text)
        if data == self._old.get(path):
            self._new.pop(path, None)
        else:
            self._new[path] = data
        if is_entity_path(path):
            self._entities[path] = parse_entity(path, data)

    def remove(self, path: str) -> None:
        """Leave no file at `path`."""
        self._new[path] = None
        if path not in self._old:
            del self._new[path]
        self._entities.pop(path, None)

    @property
    def state(self) -> Mapping[str, bytes | None]:
        """What was changed until now; equal exactly where the files are."""
        return dict(self._new)

    def restore(self, state: Mapping[str, bytes | None]) -> None:
        """Go back to an earlier `state`."""
        for path in self.since(state):
            data = state.get(path, self._old.get(path))
            if data is None:
                self.remove(path)
            else:
                self.put(path, decoded(data))

    def since(self, state: Mapping[str, bytes | None]) -> dict[str, tuple[str, str]]:
        """The texts, then and now, of the files that differ from an earlier `state`; empty where there is no file."""
        paths = [path for path in {*self._new, *state} if self._new.get(path, ...) != state.get(path, ...)]
        return {path: (decoded(state.get(path, self._old.get(path)) or b""), self.text(path)) for path in sorted(paths)}

    def changes(self, day: str) -> dict[str, bytes | None]:
        """What was changed, None for a file that is gone, with the manifest that belongs to it; else nothing.

        `day` is that of the change, as `YYYY-MM-DD`: the manifest says when each entity changed last.
        """
        if not self._new:
            return {}
        index = self.index(day)
        same = index == self._old.get(INDEX_PATH)
        return dict(self._new) if same else {**self._new, INDEX_PATH: index}

    def index(self, day: str) -> bytes:
        """The manifest of the files as they are now."""
        days = changed_days(self._old.get(INDEX_PATH, b""))
        changed = {path: max(day, days.get(path, "")) for path in self._new}
        return render_index(self._entities.values(), {**days, **changed})
