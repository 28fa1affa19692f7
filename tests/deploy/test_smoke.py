"""deploy/smoke.sh against the function as it is served, and against servers that are not what it looks for."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path, PurePath

import pytest

from diffmem.repository.names import manifest_name
from tests.support.serving import Handler, Serving

ROOT = Path(__file__).parents[2]
KEY = "a-key-of-some-length"


class Yes(Handler):
    """Answers everything with the same words, and tells `Agreeing` what it was asked."""

    def agree(self) -> None:
        """One answer for every method."""
        self.body()
        self.server.owner.asked.append(f"{self.command} {self.path}")  # type: ignore[attr-defined]
        self.answer(201 if self.command == "PUT" else 200, b'{"status": "fine"}', Content_Type="application/json")

    do_GET = do_PUT = do_POST = do_DELETE = agree


class Agreeing(Serving):
    """A server that says yes to everything; `asked` is what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(Yes)


def smoke(url: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(
        [ROOT / "deploy" / "smoke.sh", url], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The function as `make serve` serves it, with keys: its URL, and the folder of its bucket."""
    store, port = tmp_path_factory.mktemp("smoke"), _free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "DIFFMEM_STORE": f"file:{store}",
        "DIFFMEM_CACHE": str(tmp_path_factory.mktemp("cache")),
        "DIFFMEM_AUTH": "key",
        "DIFFMEM_API_KEYS": f"smoke:{KEY}:smoke-*",
    }
    command = [
        sys.executable,
        "-m",
        "functions_framework",
        "--target",
        "diffmem",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    log = tmp_path_factory.mktemp("log") / "stderr"
    with (
        log.open("w") as errors,
        subprocess.Popen(command, cwd=ROOT, env=environment, stderr=errors, stdout=errors) as server,
    ):
        try:
            assert _is_served(f"http://127.0.0.1:{port}/health", server), log.read_text()[-2000:]
            yield f"http://127.0.0.1:{port}", store
        finally:
            server.terminate()


def _free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return int(chosen.getsockname()[1])


def _is_served(url: str, server: subprocess.Popen[bytes]) -> bool:
    give_up = time.monotonic() + 30
    while time.monotonic() < give_up and server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=10).close()
        except urllib.error.HTTPError:
            return False
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
        else:
            return True
    return False


def test_every_step_holds_and_nothing_is_left(served: tuple[str, Path]) -> None:
    url, store = served
    done = smoke(url, KEY=KEY)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.endswith(f"ok: every step held at {url}\n")
    assert [line.split("  ")[0] for line in done.stdout.splitlines() if line.startswith("gone")] == [
        "gone",
        "gone for the tool too",
    ]
    assert [path for path in store.rglob(PurePath(manifest_name("")).name) if path.is_file()] == []


def test_a_wrong_key_fails_with_the_answer_shown(served: tuple[str, Path]) -> None:
    done = smoke(served[0], KEY="a-key-of-nobody-at-all")
    assert done.returncode == 1
    assert "create a user: PUT /v1/users/smoke-" in done.stderr
    assert "answered 401, not 201" in done.stderr
    assert "/problems/unauthenticated" in done.stderr


def test_the_key_is_never_shown(served: tuple[str, Path]) -> None:
    done = smoke(served[0], KEY=KEY)
    assert KEY not in done.stdout + done.stderr


def test_nobody_there_fails() -> None:
    done = smoke(f"http://127.0.0.1:{_free_port()}")
    assert done.returncode == 1
    assert "FAILED: health: no answer" in done.stderr


def test_a_server_that_says_yes_to_everything_fails_and_is_asked_to_erase() -> None:
    with Agreeing() as agreeing:
        done = smoke(agreeing.url)
    assert done.returncode == 1
    assert "remember" in done.stderr
    assert agreeing.asked[-1].startswith("DELETE /v1/users/smoke-")


def test_without_a_url_it_says_how_it_is_called() -> None:
    done = subprocess.run([ROOT / "deploy" / "smoke.sh"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "usage: deploy/smoke.sh URL" in done.stderr
