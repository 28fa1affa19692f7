"""The reading task for the agent: what it is told, what it is shown as already done, and how its plan is read."""

import importlib.resources
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime

from diffmem.agent import Task, calls_already_made
from diffmem.limits import Deadline
from diffmem.model import Message
from diffmem.plan import PLAN_SCHEMA, Plan, Pointer, parse_plan, parse_plan_lines
from diffmem.repository import Snapshot

MANIFEST_COMMAND = "cat index.md"
PROBE_COMMAND = "git log -40 --date=short --format='%h %ad %s' --name-only -- memories profile.md"

_MENTIONED_FILES = 5
_CONVERSATION_CHARS = 24_000
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
