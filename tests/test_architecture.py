"""The floors and doors of the design, read from the source: who may import whom, and where the outside world enters."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = {
    "errors": 0,
    "limits": 1, "tokens": 1, "config": 1, "claims": 1,
    "hooks": 2, "tasks": 2, "git": 2, "memory": 2, "plan": 2, "model": 2, "storage": 2,
    "repository": 3, "shell": 3,
    "agent": 4, "planner": 4, "context": 4,
    "retrieval": 5, "writer": 5, "curation": 5,
    "api": 6,
    "http": 7, "demo": 7, "evals": 7, "main": 7,
    "cli": 8,  # calls the edge's routes without HTTP, hands over to evals, and starts the server
}  # fmt: skip
DOORS = {
    "subprocess": {"git", "shell", "demo"},  # the demo starts the server that it shows, as a person would
    "google.cloud": {"storage"},
    "google.api_core": {"storage"},
    "google.auth": {"storage", "hooks", "tasks"},
    "google.oauth2": {"storage", "hooks", "tasks"},
    "openai": {"model"},
    "flask": {"http", "main"},
    "functions_framework": {"main"},
    "werkzeug": {"http"},
    "opentelemetry": {"http"},
    "os.environ": {"main", "demo", "evals", "cli"},
}
MODULES = sorted([*(ROOT / "diffmem").rglob("*.py"), ROOT / "main.py"])


def _part(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return relative.stem if len(relative.parts) <= 2 else relative.parts[1]


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _identify(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=_identify)
def test_a_module_imports_only_from_the_floors_below_its_own(path: Path) -> None:
    part = _part(path)
    if part in ("__init__", "__main__"):
        return
    for name in _imports(ast.parse(path.read_text())):
        names = name.split(".")
        if names[0] == "diffmem" and len(names) > 1 and names[1] != part and names[1] in FLOORS:
            assert FLOORS[names[1]] < FLOORS[part] or (part == "main" and names[1] == "http"), f"{part} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=_identify)
def test_the_outside_world_enters_by_its_doors_alone(path: Path) -> None:
    source = path.read_text()
    part = _part(path)
    used = set(_imports(ast.parse(source)))
    for door, allowed in DOORS.items():
        if part in allowed:
            continue
        assert not any(name == door or name.startswith(door + ".") for name in used), f"{part} imports {door}"
        if door == "os.environ":
            assert "os.environ" not in source and "os.getenv" not in source, f"{part} reads the environment"


@pytest.mark.parametrize("path", MODULES, ids=_identify)
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), "no docstring"


def test_every_part_has_a_floor() -> None:
    assert {_part(path) for path in MODULES} - {"__init__", "__main__"} == set(FLOORS)


# Besides those that raise again what they caught.
# The edge turns whatever arises into a problem; the client is imported in a thread, and its error is raised again in
# the thread that waits for it; a forked child of the zygote must not run on in its parent's loop.
BROAD_EXCEPTS = {"diffmem/http/service.py", "diffmem/model/client.py", "diffmem/shell/zygote.py"}


def test_a_broad_except_stands_where_it_is_named_alone() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler):
                names = [node.type] if node.type is None else getattr(node.type, "elts", [node.type])
                broad = any(name is None or getattr(name, "id", "") in ("Exception", "BaseException") for name in names)
                again = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
                assert not broad or again or _identify(path) in BROAD_EXCEPTS, f"{_identify(path)}:{node.lineno}"


def test_nothing_is_opened_at_import(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = "import threading, main; print(threading.active_count())"
    environment = {
        "PATH": "/usr/bin:/bin",
        "DIFFMEM_STORE": f"file:{tmp_path}/store",
        "DIFFMEM_CACHE": f"{tmp_path}/cache",
    }
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert found.stdout.strip() == "1", found.stderr
    assert list(tmp_path.iterdir()) == []
