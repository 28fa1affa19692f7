from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem import tokens
from diffmem.context.budget import Claims
from diffmem.context.fitting import Fitted, fit
from diffmem.context.history import heads_first
from diffmem.context.places import file_source
from diffmem.context.selection import STRIDE_CHARS, Claim, Costs
from diffmem.context.sources import Source, text_content
from diffmem.limits import Deadline
from diffmem.memory import CONTEXT_FRAME_CLOSE, framed_spans, render_session, session_path
from diffmem.plan import Priority
from tests.memory.strategies import CHATS

Lines = tuple[int | None, int | None]

MUST: Priority = "must_include"
MAY: Priority = "if_budget_allows"


def fitted(*claims: Claim, max_tokens: int, always: Sequence[Claim] = ()) -> Fitted:
    must, rest = ([claim for claim in claims if claim.priority == level] for level in (MUST, MAY))
    made = fit(Claims(always, must, rest), max_tokens, tokens.count, Deadline(60))
    assert made.tokens == tokens.count(made.text) <= max_tokens
    return made


def numbered(path: str, lines: int, words: int = 6) -> Source:
    text = "".join(f"{path} {n}{' word' * words}\n" for n in range(1, lines + 1))
    return file_source(path, text.encode())


def diff_source(lines: list[str]) -> Source:
    content = text_content(lines, heads_first(lines))
    return Source("git_diff", "a.md", "diff a.md:", lambda: content, split=False)


def spans(made: Fitted) -> list[tuple[str | None, tuple[int, int] | None, bool]]:
    return [(piece.source.path, piece.lines, piece.must) for piece in made.pieces]


def test_what_fits_is_shown_whole() -> None:
    made = fitted(Claim(numbered("a.md", 5), MUST, ""), Claim(numbered("b.md", 5), MAY, ""), max_tokens=1000)
    assert spans(made) == [("a.md", (1, 5), True), ("b.md", (1, 5), False)]
    assert made.complete and not any(piece.truncated for piece in made.pieces)


def test_overlapping_and_adjacent_sections_are_one_block_of_the_higher_priority() -> None:
    source = numbered("a.md", 30)
    made = fitted(
        Claim(source, MAY, "one", 1, 5),
        Claim(source, MUST, "two", 4, 8),
        Claim(source, MAY, "three", 9, 10),
        Claim(source, MAY, "two", 9, 9),
        Claim(source, MAY, "far", 20, 21),
        max_tokens=1000,
    )
    assert spans(made) == [("a.md", (1, 10), True), ("a.md", (20, 21), False)]
    assert made.pieces[0].reason == "two; one; three"


def test_a_must_is_not_starved_by_what_it_merges_with() -> None:
    source = numbered("a.md", 300)
    made = fitted(Claim(source, MAY, "all"), Claim(source, MUST, "these", 200, 203), max_tokens=200)
    assert ("a.md", (200, 203), True) in spans(made)


def test_musts_beyond_the_budget_shrink_fairly() -> None:
    sources = [numbered(f"{name}.md", lines) for name, lines in (("a", 400), ("b", 3), ("c", 400), ("d", 400))]
    made = fitted(*(Claim(source, MUST, "") for source in sources), max_tokens=600)
    sizes = {piece.source.path: tokens.count(piece.content) for piece in made.pieces}
    assert made.pieces[1].whole
    assert max(sizes["a.md"], sizes["c.md"], sizes["d.md"]) - min(sizes["a.md"], sizes["c.md"], sizes["d.md"]) < 30
    assert made.tokens > 570


def test_a_cut_ends_with_a_line_and_says_how_many_are_left_out() -> None:
    made = fitted(Claim(numbered("a.md", 100), MUST, ""), max_tokens=200)
    (piece,) = made.pieces
    assert piece.lines is not None and piece.truncated
    assert piece.content.endswith(" word")
    assert f"\n… {100 - piece.lines[1]} more lines\n" in made.text


def test_a_line_longer_than_the_budget_is_cut_between_words() -> None:
    made = fitted(Claim(file_source("a.md", b"alpha beta gamma " * 500), MUST, ""), max_tokens=100)
    (piece,) = made.pieces
    assert piece.truncated and piece.lines == (1, 1)
    assert piece.content.removesuffix(" …").rpartition(" ")[2] in ("alpha", "beta", "gamma")
    assert made.tokens > 90


@pytest.mark.parametrize("line", ["日本語の長い文" * 300, "a" * 9_000, "👩‍🚀" * 900])
def test_a_line_without_blanks_is_cut_anywhere(line: str) -> None:
    made = fitted(Claim(file_source("a.md", line.encode()), MUST, ""), max_tokens=100)
    assert made.pieces[0].truncated and made.tokens > 80


def test_musts_come_before_the_rest_in_room_and_in_the_text() -> None:
    made = fitted(Claim(numbered("a.md", 50), MAY, ""), Claim(numbered("b.md", 50), MUST, ""), max_tokens=300)
    assert spans(made)[0][0] == "b.md"
    assert all(piece.must for piece in made.pieces)


def test_the_rest_takes_its_turn_in_the_order_of_the_plan() -> None:
    made = fitted(*(Claim(numbered(f"{name}.md", 6), MAY, "") for name in "dcba"), max_tokens=200)
    assert [path for path, _, _ in spans(made)] == ["d.md", "c.md", "b.md"]


def test_a_block_without_room_leaves_its_turn_to_the_next() -> None:
    wide = file_source("wide.md", b"word " * 2000)
    made = fitted(Claim(wide, MAY, ""), Claim(numbered("b.md", 6), MAY, ""), max_tokens=100)
    assert ("b.md", (1, 6), False) in spans(made)


