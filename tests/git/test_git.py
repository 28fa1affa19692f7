"""The git commands: what they see of the host, when they die, and what they make of odd histories."""

import os
import subprocess
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem import git
from diffmem.errors import DeadlineExceeded, GitError, StorageUnavailable
from diffmem.git import history, objects, packs, writing
from diffmem.git.index import File, write_index
from diffmem.git.packs import Pack, Scratch
from diffmem.git.paths import MAX_DEPTH, unsafe_reason
from diffmem.git.process import run
from diffmem.git.rewriting import past_commits, rewrite
from diffmem.limits import Deadline


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    """An empty repository."""
    (tmp_path / "borrowed").mkdir()
    return Scratch(tmp_path / "scratch", tmp_path / "borrowed")


def deadline() -> Deadline:
    return Deadline(30)


def load(scratch: Scratch, stream: str | bytes) -> str:
    """Put a fast-import stream into `scratch`; gives the sha of main."""
    data = stream.encode() if isinstance(stream, str) else stream
    command = ["git", "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--date-format=raw-permissive"]
    subprocess.run(command, input=data, env=git.environment(scratch.checkout), check=True)
    return (scratch.git_dir / "refs/heads/main").read_text().strip()


def commit(text: str, *, mark: int, paths: str = "", parents: str = "", who: str = "A <a@b> 1700000000 +0000") -> str:
    body = f"data {len(text.encode())}\n{text}\n"
    return f"commit refs/heads/main\nmark :{mark}\nauthor {who}\ncommitter {who}\n{body}{parents}{paths}\n"


def test_nothing_of_the_servers_environment_reaches_git(
    scratch: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(scratch.checkout, ["version"], deadline())  # GitPython asks for the version once, in the server's environment
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "alias.show-env")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "!env")
    with pytest.raises(GitError):
        run(scratch.checkout, ["show-env"], deadline())
    assert not (tmp_path / "trace").exists()


def test_git_on_a_full_disk_is_no_fault_of_the_memory(scratch: Scratch) -> None:
    load(scratch, commit("one", mark=1, paths="M 100644 inline a.md\ndata 2\nx\n"))
    with pytest.raises(StorageUnavailable, match="No space left on device"):
        run(scratch.checkout, ["archive", "--output=/dev/full", "main"], deadline())


def test_an_error_names_the_command_and_no_path_of_the_host(scratch: Scratch) -> None:
    with pytest.raises(GitError) as caught:
        run(scratch.checkout, ["cat-file", "-p", "nothing"], deadline())
    assert "git cat-file failed with exit code 128" in str(caught.value)
    with pytest.raises(GitError) as caught:
        run(scratch.checkout, ["add", str(scratch.directory / "file")], deadline())
    assert str(scratch.directory) not in str(caught.value)
    assert "/" not in str(caught.value).replace("and/or", "")


def test_a_process_that_outlives_the_deadline_is_killed_with_its_children(scratch: Scratch, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    alias = f"alias.hang=!sleep 60 & echo $! > '{pid_file}'; sleep 60"
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded, match="git -c"):
        run(scratch.checkout, ["-c", alias, "hang"], Deadline(1.5))
    assert time.monotonic() - began < 10
    child = int(pid_file.read_text())
    for _ in range(100):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            break
        if Path(f"/proc/{child}/stat").read_text().split(") ")[1][0] == "Z":
            break
        time.sleep(0.02)
    else:
        pytest.fail("the grandchild still runs")


def test_no_process_is_started_when_time_is_over(scratch: Scratch) -> None:
    with pytest.raises(DeadlineExceeded):
        run(scratch.checkout, ["version"], Deadline(0))


def test_objects_are_read_in_the_order_asked_and_what_is_missing_is_none(scratch: Scratch) -> None:
    head = load(
        scratch, commit("x", mark=1, paths='M 100644 inline a\ndata 3\na\n\n\nM 100644 inline "b c"\ndata 0\n\n')
    )
    found = objects.read_objects(scratch.checkout, [f"{head}:a", "nothing", f"{head}:b c", head + ":"], deadline())
    assert [one and one[1:] for one in found[:3]] == [("blob", b"a\n\n"), None, ("blob", b"")]
    assert found[3] is not None
    assert found[3][1] == "tree"


