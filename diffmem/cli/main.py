"""From arguments to an exit code: 0 fine, 1 failed, 2 the command line is wrong."""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence

from diffmem.cli.access import Failed, Misused, Place
from diffmem.cli.output import note
from diffmem.cli.parser import parsed

Command = Callable[[argparse.Namespace, Place], int]

_STOPPED = 130  # as a shell reports SIGINT
_DEFAULT_USER = "me"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code. Errors are one line on standard error."""
    options = parsed(arguments)
    user = options.user or os.environ.get("DIFFMEM_USER") or _DEFAULT_USER
    place = Place(user, options.url, options.key_file, options.store, os.environ)
    try:
        return _command(options.run)(options, place)
    except Misused as error:
        return _complain(str(error), 2)
    except Failed as error:
        return _complain(str(error), 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads any more: not even the last flush
        return 1
    except OSError as error:
        return _complain(str(error), 1)
    except KeyboardInterrupt:
        return _complain("stopped", _STOPPED)


def _command(run: str) -> Command:
    module, _, function = run.partition(":")
    command: Command = getattr(importlib.import_module(f"diffmem.cli.{module}"), function)
    return command


def _complain(message: str, code: int) -> int:
    note(f"diffmem: {message}")
    return code
