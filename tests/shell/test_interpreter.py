"""The interpreter: what runs, what is refused, what is bounded, and what is left afterwards."""

import os
import resource
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.errors import ToolUnavailable
from diffmem.git import Checkout
from diffmem.limits import Deadline, Limits
from diffmem.shell import Tool, ToolResult, arithmetic
from diffmem.shell.patterns import Pattern
from diffmem.shell.policy import binaries
from diffmem.shell.sandbox import Sandbox
from diffmem.shell.stops import ExpansionError
from tests.support.attacks import left_running
from tests.support.shells import run_raw

needs_awk = pytest.mark.skipif(binaries.find("gawk") is None, reason="gawk is not installed")
SPIN = "seq 1 99999999999 >/dev/null"


@pytest.fixture(scope="module")
def hasty() -> Iterator[Tool]:
    """A tool with little patience."""
    tool = Tool("prefer", Limits(tool_call_seconds=1.5, tool_pipeline_seconds=0.5))
    yield tool
    tool.close()


def lines(command: str, checkout: Checkout, tool: Tool) -> list[str]:
    return run_raw(command, checkout, tool).output.splitlines()


def test_variables_start_empty(checkout: Checkout, tool: Tool) -> None:
    names = ("PATH", "HOME", "PWD", "CANARY_KEY", "GIT_DIR", "SHELL", "USER", "OLDPWD", "RANDOM", "PPID")
    command = "".join(f'echo "[${name}]"; ' for name in names)
    assert lines(command, checkout, tool) == ["[]"] * len(names)


@needs_awk
def test_a_program_sees_no_environment_but_its_own(checkout: Checkout, tool: Tool) -> None:
    names = lines("awk 'BEGIN { for (name in ENVIRON) print name }' | grep -v ^AWK | sort", checkout, tool)
    assert names == ["HOME", "LC_ALL", "PATH", "TZ"]


def test_places_are_named_from_the_root_of_memory(checkout: Checkout, tool: Tool) -> None:
    result = run_raw("pwd; cd memories/people; pwd; cd -; pwd; cd -; cd; cat $(pwd)/index.md | wc -l", checkout, tool)
    *places, count = result.output.splitlines()
    assert places == [".", "./memories/people", ".", ".", "./memories/people"]
    assert int(count) > 0


def test_a_refusal_does_not_stop_the_commands_after_it_unless_and_does(checkout: Checkout, tool: Tool) -> None:
    result = run_raw("touch x; echo a; touch y && echo b; touch z || echo c", checkout, tool)
    assert result.output == "a\nc\n"
    assert result.refused
    assert result.exit_code == 0
    assert len(result.refusals) == 3


def test_a_refusal_alone_exits_with_126(checkout: Checkout, tool: Tool) -> None:
    result = run_raw("rg foo", checkout, tool)
    assert (result.exit_code, result.refused, result.output) == (126, True, "")


def test_a_refused_stage_of_a_pipeline_is_said_although_the_pipeline_succeeds(checkout: Checkout, tool: Tool) -> None:
    result = run_raw("cat index.md | tee copy | wc -l", checkout, tool)
    assert result.exit_code == 0
    assert any("tee" in refusal for refusal in result.refusals)


@pytest.mark.parametrize(
    "command",
    [
        "echo ../secret.txt | xargs cat",
        "printf '%s\\0' /etc/passwd | xargs -0 cat",
        "echo x | xargs -I{} cat /etc/{}",
        "echo -o x | xargs sort index.md",
        "echo touch | xargs -I{} {} x",
        "echo index.md | xargs git log --output=x",
        "echo x | xargs xargs touch",
        "ls | xargs -n1 sh",
        "p=/etc/passwd; cat $p",
        "cat $(echo /etc/passwd)",
        "for f in /etc/passwd; do cat $f; done",
        "echo /etc/passwd | while read -r f; do cat $f; done",
        "cat < /etc/passwd",
        "while read -r l; do echo $l; done < ../secret.txt",
        "cat {/etc/passwd,index.md}",
        "c=touch; $c x",
        "cd .. && ls",
        "cd / ; ls",
        "test -e /etc/passwd && echo yes",
    ],
)
def test_the_policy_sees_the_final_words(command: str, checkout: Checkout, bare_tool: Tool) -> None:
    result = run_raw(command, checkout, bare_tool)
    assert result.refused
    assert "root:" not in result.output
    assert "yes" not in result.output.split()


