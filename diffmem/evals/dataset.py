"""The file of an eval, one user a line.

{"user", "sessions": [{"session_id", "occurred_at", "messages": [{"role", "name"?, "content", "id"}]}],
 "questions": [{"id", "category", "question", "answer", "asked_at"?, "evidence": [message ids]}]}
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from diffmem.errors import InvalidRequest
from diffmem.memory import Message, Session


@dataclass(frozen=True, slots=True)
class Question:
    """One question, when it is asked, and the messages (by id) that answer it."""

    id: str
    category: str
    text: str
    asked_at: datetime | None
    evidence: Sequence[str]


@dataclass(frozen=True, slots=True)
class Case:
    """One user: the sessions to remember, and the questions to ask."""

    user: str
    sessions: Sequence[Session]
    questions: Sequence[Question]

    @property
    def contents(self) -> dict[str, str]:
        """The content of every message that has an id."""
        messages = (message for session in self.sessions for message in session.messages)
        return {message.id: message.content for message in messages if message.id}

    @property
    def last_session_at(self) -> datetime:
        """When the newest session happened."""
        return max(session.occurred_at for session in self.sessions)


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _MessageRow(_Row):
    role: str = Field(max_length=100)
    content: str
    name: str | None = None
    id: str | None = None


class _SessionRow(_Row):
    session_id: str = Field(min_length=1, max_length=200)
    occurred_at: AwareDatetime
    messages: list[_MessageRow] = Field(min_length=1)


class _QuestionRow(_Row):
    id: str
    category: str = "all questions"
    question: str
    asked_at: AwareDatetime | None = None
    evidence: list[str] = Field(min_length=1)


class _CaseRow(_Row):
    user: str = Field(min_length=1, max_length=128)
    sessions: list[_SessionRow] = Field(min_length=1)
    questions: list[_QuestionRow]


def load(path: Path, limit: int | None = None) -> list[Case]:
    """The cases of the file at `path`; with `limit`, at most that many questions of each, evenly spread.

    Raises:
        InvalidRequest: a line is not what the format says; the message names the line. Or there is none.
    """
    cases = [_limited(_case(row), limit) for row in _rows(path)]
    if not cases:
        raise InvalidRequest(f"there is nobody in {path.name!r}")
    return cases


def _rows(path: Path) -> Iterator[_CaseRow]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield _CaseRow.model_validate_json(line)
            except ValidationError as error:
                raise InvalidRequest(f"line {number} of {path.name!r}: {_first(error.errors())}") from error


def _first(errors: Sequence[Any]) -> str:
    place = ".".join(str(part) for part in errors[0]["loc"])
    return f"{place or 'the line'}: {errors[0]['msg']}"


def _case(row: _CaseRow) -> Case:
    return Case(
        row.user,
        [_session(session) for session in row.sessions],
        [Question(q.id, q.category, q.question, q.asked_at, tuple(q.evidence)) for q in row.questions],
    )


def _session(row: _SessionRow) -> Session:
    messages = tuple(Message(item.role, item.content, item.name, id=item.id) for item in row.messages)
    return Session(row.session_id, row.occurred_at, messages, state="archived")


def _limited(case: Case, limit: int | None) -> Case:
    if limit is None or len(case.questions) <= limit:
        return case
    step = len(case.questions) / limit
    return Case(case.user, case.sessions, [case.questions[int(at * step)] for at in range(limit)])
