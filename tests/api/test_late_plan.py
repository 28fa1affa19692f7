"""What becomes of a model's answer that cannot be followed."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from diffmem.limits import Deadline
from diffmem.model import Message
from diffmem.retrieval import Question, retrieve
from diffmem.shell import Tool
from tests.support.memories import Memory
from tests.support.planning import NOW
from tests.support.scripted_model import ScriptedModel

PROFILE = {"pointers": [{"type": "file", "path": "profile.md", "priority": "must_include", "reason": "who"}]}


def test_a_plan_that_comes_too_late_to_be_followed_was_not_wrong(tmp_path: Path) -> None:
    seconds = [0.0]
    memory = Memory(tmp_path)
    memory.write({"profile.md": b"# Alex\n"})
    deadline = Deadline(20, lambda: seconds[0])

    def late(_: Sequence[Message]) -> str:
        seconds[0] = 21.0
        return json.dumps(PROFILE)

    with memory.open(deadline=deadline) as snapshot, closing(Tool("prefer")) as tool:
        found = retrieve(
            snapshot,
            Question([("user", "Who am I?")], NOW, 1000),
            tool=tool,
            model=ScriptedModel([late]),
            planner="auto",
            deadline=deadline,
        )
    assert (found.used, found.stop_reason, found.degraded) == ("offline", "deadline", True)
