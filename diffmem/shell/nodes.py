"""Access to the parser's tree that misses nothing: what lies between the nodes that are read must be blank."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tree_sitter import Language, Node, Parser, Tree
from tree_sitter_bash import language

from diffmem.shell.policy import Refused

MAX_OPERATORS = 500

_GAP = re.compile(rb"(?:[ \t\n]|\\\n)*")
_GAP_ON_LINE = re.compile(rb"(?:[ \t]|\\\n)*")
_OPERATORS = re.compile(rb"[|<(]")


class Misread(Refused):
    """The parser's tree is not what bash would read: nothing of the command can be relied on."""


def parse(source: bytes) -> Tree:
    """The parser's tree of a whole command.

    Raises:
        Refused: bash would not parse it, or it has so many operators that parsing takes seconds: tree-sitter-bash is
            quadratic in some of them.
    """
    if len(_OPERATORS.findall(source)) > MAX_OPERATORS:
        raise Refused(f"the command has more than {MAX_OPERATORS} of the characters | < (")
    tree = Parser(Language(language())).parse(source)
    if tree.root_node.has_error:
        raise Refused(_error(tree.root_node, source))
    return tree


def parts(source: bytes, node: Node, start: int | None = None, end: int | None = None) -> list[Node]:
    """The children of `node` in order, comments left out, of which the gaps between hold blanks only."""
    children = list(node.children)
    at = node.start_byte if start is None else start
    for child in children:
        blank(source, at, child.start_byte)
        at = max(at, child.end_byte)
        if child.type == "comment":
            _check_comment(source, child.start_byte)
    blank(source, at, node.end_byte if end is None else end)
    return [child for child in children if child.type != "comment"]


def parts_on_line(source: bytes, node: Node) -> list[Node]:
    """As `parts`, with no newline between them that is not escaped: the parser joins lines in places."""
    for before, after in pairwise(node.children):
        blank(source, before.end_byte, after.start_byte, _GAP_ON_LINE)
    return parts(source, node)


def blank(source: bytes, start: int, end: int, allowed: re.Pattern[bytes] = _GAP) -> None:
    """Return where nothing but blanks, newlines and continued lines stands between two offsets.

    Raises:
        Misread: the parser left something out.
    """
    gap = allowed.match(source, start, max(start, end))
    if gap is None or gap.end() < end:
        raise Misread(
            f"{near(source, start)} is not understood; put each command on a line of its own, or type less at once"
        )


def _check_comment(source: bytes, start: int) -> None:
    """Return where a word can begin: in bash a `#` inside a word is no comment."""
    while source.endswith(b"\\\n", 0, start):
        start -= 2
    if start and source[start - 1] not in b" \t\n;&|()":
        raise Misread(f"{near(source, start)} is not understood; put a blank before #")


def ends_line(source: bytes, start: int, end: int) -> bool:
    """Whether a newline that is not escaped stands between two offsets."""
    return b"\n" in source[start:end].replace(b"\\\n", b"")


def walk(node: Node) -> Iterator[Node]:
    """The node and everything in it, in order of the source, without recursion."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


def near(source: bytes, at: int) -> str:
    """What stands at an offset, for a message."""
    return repr(source[at : at + 30].decode(errors="replace").strip() or "the end")


def types(nodes: Sequence[Node]) -> list[str]:
    """The types of some nodes."""
    return [node.type for node in nodes]


def _error(root: Node, source: bytes) -> str:
    for node in walk(root):
        if node.is_missing:
            return f"syntax error: {node.type} is missing near {near(source, max(0, node.start_byte - 20))}"
        if node.is_error:
            return f"syntax error near {near(source, node.start_byte)}{_unclosed(source)}"
    return "syntax error"


def _unclosed(source: bytes) -> str:
    for quote in (b"'", b'"', b"`"):
        if source.count(quote) % 2:
            return f"; a {quote.decode()} may not be closed"
    return ""
