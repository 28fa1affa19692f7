"""What a command means, as plain data: the tree that the parser makes, that crosses to the worker and that is run.

A word is a tuple of parts. Brace expansion, splitting and globbing happen when it runs; quoting is already resolved
into the parts' `quoted` flags, so that nothing is ever lexed twice. The JSON of a node is `["ClassName", field,
...]`.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

Link = Literal[";", "&&", "||"]


@dataclass(frozen=True, slots=True)
class Text:
    """Characters that stand for themselves; unquoted ones may still be a glob or a brace list."""

    value: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name` or `${name...}`. `operator` is "", "length", or the operator's own spelling with its arguments."""

    name: str
    operator: str
    arguments: "tuple[Word, ...]"
    quoted: bool


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$( )` or backticks."""

    body: "Block"
    quoted: bool


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`$(( ))`: the expression's text, with what expands inside it."""

    expression: "Word"
    quoted: bool


Part: TypeAlias = Text | Parameter | Substitution | Arithmetic
Word: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection of `fd`, in the order written.

    `kind`: "null" (/dev/null), "copy" (of the descriptor `source`), "file" (read the file `word` names), "text"
    (read the expansion of `word`: a heredoc, or a here-string, which adds a newline).
    """

    fd: int
    kind: Literal["null", "copy", "file", "text", "line"]
    source: int
    word: Word


@dataclass(frozen=True, slots=True)
class Assignment:
    """`name=word`, or `name+=word` where `append`."""

    name: str
    append: bool
    word: Word


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command; without words it is its assignments alone."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A statement that is not run, and why: running it fails with status 126."""

    message: str


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Two or more stages; `both` says of each whether its standard error goes into the pipe too (`|&`)."""

    stages: "tuple[Statement, ...]"
    both: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """`! body`."""

    body: "Statement"


@dataclass(frozen=True, slots=True)
class Step:
    """One statement of a block, run according to the status before it and `link`; `source` is its text."""

    link: Link
    body: "Statement"
    source: str


@dataclass(frozen=True, slots=True)
class Block:
    """Statements joined by `;`, newline, `&&` and `||`, which associate to the left."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """`{ body; }`, or `( body )` where `subshell`."""

    body: Block
    subshell: bool
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class For:
    """`for name in words; do body; done`."""

    name: str
    words: tuple[Word, ...]
    body: Block
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class While:
    """`while condition; do body; done`, or `until`."""

    condition: Block
    body: Block
    until: bool
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class If:
    """`if`, with one pair of condition and body for the `if` and each `elif`; `otherwise` may have no steps."""

    branches: tuple[tuple[Block, Block], ...]
    otherwise: Block
    redirects: tuple[Redirect, ...]


Statement: TypeAlias = Command | Refusal | Pipeline | Not | Block | Group | For | While | If

_CLASSES: dict[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        Text, Parameter, Substitution, Arithmetic, Redirect, Assignment, Command, Refusal, Pipeline, Not, Step, Block,
        Group, For, While, If,
    )
}  # fmt: skip
_FIELDS = {name: tuple(field.name for field in fields(cls)) for name, cls in _CLASSES.items()}


def dump(node: Any) -> Any:
    """The node as data for JSON; tuples become lists."""
    if isinstance(node, tuple):
        return [dump(item) for item in node]
    names = _FIELDS.get(type(node).__name__)
    if names is None:
        return node
    return [type(node).__name__, *(dump(getattr(node, name)) for name in names)]


def load(data: Any) -> Any:
    """The node that `dump` made `data` of; lists become tuples."""
    if not isinstance(data, list):
        return data
    cls = _CLASSES.get(data[0]) if data and isinstance(data[0], str) else None
    if cls is None:
        return tuple(load(item) for item in data)
    return cls(*(load(item) for item in data[1:]))
