"""The tool against `shell=True` a command, in one run: `python -m tests.bench.tool`, by hand.

Prints medians and minima in milliseconds with their ratios (below 1: the tool is faster) for one command, a pipe of
three and a chain of nine, in a server as it starts and in one that holds 300 MB. The chain costs `shell=True` nine
shells, since each output is wanted by itself.
"""

import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from diffmem.git import Checkout, environment
from diffmem.limits import Deadline
from diffmem.shell import Tool
from tests.support.attack_fixture import build
from tests.support.checkouts import checkout_of, remove

CASES: Mapping[str, Sequence[str]] = {
    "one command": ("head -30 memories/people/wife.md",),
    "a pipe of three": ("cut -d' ' -f1-3 timeline/2026-01.md | sort | uniq -c",),
    "a chain of nine": (
        "head -1 index.md", "wc -l index.md", "ls memories", "ls timeline", "grep -c Anna memories/people/wife.md",
        "tail -1 timeline/2026-03.md", "head -2 memories/people/wife.md", "git log --oneline -1",
        "wc -l timeline/2026-01.md",
    ),
}  # fmt: skip
RESIDENT_BYTES = 300_000_000
ROUNDS = 60


def main() -> None:
    """Measure and print."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    folder.chmod(0o755)
    build(folder)
    checkout = checkout_of(folder / "repo", folder / "checkout")
    tool = Tool("prefer")
    print(tool.status().detail)
    try:
        _measure("server as it starts", tool, checkout)
        ballast = bytearray(b"x") * RESIDENT_BYTES
        _measure(f"server with {len(ballast) // 1_000_000} MB", tool, checkout)
    finally:
        tool.close()
        remove(folder)


def _measure(title: str, tool: Tool, checkout: Checkout) -> None:
    print(f"\n{title:24} {'tool':>8} {'shells':>8} {'ratio':>7}  | {'tool':>8} {'shells':>8} {'ratio':>7}")
    print(f"{'':24} {'median of ' + str(ROUNDS) + ', ms':>25}  | {'minimum, ms':>25}")
    env = environment(checkout)
    for name, commands in CASES.items():
        chain = "; ".join(commands)

        def with_tool(chain: str = chain) -> None:
            assert tool.run(chain, checkout, Deadline(20)).exit_code == 0

        def with_shells(commands: Sequence[str] = commands) -> None:
            for command in commands:
                subprocess.run(command, shell=True, cwd=checkout.tree, env=env, capture_output=True, check=True)

        ours, theirs = _times(with_tool, with_shells)
        columns = [(pick(ours), pick(theirs)) for pick in (statistics.median, min)]
        print(f"{name:24} " + "  | ".join(f"{a:8.1f} {b:8.1f} {a / b:7.2f}" for a, b in columns))


def _times(*runs: Callable[[], None]) -> list[list[float]]:
    """How long each took, the rounds interleaved so that the machine's moods meet both."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(ROUNDS):
        for run, taken in zip(runs, times, strict=True):
            started = time.perf_counter()
            run()
            taken.append((time.perf_counter() - started) * 1000)
    return times


if __name__ == "__main__":
    main()
