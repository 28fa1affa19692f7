"""Words of a command: a span of source text into the parts of `tree.Word`, quotes and expansions read as bash does.

The parser's tree says where words and command substitutions lie; what a word means is read here from the source itself,
since that tree drops blanks and misses expansions in places. Where the two disagree the word is refused.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from diffmem.shell.policy import Refused
from diffmem.shell.quotes import ansi_c
from diffmem.shell.tree import Arithmetic, Block, Parameter, Part, Substitution, Text, Word

MAX_DEPTH = 24

_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*|\?")
_OPERATOR = re.compile(rb":[-=+?]|[-=+?]|##|#|%%|%|//|/(?![#%])|\^\^|\^|,,|,|:")
_ORDINARY = re.compile(rb"[^\\'\"$`]")
_BLANKS = re.compile(rb"(?:[ \t]|\\\n)*")
_NAME_MEETS_BRACE = re.compile(rb"\$[A-Za-z_][A-Za-z0-9_]*(?:\{|[^{]*[,}][^{]*\}[A-Za-z0-9_{])")
_DEFAULTS = frozenset((":-", ":=", ":+", ":?", "-", "=", "+", "?"))
_POSITIONAL = re.compile(rb"\$(?:[0-9@*#$!-]|\{(?:!|#?[0-9@*$-]|##?\}))")


@dataclass(frozen=True, slots=True)
class _Mode:
    """How a stretch of source is read: where it stops, whether quotes quote, and what a backslash escapes."""

    stops: bytes
    quotes: bool
    escapes: bytes | None
    quoted: bool
    braces: bool = False


_PLAIN = _Mode(b" \t\n|&;()<>", quotes=True, escapes=None, quoted=False)
_DOUBLE = _Mode(b'"', quotes=False, escapes=b'$`"\\\n', quoted=True)
_HEREDOC = _Mode(b"", quotes=False, escapes=b"$`\\\n", quoted=True)
_ARGUMENT = _Mode(b"}", quotes=True, escapes=None, quoted=False, braces=True)
_PATTERN = _Mode(b"}/", quotes=True, escapes=None, quoted=False, braces=True)
_DOUBLE_ARGUMENT = _Mode(b"}", quotes=False, escapes=b'$`"\\\n}', quoted=True, braces=True)


class Lexer:
    """Reads the words of one source.

    `substitutions` maps where a `$(` or a backtick starts to where it ends, and a reader of its body.
    """

    def __init__(self, source: bytes, substitutions: Mapping[int, tuple[int, Callable[[], Block]]]) -> None:
        self._source = source
        self._substitutions = substitutions
        self._depth = 0

    def words(self, start: int, end: int) -> tuple[Word, ...]:
        """The words between two offsets, separated by blanks."""
        found: list[Word] = []
        at = self._skip_blanks(start, end)
        while at < end:
            first = at
            word, at = self._scan(at, end, _PLAIN)
            if at < end and self._source[at] not in b" \t" and not self._source.startswith(b"\\\n", at):
                raise Refused(f"{self._character(at)!r} is not understood here; {self._lesson(at)}")
            self._check_braces(word, self._source[first:at])
            found.append(_checked(word))
            at = self._skip_blanks(at, end)
        return tuple(found)

    def _lesson(self, at: int) -> str:
        if self._source.startswith((b"<(", b">("), at):
            return "pipe it in and name it '-': git show HEAD~1:index.md | diff - index.md"
        return "quote it if it is meant as text"

    def word(self, start: int, end: int) -> Word:
        """The one word between two offsets."""
        words = self.words(start, end)
        if len(words) != 1:
            raise Refused(f"{self._text(start, end)!r} is not understood; quote what belongs together")
        return words[0]

    def heredoc(self, start: int, end: int) -> Word:
        """The body of a heredoc whose delimiter is not quoted."""
        return self._scan(start, end, _HEREDOC)[0]

    def _scan(self, at: int, end: int, mode: _Mode) -> tuple[Word, int]:
        parts: list[Part] = []
        while at < end and self._source[at] not in mode.stops:
            part, at = self._part(at, end, mode)
            parts.extend(part)
        return _joined(parts), at

    def _part(self, at: int, end: int, mode: _Mode) -> tuple[Word, int]:
        character = self._source[at : at + 1]
        if character == b"\\":
            return self._escape(at, end, mode)
        if character == b"$":
            return self._dollar(at, end, mode)
        if character == b"`":
            return self._substitution(at, mode.quoted)
        if character in (b"'", b'"') and mode.quotes:
            return self._quotes(at, end, character)
        if character == b'"' and mode.braces:
            raise Refused('quotes inside "${...}" are not understood; use a variable')
        return self._ordinary(at, end, mode)

    def _ordinary(self, at: int, end: int, mode: _Mode) -> tuple[Word, int]:
        stop = at + 1
        while stop < end and self._source[stop] not in mode.stops and _ORDINARY.match(self._source, stop):
            stop += 1
        return (Text(self._text(at, stop), mode.quoted),), stop

    def _escape(self, at: int, end: int, mode: _Mode) -> tuple[Word, int]:
        if at + 1 >= end:
            if mode is _PLAIN:
                raise Refused("the command ends in a backslash")
            return (Text("\\", True),), at + 1
        following = self._source[at + 1 : at + 2]
        if following == b"\n":
            return (), at + 2
        if mode.escapes is not None and following not in mode.escapes:
            return (Text("\\", True),), at + 1
        stop = at + 2
        while stop < end and 0x80 <= self._source[stop] < 0xC0:
            stop += 1
        return (Text(self._text(at + 1, stop), True),), stop

    def _quotes(self, at: int, end: int, quote: bytes) -> tuple[Word, int]:
        if quote == b"'":
            close = self._source.find(b"'", at + 1, end)
            if close < 0:
                raise Refused("a ' is not closed")
            return (Text(self._text(at + 1, close), True),), close + 1
        inner, close = self._scan(at + 1, end, _DOUBLE)
        if close >= end:
            raise Refused('a " is not closed')
        return (*inner, Text("", True)), close + 1

    def _dollar(self, at: int, end: int, mode: _Mode) -> tuple[Word, int]:
        rest = self._source[at + 1 : at + 3]
        if rest[:1] == b"'" and mode.quotes:
            value, at = ansi_c(self._source, at + 2, end)
            return (Text(value, True),), at
        if at in self._substitutions:
            return self._substitution(at, mode.quoted)
        if rest == b"((":
            with self.deeper():
                return self._arithmetic(at + 3, end, mode.quoted)
        if rest[:1] in (b"(", b"[") or (rest[:1] == b'"' and mode.quotes):
            raise Refused(f"{self._text(at, at + 2)!r} is not understood here; use $( ), $(( )) or plain quotes")
        if _POSITIONAL.match(self._source, at):
            raise Refused(
                f"{self._text(at, at + 2)!r}: there are no arguments here, and of the special variables only $?"
            )
        if rest[:1] == b"{":
            with self.deeper():
                return self._braced(at + 2, end, mode.quoted)
        name = _NAME.match(self._source, at + 1, end)
        if name is None:
            return (Text("$", True),), at + 1
        return (Parameter(name[0].decode(), "", (), mode.quoted),), name.end()

    def _braced(self, at: int, end: int, quoted: bool) -> tuple[Word, int]:
        length = self._source.startswith(b"#", at)
        name = _NAME.match(self._source, at + length, end)
        if name is None:
            self._no_form(at)
        at = name.end()
        if self._source.startswith(b"}", at):
            return (Parameter(name[0].decode(), "length" if length else "", (), quoted),), at + 1
        operator = _OPERATOR.match(self._source, at, end)
        if operator is None or length:
            self._no_form(at)
        sign = operator[0].decode()
        arguments, at = self._arguments(sign, operator.end(), end, quoted)
        if at >= end or self._source[at] != ord("}"):
            self._no_form(at)
        return (Parameter(name[0].decode(), sign, arguments, quoted),), at + 1

    def _arguments(self, sign: str, at: int, end: int, quoted: bool) -> tuple[tuple[Word, ...], int]:
        value = _DOUBLE_ARGUMENT if quoted else _ARGUMENT
        if sign in _DEFAULTS:
            word, at = self._scan(at, end, value)
            return (word,), at
        if sign == ":":
            return self._substring(at, end)
        if sign not in ("/", "//"):
            word, at = self._scan(at, end, _ARGUMENT)
            return (word,), at
        pattern, at = self._scan(at, end, _PATTERN)
        if not self._source.startswith(b"/", at):
            return (pattern, ()), at
        replacement, at = self._scan(at + 1, end, value)
        return (pattern, replacement), at

    def _substring(self, at: int, end: int) -> tuple[tuple[Word, ...], int]:
        mode = _Mode(b":}", quotes=False, escapes=b"", quoted=True, braces=True)
        offset, at = self._scan(at, end, mode)
        if not self._source.startswith(b":", at):
            return (offset,), at
        length, at = self._scan(at + 1, end, mode)
        return (offset, length), at

    def _arithmetic(self, at: int, end: int, quoted: bool) -> tuple[Word, int]:
        mode = _Mode(b"()", quotes=False, escapes=b"$`\n", quoted=True, braces=True)
        parts: list[Part] = []
        depth = 0
        while True:
            word, at = self._scan(at, end, mode)
            parts.extend(word)
            if at >= end:
                raise Refused("a $(( is not closed")
            depth += 1 if self._source[at] == ord("(") else -1
            if depth < 0:
                break
            parts.append(Text(self._character(at), True))
            at += 1
        if not self._source.startswith(b"))", at) or at + 2 > end:
            raise Refused("a $(( is not closed by ))")
        return (Arithmetic(_joined(parts), quoted),), at + 2

    def _substitution(self, at: int, quoted: bool) -> tuple[Word, int]:
        if at not in self._substitutions:
            raise Refused("a ` is not understood here; write $( ), and \\` for a backtick itself")
        end, body = self._substitutions[at]
        if self._source[at] == ord("`") and b"\\" in self._source[at:end]:
            raise Refused("a backslash inside backticks is not understood; write $( )")
        return (Substitution(body(), quoted),), end

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One level of nesting, of which there are at most `MAX_DEPTH`."""
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                raise Refused(f"nested deeper than {MAX_DEPTH}")
            yield
        finally:
            self._depth -= 1

    def _no_form(self, at: int) -> NoReturn:
        near = self._text(at, min(at + 12, len(self._source)))
        raise Refused(
            f"this form of ${{...}} is not here (near {near!r}); there are ${{v}} ${{#v}} ${{v:-w}} ${{v#p}} ${{v##p}} "
            "${v%p} ${v%%p} ${v:i:n} ${v/p/w} ${v//p/w} ${v^^} ${v,,}"
        )

    def _check_braces(self, word: Word, source: bytes) -> None:
        """Return where braces do not change a name: bash expands them first, so that `$a{b,c}` is `$ab` and `$ac`."""
        has_name = any(isinstance(part, Parameter) and not part.quoted for part in word)
        if has_name and _NAME_MEETS_BRACE.search(source):
            raise Refused("write ${name}, not $name, in a word with braces")

    def _skip_blanks(self, at: int, end: int) -> int:
        blanks = _BLANKS.match(self._source, at, end)
        return blanks.end() if blanks else at

    def _character(self, at: int) -> str:
        return chr(self._source[at])

    def _text(self, start: int, end: int) -> str:
        return self._source[start:end].decode(errors="replace")


def _joined(parts: list[Part]) -> Word:
    """The parts with neighbouring text of the same kind joined."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, Text) and isinstance(last, Text) and part.quoted == last.quoted:
            joined[-1] = Text(last.value + part.value, part.quoted)
        else:
            joined.append(part)
    return tuple(joined)


def _checked(word: Word) -> Word:
    first = word[0] if word else None
    if isinstance(first, Text) and not first.quoted and first.value.startswith("~"):
        raise Refused(
            "~ is no directory here: paths start where the memory's files are, and plain `cd` goes back there"
        )
    return word
