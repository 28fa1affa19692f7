"""What a worker does to itself before it reads a request: limits, another user, Landlock or the jail, seccomp.

Each layer can be left out (`Plan`), so that each can be tested alone. The order matters: what needs privileges comes
first, seccomp comes last. A layer of the plan that cannot be put on ends the worker; nothing runs with less than was
promised.

*Covered*: see `landlock`, `jail` and `seccomp`; memory, CPU seconds, file size, open files, processes, core files;
privileges through execve; being traced. The other user is left out for a call whose directories only the server's own
user may enter. *Not covered*: the CPU time of a whole call, which the deadline of the server bounds.
"""

import contextlib
import os
import resource
import signal
from dataclasses import dataclass
from pathlib import Path

from diffmem.shell import jail, landlock, linux, seccomp
from diffmem.shell.policy import binaries

WORKER_UID = 60_999
"""No account has it: it is above the logins (login.defs(5)) and outside the ranges of systemd (its UIDS-GIDS page)."""

MEMORY_BYTES = 256 * 1024 * 1024
"""What a process may write to. Its address space is larger: git maps packs, threads reserve what they never use."""
ADDRESS_SPACE_BYTES = 1024 * 1024 * 1024
CPU_SECONDS = 5
OPEN_FILES = 64
PROCESSES = 512

_LIBRARIES = (
    "/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32",
    "/usr/share/misc", "/usr/share/file",
)  # fmt: skip
_LOCAL = ("/usr/local/lib",)
"""Only where a program comes from /usr/local."""
_LOADERS = (
    "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
)  # fmt: skip
_MAGIC = ("/etc/magic", "/etc/magic.mime")
_NULL = "/dev/null"


@dataclass(frozen=True, slots=True)
class Plan:
    """The layers a worker puts on."""

    landlock: bool
    jail: bool
    seccomp: bool
    rlimits: bool
    other_uid: bool


@dataclass(frozen=True, slots=True)
class Fixed:
    """What is the same for every call: descriptors with their rights for Landlock, paths for the jail, the filter."""

    version: int
    rules: tuple[tuple[int, int], ...]
    shown: tuple[str, ...]
    filter: seccomp.Filter | None


def prepare() -> Fixed:
    """Find the programs and libraries, and open each for Landlock's rules."""
    programs = [path for name in binaries.NAMES if (path := binaries.find(name))]
    libraries = [path for path in (*_LIBRARIES, *_LOCAL * _any_local(programs)) if Path(path).is_dir()]
    loaders, magic = ([path for path in paths if Path(path).exists()] for paths in (_LOADERS, _MAGIC))
    rights = {
        **dict.fromkeys(map(os.path.realpath, libraries), landlock.READ_FILE | landlock.READ_DIR),
        **dict.fromkeys(map(os.path.realpath, (*programs, *loaders)), landlock.READ_FILE | landlock.EXECUTE),
        **dict.fromkeys(map(os.path.realpath, magic), landlock.READ_FILE),
        _NULL: landlock.READ_FILE | landlock.WRITE_FILE,
    }
    version = landlock.abi()
    rules = tuple((_handle(path), right) for path, right in rights.items()) if version else ()
    shown = (*programs, *libraries, *loaders, *magic)
    return Fixed(version, rules, shown, seccomp.Filter() if seccomp.supported() else None)


def ruleset(fixed: Fixed) -> int | None:
    """The Landlock ruleset of one worker but for its directories; None where the kernel has no Landlock."""
    return landlock.ruleset(fixed.rules, fixed.version) if fixed.version else None


def confine(plan: Plan, fixed: Fixed, walls: int | None, tree: str, git_dir: str, objects: str) -> None:
    """Put on every layer of `plan`, with the ruleset `walls`, and stand in `tree`.

    Raises:
        OSError: a layer could not be put on.
    """
    beneath = (tree, git_dir, objects)
    handles = [(_handle(path), landlock.READ_FILE | landlock.READ_DIR) for path in beneath if walls is not None]
    if plan.jail:
        jail.enter((*fixed.shown, *beneath), (_NULL,))
    os.chdir(tree)
    if plan.rlimits:
        limit(processes=plan.other_uid)
    if plan.other_uid:
        _become_other_user(*beneath)
    if os.getuid() == 0 or plan.jail:
        linux.drop_capabilities()
    for option, value in ((linux.PR_SET_PDEATHSIG, signal.SIGKILL), (linux.PR_SET_DUMPABLE, 0)):
        with contextlib.suppress(OSError):
            linux.prctl(option, value)  # another user makes the kernel forget the first
    if plan.landlock or plan.jail or plan.seccomp or plan.other_uid:
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    if plan.landlock:
        if walls is None:
            raise OSError("this kernel has no Landlock")
        landlock.restrict(walls, handles)
    if plan.seccomp:
        if fixed.filter is None:
            raise OSError("no seccomp filter for this machine")
        fixed.filter.restrict()


def limit(*, processes: bool) -> None:
    """Set the limits of this process and of everything it starts, none above what holds already.

    `processes` are limited where the user is the tool's own: the kernel counts all that a user has (getrlimit(2)).
    """
    for kind, value in (
        (resource.RLIMIT_DATA, MEMORY_BYTES),
        (resource.RLIMIT_AS, ADDRESS_SPACE_BYTES),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        *([(resource.RLIMIT_NPROC, PROCESSES)] if processes else []),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))


def _handle(path: str) -> int:
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def _become_other_user(*places: str) -> None:
    """Be the user that owns nothing, or stay where that user cannot enter `places`: a private directory above them."""
    os.setgroups([])
    os.setresgid(WORKER_UID, WORKER_UID, WORKER_UID)
    os.setresuid(-1, WORKER_UID, -1)
    try:
        for place in places:
            os.close(os.open(place, os.O_RDONLY))
    except PermissionError:
        os.setresuid(0, 0, 0)
    else:
        os.setresuid(WORKER_UID, WORKER_UID, WORKER_UID)


def _any_local(programs: list[str]) -> bool:
    return any(path.startswith("/usr/local/") for path in programs)
