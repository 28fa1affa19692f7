"""An HTTP proxy between a bucket's client and its server that is slow, breaks, and lies about what it did.

    with FaultProxy(emulator.url, get_seconds=0.03, put_seconds=0.06) as proxy:
        bucket = GCSBucket("memory", endpoint=proxy.url)
        proxy.script("POST", REPLY_LOST, None, BUSY)      # the next three POSTs; then nothing more happens
        proxy.chance("POST", REPLY_LOST, 0.15)            # every POST that no script speaks for

A write of the client is a POST (and a PUT, above 8 MiB) or a DELETE, a read a GET. An `after` fault comes when the
request has taken effect, every other before it reaches the server. Chances come from one seeded generator.
"""

import os
import random
import socket
import struct
import threading
from collections import defaultdict, deque
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from typing import Any, Literal, NamedTuple, cast
from urllib.parse import urlsplit

from tests.support.serving import Handler, Serving

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}
TRICKLE_SECONDS = 0.05


@dataclass(frozen=True)
class Fault:
    """Something that happens to a request: an answer with `status`, or what `kind` says.

    drop: the connection is closed without an answer. reset: the same with RST. hang: there is no answer, and no end.
    trickle: the answer comes a byte at a time, and never ends in time. cut: half of the answer's body comes.
    """

    kind: Literal["status", "drop", "reset", "hang", "trickle", "cut"] = "status"
    status: int = 0
    retry_after: str | None = None
    after: bool = False


BUSY = Fault(status=429)
BUSY_FOR_A_SECOND = Fault(status=429, retry_after="1")
UNAVAILABLE = Fault(status=503)
UNAVAILABLE_AFTER = Fault(status=503, after=True)
REPLY_LOST = Fault("drop", after=True)
DROPPED = Fault("drop")
RESET = Fault("reset")
RESET_AFTER = Fault("reset", after=True)
HANG = Fault("hang")
HANG_AFTER = Fault("hang", after=True)
TRICKLE = Fault("trickle", after=True)
CUT = Fault("cut", after=True)


class Seen(NamedTuple):
    """A request that came through, and what happened to it."""

    method: str
    path: str
    fault: Fault | None


class FaultProxy(Serving):
    """A running proxy before `upstream`; every request takes so many seconds longer, a write `put_seconds`."""

    def __init__(self, upstream: str, *, get_seconds: float = 0.0, put_seconds: float = 0.0, seed: int = 0) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.seen: list[Seen] = []
        self._seconds = {"GET": get_seconds}
        self._put_seconds = put_seconds
        self._lock = threading.Lock()
        self._scripts: defaultdict[str, deque[Fault | None]] = defaultdict(deque)
        self._chances: defaultdict[str, list[tuple[Fault, float]]] = defaultdict(list)
        self._random = random.Random(seed)
        super().__init__(_Handler)

    def script(self, method: str, *faults: Fault | None) -> None:
        """What happens to the next requests of this method, one each; None lets one pass."""
        with self._lock:
            self._scripts[method].extend(faults)

    def chance(self, method: str, fault: Fault, probability: float) -> None:
        """Let this happen to requests of this method now and then; may be said of several faults."""
        with self._lock:
            self._chances[method].append((fault, probability))

    def calm(self) -> None:
        """Let every request pass from now on."""
        with self._lock:
            self._scripts.clear()
            self._chances.clear()

    def count(self, method: str) -> int:
        """How many requests of this method have come."""
        return sum(seen.method == method for seen in self.seen)

    def next_fault(self, method: str, path: str) -> Fault | None:
        """What happens to this request."""
        with self._lock:
            fault = self._scripts[method].popleft() if self._scripts[method] else self._draw(method)
            self.seen.append(Seen(method, path, fault))
            return fault

    def delay_seconds(self, method: str) -> float:
        """How much longer a request of this method takes."""
        return self._seconds.get(method, self._put_seconds)

    def _draw(self, method: str) -> Fault | None:
        return next((fault for fault, chance in self._chances[method] if self._random.random() < chance), None)


class _Handler(Handler):
    def setup(self) -> None:
        super().setup()
        self._upstream = HTTPConnection(self.proxy.upstream, timeout=30)

    def finish(self) -> None:
        self._upstream.close()
        super().finish()

    @property
    def proxy(self) -> FaultProxy:
        return cast(FaultProxy, cast(Any, self.server).owner)

    def do_GET(self) -> None:
        body = self.body()
        fault = self.proxy.next_fault(self.command, self.path)
        self.proxy.stopping.wait(self.proxy.delay_seconds(self.command))
        if fault is None:
            self._pass_on(*self._ask(body))
        elif fault.after:
            self._break(fault, *self._ask(body))
        else:
            self._break(fault, None, b"")

    do_POST = do_PUT = do_DELETE = do_GET

    def _ask(self, body: bytes) -> tuple[HTTPResponse, bytes]:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        self._upstream.request(self.command, self.path, body, headers)
        response = self._upstream.getresponse()
        return response, response.read()

    def _pass_on(self, response: HTTPResponse, body: bytes) -> None:
        self.answer(response.status, body, **_headers(response))

    def _break(self, fault: Fault, response: HTTPResponse | None, body: bytes) -> None:
        self.close_connection = True
        if fault.kind == "status":
            self.close_connection = False
            self.answer(fault.status, b"{}", **({"Retry_After": fault.retry_after} if fault.retry_after else {}))
        elif fault.kind == "reset":
            self._reset()
        elif fault.kind == "hang":
            self.proxy.stopping.wait()
        elif fault.kind == "cut" and response:
            self._begin(response, len(body))
            self.wfile.write(body[: len(body) // 2])
        elif fault.kind == "trickle" and response:
            self._begin(response, len(body))
            self._trickle(body)

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())  # a close of the socket object would wait for its files, and say FIN first

    def _begin(self, response: HTTPResponse, size: int) -> None:
        self.send_response(response.status)
        for name, value in {**_headers(response), "Content-Length": str(size)}.items():
            self.send_header(name, value)
        self.end_headers()

    def _trickle(self, body: bytes) -> None:
        for at in range(len(body)):
            self.wfile.write(body[at : at + 1])
            self.wfile.flush()
            if self.proxy.stopping.wait(TRICKLE_SECONDS):
                return


def _headers(response: HTTPResponse) -> dict[str, str]:
    return {name: value for name, value in response.getheaders() if name.lower() not in HOP_BY_HOP}
