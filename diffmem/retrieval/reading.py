"""The reading task for the agent: what it is told, what it is shown as already done, and how its plan is read."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from diffmem.agent import Task, calls_already_made, prompt
from diffmem.limits import Deadline
from diffmem.model import Message
from diffmem.plan import PLAN_SCHEMA, Plan, Pointer, parse_plan, parse_plan_lines
from diffmem.repository import Snapshot
from diffmem.shell import Tool

MANIFEST_COMMAND = "cat index.md"
PROBE_COMMAND = "git log -40 --date=short --format='%h %ad %s' --name-only -- memories profile.md"

_MENTIONED_FILES = 5
_CONVERSATION_CHARS = 24_000
# What is the same in every request stands first, then what is the same for one user: providers cache prefixes.
_BEGIN = "Read the manifest and probe the log. The conversation follows."
_PATH = re.compile(r"(?:memories|timeline|sessions)/[^\s'\"|;&:()\[\]<>]+?\.md|profile\.md")


def mentioned_pointers(seen: Sequence[tuple[str, str]], paths: Sequence[str]) -> tuple[Pointer, ...]:
    """Pointers to the files that an agent's commands and their outputs named most, for a plan that it never wrote."""
    existing = set(paths)
    counts: Counter[str] = Counter()
    for command, output in seen:
        counts.update(path for path in _PATH.findall(command) if path in existing)
        counts.update(set(_PATH.findall(output)) & existing)
    ranked = sorted(counts, key=lambda path: (-counts[path], path))[:_MENTIONED_FILES]
    return tuple(Pointer("file", path, reason="the agent was reading this when it stopped") for path in ranked)


def reading_task(
    snapshot: Snapshot,
    conversation: Sequence[tuple[str, str]],
    asked_at: datetime,
    max_tokens: int,
    tool: Tool,
    deadline: Deadline,
) -> Task[Plan]:
    """The task whose answer is a plan for `conversation`; the manifest and the temporal probe are run here, by code.

    Raises:
        DeadlineExceeded: there was no time for the two.
        ToolUnavailable: the tool is refused.
    """
    # Raw: the tool's own marks are random, and what is the same for one user must be the same bytes.
    shown = [
        (command, tool.run(command, snapshot.checkout, deadline, raw=True).output)
        for command in (MANIFEST_COMMAND, PROBE_COMMAND)
    ]
    deadline.check("the manifest and the temporal probe")
    return Task(
        system=prompt("context_system"),
        plain=prompt("context_plain"),
        opening=(
            Message("user", _BEGIN),
            *calls_already_made(shown),
            Message("user", _question(snapshot, conversation, asked_at, max_tokens)),
        ),
        schema_name="retrieval_plan",
        schema=PLAN_SCHEMA,
        parse=parse_plan,
        parse_lines=parse_plan_lines,
        takes_partial=True,
    )


def _question(snapshot: Snapshot, conversation: Sequence[tuple[str, str]], asked_at: datetime, max_tokens: int) -> str:
    said = "\n\n".join(f"{role}: {content}" for role, content in conversation)
    if len(said) > _CONVERSATION_CHARS:
        said = "[the beginning is left out]\n" + said[-_CONVERSATION_CHARS:]
    facts = f"Asked on {asked_at:%A, %Y-%m-%d %H:%M %Z}. Memory has {snapshot.commit_count} commits. "
    return f"{facts}The context may take {max_tokens} tokens.\n\nThe conversation:\n\n{said}"
