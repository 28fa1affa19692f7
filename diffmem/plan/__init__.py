"""A retrieval plan: pointers into memory, as data. The types, and how an untrusted answer becomes one.

    {"pointers": [{"type": "file_section", "path": "memories/people/maya.md", "line_start": 12, "line_end": 40,
                   "priority": "must_include", "est_tokens": 300, "reason": "her job"}],
     "synthesis": "Maya changed jobs in March.", "entities": ["maya"]}

*Covered*: what a plan looks like, in JSON (`parse_plan`) and one pointer a line (`parse_plan_lines`). *Not covered*:
whether its paths and revisions exist and its commands are allowed; `diffmem.context` asks the repository.
"""

from diffmem.plan.lines import parse_plan_lines
from diffmem.plan.parse import MAX_POINTERS, parse_plan
from diffmem.plan.schema import PLAN_SCHEMA
from diffmem.plan.types import Plan, Pointer, PointerType, Priority, Rejected

__all__ = [
    "MAX_POINTERS",
    "PLAN_SCHEMA",
    "Plan",
    "Pointer",
    "PointerType",
    "Priority",
    "Rejected",
    "parse_plan",
    "parse_plan_lines",
]