def test_a_glob_never_leaves_the_tree_nor_becomes_an_option(checkout: Checkout, bare_tool: Tool) -> None:
    outside = ("/etc/*", "../*", "memories/../../*", "/e*/passwd", "memories/*/../../../secret*")
    for pattern in outside:
        assert lines(f"echo {pattern}", checkout, bare_tool) == [pattern]
    assert lines("cd memories/names; echo -*", checkout, bare_tool) == ["-*"]
    assert all(
        name.startswith("./-") for name in lines("for f in -*; do echo $f; done", checkout, bare_tool) if name != "-*"
    )


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("while :; do :; done", "at most 400 commands"),
        ("for i in $(seq 300); do echo $i; echo $i; done", "at most 400 commands"),
        ("while x=1; do y=2; done", "more than 10000 times"),
        ("seq 1000 | xargs -n1 echo", "at most 400 commands"),
        ("(((((((((((((echo a)))))))))))))", ""),
        ("echo a | (echo b | (echo c | (echo d | (echo e | (echo f | (echo g | cat))))))", "processes run at a time"),
    ],
)
def test_a_call_that_reaches_a_bound_ends_with_what_it_wrote(
    command: str, reason: str, checkout: Checkout, tool: Tool
) -> None:
    result = tool.run(command, checkout, Deadline(10))
    assert reason in result.output
    assert result.refused == bool(result.exit_code == 126)


@pytest.mark.parametrize(
    "command",
    [
        "echo {1..100000}",
        "echo {a..z}{a..z}{a..z}{a..z}",
        "cat $(seq 5000)",
        "x=$(seq 999999)",
        "a=xxxxxxxxxxxxxxxx; for i in $(seq 30); do a=$a$a || break; done; [ ${#a} -gt 1000000 ]",
        "printf '%1000d' 1",
        "echo $((1/0))",
        "x=$(seq 9000); echo ${x//*1*2*3/y} | tail -c 0; false",
    ],
)
def test_what_would_grow_without_bound_fails(command: str, checkout: Checkout, tool: Tool) -> None:
    assert run_raw(command, checkout, tool).exit_code != 0


@pytest.mark.parametrize(
    "command",
    [
        SPIN,
        f"({SPIN})",
        f"x=$({SPIN})",
        f"seq 1 99999999999 | ({SPIN} | cat)",
        f"echo a | {{ read x; ({SPIN}; echo b) | cat; }}",
        "seq 1 99999999999 | tail -1",
        "git log -p --all | sort | sort -R | sort -R | grep -c x; " + SPIN,
    ],
)
def test_a_pipeline_that_takes_too_long_is_ended_and_the_next_command_runs(
    command: str, checkout: Checkout, hasty: Tool
) -> None:
    result = hasty.run(f"{command}; echo after", checkout, Deadline(10))
    assert "took longer than 0.5 s" in result.output
    assert "after\n" in result.output
    assert left_running() == ()


def test_that_a_stage_was_ended_is_said_although_its_pipeline_succeeds(checkout: Checkout, tool: Tool) -> None:
    result = tool.run("sed ':a;ba' index.md | wc -l", checkout, Deadline(20))
    assert (result.exit_code, result.output.split()[0]) == (0, "0")
    assert "was ended before it was done" in result.output


def test_a_call_never_passes_its_deadline(checkout: Checkout, tool: Tool) -> None:
    deadline = Deadline(1.0)
    result = tool.run(f"echo first; {SPIN}; echo third", checkout, deadline)
    assert not deadline.expired
    assert result.exit_code == 124
    assert "first\n" in result.output
    assert "3/3 not run" in result.output
    assert left_running() == ()


def test_a_call_without_time_does_not_start(checkout: Checkout, tool: Tool) -> None:
    result = tool.run("echo a", checkout, Deadline(0))
    assert (result.exit_code, result.refused) == (124, False)
    assert "out of time" in result.output


def test_a_loop_of_short_pipelines_ends_with_the_call(checkout: Checkout, hasty: Tool) -> None:
    result = hasty.run(
        f"for i in 1 2 3 4 5 6; do {SPIN[:-11]} | head -c 300000000 | wc -c; done", checkout, Deadline(10)
    )
    assert result.exit_code != 0
    assert left_running() == ()


def test_endless_output_costs_the_server_nothing(checkout: Checkout, tool: Tool) -> None:
    tool.run("ls", checkout, Deadline(10))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = tool.run("head -c 300000000 /dev/null; seq 1 999999999; echo after", checkout, Deadline(15))
    assert "wrote more than 16 MB" in result.output
    assert "after\n" in result.output
    assert len(result.output) < 30_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


