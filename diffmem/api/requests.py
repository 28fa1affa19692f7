"""What callers may send: the request bodies of the contract, each field bounded, unknown fields refused.

pydantic stands here and where a model's answer enters, because both are untrusted JSON; everything inside DiffMem is a
frozen dataclass. The OpenAPI document is made from these classes.
"""

import zoneinfo
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from diffmem.errors import InvalidRequest
from diffmem.limits import Limits

_LIMITS = Limits()
_EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)
_LATEST = datetime(2100, 1, 1, tzinfo=UTC)


def _storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain NUL characters")
    return text


def _written_out(value: Any) -> Any:
    # pydantic takes digits alone for seconds since 1970: 20260305, a day to whoever writes it, too.
    if not (isinstance(value, str) and value[4:5] == "-"):
        raise ValueError("must be a time with an offset, such as '2026-03-05T10:00:00+01:00'")
    return value


def _in_range(moment: datetime) -> datetime:
    if not _EARLIEST <= moment < _LATEST:
        raise ValueError("must lie between 1970-01-02 and 2100-01-01, the times git can record")
    return moment


def _known_timezone(name: str) -> str:
    try:
        zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError) as error:
        raise ValueError("must be an IANA time zone such as 'Europe/Berlin'") from error
    return name


def _single_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be one line of printable characters")
    return text


Text = Annotated[str, AfterValidator(_storable)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_single_line)]
Moment = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_written_out), AfterValidator(_in_range)]
TimezoneName = Annotated[str, StringConstraints(min_length=1, max_length=64), AfterValidator(_known_timezone)]
MessageText = Annotated[Text, Field(max_length=_LIMITS.max_message_chars)]
LongText = Annotated[Text, Field(max_length=20_000)]


class Body(BaseModel):
    """A request body: strict types, no unknown fields, no infinities."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True, defer_build=True)


def _exactly_one(*names: str) -> ConfigDict:
    """Says in the JSON schema what a validator checks: one of the fields is there, and the others are not."""
    absent: dict[str, Any] = {name: {"type": "null"} for name in names}
    cases: list[Any] = [
        {"required": [name], "properties": absent | {name: {"not": {"type": "null"}}}} for name in names
    ]
    return ConfigDict(json_schema_extra={"oneOf": cases})


class MessageBody(Body):
    """One message of a session that is over."""

    role: Label
    content: MessageText
    name: Label | None = None
    at: Moment | None = None
    id: Label | None = None


class TurnBody(Body):
    """One message of the conversation that asks for context."""

    role: Label
    content: MessageText
    name: Label | None = None


Messages = Annotated[list[MessageBody], Field(min_length=1, max_length=_LIMITS.max_messages)]
Turns = Annotated[list[TurnBody], Field(min_length=1, max_length=_LIMITS.max_messages)]
Metadata = Annotated[dict[Label, Annotated[Text, Field(max_length=2_000)]], Field(max_length=50)]


class UserBody(Body):
    """PUT /v1/users/{user}: all optional."""

    profile: Annotated[Text, Field(max_length=100_000)] | None = None
    timezone: TimezoneName | None = None
    instructions: LongText | None = None
    ontology: dict[str, Any] | None = None


class SessionBody(Body):
    """POST sessions: a conversation to remember, as `messages` or as a `transcript`."""

    model_config = _exactly_one("messages", "transcript")

    session_id: Label | None = None
    messages: Messages | None = None
    transcript: Annotated[Text, Field(min_length=1, max_length=_LIMITS.max_transcript_chars)] | None = None
    occurred_at: Moment | None = None
    timezone: TimezoneName | None = None
    source: Label | None = None
    metadata: Metadata = Field(default_factory=dict)
    instructions: LongText | None = None
    time_budget_s: Annotated[float, Field(ge=0.05, le=3600)] = 60.0
    mode: Literal["distill", "archive"] = "distill"

    @model_validator(mode="after")
    def _one_source(self) -> "SessionBody":
        if (self.messages is None) == (self.transcript is None):
            raise ValueError("exactly one of 'messages' and 'transcript' is needed")
        return self


class MessagesBody(Body):
    """POST messages: more of a conversation that is still open."""

    conversation: Label | None = None
    messages: Messages
    timezone: TimezoneName | None = None
    source: Label | None = None


class DistillBody(Body):
    """POST distill: one session or whatever is pending."""

    session_id: Label | None = None
    time_budget_s: Annotated[float, Field(ge=0.05, le=3600)] = 60.0
    close: bool = False


class ContextBody(Body):
    """POST context: a conversation or a query that memory should bear on."""

    model_config = _exactly_one("conversation", "query")

    conversation: Turns | None = None
    query: Annotated[MessageText, Field(min_length=1)] | None = None
    max_tokens: Annotated[int, Field(ge=64, le=200_000)] = 8000
    time_budget_s: Annotated[float, Field(ge=0.05, le=300)] = 20.0
    as_of: Moment | None = None
    planner: Literal["auto", "agent", "offline"] = "auto"
    trace: bool = False
    remember: SessionBody | None = None

    @model_validator(mode="after")
    def _one_question(self) -> "ContextBody":
        if (self.conversation is None) == (self.query is None):
            raise ValueError("exactly one of 'conversation' and 'query' is needed")
        return self

    def turns(self) -> tuple[tuple[str, str], ...]:
        """`(role, content)` of every message, oldest first; a query is one message of the user's."""
        if self.query is not None:
            return (("user", self.query),)
        return tuple((turn.role, turn.content) for turn in self.conversation or ())