def test_a_log_survives_whatever_a_commit_says(scratch: Scratch) -> None:
    stream = commit("Plain\n\nKey: value\nOther:  spaced\n", mark=1, paths="M 100644 inline a\ndata 1\nx\n")
    stream += commit("\x01\x02 sub\x1bject\n", mark=2, who="Ö \x07 <o@o> 86400 +0530")
    stream += commit("", mark=3, who="A <> 4102444800 -0800", paths='M 100644 inline "new\\nline"\ndata 1\nx\n')
    stream += commit("late", mark=4, who="A <a@b> 999999999999999 +0000")
    stream += commit("odd zone", mark=5, who="A <a@b> 1700000000 +9900", paths="D a\n")
    head = load(scratch, stream)
    log = history.log(scratch.checkout, head, deadline())
    assert [one.subject for one in log] == ["odd zone", "late", "", "\x01\x02 sub\x1bject", "Plain"]
    assert [one.paths for one in log] == [("a",), (), ("new\nline",), (), ("a",)]
    assert log[4].trailers == {"Key": "value", "Other": "spaced"}
    assert log[3].occurred_at == datetime(1970, 1, 2, tzinfo=UTC)
    assert log[3].occurred_at.utcoffset() == timedelta(hours=5, minutes=30)
    assert log[2].occurred_at.utcoffset() == -timedelta(hours=8)
    assert all(one.recorded_at.tzinfo for one in log)


def test_the_log_of_a_merge_names_what_it_changed_against_its_first_parent(scratch: Scratch) -> None:
    stream = commit("base", mark=1, paths="M 100644 inline a\ndata 1\na\n")
    stream += commit("left", mark=2, paths="M 100644 inline b\ndata 1\nb\n")
    stream += commit("right", mark=3, parents="from :1\n", paths="M 100644 inline c\ndata 1\nc\n")
    stream += commit("merge", mark=4, parents="from :2\nmerge :3\n", paths="M 100644 inline c\ndata 1\nc\n")
    head = load(scratch, stream)
    log = history.log(scratch.checkout, head, deadline())
    assert log[0].paths == ("c",)
    assert len(log) == 4
    changes = history.last_changes(scratch.checkout, head, deadline())
    assert set(changes) == {"a", "b", "c"}


def test_a_joined_pack_holds_the_objects_of_all(tmp_path: Path, scratch: Scratch) -> None:
    shared = Scratch(tmp_path / "shared", tmp_path / "none")
    parent, trailers = None, []
    for number in range(3):
        with_parent = Scratch(tmp_path / f"one-{number}", shared.checkout.objects)
        moment = datetime(2026, 1, 1 + number, tzinfo=UTC)
        draft = writing.Draft(parent, {"a.md": b"x" * 500 + bytes([number])}, "m", "A", moment, moment)
        parent, pack = writing.write_commit(with_parent, draft, deadline())
        assert pack.is_whole()
        assert pack.objects == 3
        shared.write(pack)
        trailers.append(pack.trailer)
    assert parent is not None
    joining = Scratch(tmp_path / "joining", shared.checkout.objects)
    other, joined = (packs.join(joining, trailers, deadline(), by_path=by_path) for by_path in (True, False))
    assert joined.is_whole()
    assert joined.objects == other.objects == 9
    alone = Scratch(tmp_path / "alone", tmp_path / "none")
    alone.write(joined)
    assert len(history.log(alone.checkout, parent, deadline())) == 3
    whole = packs.pack_history(joining, parent, deadline())
    assert (whole.objects, whole.is_whole()) == (9, True)


@pytest.mark.parametrize("part", ["data", "index"])
def test_a_pack_that_was_altered_is_not_whole(scratch: Scratch, part: str) -> None:
    load(scratch, commit("x", mark=1, paths="M 100644 inline a\ndata 1\nx\n"))
    pack = scratch.only_pack()
    assert pack.is_whole()
    content: bytes = getattr(pack, part)
    for at in range(0, len(content), 7):
        altered = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        assert not (Pack(altered, pack.index) if part == "data" else Pack(pack.data, altered)).is_whole()
    assert not (Pack(content[:-1], pack.index) if part == "data" else Pack(pack.data, content[:-1])).is_whole()
    assert not (Pack(b"", pack.index) if part == "data" else Pack(pack.data, b"")).is_whole()


