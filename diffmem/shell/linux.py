"""The system calls that Python does not offer, by ctypes: prctl(2), mount(2), unshare(2), pivot_root(2), capset(2).

Each raises `OSError` with the kernel's errno. On another system than Linux each raises it with ENOSYS.
"""

import contextlib
import ctypes
import errno
import functools
import os
import sys

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_SECUREBITS = 28
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

CLONE_NEWNS = 0x0002_0000
CLONE_NEWUTS = 0x0400_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000
CLONE_NEWNET = 0x4000_0000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x4_0000
MNT_DETACH = 0x2

_CAPABILITY_VERSION_3 = 0x2008_0522
_LOCKED_SECUREBITS = 0x2F  # NOROOT, NO_SETUID_FIXUP, KEEP_CAPS off, each locked; see capabilities(7)


@functools.cache
def _libc() -> ctypes.CDLL:
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def syscall(number: int, *arguments: object) -> int:
    """What the system call `number` returns; integers are passed as 64 bits."""
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _checked(_libc().syscall(ctypes.c_long(number), *words))


def prctl(option: int, *arguments: object) -> int:
    """What prctl(2) returns; missing arguments are 0."""
    padded = (*arguments, 0, 0, 0, 0)[:4]
    words = [ctypes.c_ulong(one) if isinstance(one, int) else one for one in padded]
    return _checked(_libc().prctl(ctypes.c_int(option), *words))


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` names for new ones."""
    _checked(_libc().unshare(ctypes.c_int(flags)))


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mount, bind or remount, as mount(2)."""
    words = [one.encode() if one else None for one in (source, target, kind, data)]
    _checked(_libc().mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]))


def unmount(target: str, flags: int) -> None:
    """Take a mount away, as umount2(2)."""
    _checked(_libc().umount2(target.encode(), ctypes.c_int(flags)))


def pivot_root(new: str, old: str) -> None:
    """Make the mount `new` the root and put the old root at `old`."""
    _checked(_libc().pivot_root(new.encode(), old.encode()))


def drop_capabilities() -> None:
    """Give up every capability, also as uid 0; with no_new_privs no program gets one back (capabilities(7))."""
    with contextlib.suppress(OSError):
        prctl(PR_SET_SECUREBITS, _LOCKED_SECUREBITS)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _checked(_libc().capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())))
