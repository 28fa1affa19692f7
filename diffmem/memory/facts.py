"""A fact: one line of text with its citation, and what makes two facts the same.

- Works at Acme as a nurse. ^[2026-03-05-dinner#3]
"""

import re
import unicodedata

MAX_FACT_CHARS = 600
MAX_CITATIONS = 3
DEFAULT_SECTION = "Facts"
"""The heading of a fact that comes without one."""

_CITATION = re.compile(r"(?<![ \t])[ \t]*\^\[([^\[\]#\s]+)(?:#(\d{1,9}))?\]")
_BULLET = re.compile(r"\A\s*(?:[-*+]|\d{1,3}[.)])\s+")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_QUOTES = str.maketrans(
    {**dict.fromkeys("‘’‚‛′`´", "'"), **dict.fromkeys("“”„‟″«»", '"'), **dict.fromkeys("‐‑‒–—―−", "-")}
)


def plain(text: str) -> str:
    """`text` in the spelling that comparisons use: compatibility form, plain quote marks and dashes, single blanks."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).translate(_QUOTES)).split())


def fact_key(text: str) -> str:
    """What two spellings of one fact have in common: bullet, citations, links, escapes, case, last stop aside."""
    bare = _ESCAPE.sub(r"\1", _LINK.sub(r"\1", _CITATION.sub("", text)))
    return plain(_BULLET.sub("", bare, count=1)).casefold().rstrip(". ")


def citations(text: str) -> tuple[tuple[str, int | None], ...]:
    """`(stem, message number)` of each citation in `text`, in order; None as number where it cites a whole session."""
    return tuple((stem, int(n) if n else None) for stem, n in _CITATION.findall(text))


def citation(stem: str, n: int | None = None) -> str:
    """The citation of message `n` of a session, or of the whole session."""
    return f"^[{stem}#{n}]" if n is not None else f"^[{stem}]"


def without_citation(text: str, stem: str) -> str:
    """`text` without its citations of session `stem`."""
    return _CITATION.sub(lambda match: "" if match[1] == stem else match[0], text)


def with_citation(text: str, mark: str) -> str:
    """`text` with the citation `mark` after it, unless that session is cited already or there are enough citations."""
    known = citations(text)
    (stem, _), *_ = citations(mark)
    full = len(known) >= MAX_CITATIONS or any(stem == other for other, _ in known)
    return text if full else f"{text.rstrip()} {mark}"


def fact_text(text: str) -> str:
    """`text` as the text of a fact, on one line that cannot break the format; empty where nothing is left of it.

    Citations are removed (code writes them), a bullet too, and nothing in it opens a comment or a footnote.
    """
    visible = "".join(char for char in text if char.isspace() or not _HIDDEN.match(char))
    line = " ".join(_CITATION.sub("", visible).split())
    line = _BULLET.sub("", line, count=1) if re.match(r"[-*+]\s", line) else line
    return line.replace("^[", "^ [").replace("<!--", "&lt;!--").replace("-->", "--&gt;")
