"""Edits of front matter that leave every byte outside the edited field as it is: comments, order, quotes, other keys.

PyYAML's nodes say where a value stands. An edit is read again before it counts: the field must say what it was meant
to, and all others what they said.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diffmem.memory import frontmatter
from diffmem.memory.editing import Edited, line_ending
from diffmem.memory.names import name_key

if TYPE_CHECKING:
    import yaml


def add_to_list(text: str, key: str, values: Sequence[str]) -> Edited:
    """`text` with `values` at the end of the list `key` of its front matter; those it holds already are left out.

    Front matter and field are made where they are absent. A scalar becomes a list.
    """
    found, _ = frontmatter.read(text)
    known = list(frontmatter.list_field(found, key))
    new: list[str] = []
    for value in values:
        if value.strip() and name_key(value) not in map(name_key, [*known, *new]):
            new.append(value)
    if not new:
        return Edited(text)
    return _first_sound(text, key, _extended(text, key, known, new), [*known, *new])


def set_field(text: str, key: str, value: str) -> Edited:
    """`text` with the scalar `value` as field `key` of its front matter."""
    found, _ = frontmatter.read(text)
    if found.get(key) == value:
        return Edited(text)
    return _first_sound(text, key, _reset(text, key, value), value)


def remove_field(text: str, key: str) -> Edited:
    """`text` without the field `key` in its front matter, and the comments within it."""
    nodes = _nodes(text, key)
    if nodes is None:
        return Edited(text)
    start, end = _start(text, nodes[0]), _end(text, nodes[1])
    line_end = end if text[end - 1] == "\n" else text.find("\n", end) + 1
    return _first_sound(text, key, iter([text[:start] + text[line_end:]]), None)


def with_lines(text: str, lines: str) -> str:
    """`text` with `lines`, which end in LF, at the end of its front matter, which is made where there is none."""
    end = line_ending(text)
    made = lines.replace("\n", end)
    place = frontmatter.locate(text)
    if place is not None:
        return text[: place.end] + made + text[place.end :]
    bare = text.removeprefix("\ufeff")
    return text[: len(text) - len(bare)] + f"---{end}{made}---{end}{bare}"


def _first_sound(text: str, key: str, made: Iterator[str], value: str | list[str] | None) -> Edited:
    before, body = frontmatter.read(text)
    for candidate in made:
        after, rest = frontmatter.read(candidate)
        if rest == body and _others(after, key) == _others(before, key) and _value(after, key, value) == value:
            return Edited(candidate)
    return Edited(text, f"{key!r} cannot be changed in this front matter")


def _others(found: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != key}


def _value(found: Mapping[str, Any], key: str, wanted: str | list[str] | None) -> Any:
    return list(frontmatter.list_field(found, key)) if isinstance(wanted, list) else found.get(key)


def _extended(text: str, key: str, known: list[str], new: list[str]) -> Iterator[str]:
    import yaml

    whole = frontmatter.line(key, [*known, *new])
    node = _node(text, key)
    if isinstance(node, yaml.SequenceNode) and node.flow_style:
        yield from _in_flow(text, _end(text, node) - 1, new)
    elif isinstance(node, yaml.SequenceNode) and node.value:
        yield _in_block(text, node, new)
    elif isinstance(node, yaml.ScalarNode):
        yield from _rewritten(text, node, whole.partition(": ")[2].rstrip("\n"))
    elif node is None:
        yield with_lines(text, whole)


def _reset(text: str, key: str, value: str) -> Iterator[str]:
    import yaml

    node = _node(text, key)
    if isinstance(node, yaml.ScalarNode):
        yield from _rewritten(text, node, frontmatter.scalar(value))
    elif node is None:
        yield with_lines(text, frontmatter.line(key, value))


def _node(text: str, key: str) -> "yaml.Node | None":
    nodes = _nodes(text, key)
    return nodes[1] if nodes else None


def _nodes(text: str, key: str) -> "tuple[yaml.Node, yaml.Node] | None":
    """The key and the value of field `key`, with marks that count from the start of the front matter."""
    import yaml

    place = frontmatter.locate(text)
    if place is None:
        return None
    try:
        root = yaml.compose(text[place.start : place.end], Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    return next(((name, value) for name, value in pairs if name.value == key), None)


def _start(text: str, node: "yaml.Node") -> int:
    place = frontmatter.locate(text)
    return (place.start if place else 0) + int(node.start_mark.index)


def _end(text: str, node: "yaml.Node") -> int:
    place = frontmatter.locate(text)
    return (place.start if place else 0) + int(node.end_mark.index)


def _in_flow(text: str, bracket: int, new: list[str]) -> Iterator[str]:
    items = frontmatter.line("x", new)[len("x: [") : -len("]\n")]
    for comma in (", ", "", " "):
        yield f"{text[:bracket]}{comma}{items}{text[bracket:]}"


def _in_block(text: str, node: "yaml.SequenceNode", new: list[str]) -> str:
    last = _end(text, node.value[-1])
    at = text.find("\n", max(0, last - 1 if text[last - 1 : last] == "\n" else last)) + 1
    indent = " " * node.start_mark.column
    end = line_ending(text)
    return text[:at] + "".join(f"{indent}- {frontmatter.scalar(item)}{end}" for item in new) + text[at:]


def _rewritten(text: str, node: "yaml.Node", value: str) -> Iterator[str]:
    start, end = _start(text, node), _end(text, node)
    blank = "" if text[start - 1 : start] == " " else " "
    yield f"{text[:start]}{blank}{value}{text[end:]}"
    yield f"{text[:start]}{blank}{value}{line_ending(text)}{text[end:]}"
    colon = text.rfind(":", 0, start) + 1
    yield f"{text[:colon]} {value}{text[colon:]}"