class RunBody(Body):
    """POST run: one command line for the read-only tool."""

    command: Annotated[str, Field(min_length=1)]
    as_of: Moment | None = None


RepositoryPath = Annotated[Text, StringConstraints(min_length=1, max_length=1000)]
Revision = Annotated[Text, StringConstraints(min_length=1, max_length=100)]


class ConsolidateBody(Body):
    """POST consolidate: all tools where none is named."""

    tools: Annotated[list[Literal["dedupe", "redistribute", "split", "link"]], Field(max_length=10)] = Field(
        default_factory=list
    )
    dry_run: bool = False
    time_budget_s: Annotated[float, Field(ge=0.05, le=3600)] = 120.0


ToForget = Annotated[Text, Field(min_length=1, max_length=2_000)]
OneOrMore = Annotated[list[ToForget], Field(max_length=100)]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Several = Annotated[OneOrMore, BeforeValidator(_as_list, json_schema_input_type=ToForget | OneOrMore)]


class ForgetBody(Body):
    """POST forget: what is to go, each as one string or a list of them; `path` and `session_id` name one."""

    text: Several = Field(default_factory=list)
    files: Several = Field(default_factory=list)
    sessions: Several = Field(default_factory=list)
    path: RepositoryPath | None = None
    session_id: Label | None = None
    dry_run: bool = False

    @property
    def all_paths(self) -> list[str]:
        """Every file that is named."""
        return [*self.files, *([self.path] if self.path else [])]

    @property
    def all_sessions(self) -> list[str]:
        """Every session that is named."""
        return [*self.sessions, *([self.session_id] if self.session_id else [])]


class _Query(BaseModel):
    """A query string: text that is converted, no unknown parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class FilesQuery(_Query):
    """GET files: the manifest now, or as it was recorded at `as_of`."""

    as_of: Moment | None = None


class FileQuery(_Query):
    """GET files/{path}: `at` is a revision or a time."""

    at: Revision | None = None


class LogQuery(_Query):
    """GET log: `since` and `until` bound the time of recording, both included."""

    path: RepositoryPath | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 50
    since: Moment | None = None
    until: Moment | None = None
    as_of: Moment | None = None


class DiffQuery(_Query):
    """GET diff: `from` and `to` are revisions or times."""

    from_: Revision | None = Field(default=None, alias="from")
    to: Revision | None = None
    path: RepositoryPath | None = None
    as_of: Moment | None = None


class BlameQuery(_Query):
    """GET blame/{path}."""

    as_of: Moment | None = None


class ExportQuery(_Query):
    """GET export: the history now, or as far as it was recorded at `as_of`."""

    as_of: Moment | None = None


class ImportQuery(_Query):
    """PUT import: which branch of the bundle, and whether it may take the place of a memory that is not empty."""

    branch: Annotated[Text, StringConstraints(min_length=1, max_length=255)] | None = None
    replace: bool = False


class RevertBody(Body):
    """POST revert: the commit to undo, by a revision."""

    commit: Revision


@contextmanager
def validation() -> Iterator[None]:
    """pydantic's errors become `InvalidRequest` inside."""
    try:
        yield
    except ValidationError as error:
        raise InvalidRequest(_first_problem(error)) from error


def _first_problem(error: ValidationError) -> str:
    """One line that names the field and the value of the first of the errors."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or "the body"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] in ("missing", "value_error") and not first["loc"]:
        return message
    shown = repr(first["input"])
    return f"{field}: {message}, not {shown if len(shown) <= 80 else shown[:77] + '...'}"
