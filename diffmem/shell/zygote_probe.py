"""The self-test of a confined worker: it attempts what must not work, and one thing that must.

The answers are what `SandboxStatus` is made from: a layer is in force when its attempt failed, not when its system
call succeeded.
"""

import mmap
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from diffmem.shell import zygote_confine
from diffmem.shell.policy import binaries
from diffmem.shell.zygote_confine import Plan

FILE = "probe.txt"
"""The file that the tree of a self-test holds."""


REQUIRED = ("read inside", "run listed")
"""What every worker must be able to do."""


def forbidden(plan: Plan) -> list[str]:
    """The attempts that must fail in a worker with `plan`."""
    walls = ["read outside", "list outside", "read the server", "write", "create", "run unlisted"]
    return [
        *(walls if plan.landlock or plan.jail else []),
        *(["open a socket", "change metadata", "leave the session"] if plan.seccomp else []),
        *(["be the server's user", "write", "create"] if plan.other_uid else []),
    ]


def attempts(server: int) -> dict[str, bool]:
    """Which attempts succeeded, by name; `server` is the process whose environment must stay unreadable."""
    tries: Mapping[str, Callable[[], object]] = {
        "read outside": lambda: _read("/etc/passwd"),
        "list outside": lambda: list(Path("/proc").iterdir()),
        "read the server": lambda: _read(f"/proc/{server}/environ"),
        "read inside": lambda: _read(FILE),
        "write": lambda: os.close(os.open(FILE, os.O_WRONLY)),
        "create": lambda: os.close(os.open("new.txt", os.O_WRONLY | os.O_CREAT)),
        "change metadata": lambda: os.utime(FILE),
        "open a socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close(),
        "leave the session": _leave_session,
        "run unlisted": lambda: _run("/bin/sh", "-c", "exit 0"),
        "run listed": lambda: _run(binaries.find("cat") or "", "--", FILE),
        "exceed memory": lambda: mmap.mmap(
            -1, 2 * zygote_confine.MEMORY_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        ).close(),
        "be the server's user": _be_root,
    }
    return {name: _succeeds(attempt) for name, attempt in tries.items()}


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (OSError, MemoryError):
        return False
    return True


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 1)
    finally:
        os.close(descriptor)


def _run(program: str, *arguments: str) -> None:
    actions = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    child = os.posix_spawn(program, [program, *arguments], {}, file_actions=actions)
    _, status = os.waitpid(child, 0)
    if status:
        raise ChildProcessError(status)


def _leave_session() -> None:
    """In a child: the leader of a session cannot leave it anyway."""
    child = os.fork()
    if child == 0:
        os._exit(0 if _succeeds(os.setsid) else 1)
    _, status = os.waitpid(child, 0)
    if status:
        raise PermissionError


def _be_root() -> None:
    if os.getuid() == zygote_confine.WORKER_UID:
        raise PermissionError
