"""Writes tests/deploy/provider_schema.json: the arguments and blocks Terraform's google provider has for what we use.

The provider itself comes from a registry that tests cannot ask. The package cdktn-provider-google on PyPI holds the
same schema as generated Python, a module a resource; its source is read, not imported. By hand, for a new version:

    pip download --no-deps cdktn-provider-google==21.1.0
    python -m tests.deploy.extract_schema cdktn_provider_google-21.1.0-py3-none-any.whl

*Covered*: names, types, which are required, what is a block. *Not covered*: allowed values, what excludes what.
"""

import ast
import json
import re
import sys
import zipfile
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

from tests.deploy.terraform import data_types, resource_types

SCHEMA = Path(__file__).with_name("provider_schema.json")
_PACKAGE = "cdktn_provider_google"
_ANY = ast.Name("object")
_META = {"id", "connection", "count", "depends_on", "for_each", "lifecycle", "provider", "provisioners"}


def extract(wheel: Path) -> dict[str, Any]:
    """The schema of each resource type under deploy/terraform, and the version of the provider it was read from."""
    with zipfile.ZipFile(wheel) as package:
        sources = {kind: _source(package, kind.removeprefix("google_")) for kind in resource_types()}
        data = {kind: _source(package, f"data_{kind}") for kind in data_types()}
        provider = _source(package, "provider")
    version = re.search(r"providers/hashicorp/google/([0-9.]+)/docs", provider)
    assert version is not None
    return {
        "version": version[1],
        "resources": {kind: _resource(source, "TerraformResource") for kind, source in sources.items()},
        "data": {kind: _resource(source, "TerraformDataSource") for kind, source in data.items()},
    }


def _source(package: zipfile.ZipFile, module: str) -> str:
    return package.read(f"{_PACKAGE}/{module}/__init__.py").decode()


def _structures(source: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}


def _resource(source: str, base: str) -> dict[str, Any]:
    structures = _structures(source)
    [name] = [name for name, node in structures.items() if any(base in ast.unparse(parent) for parent in node.bases)]
    block = _block(structures, name, leave_out=_META)
    given = {*block["attributes"], *block["blocks"]}
    computed = {name: kind for name, kind in _properties(structures[name]) if name not in given | _META}
    return {**block, "computed": {"id": "string", **computed}}


def _block(structures: dict[str, ast.ClassDef], name: str, leave_out: Set[str] = frozenset()) -> dict[str, Any]:
    block: dict[str, Any] = {"required": [], "attributes": {}, "blocks": {}}
    for keyword, annotation, required in _keywords(structures[name]):
        if keyword in leave_out:
            continue
        if required:
            block["required"].append(keyword)
        inner = next((quoted for quoted in re.findall(r"'(\w+)'", annotation) if quoted in structures), None)
        if inner:
            block["blocks"][keyword] = {**_block(structures, inner), "many": "Sequence" in annotation}
        else:
            block["attributes"][keyword] = _type(annotation)
    return block


def _keywords(structure: ast.ClassDef) -> Iterator[tuple[str, str, bool]]:
    """The name, the annotation and the necessity of each keyword of the constructor."""
    for item in structure.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            pairs = zip(item.args.kwonlyargs, item.args.kw_defaults, strict=True)
            yield from (
                (keyword.arg, ast.unparse(keyword.annotation or _ANY), default is None) for keyword, default in pairs
            )


def _properties(structure: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """What can be read off a resource and is a plain value."""
    for item in structure.body:
        if (
            isinstance(item, ast.FunctionDef)
            and item.returns
            and any("property" in ast.unparse(by) for by in item.decorator_list)
        ):
            kind = _type(ast.unparse(item.returns))
            if kind != "dynamic" and not item.name.endswith("_input"):
                yield item.name, kind


def _type(annotation: str) -> Any:
    """The type in Terraform's notation, such as `["map", "string"]`."""
    kinds = {"builtins.str": "string", "jsii.Number": "number", "builtins.bool": "bool"}
    plain = next((kind for name, kind in kinds.items() if name in annotation), "dynamic")
    if "typing.Mapping" in annotation:
        return ["map", "string" if annotation.count("builtins.str") == 2 else "dynamic"]
    return ["list", plain] if "typing.Sequence" in annotation else plain


if __name__ == "__main__":
    schema = extract(Path(sys.argv[1]))
    SCHEMA.write_text(json.dumps(schema, separators=(",", ":"), sort_keys=True) + "\n")
