"""Checkouts: whole, read-only, the same on every machine, and git's commands work in them."""

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

from diffmem import git
from diffmem.git.packs import Pack, Scratch
from diffmem.limits import Deadline
from diffmem.repository import Repositories, Snapshot
from diffmem.repository.manifest import Manifest, encode
from diffmem.repository.names import manifest_name, user_hash
from diffmem.storage import Bucket
from tests.support.machines import START, USER, deadline, git_output, machine, write
from tests.support.wrapped import Hooked

NewMachine = Callable[[], Repositories]


def commit(repositories: Repositories, files: dict[str, str | None]) -> Snapshot:
    return repositories.commit(USER, write(files), deadline(), create=True).snapshot


def contents(tree: Path) -> dict[str, str]:
    return {str(path.relative_to(tree)): path.read_text() for path in tree.rglob("*") if path.is_file()}


def times(tree: Path) -> dict[str, float]:
    return {str(path.relative_to(tree)): path.stat().st_mtime for path in (tree, *tree.rglob("*"))}


def test_a_checkout_holds_the_files_and_no_git_directory(repositories: Repositories) -> None:
    files = {"profile.md": "Maya\n", "memories/people/ö.md": "Ö\n", "a b/c.md": ""}
    with commit(repositories, dict(files)) as snapshot:
        checkout = snapshot.checkout
        assert contents(checkout.tree) == files
        assert checkout.head == snapshot.head
        assert not (checkout.tree / ".git").exists()
        assert sorted(path.name for path in checkout.git_dir.iterdir()) == ["HEAD", "config", "index", "refs"]


def test_git_works_in_a_checkout(repositories: Repositories) -> None:
    commit(repositories, {"a.md": "one\n", "b/c.md": "two\n"}).close()
    with commit(repositories, {"a.md": "one\nmore\n"}) as snapshot:
        assert git_output(snapshot, "rev-parse", "HEAD", "main").split() == [snapshot.head] * 2
        assert git_output(snapshot, "symbolic-ref", "HEAD") == "refs/heads/main\n"
        assert git_output(snapshot, "ls-files") == "a.md\nb/c.md\n"
        assert git_output(snapshot, "grep", "-n", "more") == "a.md:2:more\n"
        assert git_output(snapshot, "diff") == ""
        assert git_output(snapshot, "status", "--short") == ""
        assert git_output(snapshot, "diff", "--cached") == ""
        assert "+more" in git_output(snapshot, "diff", "HEAD~1")
        assert len(git_output(snapshot, "blame", "-s", "a.md").splitlines()) == 2
        assert git_output(snapshot, "fsck", "--full") == ""


def test_git_diff_in_a_checkout_reads_no_file(repositories: Repositories) -> None:
    with commit(repositories, {"a.md": "one\n"}) as snapshot:
        checkout = snapshot.checkout
        path = checkout.tree / "a.md"
        path.chmod(0o644)
        path.write_text("two\n")
        os.utime(path, (path.stat().st_atime, START.timestamp()))
        assert git_output(snapshot, "diff", "--stat") == ""  # same size and time: the index is believed


def test_files_bear_the_time_of_the_commit_that_last_changed_them(
    repositories: Repositories, new_machine: NewMachine
) -> None:
    commit(repositories, {"old.md": "1\n", "b/old.md": "1\n", "b/new.md": "1\n", "c/d/e.md": "1\n"}).close()
    commit(repositories, {"b/new.md": "2\n"}).close()
    with commit(repositories, {"new.md": "3\n"}) as snapshot:
        third, second, first, _ = (commit.recorded_at.timestamp() for commit in snapshot.log())
        expected = {"old.md": first, "b/old.md": first, "b/new.md": second, "new.md": third}
        expected |= {"c": first, "c/d": first, "c/d/e.md": first, "b": second, ".": third}
        assert times(snapshot.checkout.tree) == expected
        with new_machine().open(USER, deadline()) as cold:
            assert times(cold.checkout.tree) == expected


def test_a_checkout_that_was_carried_on_is_the_same_as_a_new_one(
    repositories: Repositories, new_machine: NewMachine
) -> None:
    steps: list[dict[str, str | None]] = [
        {"a.md": "1\n", "b/c.md": "1\n", "d/e/f.md": "1\n"},
        {"a.md": "2\n", "b/c.md": None},
        {"b": "a file now\n", "d/e/f.md": None, "d/e": "also a file\n"},
        {"b": None, "b/x.md": "a folder again\n", "a.md": "1\n"},
        {"a.md": None, "b/x.md": None, "d/e": None},
        {"z.md": "1\n"},
    ]
    for step in steps:
        with commit(repositories, step) as warm, new_machine().open(USER, deadline()) as cold:
            for snapshot in (warm, cold):
                assert git_output(snapshot, "status", "--short") == ""
            assert warm.paths() == cold.paths()
            assert contents(warm.checkout.tree) == contents(cold.checkout.tree)
            assert times(warm.checkout.tree) == times(cold.checkout.tree)
            index = "index"
            assert (warm.checkout.git_dir / index).read_bytes() == (cold.checkout.git_dir / index).read_bytes()
            assert len(list(warm.checkout.tree.parent.parent.iterdir())) == 1


def test_a_checkout_in_use_stays_when_another_head_is_checked_out(repositories: Repositories) -> None:
    with commit(repositories, {"a.md": "1\n"}) as old:
        before = old.checkout
        with commit(repositories, {"a.md": "2\n"}) as new:
            assert contents(new.checkout.tree) == {"a.md": "2\n"}
            assert contents(before.tree) == {"a.md": "1\n"}
            assert old.checkout == before


