"""Bundles that mean harm: each is refused with a reason, and nothing has changed, in the bucket or on the disk."""

import io
import struct
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest

from diffmem.curation.adopt import Adoption
from diffmem.errors import DeadlineExceeded, DiffMemError, NotABundle, UnknownUser, UnsafePath
from diffmem.git import Checkout, quarantine
from diffmem.git.bundles import read_header
from diffmem.git.packscan import Bounds
from diffmem.limits import Deadline
from diffmem.repository import Repositories
from diffmem.storage import LocalBucket
from tests.support.bundles import Repository, bundle, copy_all, delta, entry, pack, sha_of
from tests.support.machines import START, deadline, machine, object_names

USER = "alex"
SHA = "1" * 40
SMALL = Bounds(
    max_objects=200,
    max_blob_bytes=20_000,
    max_tree_bytes=20_000,
    max_commit_bytes=5_000,
    max_object_bytes_together=200_000,
    max_delta_chain=10,
    max_commits=20,
    max_files=30,
    max_files_bytes=40_000,
    max_changes_bytes=2_000,
)


class World:
    """A bucket, one machine, and somebody else's repository."""

    def __init__(self, folder: Path) -> None:
        self.bucket = LocalBucket(folder / "bucket")
        self.cache = folder / "cache"
        self.repositories: Repositories = machine(self.bucket, self.cache)
        self.stranger = Repository(folder / "stranger")

    def send(self, data: bytes, bounds: Bounds = Bounds(), seconds: float = 60) -> None:  # noqa: B008 - frozen
        """Import a bundle."""
        adoption = Adoption(USER, None, START)
        with _file(data) as file:
            self.repositories.import_bundle(USER, file, adoption.choose, adoption, deadline(seconds), bounds=bounds)

    def send_commit(self, commit: str, bounds: Bounds = Bounds()) -> None:  # noqa: B008 - frozen
        """Import the history of a commit."""
        self.send(self.stranger.bundle({"main": commit}), bounds)

    def refused(self, error: type[DiffMemError], words: str, send: Callable[[], None]) -> None:
        """`send` fails with these words, names nothing of the host, and leaves nothing behind."""
        with pytest.raises(error) as caught:
            send()
        message = str(caught.value)
        assert words in message
        assert "/tmp" not in message and str(self.cache) not in message
        assert object_names(self.bucket) == []
        assert {path.name for path in self.cache.rglob("*") if path.is_file()} <= {"lease"}
        with pytest.raises(UnknownUser):
            self.repositories.open(USER, deadline())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def _file(data: bytes) -> BinaryIO:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller's with
    file.write(data)
    file.seek(0)
    return file


def test_the_harmless_one_is_taken_by_the_same_way(world: World) -> None:
    world.send_commit(world.stranger.files({"memories/people/maya.md": b"# Maya\n"}), SMALL)
    with world.repositories.open(USER, deadline()) as snapshot:
        assert snapshot.paths() == ("index.md", "memories/people/maya.md")


# --- what is no bundle ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "begins with a line"),
        (b"PACK\0\0\0\2\0\0\0\0", "begins with a line"),
        (b"# v2 git bundle", "begins with a line"),
        (b"# v9 git bundle\n", "begins with a line"),
        (b"# v2 git bundle\n", "cut off"),
        (b"# v2 git bundle\n\n", "no branch"),
        (b"# v2 git bundle\n" + SHA.encode() + b" refs/heads/" + b"x" * 2000 + b"\n\n", "too long"),
        (b"# v2 git bundle\n" + SHA.encode()[:20] + b" HEAD\n\n", "no ref"),
        (b"# v2 git bundle\n-" + SHA.encode() + b"\n" + SHA.encode() + b" HEAD\n\n", "commits that it does not have"),
        (b"# v3 git bundle\n@object-format=sha256\n" + b"1" * 64 + b" HEAD\n\n", "'object-format=sha256'"),
        (b"# v3 git bundle\n@filter=blob:none\n" + SHA.encode() + b" HEAD\n\n", "'filter=blob:none'"),
        (b"# v3 git bundle\n" + b"@object-format=sha1\n" * 99, "too long"),
        (bundle({f"refs/heads/b{number}": SHA for number in range(1001)}, b""), "more than 1000 refs"),
        (bundle({"HEAD": SHA}, b""), "no pack"),
        (bundle({"HEAD": SHA}, b"PACK\0\0\0\7\0\0\0\0" + b"\0" * 20), "no pack"),
        (bundle({"HEAD": SHA}, pack([])), "no commit"),
    ],
)  # fmt: skip
def test_what_is_no_bundle_is_refused(world: World, data: bytes, words: str) -> None:
    world.refused(NotABundle, words, lambda: world.send(data))


