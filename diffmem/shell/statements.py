"""How statements hang together: what the parser nests as trees, as the flat chains and pipelines that bash means.

The parser hangs a redirection on the whole of what stands before it (`a && b 2>&1`, `a | b >/dev/null`); in bash it
belongs to the last command.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from diffmem.shell import nodes, redirections
from diffmem.shell.policy import Refused
from diffmem.shell.tree import Link

HINTS: Mapping[str, str] = {
    "function_definition": "functions are not here; type the commands themselves, or loop with for",
    "case_statement": 'case is not here; use: if [ "$x" = value ]; then ...; elif ...; fi',
    "declaration_command": "there is no environment and no types of variables; write NAME=value",
    "c_style_for_statement": "write a counting loop as: for i in $(seq 1 10); do ...; done",
    "[[": '[[ ]] is not here; use [ ] with = -n -z -f -d -gt, or: echo "$x" | grep -q PATTERN',
    "((": '(( )) is not here; use x=$((x + 1)), and [ "$x" -gt 3 ] for a test',
    "process_substitution": "<( ) is not here; use a pipe",
}
RESERVED = frozenset(
    ("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "function",
     "select", "{", "}", "!", "[[", "]]")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a pipeline, the redirections that belong to it, and whether `|&` follows it."""

    node: Node
    redirects: tuple[Node, ...]
    both: bool


def chain(source: bytes, node: Node) -> list[tuple[Link, Node, tuple[Node, ...]]]:
    """The statements that `&&` and `||` join in `node`, in order, each with the redirections that belong to it."""
    found: list[tuple[Link, Node, tuple[Node, ...]]] = []
    stack: list[tuple[Link, Node, tuple[Node, ...]]] = [(";", node, ())]
    while stack:
        link, current, redirects = stack.pop()
        current, redirects = _body(source, current, redirects)
        if current.type != "list":
            found.append((link, current, redirects))
            continue
        left, operator, right = _three(source, current)
        stack.append(("&&" if operator.type == "&&" else "||", right, redirects))
        stack.append((link, left, ()))
    return found


def pipeline_stages(source: bytes, node: Node, redirects: Sequence[Node], both: bool = False) -> list[Stage]:
    """The stages of `node`, one where it is no pipeline; `redirects` belong to the last, and so does `both`."""
    found: list[Stage] = []
    stack = [Stage(node, tuple(redirects), both)]
    while stack:
        stage = stack.pop()
        current, own = _body(source, stage.node, stage.redirects)
        piped = [child for one in own for child in one.children if child.type == "pipeline"]
        if current.type == "pipeline":
            stack += reversed(_flat(nodes.parts(source, current), own, stage.both))
        elif piped:
            found.append(Stage(current, own, _is_both(piped[0].children[0])))
            stack += reversed(_flat(nodes.parts(source, piped[0])[1:], (), stage.both))
        else:
            found.append(Stage(current, own, stage.both))
    return found


def _flat(children: Sequence[Node], redirects: tuple[Node, ...], both: bool) -> list[Stage]:
    stages: list[Stage] = []
    for position in range(0, len(children), 2):
        last = position + 1 >= len(children)
        if not last and children[position + 1].type not in ("|", "|&"):
            raise Refused(f"{children[position + 1].type!r} is not understood in a pipeline")
        if children[position].type == "list":
            raise Refused("after the pipe on the line of a heredoc, put what follows && on a line of its own")
        follows = both if last else _is_both(children[position + 1])
        stages.append(Stage(children[position], redirects if last else (), follows))
    return stages


def _is_both(operator: Node) -> bool:
    return operator.type == "|&"


def _body(source: bytes, node: Node, redirects: tuple[Node, ...]) -> tuple[Node, tuple[Node, ...]]:
    """What a redirected statement redirects, and its redirections before `redirects`."""
    while node.type == "redirected_statement":
        body, *own = nodes.parts_on_line(source, node)
        if body.type in redirections.TYPES:
            return node, redirects
        if any(one.type not in redirections.TYPES for one in own):
            raise Refused(f"{nodes.near(source, node.start_byte)} is not understood")
        node, redirects = body, (*own, *redirects)
    return node, redirects


def _three(source: bytes, node: Node) -> tuple[Node, Node, Node]:
    children = nodes.parts(source, node)
    if len(children) != 3 or children[1].type not in ("&&", "||"):
        raise Refused(f"{nodes.near(source, node.start_byte)} is not understood")
    return children[0], children[1], children[2]
