"""GET export and PUT import: a memory as a git bundle, to take along and to bring back."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, Literal

from diffmem.api.application import Application
from diffmem.api.call import Answer, Call
from diffmem.api.requests import ExportQuery, ImportQuery
from diffmem.curation.adopt import Adoption, Mapped
from diffmem.errors import UnsupportedMediaType
from diffmem.repository import FileChange
from diffmem.storage import Retention

BUNDLE = "application/x-git-bundle"

_EXPORT_SECONDS = 300.0
_IMPORT_SECONDS = 600.0
_SAYS_NOTHING = (
    "",
    BUNDLE,
    "application/octet-stream",
    "application/x-www-form-urlencoded",
)  # the last: curl's default


@dataclass(frozen=True, slots=True)
class RemovedObjects:
    """What was deleted from the bucket, of a memory that was replaced."""

    objects: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ImportAnswer:
    """What an import did. `commit` is the one made on top of the history that came: `mapped` says which files moved.

    `duplicate`: the memory has that history already, and nothing was written. `retained` says what the bucket itself
    still holds of a memory that was replaced.
    """

    status: Literal["imported", "replaced", "duplicate"]
    user: str
    branch: str
    head: str
    commits: int
    commit: str | None
    mapped: Sequence[Mapped]
    files: Sequence[FileChange]
    removed: RemovedObjects
    retained: Sequence[Retention]
    warnings: Sequence[str]


def get_export(app: Application, call: Call, user: str, query: ExportQuery) -> Answer:
    """The whole history as a git bundle: `git clone` takes it, and so does PUT import."""
    head, bundle = app.repositories.export(user, call.deadline.within(_EXPORT_SECONDS), as_of=query.as_of)
    headers = {"Content-Disposition": f'attachment; filename="{bundle_name(user)}"', "X-Commit": head}
    return Answer(200, bundle, BUNDLE, headers=headers, timings_ms=call.watch.milliseconds())


def bundle_name(user: str) -> str:
    """A name for the file of a user's bundle that any file system and any header takes."""
    return re.sub(r"[^A-Za-z0-9.-]", "_", user).strip(".") + ".bundle"


def put_import(app: Application, call: Call, user: str, query: ImportQuery, body: BinaryIO) -> Answer:
    """Make the bundle's history the user's memory, as it was written; a branch `user/NAME` of an earlier DiffMem too.

    409 where the user has a memory with something in it, unless `replace`. Nothing changes unless everything holds.
    """
    media_type = call.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in _SAYS_NOTHING:
        raise UnsupportedMediaType(f"Content-Type must be {BUNDLE}, not {media_type[:80]!r}")
    adoption = Adoption(user, query.branch, call.now)
    done = app.repositories.import_bundle(
        user, body, adoption.choose, adoption, call.deadline.within(_IMPORT_SECONDS), replace=query.replace
    )
    answer = ImportAnswer(
        status=done.status,
        user=user,
        branch=adoption.branch,
        head=done.head,
        commits=done.commits,
        commit=done.commit,
        mapped=adoption.mapped if done.commit else (),
        files=done.files,
        removed=RemovedObjects(done.removed.objects, done.removed.bytes),
        retained=done.retained,
        warnings=adoption.warnings,
    )
    log = {"import": done.status, "commits": done.commits, "mapped": len(answer.mapped)}
    return Answer(201 if done.created else 200, answer, timings_ms=call.watch.milliseconds(), log=log)
