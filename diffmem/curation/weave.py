"""Links woven into facts: the first mention of another entity becomes `[[memories/people/maya|Maya]]`.

Only proper names are woven, those with a capital letter or in a script without capitals, and only as whole words;
code, links, addresses and citations are left alone. Weaving what is woven changes nothing.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping

from diffmem.memory.entities import Entity
from diffmem.memory.facts import fact_key
from diffmem.memory.names import name_key
from diffmem.memory.outline import Outline, outline
from diffmem.memory.workspace import Workspace

_LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|[^\[\]]*)?\]\]")
_PROTECTED = (
    r"\[\[[^\[\]]*\]\]|\[[^\[\]]*\]\([^()]*\)|\^\[[^\[\]]*\]|`[^`]{0,400}`|<[^<>]*>"
    r"|\w{1,20}://\S+|[\w.+-]{1,80}@[\w.-]+|[#@]\w+"
)
_MIN_CHARS = 2


def link(path: str, label: str) -> str:
    """The link to the file at `path` that reads `label`."""
    return f"[[{path.removesuffix('.md')}|{label}]]"


def _link_targets(text: str) -> set[str]:
    """The paths, without their ending, that the links of `text` lead to."""
    return {match[1] for match in _LINK.finditer(text)}


def relinked(text: str, old: str, new: str) -> str:
    """`text` with the links to the file at `old` leading to `new`."""
    pattern = re.compile(rf"\[\[{re.escape(old.removesuffix('.md'))}(?=[|\]])")
    return pattern.sub(lambda _: f"[[{new.removesuffix('.md')}", text)


def weave(workspace: Workspace) -> int:
    """Weave links into the facts of entities, timeline and profile; the number of files that changed."""
    names = _woven_names(workspace.entities)
    pattern = _pattern(names)
    changed = 0
    for path in workspace.paths if names else ():
        if path.startswith(("memories/", "timeline/")) or path == "profile.md":
            text = workspace.text(path)
            woven = _woven_text(text, path, names, pattern)
            workspace.put(path, woven)
            changed += woven != text
    return changed


def _woven_names(entities: Iterable[Entity]) -> dict[str, str]:
    """The path that each proper name leads to; a name that several entities go by leads nowhere."""
    owners: dict[str, set[str]] = {}
    spellings: dict[str, str] = {}
    for entity in entities:
        for name in entity.names:
            if _is_proper(name):
                owners.setdefault(name_key(name), set()).add(entity.path)
                spellings[name] = entity.path
    return {name: path for name, path in spellings.items() if owners[name_key(name)] == {path}}


def _woven_text(text: str, path: str, names: Mapping[str, str], pattern: re.Pattern[str]) -> str:
    """`text`, the file at `path`, with links woven into its facts; as it was where that would change what it says."""
    parts = outline(text)
    lines = list(parts.lines)
    for fact in parts.facts:
        said = "\n".join(lines[fact.start : fact.end])
        body = said[len(fact.prefix) :]
        lines[fact.start : fact.end] = (fact.prefix + _woven(body, path, names, pattern)).split("\n")
    woven = "\n".join(lines)
    return woven if _says(outline(woven)) == _says(parts) else text


def _woven(said: str, path: str, names: Mapping[str, str], pattern: re.Pattern[str]) -> str:
    linked = _link_targets(said) | {path.removesuffix(".md")}

    def replaced(match: re.Match[str]) -> str:
        target = names.get(match[0], "")
        if not target or target.removesuffix(".md") in linked:
            return match[0]
        linked.add(target.removesuffix(".md"))
        return link(target, match[0])

    return pattern.sub(replaced, said)


def _says(parts: Outline) -> list[tuple[str, str, str]]:
    return [(kind, markup, fact_key(content)) for kind, markup, content in parts.shape]


def _pattern(names: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile("|".join([_PROTECTED, *map(_whole_word, longest_first)]))


def _whole_word(name: str) -> str:
    """`name` where it stands alone; scripts that put no blanks between words have no such edge."""
    left = r"(?<!\w)" if _has_edge(name[0]) else ""
    right = r"(?!\w)" if _has_edge(name[-1]) else ""
    return f"{left}{re.escape(name)}{right}"


def _has_edge(char: str) -> bool:
    return char.isalnum() and unicodedata.category(char) != "Lo"


def _is_proper(name: str) -> bool:
    letters = [char for char in name if char.isalpha()]
    is_named = any(char.isupper() or unicodedata.category(char) == "Lo" for char in letters)
    return len(letters) >= _MIN_CHARS and is_named and not re.search(r"[\[\]|\n]", name)
