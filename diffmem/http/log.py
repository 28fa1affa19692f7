"""One structured line a request on standard output, as Cloud Logging reads it. It holds no content and no user id."""

import json
import sys
import traceback
from collections.abc import Mapping


def write(severity: str, message: str, fields: Mapping[str, object]) -> None:
    """Print one JSON line; `severity` is Cloud Logging's (INFO, WARNING, ERROR)."""
    print(json.dumps({"severity": severity, "message": message, **fields}, default=str), file=sys.stdout, flush=True)


def frames(error: BaseException) -> str:
    """Where `error` arose: its type and stack, without its message, which could quote a memory."""
    stack = "".join(traceback.format_tb(error.__traceback__))
    return f"{type(error).__name__}\n{stack}"