def test_a_date_is_written_in_its_own_zone_and_never_before_1970() -> None:
    zone = timezone(-timedelta(hours=3, minutes=30))
    assert writing.raw_date(datetime(2023, 5, 8, 13, 56, tzinfo=zone)) == "1683566760 -0330"
    assert writing.raw_date(datetime(1950, 1, 1, tzinfo=UTC)) == "0 +0000"


def test_our_index_is_what_git_would_write(scratch: Scratch, tmp_path: Path) -> None:
    stream = commit("x", mark=1, paths='M 100644 inline "a b/ö"\ndata 2\nx\n\nM 100644 inline a-b\ndata 0\n\n')
    head = load(scratch, stream)
    tree = tmp_path / "tree"
    (tree / "a b").mkdir(parents=True)
    files = []
    for blob in objects.list_blobs(scratch.checkout, head, deadline()):
        content = b"x\n" if blob.path == "a b/ö" else b""
        (tree / blob.path).write_bytes(content)
        os.utime(tree / blob.path, (1_700_000_000, 1_700_000_000))
        files.append(File(blob.path, blob.sha, len(content), 1_700_000_000))
    (scratch.git_dir / "index").write_bytes(write_index(reversed(files)))
    checkout = git.Checkout(tree, scratch.git_dir, scratch.checkout.objects, head)
    options = ["-c", "core.checkStat=minimal", "-c", "core.trustctime=false"]
    assert run(checkout, ["ls-files"], deadline()).output.decode() == "a b/ö\na-b\n"
    assert run(checkout, [*options, "status", "--porcelain"], deadline()).output == b""
    assert run(checkout, [*options, "diff-files"], deadline()).output == b""  # stat alone says: unchanged


NAMES = st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=12)


@given(st.lists(NAMES, min_size=1, max_size=5).map("/".join))
def test_a_safe_path_stays_below_the_tree(path: str) -> None:
    if unsafe_reason(path) is None:
        assert os.path.normpath(path) == path
        assert not path.startswith(("/", "-"))
        assert path.isprintable()
        assert not any(part.lower().startswith(".git") for part in path.split("/"))
        assert len(os.fsencode(path)) <= 1024


@pytest.mark.parametrize(
    "path", ["profile.md", "memories/people/Zoë.md", "sessions/2023/05/08-x.md", ".obsidian/app.json", "a b.md"]
)
def test_the_paths_of_a_memory_are_safe(path: str) -> None:
    assert unsafe_reason(path) is None


HURTFUL = [
    ".git",
    ".GIT/config",
    "a/.git",
    "GIT~1",
    ".gitmodules",
    "a/.gitattributes",
    "..",
    "a/../b",
    "/a",
    "a/",
    "-a",
]
HURTFUL += [
    "a\tb",
    "a\u200bb",
    ".g\u200cit",
    "a\u2028b",
    "\ue000",
    "a\\b",
    "C:a",
    "a.",
    "a ",
    " a",
    "a?b",
    "\ud800",
    "",
]


PARTS = st.sampled_from([*"a-._ ~:/", "git", ".git", "..", "ab", "x1", "-a", "a" * 199])


@given(st.lists(PARTS, max_size=24).map("".join))
def test_a_plain_path_is_one_that_the_slow_look_would_allow(path: str) -> None:
    plain = unsafe_reason(path) is None
    assert plain == (unsafe_reason(f"é/{path}") is None) or path.count("/") == MAX_DEPTH - 1 or len(path) > 1020


@pytest.mark.parametrize("offset", ["+14:00", "-14:00", "+14:01", "-14:01", "+23:59", "-23:59", "+05:45", "-00:30"])
def test_a_commit_happens_at_its_moment_whatever_its_zone(scratch: Scratch, offset: str) -> None:
    """git takes no zone over 14 hours from UTC, RFC 3339 does."""
    moment = datetime.fromisoformat(f"2026-03-02T20:00:00{offset}")
    sha, _ = writing.write_commit(scratch, replace(writing.ROOT, occurred_at=moment), deadline())
    shown = run(scratch.checkout, ["show", "-s", "--format=%aI", sha], deadline()).output.decode().strip()
    assert datetime.fromisoformat(shown) == moment


