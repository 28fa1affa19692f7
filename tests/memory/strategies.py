"""Random sessions and texts for the property tests of the file format."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st

from diffmem.memory.messages import Message, Session

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
TRICKY = st.sampled_from(
    [
        "<!-- {",
        '\n<!-- {"n":1,"role":"user"} -->\n',
        '\n\\<!-- {"n":1} -->',
        "\n---\n",
        "--",
        "-->",
        "\r\n",
        "\r",
        "\n",
        "\n\n",
        "```\n",
        "**Maya:** ",
        "\u2028",
        "\x85",
        "\ufeff",
        "👩‍🚀",
        "\x00",
        "\x7f",
        ": ",
        "# ",
    ]
)
CONTENT = st.lists(st.one_of(ANY_TEXT, TRICKY), max_size=6).map("".join)
NAME = st.one_of(st.none(), st.lists(st.one_of(ANY_TEXT, TRICKY), min_size=1, max_size=3).map("".join))
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
TIMES = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.one_of(st.just(UTC), OFFSETS))
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "system", "tool"]),
    content=CONTENT,
    name=NAME,
    at=st.one_of(st.none(), TIMES),
    id=NAME,
)
_FIELD = st.one_of(st.none(), CONTENT.filter(lambda text: bool(text.strip())))
_DESCRIBED = {
    "session_id": st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200),
    "occurred_at": TIMES,
    "timezone": st.sampled_from([None, "Europe/Berlin", "Asia/Kathmandu"]),
    "source": _FIELD,
    "conversation": _FIELD,
    "metadata": st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=3),
    "instructions": _FIELD,
    "state": st.sampled_from(["pending", "distilled", "archived", "open"]),
    "digest": st.just("0" * 64),
}
CHATS = st.builds(Session, messages=st.lists(MESSAGES, max_size=5).map(tuple), **_DESCRIBED)
TRANSCRIPTS = st.builds(Session, transcript=CONTENT, **_DESCRIBED)
SESSIONS = st.one_of(CHATS, TRANSCRIPTS)
