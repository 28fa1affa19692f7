"""The OS sandbox: which layers this host has, proved by a self-test, and calls to a worker that wears them.

    sandbox = Sandbox("require")
    reply = sandbox.call(request, tree, git_dir, objects, deadline, max_output_bytes)
    sandbox.close()

Layers, from the outside: a zygote without environment; another user where the server is root; limits; Landlock, or
else a jail of namespaces; seccomp. `require` serves only where Landlock or the jail is in force, `prefer` with
whatever there is, `off` with limits alone. The zygote starts with the first call or `status()`, never at import and
never in a process that forks afterwards.

*Covered*: reading outside the three directories and the system's libraries, writing, the network, other programs, the
server's environment and memory, processes left over. *Not covered* without Landlock and jail (`prefer` on such a
kernel): what the programs open for reading is bounded by the policy alone, and where the server is not root, what they
open for writing too; seccomp still prevents the network and every other change.
"""

import json
import os
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from diffmem.errors import ToolUnavailable
from diffmem.limits import Deadline
from diffmem.shell import landlock, zygote_confine, zygote_probe
from diffmem.shell.sandbox_process import WorkerFailed, ZygoteGone, ZygoteProcess
from diffmem.shell.zygote_confine import Plan

Mode = Literal["require", "prefer", "off"]
Layer = Literal["landlock", "jail", "seccomp", "rlimits", "other_uid"]
ALL_LAYERS: frozenset[Layer] = frozenset(("landlock", "jail", "seccomp", "rlimits", "other_uid"))
_PROBE_SECONDS = 10.0
_PROBE_BYTES = 10_000
_STARTS = 2


@dataclass(frozen=True, slots=True)
class SandboxStatus:
    """What is in force, found by trying; `usable`: whether calls are served; `detail`: what is there and what not."""

    mode: str
    landlock: bool
    seccomp: bool
    rlimits: bool
    other_uid: bool
    jail: bool
    usable: bool
    detail: str


class Sandbox:
    """One a process; threads share it. Starts nothing until it is used; `close` leaves no process.

    `layers` leaves layers out, for tests that judge one alone; `worker` is the module that serves a call, by path: it
    has `main(request: bytes, write: Callable[[bytes], None])` and imports nothing but the standard library, at its
    top.
    """

    def __init__(self, mode: Mode, *, layers: Iterable[Layer] = ALL_LAYERS, worker: Path | None = None) -> None:
        self._mode = mode
        self._layers = frozenset(layers) if mode != "off" else frozenset(layers) & {"rlimits"}
        self._worker = worker or Path(__file__).with_name("worker.py")
        self._lock = threading.Lock()
        self._zygote: ZygoteProcess | None = None
        self._found: tuple[Plan, SandboxStatus] | None = None
        _after_fork(self)

    def call(
        self, request: bytes, tree: Path, git_dir: Path, objects: Path, deadline: Deadline, max_output_bytes: int
    ) -> bytes:
        """What a worker, confined to the three directories, answers to `request`.

        Nothing the call started is left when this returns or raises.

        Raises:
            ToolUnavailable: the mode asks for more than this host has, or no worker can be started.
            WorkerFailed: no whole answer: out of time, died (a limit, for example), or longer than `max_output_bytes`.
        """
        for attempt in range(_STARTS):
            zygote, plan = self._ready()
            order = _order(plan, tree, git_dir, objects)
            try:
                return zygote.call(order, request, deadline, max_output_bytes)
            except ZygoteGone:
                self._drop(zygote)
                if attempt + 1 == _STARTS:
                    raise ToolUnavailable("the tool's sandbox ended unexpectedly") from None
        raise AssertionError("unreachable")

    def status(self) -> SandboxStatus:
        """What is in force; starts the zygote and its self-test where that has not happened."""
        try:
            self._ready()
        except ToolUnavailable as error:
            if self._found is None or self._found[1].usable:
                return _nothing(self._mode, str(error))
        assert self._found is not None
        return self._found[1]

    def close(self) -> None:
        """End the zygote and everything it started. A later call starts a new one."""
        with self._lock:
            zygote, self._zygote = self._zygote, None
        if zygote:
            zygote.close()

    def _ready(self) -> tuple[ZygoteProcess, Plan]:
        with self._lock:
            if self._zygote and not self._zygote.alive():
                self._zygote.close()
                self._zygote = None
            self._zygote = self._zygote or self._start()
            zygote = self._zygote
            if self._found is None:
                self._found = self._test(zygote)
            plan, status = self._found
        if not status.usable:
            raise ToolUnavailable(f"the tool needs an OS sandbox: {status.detail}")
        return zygote, plan

    def _test(self, zygote: ZygoteProcess) -> tuple[Plan, SandboxStatus]:
        try:
            return _self_test(zygote, self._mode, self._layers)
        except (ZygoteGone, OSError) as error:
            raise ToolUnavailable(f"the tool's sandbox cannot be tested: {error}") from error

    def _start(self) -> ZygoteProcess:
        try:
            return ZygoteProcess(self._worker)
        except ZygoteGone as error:
            raise ToolUnavailable(f"the tool's sandbox cannot be started: {error}") from error

    def _drop(self, zygote: ZygoteProcess) -> None:
        with self._lock:
            if self._zygote is zygote:
                self._zygote = None
        zygote.close()

    def _forget(self) -> None:
        """In a child that was forked: the zygote is the parent's."""
        self._lock = threading.Lock()
        if self._zygote:
            self._zygote.forget()
        self._zygote = None


