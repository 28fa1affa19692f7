"""The contract's table of routes, row by row."""

from diffmem.api.context import ContextAnswer, post_context
from diffmem.api.health import Health, get_health
from diffmem.api.requests import ContextBody, DistillBody, MessagesBody, RunBody, SessionBody, UserBody
from diffmem.api.run import RunAnswer, post_run
from diffmem.api.sessions import post_distill, post_messages, post_sessions
from diffmem.api.users import Receipt, UserSummary, delete_user, get_user, put_user
from diffmem.http.routing import Route
from diffmem.writer import Appended, Distilled, Remembered

_USER = "/v1/users/{user}"

ROUTES: tuple[Route, ...] = (
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
