"""Everything that the objects of a bucket say, however it is packed: to look for what must be gone."""

import zlib

from diffmem.git.packs import Pack
from diffmem.repository.manifest import decode
from diffmem.storage import Bucket
from tests.support.machines import deadline


def inflated(bucket: Bucket, prefix: str = "v1/") -> bytes:
    """The bytes of all objects, and of every zlib stream that begins anywhere in them."""
    parts = []
    for listed in bucket.list(prefix, deadline()):
        data = bucket.get(listed.name, deadline()).data
        parts.append(data)
        packs = decode(data, listed.name).tail if listed.name.endswith("/m") else (Pack(data, b""),)
        parts += [streams(pack.data) for pack in packs]
    return b"\n".join(parts)


def streams(data: bytes) -> bytes:
    """What the zlib streams that begin anywhere in `data` inflate to."""
    found = []
    at = 0
    while (at := data.find(b"\x78", at)) >= 0:
        inflate = zlib.decompressobj()
        try:
            found.append(inflate.decompress(data[at:]))
        except zlib.error:
            at += 1
            continue
        at = len(data) - len(inflate.unused_data) if inflate.eof else at + 1
    return b"\n".join(found)
