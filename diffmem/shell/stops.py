"""What ends a command before its end, and the bounds of the interpreter itself. Every bound fails closed.

Standard library only: this module runs in the worker.
"""

REFUSED = 126
OUT_OF_TIME = 124
MISSING = 127
KILLED = 137
"""Statuses with a meaning of their own; the last three are also what timeout(1), bash and a SIGKILL give."""

MAX_COMMANDS = 400
MAX_CPU_SECONDS = 4.0
"""Of the shell itself; the limit of its process (`zygote_confine`) is above it."""
MAX_READ_BYTES = 16_000_000
MAX_PROCESSES = 12
MAX_WORDS = 4_000
MAX_TEXT = 1_000_000
MAX_VARIABLES = 500
MAX_VARIABLES_TEXT = 8_000_000
MAX_EVALUATIONS = 2_000
MAX_ITERATIONS = 10_000
MAX_VISITED = 20_000
MAX_PATTERN = 1_000
MAX_STEPS = 2_000_000


PIPELINE_MEMORY_BYTES = 768 * 1024 * 1024
"""What the stages of one pipeline may allocate together."""


class Stop(Exception):
    """A bound of the call is reached: nothing more is run. The text says which bound."""

    def __init__(self, reason: str, status: int = REFUSED) -> None:
        super().__init__(reason)
        self.status = status


class Interrupted(Exception):
    """A command ran too long or wrote too much: it is ended, and the commands after it still run."""

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status


class ExpansionError(Exception):
    """A word cannot be expanded: its command fails with status 1."""


class UnsetError(ExpansionError):
    """`${name:?text}` on nothing: its shell ends with status 127."""


class LoopExit(Exception):
    """`break` or `continue`, through `levels` loops."""

    def __init__(self, levels: int, again: bool) -> None:
        super().__init__()
        self.levels = levels
        self.again = again


class ShellExit(Exception):
    """`exit`: the call, or the subshell, ends with `status`."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status
