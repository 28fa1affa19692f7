"""evals: hands over to `python -m diffmem.evals`."""

import argparse

from diffmem.cli.access import Place


def evals(options: argparse.Namespace, place: Place) -> int:
    """What `diffmem.evals` says to the arguments."""
    from diffmem.evals.__main__ import main

    return main(options.rest)
