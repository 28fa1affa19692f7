"""sed: its options, and its script read closely enough to know that no command in it reads, writes or runs anything.

`--sandbox` is forced as well; the promise holds without it. What this reader does not understand is refused: it accepts
the part of the language on which all versions of GNU sed agree.

*Covered*: `r R w W e F` as commands, `w` and `e` as flags of `s`, in every `-e`, behind addresses, in blocks, after
labels.
"""

import re

from diffmem.shell.policy.options import emit, parse, table, without
from diffmem.shell.policy.programs import check_operands
from diffmem.shell.policy.values import number, text
from diffmem.shell.policy.verdict import Admitted, Place, Refused

_TABLE = table(
    "-n --quiet --silent -E -r --regexp-extended -s --separate -z --null-data -u --unbuffered --posix",
    {"-e --expression": text, "-l --line-length": number},
    refused={
        "-i --in-place": "it writes the file; without it the result goes to standard output",
        "-f --file": "write the script in the command",
        "--follow-symlinks": "it follows links out of the memory",
    },
)
_FORBIDDEN = {
    "r": "reads a file; use cat",
    "R": "reads a file; use paste",
    "w": "writes a file",
    "W": "writes a file",
    "e": "runs a program",
    "F": "prints a file name; use 'grep -H'",
}
_PLAIN = "=dDgGhHnNpPxz"
_NUMBERED = "lqQ"
_TEXT = "aic"
_LABELLED = ":btT"


def check(words: tuple[str, ...], place: Place) -> Admitted:
    """The final line of sed: `sed --sandbox OPTIONS -- [SCRIPT] FILES`.

    Raises:
        Refused: an option outside the table, a script with a command that does more than edit text, or a path outside.
    """
    parsed = parse("sed", without(words[1:], ("--sandbox",)), _TABLE, place)
    scripts = parsed.values("-e", "--expression")
    texts = 0 if scripts else 1
    if texts and not parsed.operands:
        raise Refused("sed: no script; for example: sed -n '1,20p' FILE", "sed")
    check_script("\n".join(scripts) if scripts else parsed.operands[0])
    check_operands("sed", parsed, texts, place)
    return Admitted(("sed", "--sandbox", *emit(parsed.options), "--", *parsed.operands), "program")


def check_script(script: str) -> None:
    """Return where every command of `script` is one that only edits.

    Raises:
        Refused: one that does more, or a script this reader does not understand.
    """
    _Script(script).read()


