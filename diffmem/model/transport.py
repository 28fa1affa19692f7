"""HTTP for the openai SDK where a time-out bounds the whole exchange.

httpx counts a time-out anew for every read, so an answer that trickles, one byte every 200 ms, never times out. Here
the time-out of a request becomes a point in time when the request starts, and every wait on the socket (name lookup,
connect, TLS, each write, each byte of the head and of the body) gets what is left until then. When time is over the
socket is closed by the thread that waited: there is no watchdog, and nothing is left behind.

*Covered*: time; the size of an answer; encoded bodies (refused: we ask for none, and a small one may unpack to
gigabytes); redirects (not followed: each would start the clock again, and the key would travel).
*Not covered*: SOCKS and https:// proxies.

This module imports httpx2, 50 ms, and is itself imported at first use.
"""

import contextlib
import select
import socket
import ssl
import time
import urllib.request
from collections.abc import Iterable, Iterator
from typing import Any

import httpcore2
import httpx2

from diffmem.model.addresses import Address, Addresses

_CONNECT_SHARE_SECONDS = 3.0
_IDLE_SECONDS = 30.0
_FOREIGN = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class AnswerTooLarge(httpx2.TransportError):
    """The body is longer than anything a chat model has to say, or encoded."""


class DeadlineTransport(httpx2.BaseTransport):
    """Sends requests over connections that know when to stop; at most four idle ones are kept, for 30 s."""

    def __init__(self, base_url: str, addresses: Addresses, max_answer_bytes: int) -> None:
        self._max_answer_bytes = max_answer_bytes
        self._pool = _pool(httpx2.URL(base_url), _Backend(addresses))

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, its head read; `timeout` of the request's extensions bounds head and body together."""
        seconds = request.extensions["timeout"]["read"]
        until = time.monotonic() + seconds
        # httpcore hands these through to the stream's methods as they are: points in time here, not durations.
        timeout = {"connect": until, "read": until, "write": until, "pool": seconds}
        try:
            response = self._pool.handle_request(_core_request(request, timeout))
        except _FOREIGN as error:
            raise _translated(error) from error
        body = _Body(response, self._max_answer_bytes)
        answer = httpx2.Response(response.status, headers=response.headers, stream=body)
        if answer.headers.get("content-encoding", "identity").lower() not in ("identity", ""):
            body.close()
            raise AnswerTooLarge("the answer is encoded though no encoding was asked for")
        return answer

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


class _Body(httpx2.SyncByteStream):
    def __init__(self, response: httpcore2.Response, max_bytes: int) -> None:
        self._response = response
        self._max_bytes = max_bytes

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        try:
            for piece in self._response.iter_stream():
                size += len(piece)
                if size > self._max_bytes:
                    raise AnswerTooLarge(f"the answer is longer than {self._max_bytes} bytes")
                yield piece
        except _FOREIGN as error:
            raise _translated(error) from error

    def close(self) -> None:
        self._response.close()


class _Backend(httpcore2.NetworkBackend):
    """Opens connections; `timeout` is a point in time of `time.monotonic`."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        until = _point(timeout)
        try:
            found = self._addresses.of(host, _left(until))
            return _Stream(self._connect(found, port, until))
        except TimeoutError as error:
            self._addresses.doubt(host)
            raise httpcore2.ConnectTimeout(str(error)) from error
        except OSError as error:
            self._addresses.doubt(host)
            raise httpcore2.ConnectError(str(error)) from error

    def _connect(self, found: tuple[Address, ...], port: int, until: float) -> socket.socket:
        for address in found[:-1]:
            try:
                return _connected(address, port, min(_CONNECT_SHARE_SECONDS, _left(until) / 2))
            except OSError:
                continue  # the next address may do better
        return _connected(found[-1], port, _left(until))


class _Stream(httpcore2.NetworkStream):
    """A connection; every `timeout` is a point in time of `time.monotonic`."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            self._socket.settimeout(_left(_point(timeout)))
            return self._socket.recv(max_bytes)
        except TimeoutError as error:
            raise httpcore2.ReadTimeout(str(error)) from error
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        rest = memoryview(buffer)
        try:
            while rest:
                self._socket.settimeout(_left(_point(timeout)))
                rest = rest[self._socket.send(rest) :]
        except TimeoutError as error:
            raise httpcore2.WriteTimeout(str(error)) from error
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    def close(self) -> None:
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        try:
            # A handshake's time-out bounds all of it, unlike a read's (CPython, Modules/_ssl.c).
            self._socket.settimeout(_left(_point(timeout)))
            return _Stream(ssl_context.wrap_socket(self._socket, server_hostname=server_hostname))
        except TimeoutError as error:
            self.close()
            raise httpcore2.ConnectTimeout(str(error)) from error
        except OSError as error:
            self.close()
            raise httpcore2.ConnectError(str(error)) from error

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # asked of an idle connection: something to read means that the peer has closed it
            poll = select.poll()
            poll.register(self._socket, select.POLLIN)
            return bool(poll.poll(0))
        return None


