"""Distilling later: one authenticated REST call that puts `POST /v1/users/{user}/distill` into a Cloud Tasks queue.

`DIFFMEM_TASKS_QUEUE` is the queue's name, with options as a query string:

    projects/P/locations/L/queues/Q?url=https://memory.example.com&service_account=tasks@p.iam.gserviceaccount.com

    url               where this function is reached; else, without credentials, where the webhook arrived
    service_account   whose OIDC token the task carries, for `DIFFMEM_AUTH=iam`
    audience          of that token; else `url`
    key               the name of the entry of `DIFFMEM_API_KEYS` that the task carries, for `DIFFMEM_AUTH=key`

One task a user and span of silence: its name is made of both, so that a lively conversation makes one, not one a
message. Credentials go to a configured address only: the Host of a request is its sender's to choose.
*Not covered*: finding the machine's credentials, which has time-outs of its own; a head that trickles.
https://cloud.google.com/tasks/docs/reference/rest/v2/projects.locations.queues.tasks/create
"""

import base64
import hashlib
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import parse_qsl, quote

from diffmem.config import Config
from diffmem.errors import ConfigError
from diffmem.limits import Deadline

ENDPOINT = "https://cloudtasks.googleapis.com"

_QUEUE = re.compile(r"projects/[^/\s]+/locations/[^/\s]+/queues/[^/\s]+")
_OPTIONS = frozenset({"url", "service_account", "audience", "key"})
_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_SECONDS = 5.0
_SETTLING_SECONDS = 60
_LONGEST_SECONDS = 29 * 24 * 3600  # a task may wait 30 days
_BODY = b'{"time_budget_s":240}'

Outcome = Literal["created", "exists", "refused", "unreachable"]
_OUTCOMES: Mapping[int, Outcome] = {200: "created", 409: "exists"}


@dataclass(frozen=True, slots=True)
class Queue:
    """Where tasks go, and what they carry; see the module."""

    name: str
    url: str | None = None
    service_account: str | None = None
    audience: str | None = None
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What became of a task; `exists`: one for this user and time is there already. `status` is Cloud Tasks' own."""

    outcome: Outcome
    status: int | None = None


class Tasks:
    """A queue for distilling later; thread-safe, and connected at its first use."""

    def __init__(self, queue: Queue, endpoint: str = ENDPOINT) -> None:
        self._queue = queue
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._made: Any = None

    def distill_later(
        self, user: str, now: datetime, gap_seconds: int, deadline: Deadline, *, base_url: str = ""
    ) -> Scheduled:
        """Ask for `user`'s conversations to be distilled once they have been silent for the gap.

        `base_url` is used where the queue names no `url`. A task that cannot be made is an outcome: the messages are
        durable, and the next task or write distils them.
        """
        seconds = max(0.001, min(deadline.remaining(), _SECONDS))
        task = self._task(user, now, gap_seconds, self._queue.url or base_url)
        return self._created({"task": task}, seconds)

    def _task(self, user: str, now: datetime, gap_seconds: int, base_url: str) -> Mapping[str, Any]:
        slot = int(now.timestamp()) // gap_seconds + 2  # the span after next begins a whole gap after this one's end
        at = min(slot * gap_seconds + _SETTLING_SECONDS, int(now.timestamp()) + _LONGEST_SECONDS)
        request: dict[str, Any] = {
            "url": f"{base_url.rstrip('/')}/v1/users/{quote(user, safe='')}/distill",
            "httpMethod": "POST",
            "headers": {"Content-Type": "application/json"},
            "body": base64.b64encode(_BODY).decode(),
        }
        if self._queue.key:
            request["headers"]["Authorization"] = f"Bearer {self._queue.key}"
        elif self._queue.service_account:
            audience = self._queue.audience or base_url.rstrip("/")
            request["oidcToken"] = {"serviceAccountEmail": self._queue.service_account, "audience": audience}
        return {
            "name": f"{self._queue.name}/tasks/{hashlib.sha256(user.encode()).hexdigest()[:32]}-{slot}",
            "scheduleTime": datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z"),
            "httpRequest": request,
        }

    def _created(self, body: Mapping[str, Any], seconds: float) -> Scheduled:
        from google.auth.exceptions import GoogleAuthError
        from requests import RequestException

        url = f"{self._endpoint}/v2/{self._queue.name}/tasks"
        try:
            answer = self._session().post(url, json=body, timeout=seconds, max_allowed_time=seconds, stream=True)
        except (GoogleAuthError, RequestException):
            return Scheduled("unreachable")
        answer.close()
        return Scheduled(_OUTCOMES.get(answer.status_code, "refused"), answer.status_code)

    def _session(self) -> Any:
        import google.auth
        from google.auth.transport import requests

        authorized: Any = requests.AuthorizedSession
        with self._lock:
            if self._made is None:
                credentials, _ = google.auth.default(scopes=_SCOPES)
                self._made = authorized(credentials)
            return self._made


def open_tasks(config: Config) -> Tasks | None:
    """The queue of `DIFFMEM_TASKS_QUEUE`; None where there is none. Nothing is connected.

    Raises:
        ConfigError: naming the option, never a key.
    """
    return Tasks(parse_queue(config)) if config.tasks_queue else None


def parse_queue(config: Config) -> Queue:
    """The queue that `DIFFMEM_TASKS_QUEUE` describes.

    Raises:
        ConfigError: naming the option, never a key.
    """
    name, _, query = (config.tasks_queue or "").partition("?")
    if not _QUEUE.fullmatch(name):
        raise ConfigError(f"DIFFMEM_TASKS_QUEUE must be projects/P/locations/L/queues/Q, not {name!r}")
    options = dict(parse_qsl(query, keep_blank_values=True))
    for unknown in sorted(options.keys() - _OPTIONS):
        raise ConfigError(f"DIFFMEM_TASKS_QUEUE: unknown option {unknown!r}")
    url = options.get("url")
    if url is not None and not re.fullmatch(r"https?://[^\s?#]+", url):
        raise ConfigError(f"DIFFMEM_TASKS_QUEUE: url must be an http(s) address, not {url!r}")
    credentials = {"key": "key", "iam": "service_account"}.get(config.auth)
    if credentials and credentials not in options:
        raise ConfigError(f"DIFFMEM_TASKS_QUEUE: DIFFMEM_AUTH={config.auth} needs the option {credentials}")
    if url is None and options:
        raise ConfigError(f"DIFFMEM_TASKS_QUEUE: {min(options)} needs the option url")
    key = _named_key(options["key"], config.api_keys) if "key" in options else None
    return Queue(name, url, options.get("service_account"), options.get("audience"), key)


def _named_key(name: str, api_keys: str) -> str:
    for entry in api_keys.split(","):
        found, _, rest = entry.strip().partition(":")
        if found == name and rest:
            return rest.partition(":")[0]
    raise ConfigError(f"DIFFMEM_TASKS_QUEUE: key: DIFFMEM_API_KEYS has no entry {name!r}")
