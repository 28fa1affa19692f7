"""seccomp: the system calls that a reader of files never needs answer EPERM.

A classic BPF program built here after seccomp(2), for x86_64 and aarch64. libseccomp's bindings need the library,
which slim images lack.

*Covered*: sockets; changing metadata, names and sizes of files; tracing and reading other processes; mounts and
namespaces; keys, bpf, perf, io_uring, userfaultfd, modules, clocks; leaving the session (setsid, setpgid), so that
one signal reaches everything a call started; `kill(-1)`. *Not covered*: which files are opened (Landlock, the jail).
"""

import ctypes
import errno
import os
import struct
from collections.abc import Sequence

from diffmem.shell import linux

_NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {
        "socket": 41, "connect": 42, "accept": 43, "bind": 49, "listen": 50, "socketpair": 53, "accept4": 288,
        "chmod": 90, "fchmod": 91, "fchmodat": 268, "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260,
        "utime": 132, "utimes": 235, "futimesat": 261, "utimensat": 280, "setxattr": 188, "lsetxattr": 189,
        "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "truncate": 76,
        "ftruncate": 77, "fallocate": 285, "creat": 85, "rename": 82, "renameat": 264, "renameat2": 316,
        "mkdir": 83, "mkdirat": 258, "rmdir": 84, "link": 86, "linkat": 265, "unlink": 87, "unlinkat": 263,
        "symlink": 88, "symlinkat": 266, "mknod": 133, "mknodat": 259, "ptrace": 101, "process_vm_readv": 310,
        "process_vm_writev": 311, "kcmp": 312, "personality": 135, "syslog": 103, "mount": 165, "umount2": 166,
        "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308, "add_key": 248, "request_key": 249,
        "keyctl": 250, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "memfd_create": 319,
        "name_to_handle_at": 303, "open_by_handle_at": 304, "fanotify_init": 300, "shmget": 29, "msgget": 68,
        "semget": 64, "mq_open": 240, "mq_unlink": 241, "kexec_load": 246, "kexec_file_load": 320,
        "init_module": 175, "finit_module": 313, "delete_module": 176, "reboot": 169, "swapon": 167, "swapoff":
        168, "acct": 163, "quotactl": 179, "sethostname": 170, "setdomainname": 171, "settimeofday": 164,
        "adjtimex": 159, "clock_settime": 227, "clock_adjtime": 305, "iopl": 172, "ioperm": 173,
        "migrate_pages": 256, "move_pages": 279, "vhangup": 153, "setsid": 112, "setpgid": 109, "clone": 56,
        "kill": 62, "prlimit64": 302,
    },
    "aarch64": {
        "socket": 198, "socketpair": 199, "bind": 200, "listen": 201, "accept": 202, "connect": 203, "accept4":
        242, "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55, "utimensat": 88, "setxattr": 5,
        "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, "truncate":
        45, "ftruncate": 46, "fallocate": 47, "renameat": 38, "renameat2": 276, "mkdirat": 34, "linkat": 37,
        "unlinkat": 35, "symlinkat": 36, "mknodat": 33, "ptrace": 117, "process_vm_readv": 270,
        "process_vm_writev": 271, "kcmp": 272, "personality": 92, "syslog": 116, "mount": 40, "umount2": 39,
        "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268, "add_key": 217, "request_key": 218,
        "keyctl": 219, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "memfd_create": 279,
        "name_to_handle_at": 264, "open_by_handle_at": 265, "fanotify_init": 262, "shmget": 194, "msgget": 186,
        "semget": 190, "mq_open": 180, "mq_unlink": 181, "kexec_load": 104, "kexec_file_load": 294,
        "init_module": 105, "finit_module": 273, "delete_module": 106, "reboot": 142, "swapon": 224, "swapoff":
        225, "acct": 89, "quotactl": 60, "sethostname": 161, "setdomainname": 162, "settimeofday": 170,
        "adjtimex": 171, "clock_settime": 112, "clock_adjtime": 266, "migrate_pages": 238, "move_pages": 239,
        "vhangup": 58, "setsid": 157, "setpgid": 154, "clone": 220, "kill": 129, "prlimit64": 261,
    },
}  # fmt: skip
_SAME_EVERYWHERE = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447, "process_mrelease": 448,
    "fchmodat2": 452,
}  # fmt: skip
_BY_ARGUMENT = frozenset(("clone", "kill", "prlimit64"))
_CLONE3 = 435
_NEWEST_KNOWN = 456
_AUDIT_ARCH = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_NEW_NAMESPACES = 0x7E02_0000

_LOAD, _JUMP_EQUAL, _JUMP_GREATER, _JUMP_SET, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENT_AT = 0, 4, 16
_ALLOW, _ERRNO, _KILL = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
_MODE_FILTER = 2

Instruction = tuple[int, int, int, int]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def supported() -> bool:
    """Whether there is a filter for this machine."""
    return os.uname().sysname == "Linux" and os.uname().machine in _NUMBERS


class Filter:
    """The filter for this machine, built once, to be put on by processes forked afterwards."""

    def __init__(self) -> None:
        code = b"".join(struct.pack("=HBBI", *one) for one in program(os.uname().machine))
        self._program = _Program(len(code) // 8, code)

    def restrict(self) -> None:
        """Install it for this process and all it starts. no_new_privs must be set. There is no way back.

        Raises:
            OSError: the kernel refused.
        """
        linux.prctl(linux.PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(self._program))


def program(machine: str) -> Sequence[Instruction]:
    """The filter for `machine` as (code, jump if true, jump if false, operand); "x86_64" or "aarch64"."""
    numbers = _NUMBERS[machine]
    refused = [number for name, number in {**numbers, **_SAME_EVERYWHERE}.items() if name not in _BY_ARGUMENT]
    head: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_JUMP_EQUAL, 1, 0, _AUDIT_ARCH[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_JUMP_EQUAL, 1, 0, _CLONE3),  # its flags lie in memory, where BPF cannot look; glibc then falls back to clone
        (_JUMP_GREATER, 0, 1, _NEWEST_KNOWN),
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
    ]
    checks = [
        *_when_argument(numbers["clone"], (_JUMP_SET, 0, 1, _NEW_NAMESPACES)),
        *_when_argument(numbers["kill"], (_JUMP_EQUAL, 0, 1, 0xFFFF_FFFF)),
        *_when_argument(numbers["prlimit64"], (_JUMP_EQUAL, 1, 0, 0)),
    ]
    jumps: list[Instruction] = [
        (_JUMP_EQUAL, len(refused) - position, 0, number) for position, number in enumerate(sorted(refused))
    ]
    return [*head, *checks, *jumps, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]


def _when_argument(number: int, test: Instruction) -> list[Instruction]:
    """EPERM for the call `number` where `test` of the low half of its first argument falls through to the next line."""
    return [
        (_JUMP_EQUAL, 0, 4, number),
        (_LOAD, 0, 0, _ARGUMENT_AT),
        test,
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
