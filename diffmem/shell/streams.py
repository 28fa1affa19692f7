"""The three standard streams of a command: redirections as descriptors, and whole writes.

Standard library only: this module runs in the worker.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from diffmem.shell.policy import Refused, paths
from diffmem.shell.policy.verdict import BadValue
from diffmem.shell.processes import Processes
from diffmem.shell.rules import Rules
from diffmem.shell.state import State
from diffmem.shell.tree import Redirect, Word


class RedirectError(Exception):
    """The target of a redirection cannot be read; its command fails with status 1."""


class Streams:
    """Makes descriptors for redirections; `text` expands a word."""

    def __init__(self, rules: Rules, state: State, processes: Processes, text: Callable[[Word], str]) -> None:
        self._rules = rules
        self._state = state
        self._processes = processes
        self._text = text
        self.null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)

    @contextmanager
    def opened(self, redirects: Sequence[Redirect]) -> Iterator[list[tuple[int, int]]]:
        """The pairs (source, descriptor) to duplicate in order; what was opened for them is closed afterwards."""
        opened: list[int] = []
        writers: list[int] = []
        try:
            pairs: list[tuple[int, int]] = []
            for redirect in redirects:
                pairs.append((self._source(redirect, opened, writers), redirect.fd))
            yield pairs
        finally:
            for descriptor in opened:
                os.close(descriptor)
        for writer in writers:  # after an error its reader may live on: whoever ends that ends the writer too
            self._processes.wait(writer)

    @contextmanager
    def replaced(self, redirects: Sequence[Redirect]) -> Iterator[None]:
        """This process's own streams redirected, and put back afterwards."""
        if not redirects:
            yield
            return
        with self.opened(redirects) as pairs:
            saved = [(os.dup(fd), fd) for fd in sorted({fd for _, fd in pairs})]
            try:
                for source, fd in pairs:
                    os.dup2(source, fd)
                yield
            finally:
                for source, fd in saved:
                    os.dup2(source, fd)
                    os.close(source)

    def _source(self, redirect: Redirect, opened: list[int], writers: list[int]) -> int:
        if redirect.kind == "copy":
            return redirect.source
        if redirect.kind == "null":
            return self.null
        text = self._text(redirect.word)
        if redirect.kind == "file":
            opened.append(self._open(text))
        else:
            opened.append(self._pipe(text + ("\n" if redirect.kind == "line" else ""), writers))
        return opened[-1]

    def _open(self, path: str) -> int:
        try:
            self._rules.path(path, self._state.place)
        except BadValue as error:
            raise Refused(f"< {path!r} {error}") from None
        if path == paths.NULL:
            return os.dup(self.null)
        try:
            descriptor = os.open(os.path.realpath(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise RedirectError(f"{path}: {error.strerror}") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) and not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise Refused(f"< {path!r} is neither a file nor a directory")
        return descriptor

    def _pipe(self, text: str, writers: list[int]) -> int:
        """The reading end of a pipe that holds `text`; what a pipe cannot hold at once is written by a process."""
        data = text.encode(errors="surrogateescape")
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        with suppress(BlockingIOError):
            while data:
                data = data[os.write(writing, data) :]
        if data:
            os.set_blocking(writing, True)
            writers.append(self._processes.fork(lambda: self._write(writing, data, reading)))
        os.close(writing)
        return reading

    def _write(self, writing: int, data: bytes, reading: int) -> int:
        os.close(reading)
        self._processes.write(writing, data)
        return 0
