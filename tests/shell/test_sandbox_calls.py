"""The life of the sandbox: what is left when a call is over, deadlines, threads, forks, deaths, modes."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from diffmem.errors import ToolUnavailable
from diffmem.shell import landlock, seccomp
from diffmem.shell.sandbox import Sandbox
from diffmem.shell.sandbox_process import WorkerFailed
from tests.support.boxes import (
    WALLS,
    WORKER,
    Box,
    Place,
    assert_idle,
    is_gone,
    walled,
    walled_box,
    zygotes,
)  # fmt: skip

ROOT = Path(__file__).parents[2]
SYSTEM_PYTHON = Path("/usr/bin/python3")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")


@pytest.fixture(scope="module")
def bare(place: Place) -> Iterator[Box]:
    """Without any wall and without seccomp: only what the zygote itself does."""
    sandbox = Sandbox("off", worker=WORKER)
    yield Box(sandbox, place)
    sandbox.close()


STAYING = """
    child = os.fork()
    if child == 0:
        attempt(os.setsid)
        if os.fork():
            os._exit(0)
        attempt(os.setsid)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        write(str(os.getpid()).encode().rjust(20))
        time.sleep(600)
    os.waitpid(child, 0)
    time.sleep(0.05)
"""


def test_a_process_that_hides_is_gone_when_the_call_is_over(bare: Box) -> None:
    pid = int(bare.raw(STAYING)[:20])
    assert is_gone(pid)


def test_no_process_of_a_call_is_left_behind_a_wall(box: Box) -> None:
    box.raw(STAYING)
    assert_idle()


@pytest.mark.parametrize(
    "code",
    ["time.sleep(600)", "while True: pass", "os.kill(os.getpid(), signal.SIGSTOP); time.sleep(600)", "signal.pause()"],
)
def test_the_deadline_ends_a_call_with_all_it_started(box: Box, code: str) -> None:
    started = time.monotonic()
    with pytest.raises(WorkerFailed) as caught:
        box.raw(f"write(b'before')\nif os.fork() == 0: time.sleep(600)\n{code}", seconds=0.7)
    assert caught.value.reason == "deadline"
    assert caught.value.partial == b"before"
    assert time.monotonic() - started < 5
    assert_idle()


def test_an_answer_that_is_too_large_is_cut_off(box: Box) -> None:
    with pytest.raises(WorkerFailed) as caught:
        box.raw("while True: write(b'x' * 1000)", max_output_bytes=10_500)
    assert caught.value.reason == "too large"
    assert len(caught.value.partial) == 10_000


def test_a_worker_that_dies_or_raises_says_so(box: Box) -> None:
    with pytest.raises(WorkerFailed) as caught:
        box.raw("write(b'x'); os._exit(1)")
    assert (caught.value.reason, caught.value.partial) == ("died", b"x")
    with pytest.raises(WorkerFailed, match="ZeroDivisionError"):
        box.raw("1 / 0")
    assert box.run("found.append(1)") == [1]


def test_several_threads_call_at_once(box: Box) -> None:
    answers: list[Any] = []

    def call(number: int) -> None:
        for turn in range(3):
            answers.append(box.run(f"time.sleep(0.01); found.append({number * 10 + turn})")[0])

    threads = [threading.Thread(target=call, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == sorted(number * 10 + turn for number in range(6) for turn in range(3))
    assert_idle()


def test_a_zygote_that_died_is_started_anew(place: Place) -> None:
    sandbox = Sandbox("prefer", worker=WORKER)
    box = Box(sandbox, place)
    before = zygotes()
    assert box.run("found.append(1)") == [1]
    (zygote,) = zygotes() - before
    os.kill(zygote, signal.SIGKILL)
    assert box.run("found.append(2)") == [2]
    sandbox.close()
    assert zygotes() == before


def test_nothing_is_started_before_the_first_use_and_nothing_is_left_after_close(place: Place) -> None:
    before = zygotes()
    sandbox = Sandbox("prefer", worker=WORKER)
    assert zygotes() == before
    assert Box(sandbox, place).run("found.append(1)") == [1]
    assert len(zygotes()) == len(before) + 1
    sandbox.close()
    assert zygotes() == before
    assert Box(sandbox, place).run("found.append(2)") == [2]
    sandbox.close()


def test_the_status_says_what_is_in_force(place: Place) -> None:
    sandbox = Sandbox("require", worker=WORKER)
    status = sandbox.status()
    sandbox.close()
    assert status.mode == "require"
    assert status.landlock == (landlock.abi() > 0)
    assert status.seccomp == seccomp.supported()
    assert status.rlimits
    assert status.other_uid == (os.geteuid() == 0)
    assert status.usable == (status.landlock or status.jail)


@pytest.mark.skipif(landlock.abi() == 0, reason="this kernel has no Landlock")
def test_a_kernel_with_landlock_has_that_wall(place: Place) -> None:
    with walled_box("landlock", place) as box:
        assert box.sandbox.status().landlock


def test_a_kernel_with_namespaces_has_the_jail(place: Place) -> None:
    code = (
        "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x10000000 | 0x20000 | 0x20000000 | 0x40000000) != 0)"
    )
    if subprocess.run([sys.executable, "-c", code], timeout=20).returncode:
        pytest.skip("this kernel lets us make no namespaces")
    with walled_box("jail", place) as box:
        assert box.sandbox.status().jail


def test_require_refuses_where_no_wall_is_in_force(place: Place) -> None:
    sandbox = Sandbox("require", layers={"seccomp", "rlimits"}, worker=WORKER)
    assert not sandbox.status().usable
    with pytest.raises(ToolUnavailable, match="needs an OS sandbox"):
        Box(sandbox, place).run("found.append(1)")
    sandbox.close()


def test_prefer_serves_with_what_there_is(place: Place) -> None:
    sandbox = Sandbox("prefer", layers={"seccomp", "rlimits"}, worker=WORKER)
    status = sandbox.status()
    assert (status.landlock, status.jail, status.seccomp, status.usable) == (False, False, True, True)
    assert Box(sandbox, place).attempt("socket.socket()") == "EPERM"
    sandbox.close()


def test_off_confines_nothing_but_limits(bare: Box) -> None:
    status = bare.sandbox.status()
    assert (status.landlock, status.jail, status.seccomp, status.other_uid) == (False, False, False, False)
    assert status.rlimits and status.usable
    assert bare.attempt("open('/etc/passwd').read(4)") != "EACCES"


def test_a_worker_module_that_cannot_be_loaded_makes_the_tool_unavailable(place: Place, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import no_such_module\n")
    sandbox = Sandbox("prefer", worker=broken)
    status = sandbox.status()
    assert not status.usable
    assert "no_such_module" in status.detail
    with pytest.raises(ToolUnavailable):
        Box(sandbox, place).run("found.append(1)")


@pytest.mark.skipif(os.geteuid() != 0, reason="another user needs root")
def test_a_directory_only_root_may_enter_is_still_served(place: Place, tmp_path: Path) -> None:
    private = tmp_path / "private"
    (private / "tree").mkdir(parents=True)
    (private / "tree" / "file.txt").write_text("private\n")
    private.chmod(0o700)
    sandbox = walled("landlock")
    tree = private / "tree"
    box = Box(sandbox, Place(tree, tree, tree, place.outside))
    if not sandbox.status().usable:
        pytest.skip(sandbox.status().detail)
    assert box.run("found.append(open('file.txt').read())") == ["private\n"]
    assert box.attempt("open('/etc/passwd').read(1)") == "EACCES"
    assert box.attempt("open('file.txt', 'w')") == "EACCES"
    sandbox.close()


SERVER = """
import json, os, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from diffmem.limits import Deadline
from diffmem.shell.sandbox import Sandbox

