"""The tables of a run, and of what changed since another one."""

from collections.abc import Callable, Iterator, Sequence

from diffmem.evals.measuring import Result, Run
from diffmem.evals.scores import difference, percentile, recall_estimate

_NAME_CHARS = 28


def table(run: Run) -> str:
    """Recall by category and by user, with 95 % intervals; tokens and milliseconds as p50/p95."""
    budgets = sorted({result.max_tokens for result in run.results})
    questions = len({(result.user, result.question) for result in run.results})
    lines = [
        f"{run.file}: evidence recall of {questions} questions, planner {run.planner}, asked {run.asked_at}",
        _row("", "n", [str(budget) for budget in budgets]),
        *_recalls(run.results, budgets),
        _row("tokens p50/p95", "", [_spread(run.results, budget, lambda r: float(r.tokens)) for budget in budgets]),
        _row("ms p50/p95", "", [_spread(run.results, budget, lambda r: r.milliseconds) for budget in budgets]),
        f"remembering a session: {_p50_p95(run.remembered_milliseconds)} ms p50/p95",
    ]
    stops = sorted({result.stop_reason for result in run.results})
    counts = ", ".join(f"{stop} {sum(r.stop_reason == stop for r in run.results)}" for stop in stops)
    prompted = sum(result.prompt_tokens for result in run.results)
    return "\n".join([*lines, f"stop reasons: {counts}; tokens of prompts: {prompted}"])


def comparison(before: Run, after: Run) -> str:
    """What changed for the questions that both runs asked: the mean difference, and how many are better and worse."""
    old = {result.key: result for result in before.results}
    both = [(old[result.key], result) for result in after.results if result.key in old]
    budgets = sorted({result.max_tokens for _, result in both})
    lines = [f"against {before.file}, planner {before.planner}:", _row("", "n", [str(budget) for budget in budgets])]
    for category in ["all", *sorted({result.category for _, result in both})]:
        pairs = [pair for pair in both if category in ("all", pair[1].category)]
        cells = [_changed([pair for pair in pairs if pair[1].max_tokens == budget]) for budget in budgets]
        lines.append(_row(category, str(len(pairs) // max(1, len(budgets))), cells))
    return "\n".join(lines)


def _recalls(results: Sequence[Result], budgets: Sequence[int]) -> Iterator[str]:
    yield _recall_row("all", results, budgets)
    for category in sorted({result.category for result in results}):
        yield _recall_row(category, [result for result in results if result.category == category], budgets)
    users = sorted({result.user for result in results})
    for user in users if len(users) > 1 else []:
        yield _recall_row(user, [result for result in results if result.user == user], budgets)


def _recall_row(name: str, results: Sequence[Result], budgets: Sequence[int]) -> str:
    cells = []
    for budget in budgets:
        found = recall_estimate([result.recall for result in results if result.max_tokens == budget])
        cells.append(f"{found.mean:.3f} [{found.low:.2f} {found.high:.2f}]")
    return _row(name, str(len(results) // max(1, len(budgets))), cells)


def _changed(pairs: Sequence[tuple[Result, Result]]) -> str:
    found = difference([old.recall for old, _ in pairs], [new.recall for _, new in pairs])
    better = sum(new.recall > old.recall for old, new in pairs)
    worse = sum(new.recall < old.recall for old, new in pairs)
    return f"{found.mean:+.3f} ±{found.high - found.mean:.3f} (+{better} -{worse})"


def _spread(results: Sequence[Result], budget: int, value: Callable[[Result], float]) -> str:
    return _p50_p95([value(result) for result in results if result.max_tokens == budget])


def _p50_p95(values: Sequence[float]) -> str:
    return f"{percentile(values, 0.5):.0f}/{percentile(values, 0.95):.0f}"


def _row(name: str, size: str, cells: Sequence[str]) -> str:
    return f"{name[:_NAME_CHARS]:<{_NAME_CHARS}}{size:>6}  " + "  ".join(f"{cell:<24}" for cell in cells).rstrip()
