"""The second half of a write: one archived session, distilled into edits by a model and committed by code.

    turn 1, 2         the model investigates with the one tool, then writes its edit plan
    one repair        of edits that do not apply, while time remains
    one commit        the edits on the newest head, and the session's state, so that both changed together

Another instance may have distilled or replaced the session meanwhile: then nothing is written. Where something was
forgotten meanwhile, the model may have seen it: the session stays pending.
"""

from dataclasses import dataclass, field, replace

from diffmem.agent import Outcome, Task, investigate
from diffmem.errors import Conflict, DeadlineExceeded, StorageError, UnknownPath
from diffmem.limits import Deadline
from diffmem.memory import Session, find_session, parse_head, parse_session, stem_of
from diffmem.memory.workspace import Workspace
from diffmem.model import ChatModel, Usage
from diffmem.repository import Change, FileChange, History, Repositories, Snapshot
from diffmem.shell import Tool
from diffmem.writer.apply import apply_edits
from diffmem.writer.edits import EditPlan, Problem
from diffmem.writer.files import settings_of, trailers, with_state
from diffmem.writer.outcome import StorageUse
from diffmem.writer.pending import RECENT_COMMITS, sessions_in, sessions_of
from diffmem.writer.quotes import Source
from diffmem.writer.task import repair_task, too_long, writing_task

_MAX_TURNS = 2
_MAX_RESERVE_SECONDS = 3.0
_RESERVED_SHARE = 0.2
_NO_TOOL = "There is no tool here. Write the edit plan with what you have been shown."


@dataclass(frozen=True, slots=True)
class Distillation:
    """What became of one session. `is_done`: it is pending no more; `commit` is None where others did it.

    Where it is pending still, `warnings` say why, and `is_refused` that it is for what this session is: others may fare
    better. `others` are the paths of sessions that earlier writes left pending, oldest first.
    """

    session_id: str
    is_done: bool = False
    commit: str | None = None
    files: tuple[FileChange, ...] = ()
    summary: str = ""
    usage: Usage = field(default_factory=Usage)
    storage: StorageUse = field(default_factory=StorageUse)
    warnings: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    is_refused: bool = False


def distil_session(
    repositories: Repositories, tool: Tool | None, model: ChatModel, user: str, path: str, deadline: Deadline
) -> Distillation:
    """Distil the archived session at `path`; whatever goes wrong leaves it pending, and is told in `warnings`."""
    try:
        with repositories.open(user, deadline) as snapshot:
            return _Distiller(repositories, tool, model, snapshot, path, deadline).distillation()
    except (StorageError, Conflict, DeadlineExceeded, UnknownPath) as error:
        is_gone = isinstance(error, UnknownPath)
        return Distillation(stem_of(path) or path, warnings=(f"not distilled yet: {error}",), is_refused=is_gone)