@needs_awk
def test_memory_is_bounded_and_the_next_command_runs(checkout: Checkout, tool: Tool) -> None:
    result = tool.run("awk 'BEGIN { while (1) s = s s \"xxxxxxxxxxxxxxxx\" }'; echo after", checkout, Deadline(10))
    assert "memory" in result.output or "stopped" in result.output
    assert "after\n" in result.output


def test_calls_from_many_threads_do_not_mix(checkout: Checkout, tool: Tool) -> None:
    def call(number: int) -> bool:
        return run_raw(f"x={number}; echo $x | cat; echo $x", checkout, tool).output == f"{number}\n{number}\n"

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(40)))


def test_nothing_runs_before_the_first_call_nor_after_close(checkout: Checkout) -> None:
    threads, children = threading.active_count(), set(left_running(with_zygotes=True))
    tool = Tool("prefer")
    assert set(left_running(with_zygotes=True)) == children
    tool.run("ls", checkout, Deadline(10))
    tool.close()
    assert set(left_running(with_zygotes=True)) == children
    assert threading.active_count() == threads


def test_a_tool_that_requires_a_sandbox_does_not_run_without_one(checkout: Checkout) -> None:
    tool = Tool("require", sandbox=Sandbox("require", layers=("rlimits",)))
    assert not tool.status().usable
    with pytest.raises(ToolUnavailable):
        tool.run("ls", checkout, Deadline(10))
    tool.close()


def test_a_syntax_error_needs_no_sandbox(checkout: Checkout) -> None:
    tool = Tool("require", sandbox=Sandbox("require", layers=("rlimits",)))
    assert tool.run("cat 'index.md", checkout, Deadline(10)).exit_code == 126
    tool.close()


def test_a_tool_works_in_a_process_that_was_forked_after_it_was_made(checkout: Checkout) -> None:
    tool = Tool("prefer")
    tool.run("ls", checkout, Deadline(10))
    pid = os.fork()
    if pid == 0:
        result: ToolResult | None = None
        try:
            result = tool.run("echo child", checkout, Deadline(10), raw=True)
            tool.close()
        finally:
            os._exit(0 if result is not None and result.output == "child\n" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert run_raw("echo parent", checkout, tool).output == "parent\n"
    tool.close()


def test_raw_output_is_the_first_bytes_of_standard_output_alone(checkout: Checkout, tool: Tool) -> None:
    result = tool.run("echo out; ls nosuch; seq 1000", checkout, Deadline(10), raw=True, max_output_bytes=10)
    assert result.output == "out\n1\n2\n3\n"
    assert result.truncated
    assert result.exit_code == 0


def test_text_larger_than_a_pipe_reaches_a_command(checkout: Checkout, tool: Tool) -> None:
    command = """x=$(head -c 300000 memories/big.md)
        cat <<< "$x" | wc -c
        wc -c <<< "$x"
        while read -r line; do echo "$line"; break; done <<< "$x"
        head -1 <<< "$x" | wc -l"""
    assert lines(command, checkout, tool) == ["300001", "300001", "0 line of text number 0", "1"]


@settings(max_examples=200, deadline=None)
@given(expression=st.text("0123456789+-*/%<>=!~&|^?:(), abx", max_size=40))
def test_any_arithmetic_is_64_bits_or_an_error(expression: str) -> None:
    variables = {"a": "7", "b": "a*2"}
    try:
        value = arithmetic.evaluate(expression, variables)
    except ExpansionError:
        return
    assert -(1 << 63) <= value < 1 << 63


@pytest.mark.parametrize(
    "expression",
    [
        "1<<9999999999",
        "2**9999999999",
        "9**9**9**9",
        "(" * 500 + "1" + ")" * 500,
        "1+" * 900 + "1",
        "x",
        "-" * 200 + "1",
    ],
)
def test_arithmetic_costs_nothing_whatever_it_says(expression: str) -> None:
    variables = {"x": "x+1"}
    try:
        arithmetic.evaluate(expression, variables)
    except ExpansionError as error:
        assert len(str(error)) < 2_000


@pytest.mark.parametrize("pattern", ["*a*a*a*a*a*a*b", "?" * 200 + "b", "[a-z]*[a-z]*[a-z]*!", "*" * 900])
def test_a_pattern_takes_linear_time(pattern: str) -> None:
    text = "a" * 100_000
    assert Pattern.of([(pattern, False)]).matches(text) == (pattern.strip("*") == "")
