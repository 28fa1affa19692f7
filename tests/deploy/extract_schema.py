"""Writes tests/deploy/provider_schema.json: the arguments and blocks Terraform's google provider has for what we use.

The provider itself comes from a registry that tests cannot ask. The package cdktn-provider-google on PyPI holds the
same schema as generated Python, a module a resource; its source is read, not imported. By hand, for a new version:

    pip download --no-deps cdktn-provider-google==21.1.0
    python -m tests.deploy.extract_schema cdktn_provider_google-21.1.0-py3-none-any.whl

*Covered*: names, which of them are required, what is a block. *Not covered*: types, allowed values, what excludes what.
"""

import ast
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

from tests.deploy.terraform import resource_types

SCHEMA = Path(__file__).with_name("provider_schema.json")
_PACKAGE = "cdktn_provider_google"
_META = {"id", "connection", "count", "depends_on", "for_each", "lifecycle", "provider", "provisioners"}


def extract(wheel: Path) -> dict[str, Any]:
    """The schema of each resource type under deploy/terraform, and the version of the provider it was read from."""
    with zipfile.ZipFile(wheel) as package:
        sources = {kind: _source(package, kind.removeprefix("google_")) for kind in resource_types()}
        provider = _source(package, "provider")
    version = re.search(r"providers/hashicorp/google/([0-9.]+)/docs", provider)
    assert version is not None
    return {
        "version": version[1],
        "provider": _block(_structures(provider), "GoogleProvider"),
        "resources": {kind: _block(_structures(source), _class_name(source)) for kind, source in sources.items()},
    }


def _source(package: zipfile.ZipFile, module: str) -> str:
    return package.read(f"{_PACKAGE}/{module}/__init__.py").decode()


def _class_name(source: str) -> str:
    found = re.search(r"^class (\w+)\(\n    _cdktn_\w+\.TerraformResource,", source, re.MULTILINE)
    assert found is not None
    return found[1]


def _structures(source: str) -> dict[str, list[tuple[str, str, bool]]]:
    """By class: the name, the annotation and the necessity of each keyword of its constructor."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            constructors = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
            found[node.name] = [keyword for constructor in constructors for keyword in _keywords(constructor)]
    return found


def _keywords(constructor: ast.FunctionDef) -> list[tuple[str, str, bool]]:
    arguments = constructor.args
    return [
        (argument.arg, ast.unparse(argument.annotation) if argument.annotation else "", default is None)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]


def _block(structures: dict[str, list[tuple[str, str, bool]]], name: str, top: bool = True) -> dict[str, Any]:
    block: dict[str, Any] = {"required": [], "optional": [], "blocks": {}}
    for keyword, annotation, required in structures[name]:
        if top and keyword in _META:
            continue
        inner = next((quoted for quoted in re.findall(r"'(\w+)'", annotation) if quoted in structures), None)
        if inner:
            block["blocks"][keyword] = _block(structures, inner, top=False)
        if not inner or required:
            block["required" if required else "optional"].append(keyword)
    return block


if __name__ == "__main__":
    lines = extract(Path(sys.argv[1]))
    SCHEMA.write_text(json.dumps(lines, indent=None, separators=(",", ":"), sort_keys=True) + "\n")