def test_checkouts_that_nobody_uses_do_not_pile_up(repositories: Repositories) -> None:
    snapshots = [commit(repositories, {"a.md": f"{number}\n"}) for number in range(6)]
    views = [snapshot.checkout.tree.parent for snapshot in snapshots]
    for snapshot in snapshots:
        snapshot.close()
    with commit(repositories, {"a.md": "last\n"}) as snapshot:
        kept = list(snapshot.checkout.tree.parent.parent.iterdir())
        assert len(kept) <= 4
        assert set(kept) - {snapshot.checkout.tree.parent} <= set(views)


def test_two_snapshots_of_one_head_share_a_checkout(repositories: Repositories) -> None:
    commit(repositories, {"a.md": "1\n"}).close()
    with repositories.open(USER, deadline()) as one, repositories.open(USER, deadline()) as two:
        inode = (one.checkout.tree / "a.md").stat().st_ino
        assert (two.checkout.tree / "a.md").stat().st_ino == inode


def test_a_checkout_with_something_missing_is_made_again(repositories: Repositories) -> None:
    with commit(repositories, {"a.md": "1\n", "b/c.md": "1\n", "b/d.md": "1\n"}) as snapshot:
        for victim in (
            "tree/a.md",
            "tree/b/c.md",
            "tree/b",
            "tree",
            "git/HEAD",
            "git/index",
            "git/refs",
            "git",
            "seal",
            "",
        ):
            path = snapshot.checkout.tree.parent / victim
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            assert sorted(contents(snapshot.checkout.tree)) == ["a.md", "b/c.md", "b/d.md"]
            assert git_output(snapshot, "status", "--short") == ""


def test_another_account_can_read_a_checkout_and_not_look_around(tmp_path: Path, bucket: Hooked) -> None:
    old = os.umask(0o077)
    try:
        with commit(machine(bucket, tmp_path / "cache"), {"a/b.md": "1\n"}) as snapshot:
            checkout = snapshot.checkout
    finally:
        os.umask(old)
    for root in (checkout.tree, checkout.git_dir, checkout.objects):
        for path in (root, *root.rglob("*")):
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode == 0o755 if path.is_dir() else mode in (0o444, 0o644), path
    for parent in checkout.tree.parents:
        if parent == tmp_path:
            break
        assert stat.S_IMODE(parent.stat().st_mode) in (0o711, 0o755), parent
    cache = tmp_path / "cache"
    assert stat.S_IMODE(cache.stat().st_mode) == 0o711
    manifests = list(cache.rglob("m"))
    assert manifests
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in manifests)


def plant(bucket: Bucket, tmp_path: Path, stream: bytes) -> None:
    """Put a history into the bucket that no commit of ours could make."""
    scratch = Scratch(tmp_path / "scratch", tmp_path / "none")
    command = ["git", "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet"]
    subprocess.run(command, input=stream, env=git.environment(scratch.checkout), check=True)
    head = (scratch.git_dir / "refs/heads/main").read_text().strip()
    pack: Pack = scratch.only_pack()
    manifest = Manifest(USER, "1" * 32, 0, 1, 0, head, 1, int(START.timestamp()), tail=(pack,))
    name = manifest_name(user_hash(USER, None))
    bucket.put(name, encode(manifest), Deadline(10), if_generation=0)


def test_what_an_imported_history_must_not_hold_never_reaches_the_disk(
    tmp_path: Path, bucket: Hooked, repositories: Repositories
) -> None:
    entries = [
        b"M 100644 inline good.md", b"M 100755 inline run.sh", b"M 120000 inline link.md",
        b"M 100644 inline .gitattributes", b"M 100644 inline a/.gitmodules", b"M 100644 inline -rf.md",
        b"M 100644 inline a/-x/b.md", b'M 100644 inline "bell\\007.md"', b'M 100644 inline "new\\nline.md"',
        b"M 100644 inline \xff.md", b"M 100644 inline back\\slash.md", "M 100644 inline \u202etxt.md".encode(),
    ]  # fmt: skip
    stream = b"commit refs/heads/main\ncommitter x <x> 1700000000 +0000\ndata 1\nx\n"
    stream += b"".join(entry + b"\ndata 2\nx\n\n" for entry in entries)
    stream += b"M 160000 " + b"1" * 40 + b" module\n"
    plant(bucket, tmp_path, stream)
    with repositories.open(USER, deadline()) as snapshot:
        assert snapshot.paths() == ("good.md", "run.sh")
        checkout = snapshot.checkout
        assert sorted(contents(checkout.tree)) == ["good.md", "run.sh"]
        assert sorted(path.name for path in checkout.tree.iterdir()) == ["good.md", "run.sh"]
        assert not os.access(checkout.tree / "run.sh", os.X_OK) or os.geteuid() == 0
        assert stat.S_IMODE((checkout.tree / "run.sh").stat().st_mode) == 0o444
        assert git_output(snapshot, "ls-files") == "good.md\nrun.sh\n"
        assert git_output(snapshot, "diff") == ""
    with repositories.commit(USER, write({"more.md": "x\n"}), deadline()).snapshot as snapshot:
        assert sorted(contents(snapshot.checkout.tree)) == ["good.md", "more.md", "run.sh"]
