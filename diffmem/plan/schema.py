"""The JSON schema of a plan, for providers that enforce one.

It keeps to the rules of OpenAI's structured outputs: every object closed, every property required, what may be absent
nullable, no keyword beyond the supported ones. `parse_plan` asks for much less than this.
"""

from typing import Any, get_args

from diffmem.plan.types import PointerType, Priority


def _nullable(kind: str, description: str) -> dict[str, Any]:
    return {"type": [kind, "null"], "description": description}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_POINTER = _closed(
    {
        "type": {"type": "string", "enum": list(get_args(PointerType))},
        "path": _nullable("string", "relative to the root of memory; null for command"),
        "line_start": _nullable("integer", "file_section: first line, from 1"),
        "line_end": _nullable("integer", "file_section: last line, included"),
        "since": _nullable("string", "git_diff: the revision or day (2024-03-05) to compare with"),
        "max_count": _nullable("integer", "git_log: how many commits"),
        "rev": _nullable("string", "git_show: the revision or day of the file to show"),
        "command": _nullable("string", "command: what to run, under the tool's rules"),
        "priority": {"type": "string", "enum": list(get_args(Priority))},
        "est_tokens": _nullable("integer", "a guess"),
        "reason": {"type": "string", "description": "a few words: what it is for"},
    }
)

PLAN_SCHEMA: dict[str, Any] = _closed(
    {
        "pointers": {"type": "array", "items": _POINTER, "description": "most important first"},
        "synthesis": {"type": "string", "description": "one or two sentences: what memory says about the conversation"},
        "entities": {"type": "array", "items": {"type": "string"}, "description": "names of the entities concerned"},
    }
)
