"""Real bash, in the same checkout and the same environment as the tool's own commands."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from diffmem.git import Checkout, environment
from diffmem.limits import Deadline
from diffmem.shell import Tool, ToolResult

_DATA = Path(__file__).parent.parent / "shell" / "data"
_MAX_OUTPUT_BYTES = 4_000_000

BASH = shutil.which("bash")
AWK_IS_GAWK = Path(shutil.which("awk") or "/").resolve().name == "gawk"


@dataclass(frozen=True, slots=True)
class Ended:
    """What a command wrote to standard output, and how it ended."""

    output: str
    exit_code: int


def commands(name: str) -> dict[str, str]:
    """The commands of a file of tests/shell/data, by id."""
    lines = (json.loads(line) for line in (_DATA / name).read_text().splitlines())
    return {one["id"]: one["command"] for one in lines}


def in_bash(command: str, checkout: Checkout) -> Ended:
    """What bash makes of a command."""
    assert BASH is not None
    done = subprocess.run(
        [BASH, "-c", command],
        cwd=checkout.tree,
        env=environment(checkout),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return Ended(done.stdout.decode(errors="replace"), done.returncode)


def in_tool(command: str, checkout: Checkout, tool: Tool) -> Ended:
    """What the tool makes of it."""
    result = run_raw(command, checkout, tool)
    return Ended(result.output, result.exit_code)


def run_raw(command: str, checkout: Checkout, tool: Tool) -> ToolResult:
    """The raw result of a command."""
    return tool.run(command, checkout, Deadline(20), raw=True, max_output_bytes=_MAX_OUTPUT_BYTES)
