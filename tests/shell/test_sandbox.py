"""The walls of the sandbox: real attempts from inside a worker, behind Landlock and in the jail."""

import os
import sys

import pytest

from diffmem.shell import zygote_confine
from diffmem.shell.policy import binaries
from tests.support.boxes import Box

DENIED = {"EACCES", "EPERM", "ENOENT", "EROFS", "ENOSYS"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")


def test_a_worker_answers_from_the_tree(box: Box) -> None:
    assert box.run("found.append(os.getcwd()); found.append(open('file.txt').read())") == [
        str(box.place.tree),
        "in tree\n",
    ]
    assert box.attempt(f"open({str(box.place.git_dir / 'file.txt')!r}).read()") == "in git\n"
    assert box.attempt(f"open({str(box.place.objects / 'file.txt')!r}).read()") == "in objects\n"


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/etc/shadow",
        "/proc/self/environ",
        "/proc/1/environ",
        "/proc/self/maps",
        "/proc/version",
        "/root/.profile",
        "/dev/zero",
        "/dev/urandom",
        "../outside/file.txt",
        "/etc/hostname",
        "/sys/kernel/uevent_seqnum",
    ],
)
def test_nothing_outside_can_be_read(box: Box, path: str) -> None:
    assert box.attempt(f"open({path!r}, 'rb').read(10)") in DENIED


@pytest.mark.parametrize("path", ["/", "/etc", "/tmp", "/proc", "/home", "/root", "/var", "..", "../outside"])
def test_nothing_outside_can_be_listed(box: Box, path: str) -> None:
    found = box.attempt(f"os.listdir({path!r})")
    if isinstance(found, list) and box.sandbox.status().jail:
        assert not {"passwd", "outside", "environ", "home", "root", "var"} & set(found)
    else:
        assert found in DENIED


def test_the_servers_environment_cannot_be_read(box: Box) -> None:
    assert box.run("found.append([name for name in os.environ if name != 'LC_CTYPE'])") == [[]]
    for process in (os.getpid(), os.getppid()):
        assert box.attempt(f"open('/proc/{process}/environ', 'rb').read()") in DENIED
        assert box.attempt(f"open('/proc/{process}/mem', 'rb').read(1)") in DENIED
        assert box.attempt(f"os.readlink('/proc/{process}/cwd')") in DENIED
    assert box.attempt("open(f'/proc/{os.getppid()}/environ', 'rb').read()") in DENIED


WRITES = (
    "open('new.txt', 'w')",
    "open('file.txt', 'w')",
    "open('file.txt', 'a')",
    "open('file.txt', 'r+')",
    "os.open('.', os.O_TMPFILE | os.O_RDWR)",
    "os.unlink('file.txt')",
    "os.rename('file.txt', 'x')",
    "os.mkdir('x')",
    "os.rmdir('.')",
    "os.symlink('a', 'x')",
    "os.link('file.txt', 'x')",
    "os.mkfifo('x')",
    "os.mknod('x')",
    "os.truncate('file.txt', 0)",
    "os.chmod('file.txt', 0o777)",
    "os.chown('file.txt', -1, -1)",
    "os.utime('file.txt')",
    "os.setxattr('file.txt', 'user.x', b'1')",
    "os.removexattr('file.txt', 'user.x')",
    "open('/tmp/x-sandbox', 'w')",
    "open('/dev/shm/x', 'w')",
    "os.memfd_create('x')",
    "os.posix_fallocate(os.open('file.txt', os.O_RDONLY), 0, 1)",
)


@pytest.mark.parametrize("expression", WRITES)
def test_nothing_can_be_written(box: Box, expression: str) -> None:
    before = sorted((path.name, path.read_bytes(), path.stat().st_mtime_ns) for path in box.place.tree.iterdir())
    assert box.attempt(expression) in {*DENIED, "EBADF", "EBUSY", "EINVAL", "EXDEV"}
    after = sorted((path.name, path.read_bytes(), path.stat().st_mtime_ns) for path in box.place.tree.iterdir())
    assert before == after


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK", "AF_PACKET"])
def test_there_are_no_sockets(box: Box, family: str) -> None:
    assert box.attempt(f"socket.socket(socket.{family}, socket.SOCK_DGRAM)") in DENIED
    assert box.attempt(f"socket.socket(socket.{family}, socket.SOCK_STREAM)") in DENIED


def _spawned(*line: str) -> str:
    return f"subprocess.run({list(line)!r}, env={{}}, stdin=-3, stdout=-1, stderr=-2).stdout.decode()"


