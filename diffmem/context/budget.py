"""Who gets which tokens: must_include first and fairly, then the rest in the plan's order.

Fairly is water-filling: small claims are shown whole, and what is left is shared evenly by those that must be cut.
Where even that leaves too little for each, the last of the plan go without (and are reported).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from diffmem.context.selection import Claim, Costs, Selection

_ALWAYS_SHARE = 8
# A share below this shows nothing of use.
_LEAST_SHARE = 24
# A part of a claim that the budget allows is shown at once where it is half of it, or this many tokens.
_USEFUL = 120
# Fewer tokens than this are not worth another look at the plan.
_CRUMBS = 8
_LEAST_BEGINNING = 16


@dataclass(frozen=True, slots=True)
class Claims:
    """Everything that wants room: what is always loaded, and what the plan points at, in its order."""

    always: Sequence[Claim]
    must: Sequence[Claim]
    rest: Sequence[Claim]

    @property
    def all(self) -> Sequence[Claim]:
        """All of them, in the order in which they are served."""
        return (*self.always, *self.must, *self.rest)


def choose(claims: Claims, room: int, max_tokens: int, costs: Costs) -> Selection:
    """The lines that `room` tokens are spent on; what is always loaded gets an eighth of `max_tokens`, or a few."""
    selection = Selection(costs)
    _fill(selection, claims.always, min(room, max(max_tokens // _ALWAYS_SHARE, _LEAST_SHARE)))
    _fill(selection, claims.must, room - selection.spent)
    _offer(selection, claims.rest, room)
    return selection


def _fill(selection: Selection, claims: Sequence[Claim], room: int) -> None:
    """Water-filling: the claims that want least choose first, each within an even share of what is then left."""
    most = selection.spent + room
    demands = {claim: selection.demand(claim, room) for claim in claims}
    served = _served(claims, demands, room)
    for turn, claim in enumerate(sorted(served, key=demands.__getitem__)):
        share = (most - selection.spent) // (len(served) - turn)
        selection.take(claim, share, split=_LEAST_BEGINNING)
    for claim in claims:  # what rounding to whole lines has left over
        if most - selection.spent >= _CRUMBS and selection.missing(claim):
            selection.take(claim, most - selection.spent, split=_LEAST_BEGINNING)


def _served(claims: Sequence[Claim], demands: dict[Claim, int], room: int) -> list[Claim]:
    """The claims without the last ones that would leave the others less than the least share."""
    served: list[Claim] = []
    needed = 0
    for claim in claims:
        needed += min(demands[claim], _LEAST_SHARE)
        if needed > room and served:
            break
        served.append(claim)
    return served


def _offer(selection: Selection, claims: Sequence[Claim], room: int) -> None:
    """In order, whatever fits whole or as a useful part; what is left then goes to those that did not."""
    waiting = []
    for claim in claims:
        if room - selection.spent < _CRUMBS:
            return
        if not selection.take(claim, room - selection.spent, useful=_USEFUL):
            waiting.append(claim)
    for claim in waiting:
        if room - selection.spent >= _CRUMBS:
            selection.take(claim, room - selection.spent, split=_LEAST_BEGINNING)
