"""What the tests of the tool share: one fixture to read and to attack, its checkouts, and tools that outlive a test."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from diffmem.git import Checkout
from diffmem.shell import Tool
from tests.support.attack_fixture import build
from tests.support.boxes import WALLS, Box, Place, made_place, walled_box
from tests.support.checkouts import checkout_of, remove


@pytest.fixture(scope="session")
def root() -> Iterator[Path]:
    """The attack fixture, where other users reach it, since the worker may be one; the environment holds a secret."""
    folder = Path(tempfile.mkdtemp(prefix="diffmem-test-"))
    folder.chmod(0o755)
    build(folder)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("CANARY_KEY", "CANARY-ENVIRONMENT")
        yield folder
    remove(folder)


@pytest.fixture(scope="session")
def checkout(root: Path) -> Checkout:
    """The memory of the fixture, checked out."""
    return checkout_of(root / "repo", root / "checkout")


@pytest.fixture(scope="session")
def evil_checkout(root: Path) -> Checkout:
    """The same memory out of a repository whose `.git` is hostile."""
    return checkout_of(root / "evil_repo", root / "evil-checkout")


@pytest.fixture(scope="session")
def tool() -> Iterator[Tool]:
    """A tool with every layer that this host has."""
    with_everything = Tool("prefer")
    yield with_everything
    with_everything.close()


@pytest.fixture(scope="session")
def bare_tool() -> Iterator[Tool]:
    """A tool without the OS layer."""
    without_sandbox = Tool("off")
    yield without_sandbox
    without_sandbox.close()


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """Where a worker of the sandbox stands, and what it must not reach."""
    with made_place() as found:
        yield found


@pytest.fixture(scope="module", params=WALLS)
def box(request: pytest.FixtureRequest, place: Place) -> Iterator[Box]:
    """A worker behind each of the walls in turn."""
    with walled_box(request.param, place) as found:
        yield found
