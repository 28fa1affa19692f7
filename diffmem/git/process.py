"""One git process from start to end: started by GitPython, never by a shell, and gone when its deadline is.

*Covered*: the environment is `environment(checkout)` and nothing else (`env -i`: GitPython itself would hand down the
server's, with its keys); the process is its own group, and the whole group is killed when time is up; an error names
the sub-command and never a path of the host. *Not covered*: output is held in memory, so a caller bounds what it asks
for.
"""

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from diffmem.errors import DeadlineExceeded, GitError, StorageUnavailable
from diffmem.git.environment import FLAGS, Checkout, environment
from diffmem.limits import Deadline

_HOST_PATH = re.compile(r"(?<![\w.])/[^\s'\":]+")
_NO_ROOM = re.compile(rb"No space left on device|Out of diskspace|Disk quota exceeded|Read-only file system")
_MAX_DETAIL_CHARS = 200


@dataclass(frozen=True, slots=True)
class Finished:
    """What a process wrote on its standard output, and the code it ended with."""

    output: bytes
    exit_code: int


def run(
    checkout: Checkout,
    args: Sequence[str],
    deadline: Deadline,
    *,
    stdin: bytes | BinaryIO | None = None,
    extra: Mapping[str, str] | None = None,
    allowed: Sequence[int] = (0,),
) -> Finished:
    """The end of `git ARGS...` on `checkout`; `extra` adds variables to its environment.

    `stdin` is what it reads, or an open file, read from where its descriptor stands.

    Raises:
        GitError: an exit code that is not among `allowed`.
        StorageUnavailable: that, and it had no room to write in: neither the memory nor what was asked is at fault.
        DeadlineExceeded: the process was still running at the deadline, and is now dead.
    """
    deadline.check(f"git {args[0]}")
    given, source = (stdin, subprocess.PIPE) if isinstance(stdin, bytes) else (None, stdin)
    process = start(checkout, args, stdin=source, extra=extra)
    try:
        output, errors = process.communicate(given, timeout=deadline.remaining())
    except subprocess.TimeoutExpired as error:
        raise DeadlineExceeded(f"out of time during git {args[0]}") from error
    finally:
        kill(process)
    if process.returncode not in allowed:
        if no_room := _NO_ROOM.search(errors):
            raise StorageUnavailable(f"git {args[0]} could not write: {no_room[0].decode()}")
        raise GitError(f"git {args[0]} failed with exit code {process.returncode}: {_detail(errors)}")
    return Finished(output, process.returncode)


def start(
    checkout: Checkout,
    args: Sequence[str],
    *,
    stdin: int | BinaryIO | None = None,
    extra: Mapping[str, str] | None = None,
) -> "subprocess.Popen[bytes]":
    """`git ARGS...` as a process in a group of its own, which the caller ends with `kill`; `run` does all of that.

    `stdin` is `subprocess.PIPE` or an open file, read from where its descriptor stands.
    """
    variables = {**environment(checkout), **(extra or {})}
    command = ["/usr/bin/env", "-i", *(f"{k}={v}" for k, v in variables.items()), "git", *FLAGS, *args]
    try:
        from git.cmd import Git  # it runs `git version` and costs 0.1 s: not before the first command
    except ImportError as error:
        raise GitError("git is not installed, or not on the server's PATH") from error
    started = Git("/").execute(command, istream=stdin, as_process=True, start_new_session=True)
    assert started.proc is not None
    process, started.proc = started.proc, None  # else its finaliser would signal a process that we have reaped
    return process


def kill(process: "subprocess.Popen[bytes]") -> None:
    """End the process group of a process that has not ended, and collect it."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if process.stdin is not None:
            process.stdin.close()  # a second `communicate`, after one that ran out of time, leaves it open


def _detail(errors: bytes) -> str:
    text = _HOST_PATH.sub("PATH", errors.decode("utf-8", "replace")).strip()
    return " ".join(text.split())[:_MAX_DETAIL_CHARS] or "no message"