sandbox = Sandbox("prefer", worker=Path({worker!r}))
tree = Path({tree!r})

def ask(code):
    return sandbox.call(code.encode(), tree, tree, tree, Deadline(20), 10_000_000).decode()

"""


def _server(place: Place, body: str, **environment: str) -> str:
    script = SERVER.format(root=str(ROOT), worker=str(WORKER), tree=str(place.tree)) + textwrap.dedent(body)
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **environment}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_canary_in_the_servers_environment_reaches_no_worker(place: Place) -> None:
    body = """
        import ctypes
        os.environ["CANARY_SET"] = "CANARY-SET"
        look = '''
        found.append(dict(os.environ))
        for pid in ["self", os.getpid(), os.getppid(), PID]:
            for name in ("environ", "cmdline", "maps"):
                found.append(attempt(lambda: open(f"/proc/{pid}/{name}").read()))
        environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
        at = 0
        while environ[at]:
            found.append(environ[at].decode())
            at += 1
        '''
        import textwrap
        print(ask(textwrap.dedent(look).replace("PID", str(os.getpid()))))
        sandbox.close()
    """
    assert "CANARY" not in _server(place, body, CANARY_KEY="CANARY-VALUE")


def test_a_forked_server_has_a_zygote_of_its_own(place: Place) -> None:
    body = """
        first = sandbox._ready()[0]._process.pid if json.loads(ask("found.append(1)")) == [1] else None
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            assert json.loads(ask("found.append(2)")) == [2]
            os.write(writing, str(sandbox._ready()[0]._process.pid).encode())
            sandbox.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        second = int(os.read(reading, 20))
        assert json.loads(ask("found.append(3)")) == [3]
        assert sandbox._ready()[0]._process.pid == first != second
        sandbox.close()
        print("well")
    """
    assert _server(place, body) == "well\n"


@pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/usr/bin/python3").exists(), reason="needs root and a Python for all"
)
@pytest.mark.parametrize("wall", WALLS)
def test_a_server_without_privileges_has_its_walls(wall: str) -> None:
    script = f"""
        import sys, types
        from pathlib import Path
        sys.dont_write_bytecode = True
        root = Path({str(ROOT)!r})
        for name, folder in (("diffmem", root / "diffmem"), ("diffmem.shell", root / "diffmem" / "shell")):
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__path__ = [str(folder)]
        from diffmem.limits import Deadline
        from diffmem.shell.sandbox import Sandbox
        sandbox = Sandbox("prefer", layers=[{wall!r}, "seccomp", "rlimits", "other_uid"], worker=Path({str(WORKER)!r}))
        status = sandbox.status()
        tree = root / "tests" / "support"
        code = b"found.append(attempt(lambda: open('/etc/passwd').read(4)))"
        print(status.{wall}, status.detail, sandbox.call(code, tree, tree, tree, Deadline(20), 1000))
        sandbox.close()
    """
    line = [str(SYSTEM_PYTHON), "-c", textwrap.dedent(script)]
    done = subprocess.run(line, user=1234, group=1234, extra_groups=[], capture_output=True, text=True, timeout=60)
    if "PermissionError" in done.stderr or "not permitted" in done.stdout or "SyntaxError" in done.stderr:
        pytest.skip("another user cannot read this checkout, make namespaces, or run this Python")
    assert done.stdout.startswith("True"), (done.stdout, done.stderr)
    assert "EACCES" in done.stdout or "ENOENT" in done.stdout


def test_a_server_that_is_killed_leaves_nothing(place: Place) -> None:
    body = """
        import signal, threading
        threading.Thread(target=lambda: ask("time.sleep(600)"), daemon=True).start()
        ask("found.append(1)")
        print(sandbox._ready()[0]._process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    script = SERVER.format(root=str(ROOT), worker=str(WORKER), tree=str(place.tree)) + textwrap.dedent(body)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    zygote = int(done.stdout)
    deadline = time.monotonic() + 10
    while not is_gone(zygote) and time.monotonic() < deadline:
        os.sched_yield()
    assert is_gone(zygote)