class _Script:
    def __init__(self, script: str) -> None:
        self.script = script
        self.at = 0
        self.depth = 0

    def read(self) -> None:
        while True:
            self._skip(" \t\n;")
            if self.at >= len(self.script):
                break
            self._command()
        if self.depth:
            raise self._refuse("has an unclosed '{'")

    def _command(self) -> None:
        self._addresses()
        letter = self._take()
        if letter in _FORBIDDEN:
            raise self._refuse(f"has the command {letter!r}, which {_FORBIDDEN[letter]}")
        if letter == "{":
            self.depth += 1
        elif letter == "}":
            self.depth -= 1
            if self.depth < 0:
                raise self._refuse("has a '}' too many")
            self._end()
        elif letter == "#":
            self._match(r"[^\n]*")
        elif letter == "s":
            self._substitute()
        elif letter == "y":
            self._delimited(2, "y")
            self._end()
        elif letter and letter in _TEXT:
            self._text()
        elif letter and letter in _LABELLED:
            self._match(r"[ \t]*[A-Za-z0-9_]*")
            self._end()
        elif letter and letter in _PLAIN + _NUMBERED:
            self._match(r"[ \t]*[0-9]{0,9}" if letter in _NUMBERED else r"")
            self._end()
        else:
            raise self._refuse(f"cannot be read at {letter!r}" if letter else "ends too early")

    def _addresses(self) -> None:
        if self._address():
            self._skip(" \t")
            if self._match(r","):
                self._skip(" \t")
                if not (self._match(r"[+~][0-9]{1,9}") or self._address()):
                    raise self._refuse("has an address that cannot be read")
        self._match(r"[ \t!]*")

    def _address(self) -> bool:
        if self._match(r"[0-9]{1,9}([ \t]*~[ \t]*[0-9]{1,9})?|\$"):
            return True
        if self._peek() in ("/", "\\"):
            self._match(r"\\")
            self._delimited(1, "/")
            self._match(r"[ \t]*[IM]{0,2}")
            return True
        return False

    def _substitute(self) -> None:
        self._delimited(2, "s")
        flags = self._match(r"[a-zA-Z0-9]*")
        for flag in flags:
            if flag in "we":
                raise self._refuse(f"has the flag {flag!r} of 's', which {_FORBIDDEN[flag]}")
            if flag not in "gpiImM0123456789":
                raise self._refuse(f"has an unknown flag {flag!r} of 's'")
        self._end()

    def _delimited(self, parts: int, command: str) -> None:
        """Move past `parts` texts between delimiters; the first is a regular expression, but for y."""
        delimiter = self._take()
        if not delimiter or not delimiter.isascii() or delimiter in "\\\n":
            raise self._refuse("has a delimiter that cannot be read")
        for part in range(parts):
            while (character := self._take()) != delimiter:
                if character == "\\":
                    character = self._take()
                elif character == "[" and part == 0 and command != "y":
                    self._bracket(delimiter, command)
                if not character or (character == "\n" and part == 0):
                    raise self._refuse(f"has no closing {delimiter!r}")

    def _bracket(self, delimiter: str, part_of: str) -> None:
        """Move past a bracket expression.

        Versions of sed disagree on a delimiter in one: some end the regular expression there. That is accepted where
        what they would read is an error to them for sure, so that they do nothing at all.
        """
        start = self.at
        inner = self._match(r"\^?\]?(\[[:.=][^\]\n]*\]|[^\]\n])*")
        if self._take() != "]":
            raise self._refuse("has a '[' without ']'; a literal one is '\\['")
        if inner.endswith("\\") or not self._is_error(delimiter, start, inner, part_of):
            raise self._refuse(f"has {delimiter!r} between '[' and ']'; use another delimiter, such as s|old|new|")

    def _is_error(self, delimiter: str, start: int, inner: str, part_of: str) -> bool:
        """Whether no delimiter is between the brackets, or one that ended the expression would leave nonsense."""
        text = rf"(?:\\.|[^\\{re.escape(delimiter)}])*{re.escape(delimiter)}"
        cut = re.match(text, inner)
        if cut is None:
            return True
        rest = self.script[start + cut.end() :]
        if part_of != "s":
            return rest.startswith("]")
        flags = re.match(text + "(.?)", rest, re.DOTALL)
        return flags is None or flags.group(1) not in ("", *"gpiImMweE0123456789 \t\r\n;}#")

    def _text(self) -> None:
        """Move past the text of a, i or c: to the end of the line, which a backslash continues."""
        if self._match(r"[ \t]*\\[ \t]+\n"):
            raise self._refuse("has blanks after a backslash at the end of a line")
        self._match(r"[ \t]*(\\\n)?(\\.|\\\n|[^\\\n])*\\?")

    def _end(self) -> None:
        self._skip(" \t")
        if self._peek() not in ("", ";", "\n", "}", "#"):
            raise self._refuse(f"cannot be read at {self._peek()!r}")

    def _peek(self) -> str:
        return self.script[self.at : self.at + 1]

    def _take(self) -> str:
        character = self._peek()
        self.at += 1
        return character

    def _skip(self, characters: str) -> None:
        while self._peek() and self._peek() in characters:
            self.at += 1

    def _match(self, pattern: str) -> str:
        found = re.compile(pattern, re.ASCII).match(self.script, self.at)
        if not found:
            return ""
        self.at = found.end()
        return found.group()

    def _refuse(self, what: str) -> Refused:
        return Refused(f"sed: the script {what}", "sed")
