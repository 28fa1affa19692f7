"""Scripts of sed: what is admitted only edits, as sed itself judges, which says in its sandbox what it forbids."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.shell.policy import Refused, binaries
from diffmem.shell.policy.sed import check_script

SED = binaries.find("sed") or ""

EDITING = (
    "1,20p", "5p;10p", "$p", "$!d", "$=", "/^$/d", "s/tea/TEA/g", "s/a/b/2gI", "s|a|b|", "s,/,|,g", "s/a\\/b/c/",
    "/a/,/b/p", "/a/,+3p", "0~3d", "1~2p", "2,~4p", "0,/re/d", "/x/I,$d", "\\,a/b,d", "/a/{s/x/y/;p}",
    "/a/{\ns/x/y/\np\n}", "{p;p}", "n;d", "$!N;P;D", ":a;N;$!ba;s/\\n/ /g", ":a;s/x/y/;ta;p", "y/abc/xyz/", "y/[/(/",
    "a text", "1i\\  text", "a\\\ntwo\\\nlines", "$a\\", "c\\\ntext", "q", "q5", "l 3", "s/[^/]*$//", "s/[/]/x/",
    "s/[\\/]/x/", "/[/]/d", "s/[]/]*//", "s/[[:alpha:]]*/x/", "p # w file", "# w file", "s/w/e/", "s/x/w y/", "/w/p",
    "a w file", "y/we/ew/", "/re/!s/a/b/", "1!G;h;$!d", "s/\\(a\\)\\(b\\)/\\2\\1/", "x;z;g;G;H", "=", "b;p",
    "bend;p;:end", "",
)  # fmt: skip

REACHING = (
    "1w f", "1,3W f", "1e touch f", "e", "1r f", "R f", "F", "s/a/b/w f", "s/a/b/gw f", "s/a/b/e", "s/a/b/ge",
    "/x/{s/^/x/;w f\n}", "/a/w f", "$!w f", "1!{w f\n}", "\\,a,w f", ":a;w f", ":a w f", "b a;w f", "ba\nw f",
    "y/a/b/;w f", "p;w f", "p\nw f", "p}w f", "{p};w f", "a text\nw f", "a\\\ntext\nw f", "s/x/y/ ;w f", "s/x/y/ w f",
    "s/[/a/w x]/b/", "/[/p;w x]/d", "/[/w x]/d", "s/[/x/;w ]/y/", "#\nw f", "1,2{3w f\n}", "s/a/b/;s/c/d/w f",
    "/a/I w f", "0~4 w f", "l5;w f", "q;w f", "=;e ls", "a\\ \ntext\nw f", "s\na\nb\nw f", "w", "s/x/y/pw f",
    "s/a\\\nb/c/w f", "y/a/b/w f", "}w f", "v;w f", "L;w f", "/[^]/]w f", "s/[[.].]/x]/y/w f",
)  # fmt: skip


def _is_admitted(script: str) -> bool:
    try:
        check_script(script)
    except Refused:
        return False
    return True


def _run(script: str) -> str:
    """What sed says when it has read the script; it stops at the first line, since a script may loop for ever."""
    line = [SED, "--sandbox", "-n", "--", "1q;" + script]
    done = subprocess.run(line, input=b"a\n", capture_output=True, timeout=10)
    return done.stderr.decode(errors="replace")


@pytest.mark.parametrize("script", EDITING)
def test_a_script_that_edits_is_admitted_and_sed_takes_it(script: str) -> None:
    check_script(script)
    assert "disabled in sandbox mode" not in _run(script)


@pytest.mark.parametrize("script", REACHING)
def test_a_script_that_reads_writes_or_runs_is_refused(script: str) -> None:
    assert not _is_admitted(script)


PIECES = st.sampled_from(
    [
        "w",
        "e",
        "r",
        "s",
        "y",
        "/",
        "[",
        "]",
        "^",
        "\\",
        "\n",
        ";",
        "{",
        "}",
        "a",
        "i",
        "c",
        "p",
        "1",
        ",",
        "$",
        "!",
        " ",
        "#",
        ":",
        "b",
        "t",
        "x",
        "|",
        "I",
        "w f",
        "s/x/y/",
        "/x/",
        "[/]",
        "a\\\n",
        "+",
        "~",
        "-",
        "\t",
        "=",
        "&",
        "(",
        "e ls",
        "\\n",
        "q",
    ],
)


@settings(max_examples=400, deadline=None)
@given(pieces=st.lists(PIECES, min_size=1, max_size=12))
def test_sed_finds_nothing_to_forbid_in_what_is_admitted(pieces: list[str]) -> None:
    script = "".join(pieces)
    if _is_admitted(script):
        assert "disabled in sandbox mode" not in _run(script)


def test_the_scripts_of_several_options_are_read_as_one() -> None:
    from diffmem.shell import policy

    with pytest.raises(Refused):
        policy.check(["sed", "-e", "a\\", "-e", "text", "-e", "w f"], "/", "/")
    policy.check(["sed", "-e", "a\\", "-e", "w f"], "/", "/")
