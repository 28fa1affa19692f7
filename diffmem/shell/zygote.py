"""The zygote: a small process with an empty environment that forks one confined worker a call.

A fork of the server would copy the page tables of hundreds of megabytes and hand its memory, with every secret in it,
to the worker. This process has imported what a worker needs and holds nothing else.

While no call runs, it forks the worker of the next one ahead. It sends one frame on its control socket when it is
ready. An order on it is a length, a JSON object, and two descriptors:

* the channel: a socket on which the worker reads one frame (the request) and writes frames (what it passes to
  `write`), then an empty one at the end;
* the leash: when the server closes its end, everything the call started is killed; when all of it is gone, the zygote
  closes its own.

The zygote ends when the control socket closes. It has one thread and never waits for a worker that it has not killed.

*Covered*: everything a call started: its process group, and orphans, which come to this process
(PR_SET_CHILD_SUBREAPER).
*Not covered*: without seccomp, a process that left the group, as long as its parent lives and left as well.
"""

import contextlib
import gc
import importlib.util
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from diffmem.shell import linux, zygote_confine, zygote_frames, zygote_probe

Main = Callable[[bytes, Callable[[bytes], None]], None]
_SWEEPS = 100
_MAX_DESCRIPTORS = 1 << 20


@dataclass(frozen=True, slots=True)
class _Worker:
    """A forked worker that waits for its order on the other end of `orders`."""

    pid: int
    orders: socket.socket


class Zygote:
    """The loop: orders of the server, ends of leashes. While it is idle it forks the worker of the next call."""

    def __init__(self, control: socket.socket, main: Main) -> None:
        self._control = control
        self._main = main
        self._fixed = zygote_confine.prepare()
        self._poll = select.poll()
        self._spare: _Worker | None = None
        self._pids: dict[int, int] = {}
        self._leashes: dict[int, socket.socket] = {}

    def serve(self) -> None:
        """Serve until the control socket closes; then end every call."""
        self._poll.register(self._control, select.POLLIN)
        with contextlib.suppress(EOFError):
            while True:
                if not self._spare and not self._pids:
                    with contextlib.suppress(OSError):
                        self._spare = self._fork()
                for descriptor, _ in self._poll.poll():
                    if descriptor == self._control.fileno():
                        self._start()
                    else:
                        self._finish(descriptor)
        for descriptor in list(self._pids):
            self._finish(descriptor)
        if self._spare:
            _end(self._spare.pid)

    def _start(self) -> None:
        """Take an order and hand it to a worker."""
        order, (channel, leash) = zygote_frames.receive_order(self._control, 2)
        with channel:
            try:
                pid = self._hand_over(order, channel)
            except OSError as error:
                zygote_frames.send_error(channel, f"no worker can be started: {error.strerror}")
                leash.close()
                return
        self._pids[leash.fileno()] = pid
        self._leashes[leash.fileno()] = leash
        self._poll.register(leash, select.POLLIN)

    def _hand_over(self, order: bytes, channel: socket.socket) -> int:
        """The pid of the worker that has the order now."""
        spare, self._spare = self._spare, None
        worker = spare or self._fork()
        with worker.orders:
            try:
                zygote_frames.send_order(worker.orders, order, channel)
            except BrokenPipeError:
                _end(worker.pid)
                if spare is None:
                    raise
                return self._hand_over(order, channel)
        return worker.pid

    def _fork(self) -> _Worker:
        ours, theirs = socket.socketpair()
        with theirs:
            pid = os.fork()
            if pid == 0:
                ours.close()
                self._work(theirs)
        return _Worker(pid, ours)

    def _work(self, orders: socket.socket) -> None:
        """In the child: wait for the order of one call, and serve it; never returns."""
        channel = None
        try:
            os.setsid()
            with contextlib.suppress(OSError):
                linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
            for inherited in (self._control, *self._leashes.values()):
                inherited.close()
            walls = zygote_confine.ruleset(self._fixed)
            order, (channel,) = zygote_frames.receive_order(orders, 1)
            _serve_one(json.loads(order), channel, self._fixed, walls, self._main)
        except BaseException as error:  # noqa: BLE001 (a forked child must not run on in the loop)
            if channel:  # without one, the zygote ended before there was an order
                with contextlib.suppress(OSError):
                    zygote_frames.send_error(channel, f"{type(error).__name__}: {error}")
        finally:
            os._exit(0)

    def _finish(self, descriptor: int) -> None:
        """Kill and reap all of the call whose leash this is."""
        self._poll.unregister(descriptor)
        pid = self._pids.pop(descriptor)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        _end(pid)
        self._sweep()
        self._leashes.pop(descriptor).close()

    def _sweep(self) -> None:
        """Kill and reap what is a child of this process and no worker: orphans."""
        for _ in range(_SWEEPS):
            strays = _children() - {*self._pids.values(), self._spare.pid if self._spare else 0}
            if not strays:
                return
            for pid in strays:
                _end(pid)


def run(control_descriptor: int, worker: str) -> None:
    """Be the zygote: serve the control socket with the `main` of the module at the path `worker`."""
    control = socket.socket(fileno=control_descriptor)
    control.set_inheritable(False)
    for option, value in ((linux.PR_SET_CHILD_SUBREAPER, 1), (linux.PR_SET_DUMPABLE, 0)):
        with contextlib.suppress(OSError):
            linux.prctl(option, value)
    try:
        zygote = Zygote(control, _load(worker))
    except BaseException as error:
        zygote_frames.send_error(control, f"{type(error).__name__}: {error}")
        raise
    gc.collect()
    gc.freeze()
    zygote_frames.send_frame(control, b"ready")
    zygote.serve()


def _serve_one(
    order: dict[str, Any], channel: socket.socket, fixed: zygote_confine.Fixed, walls: int | None, main: Main
) -> None:
    places = (order["tree"], order["git_dir"], order["objects"])
    zygote_confine.confine(zygote_confine.Plan(**order["plan"]), fixed, walls, *places)
    os.closerange(3, channel.fileno())
    os.closerange(channel.fileno() + 1, _MAX_DESCRIPTORS)
    request = zygote_frames.receive_frame(channel)
    if order["probed_by"]:
        zygote_frames.send_frame(channel, json.dumps(zygote_probe.attempts(order["probed_by"])).encode())
    else:
        main(request, lambda data: zygote_frames.send_frame(channel, data) if data else None)
    zygote_frames.send_frame(channel, b"")


def _load(path: str) -> Main:
    spec = importlib.util.spec_from_file_location("diffmem.shell.worker", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module at {path!r}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    main: Main = module.main
    return main


def _end(pid: int) -> None:
    """Kill and reap a child."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _children() -> set[int]:
    """The pids of this process's children, dead or alive; none where the kernel does not list them (proc(5))."""
    try:
        with open("/proc/thread-self/children", "rb", buffering=0) as file:  # noqa: PTH123 (once a call)
            return {int(pid) for pid in file.read().split()}
    except OSError:
        return set()
