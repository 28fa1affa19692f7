"""A retrieval task for tests of the loop, and a tool that tells what it was asked to run."""

from diffmem.agent import Task, calls_already_made
from diffmem.limits import Deadline
from diffmem.model import Message
from diffmem.plan import PLAN_SCHEMA, Plan, parse_plan, parse_plan_lines
from tests.support.behaviours import RAN

MANIFEST = "- [Maya](memories/people/maya.md): people; 12 facts"


def retrieval_task(question: str = "Is Maya well?", *, system: str = "Find what bears on it.") -> Task[Plan]:
    """The task of finding what bears on a question, the manifest shown as read."""
    return Task(
        system=system,
        opening=(Message("user", question), *calls_already_made([("cat index.md", MANIFEST)])),
        schema_name="retrieval_plan",
        schema=PLAN_SCHEMA,
        parse=parse_plan,
        parse_lines=parse_plan_lines,
        takes_partial=True,
    )


def run(command: str, deadline: Deadline) -> str:
    """The output of a tool that every command satisfies."""
    return f"{RAN} {command}"
