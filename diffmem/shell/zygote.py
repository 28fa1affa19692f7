"""The zygote: a small process with an empty environment that forks one confined worker a call.

A fork of the server would copy the page tables of hundreds of megabytes and hand its memory, with every secret in it,
to the worker. This process has imported what a worker needs and holds nothing else.

It sends one frame on its control socket when it is ready. An order on it is a length, a JSON object, and two
descriptors:

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
from typing import Any

from diffmem.shell import linux, zygote_confine, zygote_frames, zygote_probe

Main = Callable[[bytes, Callable[[bytes], None]], None]
_SWEEPS = 100


class Zygote:
    """The loop: orders of the server, ends of leashes."""

    def __init__(self, control: socket.socket, main: Main) -> None:
        self._control = control
        self._main = main
        self._fixed = zygote_confine.prepare()
        self._pids: dict[int, int] = {}
        self._leashes: dict[int, socket.socket] = {}

    def serve(self) -> None:
        """Serve until the control socket closes; then end every call."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor != self._control.fileno():
                    poll.unregister(descriptor)
                    self._finish(descriptor)
                elif (leash := self._order()) is not None:
                    poll.register(leash, select.POLLIN)
                else:
                    for one in list(self._pids):
                        self._finish(one)
                    return

    def _order(self) -> socket.socket | None:
        """The leash of a worker that was just started, or None where the server is gone."""
        size = zygote_frames.LENGTH.size
        head, descriptors, _, _ = socket.recv_fds(self._control, size, 2, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
        if len(head) < size or len(descriptors) != 2:
            return None
        order = json.loads(zygote_frames.receive(self._control, zygote_frames.LENGTH.unpack(head)[0]))
        channel, leash = (socket.socket(fileno=one) for one in descriptors)
        pid = os.fork()
        if pid == 0:
            leash.close()
            self._work(order, channel)
        channel.close()
        self._pids[leash.fileno()] = pid
        self._leashes[leash.fileno()] = leash
        return leash

    def _work(self, order: dict[str, Any], channel: socket.socket) -> None:
        """In the child: serve one call; never returns."""
        try:
            os.setsid()
            for inherited in (self._control, *self._leashes.values()):
                inherited.close()
            _serve_one(order, channel, self._fixed, self._main)
        except BaseException as error:  # noqa: BLE001 (a forked child must not run on in the loop)
            with contextlib.suppress(OSError):
                zygote_frames.send_error(channel, f"{type(error).__name__}: {error}")
        finally:
            os._exit(0)

    def _finish(self, descriptor: int) -> None:
        """Kill and reap all of the call whose leash this is."""
        pid = self._pids.pop(descriptor)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self._sweep()
        self._leashes.pop(descriptor).close()

    def _sweep(self) -> None:
        """Kill and reap what is a child of this process and no worker: orphans."""
        for _ in range(_SWEEPS):
            strays = _children() - set(self._pids.values())
            if not strays:
                return
            for pid in strays:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)


def run(control_descriptor: int, worker: str) -> None:
    """Be the zygote: serve the control socket with the `main` of the module at the path `worker`."""
    control = socket.socket(fileno=control_descriptor)
    control.set_inheritable(False)
    if sys.platform == "linux":
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
    try:
        zygote = Zygote(control, _load(worker))
    except BaseException as error:
        zygote_frames.send_error(control, f"{type(error).__name__}: {error}")
        raise
    gc.collect()
    gc.freeze()
    zygote_frames.send_frame(control, b"ready")
    zygote.serve()


def _serve_one(order: dict[str, Any], channel: socket.socket, fixed: zygote_confine.Fixed, main: Main) -> None:
    if sys.platform == "linux":
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    plan = zygote_confine.Plan(**order["plan"])
    zygote_confine.confine(plan, fixed, order["tree"], order["git_dir"], order["objects"])
    request = zygote_frames.receive_frame(channel)
    if order["probed_by"]:
        answer = json.dumps(zygote_probe.attempts(order["probed_by"])).encode()
        zygote_frames.send_frame(channel, answer)
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


def _children() -> set[int]:
    """The pids of this process's children, dead or alive; none where the kernel does not list them (proc(5))."""
    try:
        with open("/proc/thread-self/children", "rb", buffering=0) as file:  # noqa: PTH123 (once a call)
            return {int(pid) for pid in file.read().split()}
    except OSError:
        return set()
