"""From what was found to pointers: entity files first and small, then excerpts of sessions, until the budget is full.

Entities and excerpts share the budget: what is named and what changed with it may take at most `_ENTITY_SHARE` of it as
must_include. More pointers are given than fit, because whoever resolves them counts exactly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from diffmem.plan import Pointer
from diffmem.planner.cochange import Companion
from diffmem.planner.entities import Found, by_match
from diffmem.planner.features import Evidence
from diffmem.planner.query import Query
from diffmem.planner.ranking import Ranked, estimate
from diffmem.planner.reading import Corpus, Document, Passage, kind_of

_ENTITY_SHARE = 0.5
_FILE_SHARE = 0.25
_SURE = 0.5
_TIED = 0.25
_OVERFULL = 1.6
_WEAVE = 4
_MANY_POINTERS = 600
_NEAR = 3
_RECENT_SESSIONS = 3
_HEADING_TOKENS = 12


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that the stages found."""

    query: Query
    corpus: Corpus
    evidence: Evidence
    ranked: Sequence[Ranked]
    entities: Sequence[Found]
    companions: Sequence[Companion]
    named: frozenset[str]


def recent_sessions(paths: Sequence[str]) -> Iterator[Pointer]:
    """The newest sessions of `paths` (newest first), for want of anything better."""
    sessions = [path for path in paths if kind_of(path) == "session"]
    for path in sessions[:_RECENT_SESSIONS]:
        yield Pointer("file", path, reason="one of the most recent sessions")


def pointers(findings: Findings, max_tokens: int) -> Iterator[Pointer]:
    """The pointers, in order of importance within their priority."""
    must, rest = _of_entities(findings, max_tokens)
    yield from must
    excerpts = list(_excerpts(findings, max_tokens))
    first = len(excerpts) // _WEAVE
    yield from [*excerpts[:first], *rest, *excerpts[first:]]


def _of_entities(findings: Findings, max_tokens: int) -> tuple[list[Pointer], list[Pointer]]:
    """Pointers into entity files: those that must be there, within their share, and the others."""
    room = int(max_tokens * _ENTITY_SHARE)
    must: list[Pointer] = []
    rest: list[Pointer] = []
    for document, sure, reason in _wanted(findings):
        for pointer in _file_pointers(findings, document, int(max_tokens * _FILE_SHARE), reason):
            tokens = pointer.est_tokens or 0
            if sure and tokens <= room:
                room -= tokens
                must.append(replace(pointer, priority="must_include"))
            else:
                rest.append(pointer)
    return must, rest


def _wanted(findings: Findings) -> Iterator[tuple[Document, bool, str]]:
    """Entity documents in order: named ones, then what changed with them, then those that merely match."""
    documents = {document.path: document for document in findings.corpus.documents}
    sure = [item for item in findings.entities if item.strength >= _SURE]
    given = {item.document.path for item in sure}
    for item in sure:
        yield item.document, True, item.reason
    for companion in findings.companions:
        if companion.path not in given:
            given.add(companion.path)
            yield documents[companion.path], companion.strength >= _TIED, companion.reason
    for item in findings.entities[len(sure) :]:
        if item.document.path not in given:
            yield item.document, False, item.reason


def _file_pointers(findings: Findings, document: Document, room: int, reason: str) -> Iterator[Pointer]:
    """The whole file where it is small, else its sections, those that match first."""
    passages = findings.corpus.passages[document.first : document.end]
    total = sum(estimate(passage.text) for passage in passages) + _HEADING_TOKENS
    if total <= room:
        yield Pointer("file", document.path, est_tokens=total, reason=reason)
        return
    for index in by_match(document, findings.evidence):
        yield _section(document.path, findings.corpus.passages[index], reason)


def _section(path: str, passage: Passage, reason: str) -> Pointer:
    return Pointer(
        "file_section",
        path,
        passage.line_start,
        passage.line_end,
        est_tokens=estimate(passage.text) + _HEADING_TOKENS,
        reason=reason,
    )


def _excerpts(findings: Findings, max_tokens: int) -> Iterator[Pointer]:
    """Passages of sessions and notes, best first, somewhat more than fit; of very many, neighbours as one."""
    chosen = list(_chosen(findings, int(max_tokens * _OVERFULL)))
    near = _NEAR if len(chosen) > _MANY_POINTERS else 0
    for run in _runs(findings.corpus, chosen, near):
        first, last = (findings.corpus.passages[item.index] for item in (min(run, key=_index), max(run, key=_index)))
        yield Pointer(
            "file_section",
            findings.corpus.documents[first.document].path,
            first.line_start,
            last.line_end,
            est_tokens=sum(item.tokens for item in run),
            reason=_why(findings, run[0].index),
        )


def _chosen(findings: Findings, room: int) -> Iterator[Ranked]:
    shown = {item.document.path for item in findings.entities} | {item.path for item in findings.companions}
    for item in findings.ranked:
        if room <= 0:
            return
        document = findings.corpus.documents[findings.corpus.passages[item.index].document]
        if document.path not in shown:
            room -= item.tokens
            yield item


def _index(item: Ranked) -> int:
    return item.index


def _runs(corpus: Corpus, chosen: Sequence[Ranked], near: int) -> list[list[Ranked]]:
    """`chosen` in its order, where those of one document that are at most `near` passages apart come with the best."""
    if near == 0:
        return [[item] for item in chosen]
    places = {item.index: place for place, item in enumerate(chosen)}
    runs: list[list[Ranked]] = []
    before = None
    for item in sorted(chosen, key=_index):
        document = corpus.passages[item.index].document
        if before is None or item.index - before[0] > near or document != before[1]:
            runs.append([])
        runs[-1].append(item)
        before = item.index, document
    best_first = [sorted(run, key=lambda item: places[item.index]) for run in runs]
    return sorted(best_first, key=lambda run: places[run[0].index])[:_MANY_POINTERS]


def _why(findings: Findings, index: int) -> str:
    said = findings.evidence.said(index)
    label = findings.corpus.passages[index].label
    why = f"says {', '.join(map(repr, said))}" if said else findings.evidence.circumstance(index)
    return f"{label}: {why}" if label in findings.named else why
