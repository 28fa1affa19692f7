"""What a fresh process does before its first answer: no more than that answer needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.provider import Provider, plan

ROOT = Path(__file__).parent.parent.parent
_FIRST_REQUEST = """
import json, sys, threading
import functions_framework
from werkzeug.test import Client

application = functions_framework.create_app(target="diffmem", source="main.py")
started = threading.active_count()
answer = application.test_client().post(
    "/v1/users/nobody/context", json=json.loads(sys.argv[1]), environ_base={"REMOTE_ADDR": "127.0.0.1"}
)
sys.modules["main"].service.close()
wanted = sys.argv[2].split()
print(json.dumps([answer.status_code, started, [name for name in wanted if name in sys.modules]]))
"""
DEFERRED = "openai google.cloud.storage google.auth diffmem.hooks diffmem.curation tree_sitter markdown_it cryptography"


def _first_request(folder: Path, body: object, names: str, **variables: str) -> list[object]:
    environment = {"PATH": "/usr/bin:/bin", "DIFFMEM_STORE": f"file:{folder}/b", "DIFFMEM_CACHE": f"{folder}/c"}
    done = subprocess.run(
        [sys.executable, "-c", _FIRST_REQUEST, json.dumps(body), names],
        cwd=ROOT,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[object] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("variables", [{}, {"OPENAI_API_KEY": "none"}], ids=["without a model", "with one"])
def test_a_read_without_a_model_imports_nothing_that_only_others_need(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    body = {"query": "x", "planner": "offline"}
    assert _first_request(tmp_path, body, DEFERRED, **variables) == [404, 1, []]


def test_a_read_with_a_model_has_its_client_made_while_it_reads(tmp_path: Path) -> None:
    """The user is unknown, so that nobody asks the model; the import had begun all the same."""
    with Provider([plan()]) as provider:
        found = _first_request(tmp_path, {"query": "x"}, "openai", OPENAI_BASE_URL=provider.base_url)
    assert found == [404, 1, ["openai"]]
