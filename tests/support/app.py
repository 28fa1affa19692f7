"""The function as its users see it: functions-framework's own application, and a client of it."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import functions_framework
import pytest
from werkzeug.test import Client, TestResponse

from diffmem.config import VARIABLES
from tests.support import contract

ROOT = Path(__file__).parent.parent.parent
LOOPBACK = {"REMOTE_ADDR": "127.0.0.1"}


class Function:
    """DiffMem over HTTP, without a socket; every call returns the response, once it is checked against the contract."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> TestResponse:
        """The response to a request with `body` as JSON, or with what `options` of Werkzeug's client say."""
        if body is not None:
            options["json"] = body
        response = self._client.open(path, method=method, environ_base=LOOPBACK, **options)
        contract.check(response, body)
        return response

    def get(self, path: str, **options: Any) -> TestResponse:
        """GET `path`."""
        return self.call("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> TestResponse:
        """POST `body` as JSON to `path`."""
        return self.call("POST", path, body, **options)

    def put(self, path: str, body: Any = None, **options: Any) -> TestResponse:
        """PUT `body` as JSON to `path`."""
        return self.call("PUT", path, body, **options)

    def delete(self, path: str, **options: Any) -> TestResponse:
        """DELETE `path`."""
        return self.call("DELETE", path, **options)


@contextmanager
def function(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[Function]:
    """The function, loaded from main.py as functions-framework does it, on a bucket in `folder`."""
    wanted = {
        "DIFFMEM_STORE": f"file:{folder / 'bucket'}",
        "DIFFMEM_CACHE": str(folder / "cache"),
        "DIFFMEM_SANDBOX": "prefer",
        **(environment or {}),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.delenv(name, raising=False)
        for name, value in wanted.items():
            patch.setenv(name, value)
        application = functions_framework.create_app(  # type: ignore[no-untyped-call]
            target="diffmem", source=str(ROOT / "main.py")
        )
    service = sys.modules["main"].service
    try:
        yield Function(application.test_client())
    finally:
        service.close()
