"""The tail, and the packs that it is folded into."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from diffmem.git.packs import Pack
from diffmem.repository import Repositories
from diffmem.repository.fold import MAX_STORED_PACKS, MAX_TAIL_BYTES, MAX_TAIL_PACKS, place_pack
from diffmem.repository.manifest import Manifest, encode
from tests.support.machines import USER, append, deadline, fsck, object_names, stored_manifest, write
from tests.support.noise import noise
from tests.support.wrapped import Hooked

NewMachine = Callable[[], Repositories]

EMPTY = Manifest(USER, "0" * 32, 0, 0, 0, "0" * 40, 0, 0)


def fake_pack(size: int) -> Pack:
    """Bytes that look like a pack from outside."""
    return Pack(b"PACK" + random.Random().randbytes(max(24, size)), b"")


class Joiner:
    """Joins fake packs: the whole is a share of its parts."""

    def __init__(self, share: float) -> None:
        self.sizes: dict[str, int] = {}
        self.share = share
        self.joined_bytes = 0

    def know(self, pack: Pack) -> Pack:
        self.sizes[pack.trailer] = len(pack.data)
        return pack

    def __call__(self, trailers: Sequence[str], *, by_path: bool) -> Pack:
        total = sum(self.sizes[trailer] for trailer in trailers)
        self.joined_bytes += total
        return self.know(fake_pack(int(total * self.share)))


@given(st.lists(st.integers(100, 300_000), max_size=120), st.sampled_from([1.0, 0.9, 0.3]))
def test_tail_and_stored_packs_stay_within_their_bounds(sizes: list[int], share: float) -> None:
    join = Joiner(share)
    manifest = EMPTY
    for seq, size in enumerate(sizes):
        placed = place_pack(replace(manifest, seq=seq), join.know(fake_pack(size)), join)
        assert {stored.name for stored, _ in placed.uploads} <= {pack.name for pack in placed.manifest.packs}
        assert {p.name for p in placed.manifest.packs} - {p.name for p in manifest.packs} == {
            stored.name for stored, _ in placed.uploads
        }
        manifest = placed.manifest
        assert sum(pack.size for pack in manifest.tail) <= MAX_TAIL_BYTES
        assert len(manifest.tail) <= MAX_TAIL_PACKS
        assert len(manifest.packs) <= MAX_STORED_PACKS


def test_ten_thousand_commits_are_few_packs_and_little_is_written_twice() -> None:
    join = Joiner(1.0)
    manifest = EMPTY
    uploads = 0
    for seq in range(10_000):
        placed = place_pack(replace(manifest, seq=seq), join.know(fake_pack(2_500)), join)
        manifest, uploads = placed.manifest, uploads + 2 * len(placed.uploads)
        assert len(manifest.packs) <= MAX_STORED_PACKS
    assert uploads / 10_000 <= 0.1
    assert join.joined_bytes <= 12 * 10_000 * 2_500


def test_small_commits_stay_in_the_manifest(repositories: Repositories, bucket: Hooked) -> None:
    for number in range(3):
        repositories.commit(USER, append("log.md", str(number)), deadline(), create=True).snapshot.close()
    assert object_names(bucket) == [name for name in object_names(bucket) if name.endswith("/m")]
    assert len(stored_manifest(bucket).tail) == 4


def test_a_full_tail_becomes_deltas_in_one_pack_before_it_becomes_an_object(
    repositories: Repositories, bucket: Hooked
) -> None:
    text = noise(9_000, 1)
    for number in range(40):
        repositories.commit(USER, write({"a.md": text + f"{number}\n"}), deadline(), create=True).snapshot.close()
    manifest = stored_manifest(bucket)
    assert manifest.packs == ()  # 40 versions of 5 kB each
    assert len(manifest.tail) < 32
    assert fsck(bucket) == ""


def test_a_fold_uploads_the_pack_and_its_index_and_empties_the_tail(
    repositories: Repositories, new_machine: NewMachine, bucket: Hooked
) -> None:
    repositories.create(USER, deadline())
    text = noise(300_000, 1)
    bucket.calls.clear()
    done = repositories.commit(USER, write({"a.md": text}), deadline())
    done.snapshot.close()
    manifest = stored_manifest(bucket)
    assert manifest.tail == ()
    assert len(manifest.packs) == 1
    assert manifest.packs[0].name.startswith("0000000002-")
    assert [name.rpartition(".")[2] for name in sorted(bucket.names("put"))][1:] == ["idx", "pack"]
    assert bucket.calls[-1][1].endswith("/m")
    with new_machine().open(USER, deadline()) as snapshot:
        assert snapshot.read("a.md") == text.encode()
        assert snapshot.requests == 3


def test_packs_that_were_joined_leave_the_bucket(repositories: Repositories, bucket: Hooked) -> None:
    for number in range(5):
        files: dict[str, str | None] = {f"{number}.md": noise(300_000, number)}
        repositories.commit(USER, write(files), deadline(), create=True).snapshot.close()
    manifest = stored_manifest(bucket)
    assert len(manifest.packs) <= 3
    assert len(object_names(bucket)) == 1 + 2 * len(manifest.packs)
    assert max(pack.level for pack in manifest.packs) >= 1
    assert len(encode(manifest)) <= MAX_TAIL_BYTES + 4_000
    assert fsck(bucket) == ""