def test_a_header_of_the_third_version_is_read() -> None:
    data = b"# v3 git bundle\n@object-format=sha1\n" + SHA.encode() + b" refs/heads/main\n\nPACK"
    assert read_header(io.BytesIO(data)).branches == ("main",)


def test_a_bundle_that_is_cut_off_anywhere_is_refused(world: World) -> None:
    data = world.stranger.bundle({"main": world.stranger.files({"a.md": b"x" * 500, "b.md": b"y\n"})})
    for length in range(0, len(data), 23):
        world.refused(NotABundle, "", lambda length=length: world.send(data[:length]))  # type: ignore[misc]


def test_a_bundle_with_a_bit_turned_is_refused(world: World) -> None:
    data = world.stranger.bundle({"main": world.stranger.files({"a.md": b"x" * 500, "b.md": b"y\n"})})
    begin = data.index(b"PACK")
    for at in range(begin, len(data), 19):
        turned = data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]
        world.refused(NotABundle, "", lambda turned=turned: world.send(turned))  # type: ignore[misc]


def test_a_ref_that_is_no_commit_is_refused(world: World) -> None:
    blob = world.stranger.write("blob", b"text")
    world.stranger.files({"a.md": b"x"})
    data = world.stranger.bundle({"main": world.stranger.files({"b.md": b"text"})})
    other = data.replace(data[data.index(b" HEAD") - 40 : data.index(b" HEAD")], blob.encode())
    world.refused(NotABundle, "no commit", lambda: world.send(other))


def test_a_history_with_something_missing_is_refused(world: World) -> None:
    tree = b"100644 a.md\0" + bytes.fromhex(sha_of("blob", b"a file that is not in the pack"))
    world.refused(NotABundle, "git index-pack", lambda: world.send(_by_hand(root=tree)))


# --- what a memory must not hold --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "name", "words"),
    [
        ("120000", "link.md", "'memories/link.md' is a symbolic link"),
        ("160000", "other", "'memories/other' is a submodule"),
        ("100644", ".git", "'memories/.git' has a part that git keeps"),
        ("100644", ".GIT", "'memories/.GIT' has a part that git keeps"),
        ("100644", "git~1", "'memories/git~1' has a part that git keeps"),
        ("100644", ".gitattributes", "'memories/.gitattributes' has a part that git keeps"),
        ("100644", ".gitmodules", "'memories/.gitmodules' has a part that git keeps"),
        ("100644", ".gitignore", "'memories/.gitignore' has a part that git keeps"),
        ("100644", ".g\u200cit", "has a character that cannot be seen"),
        ("100644", "..", "'memories/..' has an empty, '.' or '..' part"),
        ("100644", ".", "'memories/.' has an empty, '.' or '..' part"),
        ("100644", "a/b", "'memories/a/b' has a '/' within a name"),
        ("100644", "../../etc/passwd", "has a '/' within a name"),
        ("100644", "-rf.md", "'memories/-rf.md' has a part that begins with '-'"),
        ("100644", "a\nb.md", "has a character that cannot be seen"),
        ("100644", "\u202egnp.md", "has a character that cannot be seen"),
        ("100644", b"\xff.md", "is not Unicode text"),
        ("100644", "a\\b.md", "has a character that not every file system takes"),
        ("100644", "C:x.md", "has a character that not every file system takes"),
        ("100644", "x" * 201, "has a part longer than 200 bytes"),
        ("100664", "old.md", "'memories/old.md' has the mode 100664"),
        ("40000", ".git", "'memories/.git' has a part that git keeps"),
    ],
)  # fmt: skip
def test_an_entry_that_a_memory_must_not_hold_is_named(world: World, mode: str, name: str | bytes, words: str) -> None:
    stranger = world.stranger
    target = stranger.tree() if mode == "40000" else stranger.write("blob", b"[core]\n")
    if mode == "160000":
        target = stranger.files({"a.md": b"x"})
    root = stranger.tree(("40000", "memories", stranger.tree((mode, name, target))))
    world.refused(UnsafePath, words, lambda: world.send_commit(stranger.commit(root)))


