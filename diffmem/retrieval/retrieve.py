"""The main job, top to bottom.

    offline  = plan_offline(...)      in a thread, so that an answer is ready whenever time runs out
    outcome  = investigate(...)       meanwhile: two round trips to a model, under the deadline less a reserve
    resolved = resolve(plan, ...)     pointers into text, within max_tokens; the offline plan's where none can be used

A slow, failing or absent model is a worse answer, never an error.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from diffmem.agent import Outcome, investigate
from diffmem.context import Block, Resolved, resolve
from diffmem.errors import DeadlineExceeded, ToolUnavailable
from diffmem.limits import Deadline
from diffmem.model import ChatModel, Usage
from diffmem.plan import Plan, Rejected
from diffmem.planner import plan_offline
from diffmem.repository import Snapshot
from diffmem.retrieval.reading import mentioned_pointers, reading_task
from diffmem.shell import Tool

PlannerChoice = Literal["auto", "agent", "offline"]
StopReason = Literal["plan", "deadline", "turn_limit", "model_error", "invalid_plan", "no_model"]

_MAX_TURNS = 3


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of memory: the conversation oldest first, when it is asked, and within how many tokens."""

    conversation: Sequence[tuple[str, str]]
    asked_at: datetime
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The context and how it came about. `trace` is every message of the protocol."""

    text: str
    blocks: Sequence[Block]
    tokens: int
    plan: Plan
    rejected: Sequence[Rejected]
    used: Literal["agent", "offline"]
    stop_reason: StopReason
    turns: int
    commands: Sequence[str]
    usage: Usage
    degraded: bool
    warnings: Sequence[str]
    trace: Sequence[Mapping[str, Any]]


def _untimed(_: str) -> AbstractContextManager[None]:
    return nullcontext()


def retrieve(
    snapshot: Snapshot,
    question: Question,
    *,
    tool: Tool,
    model: ChatModel | None,
    planner: PlannerChoice,
    deadline: Deadline,
    phase: Callable[[str], AbstractContextManager[None]] = _untimed,
) -> Retrieved:
    """The context for `question` from `snapshot`, no later than a fraction of a second after `deadline`.

    `phase` times a named part. What a model does, or time that is over, is never an error here.
    """
    asked = model if planner != "offline" else None
    outcome: Outcome[Plan] | None = None
    with phase("plan"):
        if asked is None:
            plan = _offline_plan(snapshot, question, deadline)
        else:
            with _Offline(snapshot, question, deadline) as offline:
                outcome = _ask(snapshot, question, tool, asked, deadline)
            plan = outcome.answer or _with_findings(offline.plan, outcome, snapshot)
    with phase("resolve"):
        resolved = resolve(plan, snapshot, tool, question.max_tokens, deadline)
        if outcome is not None and outcome.answer is not None and _points_nowhere(plan, resolved):
            outcome = _unanswered(outcome, deadline)
            rejected = (*plan.rejected, *resolved.rejected)
            plan = replace(_with_findings(offline.plan, outcome, snapshot), rejected=rejected)
            resolved = resolve(plan, snapshot, tool, question.max_tokens, deadline)
    stop_reason: StopReason = "no_model" if outcome is None else outcome.stop_reason
    return Retrieved(
        text=resolved.text,
        blocks=resolved.blocks,
        tokens=resolved.tokens,
        plan=plan,
        rejected=(*plan.rejected, *resolved.rejected),
        used="agent" if stop_reason == "plan" else "offline",
        stop_reason=stop_reason,
        turns=outcome.turns if outcome else 0,
        commands=outcome.commands if outcome else (),
        usage=outcome.usage if outcome else Usage(),
        degraded=stop_reason != "plan" and (asked is not None or planner == "agent"),
        warnings=(*resolved.warnings, *_warnings(outcome, planner)),
        trace=outcome.transcript if outcome else (),
    )


class _Offline:
    """The offline plan, computed in a thread while the model thinks, and there when the block ends."""

    def __init__(self, snapshot: Snapshot, question: Question, deadline: Deadline) -> None:
        self.plan = Plan(())
        self._thread = threading.Thread(target=self._run, args=(snapshot, question, deadline), name="offline-plan")

    def _run(self, snapshot: Snapshot, question: Question, deadline: Deadline) -> None:
        self.plan = _offline_plan(snapshot, question, deadline)

    def __enter__(self) -> "_Offline":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()


def _offline_plan(snapshot: Snapshot, question: Question, deadline: Deadline) -> Plan:
    reserved = deadline.less(_reserve(deadline))
    return plan_offline(snapshot, question.conversation, question.asked_at, question.max_tokens, reserved)


def _ask(snapshot: Snapshot, question: Question, tool: Tool, model: ChatModel, deadline: Deadline) -> Outcome[Plan]:
    reserved = deadline.less(_reserve(deadline))

    def run(command: str, limit: Deadline) -> str:
        output: str = tool.run(command, snapshot.checkout, limit).output
        return output

    try:
        task = reading_task(snapshot, question.conversation, question.asked_at, question.max_tokens, tool, reserved)
    except ToolUnavailable as error:
        return Outcome(stop_reason="model_error", detail=str(error))
    except DeadlineExceeded as error:
        return Outcome(stop_reason="deadline", detail=str(error))
    return investigate(task, model, run, reserved, max_turns=_MAX_TURNS)


def _reserve(deadline: Deadline) -> float:
    """Seconds kept for resolving: a fifth of a short budget, 0.4 s of a long one."""
    return min(0.4, deadline.remaining() / 5)


def _points_nowhere(plan: Plan, resolved: Resolved) -> bool:
    """Whether a plan has pointers and not one of them can be used. That nothing bears on a question is an answer."""
    return len(resolved.rejected) == len(plan.pointers) and bool(plan.pointers or plan.rejected)


def _unanswered(outcome: Outcome[Plan], deadline: Deadline) -> Outcome[Plan]:
    """What a plan that points nowhere amounts to: the model's fault, unless time was over before it was followed."""
    if deadline.expired:
        return replace(outcome, answer=None, stop_reason="deadline", detail="no time was left to follow the plan")
    return replace(outcome, answer=None, stop_reason="invalid_plan", detail="none of its pointers can be used")


def _with_findings(plan: Plan, outcome: Outcome[Plan], snapshot: Snapshot) -> Plan:
    found = mentioned_pointers(outcome.seen, snapshot.paths())
    return replace(plan, pointers=(*plan.pointers, *found))


def _warnings(outcome: Outcome[Plan] | None, planner: PlannerChoice) -> tuple[str, ...]:
    if outcome is None:
        return ("no model is configured: the offline planner answered",) if planner == "agent" else ()
    return (f"{outcome.stop_reason}: {outcome.detail}",) if outcome.detail and outcome.answer is None else ()
