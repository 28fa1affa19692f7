"""The model-tool loop: a model looks around with the one tool and answers, under a deadline.

Covers what models do instead of what they were asked. Knows nothing of plans, edits or repositories: a `Task` brings
them.
"""

from diffmem.agent.framing import framed
from diffmem.agent.investigate import investigate
from diffmem.agent.prompts import prompt
from diffmem.agent.task import RUN, Outcome, Run, StopReason, Task, calls_already_made

__all__ = ["RUN", "Outcome", "Run", "StopReason", "Task", "calls_already_made", "framed", "investigate", "prompt"]
