"""A stand-in for the gcloud command: a real program on the PATH that remembers what was created, and every call it got.

    gcloud = Gcloud(tmp_path)
    subprocess.run(["deploy/cloud-run.sh"], env=gcloud.environment(PROJECT="demo"))
    gcloud.calls()       [("services", "list", "--project=demo", ...), ...]

*Covered*: what the deploy scripts ask for. *Not covered*: what Google would refuse. `known_flags` has the real gcloud's
own table of flags, where that is installed.
"""

import os
import sys
from pathlib import Path
from typing import Any

from tests.support.gcloud_program import READS, Call, Things, flag, load, store, words

__all__ = ["Call", "Gcloud", "flag", "known_flags", "words"]

_PROGRAM = Path(__file__).with_name("gcloud_program.py")


class Gcloud:
    """The stand-in in `directory`, with an empty project behind it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._state = str(directory / "gcloud.state")
        store(self._state, {"calls": {}, "things": {}, "bindings": {}})
        program = directory / "bin" / "gcloud"
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable} -IS\n{_PROGRAM.read_text()}")
        program.chmod(0o755)

    def environment(self, **variables: str) -> dict[str, str]:
        """The environment of a script: the stand-in first on the PATH, and `variables`, nothing else."""
        return {"PATH": f"{self.directory / 'bin'}:{os.environ['PATH']}", **variables}

    def calls(self, *, writes: bool = False) -> list[Call]:
        """The arguments of every call so far; with `writes`, of those that change something."""
        calls = [tuple(call) for call in load(self._state)["calls"].values()]
        return [call for call in calls if not writes or READS.isdisjoint(words(call))]

    def things(self) -> Things:
        """What was created, by kind and name; for a secret its versions."""
        return load(self._state)["things"]

    def forget_calls(self) -> None:
        """Start the list of calls anew."""
        store(self._state, {**load(self._state), "calls": {}})


def known_flags(table: Path) -> Any:
    """gcloud's own table of its commands and their flags, which its command-line completion reads."""
    scope: dict[str, Any] = {}
    exec(compile(table.read_text(), str(table), "exec"), scope)  # a literal assigned to one name
    return scope["STATIC_COMPLETION_CLI_TREE"]
