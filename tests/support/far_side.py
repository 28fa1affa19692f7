"""`python -m tests.support.far_side MODEL_SECONDS GET_SECONDS PUT_SECONDS`: bucket and model, in a process of its own.

It prints one line of JSON, `{"storage": URL, "model": URL}`, and ends with its standard input. What measures a server
shares no interpreter with what the server waits for.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.emulator import Emulator
from tests.support.fault_proxy import FaultProxy
from tests.support.provider import Provider, Received, Wire, plan, text

ROOT = Path(__file__).parent.parent.parent
BUCKET = "memory"
_SAID = re.compile(rb"walk number [0-9]+ to the clinic")


@dataclass(frozen=True, slots=True)
class FarSide:
    """Where a server finds its bucket and its model."""

    storage: str
    model: str

    @property
    def environment(self) -> dict[str, str]:
        """The variables that a server needs."""
        return {
            "DIFFMEM_STORE": f"gs://{BUCKET}",
            "STORAGE_EMULATOR_HOST": self.storage,
            "OPENAI_BASE_URL": self.model,
            "OPENAI_API_KEY": "none",
        }


@contextmanager
def far_side(model_seconds: float, get_seconds: float = 0.0, put_seconds: float = 0.0) -> Iterator[FarSide]:
    """A running one; its process has ended when the block does."""
    arguments = [str(seconds) for seconds in (model_seconds, get_seconds, put_seconds)]
    command = [sys.executable, "-m", "tests.support.far_side", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            yield FarSide(**json.loads(process.stdout.readline()))
        finally:
            process.stdin.close()


def answer(received: Received) -> Wire:
    """A plan without pointers to who reads; to who writes, the edit that what was said calls for."""
    if b"retrieval_plan" in received.raw:
        return plan(synthesis="as planned")
    said = _SAID.findall(received.raw)
    quote = said[-1].decode() if said else ""
    edit = {"op": "event", "date": "2026-03-02", "fact": f"Maya took {quote}.", "quote": quote}
    return text(json.dumps({"summary": "A walk", "edits": [edit] if said else []}))


def _main(model_seconds: float, get_seconds: float, put_seconds: float) -> None:
    def slowly(received: Received) -> Wire:
        return answer(received).but(wait=model_seconds)

    with (
        Emulator() as emulator,
        FaultProxy(emulator.url, get_seconds=get_seconds, put_seconds=put_seconds) as proxy,
        Provider([slowly]) as provider,
    ):
        emulator.create_bucket(BUCKET)
        print(json.dumps({"storage": proxy.url, "model": provider.base_url}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _main(*map(float, sys.argv[1:]))
