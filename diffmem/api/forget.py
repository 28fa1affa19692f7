"""POST forget: gone from the head and from history, with a receipt."""

from dataclasses import replace

from diffmem.api.application import Application
from diffmem.api.call import Answer, Call
from diffmem.api.receipt import Receipt
from diffmem.api.requests import ForgetBody
from diffmem.curation.correct import manifest_change
from diffmem.curation.forget import Oblivion, mentions, oblivion
from diffmem.limits import Deadline
from diffmem.repository import Change, Rewritten, Snapshot

_FORGET_SECONDS = 600.0


class _Pass:
    """One pass over the history, which notes the files that go somewhere in it."""

    def __init__(self, forgotten: Oblivion) -> None:
        self._forgotten = forgotten
        self.gone: set[str] = set()

    def content(self, path: str, data: bytes) -> bytes | None:
        """See `Oblivion.content`."""
        kept = self._forgotten.content(path, data)
        if kept is None:
            self.gone.add(path)
        return kept


def post_forget(app: Application, call: Call, user: str, body: ForgetBody) -> Answer:
    """Remove texts, files or sessions from head and history; with `dry_run` only say what would go.

    Two passes: the first finds which files go somewhere in history, so that the second cleans the manifest of them.
    """
    watch = call.watch
    deadline = call.deadline.within(_FORGET_SECONDS)
    wanted = {"texts": body.text, "paths": body.all_paths, "session_ids": body.all_sessions}
    first = _Pass(oblivion(**wanted))
    planned = app.repositories.rewrite(user, first.content, deadline, reword=oblivion(**wanted).message, dry_run=True)
    forgotten = oblivion(**wanted, gone=first.gone)
    with app.repositories.open(user, deadline) as snapshot:
        named = mentions(snapshot.read_all(snapshot.paths()), forgotten)
    done = planned
    if not body.dry_run and planned.commits:
        done = app.repositories.rewrite(user, forgotten.content, deadline, reword=forgotten.message)
        _bring_manifest_up_to_date(app, call, user, deadline)
    receipt = _receipt(user, done, body.dry_run)
    receipt = replace(receipt, mentions=named).signed()
    log = {"commits_rewritten": receipt.commits_rewritten, "files": len(receipt.files), "dry_run": body.dry_run}
    return Answer(200, receipt, timings_ms=watch.milliseconds(), log=log)


def _bring_manifest_up_to_date(app: Application, call: Call, user: str, deadline: Deadline) -> None:
    """A commit that counts the facts of the entities again, where their number has changed."""

    def edit(snapshot: Snapshot) -> Change | None:
        return manifest_change(snapshot, call.now)

    app.repositories.commit(user, edit, deadline).snapshot.close()


def _receipt(user: str, done: Rewritten, dry_run: bool) -> Receipt:
    removed = done.removed
    rewritten = sum(old != new for old, new in done.commits.items())
    return Receipt(
        user=user,
        erased_at=done.rewritten_at,
        objects=removed.objects,
        bytes=removed.bytes,
        commits_rewritten=rewritten,
        files=done.files,
        generations=removed.generations,
        retained=done.retained,
        dry_run=dry_run,
    )
