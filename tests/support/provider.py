"""A real HTTP server that speaks Chat Completions, scripted request by request, and misbehaves on demand.

    with Provider([calls("cat index.md"), plan(file_section)]) as provider:
        OpenAIModel("any", provider.base_url, "key")
        ...
        provider.requests[0].body["messages"]

A script is a sequence of replies; request n gets reply n, and the last reply is repeated for ever. A reply is a `Wire`
(what goes over the socket, and how slowly) or a function from the `Received` request to one. `Provider.at(name)` gives
a base URL with its own run of a script from `scripts`, so that many requests can share one server. The named
misbehaviours are in `tests.support.behaviours`.

Nothing here outlives `close()`: it closes every socket and joins every thread.
"""

import itertools
import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

DEFAULT_USAGE: Mapping[str, Any] = {
    "prompt_tokens": 100,
    "completion_tokens": 10,
    "total_tokens": 110,
    "prompt_tokens_details": {"cached_tokens": 40},
}


@dataclass(frozen=True, slots=True)
class Received:
    """A request as the server read it; `number` counts from 0 within its script, `body` is `{}` unless an object."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Mapping[str, Any]

    @property
    def run(self) -> str:
        """The run of a script that the request belongs to: `Provider.at` gives each its own."""
        return self.path.split("/")[1]

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """The chat messages of the request."""
        messages: Sequence[Mapping[str, Any]] = self.body.get("messages", ())
        return messages


@dataclass(frozen=True, slots=True)
class Wire:
    """Bytes of one response and the manner of sending them; every time is in seconds."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    head: bytes | None = None  # the whole head, verbatim, in place of status and headers
    wait: float = 0.0  # before the first byte
    head_gap: float = 0.0  # between bytes of the head
    body_gap: float = 0.0  # between bytes of the body
    cut: int | None = None  # close after so many bytes of the body, whatever Content-Length said
    reset: bool = False  # close with RST in place of FIN
    repeat: int = 1  # send the body so many times (Content-Length counts them)
    chunked: bool = False
    endless: bool = False  # send the body again and again until the client is gone

    def but(self, **changes: Any) -> "Wire":
        """The same response with fields changed."""
        return replace(self, **changes)


Reply = Wire | Callable[[Received], Wire]

HANG = Wire(wait=3600.0)


def completion(message: Mapping[str, Any], *, finish: str | None = "stop", usage: Any = DEFAULT_USAGE) -> Wire:
    """A 200 whose one choice is `message`; `usage` None leaves the field out."""
    payload: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
    }
    if usage is not None:
        payload["usage"] = usage
    return as_json(payload)


def as_json(payload: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Wire:
    """A response whose body is `payload`."""
    return Wire(json.dumps(payload).encode(), status, {"Content-Type": "application/json", **(headers or {})})


def text(content: Any, **kw: Any) -> Wire:
    """An answer in words."""
    return completion({"content": content}, **kw)


def plan(*pointers: Mapping[str, Any], synthesis: str = "", entities: Sequence[str] = (), **kw: Any) -> Wire:
    """An answer that is a retrieval plan, as JSON text."""
    return text(json.dumps({"pointers": pointers, "synthesis": synthesis, "entities": list(entities)}), **kw)


def calls(*commands: str, name: str = "run", **kw: Any) -> Wire:
    """An answer of one tool call a command."""
    return raw_calls(*((name, json.dumps({"command": command})) for command in commands), **kw)


def raw_calls(*named: tuple[str, Any], **kw: Any) -> Wire:
    """An answer of tool calls with these names and these `arguments`, whatever they are."""
    items = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(named)
    ]
    return completion({"content": None, "tool_calls": items}, finish="tool_calls", **kw)


def error(status: int, message: str = "no", headers: Mapping[str, str] | None = None, **kw: Any) -> Wire:
    """A failure as OpenAI words it: `{"error": {"message", ...}}`."""
    return as_json({"error": {"message": message, "type": "invalid_request_error", **kw}}, status, headers)


