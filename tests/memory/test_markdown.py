"""Edits of Markdown: the fact they are about changes, and not one byte beside it."""

import itertools
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from diffmem.errors import DeadlineExceeded
from diffmem.limits import Deadline
from diffmem.memory.facts import fact_key, fact_text
from diffmem.memory.markdown import (
    add_fact,
    drop_citations,
    is_bare,
    merge_duplicates,
    remove_empty_sections,
    remove_fact,
    replace_fact,
)
from diffmem.memory.outline import outline

FILE = """---
name: Maya
---

# Maya

A paragraph by hand.

## Work

* Nurse at Acme ^[s1#3]
* Likes the team ^[s1#4] ^[s2#1]
    - night shifts

## Home
1. Lives in Berlin
"""

BLOCKS = [
    "# Title\n",
    "## Work\n",
    "## Work ##\n\n",
    "Home\n----\n",
    "### Deeper\n",
    "   # Indented\n",
    "A paragraph\nof two lines\n",
    "- Works at Acme ^[s1#3]\n",
    "* Likes tea\n",
    "- a\n  - nested\n\n    more of it\n",
    "+ loose\n\n+ list\n",
    "1. one\n2. two\n",
    "- [ ] a task\n",
    "```\n## code\n- code\n```\n",
    "```\nnever closed\n",
    "    indented code\n",
    "<!-- a comment\n\n- in it -->\n",
    "<!-- never closed\n",
    "<div>\n- html\n</div>\n",
    "> - quoted\nlazy\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "---\n",
    "===\n",
    "[ref]: /url\n",
    "\n",
    "\n\n",
    "  \t\n",
    "\r",
    "\x0b\u2028\n",
    "\\- escaped\n",
    "trailing  ",
]
FRONTS = ["", "---\nname: Maya\n---\n", "\ufeff---\nname: x\n---\n\n", "---\nnever closed\n"]
TEXTS = st.builds(
    lambda front, blocks, crlf: (front + "".join(blocks)).replace("\n", "\r\n" if crlf else "\n"),
    st.sampled_from(FRONTS),
    st.lists(st.one_of(st.sampled_from(BLOCKS), st.text(max_size=8)), max_size=9),
    st.booleans(),
)
ODD_FACTS = [
    "# 1",
    "1. one",
    "- x",
    "> q",
    "<div>",
    "---",
    "===",
    "[a]: /u",
    "```",
    "| a |",
    "Likes tea",
    "A b",
    "*",
    "~~~",
    "+",
]
FACTS = st.one_of(st.sampled_from(ODD_FACTS), st.text(max_size=20)).map(fact_text).filter(fact_key)
HEADINGS = st.sampled_from(["Work", "Home", "Deeper", "New one", "C#"])


