"""Groups, loops and conditions, from the parser's nodes."""

from collections.abc import Callable, Sequence

from tree_sitter import Node

from diffmem.shell import nodes
from diffmem.shell.policy import Refused
from diffmem.shell.redirections import Redirections
from diffmem.shell.statements import HINTS
from diffmem.shell.tree import Block, For, Group, If, While
from diffmem.shell.words import Lexer


class Compounds:
    """Reads the compound statements of one source; `block` reads the statements among some nodes, as `syntax` does."""

    def __init__(
        self,
        source: bytes,
        lexer: Lexer,
        redirections: Redirections,
        block: Callable[[Sequence[Node], int, bool], Block],
    ) -> None:
        self._source = source
        self._lexer = lexer
        self._redirections = redirections
        self._block = block

    def group(self, node: Node, redirects: Sequence[Node]) -> Group:
        """`{ ...; }` and `( ... )`."""
        opening, *body, closing = nodes.parts(self._source, node)
        subshell = opening.type == "("
        if opening.type not in ("(", "{"):
            raise Refused(HINTS.get(opening.type, "this group is not understood"))
        if not subshell and self._source[opening.end_byte : opening.end_byte + 1] not in (b" ", b"\t", b"\n"):
            raise Refused("a blank must follow {")
        block = self.body(body, closing.start_byte, closed=not subshell)
        return Group(block, subshell, self._redirections.read_all(redirects))

    def for_loop(self, node: Node, redirects: Sequence[Node]) -> For:
        """`for NAME in WORDS; do ...; done`."""
        keyword, name, *rest, body = nodes.parts(self._source, node)
        if keyword.type != "for" or not rest or rest[0].type != "in":
            raise Refused("write a loop as: for NAME in WORDS; do COMMANDS; done")
        values = [child for child in rest[1:] if child.type not in (";", "\n")]
        words = self._lexer.words(values[0].start_byte, values[-1].end_byte) if values else ()
        variable = self._source[name.start_byte : name.end_byte].decode()
        return For(variable, words, self._do(body), self._redirections.read_all(redirects))

    def while_loop(self, node: Node, redirects: Sequence[Node]) -> While:
        """`while` and `until`."""
        keyword, *condition, body = nodes.parts(self._source, node)
        block = self.body(condition, body.start_byte)
        return While(block, self._do(body), keyword.type == "until", self._redirections.read_all(redirects))

    def condition(self, node: Node, redirects: Sequence[Node]) -> If:
        """`if ...; then ...; elif ...; then ...; else ...; fi`."""
        _, *children, closing = nodes.parts(self._source, node)
        clauses = [child for child in children if child.type in ("elif_clause", "else_clause")]
        own = [child for child in children if child not in clauses]
        ends = [*(clause.start_byte for clause in clauses), closing.start_byte]
        branches = [self._branch(own, ends[0])]
        otherwise = Block(())
        for clause, end in zip(clauses, ends[1:], strict=True):
            _, *inner = nodes.parts(self._source, clause)
            if clause.type == "elif_clause":
                branches.append(self._branch(inner, end))
            else:
                otherwise = self.body(inner, end)
        return If(tuple(branches), otherwise, self._redirections.read_all(redirects))

    def body(self, children: Sequence[Node], end: int, *, closed: bool = True) -> Block:
        """The statements inside something; `closed`: by a keyword, before which a `;` or a newline must stand."""
        if not children:
            raise Refused("syntax error: no command where one must stand")
        with self._lexer.deeper():
            return self._block(children, end, closed)

    def _do(self, node: Node) -> Block:
        opening, *body, closing = nodes.parts(self._source, node)
        if (node.type, opening.type, closing.type) != ("do_group", "do", "done"):
            raise Refused(f"{nodes.near(self._source, node.start_byte)} is not understood")
        return self.body(body, closing.start_byte)

    def _branch(self, children: Sequence[Node], end: int) -> tuple[Block, Block]:
        kinds = nodes.types(children)
        if "then" not in kinds:
            raise Refused("syntax error: an if needs a then")
        then = kinds.index("then")
        condition = self.body(children[:then], children[then].start_byte)
        return condition, self.body(children[then + 1 :], end)