class Provider:
    """The server; a context manager. `requests` holds what was received, in order of arrival."""

    def __init__(self, script: Sequence[Reply] = (), *, scripts: Mapping[str, Sequence[Reply]] | None = None) -> None:
        self.requests: list[Received] = []
        self.accepted = 0  # connections
        self._scripts = {**(scripts or {}), "": list(script)}
        self._runs: dict[str, tuple[Sequence[Reply], itertools.count[int]]] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._waker, self._wakened = socket.socketpair()  # readable once closed, for threads that wait
        self._open: dict[socket.socket, threading.Thread] = {}
        self._numbers = itertools.count()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.base_url = self.at("")
        self._acceptor = threading.Thread(target=self._accept, name="provider-accept", daemon=True)
        self._acceptor.start()

    def __enter__(self) -> "Provider":
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def at(self, name: str) -> str:
        """A base URL whose requests run through the script `name` from its first reply."""
        run = str(next(self._numbers))
        self._runs[run] = (self._scripts[name], itertools.count())
        return f"http://127.0.0.1:{self.port}/{run}/v1"

    @property
    def connections(self) -> int:
        """Connections that clients hold open at this moment, as far as the server has noticed."""
        with self._lock:
            return len(self._open)

    def close(self) -> None:
        """Close every socket and join every thread."""
        self._closed.set()
        self._waker.close()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()
        with self._lock:
            still = dict(self._open)
        for connection in still:
            _shut(connection)
        for thread in still.values():
            thread.join()
        self._wakened.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError:
                return
            self.accepted += 1
            thread = threading.Thread(target=self._serve, args=(connection,), name="provider-serve", daemon=True)
            with self._lock:
                self._open[connection] = thread
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as lines:
                while self._exchange(connection, lines):
                    pass
        except OSError:
            pass  # the client went away, which is what many a test wants
        finally:
            with self._lock:
                self._open.pop(connection, None)

    def _exchange(self, connection: socket.socket, lines: Any) -> bool:
        received = self._receive(lines)
        if received is None:
            return False
        script = self._runs[received.run][0]
        reply = script[min(received.number, len(script) - 1)]
        return self._send(connection, reply(received) if callable(reply) else reply)

    def _receive(self, lines: Any) -> Received | None:
        start = lines.readline().decode("latin-1").split()
        if len(start) != 3 or not start[2].startswith("HTTP/"):
            return None
        headers = {}
        while (line := lines.readline().strip()) != b"":
            key, _, value = line.decode("latin-1").partition(":")
            headers[key.lower()] = value.strip()
        raw = lines.read(int(headers.get("content-length", 0)))
        with self._lock:
            path = urlsplit(start[1]).path  # a client of a proxy sends the whole URL
            number = next(self._runs[path.split("/")[1]][1])
            received = Received(number, start[0], path, headers, raw, _object(raw))
            self.requests.append(received)
        return received

    def _send(self, connection: socket.socket, wire: Wire) -> bool:
        """Whether the connection may serve another request."""
        self._pause(connection, wire.wait)
        body = wire.body[: wire.cut]
        self._drip(connection, _head(wire) if wire.head is None else wire.head, wire.head_gap)
        times = itertools.count() if wire.endless else range(wire.repeat)
        for _ in times:
            self._drip(connection, b"%x\r\n%s\r\n" % (len(body), body) if wire.chunked else body, wire.body_gap)
        if wire.chunked:
            connection.sendall(b"0\r\n\r\n")
        if wire.reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return not wire.reset and wire.cut is None and wire.head is None

    def _drip(self, connection: socket.socket, data: bytes, gap: float) -> None:
        if not gap:
            connection.sendall(data)
            return
        for n in range(len(data)):
            connection.sendall(data[n : n + 1])
            self._pause(connection, gap)

    def _pause(self, connection: socket.socket, seconds: float) -> None:
        """Wait, unless the client hangs up or the server closes (`ConnectionAbortedError`)."""
        if not seconds:
            return
        readable, _, _ = select.select([connection, self._wakened], [], [], seconds)
        if self._wakened in readable or (readable and connection.recv(1, socket.MSG_PEEK) == b""):
            raise ConnectionAbortedError


def _head(wire: Wire) -> bytes:
    headers = dict(wire.headers)
    if wire.chunked:
        headers["Transfer-Encoding"] = "chunked"
    elif not wire.endless:
        headers.setdefault("Content-Length", str(len(wire.body) * wire.repeat))
    lines = [f"HTTP/1.1 {wire.status} Scripted", *(f"{key}: {value}" for key, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _object(raw: bytes) -> Mapping[str, Any]:
    try:
        decoded = json.loads(raw)
    except ValueError:
        return {}
    return decoded if isinstance(decoded, dict) else {}


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # closed already


def until(condition: Callable[[], bool], seconds: float = 2.0) -> bool:
    """Whether `condition` came to hold within `seconds`; for what another thread or process does in its own time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True
