"""`python -m tests.bench.footprint`: megabytes on disk by package, and in memory by step of an instance's life.

On disk: what the pinned run-time requirements have installed in this environment, by package, with its compiled files.
In memory: a server with four threads on an on-disk store and a model, after each step; the peak is the kernel's.
"""

import importlib.metadata
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.support.far_side import answer
from tests.support.load import Load, footprint
from tests.support.provider import Provider
from tests.support.server import Server, server

ROOT = Path(__file__).parent.parent.parent.parent
USERS = 20
_PIN = re.compile(r"^([A-Za-z0-9_.-]+)==", re.MULTILINE)
_MIB = 1024 * 1024


def main() -> None:
    """Print both tables."""
    _print_disk()
    _print_memory()


def installed_bytes() -> dict[str, int]:
    """What the run-time requirements take on disk by package, and DiffMem itself as the last."""
    sizes = {name: _size(name) for name in _PIN.findall((ROOT / "requirements.txt").read_text())}
    return sizes | {
        "(DiffMem itself, with its vocabulary)": sum(file.stat().st_size for file in _files(ROOT / "diffmem"))
    }


def _print_disk() -> None:
    sizes = installed_bytes()
    print(f"on disk: {sum(sizes.values()) / _MIB:.1f} MiB in {len(sizes) - 1} packages")
    for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:25]:
        print(f"{name:40}{size / _MIB:8.2f}")


def _size(name: str) -> int:
    files = importlib.metadata.distribution(name).files or []
    paths = {Path(str(file.locate())) for file in files}
    return sum(path.stat().st_size for path in paths if path.is_file())


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _print_memory() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="diffmem-footprint-") as folder,
        Provider([answer]) as provider,
        server(Path(folder), {"OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "none"}) as running,
    ):
        load = Load(running, USERS)
        steps: list[tuple[str, Callable[[], object]]] = [
            ("started, nothing asked", lambda: None),
            (f"{USERS} users begun", load.prepare),
            ("each asked offline", lambda: _each(running, load, "offline")),
            ("each asked by the agent", lambda: _each(running, load, "auto")),
            ("20 s of four clients", lambda: load.run(4, 20)),
        ]
        print(f"\n{'in memory, MiB: worker and tool':42}{'RSS':>8}{'PSS':>8}{'peak':>8}{'threads':>9}")
        for title, step in steps:
            step()
            found = footprint(running)
            peak = _peak_kb(running.worker)
            print(f"{title:42}{found.rss_kb / 1024:8.0f}{found.pss_kb / 1024:8.0f}{peak / 1024:8.0f}{found.threads:9}")


def _each(running: Server, load: Load, planner: str) -> None:
    for user in load.users:
        running.call("POST", f"/v1/users/{user}/context", {"query": "Where does Maya walk?", "planner": planner})


def _peak_kb(pid: int) -> int:
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1])


if __name__ == "__main__":
    main()
