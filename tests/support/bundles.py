"""Bundles as strangers make them: with git's own plumbing, and byte by byte where git itself would refuse."""

import hashlib
import os
import struct
import subprocess
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_WHO = {"NAME": "Ada", "EMAIL": "ada@example.org"}
_KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}


class Repository:
    """A repository in `folder` in which anything can be written, however unwise."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--bare", "--initial-branch=main", ".")

    def git(self, *args: str, stdin: bytes | None = None, when: str = "2026-02-28T20:00:00+0100") -> bytes:
        """What `git ARGS...` writes."""
        variables = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _WHO.items()}
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **variables, **dates}
        command = ["git", "-c", "core.protectNTFS=false", "-c", "core.protectHFS=false", *args]
        done = subprocess.run(command, cwd=self.folder, input=stdin, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def write(self, kind: str, data: bytes) -> str:
        """The sha of an object, which is not checked."""
        return self.git("hash-object", "-t", kind, "-w", "--literally", "--stdin", stdin=data).decode().strip()

    def tree(self, *entries: tuple[str, str | bytes, str]) -> str:
        """The sha of a tree of `(mode, name, sha)`, in the order given."""
        names = [(mode, name if isinstance(name, bytes) else name.encode(), sha) for mode, name, sha in entries]
        return self.write("tree", b"".join(m.encode() + b" " + n + b"\0" + bytes.fromhex(s) for m, n, s in names))

    def commit(self, tree: str, *parents: str, when: int = 1_772_300_000, message: str = "Write\n") -> str:
        """The sha of a commit."""
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"{role} Ada <ada@example.org> {when} +0100" for role in ("author", "committer")]
        return self.write("commit", ("\n".join(lines) + "\n\n" + message).encode())

    def files(self, files: Mapping[str, bytes], *parents: str, message: str = "Write\n", **options: int) -> str:
        """The sha of a commit with exactly these files."""
        return self.commit(self._folder(files), *parents, message=message, **options)

    def _folder(self, files: Mapping[str, bytes]) -> str:
        folders: dict[str, dict[str, bytes]] = {}
        entries = []
        for path, data in files.items():
            name, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(name, {})[rest] = data
            else:
                entries.append(("100644", name, self.write("blob", data)))
        entries += [("40000", name, self._folder(inside)) for name, inside in folders.items()]
        return self.tree(*sorted(entries, key=lambda entry: entry[1] + ("/" if entry[0] == "40000" else "")))

    def bundle(self, branches: Mapping[str, str], *, head: str | None = "main") -> bytes:
        """A bundle of these branches, with HEAD at one of them where `head` names it."""
        for name, sha in branches.items():
            self.git("update-ref", f"refs/heads/{name}", sha)
        if head in branches:
            self.git("symbolic-ref", "HEAD", f"refs/heads/{head}")
        refs = (["HEAD"] if head in branches else []) + list(branches)
        return self.git("bundle", "create", "--quiet", "-", *refs)


def bundle(refs: Mapping[str, str], pack: bytes) -> bytes:
    """A bundle of any pack, with any refs."""
    return b"# v2 git bundle\n" + b"".join(f"{sha} {name}\n".encode() for name, sha in refs.items()) + b"\n" + pack


def pack(entries: Iterable[bytes], count: int | None = None) -> bytes:
    """A pack of entries as they are."""
    made = list(entries)
    body = b"PACK" + struct.pack(">II", 2, len(made) if count is None else count) + b"".join(made)
    return body + hashlib.sha1(body).digest()


def entry(kind: str, content: bytes, *, claimed: int | None = None) -> bytes:
    """An object of a pack, of the size that is claimed."""
    return _head(_KINDS[kind], len(content) if claimed is None else claimed) + zlib.compress(content, 9)


def delta(base_sha: str, base_size: int, result_size: int, instructions: bytes) -> bytes:
    """A delta (REF_DELTA) that says it makes `result_size` bytes of `base_size`."""
    content = _number(base_size) + _number(result_size) + instructions
    return _head(7, len(content)) + bytes.fromhex(base_sha) + zlib.compress(content, 9)


def copy_all(base_size: int, times: int) -> bytes:
    """Delta instructions that write the base `times` times; it must be under 64 KiB."""
    return struct.pack("<BH", 0x80 | 0x10 | 0x20, base_size) * times


def sha_of(kind: str, content: bytes) -> str:
    """The name git gives an object."""
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content).hexdigest()


def _head(kind: int, size: int) -> bytes:
    first, size = kind << 4 | size & 15, size >> 4
    return bytes([first | 0x80]) + _number(size) if size else bytes([first])


def _number(value: int) -> bytes:
    parts: list[int] = []
    while True:
        parts.append(value & 0x7F)
        value >>= 7
        if not value:
            return bytes([*(part | 0x80 for part in parts[:-1]), parts[-1]])


def unpacked(data: bytes, folder: Path, *clone: str) -> Path:
    """A clone of the bundle `data`, as anybody would make it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.bundle").write_bytes(data)
    command: Sequence[str] = ["git", "clone", "--quiet", *clone, "memory.bundle", "clone"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b"", done.stderr.decode()
    return folder / "clone"
