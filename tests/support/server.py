"""The function in a process of its own, as it is deployed: functions-framework and gunicorn on a port of loopback."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from diffmem.config import VARIABLES
from diffmem.demo.server import free_port

ROOT = Path(__file__).parent.parent.parent
_START_SECONDS = 60.0


class Server:
    """A running server; `worker` is the process that answers."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, output: Path) -> None:
        self.process = process
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._output = output

    def call(self, method: str, path: str, body: Any = None, timeout: float = 60.0) -> tuple[int, Any]:
        """Status and decoded answer; an error's too."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def lines(self) -> list[dict[str, Any]]:
        """The log so far."""
        return [json.loads(line) for line in self._output.read_text().splitlines() if line.startswith("{")]

    def text(self) -> str:
        """Everything that was printed so far."""
        return self._output.read_text(errors="replace")

    @property
    def worker(self) -> int:
        """The process id of gunicorn's one worker."""
        (worker,) = children(self.process.pid)
        return worker

    def stop(self, seconds: float = 30.0) -> int:
        """The exit code after SIGTERM."""
        self.process.terminate()
        return self.process.wait(seconds)


@contextmanager
def server(folder: Path, environment: Mapping[str, str]) -> Iterator[Server]:
    """A server on a bucket in `folder` that answers; nothing of it is left when the block ends."""
    port = free_port()
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    wanted = {"DIFFMEM_STORE": f"file:{folder / 'bucket'}", "DIFFMEM_CACHE": str(folder / "cache"), "THREADS": "4"}
    command = [sys.executable, "-m", "functions_framework", "--target", "diffmem", "--source", str(ROOT / "main.py")]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    output = folder / "output"
    with output.open("wb") as file:
        process = subprocess.Popen(
            command,
            env={**kept, "DIFFMEM_SANDBOX": "prefer", **wanted, **environment},
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    running = Server(process, port, output)
    try:
        _wait(running)
        yield running
    finally:
        for pid in [process.pid, *descendants(process.pid)]:
            _kill(pid)
        process.wait()


def children(pid: int) -> list[int]:
    """The children of a process."""
    try:
        found = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(child) for path in found for child in path.read_text().split()]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs."""
    found = children(pid)
    return [*found, *(each for child in found for each in descendants(child))]


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and is not collected yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _wait(running: Server) -> None:
    give_up = time.monotonic() + _START_SECONDS
    while time.monotonic() < give_up and running.process.poll() is None:
        try:
            running.call("GET", "/")  # 404: nothing is opened for it
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise RuntimeError(f"the server did not start: {running.text()[-2000:]}")