def _connected(address: Address, port: int, seconds: float) -> socket.socket:
    with contextlib.ExitStack() as undo:
        connection = undo.enter_context(socket.socket(address.family, socket.SOCK_STREAM))
        connection.settimeout(seconds)
        connection.connect((address.host, port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        undo.pop_all()
    return connection


def _point(timeout: float | None) -> float:
    if timeout is None:
        raise httpcore2.LocalProtocolError("every exchange has a deadline")
    return timeout


def _left(until: float) -> float:
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("out of time")
    return seconds


def _core_request(request: httpx2.Request, timeout: dict[str, float]) -> httpcore2.Request:
    url = httpcore2.URL(
        scheme=request.url.raw_scheme, host=request.url.raw_host, port=request.url.port, target=request.url.raw_path
    )
    return httpcore2.Request(
        request.method, url, headers=request.headers.raw, content=request.read(), extensions={"timeout": timeout}
    )


def _translated(error: Exception) -> httpx2.TransportError:
    if isinstance(error, httpcore2.TimeoutException):
        return httpx2.ReadTimeout(str(error))
    if isinstance(error, httpcore2.ConnectError):
        return httpx2.ConnectError(str(error))
    if isinstance(error, httpcore2.NetworkError):
        return httpx2.ReadError(str(error))
    if isinstance(error, httpcore2.UnsupportedProtocol):
        return httpx2.UnsupportedProtocol(str(error))
    return httpx2.RemoteProtocolError(str(error))


def _pool(base_url: httpx2.URL, backend: httpcore2.NetworkBackend) -> httpcore2.ConnectionPool:
    settings: dict[str, Any] = {
        "ssl_context": httpx2.create_ssl_context() if base_url.scheme == "https" else None,
        "max_connections": None,
        "max_keepalive_connections": 4,
        # Longer, and a frozen instance wakes up to connections that something in between has long forgotten.
        "keepalive_expiry": _IDLE_SECONDS,
        "network_backend": backend,
    }
    proxy = _proxy(base_url)
    if proxy is None:
        return httpcore2.ConnectionPool(**settings)
    url = httpcore2.URL(scheme=proxy.url.raw_scheme, host=proxy.url.raw_host, port=proxy.url.port, target="/")
    return httpcore2.HTTPProxy(proxy_url=url, proxy_auth=proxy.raw_auth, **settings)


def _proxy(base_url: httpx2.URL) -> httpx2.Proxy | None:
    """The proxy that HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY name for the provider; never one for this machine.

    Raises:
        httpx2.UnsupportedProtocol: of a scheme other than http.
    """
    if base_url.host in _LOOPBACK or urllib.request.proxy_bypass(base_url.host):
        return None
    named = urllib.request.getproxies()
    url = named.get(base_url.scheme) or named.get("all")
    if url is None:
        return None
    proxy = httpx2.Proxy(url if "://" in url else f"http://{url}")
    if proxy.url.scheme != "http":
        raise httpx2.UnsupportedProtocol(f"a proxy with the scheme {proxy.url.scheme!r}")
    return proxy
