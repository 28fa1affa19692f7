"""The operators of `${...}` on values: defaults, lengths, trimming, substrings, replacement, case.

Standard library only: this module runs in the worker.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from diffmem.shell.patterns import Pattern, Piece, is_pattern
from diffmem.shell.stops import MAX_TEXT, ExpansionError


@dataclass(frozen=True, slots=True)
class Default:
    """An operator that uses its word depending on whether the variable is set, or set and not empty (`null_too`)."""

    action: Literal["use", "assign", "fail", "alternative"]
    null_too: bool

    def uses_word(self, value: str | None) -> bool:
        """Whether the word is used in place of `value`."""
        missing = value is None or (self.null_too and not value)
        return missing != (self.action == "alternative")


DEFAULTS: Mapping[str, Default] = {
    ":-": Default("use", True),
    "-": Default("use", False),
    ":=": Default("assign", True),
    "=": Default("assign", False),
    ":?": Default("fail", True),
    "?": Default("fail", False),
    ":+": Default("alternative", True),
    "+": Default("alternative", False),
}


def substring(value: str, offset: int, length: int | None = None) -> str:
    """`${v:offset:length}`: negative numbers count from the end."""
    start = offset if offset >= 0 else len(value) + offset
    if start < 0 or start > len(value):
        return ""
    if length is None:
        return value[start:]
    end = start + length if length >= 0 else len(value) + length
    if end < start:
        raise ExpansionError(f"{length}: substring expression < 0")
    return value[start:end]


def trim(value: str, pattern: Sequence[Piece], operator: str) -> str:
    """`${v#p}`, `##`, `%`, `%%`: without the shortest or longest beginning or end that matches."""
    compiled = Pattern.of(pattern)
    backwards = operator[0] == "%"
    text = value[::-1] if backwards else value
    lengths = (compiled.reversed() if backwards else compiled).prefixes(text)
    cut = next(lengths, 0) if len(operator) == 1 else max(lengths, default=0)
    return text[cut:][::-1] if backwards else text[cut:]


def replace(value: str, pattern: Sequence[Piece], replacement: str, everywhere: bool) -> str:
    """`${v/p/w}`, `//`: the first longest match, or each, replaced."""
    literal = "".join(text for text, _ in pattern)
    if not literal:
        return value
    if "&" in replacement:
        raise ExpansionError("& in a replacement is not here; use: sed")
    if is_pattern(pattern):
        return _replace_pattern(value, Pattern.of(pattern), replacement, everywhere)
    count = value.count(literal) if everywhere else 1
    _check_size(len(value) + count * len(replacement))
    return value.replace(literal, replacement, count)


def _replace_pattern(value: str, pattern: Pattern, replacement: str, everywhere: bool) -> str:
    kept: list[str] = []
    at = size = 0
    while at < len(value):
        end = max(pattern.prefixes(value, at), default=at)
        size += len(replacement) if end > at else 1
        _check_size(size)
        kept.append(replacement if end > at else value[at])
        found, at = end > at, max(end, at + 1)
        if found and not everywhere:
            break
    return "".join(kept) + value[at:]


def _check_size(size: int) -> None:
    if size > MAX_TEXT:
        raise ExpansionError(f"more than {MAX_TEXT} characters in one word")


def change_case(value: str, pattern: Sequence[Piece], operator: str) -> str:
    """`${v^p}`, `^^`, `,`, `,,`: the first character, or each, that matches (no pattern: any) in the other case."""
    compiled = Pattern.of(pattern) if pattern else None
    change = str.upper if operator[0] == "^" else str.lower
    reach = len(value) if len(operator) == 2 else min(1, len(value))
    changed = [
        change(c) if len(change(c)) == 1 and (compiled is None or compiled.matches(c)) else c for c in value[:reach]
    ]
    return "".join(changed) + value[reach:]
