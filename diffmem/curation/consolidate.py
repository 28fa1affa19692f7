"""Consolidation: duplicates merged, facts moved to the entity they are about, long files split, links woven.

A model proposes steps (`proposal`), code makes them (`moves`); without a model, equal facts are merged and links woven.
Each line that is removed stands somewhere else afterwards or is named in the commit.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, get_args

from diffmem.agent import Outcome, Task, calls_already_made, framed, investigate, prompt
from diffmem.curation.account import lost_lines
from diffmem.curation.moves import make_steps
from diffmem.curation.proposal import PROPOSAL_SCHEMA, Proposal, Step, parse_proposal, parse_proposal_lines
from diffmem.curation.suspects import suspicions
from diffmem.curation.weave import weave
from diffmem.errors import Conflict
from diffmem.limits import Deadline
from diffmem.memory import INDEX_PATH, PROFILE_PATH, SETTINGS_PATH, is_entity_path, parse_settings
from diffmem.memory.markdown import merge_duplicates
from diffmem.memory.timeline import is_timeline_path
from diffmem.memory.workspace import Workspace
from diffmem.model import ChatModel, Message, Usage
from diffmem.repository import Change, FileChange, History, Repositories, Snapshot
from diffmem.shell import Tool

ConsolidationTool = Literal["dedupe", "redistribute", "split", "link"]
ALL_TOOLS: tuple[ConsolidationTool, ...] = get_args(ConsolidationTool)

_OPS: Mapping[ConsolidationTool, tuple[str, ...]] = {
    "dedupe": ("merge", "drop"),
    "redistribute": ("move", "move_section"),
    "split": ("split",),
    "link": (),
}
_MAX_TURNS = 2
_RESERVE_SECONDS = 3.0
_MAX_FILES_CHARS = 120_000


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What a consolidation changed, or would change; `commit` is None for a dry run, and where there was nothing to do.

    `diff` is unified, `steps` are those that were made, `removed` the lines that stand nowhere else now.
    """

    user: str
    commit: str | None = None
    dry_run: bool = False
    files: tuple[FileChange, ...] = ()
    diff: str = ""
    summary: str = ""
    steps: tuple[Step, ...] = ()
    removed: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    timings_ms: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def consolidate(
    repositories: Repositories,
    tool: Tool | None,
    model: ChatModel | None,
    user: str,
    deadline: Deadline,
    *,
    now: datetime,
    tools: Sequence[ConsolidationTool] = ALL_TOOLS,
    dry_run: bool = False,
) -> Consolidated:
    """Put the user's memory in better order with `tools`, in one commit; a dry run shows it and commits nothing.

    Where the model fails or time is out, what code can do alone is done, and `warnings` say so.

    Raises:
        UnknownUser: there is no such memory.
        Conflict: something was forgotten meanwhile, which the model may have seen.
        StorageUnavailable: nothing was changed.
        DeadlineExceeded: there was more for code to do than time; nothing was changed.
    """
    started = deadline.remaining()
    with repositories.open(user, deadline) as snapshot:
        outcome = _asked(snapshot, tool, model, deadline, tools)
        proposal = _only(outcome.answer or Proposal(), tools)
        order = _Order(proposal, tools, now, model.name if model else None, snapshot.history, deadline)
        failed = () if outcome.answer else (f"no proposal: {outcome.stop_reason}: {outcome.detail}"[:300],)
        change = order.change(snapshot)
        diff = _diff(snapshot, change) if change else ""
    done = Consolidated(user, dry_run=dry_run, diff=diff, usage=outcome.usage)
    if change is not None and not dry_run:
        committed = repositories.commit(user, order.change, deadline)
        committed.snapshot.close()
        done = replace(done, commit=committed.commit, files=committed.files)
    return replace(
        done,
        summary=order.proposal.summary,
        steps=order.made,
        removed=order.removed,
        warnings=(*failed, *order.warnings),
        timings_ms={"consolidate": round(1000 * (started - deadline.remaining()))},
    )


