"""Quotes: whether a session really says what a fact claims to be taken from, and in which message.

Blanks, Unicode's forms, quote marks and dashes do not count; everything else does. What this product itself put into
the conversation (`diffmem.memory.framing`) is no source.
"""

from dataclasses import dataclass

from diffmem.memory import numbered_messages, parse_session, stem_of
from diffmem.memory.facts import citation, plain
from diffmem.memory.framing import without_frames

_MIN_LETTERS = 4
_GAP = "\ufffc"  # stands where a frame was, so that no quote reaches across it


@dataclass(frozen=True, slots=True)
class Found:
    """Where a quote stands: the citation of its message, or why there is none."""

    mark: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Part:
    n: int | None
    said: str
    whole: str


class Source:
    """An archived session, to look up quotes in."""

    def __init__(self, path: str, data: bytes) -> None:
        self.stem = stem_of(path) or "session"
        messages = [(item.n, item.message.content) for item in numbered_messages(data)]
        contents: list[tuple[int | None, str]] = [*messages] or [(None, parse_session(data).transcript or "")]
        self._parts = [_Part(n, plain(without_frames(text, _GAP)), plain(text)) for n, text in contents]

    def find(self, quote: str) -> Found:
        """The first message that says `quote`, word for word."""
        wanted = plain(quote).strip("\"' ").removesuffix("...").strip()
        if not wanted:
            return Found(problem="it has no quote")
        for part in self._parts:
            if wanted in part.said and (_is_telling(wanted) or wanted == part.said.strip("\"' ")):
                return Found(citation(self.stem, part.n))
        return Found(problem=self._why_not(wanted, quote))

    def _why_not(self, wanted: str, quote: str) -> str:
        if any(wanted in part.said for part in self._parts):
            return f"the quote {quote!r} is too short to show anything"
        if any(wanted in part.whole for part in self._parts):
            return f"the quote {quote!r} lies in context that came from memory"
        return f"the session does not say {quote[:200]!r}"


def _is_telling(quote: str) -> bool:
    return sum(char.isalnum() for char in quote) >= _MIN_LETTERS
