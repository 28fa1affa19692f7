"""Redirections, from the parser's nodes: to /dev/null, between descriptors, from a file of the tree, from a text."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from tree_sitter import Node

from diffmem.shell import nodes
from diffmem.shell.policy import Refused
from diffmem.shell.tree import Redirect, Text, Word
from diffmem.shell.words import Lexer

TYPES = ("file_redirect", "herestring_redirect", "heredoc_redirect")

_WRITES = "memory is read-only here: output goes to /dev/null, or into a pipe"
_DELIMITER = re.compile(rb"""(?P<quote>["']?)(?P<name>[A-Za-z0-9_.!%+-]+)(?P=quote)""")


class Redirections:
    """Reads the redirections of one source."""

    def __init__(self, source: bytes, lexer: Lexer) -> None:
        self._source = source
        self._lexer = lexer

    def read(self, node: Node) -> tuple[Redirect, ...]:
        """What a redirection node does, in order."""
        if node.type == "file_redirect":
            return self._file(node)
        if node.type == "herestring_redirect":
            return (self._here_string(node),)
        return self._heredoc(node)

    def read_all(self, redirects: Sequence[Node]) -> tuple[Redirect, ...]:
        """What several do, in order."""
        return tuple(one for node in redirects for one in self.read(node))

    def extra_words(self, node: Node) -> list[Node]:
        """Words of the command that the parser counts among a redirection's targets: all but the first."""
        return node.children_by_field_name("destination")[1:] if node.type == "file_redirect" else []

    def _file(self, node: Node) -> tuple[Redirect, ...]:
        descriptor, operator, target = self._file_parts(node)
        source = self._source[target.start_byte : target.end_byte].decode()
        if operator == "<":
            return (self._input(descriptor, target, source),)
        if operator == ">&" and source in ("1", "2") and descriptor != 0:
            return (_copy(1 if descriptor is None else descriptor, int(source)),)
        if source != "/dev/null" or operator not in (">", ">>", ">|", "&>", "&>>", ">&") or descriptor == 0:
            raise Refused(f"{self._text(node)!r}: {_WRITES}")
        if operator in ("&>", "&>>") or (operator == ">&" and descriptor is None):
            return (_null(1), _copy(2, 1))
        return (_null(1 if descriptor is None else descriptor),)

    def _file_parts(self, node: Node) -> tuple[int | None, str, Node]:
        children = nodes.parts_on_line(self._source, node)
        descriptor = None
        if children and children[0].type == "file_descriptor":
            first = children.pop(0)
            descriptor = self._descriptor(first, children)
        if len(children) < 2:
            raise Refused(f"{self._text(node)!r} is not understood")
        return descriptor, children[0].type, children[1]

    def _descriptor(self, node: Node, after: list[Node]) -> int:
        text = self._source[node.start_byte : node.end_byte]
        if text not in (b"0", b"1", b"2") or not after or after[0].start_byte != node.end_byte:
            raise Refused(f"{text.decode()!r}: of the descriptors there are only 0, 1 and 2 here")
        return int(text)

    def _input(self, descriptor: int | None, target: Node, source: str) -> Redirect:
        if descriptor not in (None, 0):
            raise Refused("only standard input can be read from a file")
        if source == "/dev/null":
            return _null(0)
        return Redirect(0, "file", 0, self._lexer.word(target.start_byte, target.end_byte))

    def _here_string(self, node: Node) -> Redirect:
        children = nodes.parts_on_line(self._source, node)
        if nodes.types(children[:1]) != ["<<<"] or len(children) < 2:
            raise Refused(f"{self._text(node)!r} is not understood")
        return Redirect(0, "line", 0, self._lexer.word(children[1].start_byte, children[-1].end_byte))

    def _heredoc(self, node: Node) -> tuple[Redirect, ...]:
        delimiter = node.children[1] if len(node.children) > 1 else node
        matched = _DELIMITER.fullmatch(self._source, delimiter.start_byte, delimiter.end_byte)
        if delimiter.type != "heredoc_start" or matched is None:
            raise Refused(f"{self._text(node)!r}: write a heredoc as <<EOF or <<'EOF'")
        on_line = self._on_line(node, delimiter)
        others = [one for child in on_line if child.type in TYPES for one in self.read(child)]
        if any(one.fd == 0 for one in others):
            raise Refused("standard input can be redirected once")
        word = self._heredoc_body(node, on_line, matched)
        return (Redirect(0, "text", 0, word), *others)

    def _on_line(self, node: Node, delimiter: Node) -> list[Node]:
        """The delimiter and what follows it on its line; a body that begins with a backslash is mistaken for words."""
        newline = self._source.find(b"\n", delimiter.end_byte)
        on_line = [child for child in node.children[1:] if child.start_byte < newline]
        right = node.child_by_field_name("right")
        for child in on_line:
            is_known = child.type in (*TYPES, "heredoc_start", "pipeline", "&&", "||") or child == right
            if not is_known or child.end_byte > newline:
                raise Refused(f"{nodes.near(self._source, child.start_byte)} is not understood after a heredoc")
        return on_line

    def _heredoc_body(self, node: Node, on_line: list[Node], delimiter: re.Match[bytes]) -> Word:
        last = node.children[-1]
        if not on_line or last.type != "heredoc_end":
            raise Refused(f"the heredoc has no line {delimiter['name'].decode()!r} that ends it")
        for before, after in pairwise(on_line):
            nodes.blank(self._source, before.end_byte, after.start_byte)
        start = self._source.find(b"\n", on_line[-1].end_byte) + 1
        nodes.blank(self._source, on_line[-1].end_byte, start)
        return self._body_text(start, last, delimiter, node.children[0].type == "<<-")

    def _body_text(self, start: int, last: Node, delimiter: re.Match[bytes], tabs: bool) -> Word:
        end = self._source.rfind(b"\n", 0, last.end_byte) + 1
        lines = self._source[start:end].split(b"\n")
        closing = self._source[end : last.end_byte]
        name = delimiter["name"]
        closed_early = name in (line.lstrip(b"\t") if tabs else line for line in lines)
        follows = self._source[last.end_byte : last.end_byte + 1]
        if closed_early or closing.lstrip(b"\t" if tabs else b"") != name or follows not in (b"", b"\n"):
            raise nodes.Misread(f"the end of the heredoc {name.decode()!r} is not understood")
        if delimiter["quote"]:
            text = b"\n".join(line.lstrip(b"\t") if tabs else line for line in lines)
            return (Text(text.decode(errors="replace"), True),)
        if tabs:
            raise Refused("write <<- with a quoted delimiter: <<-'EOF'")
        return self._lexer.heredoc(start, end)

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode(errors="replace")


def _null(fd: Literal[0, 1, 2] | int) -> Redirect:
    return Redirect(fd, "null", 0, ())


def _copy(fd: int, source: int) -> Redirect:
    return Redirect(fd, "copy", source, ())
