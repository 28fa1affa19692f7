"""The grammar: what a text means, what is refused in place or as a whole, and that nothing else can happen."""

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.shell import syntax
from diffmem.shell.policy import Refused
from diffmem.shell.tree import (
    Arithmetic,
    Block,
    Command,
    Not,
    Parameter,
    Pipeline,
    Redirect,
    Refusal,
    Step,
    Substitution,
    Text,
    Word,
    dump,
    load,
)
from tests.support.shell_commands import scripts
from tests.support.shells import commands

SHELLISH = st.text(st.sampled_from("abx 12$(){}[]`\"'|&;<>!#=\\\n\t*?~-/.,:%@^+é\u2028\0\ud800"), max_size=60)
FRAGMENTS = st.lists(
    st.sampled_from(
        ["if", "then", "fi", "for x in", "do", "done", "while", "case", "esac", "{", "}", "(", ")", "$(", "`", '"', "'",
         "<<E\n", "E\n",
         "<<<", "|", "|&", "&&", "||", ";", "&", ">", "2>&1", "<", "$x", "${x", "}", "$((", "))", "[", "]", "[[", "a",
         " ", "\n", "\\", "=", "#"]
    ),
    max_size=25,
).map("".join)  # fmt: skip
BOMBS = [piece * (20_000 // len(piece)) for piece in (
    "(", "{", "$(", "`", '"', "((", "${", "<(", "a|", "a&&", "if ", "for x in a; do ", "<<E\n", "{a,", "$((", "[", "[[",
    "x=(", "!", "\n",
    "a b ", '"$x', "${x:-", "$((1+", "<<<", ">a ", "|", "&", ";", "a;", "#\n", "{1..", "=", "@(", "$", "$'", "\\", "'",
    "é", "a=$(b ",
)]  # fmt: skip


def first(text: str) -> Step:
    return syntax.parse(text).steps[0]


def words(text: str) -> tuple[Word, ...]:
    body = first(text).body
    assert isinstance(body, Command)
    return body.words


def refusal(text: str) -> str:
    body = first(text).body
    assert isinstance(body, Refusal)
    return body.message


def refusals(node: object) -> list[str]:
    if isinstance(node, Refusal):
        return [node.message]
    if isinstance(node, tuple):
        return [message for item in node for message in refusals(item)]
    names = getattr(node, "__dataclass_fields__", ())
    return [message for name in names for message in refusals(getattr(node, name))]


@settings(max_examples=400, deadline=None)
@given(text=st.one_of(st.text(max_size=80), SHELLISH, FRAGMENTS, scripts()))
def test_any_text_is_a_tree_or_a_refusal(text: str) -> None:
    try:
        block = syntax.parse(text)
    except Refused:
        return
    assert load(json.loads(json.dumps(dump(block)))) == block


@pytest.mark.parametrize("bomb", BOMBS, ids=[repr(bomb[:6]) for bomb in BOMBS])
def test_twenty_kilobytes_of_anything_are_read_or_refused_at_once(bomb: str) -> None:
    started = time.process_time()
    with suppress(Refused):
        syntax.parse(bomb)
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize("identity", [*commands("benign.jsonl"), *commands("like_bash.jsonl")])
def test_what_agents_type_is_read_without_a_refusal(identity: str) -> None:
    text = {**commands("benign.jsonl"), **commands("like_bash.jsonl")}[identity]
    assert refusals(syntax.parse(text)) == []


@pytest.mark.parametrize(
    "text",
    ["", "  \n ", "# nothing", "cat a\0b", "cat a\u2028b", "cat a\u2029b", "cat \x1bx", "cat a\rb", "cat \ud800",
     "cat 'a", 'cat "a', "cat $(ls",
     "cat `ls", "ls &&", "ls |", "| ls", "ls | | wc", "if true; then", "if true", "for f in a; do b", "$(", "${",
     "cat <<EOF\nx", "ls \\", ")",
     "a;;b", "echo $'a", "x=$(", "{ ls", "ls; }; (", "echo $((1+2)", "case x in", "a || y=b >&2\necho c 2>&1",
     "[ a = a ]#b", "echo a\\\n#b"],
)  # fmt: skip
def test_what_bash_would_not_read_is_refused_as_a_whole(text: str) -> None:
    with pytest.raises(Refused):
        syntax.parse(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("cat a > b", "read-only"),
        ("cat a >> b", "read-only"),
        ("cat a 2> b", "read-only"),
        ("cat a &> b", "read-only"),
        ("cat a >| b", "read-only"),
        ("cat a > $x", "read-only"),
        ("for f in a; do b; done > c", "read-only"),
        ("cat a 3>&1", "0, 1 and 2"),
        ("ls & ls", "use ;"),
        ("f() { ls; }", "functions"),
        ("function f { ls; }", "functions"),
        ("a=(1 2)", "arrays"),
        ("a[0]=1", "arrays"),
        ("echo ${a[0]}", "${v"),
        ("echo ${!a}", "no arguments"),
        ("[[ -n x ]]", "[ ]"),
        ("(( x > 1 ))", "$(("),
        ("case x in a) b;; esac", "if ["),
        ("for ((i=0; i<3; i++)); do ls; done", "seq"),
        ("select x in a; do ls; done", "for NAME in"),
        ("for x; do ls; done", "for NAME in"),
        ("X=1 ls", "no environment"),
        ("LC_ALL=C sort index.md", "leave out 'LC_ALL="),
        ("export X=1", "NAME=value"),
        ("declare -i x", "NAME=value"),
        ("cat <(ls)", "| diff - index.md"),
        ("echo $1 $@", "no arguments"),
        ("echo $$", "no arguments"),
        ("cat ~/x", "~ is no directory"),
        ("echo $x{1,2}", "${name}"),
        ("{ls; }", "blank must follow {"),
        ("cat <<-EOF\n\ta\n\tEOF", "<<-'EOF'"),
        ("echo `echo \\`ls\\``", "$( )"),
        ("a | b | c | d | e | f | g | h | i", "at most 8"),
    ],
)
def test_what_has_no_meaning_here_is_refused_in_its_place_with_a_hint(text: str, hint: str) -> None:
    assert hint in "\n".join(refusals(syntax.parse(text)))