def _by_hand(*objects: tuple[str, bytes], root: bytes) -> bytes:
    """A bundle of these objects and of a commit of the tree `root`, none of which git has seen."""
    who = b"Ada <a@example.org> 1772300000 +0100"
    commit = b"tree %s\nauthor %s\ncommitter %s\n\nx\n" % (sha_of("tree", root).encode(), who, who)
    entries = [entry(kind, data) for kind, data in (*objects, ("tree", root), ("commit", commit))]
    return bundle({"HEAD": sha_of("commit", commit)}, pack(entries))


@pytest.mark.parametrize(
    "root",
    [
        b"100644 \0" + bytes.fromhex(sha_of("blob", b"x")),
        b"100644 a.md\0" + bytes.fromhex(sha_of("blob", b"x"))[:19],
        (b"100644 a.md\0" + bytes.fromhex(sha_of("blob", b"x"))) * 2,
        b"100644 b.md\0" + bytes.fromhex(sha_of("blob", b"x")) + b"100644 a.md\0" + bytes.fromhex(sha_of("blob", b"x")),
        b"100644 a.md\0" + bytes(20),
        b"40000 a\0" + bytes.fromhex(sha_of("blob", b"x")),
        b"nonsense",
    ],
    ids=["empty name", "cut off", "twice", "out of order", "null", "a file as a folder", "nonsense"],
)
def test_a_tree_that_git_itself_would_not_write_is_refused(world: World, root: bytes) -> None:
    world.refused(NotABundle, "git ", lambda: world.send(_by_hand(("blob", b"x"), root=root)))


def test_what_was_deleted_long_ago_counts_too(world: World) -> None:
    stranger = world.stranger
    link = stranger.commit(stranger.tree(("120000", "escape", stranger.write("blob", b"/etc/passwd"))))
    now = stranger.files({"a.md": b"x\n"}, link)
    world.refused(UnsafePath, "'escape' is a symbolic link", lambda: world.send_commit(now))


def test_what_another_branch_holds_does_not_come_along(world: World) -> None:
    stranger = world.stranger
    canary = b"Kanarienvogel-7731 "
    other = stranger.commit(stranger.tree(("120000", "link", stranger.write("blob", canary * 20))))
    world.send(stranger.bundle({"main": stranger.files({"a.md": b"x\n"}), "other": other}))
    with world.repositories.open(USER, deadline()) as snapshot:
        assert snapshot.commit_count == 1
    for name in object_names(world.bucket):
        data = world.bucket.get(name, deadline()).data
        assert sha_of("blob", canary * 20).encode() not in data
        assert bytes.fromhex(sha_of("blob", canary * 20)) not in data


def test_folders_that_go_too_deep_are_refused(world: World) -> None:
    deep = world.stranger.files({"/".join(["d"] * 16) + "/a.md": b"x\n"})
    world.refused(UnsafePath, "'d/d/d/", lambda: world.send_commit(deep))
    long = world.stranger.files({"/".join(["n" * 150] * 7) + ".md": b"x\n"})
    world.refused(UnsafePath, "is longer than 1024 bytes", lambda: world.send_commit(long))


def test_folders_deeper_than_any_stack_are_refused(world: World) -> None:
    trees = [b"100644 a.md\0" + bytes.fromhex(sha_of("blob", b"x"))]
    for _ in range(3000):
        trees.append(b"40000 d\0" + bytes.fromhex(sha_of("tree", trees[-1])))
    data = _by_hand(("blob", b"x"), *(("tree", tree) for tree in trees[:-1]), root=trees[-1])
    world.refused(DiffMemError, "", lambda: world.send(data))


