"""A stand-in for a chat model: it answers Chat Completions on loopback with the edit plans that the story holds.

It shows the writing path as a real model would run it, without a key: the function asks it over HTTP, and every fact it
returns is checked against the transcript like any other model's.
"""

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


class ScriptedModel:
    """A context manager: a server of the story's edit plans at `base_url`."""

    def __init__(self, story: Mapping[str, Any]) -> None:
        plans = {session["session_id"]: session["plan"] for session in story["sessions"]}
        handler = type("StoryHandler", (_Handler,), {"plans": plans})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="scripted-model")

    @property
    def base_url(self) -> str:
        """What `OPENAI_BASE_URL` is set to."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> "ScriptedModel":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    plans: Mapping[str, Mapping[str, Any]]

    def do_POST(self) -> None:
        """Answer with the plan of the session that the question names, or with an empty one."""
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        asked = "\n".join(str(message.get("content")) for message in request["messages"])
        named = [plan for session_id, plan in self.plans.items() if f'-{session_id}.md" id=' in asked]
        answer = json.dumps(named[0] if named else {"summary": "", "edits": []}, ensure_ascii=False)
        self._send(_completion(request.get("model", "scripted"), answer, len(asked) // 4))

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the demonstration prints for itself."""

    def _send(self, body: Mapping[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _completion(model: str, text: str, prompt_tokens: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": len(text) // 4, "total_tokens": 0},
    }
