"""Front matter: nothing is mangled on the way in or out."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from diffmem.memory import frontmatter
from tests.memory.strategies import ANY_TEXT, CONTENT

VALUES = st.one_of(
    CONTENT, st.lists(CONTENT, min_size=1, max_size=3), st.dictionaries(ANY_TEXT, ANY_TEXT, min_size=1, max_size=3)
)


@given(st.dictionaries(st.from_regex(r"k[\w-]{0,9}", fullmatch=True), VALUES, max_size=5))
def test_what_is_written_is_read_again_by_us_and_by_any_yaml_reader(values: dict[str, object]) -> None:
    text = frontmatter.write(values)
    found, body = frontmatter.read(text + "body")
    kept = {key: value for key, value in values.items() if value not in ([], {})}
    assert found == kept
    assert body == "body"
    assert (yaml.safe_load(text.removeprefix("---\n").removesuffix("---\n")) or {}) == kept


@given(st.lists(st.from_regex(r"[a-z]{1,3}: [ -~]{1,20}", fullmatch=True), max_size=3))
def test_the_quick_reading_agrees_with_the_yaml_parser(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    try:
        expected = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError:
        return
    if isinstance(expected, dict):
        assert frontmatter.fields(text) == expected


@pytest.mark.parametrize(
    "value", ["No", "2023-05-08", "007", "1e3", "12:30:45", "null", "~", "0x1F", "1_000", "on", "-", "=", "<<"]
)
def test_a_value_stays_the_text_that_a_person_wrote(value: str) -> None:
    assert frontmatter.read(f"---\nname: {value}\n---\n")[0] == {"name": value}
    assert yaml.safe_load(frontmatter.line("name", value)) == {"name": value}


@pytest.mark.parametrize(
    ("text", "aliases"),
    [
        ("aliases: Mia, my wife", ("Mia", "my wife")),
        ("aliases:\n  - Mia\n  - my wife  # a comment", ("Mia", "my wife")),
        ("aliases: [Mia, 'my wife']", ("Mia", "my wife")),
        ("aliases:", ()),
        ("aliases: {a: b}", ()),
        ("aliases: [[a], b]", ("b",)),
        ("aliases: &x [a]\nother: *x", ("a",)),
    ],
)
def test_lists_are_read_in_every_form_people_use(text: str, aliases: tuple[str, ...]) -> None:
    assert frontmatter.list_field(frontmatter.read(f"---\r\n{text}\r\n---\r\n")[0], "aliases") == aliases


@pytest.mark.parametrize(
    "text", ["", "---", "---\nname: x\n", "text\n---\nname: x\n---\n", " ---\nname: x\n---\n", "----\n---\n"]
)
def test_text_without_closed_front_matter_has_none(text: str) -> None:
    assert frontmatter.read(text) == ({}, text)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    frontmatter.read(f"---\n{text}\n---\n")
    frontmatter.fields(text)
