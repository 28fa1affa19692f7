"""Landlock: which files this process and all it starts may open, and that it opens no network connection.

Made with ctypes after landlock(7) and the kernel's userspace-api/landlock.rst: three system calls. The bindings on
PyPI are pre-releases or new, and the worker has no site-packages.

*Covered*: opening, listing, executing, creating, linking, renaming and removing files; TCP from ABI 4; signals to
processes outside and abstract sockets from ABI 6. *Not covered*: stat(2), chdir(2), readlink(2), and the metadata
writes that seccomp stops; files opened before.
"""

import ctypes
from collections.abc import Iterable

from diffmem.shell import linux

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_QUERY_VERSION = 1
_RULE_PATH_BENEATH = 1
_FILE_RIGHTS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15}
_FILE_RIGHTS_NEWEST = 16
_TCP_BIND_AND_CONNECT = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def abi() -> int:
    """The version of Landlock that the kernel offers; 0 where it offers none."""
    try:
        return linux.syscall(_CREATE_RULESET, None, 0, _QUERY_VERSION)
    except OSError:
        return 0


def ruleset(rules: Iterable[tuple[int, int]], version: int) -> int:
    """The descriptor of a new ruleset that denies everything Landlock knows but what `rules` allow.

    A rule is the descriptor of a file or directory, and the rights to it and to what is beneath it. `version` is what
    `abi` said.

    Raises:
        OSError: the kernel refused.
    """
    attributes = _Ruleset(
        (1 << _FILE_RIGHTS_BY_ABI.get(version, _FILE_RIGHTS_NEWEST)) - 1,
        _TCP_BIND_AND_CONNECT if version >= 4 else 0,
        _ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0,
    )
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    descriptor = linux.syscall(_CREATE_RULESET, ctypes.byref(attributes), size, 0)
    _add(descriptor, rules)
    return descriptor


def restrict(descriptor: int, rules: Iterable[tuple[int, int]]) -> None:
    """Put a ruleset, with more `rules`, on this process and all it starts. There is no way back.

    no_new_privs must be set. The ruleset is used up: rules cannot be taken out of it again.

    Raises:
        OSError: the kernel refused; nothing is restricted.
    """
    _add(descriptor, rules)
    linux.syscall(_RESTRICT_SELF, descriptor, 0)


def _add(descriptor: int, rules: Iterable[tuple[int, int]]) -> None:
    for beneath, rights in rules:
        rule = _PathBeneath(rights, beneath)
        linux.syscall(_ADD_RULE, descriptor, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
