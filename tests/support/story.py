"""A story of three months in twelve sessions, as a memory distilled from it: what belongs together changed together.

Nora, the writer's wife, and Ostwind, his company, are told of in the same evenings; choir and allotment on others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from diffmem.memory import Message, Session, render_session, session_path

BIRTHDAY = "It's my birthday today. Nora put a card on the table before she left. I have rarely felt so alone."
WIFE = "memories/people/wife.md"
COMPANY = "memories/contexts/company.md"
CHOIR = "memories/contexts/choir.md"
ALLOTMENT = "memories/contexts/allotment.md"

_HEADS = {
    WIFE: '---\nname: Nora\naliases: ["my wife"]\nkind: people\n---\n\n# Nora\n\n## Facts\n\n',
    COMPANY: "---\nname: Ostwind\nkind: contexts\n---\n\n# Ostwind\n\n## Facts\n\n",
    CHOIR: "---\nname: Choir\nkind: contexts\n---\n\n# Choir\n\n## Facts\n\n",
    ALLOTMENT: "---\nname: Allotment\nkind: contexts\n---\n\n# Allotment\n\n## Facts\n\n",
}


@dataclass(frozen=True, slots=True)
class Evening:
    """One session: what was said, and the fact it left in each entity file."""

    day: str
    said: str
    facts: Mapping[str, str]


EVENINGS = (
    Evening(
        "2026-01-08",
        "Ostwind won the ferry tender. Nora asked when I would sleep again.",
        {COMPANY: "Won the ferry tender.", WIFE: "Asked when he would sleep again."},
    ),
    Evening("2026-01-15", "We sang the Fauré requiem, the tenors were flat.", {CHOIR: "Sang Fauré's requiem."}),
    Evening(
        "2026-01-21",
        "The yard is late with both hulls. I cancelled the weekend in Rügen, Nora unpacked without a word.",
        {COMPANY: "The yard is late with both hulls.", WIFE: "Unpacked without a word when Rügen was cancelled."},
    ),
    Evening(
        "2026-01-30",
        "Had to let two welders go. I told Nora at midnight, she held my hand.",
        {COMPANY: "Let two welders go.", WIFE: "Held his hand when he told her."},
    ),
    Evening("2026-02-03", "Ordered seed potatoes for the allotment.", {ALLOTMENT: "Seed potatoes ordered."}),
    Evening(
        "2026-02-10",
        "The insurer refuses to pay for the crane. Nora moved into the guest room, because I grind my teeth.",
        {COMPANY: "The insurer refuses to pay for the crane.", WIFE: "Sleeps in the guest room."},
    ),
    Evening("2026-02-14", "Choir practice instead of dinner. Nora went with Ida.", {CHOIR: "Missed a dinner."}),
    Evening(
        "2026-02-19",
        "Ostwind's auditors found a hole of 80,000 euros. Nora offered her inheritance.",
        {COMPANY: "A hole of 80,000 euros.", WIFE: "Offered her inheritance."},
    ),
    Evening(
        "2026-02-27",
        "I took Nora's inheritance for the payroll. She said it was only money.",
        {COMPANY: "The inheritance paid the payroll.", WIFE: "Said it was only money."},
    ),
    Evening("2026-03-06", "Dug the first bed at the allotment, saw a hedgehog.", {ALLOTMENT: "First bed dug."}),
    Evening(
        "2026-03-13",
        "Launch of the first hull. Nora did not come.",
        {COMPANY: "First hull launched.", WIFE: "Did not come to the launch."},
    ),
    Evening(
        "2026-03-20", "Nora planted beans with me at the allotment.", {ALLOTMENT: "Beans.", WIFE: "Planted beans."}
    ),
)


def writes() -> Iterator[tuple[str, dict[str, bytes]]]:
    """For each session its day, and the files of the commit that archived and distilled it."""
    facts: dict[str, list[str]] = {}
    for number, evening in enumerate(EVENINGS, 1):
        session = Session(
            session_id=f"evening-{number}",
            occurred_at=datetime.fromisoformat(f"{evening.day}T21:00:00").replace(tzinfo=UTC),
            messages=(Message("user", evening.said), Message("assistant", "Thank you for telling me.")),
            state="distilled",
        )
        files = {session_path(session): render_session(session)}
        for path, fact in evening.facts.items():
            facts.setdefault(path, []).append(f"- {fact} ^[evening-{number}#1]\n")
            files[path] = (_HEADS[path] + "".join(facts[path])).encode()
        months = "".join(f"- {line}" for lines in facts.values() for line in lines)
        files["timeline/2026-03.md"] = f"# Timeline\n\n{months}".encode()
        files["index.md"] = "".join(f"- [{path}]({path})\n" for path in facts).encode()
        yield evening.day, files
