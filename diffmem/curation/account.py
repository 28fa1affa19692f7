"""The account of a consolidation: what stood in memory before and stands nowhere after, so that the commit names it."""

import re
from collections.abc import Mapping

from diffmem.memory import frontmatter
from diffmem.memory.facts import fact_key

_MARKER = re.compile(r"\A[\s#>]*(?:\d{1,9}[.)]\s+)?")


def lost_lines(differences: Mapping[str, tuple[str, str]]) -> list[str]:
    """The lines, front matter included, that stood in one of the files then and stand in none now; each once.

    `differences` maps the path of each file that changed to its text then and now. Bullets, citations, links, case and
    blanks do not count: a line that moved, or into which links were woven, stands.
    """
    standing = {line_key(line) for _, now in differences.values() for line in _lines(now)}
    then = [line for text, _ in differences.values() for line in _lines(text)]
    lost = {key: line.strip() for line in then if (key := line_key(line)) and key not in standing}
    return list(lost.values())


def front_matter_lines(text: str) -> set[str]:
    """The keys of the lines of front matter, which a merge takes apart."""
    place = frontmatter.locate(text)
    return {line_key(line) for line in text[place.start : place.end].split("\n")} if place else set()


def line_key(line: str) -> str:
    """What a line has in common with itself after it moved."""
    return fact_key(_MARKER.sub("", line, count=1))


def _lines(text: str) -> list[str]:
    return [line for line in text.replace("\r", "").split("\n") if line.strip()]
