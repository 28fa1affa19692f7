"""The grammar: the text of a command into the tree that is run.

    parse("a | b; c") == Block((Step(";", Pipeline((Command(...), Command(...)), (False,)), "a | b"), Step(...)))

tree-sitter-bash says how statements lie in the text, `words` says what each word means. *Covered*: a text that bash
would not parse, or that is not understood with certainty, is refused as a whole; a statement that has no meaning here
(a redirection to a file, a function, `&`) becomes a `Refusal` in its place, so that the statements beside it still
run. *Not covered*: what a command may do; that is the policy's, on the words after every expansion.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from tree_sitter import Node

from diffmem.shell import nodes, redirections
from diffmem.shell.compounds import Compounds
from diffmem.shell.policy import Refused
from diffmem.shell.redirections import Redirections
from diffmem.shell.statements import HINTS, RESERVED, chain, pipeline_stages
from diffmem.shell.tree import (
    Assignment,
    Block,
    Command,
    Link,
    Not,
    Pipeline,
    Refusal,
    Statement,
    Step,
    Text,
    Word,
)
from diffmem.shell.words import Lexer

MAX_WORDS = 4_000
MAX_STAGES = 8

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def parse(command: str, max_bytes: int = 20_000) -> Block:
    """The statements of `command`.

    Raises:
        Refused: whatever the text is, no other error.
    """
    unsafe = _UNSAFE.search(command)
    if unsafe:
        raise Refused(f"the character {unsafe[0]!r} cannot be in a command")
    source = command.encode()
    if len(source) > max_bytes:
        raise Refused(f"the command is {len(source)} bytes long; at most {max_bytes} are read")
    root = nodes.parse(source).root_node
    block = _Reader(source, root).block(nodes.parts(source, root, 0, len(source)), len(source), False)
    if not block.steps:
        raise Refused("the command is empty; for example: head -20 index.md")
    return block


class _Reader:
    """Reads the statements of one source."""

    def __init__(self, source: bytes, root: Node) -> None:
        self._source = source
        self._lexer = Lexer(source, self._substitutions(root))
        self._redirections = Redirections(source, self._lexer)
        self._compounds = Compounds(source, self._lexer, self._redirections, self.block)
        self._words = 0

    def block(self, children: Sequence[Node], end: int, closed: bool) -> Block:
        """The statements among `children`; where `closed`, each must end before `end`, which a keyword follows."""
        steps: list[Step] = []
        for position, node in enumerate(children):
            if node.type in (";", "&", ";;", "\n"):
                self._separator(node, children[position - 1] if position else None)
                continue
            following = children[position + 1] if position + 1 < len(children) else None
            self._ends(node, following, end, closed)
            if following is not None and following.type == "&":
                steps.append(Step(";", Refusal("& is not here: every command is waited for; use ;"), self._text(node)))
            else:
                steps += self._steps(node)
        return Block(tuple(steps))

    def _separator(self, node: Node, before: Node | None) -> None:
        if node.type == ";;" or (node.type in (";", "&") and (before is None or before.type in (";", "&", ";;"))):
            raise Refused(f"syntax error near {nodes.near(self._source, node.start_byte)}")

    def _ends(self, node: Node, following: Node | None, end: int, closed: bool) -> None:
        if following is None and not closed:
            return
        if following is not None and following.type in (";", "&", ";;", "\n"):
            return
        if not nodes.ends_line(self._source, node.end_byte, end if following is None else following.start_byte):
            raise Refused(f"syntax error near {nodes.near(self._source, node.end_byte)}; separate commands with ;")

    def _steps(self, node: Node) -> list[Step]:
        steps: list[Step] = []
        for link, element, redirects in chain(self._source, node):
            after = max([element.end_byte, *(one.end_byte for one in redirects if one.type != "heredoc_redirect")])
            source = self._source[element.start_byte : after].decode(errors="replace")
            steps.append(Step(link, self._guarded(partial(self._statement, element, redirects)), source))
            steps += [step for one in redirects for step in self._continued(one)]
        return steps

    def _guarded(self, read: Callable[[], Statement]) -> Statement:
        try:
            return read()
        except nodes.Misread:
            raise
        except Refused as refused:
            return Refusal(refused.message)

    def _continued(self, redirect: Node) -> list[Step]:
        """The statements that follow `&&` or `||` on the line of a heredoc."""
        operator, right = redirect.child_by_field_name("operator"), redirect.child_by_field_name("right")
        if operator is None or right is None:
            return []
        link: Link = "&&" if operator.type == "&&" else "||"
        first, *others = self._steps(right)
        return [Step(link, first.body, first.source), *others]

    def _statement(self, node: Node, redirects: Sequence[Node]) -> Statement:
        stages = pipeline_stages(self._source, node, redirects)
        negated = stages[0].node.type == "negated_command"
        if negated:
            bang, *inner = nodes.parts_on_line(self._source, stages[0].node)
            if bang.type != "!" or len(inner) != 1 or inner[0].type in ("list", "pipeline", "negated_command"):
                raise Refused("what follows ! is not understood")
            stages[0:1] = pipeline_stages(self._source, inner[0], stages[0].redirects, stages[0].both)
        if len(stages) > MAX_STAGES:
            raise Refused(f"a pipeline has at most {MAX_STAGES} commands")
        bodies = tuple(self._guarded(partial(self._element, one.node, one.redirects)) for one in stages)
        whole = bodies[0] if len(bodies) == 1 else Pipeline(bodies, tuple(stage.both for stage in stages[:-1]))
        return Not(whole) if negated else whole

    def _element(self, node: Node, redirects: Sequence[Node]) -> Statement:
        readers: dict[str, Callable[[Node, Sequence[Node]], Statement]] = {
            "command": self._command,
            "test_command": self._test,
            "unset_command": self._plain,
            "variable_assignment": self._assignments,
            "variable_assignments": self._assignments,
            "redirected_statement": self._redirects_alone,
            "subshell": self._compounds.group,
            "compound_statement": self._compounds.group,
            "for_statement": self._compounds.for_loop,
            "while_statement": self._compounds.while_loop,
            "if_statement": self._compounds.condition,
        }
        if node.type not in readers:
            raise Refused(HINTS.get(node.type, f"{nodes.near(self._source, node.start_byte)} is not understood"))
        return readers[node.type](node, redirects)

    def _command(self, node: Node, redirects: Sequence[Node]) -> Command:
        assignments: list[Assignment] = []
        words: list[Node] = []
        children = nodes.parts(self._source, node)
        for child in children:
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child))
            elif child.type in redirections.TYPES:
                redirects = [child, *redirects] if child.start_byte < node.end_byte else redirects
            else:
                words.append(child)
        self._apart(children)
        command = self._simple(words, sorted(redirects, key=lambda one: one.start_byte), tuple(assignments))
        first = self._text(words[0]) if words else ""
        if assignments and words and (first != "read" or [one.name for one in assignments] != ["IFS"]):
            raise Refused(f"there is no environment; leave out '{assignments[0].name}=...' before the command")
        if first in RESERVED:
            raise Refused(f"syntax error near {first!r}")
        return command

    def _simple(
        self, words: list[Node], redirects: Sequence[Node], assignments: tuple[Assignment, ...] = ()
    ) -> Command:
        extra = [word for one in redirects for word in self._redirections.extra_words(one)]
        found = [self._word(word) for word in sorted([*words, *extra], key=lambda one: one.start_byte)]
        return Command(assignments, tuple(found), self._redirections.read_all(redirects))

    def _apart(self, children: Sequence[Node]) -> None:
        """Return where the words of a command are apart and on one line; in places the parser joins or splits them."""
        for before, after in pairwise(children):
            between = self._source[before.end_byte : after.start_byte].replace(b"\\\n", b"")
            is_redirect = after.type in redirections.TYPES and after.children[0].type != "file_descriptor"
            if b"\n" in between or not (between or is_redirect):
                near = nodes.near(self._source, before.start_byte)
                raise nodes.Misread(f"{near} is not understood; quote what belongs together")

    def _word(self, node: Node) -> Word:
        self._words += 1
        if self._words > MAX_WORDS:
            raise Refused(f"the command has more than {MAX_WORDS} words")
        return self._lexer.word(node.start_byte, node.end_byte)

    def _test(self, node: Node, redirects: Sequence[Node]) -> Command:
        opening, closing = node.children[0], node.children[-1]
        if (opening.type, closing.type) != ("[", "]"):
            raise Refused(HINTS.get(opening.type, "this test is not understood"))
        words = self._lexer.words(opening.end_byte, closing.start_byte)
        bracket: Word = (Text("[", True),)
        return Command((), (bracket, *words, (Text("]", True),)), self._redirections.read_all(redirects))

    def _plain(self, node: Node, redirects: Sequence[Node]) -> Command:
        return Command((), self._lexer.words(node.start_byte, node.end_byte), self._redirections.read_all(redirects))

    def _redirects_alone(self, node: Node, redirects: Sequence[Node]) -> Command:
        return self._simple([], [*nodes.parts(self._source, node), *redirects])

    def _assignments(self, node: Node, redirects: Sequence[Node]) -> Command:
        several = nodes.parts(self._source, node) if node.type == "variable_assignments" else [node]
        self._apart(several)
        return Command(tuple(self._assignment(one) for one in several), (), self._redirections.read_all(redirects))

    def _assignment(self, node: Node) -> Assignment:
        name, sign, *value = node.children
        text = self._text(name)
        if not _NAME.fullmatch(text) or sign.type not in ("=", "+=") or (value and value[0].type == "array"):
            raise Refused("there are no arrays here; put one value into each variable, or loop with for")
        if name.end_byte != sign.start_byte or (value and sign.end_byte != value[0].start_byte):
            raise Refused(f"{self._text(node)!r} is not understood; write NAME=value without blanks")
        word = self._lexer.word(sign.end_byte, node.end_byte) if node.end_byte > sign.end_byte else ()
        return Assignment(text, sign.type == "+=", word)

    def _substitutions(self, root: Node) -> dict[int, tuple[int, Callable[[], Block]]]:
        if b"$(" not in self._source and b"`" not in self._source:
            return {}
        found: dict[int, tuple[int, Callable[[], Block]]] = {}
        for node in nodes.walk(root):
            if node.type == "command_substitution":
                start = node.start_byte + len(self._text(node)) - len(self._text(node).lstrip(" \t\n"))
                found[start] = (node.end_byte, partial(self._substitution, node))
        return found

    def _substitution(self, node: Node) -> Block:
        opening, *body, closing = nodes.parts(self._source, node)
        if (opening.type.strip(), closing.type) not in (("$(", ")"), ("`", "`")):
            raise Refused(f"{nodes.near(self._source, node.start_byte)} is not understood")
        if len(body) == 1 and body[0].type == "file_redirect":
            cat = Command((), ((Text("cat", True),),), self._redirections.read_all(body))
            return Block((Step(";", cat, self._text(node)),))
        return self._compounds.body(body, closing.start_byte, closed=False)

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode(errors="replace")
