"""Brace expansion of a word: `{a,b}`, `{1..9}`, `{a..e}`, before any other expansion.

Standard library only: this module runs in the worker.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from diffmem.shell.stops import MAX_TEXT, MAX_WORDS, ExpansionError
from diffmem.shell.tree import Part, Text, Word

_SEQUENCE = re.compile(
    r"(?P<first>-?[0-9]{1,9})\.\.(?P<last>-?[0-9]{1,9})(?:\.\.(?P<step>-?[0-9]{1,9}))?|([A-Za-z])\.\.([A-Za-z])"
)
_MAX_BRACES = 100

_Atom = str | Part
"""One unquoted character, or a part that braces do not look into."""


def expand(word: Word) -> list[Word]:
    """The words that `word` stands for, in order.

    Raises:
        ExpansionError: they are more than the bound.
    """
    braces = sum(part.value.count("{") for part in word if isinstance(part, Text) and not part.quoted)
    if not braces:
        return [word]
    if braces > _MAX_BRACES:
        raise ExpansionError(f"a word has more than {_MAX_BRACES} braces")
    atoms: list[_Atom] = []
    for part in word:
        atoms.extend(part.value if isinstance(part, Text) and not part.quoted else [part])
    return [_word(expanded) for expanded in _expand(atoms)]


def _expand(atoms: Sequence[_Atom]) -> list[list[_Atom]]:
    for at, atom in enumerate(atoms):
        close, commas = _closing(atoms, at) if atom == "{" else (None, [])
        if close is None:
            continue
        alternatives = _alternatives(atoms, at, close, commas)
        if alternatives:
            rest = _expand(atoms[close + 1 :])
            _check_size(at, alternatives, rest)
            return [[*atoms[:at], *middle, *end] for middle in alternatives for end in rest]
    return [list(atoms)]


def _check_size(before: int, alternatives: Sequence[list[_Atom]], rest: Sequence[list[_Atom]]) -> None:
    count = len(alternatives) * len(rest)
    middles, ends = sum(map(len, alternatives)) * len(rest), sum(map(len, rest)) * len(alternatives)
    if count > MAX_WORDS or before * count + middles + ends > MAX_TEXT:
        raise ExpansionError(f"braces expand to more than {MAX_WORDS} words, or {MAX_TEXT} characters")


def _closing(atoms: Sequence[_Atom], at: int) -> tuple[int | None, list[int]]:
    """Where the brace at `at` closes, and its own commas."""
    depth = 0
    commas: list[int] = []
    for position in range(at, len(atoms)):
        if atoms[position] == "{":
            depth += 1
        elif atoms[position] == "}":
            depth -= 1
            if depth == 0:
                return position, commas
        elif atoms[position] == "," and depth == 1:
            commas.append(position)
    return None, []


def _alternatives(atoms: Sequence[_Atom], at: int, close: int, commas: list[int]) -> list[list[_Atom]]:
    if commas:
        edges = [at, *commas, close]
        found = [one for start, end in pairwise(edges) for one in _expand(atoms[start + 1 : end])]
        if len(found) > MAX_WORDS:
            raise ExpansionError(f"braces expand to more than {MAX_WORDS} words")
        return found
    inner = atoms[at + 1 : close]
    matched = _SEQUENCE.fullmatch("".join(atom if isinstance(atom, str) else "\0" for atom in inner))
    return [list(text) for text in _sequence(matched)] if matched else []


def _sequence(matched: re.Match[str]) -> list[str]:
    if matched["first"] is None:
        first, last = ord(matched[4]), ord(matched[5])
        return [chr(code) for code in _range(first, last, 1)]
    width = 0
    if any(re.match("-?0[0-9]", matched[name]) for name in ("first", "last")):
        width = max(len(matched["first"]), len(matched["last"]))
    numbers = _range(int(matched["first"]), int(matched["last"]), abs(int(matched["step"] or 1)) or 1)
    return [f"{number:0{width}d}" for number in numbers]


def _range(first: int, last: int, step: int) -> range:
    count = abs(last - first) // step + 1
    if count > MAX_WORDS:
        raise ExpansionError(f"braces expand to more than {MAX_WORDS} words")
    return range(first, last + 1, step) if first <= last else range(first, last - 1, -step)


def _word(atoms: Sequence[_Atom]) -> Word:
    parts: list[Part] = []
    for atom in atoms:
        last = parts[-1] if parts else None
        if not isinstance(atom, str):
            parts.append(atom)
        elif isinstance(last, Text) and not last.quoted:
            parts[-1] = Text(last.value + atom, False)
        else:
            parts.append(Text(atom, False))
    return tuple(parts)
