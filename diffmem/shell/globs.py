"""Pathname expansion, within the tree only: no directory outside it is ever listed, nor a path outside it probed.

Standard library only: this module runs in the worker.
"""

import os
import posixpath
from collections.abc import Sequence

from diffmem.shell.patterns import Pattern, Piece, is_pattern
from diffmem.shell.policy.verdict import BadValue, Place
from diffmem.shell.rules import Rules
from diffmem.shell.stops import MAX_VISITED, MAX_WORDS, ExpansionError


class Globs:
    """Expands patterns against the files of one tree; `visited` counts the directory entries looked at."""

    def __init__(self, tree: str, rules: Rules) -> None:
        self._tree = tree
        self._rules = rules
        self.visited = 0

    def expand(self, field: Sequence[Piece], cwd: str) -> list[str]:
        """The paths that match, sorted by their bytes; none where nothing does. A leading `-` becomes `./-`."""
        place = Place(cwd, self._tree)
        components = _components(field)
        found = [""]
        for position, component in enumerate(components):
            last = position == len(components) - 1
            found = [path for prefix in found for path in self._step(prefix, component, last, place)]
            if len(found) > MAX_WORDS:
                raise ExpansionError(f"a pattern matches more than {MAX_WORDS} paths")
        return sorted((f"./{path}" if path.startswith("-") else path for path in found), key=os.fsencode)

    def _step(self, prefix: str, component: Sequence[Piece], last: bool, place: Place) -> list[str]:
        end = "" if last else "/"
        if is_pattern(component):
            return [f"{prefix}{name}{end}" for name in self._names(prefix, component, last, place)]
        path = prefix + "".join(text for text, _ in component)
        if path and last and not self._exists(path, place):
            return []
        return [path + end]

    def _names(self, prefix: str, component: Sequence[Piece], last: bool, place: Place) -> list[str]:
        if not self._inside(prefix, place):
            return []
        pattern = Pattern.of(component)
        first = next((text for text, _ in component if text), "")
        try:
            with os.scandir(posixpath.join(place.cwd, prefix)) as entries:
                names = [entry.name for entry in entries if last or entry.is_dir()]
        except OSError:
            return []
        self.visited += len(names)
        if self.visited > MAX_VISITED:
            raise ExpansionError(f"patterns looked at more than {MAX_VISITED} files; use: find . -name PATTERN")
        return [name for name in names if (first.startswith(".") or not name.startswith(".")) and pattern.matches(name)]

    def _inside(self, path: str, place: Place) -> bool:
        try:
            self._rules.path(path or ".", place)
        except BadValue:
            return False
        return True

    def _exists(self, path: str, place: Place) -> bool:
        parent = path.rstrip("/").rpartition("/")[0] or ("/" if path.startswith("/") else "")
        return self._inside(parent, place) and posixpath.lexists(posixpath.join(place.cwd, path))


def _components(field: Sequence[Piece]) -> list[list[Piece]]:
    """The pieces between the slashes."""
    components: list[list[Piece]] = [[]]
    for text, quoted in field:
        first, *others = text.split("/")
        components[-1].append((first, quoted))
        components += [[(other, quoted)] for other in others]
    return components
