"""Forgetting: what goes when a text, a file or a session is to be gone from head and history.

    text       in memory files each line that holds it goes; in archived sessions, front matter, commit messages and
               names of authors the text itself is replaced by `[forgotten]`; a file named after it goes whole, and so
               does one in a folder named after it
    file       goes whole, wherever in history it stands; commit messages lose its path
    session    its archive goes, each line that cites it, and what its commits say; an entity file that is left
               without a fact goes too, since its name came from there

*Covered*: case, Unicode form (NFC, NFD, NFKC), line breaks between the words of a text, and the ways in which JSON and
YAML write it. *Not covered*: paraphrases and translations; a folder whose name is one plain word, as those of the kinds
are; what merely mentions a forgotten file or session elsewhere in the files is listed, not changed.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from diffmem.errors import InvalidRequest
from diffmem.memory import (
    INDEX_PATH,
    citations,
    frontmatter,
    is_entity_path,
    parse_entity,
    slug,
    stem,
    stem_of,
)
from diffmem.memory.editing import decoded, encoded

FORGOTTEN = "[forgotten]"
MIN_TEXT_CHARS = 3

_MIN_NAME_CHARS = 3
_MAX_MENTIONS = 500
_PLAIN_WORD = re.compile(r"[a-z0-9]+")
_SESSION_ID = re.compile(r"^Session-Id: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mention:
    """A line (from 1) that stays, and why it may be worth a look."""

    path: str
    line: int
    what: Literal["name", "link"]


@dataclass(frozen=True, slots=True)
class Oblivion:
    """What is to be forgotten, as two functions of the history: of each file's contents, and of each message."""

    texts: Sequence[re.Pattern[str]]
    paths: frozenset[str]
    stems: frozenset[str]
    session_ids: frozenset[str]
    slugs: frozenset[str]
    gone: frozenset[str] = frozenset()

    def content(self, path: str, data: bytes) -> bytes | None:
        """What the content of `path` becomes; None: the file goes. What holds nothing to forget is the same bytes."""
        if path in self.paths or stem_of(path) in self.stems or self._is_named_after(path):
            return None
        text = decoded(data)
        kept = self._replaced(text) if stem_of(path) else self._memory(text)
        if kept == text:
            return data
        if is_entity_path(path) and self.stems and _facts(path, data) and not _facts(path, encoded(kept)):
            return None
        return encoded(kept)

    def message(self, text: str) -> str:
        """What a commit message becomes, or the name or address of an author."""
        named = _SESSION_ID.findall(text)
        if any(known in self.session_ids or self._is_after_a_text(stem(known)) for known in named):
            kept = [line for line in text.splitlines() if line.startswith(("Tx: ", "Writer: ", "Model: "))]
            return "\n".join(("A session that was forgotten", "", *kept)) + "\n"
        for path in self.paths | self.gone:
            text = text.replace(path, FORGOTTEN)
        for wanted in self.slugs:
            text = re.sub(rf"(?<!\w){re.escape(wanted)}(?!\w)", FORGOTTEN, text)
        return self._replaced(text)

    def _is_named_after(self, path: str) -> bool:
        *folders, name = path.removesuffix(".md").split("/")
        return any(map(self._is_after_a_text, [name, *(one for one in folders if not _PLAIN_WORD.fullmatch(one))]))

    def _is_after_a_text(self, name: str) -> bool:
        """Whether the words of a text stand in a file's name, as a slug or as a person wrote them."""
        names = {name, slug(name)}
        return any(re.search(rf"(?:^|-){re.escape(one)}(?:-|$)", known) for one in self.slugs for known in names)

    def _memory(self, text: str) -> str:
        """Without the lines that hold a text or cite a session; front matter keeps its lines, without the text."""
        place = frontmatter.locate(text)
        head, body = (text[: place.body], text[place.body :]) if place else ("", text)
        kept = [line for line in body.splitlines(keepends=True) if not self._goes(line)]
        return self._replaced(head) + self._replaced("".join(kept))

    def _goes(self, line: str) -> bool:
        return (
            any(pattern.search(line) for pattern in self.texts)
            or any(cited in self.stems for cited, _ in citations(line))
            or (line.startswith("- [") and any(f"({path})" in line or f"(<{path}>)" in line for path in self.gone))
        )

    def _replaced(self, text: str) -> str:
        for pattern in self.texts:
            text = pattern.sub(FORGOTTEN, text)
        return text


