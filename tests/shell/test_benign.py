"""Commands as agents write them: output and exit code are bash's own, byte for byte, with and without the OS layer."""

import pytest
from hypothesis import HealthCheck, given, settings

from diffmem.git import Checkout
from diffmem.shell import Tool
from tests.support.checkouts import OWNER_IS_NAMELESS
from tests.support.shell_commands import scripts
from tests.support.shells import AWK_IS_GAWK, BASH, commands, in_bash, in_tool, run_raw

BENIGN = commands("benign.jsonl")
LIKE_BASH = commands("like_bash.jsonl")

pytestmark = pytest.mark.skipif(BASH is None, reason="bash is not installed")


def _needs(command: str) -> None:
    if "awk" in command and not AWK_IS_GAWK:
        pytest.skip("awk is not gawk here, and the tool runs no other")


@pytest.mark.parametrize("identity", BENIGN)
def test_a_benign_command_gives_what_bash_gives(identity: str, checkout: Checkout, tool: Tool) -> None:
    _needs(BENIGN[identity])
    if "ls -l" in BENIGN[identity] and not OWNER_IS_NAMELESS:
        pytest.skip("a confined ls cannot look up the names of accounts, and the files here belong to one with a name")
    assert in_tool(BENIGN[identity], checkout, tool) == in_bash(BENIGN[identity], checkout)


@pytest.mark.parametrize("identity", BENIGN)
def test_a_benign_command_needs_no_sandbox(identity: str, checkout: Checkout, bare_tool: Tool) -> None:
    _needs(BENIGN[identity])
    assert in_tool(BENIGN[identity], checkout, bare_tool) == in_bash(BENIGN[identity], checkout)


@pytest.mark.parametrize("identity", LIKE_BASH)
def test_the_grammar_means_what_it_means_in_bash(identity: str, checkout: Checkout, bare_tool: Tool) -> None:
    _needs(LIKE_BASH[identity])
    assert in_tool(LIKE_BASH[identity], checkout, bare_tool) == in_bash(LIKE_BASH[identity], checkout)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=scripts())
def test_a_script_that_is_not_refused_means_what_it_means_in_bash(
    script: str, checkout: Checkout, bare_tool: Tool
) -> None:
    result = run_raw(script, checkout, bare_tool)
    if not result.refused:
        assert (result.output, result.exit_code) == _pair(script, checkout)


def _pair(script: str, checkout: Checkout) -> tuple[str, int]:
    ended = in_bash(script, checkout)
    return ended.output, ended.exit_code
