"""What a model is shown: the outputs of a chain apart, within bounds, cleaned, with hints beside them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.git import Checkout
from diffmem.limits import Deadline
from diffmem.shell import Tool
from diffmem.shell.capture import LINE_CHARACTERS, Capture
from diffmem.shell.cleaning import clean
from diffmem.shell.output import UnitOutput, shape

CHAIN = "head -1 index.md; ls nosuch 2>&1; touch x; true && echo 'a  b'; false && echo never"


def show(command: str, checkout: Checkout, tool: Tool) -> str:
    """The output, with the call's token replaced by T."""
    text = tool.run(command, checkout, Deadline(10)).output
    return re.sub(r"^#[0-9a-f]{6}\b", "#T", text, flags=re.MULTILINE)


def unit(data: bytes, max_bytes: int = 24_000, status: int = 0) -> UnitOutput:
    capture = Capture(max_bytes, raw=False)
    capture.feed(data)
    taken = capture.result()
    return UnitOutput(
        status, taken.head, taken.tail, taken.between_bytes, taken.between_lines, taken.cuts_lines, (), (), None
    )


def test_a_single_command_needs_no_dressing(checkout: Checkout, tool: Tool) -> None:
    assert show("head -1 index.md", checkout, tool) == "# Index"
    assert show("true", checkout, tool) == "#T exit 0 (no output)"
    assert show("grep -c nosuch index.md", checkout, tool) == "0\n#T exit 1"


def test_each_command_of_a_chain_has_its_header_its_output_and_its_end(checkout: Checkout, tool: Tool) -> None:
    assert show(CHAIN, checkout, tool).splitlines() == [
        "#T 1/7 $ head -1 index.md",
        "# Index",
        "#T 1/7 exit 0",
        "#T 2/7 $ ls nosuch 2>&1",
        "ls: cannot access 'nosuch': No such file or directory",
        "#T 2/7 exit 2",
        "#T 3/7 $ touch x",
        "#T 3/7 refused: touch: not available; memory is read-only here",
        "#T 4/7 $ true",
        "#T 4/7 exit 0 (no output)",
        "#T 5/7 $ echo 'a  b'",
        "a  b",
        "#T 5/7 exit 0",
        "#T 6/7 $ false",
        "#T 6/7 exit 1 (no output)",
        "#T 7/7 $ echo never",
        "#T 7/7 not run",
    ]


def test_a_file_cannot_foretell_the_headers(checkout: Checkout, tool: Tool) -> None:
    tokens = {tool.run("true", checkout, Deadline(10)).output.split()[0] for _ in range(5)}
    assert len(tokens) == 5


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ('grep "tea|coffee" memories/people/wife.md', "'|' is an ordinary character in a basic pattern: grep -E"),
        ("grep '[0-9]+ fact' memories/people/wife.md", "'+' is an ordinary character"),
        (r"grep -E '\d+ fact' memories/people/wife.md", "grep -P"),
        ("git grep 'tea|coffee'", "git grep -E"),
        ("git show HEAD~50", "the history has 13 commits: the oldest is HEAD~12"),
        ("git diff HEAD~20 HEAD", "the history has 13 commits: the oldest is HEAD~12"),
        ("cat Memories/People/WIFE.md", "the nearest: memories/people/wife.md"),
        ("head -3 wife.md", "the nearest: memories/people/wife.md"),
        ("cat memories/people/wfie.md", "the nearest: memories/people/wife.md"),
        ("cat memories/people/wife", "the nearest: memories/people/wife.md"),
        ("cd memories; cat people/../garden.md", "the nearest: topics/garden.md"),
        ("cd memories/peple", "the nearest: memories/people"),
        ("git log --oneline -- wife.md", "the nearest: memories/people/wife.md"),
        ("git show HEAD:wife.md", "the nearest: memories/people/wife.md"),
        ("cat nosuch/wife.md | head -3", "the nearest: memories/people/wife.md"),
        ("for f in wife garden; do cat people/$f.md; done", "the nearest: memories/people/wife.md"),
    ],
)
def test_a_well_meant_mistake_gets_a_hint_beside_the_true_output(
    command: str, hint: str, checkout: Checkout, tool: Tool
) -> None:
    assert hint in show(command, checkout, tool)


@pytest.mark.parametrize(
    "command",
    ["grep 'tea|coffee' index.md >/dev/null || grep -c Anna index.md", "cat index.md", "grep -E 'x|y' index.md",
     "git log -1", "ls mem*",
     "find . -name nosuch.md", "git log -- index.md", "cat nosuchatall.xyz"],
)  # fmt: skip
def test_what_is_no_mistake_gets_no_misleading_hint(command: str, checkout: Checkout, tool: Tool) -> None:
    assert "the nearest" not in show(command, checkout, tool)


@pytest.mark.parametrize(
    ("command", "lesson"),
    [
        ("rg tea", "grep -rn"),
        ("gerp tea index.md", "grep"),
        ("cat index.md > copy", "read-only"),
        ("python3 -c 1", "no other program"),
        ("sort --revers index.md", "'--reverse'"),
        ("git lgo", "git log"),
        ("cat 'index.md", "' may not be closed"),
    ],
)
def test_a_refusal_teaches(command: str, lesson: str, checkout: Checkout, tool: Tool) -> None:
    result = tool.run(command, checkout, Deadline(10))
    assert result.refused
    assert lesson in result.output


