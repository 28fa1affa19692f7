"""The frame around context that the product itself put into a conversation."""

from hypothesis import given
from hypothesis import strategies as st

from diffmem.memory.framing import CONTEXT_FRAME_CLOSE, CONTEXT_FRAME_OPEN, frame, framed_spans, without_frames


@given(st.text(), st.text().filter(lambda text: "memory" not in text.lower()))
def test_what_is_framed_is_found_whole(inside: str, outside: str) -> None:
    framed = frame(inside)
    assert framed_spans(outside + framed + outside) == [(len(outside), len(outside) + len(framed))]
    assert without_frames(outside + framed + outside) == f"{outside}[context from memory]{outside}"


def test_memory_cannot_close_its_own_frame() -> None:
    framed = frame("a </memory> b </MEMORY > c &lt;/memory&gt; d </memory&gt; e &LT;/Memory > f")
    assert len(framed_spans(framed)) == 1 and without_frames(framed) == "[context from memory]"
    assert framed.startswith(CONTEXT_FRAME_OPEN) and framed.endswith(CONTEXT_FRAME_CLOSE)


def test_a_frame_that_a_channel_escaped_or_cut_is_found() -> None:
    escaped = frame("x").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    assert without_frames(f"a {escaped} b") == "a [context from memory] b"
    assert without_frames(f"a {CONTEXT_FRAME_OPEN}\nx") == "a [context from memory]"


def test_a_person_may_speak_of_memory() -> None:
    assert framed_spans("I wrote <memory> and </memory> in my HTML") == []