def _after_fork(sandbox: Sandbox) -> None:
    mine = weakref.WeakMethod(sandbox._forget)

    def forget() -> None:
        method = mine()
        if method:
            method()

    os.register_at_fork(after_in_child=forget)


def _order(plan: Plan, tree: Path, git_dir: Path, objects: Path, probed_by: int = 0) -> dict[str, object]:
    places = {"tree": str(tree), "git_dir": str(git_dir), "objects": str(objects)}
    return {"plan": asdict(plan), **places, "probed_by": probed_by}


def _self_test(zygote: ZygoteProcess, mode: Mode, layers: frozenset[Layer]) -> tuple[Plan, SandboxStatus]:
    """The strongest plan whose worker keeps what it promises, and what is in force with it."""
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="diffmem-probe-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / zygote_probe.FILE).write_text("probe\n")
        for plan in _plans(layers):
            broken, rlimits = _broken_promise(zygote, plan, place)
            if not broken:
                return plan, _in_force(mode, replace(plan, rlimits=rlimits), missing)
            missing.setdefault("Landlock" if plan.landlock else "jail" if plan.jail else "worker", broken)
    return Plan(False, False, False, False, False), _nothing(mode, _listed("no worker can be started", missing))


def _plans(layers: frozenset[Layer]) -> Iterator[Plan]:
    """Every combination of `layers`, the most valuable first: a wall, seccomp, another user; always with limits."""

    def choices(layer: Layer, possible: bool = True) -> tuple[bool, ...]:
        return (True, False) if layer in layers and possible else (False,)

    walls: list[Layer] = [wall for wall in ("landlock", "jail") if wall in layers]
    for wall in (*walls, None):
        for seccomp in choices("seccomp"):
            for other_uid in choices("other_uid", os.geteuid() == 0):
                yield Plan(wall == "landlock", wall == "jail", seccomp, "rlimits" in layers, other_uid)


def _broken_promise(zygote: ZygoteProcess, plan: Plan, place: Path) -> tuple[str, bool]:
    """What a worker can do that `plan` forbids, or cannot although it must; and whether its memory is limited."""
    order = _order(plan, place, place, place, probed_by=os.getpid())
    try:
        answer = zygote.call(order, b"", Deadline(_PROBE_SECONDS), _PROBE_BYTES)
    except WorkerFailed as error:
        return str(error), False
    succeeded: dict[str, bool] = json.loads(answer)
    wrong = [name for name in zygote_probe.forbidden(plan) if succeeded[name]]
    unable = [name for name in zygote_probe.REQUIRED if not succeeded[name]]
    broken = ", ".join([*(f"could {name}" for name in wrong), *(f"could not {name}" for name in unable)])
    return broken, plan.rlimits and not succeeded["exceed memory"]


def _in_force(mode: Mode, plan: Plan, missing: Mapping[str, str]) -> SandboxStatus:
    walled = plan.landlock or plan.jail
    names = [
        f"Landlock (ABI {landlock.abi()})" if plan.landlock else "a jail of namespaces" if plan.jail else "",
        "seccomp" if plan.seccomp else "",
        f"user {zygote_confine.WORKER_UID}" if plan.other_uid else "",
        "limits" if plan.rlimits else "",
    ]
    detail = _listed("in force: " + (", ".join(filter(None, names)) or "nothing"), missing)
    return SandboxStatus(
        mode, plan.landlock, plan.seccomp, plan.rlimits, plan.other_uid, plan.jail, walled or mode != "require", detail
    )


def _nothing(mode: Mode, detail: str) -> SandboxStatus:
    return SandboxStatus(mode, False, False, False, False, False, False, detail)


def _listed(head: str, missing: Mapping[str, str]) -> str:
    return "; ".join([head, *(f"without {what} ({why})" for what, why in missing.items())])
