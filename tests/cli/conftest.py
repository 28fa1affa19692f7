"""The command line in this process, on a store of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from diffmem.cli.main import main
from diffmem.config import VARIABLES


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in; nothing of this machine's configuration is seen."""
    for name in (*VARIABLES, "DIFFMEM_KEY", "DIFFMEM_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DIFFMEM_STORE", f"file:{tmp_path / 'store'}")
    monkeypatch.setenv("DIFFMEM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DIFFMEM_SANDBOX", "prefer")
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def diffmem(home: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs one command line."""

    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as left:
            code = int(left.code or 0)
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    return run
