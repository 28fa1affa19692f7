"""The function as a child process, served by functions-framework on loopback, and a small client for it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
_START_SECONDS = 30.0
_STOP_SECONDS = 10.0


class Client:
    """JSON over HTTP to one server."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The decoded answer.

        Raises:
            RuntimeError: the server answered an error; the message is its problem's detail.
        """
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.base_url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                answer: dict[str, Any] = json.load(response)
                return answer
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.code} {error.read().decode(errors='replace')}") from error


@contextmanager
def serving(environment: Mapping[str, str], log: Path) -> Iterator[Client]:
    """A client of the function, served with `environment` added to this process's own; stopped when the block ends."""
    port = free_port()
    command = [sys.executable, "-m", "functions_framework", "--target", "diffmem", "--source", str(ROOT / "main.py")]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    client = Client(f"http://127.0.0.1:{port}")
    try:
        _wait(client, process, log)
        yield client
    finally:
        _stop(process)


def free_port() -> int:
    """A TCP port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(client: Client, process: subprocess.Popen[bytes], log: Path) -> None:
    give_up = time.monotonic() + _START_SECONDS
    while time.monotonic() < give_up and process.poll() is None:
        try:
            client.call("GET", "/health")
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"the server did not start; its log {log.name} ends: {log.read_text(errors='replace')[-2000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
