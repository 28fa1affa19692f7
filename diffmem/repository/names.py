"""Names of a user's objects in the bucket: no personal data in them, and none used twice.

    v1/<uid>/m                                                       the manifest
    v1/<uid>/p/<seq:010d>-<pack trailer>-<id[:8]><8 hex>.pack | .idx

A pack's name carries the first digits of its repository's id, so that whoever erases a user can tell the packs of the
erased repository from those of one that was begun under the same user since.
"""

import hashlib
import hmac
import secrets

ROOT = "v1/"
_ID_DIGITS = 8


def user_hash(user: str, secret: str | None) -> str:
    """32 hex digits that stand for `user`: an HMAC where there is a secret, else a plain hash."""
    digest = hmac.new(secret.encode(), user.encode(), "sha256") if secret else hashlib.sha256(user.encode())
    return digest.hexdigest()[:32]


def new_id() -> str:
    """A fresh id for a repository."""
    return secrets.token_hex(16)


def manifest_name(uid: str) -> str:
    """The one object of a user that changes."""
    return f"{ROOT}{uid}/m"


def user_prefix(uid: str) -> str:
    """What the names of all objects of a user begin with."""
    return f"{ROOT}{uid}/"


def new_pack(seq: int, trailer: str, repository_id: str) -> str:
    """A fresh name for a pack, as the manifest lists it."""
    return f"{seq:010d}-{trailer}-{repository_id[:_ID_DIGITS]}{secrets.token_hex(4)}"


def pack_objects(uid: str, name: str) -> tuple[str, str]:
    """The two objects of the pack that the manifest calls `name`: the pack and its index."""
    return f"{ROOT}{uid}/p/{name}.pack", f"{ROOT}{uid}/p/{name}.idx"


def belongs_to(object_name: str, repository_id: str) -> bool:
    """Whether a pack's object was written for the repository of this id."""
    nonce = object_name.rpartition("/")[2].partition(".")[0].rpartition("-")[2]
    return nonce[:_ID_DIGITS] == repository_id[:_ID_DIGITS]