class _Distiller:
    """One session at one head, and what asking the model about it has brought so far."""

    def __init__(
        self,
        repositories: Repositories,
        tool: Tool | None,
        model: ChatModel,
        snapshot: Snapshot,
        path: str,
        deadline: Deadline,
    ) -> None:
        self._repositories, self._tool, self._model = repositories, tool, model
        self._snapshot, self._deadline = snapshot, deadline
        self._data = snapshot.read(path)
        self._session = parse_session(self._data)
        self._path = path
        self._commits = snapshot.log(max_count=RECENT_COMMITS)
        self._workspace = Workspace.of(snapshot)
        self._usage = Usage()

    def distillation(self) -> Distillation:
        """Ask, apply, repair, commit; nothing of it where others have done so."""
        if self._session.state == "distilled":
            return Distillation(self._session.session_id, is_done=True)
        outcome = self._ask()
        if outcome.answer is None:
            why = f"not distilled yet: {outcome.stop_reason}: {outcome.detail}"[:300]
            return replace(self._pending(why), is_refused=outcome.is_refused)
        try:
            return self._committed(outcome.answer)
        except (StorageError, Conflict, DeadlineExceeded) as error:
            return self._pending(f"not distilled yet: {error}")

    def _ask(self) -> Outcome[EditPlan]:
        """The edit plan, with what could not be made of it as its `rejected`."""
        workspace, settings = self._workspace, settings_of(self._snapshot)
        task = writing_task(self._path, self._data, workspace, self._commits, settings)
        left = self._deadline.remaining()
        outcome = self._investigate(task, _MAX_TURNS)
        plan = outcome.answer
        if plan is None:
            return outcome
        source = Source(self._path, self._data)
        problems = (*plan.rejected, *apply_edits(plan, workspace, source, settings, self._session.local_time.date()))
        made = replace(plan, edits=tuple(edit for edit in plan.edits if edit not in [p.edit for p in problems]))
        if problems and outcome.turns <= _MAX_TURNS and self._has_time(left, outcome.turns):
            mended = self._investigate(repair_task(task, problems, workspace), 1).answer
            if mended is not None:
                found = apply_edits(mended, workspace, source, settings, self._session.local_time.date())
                return replace(outcome, answer=_joined(made, problems, mended, found))
        return replace(outcome, answer=replace(made, rejected=problems))

    def _investigate(self, task: Task[EditPlan], turns: int) -> Outcome[EditPlan]:
        reserve = min(_MAX_RESERVE_SECONDS, self._deadline.remaining() * _RESERVED_SHARE)
        outcome = investigate(task, self._model, self._run, self._deadline.less(reserve), max_turns=turns)
        self._usage += outcome.usage
        return outcome

    def _run(self, command: str, deadline: Deadline) -> str:
        if self._tool is None:
            return _NO_TOOL
        return self._tool.run(command, self._snapshot.checkout, deadline).output

    def _has_time(self, left: float, turns: int) -> bool:
        """Whether a further turn is likely to end in time, after `turns` since `left` seconds were left."""
        remaining = self._deadline.remaining()
        return remaining > 1.5 * (left - remaining) / max(1, turns)

    def _committed(self, plan: EditPlan) -> Distillation:
        others = self._others()
        prepared = (self._snapshot.head, self._workspace)
        writing = _Writing(plan, self._session, self._path, self._model.name, self._snapshot.history, prepared)
        committed = self._repositories.commit(self._snapshot.user, writing.change, self._deadline)
        with committed.snapshot as after:
            use = StorageUse(after.requests, after.bytes)
        problems = (*plan.rejected, *writing.problems)
        return Distillation(
            session_id=self._session.session_id,
            is_done=not writing.is_superseded,
            commit=committed.commit,
            files=committed.files,
            summary=plan.summary,
            usage=self._usage,
            storage=use + StorageUse(self._snapshot.requests, self._snapshot.bytes),
            warnings=(*too_long(self._session), *(f"not remembered: {problem}" for problem in problems)),
            others=others,
            is_refused=writing.is_superseded,
        )

    def _others(self) -> tuple[str, ...]:
        pending = sessions_in(self._snapshot, ["pending"], sessions_of(self._commits, self._snapshot))
        return tuple(path for path in pending if path != self._path)

    def _pending(self, why: str) -> Distillation:
        return Distillation(
            session_id=self._session.session_id,
            usage=self._usage,
            storage=StorageUse(self._snapshot.requests, self._snapshot.bytes),
            warnings=(why,),
        )


class _Writing:
    """An edit plan to be written, and what the last head that was shown made of it.

    `history` is what the model was shown, `prepared` a head of it and the files as the plan leaves them there.
    """

    def __init__(
        self, plan: EditPlan, session: Session, path: str, model: str, history: History, prepared: tuple[str, Workspace]
    ) -> None:
        self._plan, self._session, self._path, self._model = plan, session, path, model
        self._history, self._prepared = history, prepared
        self.problems: tuple[Problem, ...] = ()
        self.is_superseded = False

    def change(self, snapshot: Snapshot) -> Change | None:
        """The edits on this head; None where the session is not what was distilled, or was distilled by others.

        Raises:
            Conflict: the history was rewritten, or erased and begun again, since the model saw it.
        """
        if snapshot.history != self._history:
            raise Conflict("something was forgotten while the model thought")
        path = find_session(snapshot.paths(), stem_of(self._path) or "")
        data = snapshot.read(path) if path else b""
        head = parse_head(data)
        self.is_superseded = path is None or head.digest != self._session.digest
        if path is None or self.is_superseded or head.state == "distilled":
            self.problems = ()
            return None
        day = self._session.local_time.date()
        head_then, workspace = self._prepared
        self.problems = ()
        if snapshot.head != head_then:
            workspace = Workspace.of(snapshot)
            self.problems = apply_edits(self._plan, workspace, Source(path, data), settings_of(snapshot), day)
        return Change(
            files={**workspace.changes(day.isoformat()), path: with_state(data, "distilled")},
            subject=self._plan.summary or f"Distil session {self._session.session_id}",
            trailers=trailers(self._session, "agent", self._model),
            occurred_at=self._session.occurred_at,
        )


def _joined(made: EditPlan, problems: tuple[Problem, ...], mended: EditPlan, found: tuple[Problem, ...]) -> EditPlan:
    """The edits that could be made at first or after mending; a problem counts until something was mended for it."""
    good = tuple(edit for edit in mended.edits if edit not in [problem.edit for problem in found])
    open_problems = problems[len(good) :] if len(good) < len(problems) else ()
    return replace(made, edits=(*made.edits, *good), rejected=(*open_problems, *mended.rejected, *found))
