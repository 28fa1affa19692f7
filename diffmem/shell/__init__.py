"""The one tool that a model has: a read-only shell.

`Tool.run(command, checkout, deadline)`; see `tool`. The grammar is in `syntax`, what may run in `policy`, how it runs
in `worker` and `interpreter`, the confinement in `sandbox`.
"""

from diffmem.shell.refusals import Refusal
from diffmem.shell.sandbox import SandboxStatus
from diffmem.shell.tool import Tool, ToolResult

__all__ = ["Refusal", "SandboxStatus", "Tool", "ToolResult"]