def test_a_useful_part_is_shown_in_its_turn() -> None:
    made = fitted(Claim(numbered("a.md", 80), MAY, ""), Claim(numbered("b.md", 6), MAY, ""), max_tokens=400)
    assert made.pieces[0].source.path == "a.md" and made.pieces[0].truncated


def test_musts_without_room_are_named() -> None:
    made = fitted(*(Claim(numbered(f"{n}.md", 50), MUST, "") for n in range(30)), max_tokens=128)
    assert made.pieces
    assert {claim.source.path for claim in made.unserved} | {piece.source.path for piece in made.pieces} == {
        f"{n}.md" for n in range(30)
    }


def test_what_is_always_loaded_takes_an_eighth_at_most() -> None:
    profile = Claim(numbered("profile.md", 500), MUST, "always")
    made = fitted(Claim(numbered("a.md", 500), MAY, ""), max_tokens=800, always=[profile])
    assert [piece.source.path for piece in made.pieces] == ["profile.md", "a.md"]
    assert 60 < tokens.count(made.pieces[0].content) <= 100


def test_a_profile_that_is_pointed_at_takes_more() -> None:
    source = numbered("profile.md", 500)
    made = fitted(Claim(source, MUST, "asked"), max_tokens=800, always=[Claim(source, MUST, "always")])
    assert [piece.reason for piece in made.pieces] == ["always; asked"]
    assert made.tokens > 770


def test_a_diff_too_long_keeps_the_heads_of_its_hunks() -> None:
    lines = [
        line for hunk in range(8) for line in (f"@@ -{hunk} +{hunk} @@", *("+ some added words" for _ in range(40)))
    ]
    made = fitted(Claim(diff_source(lines), MUST, ""), max_tokens=300)
    (piece,) = made.pieces
    assert [line for line in piece.content.split("\n") if line.startswith("@@")] == lines[::41]
    assert piece.content.count("\n…\n") == 7
    assert piece.truncated and piece.lines is None


def test_sessions_stand_by_date_and_say_the_year_once() -> None:
    files = {f"sessions/2023/{at[:2]}/{at[3:]}-s.md": at for at in ("05-25", "05-08", "06-01")}
    head = b"---\nsession: s\noccurred_at: 2023-%s\n---\n\n<!-- {} -->\n**Maya:** hi\n\n"
    claims = [Claim(file_source(path, head % f"{at}T10:00:00+00:00".encode()), MAY, "") for path, at in files.items()]
    made = fitted(*claims, max_tokens=300)
    assert [line for line in made.text.split("\n") if line.endswith(":")] == ["8 May 2023:", "25 May:", "1 June:"]


def test_nothing_to_show_is_no_frame() -> None:
    assert fitted(max_tokens=64).text == ""


LINES = st.sampled_from(["---", "a b c", "", "8 May 2023:", CONTEXT_FRAME_CLOSE, "é" * 300, "# x"])
FILES = st.binary(max_size=80) | st.lists(LINES, max_size=30).map(lambda lines: "\n".join(lines).encode())
PATHS = st.sampled_from(["memories/people/maya.md", "profile.md", "notes.txt", "sessions/2023/05/08-x.md"])
DIFFS = st.lists(st.sampled_from(["@@ -1 +1 @@", "+a b c d", "-x", " y"]), max_size=30)
SOURCES = st.one_of(
    st.builds(file_source, PATHS, FILES),
    CHATS.map(lambda session: file_source(session_path(session), render_session(session))),
    DIFFS.map(diff_source),
)


@st.composite
def plans(draw: Callable[..., object]) -> list[Claim]:
    sources = draw(st.lists(SOURCES, min_size=1, max_size=4))
    assert isinstance(sources, list)
    numbers = st.none() | st.integers(1, 40)
    claims = st.lists(
        st.builds(Claim, st.sampled_from(sources), st.sampled_from([MUST, MAY]), st.text(max_size=3), numbers, numbers),
        max_size=8,
    )
    drawn = draw(claims)
    assert isinstance(drawn, list)
    return drawn


BREAKING = st.text("ab1 \n\r\t/-.'é妻\x0b\x1c\x85\u00a0\u2028\u3000<", max_size=40)


@given(
    st.lists(BREAKING | st.sampled_from(["\n", "\n\n", "- a fact", "x" * (STRIDE_CHARS + 1)]), max_size=12).map("".join)
)
def test_the_parts_of_a_text_are_counted_as_the_text_is(text: str) -> None:
    costs = Costs(tokens.count)
    assert [costs.text(text), costs.text(text)] == [tokens.count(text)] * 2


@settings(deadline=None, max_examples=300)
@given(plans(), st.integers(1, 400), st.sampled_from([tokens.count, len]))
def test_any_plan_of_any_files_keeps_within_any_budget(
    claims: list[Claim], max_tokens: int, count: Callable[[str], int]
) -> None:
    must, rest = ([claim for claim in claims if claim.priority == level] for level in (MUST, MAY))
    made = fit(Claims((), must, rest), max_tokens, count, Deadline(60))
    assert made.tokens == count(made.text) <= max_tokens
    again = fit(Claims((), must, rest), max_tokens, count, Deadline(60))
    assert (again.text, list(again.pieces)) == (made.text, list(made.pieces))
    priorities = [piece.must for piece in made.pieces]
    assert priorities == sorted(priorities, reverse=True)
    assert not made.text or framed_spans(made.text) == [(0, len(made.text))]
    at = 0
    for piece in made.pieces:
        at = made.text.index(piece.content, at)
        if piece.lines and piece.source.type == "file":
            assert piece.lines[0] <= piece.lines[1]
            assert set(piece.lines) <= set(piece.source.content.numbers)
