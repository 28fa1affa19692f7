"""The path that a pointer means, among those that there are."""

import difflib
import unicodedata
from collections.abc import Iterable

_SHOWN_FILES = 8


class Paths:
    """The paths of a snapshot, found also where only case, or the form of an accent, differs."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._known = frozenset(paths)
        self._folded: dict[str, list[str]] = {}
        for path in self._known:
            self._folded.setdefault(_folded(path), []).append(path)

    def __contains__(self, path: str) -> bool:
        return path in self._known

    def find(self, path: str) -> str | None:
        """The path that is there; None where there is none, or where several differ from `path` by case only."""
        if path in self._known:
            return path
        alike = self._folded.get(_folded(path), [])
        return alike[0] if len(alike) == 1 else None

    def why_not(self, path: str) -> str:
        """Why `find` has none, for whoever wrote the path."""
        inside = sorted(known for known in self._known if known.startswith(f"{path}/"))
        if inside:
            more = f" and {len(inside) - _SHOWN_FILES} more" if len(inside) > _SHOWN_FILES else ""
            return f"{path!r} is a folder, with {', '.join(inside[:_SHOWN_FILES])}{more}"
        near = self._near(path)
        return f"no file {path!r}" + (f"; there is {' and '.join(near)}" if near else "")

    def _near(self, path: str) -> list[str]:
        name = path.rpartition("/")[2]
        same_name = sorted(known for known in self._known if known.rpartition("/")[2] == name)
        return (same_name or difflib.get_close_matches(path, sorted(self._known)[:1000], cutoff=0.8))[:3]


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
