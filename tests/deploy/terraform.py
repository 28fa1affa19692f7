"""What deploy/terraform says, parsed: blocks as `Block`s, with the quotes and markers of the parser taken off."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import hcl2

DIRECTORY = Path(__file__).parents[2] / "deploy" / "terraform"


@dataclass(frozen=True, slots=True)
class Block:
    """One block: `arguments` are set by `=`; a `dynamic` block counts among `blocks` under the name it makes."""

    arguments: dict[str, Any]
    blocks: tuple[tuple[str, "Block"], ...]

    def inner(self, name: str) -> "Block":
        """The only block of that name."""
        [found] = [block for kind, block in self.blocks if kind == name]
        return found


@cache
def files() -> tuple[tuple[Path, dict[str, Any]], ...]:
    """Every file, parsed."""
    return tuple((path, hcl2.loads(path.read_text())) for path in sorted(DIRECTORY.glob("*.tf")))


def named(kind: str) -> dict[str, Block]:
    """Blocks with one label, such as `variable "region"`, by that label."""
    found = {}
    for _, content in files():
        for labelled in content.get(kind, []):
            for label, body in _labels(labelled):
                found[label] = _block(body)
    return found


def resources(kind: Literal["resource", "data"] = "resource") -> dict[tuple[str, str], Block]:
    """Resources or data sources by type and name."""
    found = {}
    for _, content in files():
        for labelled in content.get(kind, []):
            for of_type, inner in _labels(labelled):
                for name, body in _labels(inner):
                    found[of_type, name] = _block(body)
    return found


def resource_types() -> list[str]:
    """The types of resource in use, sorted."""
    return sorted({of_type for of_type, _ in resources()})


def data_types() -> list[str]:
    """The types of data source in use, sorted."""
    return sorted({of_type for of_type, _ in resources("data")})


def terraform_block() -> Block:
    """The `terraform` block."""
    [body] = [body for _, content in files() for body in content.get("terraform", [])]
    return _block(body)


def unquoted(value: Any) -> Any:
    """A literal without the quotes that the parser keeps."""
    return value[1:-1] if isinstance(value, str) and value[:1] == '"' == value[-1:] else value


def _labels(labelled: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for label, body in labelled.items():
        if not label.startswith("__"):
            yield unquoted(label), body


def _block(body: dict[str, Any]) -> Block:
    arguments, blocks = {}, []
    for name, value in _labels(body):
        if not _is_blocks(value):
            arguments[name] = value
        elif name == "dynamic":
            blocks += [(label, _block(made["content"][0])) for item in value for label, made in _labels(item)]
        else:
            blocks += [(name, _block(item)) for item in value]
    return Block(arguments, tuple(blocks))


def _is_blocks(value: Any) -> bool:
    """Whether a list came from blocks; those with labels, as `dynamic` has, bear the mark one level further down."""
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return False
    marked = [value[0], *(inner for inner in value[0].values() if isinstance(inner, dict))]
    return any("__is_block__" in item for item in marked)