def test_the_statements_beside_a_refused_one_are_kept() -> None:
    block = syntax.parse("cat a > b; ls && f() { x; }\nwc c")
    assert [type(step.body) for step in block.steps] == [Refusal, Command, Refusal, Command]
    assert [step.link for step in block.steps] == [";", ";", "&&", ";"]


def test_a_redirection_belongs_to_the_last_command_of_a_chain_and_of_a_pipeline() -> None:
    chain = syntax.parse("a && b 2>/dev/null")
    assert chain.steps[0].body == Command((), words("a"), ())
    assert chain.steps[1].body == Command((), words("b"), (Redirect(2, "null", 0, ()),))
    piped = first("a | b 2>&1 | c >/dev/null").body
    assert isinstance(piped, Pipeline)
    assert [stage.redirects for stage in piped.stages if isinstance(stage, Command)] == [
        (),
        (Redirect(2, "copy", 1, ()),),
        (Redirect(1, "null", 0, ()),),
    ]


def test_a_negation_is_of_the_whole_pipeline() -> None:
    body = first("! a | b").body
    assert isinstance(body, Not)
    assert isinstance(body.body, Pipeline)


def test_a_chain_on_the_line_of_a_heredoc_goes_on_after_it() -> None:
    block = syntax.parse("cat <<E && ls\nbody\nE\necho end")
    assert [step.link for step in block.steps] == [";", "&&", ";"]
    assert isinstance(first("cat <<E | wc\nbody\nE").body, Pipeline)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'a b'", (Text("a b", True),)),
        ("a\\*b*", (Text("a", False), Text("*", True), Text("b*", False))),
        ('"$x y"', (Parameter("x", "", (), True), Text(" y", True))),
        ('a" $x"', (Text("a", False), Text(" ", True), Parameter("x", "", (), True), Text("", True))),
        ("${x##*/}", (Parameter("x", "##", ((Text("*/", False),),), False),)),
        ("$((1 + x))", (Arithmetic((Text("1 + x", True),), False),)),
        ("$'\\x41\\u00e9\\n'", (Text("Aé\n", True),)),
        ('"\\a\\$"', (Text("\\a$", True),)),
    ],
)
def test_a_word_is_its_parts_with_their_quoting(text: str, expected: Word) -> None:
    assert words(f"echo {text}")[1] == expected


def test_a_substitution_holds_the_statements_inside_it() -> None:
    part = words("echo $(a; b)")[1][0]
    assert isinstance(part, Substitution)
    assert [step.source for step in part.body.steps] == ["a", "b"]


def test_the_body_of_a_heredoc_is_text_or_expanded_by_its_delimiter() -> None:
    plain, expanded = first("cat <<'E'\n $x\nE").body, first("cat <<E\n $x\nE").body
    assert isinstance(plain, Command)
    assert isinstance(expanded, Command)
    assert plain.redirects[0].word == (Text(" $x\n", True),)
    assert expanded.redirects[0].word == (Text(" ", True), Parameter("x", "", (), True), Text("\n", True))


def test_a_heredoc_ends_where_bash_ends_it() -> None:
    block = syntax.parse("cat <<E\n\\$a b\nc\nE\nls")
    assert [step.source for step in block.steps][1:] == ["ls"]
    body = block.steps[0].body
    assert isinstance(body, Command)
    assert body.redirects[0].word == (Text("$a b\nc\n", True),)


@pytest.mark.parametrize("line", ["E ", " E", "\tE", "EE"])
def test_a_heredoc_that_the_parser_ends_too_early_is_refused(line: str) -> None:
    with pytest.raises(Refused):
        syntax.parse(f"cat <<E\na\n{line}\nE\nls")


def test_lines_that_the_parser_would_join_are_never_joined() -> None:
    for text in ("true\n[ a = b ]\necho c", "ls | cat\n[ -f x ] && echo y", 'ls | cat\np=""\necho a'):
        assert len({step.source.split()[0] for step in syntax.parse(text).steps}) > 1


def test_nesting_has_a_bound() -> None:
    with pytest.raises(Refused):
        syntax.parse("(" * 30 + "ls" + ")" * 30 + "; (")
    assert any("nested deeper" in message for message in refusals(syntax.parse("echo " + "$(echo " * 30 + ")" * 30)))
    assert any("nested deeper" in message for message in refusals(syntax.parse("echo " + "${x:-" * 30 + "}" * 30)))


def test_words_and_bytes_have_bounds() -> None:
    assert "words" in refusal("echo " + "a " * 5_000)
    with pytest.raises(Refused, match="bytes"):
        syntax.parse("echo " + "a" * 20_000)


def test_each_step_knows_its_source() -> None:
    block: Block = syntax.parse("head -1 a 2>/dev/null; for f in *; do x; done && echo 'b c'")
    assert [step.source for step in block.steps] == ["head -1 a 2>/dev/null", "for f in *; do x; done", "echo 'b c'"]
