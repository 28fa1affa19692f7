"""Every session remembered, every question asked at every budget, and the share of its evidence that came back."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from diffmem.errors import InvalidRequest
from diffmem.evals.dataset import Case, Question
from diffmem.evals.product import Answer, Product

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Result:
    """One question at one budget: the recall of its evidence, the tokens and the time of the answer."""

    user: str
    category: str
    question: str
    max_tokens: int
    recall: float
    tokens: int
    milliseconds: float
    stop_reason: str
    prompt_tokens: int

    @property
    def key(self) -> tuple[str, str, int]:
        """What the same question at the same budget has in another run."""
        return self.user, self.question, self.max_tokens


@dataclass(frozen=True, slots=True)
class Run:
    """One run over one file: what was measured, how, and the milliseconds that each session took to remember."""

    file: str
    planner: str
    asked_at: str
    results: Sequence[Result]
    remembered_milliseconds: Sequence[float]

    def save(self, path: Path) -> None:
        """Write the run as JSON, for `load_run`."""
        path.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")


def load_run(path: Path) -> Run:
    """The run that `Run.save` wrote.

    Raises:
        InvalidRequest: the file holds no such run.
    """
    try:
        return TypeAdapter(Run).validate_json(path.read_bytes())
    except ValidationError as error:
        raise InvalidRequest(f"{path.name!r} holds no run of this eval: {error.errors()[0]['msg']}") from error


def measure(
    cases: Sequence[Case], product: Product, budgets: Sequence[int], progress: Progress, *, now: datetime | None = None
) -> tuple[list[Result], list[float]]:
    """The results of all cases, and the milliseconds of each session. `progress` hears what is done, of how much.

    A question is asked at its own time, or else just after the last session; with `now`, all are asked then.
    """
    results: list[Result] = []
    spent: list[float] = []
    for case in cases:
        for number, session in enumerate(case.sessions, 1):
            spent.append(product.remember(case.user, session))
            progress(f"{case.user}: remembered", number, len(case.sessions))
        for number, question in enumerate(case.questions, 1):
            asked_at = now or question.asked_at or case.last_session_at
            answers = product.ask(case.user, question.text, asked_at, budgets)
            results += _results(case, question, budgets, answers)
            progress(f"{case.user}: asked", number, len(case.questions))
    return results, spent


def _results(case: Case, question: Question, budgets: Sequence[int], answers: Sequence[Answer]) -> Iterator[Result]:
    contents = case.contents
    for budget, answer in zip(budgets, answers, strict=True):
        yield Result(
            user=case.user,
            category=question.category,
            question=question.id,
            max_tokens=budget,
            recall=evidence_recall(answer.context, [contents.get(item) for item in question.evidence]),
            tokens=answer.tokens,
            milliseconds=round(answer.milliseconds, 2),
            stop_reason=answer.stop_reason,
            prompt_tokens=answer.prompt_tokens,
        )


def evidence_recall(context: str, evidence: Sequence[str | None]) -> float:
    """The share of `evidence`, contents of messages, that stands in `context` whole; None is evidence that is lost."""
    return sum(content is not None and content in context for content in evidence) / len(evidence)
