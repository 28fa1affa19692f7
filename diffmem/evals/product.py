"""What is measured: DiffMem itself, on a bucket and a cache that exist for the measuring alone."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Literal

from diffmem.api.application import Application
from diffmem.config import Config
from diffmem.limits import Deadline
from diffmem.memory import Session
from diffmem.retrieval import Question, retrieve
from diffmem.writer import remember

Planner = Literal["offline", "agent"]
Mode = Literal["archive", "distill"]

_REMEMBER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A context and what it took; `prompt_tokens` are those of a model."""

    context: str
    tokens: int
    milliseconds: float
    stop_reason: str
    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class Manner:
    """How the product is used: who plans, whether sessions are distilled, and the seconds that a question may take."""

    planner: Planner = "offline"
    mode: Mode = "archive"
    time_budget_s: float = 20.0


class Product(AbstractContextManager["Product"]):
    """DiffMem in `folder`, which holds nothing else, configured as `config` but for its storage."""

    def __init__(self, folder: Path, config: Config, manner: Manner) -> None:
        here = replace(
            config,
            store=f"file:{folder / 'bucket'}",
            cache=folder / "cache",
            hooks="",
            tasks_queue=None,
            id_secret=None,
        )
        self._application = Application(here)
        self._manner = manner

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._application.close()

    def remember(self, user: str, session: Session) -> float:
        """Remember one session; the milliseconds it took."""
        began = time.perf_counter()
        application, deadline = self._application, Deadline(_REMEMBER_SECONDS)
        remember(
            application.repositories,
            application.tool,
            application.writer,
            user,
            session,
            deadline,
            mode=self._manner.mode,
        )
        return _milliseconds(began)

    def ask(self, user: str, question: str, asked_at: datetime, budgets: Sequence[int]) -> list[Answer]:
        """The context for `question` at each budget."""
        return [self._asked(user, Question([("user", question)], asked_at, budget)) for budget in budgets]

    def _asked(self, user: str, question: Question) -> Answer:
        began = time.perf_counter()
        application, deadline = self._application, Deadline(self._manner.time_budget_s)
        with application.repositories.open(user, deadline) as snapshot:
            found = retrieve(
                snapshot,
                question,
                tool=application.tool,
                model=application.reader,
                planner=self._manner.planner,
                deadline=deadline,
            )
        return Answer(found.text, found.tokens, _milliseconds(began), found.stop_reason, found.usage.prompt_tokens)


def _milliseconds(began: float) -> float:
    return (time.perf_counter() - began) * 1000
