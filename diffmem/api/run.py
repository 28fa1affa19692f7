"""POST run: the agent's one tool, for other agents."""

from dataclasses import dataclass

from diffmem.api.application import Application
from diffmem.api.call import Answer, Call
from diffmem.api.requests import RunBody
from diffmem.errors import ToolUnavailable
from diffmem.git import Checkout
from diffmem.shell import ToolResult

REFUSED = 126


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """What the command printed, shaped for a model. A refusal is an answer whose text says what is allowed."""

    output: str
    exit_code: int
    refused: bool
    truncated: bool
    duration_ms: int


def post_run(app: Application, call: Call, user: str, body: RunBody) -> Answer:
    """Run one command line on the memory as it is, or as it was recorded at `as_of`."""
    watch = call.watch
    with watch.phase("hydrate"):
        snapshot = app.repositories.open(user, call.deadline, as_of=body.as_of)
    with snapshot, watch.phase("run"):
        result = _run(app, snapshot.checkout, body.command, call)
    answer = RunAnswer(result.output, result.exit_code, result.refused, result.truncated, result.duration_ms)
    log = {"exit_code": result.exit_code, "refused": result.refused, "refusals": len(result.refusals)}
    return Answer(200, answer, timings_ms=watch.milliseconds(), log=log)


def _run(app: Application, checkout: Checkout, command: str, call: Call) -> ToolResult:
    try:
        return app.tool.run(command, checkout, call.deadline)
    except ToolUnavailable as error:
        return ToolResult(output=str(error), exit_code=REFUSED, refused=True, truncated=False, duration_ms=0)
