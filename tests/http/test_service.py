"""What stops the start of the service."""

from pathlib import Path

import pytest

from diffmem.config import Config
from diffmem.errors import ConfigError
from diffmem.http.service import Service


def test_without_git_nothing_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a base image that has none: each request would fail, and `GET /health` would say that all is well."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="git is not installed"):
        Service(Config())
