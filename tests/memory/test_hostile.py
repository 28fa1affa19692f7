"""Text that a stranger made to be slow: reading it takes time in proportion to its length, or this never ends."""

import pytest

from diffmem.memory import framed_spans, numbered_messages, parse_entity, parse_session, parse_settings
from diffmem.memory.facts import fact_key, fact_text
from diffmem.memory.index import changed_days
from diffmem.memory.markdown import add_fact

MANY = 20_000


@pytest.mark.parametrize(
    "text",
    [
        "# " + " " * MANY + "x",
        "#" + "\t " * MANY + "x",
        "# a" + " #" * MANY + "x",
        "- " * MANY,
        "> " * MANY,
        "^[" * MANY,
        "[[a|" * MANY,
        "<memory note=" * MANY,
        "<!-- {" * MANY,
        "**" * MANY,
        "`" * MANY,
        "- [](memories/a.md): ;" * MANY,
        "- [](memories/" + ".md" * MANY,
        "---\nk: " + "a:" * MANY + "b;\n---\n",
        "---\na: [\nb" + " " * MANY + "c\n---\n",
        "---\n" + "[" * MANY + "\n---\n",
        "---\na: &a [x]\n" + "b: *a\n" * 2000 + "---\n",
    ],
    ids=range(17),
)
def test_hostile_text_is_read(text: str) -> None:
    data = text.encode()
    parse_entity("memories/people/x.md", data)
    parse_session(data)
    numbered_messages(data)
    parse_settings(data)
    changed_days(data)
    framed_spans(text)
    fact_key(text)
    fact_text(text)
    assert add_fact(text, "Work", "Works at Acme", "^[s#1]")