class _Order:
    """A proposal, and what the last head that was shown makes of it; `history` is what it was made for."""

    def __init__(
        self,
        proposal: Proposal,
        tools: Sequence[ConsolidationTool],
        now: datetime,
        model: str | None,
        history: History,
        deadline: Deadline,
    ) -> None:
        self._history, self._deadline = history, deadline
        self.proposal, self._tools, self._now, self._model = proposal, tools, now, model
        self.made: tuple[Step, ...] = ()
        self.removed: tuple[str, ...] = ()
        self.warnings: tuple[str, ...] = ()

    def change(self, snapshot: Snapshot) -> Change | None:
        """What to write at this head; None where all is in order."""
        if snapshot.history != self._history:
            raise Conflict("something was forgotten meanwhile; asking again is safe")
        workspace = Workspace.of(snapshot)
        settings = parse_settings(workspace.text(SETTINGS_PATH).encode("utf-8", "replace"))
        refused = make_steps(self.proposal, workspace, settings)
        if "dedupe" in self._tools:
            _merge_equal(workspace, self._deadline)
        if "link" in self._tools:
            weave(workspace)
        self.made = tuple(step for step in self.proposal.steps if step not in [refusal.step for refusal in refused])
        self.removed = tuple(lost_lines(workspace.since({})))
        self.warnings = tuple(f"not done: {refusal}" for refusal in (*self.proposal.rejected, *refused))
        files = workspace.changes(f"{self._now:%Y-%m-%d}")
        trailers = {"Writer": "consolidation", **({"Model": self._model} if self._model else {})}
        subject = self.proposal.summary or "Consolidate"
        return Change(files, subject, _body(self.removed), trailers, self._now) if files else None


def _body(removed: Sequence[str]) -> str:
    return (
        "\n".join(["Lines that stand nowhere else now:", "", *(f"    {line}" for line in removed)]) if removed else ""
    )


def _merge_equal(workspace: Workspace, deadline: Deadline) -> None:
    for path in workspace.paths:
        if is_entity_path(path) or is_timeline_path(path) or path == PROFILE_PATH:
            text = merge_duplicates(workspace.text(path), deadline, anywhere=not is_timeline_path(path))
            workspace.put(path, text)


def _only(proposal: Proposal, tools: Sequence[ConsolidationTool]) -> Proposal:
    """The steps that belong to `tools`."""
    wanted = {op for name in tools for op in _OPS[name]}
    return replace(proposal, steps=tuple(step for step in proposal.steps if step.op in wanted))


def _asked(
    snapshot: Snapshot,
    tool: Tool | None,
    model: ChatModel | None,
    deadline: Deadline,
    tools: Sequence[ConsolidationTool],
) -> Outcome[Proposal]:
    wanted = [op for name in tools for op in _OPS[name]]
    if model is None or not wanted:
        return Outcome(answer=Proposal())

    def run(command: str, until: Deadline) -> str:
        return tool.run(command, snapshot.checkout, until).output if tool else "There is no tool here."

    task = _task(Workspace.of(snapshot), wanted)
    return investigate(task, model, run, deadline.less(_RESERVE_SECONDS), max_turns=_MAX_TURNS)


def _task(workspace: Workspace, wanted: Sequence[str]) -> Task[Proposal]:
    suspects = suspicions(workspace)
    reasons = "\n".join(f"- {', '.join(paths)}: {why}" for why, paths in suspects) or "- nothing in particular"
    paths = dict.fromkeys([*(path for _, paths in suspects for path in paths), *(e.path for e in workspace.entities)])
    shown, left = [(f"cat {INDEX_PATH}", workspace.text(INDEX_PATH))], _MAX_FILES_CHARS
    for path in paths:
        left -= len(workspace.text(path))
        if left < 0:
            break
        shown.append((f"cat {path}", workspace.text(path)))
    question = f"Steps that are wanted: {', '.join(wanted)}.\n\nWhat may need you:\n{framed('suspicions', reasons)}"
    return Task(
        system=prompt("consolidate_system"),
        plain=prompt("consolidate_plain"),
        opening=(Message("user", question), *calls_already_made(shown)),
        schema_name="consolidation",
        schema=PROPOSAL_SCHEMA,
        parse=parse_proposal,
        parse_lines=parse_proposal_lines,
    )


def _diff(snapshot: Snapshot, change: Change) -> str:
    there = set(snapshot.paths())
    parts: list[str] = []
    for path, data in sorted(change.files.items()):
        old = snapshot.read(path).decode("utf-8", "replace") if path in there else ""
        new = data.decode("utf-8", "replace") if data is not None else ""
        names = (f"a/{path}" if path in there else "/dev/null", f"b/{path}" if data is not None else "/dev/null")
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="")
        parts.append("".join(f"{line}\n" for line in lines))
    return "".join(parts)
