"""A history from elsewhere becomes a memory: which branch of a bundle, and what one commit on top makes of its layout.

An earlier DiffMem kept all users in one repository, each on an orphan branch `user/NAME`, with the profile in
`NAME.md` and, in its later form, entities in `entities/<kind>/`. Recognised by the branch's name, these become
`profile.md` and `memories/<kind>/`. Whatever the branch, `index.md` is made again by code.

*Covered*: nothing that was there is lost; a file that is in the way stays, and is told. *Not covered*: links within
the files keep the paths they had.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from diffmem.errors import InvalidRequest, NotABundle
from diffmem.memory import INDEX_PATH, PROFILE_PATH, Entity, is_entity_path, parse_entity, render_index
from diffmem.memory.index import changed_days
from diffmem.repository import Change, Header, Snapshot

_USERS = "user/"
_OLD_ENTITIES = "entities/"
_ENTITIES = "memories/"
_SHOWN_BRANCHES = 10


@dataclass(frozen=True, slots=True)
class Mapped:
    """A file of the layout that was recognised, and the path that it has now."""

    source: str
    target: str


def choose_branch(header: Header, wanted: str | None, user: str) -> str:
    """The name of the ref to take: `wanted`, else `user/USER`, HEAD's branch, `main`, `master`, or the only branch.

    Raises:
        InvalidRequest: there is no branch `wanted`.
        NotABundle: nothing says which of several branches is meant.
    """
    refs = header.refs
    if wanted:
        found = next((name for name in (f"refs/heads/{wanted}", wanted) if name in refs), None)
        if found is None:
            raise InvalidRequest(f"branch: the bundle has no branch {wanted!r}; it has {_listed(header)}")
        return found
    same_as_head = [name for name in ("main", "master", *header.branches) if _is_head(refs, name)]
    for branch in (f"{_USERS}{user}", *same_as_head[:1], "main", "master"):
        if f"refs/heads/{branch}" in refs:
            return f"refs/heads/{branch}"
    if "HEAD" in refs:
        return "HEAD"
    if len(header.branches) == 1:
        return f"refs/heads/{header.branches[0]}"
    raise NotABundle(f"which branch is meant? Say 'branch=', one of {_listed(header)}")


def _is_head(refs: Mapping[str, str], branch: str) -> bool:
    return "HEAD" in refs and refs.get(f"refs/heads/{branch}") == refs["HEAD"]


def _listed(header: Header) -> str:
    shown = [repr(name[:80]) for name in header.branches[:_SHOWN_BRANCHES]]
    return ", ".join(shown) + (", ..." if len(header.branches) > _SHOWN_BRANCHES else "") or "none"


class Adoption:
    """An import in two steps: `choose` takes a branch, and a call makes the edit that the branch needs.

    Afterwards `branch`, `mapped` and `warnings` say what was done.
    """

    def __init__(self, user: str, wanted: str | None, now: datetime) -> None:
        self._user = user
        self._wanted = wanted
        self._now = now
        self.branch = ""
        self.mapped: tuple[Mapped, ...] = ()
        self.warnings: tuple[str, ...] = ()

    def choose(self, header: Header) -> str:
        """The name of the ref to take; raises as `choose_branch` does."""
        chosen = choose_branch(header, self._wanted, self._user)
        self.branch = chosen.removeprefix("refs/heads/")
        others = [name for name in header.branches if name.startswith(_USERS)]
        if not self._wanted and others and not self.branch.startswith(_USERS):
            self.warnings += (f"{self.branch!r} was taken; 'branch=' can name another: {_listed(header)}",)
        return chosen

    def __call__(self, snapshot: Snapshot) -> Change | None:
        """The layout of today and a manifest, where what was imported has another."""
        targets = self._targets(set(snapshot.paths()))
        files: dict[str, bytes | None] = dict.fromkeys(targets)
        for source, data in snapshot.read_all(targets).items():
            files[targets[source]] = data
        self.mapped = tuple(Mapped(source, target) for source, target in sorted(targets.items()))
        files |= self._manifest(snapshot, targets)
        return self._change(files) if files else None

    def _manifest(self, snapshot: Snapshot, targets: Mapping[str, str]) -> dict[str, bytes]:
        """`index.md`, where it has to be another."""
        before = snapshot.read(INDEX_PATH) if INDEX_PATH in snapshot.paths() else None
        index = render_index(*_entities(snapshot, targets, changed_days(before or b"")))
        if before == index or (before is None and index == render_index(())):
            return {}
        if before and not changed_days(before):
            self.warnings += (f"{INDEX_PATH!r} is made by code from now on; history keeps what it was",)
        return {INDEX_PATH: index}

    def _targets(self, paths: set[str]) -> dict[str, str]:
        """The new path of each file that has to move."""
        if not self.branch.startswith(_USERS):
            return {}
        found = {path: _ENTITIES + path.removeprefix(_OLD_ENTITIES) for path in paths if path.startswith(_OLD_ENTITIES)}
        profile = f"{self.branch.removeprefix(_USERS)}.md"
        if profile in paths:
            found[profile] = PROFILE_PATH
        in_the_way = sorted(source for source, target in found.items() if not paths.isdisjoint(_prefixes(target)))
        self.warnings += tuple(f"{source!r} stays: a file is in the way of {found[source]!r}" for source in in_the_way)
        return {source: target for source, target in found.items() if source not in in_the_way}

    def _change(self, files: Mapping[str, bytes | None]) -> Change:
        body = "\n".join(f"{item.source} -> {item.target}" for item in self.mapped)
        subject = "Adopt an imported history" if self.mapped else "Make the manifest of an imported history"
        return Change(files, subject, body=body, trailers={"Writer": "code"}, occurred_at=self._now)


def _prefixes(path: str) -> list[str]:
    """`path` and the folders that it lies in."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _entities(
    snapshot: Snapshot, targets: Mapping[str, str], days: Mapping[str, str]
) -> tuple[list[Entity], dict[str, str]]:
    """The entities, where they will be, and the day each changed last: by `days`, else by the log."""
    contents = snapshot.read_all(path for path in snapshot.paths() if is_entity_path(targets.get(path, path)))
    entities = [parse_entity(targets.get(path, path), data) for path, data in contents.items()]
    known = dict(days)
    if any(entity.path not in known for entity in entities):
        for commit in snapshot.log():
            for path in commit.paths:
                known.setdefault(targets.get(path, path), f"{commit.occurred_at:%Y-%m-%d}")
    return entities, known