def oblivion(
    *, texts: Sequence[str] = (), paths: Sequence[str] = (), session_ids: Sequence[str] = (), gone: Iterable[str] = ()
) -> Oblivion:
    """What forgetting these means; files and sessions may be gone from the head already.

    `gone` are the paths whose files go somewhere in history, as an earlier pass found them; the manifest drops them.

    Raises:
        InvalidRequest: nothing to forget, or a text so short that it stands everywhere.
    """
    if not (texts or paths or session_ids):
        raise InvalidRequest("one of 'text', 'files' and 'sessions' is needed")
    short = [text for text in texts if len("".join(text.split())) < MIN_TEXT_CHARS]
    if short:
        raise InvalidRequest(f"text: {short[0]!r} has fewer than {MIN_TEXT_CHARS} characters")
    stems = {stem(known) for known in session_ids} | {found for path in paths if (found := stem_of(path))}
    return Oblivion(
        texts=[_pattern(text) for text in texts],
        paths=frozenset(paths),
        stems=frozenset(stems),
        session_ids=frozenset([*session_ids, *stems]),
        slugs=frozenset(slug(text) for text in texts),
        gone=frozenset(gone),
    )


def mentions(files: Mapping[str, bytes], forgotten: Oblivion) -> tuple[Mention, ...]:
    """Lines of what stays of `files` that name or link to an entity whose file goes, to be looked at by a person."""
    kept = {path: forgotten.content(path, data) for path, data in files.items()}
    gone = [path for path, data in kept.items() if data is None]
    names = [re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE) for name in _names(files, gone)]
    found = []
    for path, data in kept.items():
        lines = decoded(data).splitlines() if data is not None and path != INDEX_PATH else ()
        for number, line in enumerate(lines, 1):
            if any(path.removesuffix(".md") in line for path in gone):
                found.append(Mention(path, number, "link"))
            elif any(name.search(line) for name in names):
                found.append(Mention(path, number, "name"))
    return tuple(found[:_MAX_MENTIONS])


def _names(files: Mapping[str, bytes], gone: Iterable[str]) -> set[str]:
    entities = [parse_entity(path, files[path]) for path in gone if path in files and is_entity_path(path)]
    return {name for entity in entities for name in entity.names if len(name) >= _MIN_NAME_CHARS}


def _facts(path: str, data: bytes) -> int:
    return parse_entity(path, data).facts


def _pattern(text: str) -> re.Pattern[str]:
    """`text` in any case and Unicode form, with any blanks between its words, as such or as JSON and YAML write it."""
    forms = {unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")} | {text}
    # Names and ids of messages stand in JSON, where some characters are escaped (memory.sessions).
    quoted = {json.dumps(form, ensure_ascii=False)[1:-1] for form in forms}
    escaped = {form.replace("--", r"\u002d\u002d") for form in quoted} | {json.dumps(form)[1:-1] for form in forms}
    # In front matter YAML has escapes of its own, and doubles a quote between single ones (YAML 1.2, 5.7 and 7.3.2).
    escaped |= {form.encode("ascii", "backslashreplace").decode() for form in quoted}
    forms |= quoted | escaped | {form.replace("'", "''") for form in forms}
    spellings = sorted({r"\s+".join(re.escape(word) for word in form.split()) for form in forms}, key=len, reverse=True)
    return re.compile("|".join(spellings), re.IGNORECASE)
