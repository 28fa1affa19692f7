"""The attack corpus three ways, judged by outcome: all layers, the policy alone, the OS layer alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from diffmem.git import Checkout
from diffmem.limits import Deadline
from diffmem.shell import Tool
from diffmem.shell.sandbox import Sandbox
from tests.support import attacks
from tests.support.attacks import Attack, Batch

ATTACKS = attacks.corpus()
IDS = [attack.id for attack in ATTACKS]
PERMISSIVE = Path(attacks.__file__).with_name("permissive_worker.py")
TELLS_OF_THE_MACHINE = {
    "[ -e /etc/passwd ] && echo yes": "yes",
    "stat -c %s {root}/secret.txt": "36",
    "git rev-parse --show-toplevel": "{root}/checkout",
}
"""What the OS layer alone lets out: Landlock (ABI 1 to 7) does not restrict stat(2), and git knows its paths."""


@pytest.fixture(scope="module")
def checkouts(checkout: Checkout, evil_checkout: Checkout) -> dict[str, Checkout]:
    return {"memory": checkout, "evil": evil_checkout}


@pytest.fixture(scope="module")
def all_layers(root: Path, checkouts: dict[str, Checkout]) -> Iterator[Batch]:
    tool = Tool("prefer", attacks.LIMITS)
    yield attacks.run(tool, root, checkouts)
    tool.close()


@pytest.fixture(scope="module")
def policy_alone(root: Path, checkouts: dict[str, Checkout]) -> Iterator[Batch]:
    tool = Tool("off", attacks.LIMITS)
    yield attacks.run(tool, root, checkouts)
    tool.close()


@pytest.fixture(scope="module")
def unwatched() -> Iterator[Tool]:
    """A tool whose policy admits everything."""
    sandbox = Sandbox("prefer", worker=PERMISSIVE)
    status = sandbox.status()
    if not (status.landlock or status.jail):
        sandbox.close()
        pytest.skip(f"no OS sandbox here: {status.detail}")
    tool = Tool("prefer", attacks.LIMITS, sandbox=sandbox)
    yield tool
    tool.close()


@pytest.fixture(scope="module")
def sandbox_alone(unwatched: Tool, root: Path, checkouts: dict[str, Checkout]) -> Batch:
    return attacks.run(unwatched, root, checkouts)


@pytest.mark.parametrize("attack", ATTACKS, ids=IDS)
def test_an_attack_on_all_layers_has_no_effect(attack: Attack, all_layers: Batch) -> None:
    assert all_layers.bad_outcomes(attack) == []


@pytest.mark.parametrize("attack", ATTACKS, ids=IDS)
def test_an_attack_on_the_policy_alone_has_no_effect(attack: Attack, policy_alone: Batch) -> None:
    assert policy_alone.bad_outcomes(attack) == []


@pytest.mark.parametrize("attack", ATTACKS, ids=IDS)
def test_an_attack_on_the_sandbox_alone_has_no_effect(attack: Attack, sandbox_alone: Batch) -> None:
    assert sandbox_alone.bad_outcomes(attack) == []


@pytest.mark.parametrize("way", ["all_layers", "policy_alone", "sandbox_alone"])
def test_the_corpus_as_a_whole_leaves_nothing_behind(way: str, request: pytest.FixtureRequest) -> None:
    batch: Batch = request.getfixturevalue(way)
    assert batch.markers == frozenset()
    assert not batch.changed
    assert batch.left_running == ()
    assert batch.peak_bytes < attacks.MEMORY_BYTES


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("awk '$2 > 5 {print $1}' memories/big.md", "7919"),
        ("cat ./index.md", "# Index"),
        ("echo 'a;b|c&d>e'", "a;b|c&d>e"),
    ],
)
def test_what_only_looks_like_an_attack_works(command: str, line: str, checkout: Checkout, tool: Tool) -> None:
    result = tool.run(command, checkout, Deadline(10), raw=True)
    if "awk" in command and result.refused:
        pytest.skip("gawk is not installed")
    assert line in result.output.splitlines()


@pytest.mark.parametrize("command", TELLS_OF_THE_MACHINE)
def test_the_sandbox_alone_still_tells_of_the_machine(
    command: str, unwatched: Tool, root: Path, checkout: Checkout
) -> None:
    result = unwatched.run(command.format(root=root), checkout, Deadline(10), raw=True)
    assert result.output.strip() == TELLS_OF_THE_MACHINE[command].format(root=root)


@pytest.mark.parametrize("command", TELLS_OF_THE_MACHINE)
def test_the_policy_does_not_let_the_machine_be_asked(command: str, tool: Tool, root: Path, checkout: Checkout) -> None:
    result = tool.run(command.format(root=root), checkout, Deadline(10), raw=True)
    assert result.refused
    assert result.output == ""
