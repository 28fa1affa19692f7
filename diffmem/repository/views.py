"""Checkouts: one revision on disk, made when it is asked for, never changed once it is in place.

    views/<head>/tree/     the files, 0444; each bears the time of the commit that last changed it, so that `ls -lt` and
                           `find -newer` mean something and are the same on every machine
    views/<head>/git/      HEAD, one branch, a config and an index of ours; nothing of it came from the bucket
    views/<head>/files     what the tree holds, from which the next view is made
    views/<head>/seal      the times of the tree's directories: a file removed since shows in them
    views/<head>/lease     locked by whoever uses the view

A view that nobody uses is carried on to the next head by changing only what changed; else a new one is written. Both
happen aside, and the result is renamed into place.

*Covered*: what a history may hold of links, submodules and unsafe names never reaches the disk; a view with
anything missing is made again. *Not covered*: somebody who writes into the files of the cache.
"""

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from diffmem.errors import GitError
from diffmem.git import history, objects
from diffmem.git.environment import Checkout
from diffmem.git.index import File
from diffmem.limits import Deadline
from diffmem.repository import lease, tree
from diffmem.repository.cache import CachedRepository
from diffmem.repository.files import discard
from diffmem.repository.lease import Lease
from diffmem.repository.locks import KeyedLocks

_KEPT_VIEWS = 3
_TRIES = 3


class Views:
    """Makes checkouts; shared by all threads of a process."""

    def __init__(self) -> None:
        self._building = KeyedLocks()

    def checkout(self, place: CachedRepository, head: str, deadline: Deadline) -> tuple[Checkout, Lease]:
        """The checkout of a commit, whole, and the lease that keeps it.

        Raises:
            GitError: a part of the cache that it is made from has vanished.
        """
        view = place.views / head
        with self._building.hold(str(view), deadline):
            for _ in range(_TRIES):
                held = lease.share(view / "lease")
                if held and tree.is_whole(view):
                    return _checkout(place, view, head), held
                if held:
                    held.release()
                    discard(view, place.scratch)
                self._make(place, head, deadline)
        raise GitError("a checkout vanished as often as it was made")

    def _make(self, place: CachedRepository, head: str, deadline: Deadline) -> None:
        place.prepare()
        aside = place.scratch / secrets.token_hex(8)
        try:
            self._build(place, head, aside, deadline)
            place.note_bytes(tree.bytes_of(aside))
            with suppress(OSError):  # another process was quicker: its view is as good
                aside.rename(place.views / head)
        finally:
            discard(aside, place.scratch)

    def _build(self, place: CachedRepository, head: str, aside: Path, deadline: Deadline) -> None:
        bare = place.bare(head)
        blobs = objects.list_blobs(bare, head, deadline)
        before = _take_over(place, aside, head, deadline)
        changed = history.last_changes(bare, f"{before}..{head}" if before else head, deadline)
        old = {file.path: file for file in tree.files_of(aside)}
        kept = [old[blob.path] for blob in blobs if _is_kept(blob, old, changed)]
        fresh = [blob for blob in blobs if not _is_kept(blob, old, changed)]
        tree.remove(aside / "tree", old.keys() - {file.path for file in kept})
        for lot in _lots(fresh):
            kept += _write(bare, lot, changed, aside / "tree", deadline)
        tree.finish(aside, head, kept)


def is_whole(checkout: Checkout) -> bool:
    """Whether nothing of a checkout has been removed since it was made."""
    return tree.is_whole(checkout.tree.parent)


def _is_kept(blob: objects.Blob, old: Mapping[str, File], changed: Mapping[str, int]) -> bool:
    return blob.path in old and old[blob.path].sha == blob.sha and blob.path not in changed


def _write(
    bare: Checkout, blobs: Sequence[objects.Blob], changed: Mapping[str, int], directory: Path, deadline: Deadline
) -> Iterator[File]:
    contents = objects.read_objects(bare, [blob.sha for blob in blobs], deadline)
    for blob, found in zip(blobs, contents, strict=True):
        if found is None:
            raise GitError("an object of the repository is missing")
        file = File(blob.path, blob.sha, len(found[2]), changed.get(blob.path, 0))
        tree.write(directory, file, found[2])
        yield file


def _lots(blobs: Sequence[objects.Blob], size: int = 500) -> Iterator[Sequence[objects.Blob]]:
    """The blobs in lots that fit into memory."""
    return (blobs[start : start + size] for start in range(0, len(blobs), size))


def _take_over(place: CachedRepository, aside: Path, head: str, deadline: Deadline) -> str | None:
    """Move the latest view that nobody uses to `aside` and give its head, where its commit leads to `head`.

    Else an empty view is begun there. Of the views that nobody uses, all but the newest few are removed.
    """
    taken = None
    free = 0
    for view in sorted(place.views.iterdir(), key=_age, reverse=True):
        held = lease.claim(view / "lease")
        if held is None:
            continue
        free += 1
        if free > _KEPT_VIEWS or not tree.is_whole(view):
            discard(view, place.scratch)
        elif taken is None and history.is_ancestor(place.bare(head), view.name, head, deadline):
            view.rename(aside)
            os.utime(aside)
            taken = view.name
        held.release()
    if taken is None:
        tree.begin(aside)
    return taken


def _age(view: Path) -> float:
    try:
        return view.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _checkout(place: CachedRepository, view: Path, head: str) -> Checkout:
    return Checkout(view / "tree", view / "git", place.objects, head)