def test_only_the_programs_of_the_tool_can_be_run(box: Box) -> None:
    cat = binaries.find("cat")
    assert cat
    assert box.attempt(_spawned(cat, "file.txt")) == "in tree\n"
    for program in ("/bin/sh", "/usr/bin/env", sys.executable, "./cat", "/usr/bin/perl", "/usr/bin/id"):
        assert box.attempt(_spawned(program)) in DENIED, program


def test_every_program_of_the_tool_starts_and_reads(box: Box) -> None:
    paths = [path for name in binaries.NAMES if (path := binaries.find(name))]
    code = f"""
        for path in {paths!r}:
            done = subprocess.run([path, "--version"], env={{}}, stdin=subprocess.DEVNULL, capture_output=True)
            if done.returncode:
                found.append([path, done.stderr.decode()])
    """
    assert box.run(code) == []
    for name, arguments, output in (
        ("file", ["file.txt"], "file.txt: ASCII text\n"),
        ("column", ["-t", "file.txt"], "in  tree\n"),
        ("gawk", ["{print $2}", "file.txt"], "tree\n"),
    ):
        path = binaries.find(name)
        assert path is None or box.attempt(_spawned(path, *arguments)) == output


def test_a_program_inherits_the_walls(box: Box) -> None:
    cat = binaries.find("cat")
    assert cat
    for path in ("/etc/passwd", f"/proc/{os.getpid()}/environ"):
        found = box.attempt(_spawned(cat, path))
        assert found.startswith(f"{cat}: {path}: ") and found.count("\n") == 1


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are of one machine")
@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("ptrace", 101),
        ("mount", 165),
        ("umount2", 166),
        ("unshare", 272),
        ("setns", 308),
        ("keyctl", 250),
        ("bpf", 321),
        ("io_uring_setup", 425),
        ("userfaultfd", 323),
        ("perf_event_open", 298),
        ("process_vm_readv", 310),
        ("open_by_handle_at", 304),
        ("chroot", 161),
        ("pivot_root", 155),
        ("clone3", 435),
        ("fsopen", 430),
        ("memfd_secret", 447),
        ("setsid", 112),
        ("init_module", 175),
        ("landlock of tomorrow", 500),
    ],
)
def test_system_calls_that_a_reader_does_not_need_are_refused(box: Box, name: str, number: int) -> None:
    code = f"""
        libc = ctypes.CDLL(None, use_errno=True)
        result = libc.syscall({number}, 0, 0, 0, 0, 0)
        found.append([result, errno.errorcode.get(ctypes.get_errno())])
    """
    result, code_name = box.run(code)[0]
    assert result == -1
    assert code_name in {"EPERM", "ENOSYS"}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are of one machine")
def test_a_clone_into_new_namespaces_is_refused_and_a_plain_fork_is_not(box: Box) -> None:
    assert box.attempt("os.waitpid(os.fork() or os._exit(3), 0)[1] >> 8") == 3
    code = """
        libc = ctypes.CDLL(None, use_errno=True)
        found.append(libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0))
        found.append(errno.errorcode.get(ctypes.get_errno()))
    """
    assert box.run(code) == [-1, "EPERM"]


def test_processes_outside_cannot_be_signalled(box: Box) -> None:
    for process in (os.getpid(), os.getppid()):
        assert box.attempt(f"os.kill({process}, 0)") in {"EPERM", "ESRCH"}
    assert box.attempt("os.kill(-1, 0)") in {"EPERM", "ESRCH"}


def test_the_worker_has_limits_and_no_privileges(box: Box) -> None:
    assert box.attempt("len(bytearray(400_000_000))") == "MemoryError"
    assert box.attempt("resource.getrlimit(resource.RLIMIT_FSIZE)[1]") == 0
    assert box.attempt("resource.getrlimit(resource.RLIMIT_CORE)[1]") == 0
    assert box.attempt("resource.getrlimit(resource.RLIMIT_CPU)[1]") == zygote_confine.CPU_SECONDS
    assert box.attempt("len([os.dup(0) for _ in range(100)])") == "EMFILE"
    if os.geteuid() == 0:
        assert box.attempt("os.getuid()") == zygote_confine.WORKER_UID
        assert box.attempt("os.getgroups()") == []
        assert box.attempt("os.setuid(0)") == "EPERM"


def test_a_worker_has_no_descriptors_but_its_own(box: Box) -> None:
    code = """
        for number in range(3, 64):
            try:
                os.fstat(number)
            except OSError:
                continue
            found.append(number)
    """
    assert len(box.run(code)) == 1


def test_null_can_be_written_and_pipes_carry_data(box: Box) -> None:
    assert box.attempt("open('/dev/null', 'wb').write(b'x' * 100)") == 100
    assert box.run("r, w = os.pipe(); os.write(w, b'x' * 5000); found.append(len(os.read(r, 9000)))") == [5000]