# --- bombs ------------------------------------------------------------------------------------------------------------


def test_an_object_that_inflates_to_more_than_a_file_may_have_is_refused(world: World) -> None:
    data = bundle({"HEAD": SHA}, pack([entry("blob", b"\0" * 40_000_000)]))
    assert len(data) < 50_000
    world.refused(NotABundle, "a blob of 40000000 bytes", lambda: world.send(data))


def test_an_object_that_claims_less_than_it_inflates_to_is_refused(world: World) -> None:
    data = bundle({"HEAD": SHA}, pack([entry("blob", b"\0" * 40_000_000, claimed=10)]))
    world.refused(NotABundle, "larger than it claims", lambda: world.send(data))
    data = bundle({"HEAD": SHA}, pack([entry("blob", b"\0" * 10, claimed=20_000_000)]))
    world.refused(NotABundle, "smaller than it claims", lambda: world.send(data))


def test_data_that_goes_on_without_saying_anything_is_refused(world: World) -> None:
    empty_blocks = b"\0\0\0\xff\xff" * 200_000
    raw = b"\x3a" + b"\x78\x9c" + empty_blocks
    world.refused(NotABundle, "cut off", lambda: world.send(bundle({"HEAD": SHA}, pack([raw]))))


def test_a_delta_that_makes_more_than_a_file_may_have_is_refused(world: World) -> None:
    base = b"x" * 60_000
    bomb = delta(sha_of("blob", base), len(base), 60_000 * 5_000, copy_all(60_000, 5_000))
    data = bundle({"HEAD": SHA}, pack([entry("blob", base), bomb]))
    assert len(data) < 10_000
    world.refused(NotABundle, "a delta that makes 300000000 bytes", lambda: world.send(data))


def test_many_deltas_that_together_make_too_much_are_refused(world: World) -> None:
    base = b"x" * 60_000
    bombs = [delta(sha_of("blob", base), len(base), 30_000_000, copy_all(60_000, 500)) for _ in range(200)]
    world.refused(
        NotABundle, "bytes together", lambda: world.send(bundle({"HEAD": SHA}, pack([entry("blob", base), *bombs])))
    )


def test_a_long_chain_of_deltas_is_refused(world: World) -> None:
    contents = [b"line\n" * 20]
    entries = [entry("blob", contents[0])]
    for number in range(12):
        before = contents[-1]
        line = b"%d\n" % number
        made = struct.pack("<BB", 0x80 | 0x10, len(before)) + bytes([len(line)]) + line
        contents.append(before + line)
        entries.append(delta(sha_of("blob", before), len(before), len(contents[-1]), made))
    files = [b"100644 f%02d.md\0" % n + bytes.fromhex(sha_of("blob", c)) for n, c in enumerate(contents)]
    tree = b"".join(files)
    who = b"Ada <a@example.org> 1772300000 +0100"
    commit = b"tree %s\nauthor %s\ncommitter %s\n\nx\n" % (sha_of("tree", tree).encode(), who, who)
    data = bundle({"HEAD": sha_of("commit", commit)}, pack([*entries, entry("tree", tree), entry("commit", commit)]))
    world.refused(NotABundle, "a chain of 12 deltas", lambda: world.send(data, SMALL))
    world.send(data)


def test_a_pack_that_counts_more_objects_than_it_may_is_refused_before_it_is_read(world: World) -> None:
    data = bundle({"HEAD": SHA}, pack([], count=4_000_000_000))
    world.refused(NotABundle, "counts 4000000000 objects", lambda: world.send(data))


def test_trees_of_trees_that_stand_for_more_files_than_there_are_atoms_are_refused(world: World) -> None:
    stranger = world.stranger
    tree = stranger.tree(*(("100644", f"f{n}.md", stranger.write("blob", b"x")) for n in range(10)))
    for _ in range(12):
        tree = stranger.tree(*(("40000", f"d{n}", tree) for n in range(10)))
    world.refused(NotABundle, "more than 20000 files", lambda: world.send_commit(stranger.commit(tree)))


