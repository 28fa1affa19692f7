"""HTTP connections whose time-out bounds a whole exchange, not each read of it.

A read time-out alone lets an answer that trickles, a byte now and then, go on for ever. Here the time given to a
request is what connecting, sending it and reading the whole answer may take together, and nothing may stand still for
longer than `STALL_SECONDS`. The time travels as `Until`, a time-out of urllib3, which requests hands on untouched.

*Not covered*: resolving a name, and asking the machine's metadata server for a token, which have time-outs of their
own; a host with several addresses of which none answers: each may take `CONNECT_SECONDS`.
"""

import http.client
import io
import math
import socket
import time
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection

CONNECT_SECONDS = 3.0
STALL_SECONDS = 10.0
LEAST_SECONDS = 0.001
POOL_CONNECTIONS = 32


class Until(Timeout):
    """A time-out that ends `seconds` from now, for all the exchanges together that one call of the client takes."""

    def __init__(self, seconds: float) -> None:
        super().__init__(total=max(seconds, LEAST_SECONDS))
        self._until = time.monotonic() + seconds

    def clone(self) -> Timeout:
        """What is left, for the exchange that begins now: urllib3 clones a time-out before it uses it."""
        return Timeout(total=max(LEAST_SECONDS, self._until - time.monotonic()))


class BoundedAdapter(HTTPAdapter):
    """An adapter of requests for `POOL_CONNECTIONS` parallel exchanges, none of which is ever repeated."""

    def __init__(self) -> None:
        super().__init__(pool_maxsize=POOL_CONNECTIONS, max_retries=0)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Make the pools that direct connections come from."""
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """The pools that connections through `proxy` come from."""
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = POOLS
        return manager


class _Answer(io.RawIOBase):
    """The bytes of one answer, within the time its socket was given when it began."""

    def __init__(self, raw: io.RawIOBase, connection: socket.socket) -> None:
        seconds = connection.gettimeout()
        self._until = math.inf if seconds is None else time.monotonic() + seconds
        self._raw = raw
        self._connection = connection

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def readinto(self, buffer: Any) -> int | None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._connection.settimeout(min(left, STALL_SECONDS))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp = io.BufferedReader(_Answer(self.fp.detach(), sock))


class BoundedConnection(HTTPConnection):
    """A connection that connects, sends a request and reads its answer within the one time it is given."""

    response_class = _Response
    _send_until = math.inf

    def connect(self) -> None:
        """Connect within `CONNECT_SECONDS`, and take the time it took off what is left for the request."""
        whole, began = self.timeout, time.monotonic()
        self.timeout = CONNECT_SECONDS if whole is None else min(whole, CONNECT_SECONDS)
        try:
            super().connect()
        finally:
            self.timeout = None if whole is None else max(LEAST_SECONDS, whole - (time.monotonic() - began))

    def request(self, *args: Any, **options: Any) -> None:
        """Send a request, its body included, within the time-out of this connection."""
        self._send_until = math.inf if self.timeout is None else time.monotonic() + self.timeout
        super().request(*args, **options)

    def send(self, data: Any) -> None:
        """Send a piece of a request, in what is left of its time."""
        if self.sock is not None:
            self.sock.settimeout(min(STALL_SECONDS, max(LEAST_SECONDS, self._send_until - time.monotonic())))
        super().send(data)


class BoundedHTTPSConnection(BoundedConnection, HTTPSConnection):
    """A `BoundedConnection` over TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = BoundedConnection


class _HTTPSPool(HTTPSConnectionPool):
    ConnectionCls = BoundedHTTPSConnection


POOLS: dict[str, type[HTTPConnectionPool]] = {"http": _Pool, "https": _HTTPSPool}
