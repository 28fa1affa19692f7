"""An HTTP server on the loopback for tests: a thread for each connection, none of which outlives `close()`."""

import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class Handler(BaseHTTPRequestHandler):
    """Keeps connections alive, sends each answer in one write, and logs nothing."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 256 * 1024

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""

    def body(self) -> bytes:
        """The request's body, whole."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Send an answer; `_` in the name of a header stands for `-`."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Serving:
    """A running server, whose handlers find it as `self.server.owner`; a context manager."""

    def __init__(self, handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None) -> None:
        self.stopping = threading.Event()  # what a handler waits on in place of sleeping
        self._server = _Server(handler, self)
        self._scheme = "https" if tls else "http"
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`, or `https`."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Stop listening, break every connection, and wait for every thread."""
        self.stopping.set()
        self._server.shutdown()
        self._server.break_connections()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, handler: type[BaseHTTPRequestHandler], owner: Serving) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.owner = owner
        self._open: set[Any] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: clients break connections, which is what they are here for."""

    def break_connections(self) -> None:
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it has ended by itself
