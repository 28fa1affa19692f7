"""From pointers to text: `resolve`.

places      which of the plan's pointers can be used, and what they want
budget      which lines get tokens
page        those lines as text, in the frame
fitting     the last two again, until the text is full and within its budget
"""

from collections.abc import Iterator, Mapping, Sequence

from diffmem import tokens
from diffmem.context.budget import Claims
from diffmem.context.fitting import fit
from diffmem.context.page import Piece
from diffmem.context.places import Places
from diffmem.context.selection import Claim
from diffmem.context.types import Block, Resolved
from diffmem.errors import DeadlineExceeded
from diffmem.git import Commit
from diffmem.limits import Deadline
from diffmem.plan import Plan, PointerType, Rejected
from diffmem.repository import Snapshot
from diffmem.shell import Tool


def resolve(
    plan: Plan,
    snapshot: Snapshot,
    tool: Tool | None,
    max_tokens: int,
    deadline: Deadline,
) -> Resolved:
    """The context that `plan` points at, of at most `max_tokens` tokens.

    The same plan, head and budget give the same context. What cannot be used of the plan is in `rejected`; what of
    must_include found no room, in `warnings`. Time that is over is no error: commands are then rejected, and what the
    snapshot no longer reads is missing.
    """
    try:
        places = Places(snapshot, tool, deadline)
        wanted, rejected = places.claims(plan)
    except DeadlineExceeded as error:
        return _nothing(plan, str(error))
    claims = Claims(
        always=tuple(places.always_loaded(wanted)),
        must=[claim for claim in wanted if claim.priority == "must_include"],
        rest=[claim for claim in wanted if claim.priority != "must_include"],
    )
    fitted = fit(claims, max_tokens, tokens.count, deadline)
    commits, warnings = _last_commits(snapshot, fitted.pieces)
    blocks = tuple(_block(piece, commits) for piece in fitted.pieces)
    warnings = (*_without_room(fitted.unserved, max_tokens), *warnings)
    return Resolved(fitted.text, blocks, fitted.tokens, tuple(rejected), warnings)


def _nothing(plan: Plan, why: str) -> Resolved:
    rejected = tuple(Rejected(pointer, why) for pointer in plan.pointers)
    return Resolved("", (), 0, rejected, (f"{why}: nothing was read",))


def _last_commits(snapshot: Snapshot, found: Sequence[Piece]) -> tuple[dict[str, Commit], Sequence[str]]:
    """The commit that last touched each path of the context, from one walk of the history."""
    paths = sorted({piece.source.path for piece in found if piece.source.path and not piece.source.commit})
    try:
        commits = snapshot.log(paths=paths) if paths else ()
    except DeadlineExceeded:
        return {}, ("out of time: blocks do not name their commits",)
    return {path: commit for commit in reversed(commits) for path in commit.paths}, ()


def _block(piece: Piece, commits: Mapping[str, Commit]) -> Block:
    source = piece.source
    commit = source.commit or commits.get(source.path or "")
    part: PointerType = "file" if piece.whole else "file_section"
    return Block(
        type=part if source.type == "file" else source.type,
        path=source.path,
        lines=piece.lines,
        commit=commit.sha if commit else None,
        occurred_at=commit.occurred_at if commit else None,
        priority="must_include" if piece.must else "if_budget_allows",
        reason=piece.reason,
        tokens=tokens.count(piece.content),
        truncated=piece.truncated,
        content=piece.content,
    )


def _without_room(claims: Sequence[Claim], max_tokens: int) -> Iterator[str]:
    if claims:
        names = ", ".join(dict.fromkeys(claim.source.heading.removesuffix(":") for claim in claims))
        yield f"no room in {max_tokens} tokens for {len(claims)} must_include pointers: {names}"
