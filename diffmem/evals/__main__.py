"""`python -m diffmem.evals FILE`: measure, print the tables, and keep the results where asked.

Without a key and a base URL of a provider in the environment it is the offline planner that is measured.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from diffmem.config import Config
from diffmem.errors import DiffMemError
from diffmem.evals.dataset import load
from diffmem.evals.measuring import Progress, Run, load_run, measure
from diffmem.evals.product import Manner, Product
from diffmem.evals.report import comparison, table

_STEPS = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0, or 2 where the file or an option cannot be used."""
    options = _parser().parse_args(arguments)
    try:
        before = load_run(options.compare) if options.compare else None
        run = _run(options)
    except (DiffMemError, OSError) as error:
        print(f"diffmem.evals: {error}", file=sys.stderr)
        return 2
    print(table(run))
    if before:
        print(f"\n{comparison(before, run)}")
    if options.json:
        run.save(options.json)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m diffmem.evals", description=__doc__)
    parser.add_argument("file", type=Path, help="users with sessions and questions, one JSON object a line")
    parser.add_argument("--planner", choices=["offline", "agent"], default="offline", help="who plans (offline)")
    parser.add_argument("--model", help="the model that plans, and distils; default: as configured")
    parser.add_argument("--mode", choices=["archive", "distill"], default="archive", help="how to remember (archive)")
    parser.add_argument(
        "--max-tokens",
        type=_numbers,
        default=[500, 1000, 2000, 4000],
        metavar="N[,N...]",
        help="how long a context may be; each is measured (500,1000,2000,4000)",
    )
    parser.add_argument("--limit", type=int, help="ask at most this many questions of each user")
    parser.add_argument("--now", action="store_true", help="ask all questions now, whatever the file says")
    parser.add_argument("--time-budget-s", type=float, default=20.0, help="for each question")
    parser.add_argument("--json", type=Path, metavar="OUT", help="keep the results")
    parser.add_argument("--compare", type=Path, metavar="OLD", help="results of another run to compare with")
    return parser


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _run(options: argparse.Namespace) -> Run:
    cases = load(options.file, options.limit)
    now = datetime.now(UTC) if options.now else None
    config = _config(options.model)
    planner = options.planner if options.planner == "offline" else f"agent ({config.model})"
    manner = Manner(options.planner, options.mode, options.time_budget_s)
    with (
        tempfile.TemporaryDirectory(prefix="diffmem-evals-") as folder,
        Product(Path(folder), config, manner) as product,
    ):
        results, spent = measure(cases, product, options.max_tokens, _on_stderr(), now=now)
    return Run(options.file.name, planner, "now" if now else "as the file says", results, spent)


def _config(model: str | None) -> Config:
    config = Config.from_environment(os.environ)
    return replace(config, model=model, writer_model=model) if model else config


def _on_stderr() -> Progress:
    """Progress as lines: at the beginning, at every tenth, and at the end."""

    def progress(what: str, done: int, of: int) -> None:
        if done in (1, of) or done * _STEPS // of > (done - 1) * _STEPS // of:
            print(f"{what} {done} of {of}", file=sys.stderr, flush=True)

    return progress


if __name__ == "__main__":
    sys.exit(main())