def test_one_large_file_in_many_places_is_refused(world: World) -> None:
    large = b"x" * 15_000
    commit = world.stranger.files({f"f{number}.md": large for number in range(4)})
    world.refused(NotABundle, "bytes", lambda: world.send_commit(commit, SMALL))


def test_too_many_files_are_refused(world: World) -> None:
    commit = world.stranger.files({f"f{number}.md": b"x" for number in range(31)})
    world.refused(NotABundle, "more than 30 files", lambda: world.send_commit(commit, SMALL))


def test_too_many_commits_are_refused(world: World) -> None:
    head = world.stranger.files({"a.md": b"x"})
    for number in range(21):
        head = world.stranger.files({"a.md": b"%d" % number}, head)
    world.refused(NotABundle, "more than 20 commits", lambda: world.send_commit(head, SMALL))


def test_small_commits_that_change_everything_again_and_again_are_refused(world: World) -> None:
    stranger = world.stranger
    trees = [stranger.files({f"{name}{n:02}.md": b"x" for n in range(29)}) for name in ("a", "b")]
    roots = [stranger.git("rev-parse", f"{commit}^{{tree}}").decode().strip() for commit in trees]
    head = stranger.commit(roots[0])
    for number in range(8):
        head = stranger.commit(roots[number % 2], head)
    world.refused(NotABundle, "change more files", lambda: world.send_commit(head, SMALL))
    world.send_commit(head, replace(SMALL, max_changes_bytes=20_000))


@pytest.mark.parametrize(
    ("when", "words"),
    [
        (0, "between 1970 and 2100"),
        (99_999_999_999_999, "between 1970 and 2100"),
        (4_102_444_801, "between 1970 and 2100"),
        (4_000_000_000, "still to come"),
    ],
)
def test_times_that_nothing_later_could_work_with_are_refused(world: World, when: int, words: str) -> None:
    world.refused(NotABundle, words, lambda: world.send_commit(world.stranger.files({"a.md": b"x"}, when=when)))


def test_a_commit_message_as_long_as_a_book_is_refused(world: World) -> None:
    commit = world.stranger.files({"a.md": b"x"}, message="x" * 2_000_000)
    world.refused(NotABundle, "a commit of 2000", lambda: world.send_commit(commit))


def test_a_bundle_that_takes_too_long_is_given_up(world: World) -> None:
    data = world.stranger.bundle({"main": world.stranger.files({"a.md": b"x"})})
    world.refused(DiffMemError, "time", lambda: world.send(data, seconds=0.0))
    world.refused(DiffMemError, "time", lambda: world.send(data, seconds=0.03))


def test_a_bundle_whose_time_runs_out_at_git_can_be_closed(tmp_path: Path) -> None:
    times = iter([0.0, 0.0, *[9.0] * 100])
    scratch = Checkout(tmp_path, tmp_path, tmp_path, "0" * 40)
    with _file(b"# v2 git bundle\n\nPACK" + b"x" * 1000) as file:
        file.readline()
        with pytest.raises(DeadlineExceeded):
            quarantine._index(scratch, file, 17, Deadline(1, lambda: next(times)))
        assert file.readline() == b"\n"


def test_orders_to_git_are_files_like_any_other_or_nothing(world: World) -> None:
    """Replace refs, grafts, shallow marks and hooks are refs or files of a git directory: none of them can arrive."""
    stranger = world.stranger
    good, evil = (stranger.files({"a.md": text}) for text in (b"good\n", b"evil\n"))
    refs = {"refs/heads/main": good, f"refs/replace/{good}": evil, "refs/heads/../../hooks/post-checkout": evil}
    data = stranger.bundle({"main": good, "evil": evil})
    whole = bundle(refs, data[data.index(b"\n\n") + 2 :])
    world.send(whole)
    with world.repositories.open(USER, deadline()) as snapshot:
        assert snapshot.read("a.md") == b"good\n"
    assert [path for path in world.cache.rglob("*") if "hook" in path.name or "replace" in path.name] == []
