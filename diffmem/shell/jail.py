"""A root directory with nothing in it but what the tool needs, by namespaces: for kernels without Landlock.

Works as root, and without privileges where the kernel lets anyone make a user namespace (user_namespaces(7)).

*Covered*: every path but the ones named, also for stat(2); writing anywhere (read-only mounts without set-uid and
devices); other processes (an own PID namespace, no /proc) and the network (an own, empty one). *Not covered*: files
opened before; without privileges the capabilities inside the user namespace, which the caller drops.
"""

import errno
import os
import signal
from collections.abc import Iterable
from pathlib import Path

from diffmem.shell import linux

_NAMESPACES = linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS | linux.CLONE_NEWNET
_MOUNT_POINTS = ("/mnt", "/media", "/srv", "/opt", "/run", "/proc")
_KEPT_FLAGS = 0xC0F  # the bits that statvfs(3) and mount(2) share; in a user namespace none may be cleared
_READ_ONLY = linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV


def enter(shown: Iterable[str], devices: Iterable[str]) -> None:
    """Move this process, by a fork, into a root that shows the files and directories `shown`, read-only, and `devices`.

    Symbolic links among `shown` are made again, not followed. The caller goes on in a child; the parent waits for
    that and ends as it ended, so that whoever knows the parent's pid can wait for it. Capabilities are the caller's
    to drop.

    Raises:
        OSError: the kernel has no such namespaces for us, or refused a mount.
    """
    paths = sorted({one for path in (*shown, *devices) for one in _with_links(path)} - set(devices))
    _unshare()
    linux.mount("none", "/", "", linux.MS_REC | linux.MS_PRIVATE)
    root = _mount_point([*paths, *devices])
    linux.mount("tmpfs", root, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=1m,mode=755")
    for path in paths:
        _show(path, root, _READ_ONLY)
    for path in devices:
        _show(path, root, linux.MS_NOSUID | linux.MS_NOEXEC)
    _restrict(root, _READ_ONLY)
    os.chdir(root)
    linux.pivot_root(".", ".")
    linux.unmount(".", linux.MNT_DETACH)
    os.chdir("/")
    _go_on_as_first_process()


def _unshare() -> None:
    try:
        linux.unshare(_NAMESPACES)
    except PermissionError:
        uid, gid = os.getuid(), os.getgid()
        linux.unshare(_NAMESPACES | linux.CLONE_NEWUSER)
        linux.prctl(linux.PR_SET_DUMPABLE, 1)  # or root owns the files below
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def _mount_point(paths: Iterable[str]) -> str:
    """A directory over which the new root can be mounted without hiding what goes into it."""
    needed = list(paths)
    for candidate in _MOUNT_POINTS:
        inside = candidate + "/"
        if Path(candidate).is_dir() and not any(path == candidate or path.startswith(inside) for path in needed):
            return candidate
    raise OSError("no directory to mount the new root on")


def _with_links(path: str) -> list[str]:
    """The symbolic links on the way to `path`, and where it really lies."""
    links: list[str] = []
    current = Path("/")
    for name in path.strip("/").split("/"):
        current /= name
        if current.is_symlink():
            links.append(str(current))
            current = current.resolve()
    return [*links, str(current)]


def _show(path: str, root: str, flags: int) -> None:
    if _is_shown(path, root):
        return
    target = Path(root + path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if Path(path).is_symlink():
        target.symlink_to(Path(path).readlink())
        return
    if Path(path).is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    linux.mount(path, str(target), "", linux.MS_BIND | linux.MS_REC | flags)
    _restrict(str(target), flags)


def _restrict(target: str, flags: int) -> None:
    """Give a mount its flags; Linux ignores them when it binds. gVisor heeds them then, and knows no remount."""
    kept = os.statvfs(target).f_flag & _KEPT_FLAGS
    try:
        linux.mount("", target, "", linux.MS_REMOUNT | linux.MS_BIND | flags | kept)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def _is_shown(path: str, root: str) -> bool:
    """Whether an earlier bind brought `path` in; sorted, a directory comes before what lies in it."""
    return os.path.lexists(root + path) and not Path(root + path).is_dir()


def _go_on_as_first_process() -> None:
    """Fork into the new PID namespace and return in the child, with which all of it dies (pid_namespaces(7))."""
    child = os.fork()
    if child == 0:
        os.setsid()
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        return
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
