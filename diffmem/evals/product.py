"""What is measured: DiffMem itself, on a bucket and a cache that exist for the measuring alone."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from diffmem import tokens
from diffmem.context import resolve
from diffmem.limits import Deadline
from diffmem.memory import Session, render_session, session_path
from diffmem.planner import plan_offline
from diffmem.repository import Change, Repositories, Snapshot
from diffmem.storage import open_bucket

Planner = Literal["offline", "agent"]

_COMMIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A context and what it took."""

    context: str
    tokens: int
    milliseconds: float
    stop_reason: str


class Product:
    """DiffMem in `folder`, which holds nothing else."""

    def __init__(self, folder: Path, time_budget_seconds: float) -> None:
        self._time_budget_seconds = time_budget_seconds
        self._repositories = Repositories(
            open_bucket(f"file:{folder / 'bucket'}"), folder / "cache", cache_max_bytes=1 << 30, id_secret=None
        )

    def remember(self, user: str, session: Session) -> float:
        """Archive one session, without a model; the milliseconds it took."""
        began = time.perf_counter()
        change = Change(
            {session_path(session): render_session(session)},
            f"Remember {session.session_id}",
            occurred_at=session.occurred_at,
        )
        committed = self._repositories.commit(user, lambda _: change, Deadline(_COMMIT_SECONDS), create=True)
        committed.snapshot.close()
        return (time.perf_counter() - began) * 1000

    def ask(self, user: str, question: str, asked_at: datetime, budgets: Sequence[int]) -> list[Answer]:
        """The context for `question` at each budget."""
        return [self._asked(user, question, asked_at, budget) for budget in budgets]

    def _asked(self, user: str, question: str, asked_at: datetime, max_tokens: int) -> Answer:
        began = time.perf_counter()
        deadline = Deadline(self._time_budget_seconds)
        with self._repositories.open(user, deadline) as snapshot:
            answer = self._retrieved(snapshot, question, asked_at, max_tokens, deadline)
        return Answer(answer[0], answer[1], (time.perf_counter() - began) * 1000, "no_model")

    def _retrieved(
        self, snapshot: Snapshot, question: str, asked_at: datetime, max_tokens: int, deadline: Deadline
    ) -> tuple[str, int]:
        plan = plan_offline(snapshot, [("user", question)], asked_at, max_tokens, deadline)
        resolved = resolve(plan, snapshot, None, max_tokens, deadline, count=tokens.count)
        return resolved.text, resolved.tokens