def test_a_long_output_shows_its_head_and_its_tail_and_counts_the_rest(checkout: Checkout, tool: Tool) -> None:
    text = show("cat memories/big.md", checkout, tool)
    assert text.startswith("0 line of text number 0\n")
    assert text.endswith("number 59999")
    left_out = re.search(r"^#T … (\d+) lines, (\d+) bytes left out …$", text, re.MULTILINE)
    assert left_out
    shown = text.replace(left_out[0] + "\n", "")
    assert shown.count("\n") + 1 + int(left_out[1]) == 60_000
    assert 20_000 < len(text) < 25_000


def test_a_chain_shares_the_room_fairly(checkout: Checkout, tool: Tool) -> None:
    text = show("cat memories/big.md; head -3 index.md; cat memories/big.md; wc -l index.md", checkout, tool)
    assert "# Index\n" in text
    assert "5 index.md" in text
    assert text.count("left out") == 2
    assert text.count("number 59999") == 2
    assert len(text) < 26_000


def test_a_long_line_is_cut(checkout: Checkout, tool: Tool) -> None:
    result = tool.run("cat memories/longline.md; cat memories/longline.md | head -c 30000", checkout, Deadline(10))
    assert max(map(len, result.output.splitlines())) < LINE_CHARACTERS + 40
    assert "[+4998000 characters]" in result.output
    assert result.truncated


def test_nothing_that_a_terminal_acts_on_or_that_hides_text_is_shown(checkout: Checkout, tool: Tool) -> None:
    assert show("cat memories/ansi.md", checkout, tool) == "plain red link evil"
    text = show("cat memories/nul.bin; find memories/names -print0; git log -2 -z --format=%s", checkout, tool)
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert "␀" in text


@given(text=st.text(st.characters(codec="utf-8"), max_size=200))
def test_cleaning_leaves_no_control_character(text: str) -> None:
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", clean(text))


@settings(max_examples=200)
@given(
    chunks=st.lists(st.binary(max_size=400) | st.sampled_from([b"\n", b"x" * 3000, "é".encode() * 2500]), max_size=12),
    max_bytes=st.integers(1, 6000),
)
def test_a_capture_accounts_for_every_byte(chunks: list[bytes], max_bytes: int) -> None:
    whole = b"".join(chunks)
    capture = Capture(max_bytes, raw=True)
    for chunk in chunks:
        capture.feed(chunk)
    taken = capture.result()
    assert taken.head == whole[:max_bytes]
    assert taken.between_bytes == len(whole) - len(taken.head)
    assert taken.between_lines == whole[max_bytes:].count(b"\n")


@settings(max_examples=200)
@given(
    chunks=st.lists(st.binary(max_size=400) | st.sampled_from([b"\n", b"x" * 3000]), max_size=12),
    max_bytes=st.integers(30, 6000),
)
def test_a_capture_is_the_same_however_the_output_comes(chunks: list[bytes], max_bytes: int) -> None:
    whole = Capture(max_bytes, raw=False)
    whole.feed(b"".join(chunks))
    pieces = Capture(max_bytes, raw=False)
    for chunk in chunks:
        pieces.feed(chunk)
    assert pieces.result() == whole.result()


@settings(max_examples=100)
@given(sizes=st.lists(st.integers(0, 40_000), min_size=1, max_size=8))
def test_what_is_shown_of_all_outputs_has_a_bound(sizes: list[int]) -> None:
    units = [unit(b"line of text\n" * (size // 13)) for size in sizes]
    shaped = shape(["command"] * len(units), units, None, "abcdef", 24_000)
    assert len(shaped.text) < 24_000 + 150 * len(units)
    assert shaped.truncated == (sum(size // 13 * 13 for size in sizes) > 24_000)


@pytest.mark.parametrize(
    "command", ["a=;" * 6_000, "x;" * 5_000, f"({'x;' * 8}x);" * 400, "echo '" + "é" * 50 + "';" * 3]
)
def test_headers_refusals_and_hints_have_a_bound_too(command: str, checkout: Checkout, tool: Tool) -> None:
    result = tool.run(command, checkout, Deadline(20))
    assert len(result.output.encode()) < 50_000
    assert result.truncated == ("bytes left out" in result.output)


def test_of_too_long_a_chain_the_beginning_and_the_end_are_shown(checkout: Checkout, tool: Tool) -> None:
    shown = show("a=;" * 5_000 + "echo é", checkout, tool).splitlines()
    assert shown[:2] == ["#T 1/5001 $ a=", "#T 1/5001 exit 0 (no output)"]
    assert shown[-2:] == ["é", "#T 5001/5001 exit 0"]
    assert re.fullmatch(r"#T … \d+ lines, \d+ bytes left out …", next(line for line in shown if "left out" in line))


def test_short_outputs_are_whole_beside_a_long_one() -> None:
    units = [unit(b"a\n" * 50_000), unit(b"short\n"), unit(b"b\n" * 50_000)]
    text = shape(["x", "y", "z"], units, "out of time", "abcdef", 3_000).text
    assert "\nshort\n" in text
    assert text.endswith("#abcdef stopped: out of time")
    assert 0.8 < text.count("a\n") / text.count("b\n") < 1.25
