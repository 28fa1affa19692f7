"""GET and PUT of files: the memory as a person reads and corrects it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from diffmem import tokens
from diffmem.api.application import Application
from diffmem.api.call import Answer, Call
from diffmem.api.history import revision
from diffmem.api.requests import FileQuery, FilesQuery, RevertBody
from diffmem.curation.correct import correction, etag
from diffmem.curation.undo import reversal
from diffmem.errors import UnsupportedMediaType
from diffmem.memory import is_entity_path, parse_entity
from diffmem.repository import Edit, FileChange

MARKDOWN = "text/markdown; charset=utf-8"
_WRITE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class FileRow:
    """One row of the manifest; `etag` is what `If-Match` takes, `commits` how many touched the file."""

    path: str
    name: str
    kind: str
    aliases: Sequence[str]
    cues: Sequence[str]
    facts: int
    bytes: int
    tokens: int
    etag: str
    changed_at: datetime | None
    commits: int


@dataclass(frozen=True, slots=True)
class Files:
    """Every file of a memory; entities with what their front matter says."""

    user: str
    head: str
    files: Sequence[FileRow]


@dataclass(frozen=True, slots=True)
class Written:
    """A commit that a person asked for; `commit` is None where nothing had to change."""

    user: str
    commit: str | None
    files: Sequence[FileChange]
    etag: str | None = None


def get_files(app: Application, call: Call, user: str, query: FilesQuery) -> Answer:
    """The manifest as rows, by path."""
    watch = call.watch
    with app.repositories.open(user, call.deadline, as_of=query.as_of) as snapshot:
        contents = snapshot.read_all(snapshot.paths())
        touched: dict[str, list[datetime]] = defaultdict(list)
        for commit in snapshot.log():
            for path in commit.paths:
                touched[path].append(commit.recorded_at)
        rows = [_row(path, data, touched[path]) for path, data in contents.items()]
        answer = Files(user, snapshot.head, rows)
    return Answer(200, answer, timings_ms=watch.milliseconds())


def get_file(app: Application, call: Call, user: str, path: str, query: FileQuery) -> Answer:
    """One file as it is, or as it was at a revision or a time."""
    with app.repositories.open(user, call.deadline) as snapshot:
        sha = revision(snapshot, query.at) if query.at else snapshot.head
        data = bytes(snapshot.read_at(sha, path))
    return Answer(200, data, MARKDOWN, headers={"ETag": etag(data), "X-Commit": sha})


def put_file(app: Application, call: Call, user: str, path: str, body: bytes) -> Answer:
    """Make the body the file at `path`: a commit of the person's own. `If-Match` or `If-None-Match: *` is needed."""
    media_type = call.headers.get("content-type", "text/markdown").partition(";")[0].strip().lower()
    if media_type not in ("text/markdown", "text/plain"):
        raise UnsupportedMediaType(f"Content-Type must be text/markdown, not {media_type[:80]!r}")
    headers = call.headers
    edit = correction(
        path, body, if_match=headers.get("if-match"), if_none_match=headers.get("if-none-match"), now=call.now
    )
    done = _commit(app, call, user, edit)
    added = any(change.path == path and change.change == "added" for change in done.files)
    tag = etag(body)
    return Answer(201 if added else 200, replace(done, etag=tag), headers={"ETag": tag})


def post_revert(app: Application, call: Call, user: str, body: RevertBody) -> Answer:
    """Undo one commit by a new one."""
    return Answer(200, _commit(app, call, user, reversal(body.commit, call.now)))


def _commit(app: Application, call: Call, user: str, edit: Edit) -> Written:
    committed = app.repositories.commit(user, edit, call.deadline.within(_WRITE_SECONDS))
    committed.snapshot.close()
    return Written(user, committed.commit, committed.files)


def _row(path: str, data: bytes, touched: Sequence[datetime]) -> FileRow:
    entity = parse_entity(path, data) if is_entity_path(path) else None
    return FileRow(
        path=path,
        name=entity.name if entity else path.rpartition("/")[2].removesuffix(".md"),
        kind=entity.kind if entity else path.partition("/")[0].removesuffix(".md"),
        aliases=entity.aliases if entity else (),
        cues=entity.cues if entity else (),
        facts=entity.facts if entity else 0,
        bytes=len(data),
        tokens=tokens.count(data.decode("utf-8", "replace")),
        etag=etag(data),
        changed_at=max(touched, default=None),
        commits=len(touched),
    )