def test_commits_that_were_not_recorded_in_their_order_are_found_by_their_times(scratch: Scratch) -> None:
    """git stops looking when some commits in a row are too old."""
    days = [3, 30, *range(4, 18)]
    parents = ["", *(f"from :{mark}\n" for mark in range(1, len(days)))]
    stream = [
        commit(f"day {day}", mark=mark, parents=parent, who=f"A <a@b> {day * 86400} +0000")
        for mark, (day, parent) in enumerate(zip(days, parents, strict=True), 1)
    ]
    head = load(scratch, "".join(stream))

    def subjects(since: int, until: int, max_count: int | None = None) -> list[str]:
        first, last = (datetime.fromtimestamp(day * 86400, UTC) for day in (since, until))
        found = history.log(scratch.checkout, head, deadline(), since=first, until=last, max_count=max_count)
        return [one.subject for one in found]

    assert subjects(29, 31) == ["day 30"]
    assert subjects(3, 4) == ["day 4", "day 3"]
    assert subjects(16, 40) == ["day 17", "day 16", "day 30"]
    assert subjects(16, 40, 2) == ["day 17", "day 16"]


@pytest.mark.parametrize("path", HURTFUL)
def test_a_path_that_could_hurt_has_a_reason(path: str) -> None:
    assert unsafe_reason(path)


def test_rewriting_keeps_merges_modes_links_and_everybodys_times(scratch: Scratch, tmp_path: Path) -> None:
    stream = commit("base", mark=1, paths="M 100644 inline a\ndata 6\nsecret\nM 120000 inline link\ndata 1\na\n")
    stream += commit("left", mark=2, paths="M 100755 inline run\ndata 6\nsecret\n", who="L <l@l> 1700000100 +0200")
    stream += commit(
        "right", mark=3, parents="from :1\n", paths=f"M 160000 {'1' * 40} module\nM 100644 inline a\ndata 1\nx\n"
    )
    stream += commit(
        "merge", mark=4, parents="from :2\nmerge :3\n", paths='M 100644 inline a\ndata 1\nx\nR run "ö run"\n'
    )
    head = load(scratch, stream)
    target = Scratch(tmp_path / "target", scratch.checkout.objects)

    def transform(path: str, content: bytes) -> bytes:
        return content.replace(b"secret", b"******")

    done = rewrite(target, head, transform, str, False, deadline())
    new = Scratch(tmp_path / "new", tmp_path / "none")
    new.write(packs.pack_history(target, done.head, deadline()))
    before, after = (past_commits(one.checkout, sha, deadline()) for one, sha in ((scratch, head), (new, done.head)))
    assert [one.message for one in after] == [one.message for one in before]
    assert [(one.author, one.committer) for one in after] == [(one.author, one.committer) for one in before]
    assert [len(one.parents) for one in after] == [0, 1, 1, 2]
    assert [[(s.path, s.new.mode) for s in one.steps] for one in after] == [
        [(s.path, s.new.mode) for s in one.steps] for one in before
    ]
    assert done.paths == ("a", "run", "ö run")
    listing = run(new.checkout, ["ls-tree", "-r", done.head], deadline()).output.decode().split("\n")
    assert sorted(line.split(" ")[0] for line in listing if line) == ["100644", "100755", "120000"]
    everything = run(new.checkout, ["cat-file", "--batch-all-objects", "--batch"], deadline()).output
    assert b"secret" not in everything
    assert run(new.checkout, ["fsck", "--full"], deadline(), allowed=(0, 2)).exit_code == 0


def test_rewriting_paths_that_are_not_text(scratch: Scratch, tmp_path: Path) -> None:
    stream = (
        commit("x", mark=1).encode()[:-1] + b'M 100644 inline \xff"q\ndata 6\nsecret\nM 100644 inline ok\ndata 1\nx\n'
    )
    head = load(scratch, stream)
    target = Scratch(tmp_path / "target", scratch.checkout.objects)
    done = rewrite(target, head, lambda path, content: content.replace(b"secret", b"gone"), str, False, deadline())
    listing = run(target.checkout, ["ls-tree", "-z", "--name-only", done.head], deadline(), extra=target.environment)
    assert sorted(listing.output.split(b"\0")) == [b"", b"ok", b'\xff"q']
