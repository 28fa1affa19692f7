"""serve: this process becomes the server, as functions-framework runs it in production."""

import argparse
import os
import sys
from pathlib import Path

from diffmem.cli.access import Misused, Place
from diffmem.cli.direct import translated
from diffmem.cli.output import note
from diffmem.config import Config
from diffmem.http.service import Service

_SOURCE = Path(__file__).parent.parent.parent / "main.py"


def serve(options: argparse.Namespace, place: Place) -> int:
    """Check the configuration, then turn into the server; this returns only where that fails."""
    if place.url:
        raise Misused("serve: --url is for the other commands")
    if not 0 < options.port < 65536:
        raise Misused(f"serve: --port must be from 1 to 65535, not {options.port}")
    with translated():
        config = Config.from_environment(place.configured())
        Service(config)  # refuses what the server would refuse to start with
    if not options.quiet:
        note(f"serving {config.store} at http://{options.host}:{options.port}; the page for it is at /docs")
    command = [sys.executable, "-m", "functions_framework", "--target", "diffmem", "--source", str(_SOURCE)]
    command += ["--host", options.host, "--port", str(options.port)]
    os.execve(sys.executable, command, {**place.configured()})
