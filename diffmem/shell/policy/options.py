"""Reading options as getopt_long does, but for an exact table: no abbreviations, nothing that is not in the table.

What comes back is normalised: each option is a word of its own, with its argument attached in one fixed way, so that
the program cannot read the line differently from the policy. The order of options and the order of operands are kept.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from diffmem.shell.policy.values import Check, text
from diffmem.shell.policy.verdict import BadValue, Place, Refused

Arity = Literal["none", "required", "optional"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option: whether it takes an argument, the check of that argument, and the spelling that is passed on."""

    arity: Arity
    check: Check
    spelling: str


@dataclass(frozen=True, slots=True)
class Table:
    """The options of one command.

    `digits` names the option that `-5` stands for; `refused` has the reasons for what people try. With `glued`, the
    argument of a short option is attached and never empty (git); otherwise it is a word of its own (getopt).
    """

    options: Mapping[str, Option]
    refused: Mapping[str, str] = field(default_factory=dict)
    digits: str | None = None
    glued: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """Options in order as (spelling, argument), and operands in order.

    `before_dashes` is how many operands stood before `--`; None where there was none.
    """

    options: tuple[tuple[str, str | None], ...]
    operands: tuple[str, ...]
    before_dashes: int | None

    def has(self, *names: str) -> bool:
        """Whether one of `names` was given."""
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> list[str]:
        """The arguments given to `names`, in order."""
        return [value for name, value in self.options if name in names and value is not None]


def table(
    flags: str = "",
    required: Mapping[str, Check] | None = None,
    optional: Mapping[str, Check] | None = None,
    *,
    rewritten: Mapping[str, str] | None = None,
    refused: Mapping[str, str] | None = None,
    digits: str | None = None,
    glued: bool = False,
    also: Table | None = None,
) -> Table:
    """A table from names separated by blanks; `rewritten` maps a flag to the one passed on in its place."""
    options: dict[str, Option] = dict(also.options) if also else {}
    options.update({name: Option("none", text, name) for name in flags.split()})
    options.update({name: Option("none", text, to) for name, to in (rewritten or {}).items()})
    for arity, group in (("required", required), ("optional", optional)):
        for names, check in (group or {}).items():
            options.update({name: Option(arity, check, name) for name in names.split()})  # type: ignore[arg-type]
    reasons = {one: why for names, why in (refused or {}).items() for one in names.split()}
    reasons = {**(also.refused if also else {}), **reasons}
    return Table(options, reasons, digits or (also.digits if also else None), glued or bool(also and also.glued))


def parse(command: str, words: Sequence[str], allowed: Table, place: Place, *, permute: bool = True) -> Parsed:
    """The options and operands of `words`; without `permute` the first operand ends the options (xargs).

    Raises:
        Refused: an option that is not in the table, or an argument its check does not take.
    """
    return _Reader(command, words, allowed, place).read(permute)


def emit(parsed: Iterable[tuple[str, str | None]], *, glued: bool = False) -> list[str]:
    """The words that say `parsed` in the one form that the program and the policy read alike."""
    words: list[str] = []
    for name, value in parsed:
        if value is None:
            words.append(name)
        elif name.startswith("--"):
            words.append(f"{name}={value}")
        elif glued:
            words.append(name + value)
        else:
            words += [name, value]
    return words


def without(words: Sequence[str], forced: Sequence[str]) -> Sequence[str]:
    """`words` without `forced` at their head: what the policy put there itself may be checked again."""
    return words[len(forced) :] if tuple(words[: len(forced)]) == tuple(forced) else words


class _Reader:
    def __init__(self, command: str, words: Sequence[str], allowed: Table, place: Place) -> None:
        self.command = command
        self.rest = list(words)
        self.table = allowed
        self.place = place
        self.options: list[tuple[str, str | None]] = []

    def read(self, permute: bool) -> Parsed:
        operands: list[str] = []
        while self.rest:
            word = self.rest.pop(0)
            if word == "--":
                return Parsed(tuple(self.options), (*operands, *self.rest), len(operands))
            if word == "-" or not word.startswith("-"):
                operands.append(word)
                if not permute:
                    return Parsed(tuple(self.options), (*operands, *self.rest), None)
            elif word.startswith("--"):
                self._long(word)
            elif self.table.digits and re.fullmatch(r"-[0-9]{1,9}", word):
                self._add(self.table.digits, word[1:])
            else:
                self._cluster(word)
        return Parsed(tuple(self.options), tuple(operands), None)

    def _long(self, word: str) -> None:
        name, equals, value = word.partition("=")
        option = self._find(name)
        if option.arity == "none" and equals:
            raise Refused(f"{self.command}: option '{name}' takes no argument", self.command)
        if option.arity == "required" and not equals:
            self._add(name, self._next(name))
        else:
            self._add(name, value if equals else None)

    def _cluster(self, word: str) -> None:
        if word in self.table.options:
            self._add(word, self._next(word) if self.table.options[word].arity == "required" else None)
            return
        for position in range(1, len(word)):
            name, rest = f"-{word[position]}", word[position + 1 :]
            option = self._find(name, word)
            if option.arity == "none":
                self._add(name, None)
                continue
            if option.arity == "required" and not rest:
                rest = self._next(name)
                self._add(name, rest)
            else:
                self._add(name, rest or None)
            return

    def _next(self, name: str) -> str:
        if not self.rest:
            raise Refused(f"{self.command}: option '{name}' needs an argument", self.command)
        return self.rest.pop(0)

    def _find(self, name: str, word: str = "") -> Option:
        option = self.table.options.get(name)
        if option is None:
            raise Refused(_unknown(self.command, name, word, self.table), self.command)
        return option

    def _add(self, name: str, value: str | None) -> None:
        option = self._find(name)
        if value is not None:
            if self.table.glued and not name.startswith("--") and not value:
                raise Refused(f"{self.command}: option '{name}' has an empty argument", self.command)
            try:
                option.check(value, self.place)
            except BadValue as error:
                raise Refused(f"{self.command}: the argument {value!r} of '{name}' {error}", self.command) from None
        self.options.append((option.spelling, value))


def _unknown(command: str, name: str, word: str, allowed: Table) -> str:
    said = f"'{name}' (in '{word}')" if word and word != name else f"'{name}'"
    reason = allowed.refused.get(name)
    if reason:
        return f"{command}: option {said} is not available: {reason}"
    near = difflib.get_close_matches(name, list(allowed.options), n=1, cutoff=0.6) if len(name) > 2 else []
    if near:
        return f"{command}: option {said} is not available; the nearest that is: '{near[0]}'"
    known = " ".join(sorted((option for option in allowed.options if len(option) == 2), key=str.casefold))
    return f"{command}: option {said} is not available" + (f"; available: {known}" if known else "")
