"""Shell patterns (`*`, `?`, `[...]`), matched in time linear in the text whatever the pattern.

A pattern is run as a set of positions held in the bits of one integer, so that no pattern backtracks.
Standard library only: this module runs in the worker.
"""

from collections.abc import Callable, Iterable, Iterator

from diffmem.shell.stops import MAX_PATTERN, MAX_STEPS, ExpansionError

Piece = tuple[str, bool]
"""Some text, and whether it is quoted: quoted characters stand for themselves."""

_CLASSES: dict[str, Callable[[str], bool]] = {
    "alpha": str.isalpha,
    "digit": lambda c: c in "0123456789",
    "alnum": lambda c: c.isalpha() or c in "0123456789",
    "upper": str.isupper,
    "lower": str.islower,
    "space": str.isspace,
    "blank": lambda c: c in " \t",
    "punct": lambda c: c.isascii() and c.isprintable() and not c.isalnum() and c != " ",
    "print": str.isprintable,
    "graph": lambda c: c.isprintable() and c != " ",
    "cntrl": lambda c: ord(c) < 32 or ord(c) == 127,
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
    "word": lambda c: c.isalnum() or c == "_",
}

_Token = str | Callable[[str], bool] | None
"""A character, a test of one, or None for `*`."""


def is_pattern(pieces: Iterable[Piece]) -> bool:
    """Whether an unquoted character of `pieces` is special in a pattern."""
    return any(not quoted and any(c in text for c in "*?[") for text, quoted in pieces)


class Pattern:
    """A compiled pattern."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._stars = sum(1 << i for i, token in enumerate(tokens) if token is None)
        self._accept = 1 << len(tokens)
        self._masks: dict[str, int] = {}
        self._steps = 0

    @classmethod
    def of(cls, pieces: Iterable[Piece]) -> "Pattern":
        """The pattern that some text with its quoting means."""
        characters = [(character, quoted) for text, quoted in pieces for character in text]
        if len(characters) > MAX_PATTERN:
            raise ExpansionError(f"a pattern has more than {MAX_PATTERN} characters")
        return cls(_tokens(characters))

    def reversed(self) -> "Pattern":
        """The pattern that matches the reverse of what this one matches."""
        return Pattern(self._tokens[::-1])

    def matches(self, text: str) -> bool:
        """Whether the whole of `text` matches."""
        last = -1
        for last in self.prefixes(text):  # noqa: B007
            pass
        return last == len(text)

    def prefixes(self, text: str, start: int = 0) -> Iterator[int]:
        """The offsets, ascending, at which what begins at `start` in `text` may end so that it matches.

        Raises:
            ExpansionError: this pattern has looked at more characters than the bound, over all its uses.
        """
        state = self._close(1)
        if state & self._accept:
            yield start
        for position in range(start, len(text)):
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise ExpansionError("a pattern takes too long on this text")
            state = self._step(state, text[position])
            if not state:
                return
            if state & self._accept:
                yield position + 1

    def _step(self, state: int, character: str) -> int:
        mask = self._masks.get(character)
        if mask is None:
            self._steps += len(self._tokens)
            mask = self._masks[character] = self._mask(character)
        return self._close((state & self._stars) | ((state & mask) << 1))

    def _close(self, state: int) -> int:
        return state | (state & self._stars) << 1

    def _mask(self, character: str) -> int:
        return sum(1 << i for i, token in enumerate(self._tokens) if _matches(token, character))


def _matches(token: _Token, character: str) -> bool:
    if token is None:
        return False
    return token == character if isinstance(token, str) else token(character)


def _tokens(characters: list[Piece]) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while at < len(characters):
        character, quoted = characters[at]
        at += 1
        if quoted or character not in "*?[":
            tokens.append(character)
        elif character == "?":
            tokens.append(lambda _: True)
        elif character == "*":
            if not tokens or tokens[-1] is not None:
                tokens.append(None)
        else:
            bracket, after = _bracket(characters, at)
            tokens.append("[" if bracket is None else bracket)
            at = at if bracket is None else after
    return tokens


def _bracket(characters: list[Piece], at: int) -> tuple[Callable[[str], bool] | None, int]:
    """The test that a bracket expression means, and where it ends; None where it is not closed."""
    negated = at < len(characters) and characters[at] in (("!", False), ("^", False))
    at += negated
    start = at
    tests: list[Callable[[str], bool]] = []
    while at < len(characters) and (characters[at] != ("]", False) or at == start):
        test, at = _item(characters, at)
        tests.append(test)
    if at >= len(characters):
        return None, at
    return (lambda c: any(test(c) for test in tests) != negated), at + 1


def _item(characters: list[Piece], at: int) -> tuple[Callable[[str], bool], int]:
    text = "".join(character for character, _ in characters[at : at + 12])
    name, closed, _ = text[2:].partition(":]")
    if text.startswith("[:") and closed and name in _CLASSES and not characters[at][1]:
        return _CLASSES[name], at + len(name) + 4
    first = characters[at][0]
    if at + 2 < len(characters) and characters[at + 1] == ("-", False) and characters[at + 2] != ("]", False):
        last = characters[at + 2][0]
        return (lambda c: first <= c <= last), at + 3
    return (lambda c: c == first), at + 1
