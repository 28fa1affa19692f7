"""Fixtures of the writer's tests."""

from pathlib import Path

import pytest

from tests.writer.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """An empty bucket, and one instance of the writer over it."""
    return World(tmp_path)
