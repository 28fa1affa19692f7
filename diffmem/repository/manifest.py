"""The manifest: the one object of a user that changes, and everything a reader has to know first.

    8 bytes   magic                        DIFFMEM1
    4 bytes   length of the JSON           big-endian
    JSON      {v, user, id, epoch, seq, gc, refs, commits, at, packs[{n, sha, isha, psz, isz, objs, lvl}],
              tail[{psz, isz}], erase_pending[names]}
    tail      the packs of the newest commits, each followed by its index
    32 bytes  SHA-256 of all of the above

`id` names the repository (another one may follow under the same user), `epoch` its history (rewriting adds 1), `seq`
counts changes, `gc` the fences of garbage collections. `commits` is the number of commits at the head, and `at` the
head's committer date. `erase_pending` lists packs of an erased history that may not be deleted yet.

*Covered*: a truncated or altered manifest is a CorruptObject that names the object, and no other error. *Not
covered*: whether git finds the packs sound; whoever hydrates checks them against the sums in here.
"""

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from diffmem.errors import CorruptObject
from diffmem.git.packs import Pack

MAGIC = b"DIFFMEM1"
VERSION = 1
MAIN = "refs/heads/main"
BASE_LEVEL = 99  # of a pack that holds a whole history

_LENGTH = struct.Struct(">I")
_START = len(MAGIC) + _LENGTH.size
_DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class StoredPack:
    """A pack that lies in the bucket as two objects; `sha` and `isha` are the SHA-256 of the pack and of its index."""

    name: str
    sha: str
    isha: str
    psz: int
    isz: int
    objects: int
    level: int

    @property
    def trailer(self) -> str:
        """The pack's own checksum, 40 hex digits."""
        return self.name.split("-")[1]

    @property
    def size(self) -> int:
        """Bytes of both objects."""
        return self.psz + self.isz

    @classmethod
    def of(cls, name: str, pack: Pack, level: int) -> "StoredPack":
        """The entry for a pack that is stored under `name`."""
        sha, isha = hashlib.sha256(pack.data).hexdigest(), hashlib.sha256(pack.index).hexdigest()
        return cls(name, sha, isha, len(pack.data), len(pack.index), pack.objects, level)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the manifest says; the tail's packs are here as they are."""

    user: str
    id: str
    epoch: int
    seq: int
    gc: int
    head: str
    commits: int
    head_recorded_at: int
    packs: tuple[StoredPack, ...] = ()
    tail: tuple[Pack, ...] = ()
    erase_pending: tuple[str, ...] = ()

    @property
    def trailers(self) -> tuple[str, ...]:
        """The checksums of all packs, stored ones first."""
        return (*(pack.trailer for pack in self.packs), *(pack.trailer for pack in self.tail))

    @property
    def size(self) -> int:
        """Bytes of all packs and their indexes."""
        return sum(pack.size for pack in self.packs) + sum(pack.size for pack in self.tail)


def encode(manifest: Manifest) -> bytes:
    """The manifest as the bucket keeps it."""
    text = json.dumps(_document(manifest), separators=(",", ":"), sort_keys=True).encode()
    tail = b"".join(part for pack in manifest.tail for part in (pack.data, pack.index))
    body = b"".join((MAGIC, _LENGTH.pack(len(text)), text, tail))
    return body + hashlib.sha256(body).digest()


def _document(manifest: Manifest) -> Mapping[str, Any]:
    return {
        "v": VERSION,
        "user": manifest.user,
        "id": manifest.id,
        "epoch": manifest.epoch,
        "seq": manifest.seq,
        "gc": manifest.gc,
        "refs": {MAIN: manifest.head},
        "commits": manifest.commits,
        "at": manifest.head_recorded_at,
        "packs": [
            {"n": p.name, "sha": p.sha, "isha": p.isha, "psz": p.psz, "isz": p.isz, "objs": p.objects, "lvl": p.level}
            for p in manifest.packs
        ],
        "tail": [{"psz": len(pack.data), "isz": len(pack.index)} for pack in manifest.tail],
        "erase_pending": list(manifest.erase_pending),
    }


def decode(data: bytes, name: str) -> Manifest:
    """The manifest that the object `name` holds.

    Raises:
        CorruptObject: `data` is not what `encode` made, or was made by a later version of it.
    """
    if data[: len(MAGIC)] != MAGIC or hashlib.sha256(data[:-_DIGEST_BYTES]).digest() != data[-_DIGEST_BYTES:]:
        raise CorruptObject(f"{name!r} is not a manifest, or was cut or altered")
    try:
        (length,) = _LENGTH.unpack_from(data, len(MAGIC))
        document = json.loads(data[_START : _START + length])
        if document["v"] != VERSION:
            raise CorruptObject(f"{name!r} is a manifest of version {document['v']!r}, not {VERSION}")
        return _manifest(document, data[_START + length : -_DIGEST_BYTES])
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise CorruptObject(f"{name!r} is not a manifest: {type(error).__name__}") from error


def _manifest(document: Mapping[str, Any], tail: bytes) -> Manifest:
    return Manifest(
        user=str(document["user"]),
        id=str(document["id"]),
        epoch=int(document["epoch"]),
        seq=int(document["seq"]),
        gc=int(document["gc"]),
        head=str(document["refs"][MAIN]),
        commits=int(document["commits"]),
        head_recorded_at=int(document["at"]),
        packs=tuple(_stored(entry) for entry in document["packs"]),
        tail=_tail(document["tail"], tail),
        erase_pending=tuple(str(name) for name in document["erase_pending"]),
    )


def _stored(entry: Mapping[str, Any]) -> StoredPack:
    sizes = (int(entry["psz"]), int(entry["isz"]), int(entry["objs"]), int(entry["lvl"]))
    return StoredPack(str(entry["n"]), str(entry["sha"]), str(entry["isha"]), *sizes)


def _tail(entries: list[Mapping[str, Any]], tail: bytes) -> tuple[Pack, ...]:
    packs = []
    at = 0
    for entry in entries:
        middle = at + int(entry["psz"])
        end = middle + int(entry["isz"])
        packs.append(Pack(tail[at:middle], tail[middle:end]))
        at = end
    if at != len(tail):
        raise ValueError("the tail is not as long as its entries say")
    return tuple(packs)
