"""The plan without a model, top to bottom.

    query      what the conversation asks, as weighted words, names and days
    corpus     the Markdown of the repository as passages, newest sessions first
    evidence   where those words stand, and what else speaks for a passage
    entities   files that are named or whose facts match, and what changed together with them
    pointers   all of it within the budget, with reasons

The deadline is asked between these, and with little time the answer is what there is by then.
"""

import heapq
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from diffmem.errors import DeadlineExceeded
from diffmem.limits import Deadline
from diffmem.plan import Plan
from diffmem.planner.cochange import MAX_COMMITS, Companion, companions
from diffmem.planner.entities import Found, find
from diffmem.planner.features import Evidence
from diffmem.planner.matching import match
from diffmem.planner.pointers import Findings, pointers, recent_sessions
from diffmem.planner.query import understand
from diffmem.planner.ranking import Ranked, rank
from diffmem.planner.reading import Corpus, newest_first
from diffmem.planner.speakers import named_speakers

if TYPE_CHECKING:
    from diffmem.repository import Snapshot

_ENTITY_FOLDER = "memories"
_BATCH_FILES = 256
_READING_SHARE = 0.3
_READ_BYTES_A_SECOND = 15e6
_LEAST_PASSAGE_CHARS, _CHARS_A_TOKEN, _PARTS_OF_BUDGET = 400, 4, 3
_SEED_PASSAGES = 5
_SESSION_STRENGTH = 0.7


def plan_offline(
    snapshot: "Snapshot",
    conversation: Sequence[tuple[str, str]],
    now: datetime,
    max_tokens: int,
    deadline: Deadline,
) -> Plan:
    """The pointers into `snapshot` that bear on `conversation` (oldest first, as `(role, content)`) at `now`.

    Every pointer says why it is there. Time that is over makes the plan poorer, down to the newest sessions; never an
    error.
    """
    paths = newest_first(snapshot.paths())
    query = understand(conversation, now)
    corpus = _read(snapshot, paths, max_tokens, deadline)
    if deadline.expired or not corpus.passages:
        return Plan(tuple(recent_sessions(paths)))
    named, without = named_speakers(query, corpus)
    evidence = Evidence(query, corpus, match(query, corpus.passages, without), named, now.date())
    ranked = rank(query, evidence, corpus, max_tokens)
    found = find(query, corpus, evidence)
    tied = _companions(snapshot, corpus, evidence, found, ranked, now, deadline)
    findings = Findings(query, corpus, evidence, ranked, found, tied, named)
    names = dict.fromkeys([item.document.path for item in found] + [companion.path for companion in tied])
    return Plan(tuple(pointers(findings, max_tokens)), entities=tuple(map(_short_name, names)))


def _read(snapshot: "Snapshot", paths: Sequence[str], max_tokens: int, deadline: Deadline) -> Corpus:
    """Everything, or as much as a third of the time is enough for: what follows takes twice as long."""
    corpus = Corpus()
    reading = deadline.within(deadline.remaining() * _READING_SHARE)
    max_chars = max(_LEAST_PASSAGE_CHARS, max_tokens * _CHARS_A_TOKEN // _PARTS_OF_BUDGET)
    for batch in _batches(paths):
        if reading.expired:
            break
        try:
            files = snapshot.read_all(batch)
        except DeadlineExceeded:
            break
        for path, data in files.items():
            if reading.remaining() > len(data) / _READ_BYTES_A_SECOND:
                corpus.add(path, data, max_chars)
    return corpus


def _batches(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(paths), _BATCH_FILES):
        yield paths[start : start + _BATCH_FILES]


def _companions(
    snapshot: "Snapshot",
    corpus: Corpus,
    evidence: Evidence,
    found: Sequence[Found],
    ranked: Sequence[Ranked],
    now: datetime,
    deadline: Deadline,
) -> list[Companion]:
    """What the history ties to the entity files found and to the sessions that match best."""
    if deadline.expired or not any(document.kind == "entity" for document in corpus.documents):
        return []
    seeds = {item.document.path: item.strength for item in found}
    for item in heapq.nlargest(_SEED_PASSAGES, ranked, key=lambda item: evidence.match(item.index)):
        document = corpus.documents[corpus.passages[item.index].document]
        if document.kind == "session":
            seeds.setdefault(document.path, _SESSION_STRENGTH * evidence.match(item.index))
    try:
        commits = snapshot.log(paths=(_ENTITY_FOLDER,), max_count=MAX_COMMITS)
    except DeadlineExceeded:
        return []
    known = {document.path for document in corpus.documents}
    return [companion for companion in companions(commits, seeds, now) if companion.path in known]


def _short_name(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")
