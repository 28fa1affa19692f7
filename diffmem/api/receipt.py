"""The receipt of an erasure, whole or in part."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from diffmem.curation.forget import Mention
from diffmem.storage import Retention


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an erasure removed; `retained` says what the bucket itself still holds, and for how long.

    `mentions` are lines that stay although they name what went. With `dry_run` nothing was removed: `files` and
    `commits_rewritten` say what would be. `receipt_sha256` is the SHA-256 of the other fields as JSON with sorted keys
    and no blanks.
    """

    user: str
    erased_at: datetime
    objects: int
    bytes: int
    commits_rewritten: int
    files: Sequence[str]
    generations: Sequence[int]
    retained: Sequence[Retention]
    mentions: Sequence[Mention] = ()
    dry_run: bool = False
    receipt_sha256: str = ""

    def signed(self) -> "Receipt":
        """The receipt with its own digest."""
        fields = asdict(self) | {"erased_at": self.erased_at.isoformat()}
        del fields["receipt_sha256"]
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return replace(self, receipt_sha256=hashlib.sha256(text.encode()).hexdigest())
