"""Links woven into facts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem.curation.weave import weave
from diffmem.memory.outline import outline
from diffmem.memory.workspace import Workspace
from tests.memory.test_markdown import TEXTS

MAYA = "memories/people/maya.md"
MAYA_TEXT = "---\nname: Maya Smith\naliases: [Maya, my wife, マヤ]\nkind: people\n---\n\n- Maya likes tea\n"
LINK = "[[memories/people/maya|Maya]]"


def woven(text: str, path: str = "memories/contexts/acme.md") -> str:
    """`text` at `path`, beside Maya's file, after weaving."""
    files = Workspace({MAYA: MAYA_TEXT.encode(), path: text.encode()})
    weave(files)
    return files.text(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- Maya works here ^[s#1]\n", f"- {LINK} works here ^[s#1]\n"),
        ("- Maya and Maya\n- Maya again\n", f"- {LINK} and Maya\n- {LINK} again\n"),
        ("- Maya Smith came\n", "- [[memories/people/maya|Maya Smith]] came\n"),
        ("* a\r\n  Maya, b\r\n", f"* a\r\n  {LINK}, b\r\n"),
        ("Maya's paragraph\n", f"{LINK}'s paragraph\n"),
        ("- 私の妻マヤは看護師\n", "- 私の妻[[memories/people/maya|マヤ]]は看護師\n"),
    ],
)
def test_the_first_mention_in_a_fact_becomes_a_link(text: str, expected: str) -> None:
    assert woven(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "- maya in lower case, my wife\n",
        "- Mayas, xMaya, Maya1\n",
        "- `Maya` and [Maya](x) and https://x.org/Maya and m@Maya.org #Maya\n",
        "- already [[memories/people/maya|my wife]] Maya\n",
        "- [[Maya]]\n",
        "## Maya\n",
        "```\nMaya\n```\n",
        "> Maya\n",
        "| Maya | b |\n|---|---|\n",
        "---\nname: Maya x\n---\n",
    ],
)
def test_what_is_no_mention_in_a_fact_is_left_alone(text: str) -> None:
    assert woven(text) == text


def test_an_entity_does_not_link_to_itself() -> None:
    files = Workspace({MAYA: MAYA_TEXT.encode()})
    assert weave(files) == 0


def test_a_name_that_two_go_by_leads_nowhere() -> None:
    other = {
        "memories/people/m.md": b"---\nname: Maya\n---\n",
        "profile.md": b"- Maya came\n",
        MAYA: MAYA_TEXT.encode(),
    }
    files = Workspace(other)
    weave(files)
    assert files.text("profile.md") == "- Maya came\n"


@given(TEXTS, st.sampled_from(["Maya", "A b", "Likes", "Works at Acme"]))
def test_weaving_changes_no_fact_and_weaving_twice_changes_nothing(text: str, name: str) -> None:
    path = "memories/contexts/acme.md"
    start = {MAYA: f"---\nname: {name}\n---\n".encode(), path: text.encode("utf-8", "surrogatepass")}
    files = Workspace(start)
    weave(files)
    once = files.text(path)
    assert [fact.key for fact in outline(once).facts] == [fact.key for fact in outline(text).facts]
    weave(files)
    assert files.text(path) == once
