"""The seccomp filter, run by an interpreter of classic BPF, for both machines it is written for."""

import errno
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from diffmem.shell import seccomp
from diffmem.shell.seccomp import Instruction

MACHINES = ("x86_64", "aarch64")
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, KILL = "allow", "kill"
NAMESPACES = {"mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
              "pid": 0x20000000, "net": 0x40000000}  # fmt: skip
NEEDED = {
    "x86_64": {
        "read": 0,
        "write": 1,
        "mmap": 9,
        "pipe2": 293,
        "fork": 57,
        "vfork": 58,
        "execve": 59,
        "exit_group": 231,
        "wait4": 61,
        "openat": 257,
        "newfstatat": 262,
        "getdents64": 217,
        "chdir": 80,
        "dup2": 33,
        "prctl": 157,
        "getrandom": 318,
        "rt_sigaction": 13,
        "poll": 7,
        "close_range": 436,
        "faccessat2": 439,
        "sendto": 44,
    },
    "aarch64": {
        "read": 63,
        "write": 64,
        "mmap": 222,
        "pipe2": 59,
        "execve": 221,
        "exit_group": 94,
        "wait4": 260,
        "openat": 56,
        "newfstatat": 79,
        "getdents64": 61,
        "chdir": 49,
        "dup3": 24,
        "prctl": 167,
        "getrandom": 278,
        "close_range": 436,
    },
}
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def _verdict(program: Sequence[Instruction], number: int, arch: int, argument: int = 0) -> str:
    """What the kernel would do; see seccomp(2) for the data and bpf(4) for the instructions."""
    data = {0: number, 4: arch, 16: argument & 0xFFFFFFFF, 20: argument >> 32}
    at = accumulator = 0
    while True:
        code, if_true, if_false, operand = program[at]
        at += 1
        if code == 0x20:
            accumulator = data[operand]
        elif code == 0x06:
            kind = {0x7FFF0000: ALLOW, 0x80000000: KILL}.get(operand & 0xFFFF0000)
            return kind or errno.errorcode[operand & 0xFFFF]
        else:
            taken = {
                0x15: accumulator == operand,
                0x25: accumulator > operand,
                0x45: bool(accumulator & operand),
            }[code]
            at += if_true if taken else if_false


@pytest.mark.parametrize("machine", MACHINES)
class TestFilter:
    def verdict(self, machine: str, number: int, argument: int = 0) -> str:
        return _verdict(seccomp.program(machine), number, ARCH[machine], argument)

    def test_every_listed_call_is_refused(self, machine: str) -> None:
        for name, number in {**seccomp._NUMBERS[machine], **seccomp._SAME_EVERYWHERE}.items():
            if name not in seccomp._BY_ARGUMENT:
                assert self.verdict(machine, number) == "EPERM", name

    def test_what_a_reader_needs_is_allowed(self, machine: str) -> None:
        for name, number in NEEDED[machine].items():
            assert self.verdict(machine, number) == ALLOW, name

    def test_another_architecture_is_killed(self, machine: str) -> None:
        for arch in (0x40000003, 0x40000028, *(one for one in ARCH.values() if one != ARCH[machine])):
            assert _verdict(seccomp.program(machine), 0, arch) == KILL

    def test_unknown_calls_do_not_exist(self, machine: str) -> None:
        for number in (435, 457, 500, 0x40000000, 0x40000029, 0xFFFFFFFF):
            assert self.verdict(machine, number) == "ENOSYS"

    def test_a_fork_is_allowed_and_new_namespaces_are_not(self, machine: str) -> None:
        clone = seccomp._NUMBERS[machine]["clone"]
        assert self.verdict(machine, clone, 17) == ALLOW
        assert self.verdict(machine, clone, 0x1200011) == ALLOW
        for name, flag in NAMESPACES.items():
            assert self.verdict(machine, clone, flag | 17) == "EPERM", name

    def test_everything_cannot_be_signalled_at_once(self, machine: str) -> None:
        kill = seccomp._NUMBERS[machine]["kill"]
        assert self.verdict(machine, kill, 0xFFFFFFFF) == "EPERM"
        assert self.verdict(machine, kill, 0xFFFFFFFFFFFFFFFF) == "EPERM"
        assert self.verdict(machine, kill, 0) == ALLOW
        assert self.verdict(machine, kill, 4711) == ALLOW

    def test_limits_of_other_processes_cannot_be_set(self, machine: str) -> None:
        prlimit = seccomp._NUMBERS[machine]["prlimit64"]
        assert self.verdict(machine, prlimit, 0) == ALLOW
        assert self.verdict(machine, prlimit, 4711) == "EPERM"

    def test_the_numbers_are_the_kernels(self, machine: str) -> None:
        if not HEADERS[machine].exists():
            pytest.skip("the kernel's headers are not installed")
        text = HEADERS[machine].read_text()
        real = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
        ours = {**seccomp._NUMBERS[machine], **seccomp._SAME_EVERYWHERE}
        assert {name: number for name, number in ours.items() if real.get(name, number) != number} == {}
        assert set(seccomp._NUMBERS[machine]) <= set(real)
