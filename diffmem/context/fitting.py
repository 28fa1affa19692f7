"""A text that is within its budget, and full.

Tokens of lines do not quite add up to the tokens of their text, so the text is what is counted, and it is made again
for the room that it left over or lacked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from diffmem.context.budget import Claims, choose
from diffmem.context.page import Piece, pieces, render
from diffmem.context.selection import Claim, Costs
from diffmem.limits import Deadline
from diffmem.memory import CONTEXT_FRAME_CLOSE, CONTEXT_FRAME_OPEN

_ROUNDS = 6
# Spare tokens that are worth another round: a few, or half a per cent of a large budget.
_SPARE, _SPARE_SHARE = 6, 200


@dataclass(frozen=True, slots=True)
class Fitted:
    """A context, what it is made of, and the claims of must_include that found no room in it."""

    text: str
    tokens: int
    pieces: Sequence[Piece]
    unserved: Sequence[Claim]
    complete: bool


def fit(claims: Claims, max_tokens: int, count: Callable[[str], int], deadline: Deadline) -> Fitted:
    """The fullest context within `max_tokens`, as `count` counts them, of a few; the first where time is over."""
    costs = Costs(count)
    room = max_tokens - count(f"{CONTEXT_FRAME_OPEN}\n") - count(CONTEXT_FRAME_CLOSE)
    best = Fitted("", 0, (), claims.must, complete=False)
    tried: set[int] = set()
    while room > 0 and room not in tried and (len(tried) < _ROUNDS or not best.text):
        tried.add(room)
        made = _made(claims, room, max_tokens, costs)
        spare = max_tokens - made.tokens
        fuller = spare >= 0 and made.tokens > best.tokens
        best = made if fuller else best
        enough = made.complete or spare < max(_SPARE, max_tokens // _SPARE_SHARE) or deadline.expired
        if spare >= 0 and (not fuller or enough):
            break
        room = room + spare if spare >= 0 or len(tried) < _ROUNDS else room // 2
    return best


def _made(claims: Claims, room: int, max_tokens: int, costs: Costs) -> Fitted:
    selection = choose(claims, room, max_tokens, costs)
    found = pieces(selection, claims.all)
    text = render(found)
    return Fitted(
        text,
        costs.text(text),
        found,
        unserved=[claim for claim in claims.must if selection.unserved(claim)],
        complete=not any(selection.missing(claim) for claim in claims.all),
    )
