"""The recall that is promised, on a sample of the questions, where the files to measure on lie beside the repository.

The whole of it is `python -m diffmem.evals FILE`. Here a user's sessions are one commit, which changes nothing for a
memory without entities, and all questions are asked long after the last session.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from diffmem.context import resolve
from diffmem.evals.dataset import Case, load
from diffmem.evals.measuring import evidence_recall
from diffmem.limits import Deadline
from diffmem.memory import render_session, session_path
from diffmem.planner import plan_offline
from diffmem.repository import Snapshot
from tests.support.memories import Memory

DATA = Path(__file__).parents[2].parent / "shared" / "eval"
LONG_AFTER = datetime(2026, 7, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("file", "limit", "least"),
    [("locomo-a.jsonl", 20, {500: 0.80, 2000: 0.91}), ("longmemeval-a.jsonl", 500, {2000: 0.93})],
)
def test_the_offline_planner_brings_back_the_evidence(
    tmp_path: Path, file: str, limit: int, least: dict[int, float]
) -> None:
    if not (DATA / file).exists():
        pytest.skip("the files to measure on are not part of the repository")
    found: dict[int, list[float]] = {budget: [] for budget in least}
    for case in load(DATA / file, limit):
        memory = Memory(tmp_path / case.user, case.user)
        memory.write({session_path(session): render_session(session) for session in case.sessions})
        with memory.open() as snapshot:
            for budget in least:
                found[budget] += _recalls(snapshot, case, budget)
    for budget, recall in least.items():
        assert sum(found[budget]) / len(found[budget]) >= recall, f"at {budget} tokens"


def _recalls(snapshot: Snapshot, case: Case, max_tokens: int) -> list[float]:
    contents = case.contents
    recalls = []
    for question in case.questions:
        plan = plan_offline(snapshot, [("user", question.text)], LONG_AFTER, max_tokens, Deadline(20))
        resolved = resolve(plan, snapshot, None, max_tokens, Deadline(20))
        assert resolved.tokens <= max_tokens
        recalls.append(evidence_recall(resolved.text, [contents.get(item) for item in question.evidence]))
    return recalls
