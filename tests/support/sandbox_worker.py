"""A worker for the sandbox's tests: it runs the Python it is sent, which puts what it finds into `found`.

What raises is answered by the name of the exception. The policy has no part in this: only the OS layer is judged.
"""

import ctypes
import errno
import json
import mmap
import os
import resource
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable

NAMES = {
    "ctypes": ctypes,
    "errno": errno,
    "mmap": mmap,
    "os": os,
    "resource": resource,
    "select": select,
    "signal": signal,
    "socket": socket,
    "subprocess": subprocess,
    "time": time,
}


def main(request: bytes, write: Callable[[bytes], None]) -> None:
    """Run `request` as Python and answer with `found` as JSON."""
    found: list[object] = []
    exec(compile(request, "request", "exec"), {**NAMES, "found": found, "attempt": _attempt, "write": write})
    write(json.dumps(found).encode())


def _attempt(what: Callable[[], object]) -> object:
    """What `what` returns, or the name of the error it raises."""
    try:
        result = what()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "OSError")
    except MemoryError:
        return "MemoryError"
    return result if isinstance(result, (str, int, list, type(None))) else str(result)
