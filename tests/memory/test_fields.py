"""Edits of front matter: one field changes, and not one byte beside it."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from diffmem.memory import frontmatter
from diffmem.memory.fields import add_to_list, set_field
from diffmem.memory.names import name_key
from tests.memory.strategies import CONTENT

HEADS = [
    "name: Maya  # my wife\n",
    "aliases: [Mia, 'my wife']  # all of them\n",
    "aliases: [Mia, ]\n",
    "aliases: []\n",
    "aliases: [\n  Mia,  # short\n  my wife\n]\n",
    "aliases:\n- Mia # short\n- my wife\n",
    "aliases:\n    - Mia\n    # the end\nother: x\n",
    "aliases:\n",
    "aliases: # none yet\n",
    "aliases: ''\n",
    "aliases: Mia, my wife # two\n",
    "aliases: >-\n  Mia,\n  my wife\n",
    "aliases:\n- |\n  Mia\n- x\n",
    "'aliases': [Mia]\n",
    "note: |\n  some\n\n  text\n",
    "since: 2023-05-08\nid: 007\n",
    "# only a comment\n",
    "",
    "nested:\n  aliases: [x]\n",
]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_list_grows_in_the_form_it_has(head: str, end: str) -> None:
    text = f"---\n{head}---\n# Maya".replace("\n", end)
    edited = add_to_list(text, "aliases", ["May", "mia", "M: [x]"])
    assert not edited.problem
    before, after = frontmatter.read(text), frontmatter.read(edited.text)
    old = frontmatter.list_field(before[0], "aliases")
    assert frontmatter.list_field(after[0], "aliases")[: len(old)] == old
    assert {"may", "mia", "m: [x]"} <= {name_key(alias) for alias in frontmatter.list_field(after[0], "aliases")}
    assert add_to_list(edited.text, "aliases", ["May", "mia", "M: [x]"]).text == edited.text
    kept = iter(edited.text.split("\n"))
    assert all(
        line in kept
        for line in text.split("\n")
        if "aliases" not in line and line.strip(" >-\r") not in ("Mia,", "my wife", "]")
    )
    assert ("\r" in edited.text) == (end == "\r\n")


def test_what_a_person_wrote_beside_the_list_stays() -> None:
    text = "---\nname: Maya  # my wife\naliases: [Mia]  # all\ncolour: blue\n---\n"
    assert add_to_list(text, "aliases", ["May"]).text == text.replace("[Mia]", '[Mia, "May"]')
    assert add_to_list(text, "cues", ["tea"]).text == text.replace("blue\n", 'blue\ncues: ["tea"]\n')
    assert set_field(text, "colour", "red").text == text.replace("blue", "red")
    assert set_field(text, "name", "No").text == text.replace("name: Maya", 'name: "No"')


def test_front_matter_is_made_where_there_is_none() -> None:
    assert (
        add_to_list("\ufeff# Maya\r\n", "aliases", ["Mia"]).text == '\ufeff---\r\naliases: ["Mia"]\r\n---\r\n# Maya\r\n'
    )
    assert set_field("", "state", "pending").text == "---\nstate: pending\n---\n"


@pytest.mark.parametrize(
    "head", ["aliases: [\n", "{aliases: [Mia]\n", "- a list\n", "aliases: {a: b}\n", "a: &x [y]\naliases: *x\n"]
)
def test_front_matter_that_cannot_be_edited_stays_as_it_is(head: str) -> None:
    text = f"---\n{head}---\nbody"
    edited = add_to_list(text, "aliases", ["May"])
    assert edited.problem == "'aliases' cannot be changed in this front matter" or "May" in edited.text
    if edited.problem:
        assert edited.text == text


@given(st.lists(st.one_of(st.sampled_from(HEADS), st.text(max_size=10)), max_size=4).map("".join), CONTENT)
def test_any_front_matter_is_edited_soundly_or_not_at_all(head: str, value: str) -> None:
    text = f"---\n{head}---\nbody"
    assume(value.strip())
    for edited in (add_to_list(text, "aliases", [value]), set_field(text, "state", value)):
        if edited.problem:
            assert edited.text == text
        else:
            found = frontmatter.read(edited.text)[0]
            before = frontmatter.read(text)[0]
            assert {key: value for key, value in before.items() if key not in ("aliases", "state")} == {
                key: value for key, value in found.items() if key not in ("aliases", "state")
            }
