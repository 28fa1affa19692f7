"""Names of people and things: how two are compared, and how one becomes a file name.

The rules of normalisation are Unicode's (UAX #15; NFKC with case folding); the reserved names are those of Windows
(Naming Files, Paths, and Namespaces) and those that a memory gives a meaning of its own.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable

USER_NAMES = frozenset({"profile", "profile.md", "user", "the user", "me", "i", "myself"})
"""Keys of the names by which the user goes, whose file is the profile: no entity that a model makes bears one."""

MAX_SLUG_CHARS = 60
_MAX_SLUG_BYTES = 180

_DEVICES = ("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)))
_OURS = ("git", "index", "profile", "settings", "timeline", "sessions", "memories", "readme")
_RESERVED = frozenset((*_DEVICES, *_OURS))


def name_key(name: str) -> str:
    """What two spellings of one name have in common: case, Unicode form, blanks and invisible characters aside."""
    folded = _fold(name)
    visible = "".join(char for char in folded if unicodedata.category(char) not in ("Cf", "Cc") or char.isspace())
    return " ".join(visible.split())


def slug(name: str) -> str:
    """A file name (without its ending) for `name`: letters and digits of any script in lower case, with `-` between.

    1 to 60 characters and at most 180 bytes; never a reserved name, never one that a file system folds into another.
    Different names may share a slug: `free_slug` tells them apart. Example: `Zoë O'Neil` gives `zoë-o-neil`.
    """
    text = _cut(_joined(_fold(name))) or _cut(_joined(_spelled_out(name))) or f"x-{short_hash(name)}"
    return f"{text}-name" if text in _RESERVED else text


def free_slug(name: str, taken: Iterable[str]) -> str:
    """`slug(name)`, with a short hash of the name after it where `taken` holds that slug already."""
    plain, used = slug(name), set(taken)
    return plain if plain not in used else f"{plain}-{short_hash(name_key(name))}"


def short_hash(text: str) -> str:
    """Eight hex digits of the SHA-256 of `text`."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _fold(text: str) -> str:
    # Folding can undo the normal form and the other way round; twice is enough (Unicode, D146).
    for _ in range(2):
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return text


def _joined(folded: str) -> str:
    visible = "".join(char for char in folded if unicodedata.category(char) != "Cf")
    return re.sub("-+", "-", "".join(char if _is_word(char) else "-" for char in visible)).strip("-")


def _is_word(char: str) -> bool:
    return unicodedata.category(char)[0] in "LMN"


def _spelled_out(name: str) -> str:
    return " ".join(unicodedata.name(char, "") for char in name[:5]).lower()


def _cut(text: str) -> str:
    short = text[:MAX_SLUG_CHARS].encode()[:_MAX_SLUG_BYTES].decode("utf-8", "ignore")
    return unicodedata.normalize("NFC", short).strip("-")
