"""From the words of a command to its arguments: parameters, substitutions, arithmetic, splitting, globs, as in bash.

Standard library only: this module runs in the worker.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from diffmem.shell import arithmetic, braces, parameters
from diffmem.shell.patterns import Piece, is_pattern
from diffmem.shell.state import State
from diffmem.shell.stops import MAX_TEXT, MAX_WORDS, ExpansionError, UnsetError
from diffmem.shell.tree import Arithmetic, Block, Parameter, Text, Word

_BLANKS = re.compile(r"[ \t\n]+")
_Expanded = tuple[str, bool, bool]
"""Some text, whether it is quoted, and whether it is split into fields."""


class Expander:
    """Expands words in one state; `substitute` runs a block and gives its output."""

    def __init__(self, state: State, substitute: Callable[[Block], str]) -> None:
        self._state = state
        self._substitute = substitute

    def arguments(self, words: Iterable[Word]) -> list[str]:
        """The arguments that `words` stand for.

        Raises:
            ExpansionError: they are too many or too long, or an expansion fails.
        """
        found: list[str] = []
        size = 0
        for word in words:
            for expanded in braces.expand(word):
                for field in self._fields(expanded):
                    found.append(field)
                    size += len(field)
                    if len(found) > MAX_WORDS:
                        raise _too_many()
                    if size > MAX_TEXT:
                        raise ExpansionError(f"more than {MAX_TEXT} characters in one command")
        return found

    def text(self, word: Word) -> str:
        """What `word` stands for where nothing is split and no pattern is expanded: a value, a here-string."""
        return _bounded("".join(text for text, _, _ in self._expand(word)))

    def _fields(self, word: Word) -> list[str]:
        if _is_literal(word):
            return ["".join(part.value for part in word if isinstance(part, Text))]
        found: list[str] = []
        cwd = ""
        for field in _split(self._expand(word), self._state.separators):
            matches: list[str] = []
            if is_pattern(field):
                cwd = cwd or self._state.directory
                matches = self._state.globs.expand(field, cwd)
            found.extend(matches or ["".join(text for text, _ in field)])
        return found

    def _pieces(self, word: Word) -> list[Piece]:
        return [(text, quoted) for text, quoted, _ in self._expand(word)]

    def _expand(self, word: Word) -> list[_Expanded]:
        expanded: list[_Expanded] = []
        for part in word:
            if isinstance(part, Text):
                expanded.append((part.value, part.quoted, False))
            elif isinstance(part, Parameter):
                expanded.extend(self._parameter(part))
            elif isinstance(part, Arithmetic):
                value = arithmetic.evaluate(self.text(part.expression), self._state.variables)
                expanded.append((str(value), part.quoted, not part.quoted))
            else:
                expanded.append((self._substitute(part.body), part.quoted, not part.quoted))
        return expanded

    def _parameter(self, part: Parameter) -> list[_Expanded]:
        value = str(self._state.status) if part.name == "?" else self._state.variables.get(part.name)
        default = parameters.DEFAULTS.get(part.operator)
        if default is not None:
            used = default.uses_word(value)
            if used:
                return self._default(part, default.action)
            return [("" if default.action == "alternative" else value or "", part.quoted, not part.quoted)]
        if value is None and part.operator == ":":
            value, part = "", replace(part, operator="")
        return [(self._transformed(part, value or ""), part.quoted, not part.quoted)]

    def _default(self, part: Parameter, action: str) -> list[_Expanded]:
        word = part.arguments[0]
        if action == "fail":
            raise UnsetError(f"{part.name}: {self.text(word) or 'parameter null or not set'}")
        if action == "assign":
            self._state.variables[part.name] = self.text(word)
            return [(self._state.variables[part.name], part.quoted, not part.quoted)]
        return [(text, quoted or part.quoted, not (quoted or part.quoted)) for text, quoted, _ in self._expand(word)]

    def _transformed(self, part: Parameter, value: str) -> str:
        operator, arguments = part.operator, part.arguments
        if operator == "":
            return value
        if operator == "length":
            return str(len(value))
        if operator == ":":
            numbers = [arithmetic.evaluate(self.text(word), self._state.variables) for word in arguments]
            return parameters.substring(value, *numbers)
        if operator in ("/", "//"):
            replacement = self.text(arguments[1]) if len(arguments) > 1 else ""
            return parameters.replace(value, self._pieces(arguments[0]), replacement, operator == "//")
        if operator in ("^", "^^", ",", ",,"):
            return parameters.change_case(value, self._pieces(arguments[0]), operator)
        return parameters.trim(value, self._pieces(arguments[0]), operator)


def _is_literal(word: Word) -> bool:
    """Whether a word is one field as it stands, as most are."""
    return bool(word) and all(
        isinstance(part, Text) and (part.quoted or not is_pattern([(part.value, False)])) for part in word
    )


def _too_many() -> ExpansionError:
    return ExpansionError(f"more than {MAX_WORDS} words; use: ... | xargs COMMAND")


def _bounded(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise ExpansionError(f"more than {MAX_TEXT} characters in one word")
    return text


def _split(expanded: Iterable[_Expanded], separators: str) -> list[list[Piece]]:
    """The fields that splitting makes of one word. Text that is not split belongs to the field it touches."""
    blanks = "".join(c for c in separators if c in " \t\n")
    others = "".join(c for c in separators if c not in " \t\n")
    delimiter = _delimiter(blanks, others)
    fields: list[list[Piece]] = []
    current: list[Piece] | None = None
    for text, quoted, split in expanded:
        if not split or delimiter is None:
            if text or quoted:
                current = [*(current or []), (text, quoted)]
            continue
        at = 0
        for found in delimiter.finditer(text):
            if found.start() > at:
                current = [*(current or []), (text[at : found.start()], False)]
            if current is not None or any(c in others for c in found[0]):
                fields.append(current or [])
            if len(fields) > MAX_WORDS:
                raise _too_many()
            current = None
            at = found.end()
        if at < len(text):
            current = [*(current or []), (text[at:], False)]
    return fields if current is None else [*fields, current]


def _delimiter(blanks: str, others: str) -> re.Pattern[str] | None:
    if blanks == " \t\n" and not others:
        return _BLANKS
    blank = f"[{re.escape(blanks)}]" if blanks else "(?!)"
    other = f"[{re.escape(others)}]" if others else "(?!)"
    return re.compile(f"{blank}*{other}{blank}*|{blank}+") if blanks or others else None
