"""Cloud Tasks' REST API and Google's token endpoint on the loopback, and a service account that trusts them."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from google.auth import jwt

from tests.support.oidc import Key
from tests.support.serving import Handler, Serving

ACCESS_TOKEN = "ya29.access"


class CloudTasks(Serving):
    """Remembers tasks by name; `status` is answered in place of 200 where it is set."""

    def __init__(self) -> None:
        self.tasks: dict[str, dict[str, Any]] = {}
        self.queues: list[str] = []
        self.logins: list[dict[str, Any]] = []
        self.status: int | None = None
        self.stalls = False
        super().__init__(_Api)

    def service_account(self, folder: Path, key: Key) -> str:
        """The path of a key file, as GOOGLE_APPLICATION_CREDENTIALS names it."""
        path = folder / "account.json"
        content = {
            "type": "service_account",
            "project_id": "p",
            "private_key_id": key.id,
            "private_key": key.pem,
            "client_email": "diffmem@p.iam.gserviceaccount.com",
            "client_id": "1",
            "token_uri": f"{self.url}/token",
        }
        path.write_text(json.dumps(content))
        return str(path)


class _Api(Handler):
    def do_POST(self) -> None:
        """A token for a signed assertion, or a task."""
        owner: CloudTasks = self.server.owner  # type: ignore[attr-defined]
        body = self.body()
        if self.path == "/token":
            decode: Any = jwt.decode
            owner.logins.append(decode(parse_qs(body.decode())["assertion"][0], verify=False))
            return self._json(200, {"access_token": ACCESS_TOKEN, "expires_in": 3600, "token_type": "Bearer"})
        if owner.stalls:
            owner.stopping.wait()
            return None
        if self.headers["Authorization"] != f"Bearer {ACCESS_TOKEN}":
            return self._json(401, {})
        if owner.status:
            return self._json(owner.status, {})
        task = json.loads(body)["task"]
        owner.queues.append(self.path)
        if task["name"] in owner.tasks:
            return self._json(409, {"error": {"status": "ALREADY_EXISTS"}})
        owner.tasks[task["name"]] = task
        return self._json(200, task)

    def _json(self, status: int, content: Any) -> None:
        self.answer(status, json.dumps(content).encode(), Content_Type="application/json")
