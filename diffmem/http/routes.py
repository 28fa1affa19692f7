"""The contract's table of routes, row by row."""

from diffmem.api.application import Application
from diffmem.api.call import Answer, Call
from diffmem.api.consolidate import post_consolidate
from diffmem.api.context import ContextAnswer, post_context
from diffmem.api.files import Files, Written, get_file, get_files, post_revert, put_file
from diffmem.api.forget import post_forget
from diffmem.api.health import Health, get_health
from diffmem.api.history import Blame, Log, get_blame, get_diff, get_log
from diffmem.api.hooks import HookAnswer, get_hook, post_hook
from diffmem.api.receipt import Receipt
from diffmem.api.requests import (
    BlameQuery,
    ConsolidateBody,
    ContextBody,
    DiffQuery,
    DistillBody,
    ExportQuery,
    FileQuery,
    FilesQuery,
    ForgetBody,
    ImportQuery,
    LogQuery,
    MessagesBody,
    RevertBody,
    RunBody,
    SessionBody,
    UserBody,
)
from diffmem.api.run import RunAnswer, post_run
from diffmem.api.sessions import post_distill, post_messages, post_sessions
from diffmem.api.transfer import BUNDLE, ImportAnswer, get_export, put_import
from diffmem.api.users import UserSummary, delete_user, get_user, put_user
from diffmem.curation.consolidate import Consolidated
from diffmem.http import docs, openapi
from diffmem.http.routing import Route
from diffmem.limits import Limits
from diffmem.writer import Appended, Distilled, Remembered

_USER = "/v1/users/{user}"
_MAX_FILE_BYTES = Limits().max_file_bytes
_MAX_HOOK_BYTES = Limits().max_body_bytes


def get_openapi(app: Application, call: Call) -> Answer:
    """The machine-readable contract."""
    return Answer(200, openapi.document(ROUTES))


def get_docs(app: Application, call: Call) -> Answer:
    """A page for people, which needs no other host."""
    return Answer(200, docs.page(openapi.document(ROUTES)), "text/html; charset=utf-8")


ROUTES: tuple[Route, ...] = (
    Route("GET", "/openapi.json", get_openapi, "public", "The machine-readable contract"),
    Route("GET", "/docs", get_docs, "public", "A page for it", answer_type="text/html"),
    Route("GET", "/health", get_health, "public", "Whether this process can serve, and with what", answer=Health),
    Route(
        "PUT",
        _USER,
        put_user,
        "write",
        "Create a memory; idempotent",
        body=UserBody,
        body_optional=True,
        answer=UserSummary,
        statuses=(201, 200),
    ),
    Route("GET", _USER, get_user, "read", "How large a memory is", answer=UserSummary),
    Route("DELETE", _USER, delete_user, "write", "Erase everything; a receipt", answer=Receipt),
    Route(
        "POST",
        f"{_USER}/sessions",
        post_sessions,
        "write",
        "Remember a session",
        body=SessionBody,
        answer=Remembered,
        statuses=(201, 200),
    ),
    Route(
        "POST",
        f"{_USER}/messages",
        post_messages,
        "write",
        "Append chat messages to the open session; a gap closes it",
        body=MessagesBody,
        answer=Appended,
        statuses=(201,),
    ),
    Route(
        "POST",
        f"{_USER}/distill",
        post_distill,
        "write",
        "Distil whatever is pending",
        body=DistillBody,
        body_optional=True,
        answer=Distilled,
    ),
    Route(
        "POST",
        "/v1/hooks/{hook}",
        post_hook,
        "hook",
        "A signed webhook whose messages become sessions",
        max_raw_bytes=_MAX_HOOK_BYTES,
        answer=HookAnswer,
        other_types=("text/plain", "text/xml"),
    ),
    Route(
        "GET",
        "/v1/hooks/{hook}",
        get_hook,
        "hook",
        "Answer a sender that verifies the address",
        answer_type="text/plain",
    ),
    Route("GET", f"{_USER}/files", get_files, "read", "The entity manifest as rows", query=FilesQuery, answer=Files),
    Route(
        "GET",
        f"{_USER}/files/{{path*}}",
        get_file,
        "read",
        "One file",
        query=FileQuery,
        answer_type="text/markdown",
    ),
    Route(
        "PUT",
        f"{_USER}/files/{{path*}}",
        put_file,
        "write",
        "A person's own edit of a file",
        max_raw_bytes=_MAX_FILE_BYTES,
        body_type="text/markdown",
        answer=Written,
        statuses=(200, 201),
    ),
    Route("GET", f"{_USER}/log", get_log, "read", "Commits, newest first", query=LogQuery, answer=Log),
    Route(
        "GET",
        f"{_USER}/diff",
        get_diff,
        "read",
        "How memory differs between two commits or times",
        query=DiffQuery,
        answer_type="text/x-diff",
    ),
    Route(
        "GET",
        f"{_USER}/blame/{{path*}}",
        get_blame,
        "read",
        "Which session each line came from",
        query=BlameQuery,
        answer=Blame,
    ),
    Route(
        "POST",
        f"{_USER}/revert",
        post_revert,
        "write",
        "Undo one commit by a new one",
        body=RevertBody,
        answer=Written,
    ),
    Route(
        "POST",
        f"{_USER}/consolidate",
        post_consolidate,
        "write",
        "Merge duplicates, move sections, weave links",
        body=ConsolidateBody,
        body_optional=True,
        answer=Consolidated,
    ),
    Route(
        "POST",
        f"{_USER}/forget",
        post_forget,
        "write",
        "Remove text, files or sessions from the head and from history",
        body=ForgetBody,
        answer=Receipt,
    ),
    Route(
        "GET",
        f"{_USER}/export",
        get_export,
        "read",
        "The whole memory as a git bundle",
        query=ExportQuery,
        answer_type=BUNDLE,
    ),
    Route(
        "PUT",
        f"{_USER}/import",
        put_import,
        "write",
        "A git bundle as the user's memory",
        query=ImportQuery,
        max_raw_bytes=Limits().max_import_bytes,
        body_as_file=True,
        body_type=BUNDLE,
        answer=ImportAnswer,
        statuses=(200, 201),
    ),
    Route(
        "POST",
        f"{_USER}/context",
        post_context,
        "read",
        "What memory says that bears on a conversation",
        body=ContextBody,
        answer=ContextAnswer,
    ),
    Route(
        "POST",
        f"{_USER}/run",
        post_run,
        "read",
        "The agent's one tool, for other agents",
        body=RunBody,
        answer=RunAnswer,
    ),
)
