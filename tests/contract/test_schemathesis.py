"""schemathesis against the live function: whatever /openapi.json lets a caller send has an answer that it describes.

What a schema says too little of (an IANA zone, a time that git can record, a path that is safe) is refused with 400 or
422 although the schema allows it, so `positive_data_acceptance` is not asked for. 503 is an answer too: the contract
lets a caller say that 50 ms are all the time there is.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from diffmem.demo.server import serving

ROOT = Path(__file__).parent.parent.parent
KEY = "0123456789abcdef0123"
CONFIG = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "503"]
"""
OPTIONS = {
    "--phases": "examples,coverage,fuzzing",
    "--max-examples": "3",
    "--exclude-checks": "positive_data_acceptance",
    "--workers": "1",  # CPython 3.11's parser, which hypothesis asks for the text of lambdas, is not safe in threads
    "--request-timeout": "20",
    "--header": f"Authorization: Bearer {KEY}",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def url(folder: Path) -> Iterator[str]:
    environment = {
        "DIFFMEM_STORE": f"file:{folder / 'bucket'}",
        "DIFFMEM_CACHE": str(folder / "cache"),
        "DIFFMEM_SANDBOX": "prefer",
        "DIFFMEM_AUTH": "key",
        "DIFFMEM_API_KEYS": f"tests:{KEY}:*",
        "OPENAI_API_KEY": "",
        "OPENAI_BASE_URL": "",
    }
    with serving(environment, folder / "log") as client:
        yield client.base_url


def test_every_answer_is_as_the_contract_says(url: str, folder: Path) -> None:
    (folder / "schemathesis.toml").write_text(CONFIG)
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json", "--generation-deterministic"]
    command += [part for option in OPTIONS.items() for part in option]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.support.schemathesis_hooks", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    generated = re.search(r"(\d+) generated", done.stdout)
    assert generated and int(generated[1]) > 500, done.stdout[-2000:]
    log = (folder / "log").read_text()
    assert '"status":500' not in log
    assert KEY not in log
