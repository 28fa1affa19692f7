"""PUT, GET and DELETE of a user: the life of one memory."""

from dataclasses import dataclass
from datetime import datetime

from diffmem import tokens
from diffmem.api.application import Application
from diffmem.api.call import Answer, Call
from diffmem.api.receipt import Receipt
from diffmem.api.requests import UserBody
from diffmem.memory import PROFILE_PATH, SETTINGS_PATH, parse_head, render_settings
from diffmem.repository import Change, Snapshot

_ERASE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class StoredSize:
    """What one memory takes in the bucket."""

    bytes: int
    packs: int


@dataclass(frozen=True, slots=True)
class UserSummary:
    """The size of one memory at its head; `tokens` counts every file once."""

    user: str
    head: str
    commits: int
    files: int
    sessions: int
    tokens: int
    last_session_at: datetime | None
    storage: StoredSize


def put_user(app: Application, call: Call, user: str, body: UserBody) -> Answer:
    """Create a memory (201), or bring its settings up to date (200).

    A profile is written only where there is none: repeating the call never undoes what sessions have taught.
    """
    watch = call.watch
    created = app.repositories.create(user, call.deadline)
    app.repositories.commit(user, lambda snapshot: _settings_change(snapshot, body), call.deadline).snapshot.close()
    return Answer(201 if created else 200, _summary(app, call, user), timings_ms=watch.milliseconds())


def get_user(app: Application, call: Call, user: str) -> Answer:
    """How large a memory is and when it last learned something."""
    watch = call.watch
    return Answer(200, _summary(app, call, user), timings_ms=watch.milliseconds())


def delete_user(app: Application, call: Call, user: str) -> Answer:
    """Erase a memory, the manifest first, so that nobody finds it any more. The answer is a receipt."""
    gone = app.repositories.erase(user, call.deadline.within(_ERASE_SECONDS))
    receipt = Receipt(user, gone.erased_at, gone.objects, gone.bytes, 0, (), gone.generations, gone.retained).signed()
    return Answer(200, receipt, log={"objects": gone.objects, "bytes": gone.bytes})


def _settings_change(snapshot: Snapshot, body: UserBody) -> Change | None:
    files: dict[str, bytes | None] = {}
    paths = snapshot.paths()
    if body.profile is not None and PROFILE_PATH not in paths:
        files[PROFILE_PATH] = body.profile.encode()
    old = snapshot.read(SETTINGS_PATH) if SETTINGS_PATH in paths else b""
    new = render_settings(old, timezone=body.timezone, instructions=body.instructions, ontology=body.ontology)
    if new != old:
        files[SETTINGS_PATH] = new
    return Change(files, subject="Settings", trailers={"Writer": "person"}) if files else None


def _summary(app: Application, call: Call, user: str) -> UserSummary:
    with app.repositories.open(user, call.deadline) as snapshot:
        paths = snapshot.paths()
        sessions = [path for path in paths if path.startswith("sessions/")]
        contents = snapshot.read_all(paths)
        size = app.repositories.usage(user, call.deadline)
        return UserSummary(
            user=user,
            head=snapshot.head,
            commits=snapshot.commit_count,
            files=len(paths),
            sessions=len(sessions),
            tokens=sum(tokens.count(data.decode("utf-8", "replace")) for data in contents.values()),
            last_session_at=_last_session_at([contents[path] for path in sessions]),
            storage=StoredSize(*size),
        )


def _last_session_at(archives: list[bytes]) -> datetime | None:
    times = [head.occurred_at for head in map(parse_head, archives) if head.occurred_at is not None]
    return max(times, default=None)
