"""Counting the processes that the code under test starts."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_listeners: list[list[str]] = []
_hooked = False


@contextmanager
def started_processes() -> Iterator[list[str]]:
    """The git sub-commands of the processes that are started in the block, as they are started."""
    _hook()
    commands: list[str] = []
    with _lock:
        _listeners.append(commands)
    try:
        yield commands
    finally:
        with _lock:
            _listeners.remove(commands)


def _hook() -> None:
    """Listen to the interpreter's audit events (PEP 578); a hook cannot be taken away, so there is one."""
    global _hooked
    with _lock:
        if not _hooked:
            sys.addaudithook(_audit)
            _hooked = True


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event == "subprocess.Popen" and _listeners:
        words = [str(word) for word in arguments[1]] if isinstance(arguments[1], list) else []
        git = words[words.index("git") + 1 :] if "git" in words else words
        command = _sub_command(git)
        for commands in list(_listeners):
            commands.append(command)


def _sub_command(words: list[str]) -> str:
    rest = iter(words)
    for word in rest:
        if word == "-c":
            next(rest)
        elif not word.startswith("-"):
            return word
    return ""