def changed(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that only `before` and that only `after` has, however often."""
    old, new = Counter(before.split("\n")), Counter(after.split("\n"))
    return list((old - new).elements()), list((new - old).elements())


def stand_in_order(lines: list[str], text: str) -> bool:
    """Whether `text` has all of `lines`, in their order, and maybe others between them."""
    rest = iter(text.split("\n"))
    return all(line in rest for line in lines)


@given(TEXTS, HEADINGS, FACTS)
def test_adding_a_fact_adds_its_line_and_changes_no_other(text: str, heading: str, fact: str) -> None:
    edited = add_fact(text, heading, fact, "^[s9#1]")
    gone, come = changed(text, edited.text)
    if edited.problem:
        assert edited.text == text
    elif fact_key(fact) not in {known.key for known in outline(text).facts}:
        assert [line.rstrip("\r") for line in gone] in ([], [text.split("\n")[-1].rstrip("\r")])
        assert stand_in_order(text.split("\n")[:-1], edited.text)
        assert {line.strip() for line in come} - {line.strip() for line in gone} <= {
            "",
            f"## {heading}",
            *(line.strip() for line in come if fact_key(line) in (fact_key(fact), fact_key(f"- {fact}"))),
        }
        assert edited.text.endswith("\n") == text.endswith("\n") or not text.endswith("\n")


@given(TEXTS, HEADINGS, FACTS)
def test_a_fact_that_was_added_is_read_again_under_its_heading(text: str, heading: str, fact: str) -> None:
    assume(fact_key(fact) not in {known.key for known in outline(text).facts})
    edited = add_fact(text, heading, fact, "^[s9#1]")
    assert not edited.problem
    added = [known for known in outline(edited.text).facts if known.key == fact_key(fact)]
    assert len(added) == 1
    assert added[0].text.endswith("^[s9#1]")
    assert len(outline(edited.text).facts) == len(outline(text).facts) + 1


@given(TEXTS, HEADINGS, FACTS)
def test_adding_twice_is_adding_once(text: str, heading: str, fact: str) -> None:
    once = add_fact(text, heading, fact, "^[s9#1]").text
    assert add_fact(once, heading, fact, "^[s9#1]").text == once


@given(TEXTS, HEADINGS, FACTS)
def test_removing_what_was_added_leaves_every_line_that_was_there(text: str, heading: str, fact: str) -> None:
    assume(fact_key(fact) not in {known.key for known in outline(text).facts})
    added = add_fact(text, heading, fact)
    removed = remove_fact(added.text, fact)
    assert not removed.problem
    gone, come = changed(text, removed.text)
    assert {line.strip() for line in gone} <= {line.strip() for line in come} | {""}
    assert {line.strip() for line in come} - {line.strip() for line in gone} <= {"", f"## {heading}"}


@given(TEXTS, st.integers(0, 20), FACTS)
def test_any_fact_is_replaced_where_it_stands_or_not_at_all(text: str, which: int, new: str) -> None:
    facts = outline(text).facts
    assume(facts)
    old = facts[which % len(facts)]
    assume(old.key)
    edited = replace_fact(text, old.text, new, "^[s9#1]")
    assert (edited.text == text) or not edited.problem
    if not edited.problem:
        kept = [known.key for known in facts if known.key not in (old.key, fact_key(new))]
        assert [known.key for known in outline(edited.text).facts if known.key != fact_key(new)] == kept
        gone, _ = changed(text, edited.text)
        lines = text.split("\n")
        own = [at for known in facts if known.key in (old.key, fact_key(new)) for at in range(known.start, known.end)]
        assert Counter(gone) <= Counter([*(lines[at] for at in own), *[""] * len(own), *["\r"] * len(own)])
        assert stand_in_order([line for at, line in enumerate(lines) if at not in own and line.strip()], edited.text)
        assert replace_fact(edited.text, old.text, new, "^[s9#1]").text == edited.text


@given(TEXTS, st.integers(0, 20))
def test_removing_a_fact_removes_its_lines_and_changes_no_other(text: str, which: int) -> None:
    facts = outline(text).facts
    assume(facts)
    fact = facts[which % len(facts)]
    edited = remove_fact(text, fact.text)
    if edited.problem:
        assert edited.text == text
        return
    assert [known.key for known in outline(edited.text).facts] == [
        known.key for known in facts if known.key != fact.key
    ]
    assert remove_fact(edited.text, fact.text).text == edited.text


@given(TEXTS)
def test_merging_duplicates_takes_no_line_but_theirs(text: str) -> None:
    merged = merge_duplicates(text, Deadline(60.0))
    facts = outline(text).facts
    keys = [known.key for known in facts]
    assert list(dict.fromkeys(known.key for known in outline(merged).facts)) == list(dict.fromkeys(keys))
    gone, _ = changed(text, merged)
    lines = text.split("\n")
    own = [at for known in facts if keys.count(known.key) > 1 for at in range(known.start, known.end)]
    assert Counter(gone) <= Counter([*(lines[at] for at in own), *[""] * len(own), *["\r"] * len(own)])
    assert stand_in_order([line for at, line in enumerate(lines) if at not in own and line.strip()], merged)
    assert merge_duplicates(merged, Deadline(60.0)) == merged


@given(TEXTS)
def test_any_text_has_an_outline(text: str) -> None:
    parts = outline(text)
    assert all(0 <= fact.start < fact.end <= len(parts.lines) for fact in parts.facts)
    remove_empty_sections(text)
    is_bare(text)
    drop_citations(text, "s1")


def test_a_fact_joins_the_list_of_its_section_in_the_style_of_that_list() -> None:
    edited = add_fact(FILE, "work", "Has a new boss", "^[s3#2]").text
    assert "    - night shifts\n* Has a new boss ^[s3#2]\n\n## Home\n" in edited


def test_a_section_that_is_absent_is_made_at_its_place() -> None:
    at_end = add_fact(FILE, "Health", "Allergic to nuts").text
    assert at_end == FILE + "\n## Health\n\n- Allergic to nuts\n"
    before_home = add_fact(FILE, "Health", "Allergic to nuts", before=lambda heading: heading == "Home").text
    assert "    - night shifts\n\n## Health\n\n- Allergic to nuts\n\n## Home\n1. Lives" in before_home


def test_a_list_of_another_kind_is_not_continued() -> None:
    assert add_fact(FILE, "Home", "Has a cat").text.endswith("1. Lives in Berlin\n\n- Has a cat\n")


def test_crlf_and_the_missing_final_newline_stay() -> None:
    assert add_fact("# A\r\n\r\n- x\r\n- y", "A", "z").text == "# A\r\n\r\n- x\r\n- y\r\n- z"
    assert add_fact("- x", "A", "z").text == "- x\n\n## A\n\n- z"


def test_an_unclosed_comment_does_not_swallow_a_fact() -> None:
    assert add_fact("# A\n\n<!-- todo\n", "B", "z").text == "# A\n\n## B\n\n- z\n\n<!-- todo\n"


def test_a_known_fact_is_confirmed_and_not_doubled() -> None:
    edited = add_fact(FILE, "Elsewhere", "nurse at ACME.", "^[s7#1]").text
    assert edited == FILE.replace("Acme ^[s1#3]", "Acme ^[s1#3] ^[s7#1]")
    assert add_fact(FILE, "Home", "lives in  Berlin", "^[s7#1]").text == FILE


def test_a_fact_is_replaced_in_its_own_line() -> None:
    assert replace_fact(FILE, "- Nurse at Acme", "Doctor at Acme", "^[s5#1]").text == FILE.replace(
        "Nurse at Acme ^[s1#3]", "Doctor at Acme ^[s5#1]"
    )
    edited = replace_fact(FILE, "Likes the team ^[s1#4]", "Left the team", "^[s5#1]").text
    assert "* Left the team ^[s5#1]\n    - night shifts\n" in edited


def test_an_unknown_fact_is_named_with_the_nearest_one() -> None:
    assert replace_fact(FILE, "Nurse at Acne", "x").problem == (
        "no fact here reads 'Nurse at Acne'; the nearest reads 'Nurse at Acme ^[s1#3]'"
    )
    assert remove_fact(FILE, "zzz").problem == "no fact here reads 'zzz'"


def test_an_item_with_more_below_it_is_not_removed() -> None:
    assert "more below" in remove_fact(FILE, "Likes the team").problem


def test_a_section_tells_equal_facts_apart() -> None:
    text = "## A\n\n- same\n\n## B\n\n- same\n"
    assert replace_fact(text, "same", "other", heading="B").text == "## A\n\n- same\n\n## B\n\n- other\n"
    assert remove_fact(text, "same").text == "## A\n\n\n## B\n\n"


@pytest.mark.parametrize("items", [20, 200])
def test_equal_facts_are_merged_in_one_reading_however_many_they_are(items: int) -> None:
    asked = itertools.count()
    once = "".join(f"- Fact {n} ^[s1#{n}]\n" for n in range(items))
    text = f"# A\n\n{once}\n## B\n\n{once.replace('^[s1', '^[s2')}\nA paragraph.\n\n{once}"
    merged = merge_duplicates(text, Deadline(3.0, lambda: next(asked)))
    assert merged == "# A\n\n" + "".join(f"- Fact {n} ^[s1#{n}] ^[s2#{n}]\n" for n in range(items)) + (
        "\n## B\n\n\nA paragraph.\n\n"
    )


def test_a_duplicate_that_has_to_stay_keeps_no_other() -> None:
    asked = itertools.count()
    facts = "".join(f"- Fact {n}\n" for n in range(100))
    text = f"{facts}\n# B\n\n{facts.replace('t 50', 't 50' + chr(10) + '  - with more below it')}"
    below = text.replace("# B", "# B\n\n> quoted\n- Fact 7\n\n    code\n")
    assert merge_duplicates(text, Deadline(3.0, lambda: next(asked))).endswith(
        "\n# B\n\n- Fact 50\n  - with more below it\n"
    )
    assert "> quoted\n- Fact 7\n\n    code\n" in merge_duplicates(below, Deadline(30.0, lambda: next(asked)))


def test_merging_duplicates_asks_the_deadline() -> None:
    with pytest.raises(DeadlineExceeded):
        merge_duplicates("- a\n- a\n", Deadline(0.0))


def test_citations_of_one_session_go_with_what_only_it_taught() -> None:
    edited = drop_citations(FILE, "s1")
    assert "Nurse" not in edited
    assert "* Likes the team ^[s2#1]\n    - night shifts\n" in edited


def test_empty_sections_are_removed_and_nothing_else() -> None:
    assert remove_empty_sections("# T\n\n## A\n\n## B\n\n- x\n\n## C\n\n") == "# T\n\n## B\n\n- x\n\n"
    assert is_bare("---\nname: x\n---\n\n# T\n\n## A\n") and not is_bare("# T\n\ntext\n")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("- Works at Acme. ^[s#1]", "works  at ACME", True),
        ("1. “So” \\# it – is", '"So" # it - is', True),
        ("Met [[memories/people/maya|Maya]]", "Met Maya", True),
        ("Pays 5 - 6 euros", "Pays 5 6 euros", False),
        ("Lives at 3. Elm Street", "Lives at Elm Street", False),
        ("Lives in Bonn", "Lives in Berlin", False),
    ],
)
def test_two_spellings_of_one_fact_are_one(one: str, other: str, same: bool) -> None:
    assert (fact_key(one) == fact_key(other)) == same


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- Works  at\nAcme ^[s1#3]", "Works at Acme"),
        ("a <!-- b --> ^[x", "a &lt;!-- b --&gt; ^ [x"),
        ("a\u202eb\x00c", "abc"),
        ("^[s1#1]", ""),
    ],
)
def test_a_fact_cannot_break_the_format(text: str, expected: str) -> None:
    assert fact_text(text) == expected
