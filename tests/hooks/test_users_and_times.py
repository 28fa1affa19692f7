import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.hooks.times import moment
from diffmem.hooks.users import user_id
from diffmem.http.routing import USER_PATTERN

NOW = datetime(2026, 3, 5, 19, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "user"),
    [
        ("alex", "alex"),
        ("wa-4917012345678", "wa-4917012345678"),
        ("whatsapp:+49170", "whatsapp:+49170"),
        ("a=b", "a=b"),
        ("a/b", "=a=2Fb"),
        ("José", "=Jos=C3=A9"),
        (".hidden", "=.hidden"),
        ("=x", "==3Dx"),
        ("a" * 128, "a" * 128),
        ("a" * 129, "==sha256-c12cb024a2e5551cca0e08fce8f1c5e314555cc3fef6329ee994a3db752166ae"),
    ],
)
def test_an_id_is_kept_where_it_is_valid_and_spelled_where_it_is_not(text: str, user: str) -> None:
    assert user_id(text) == user


TEXTS = st.text(min_size=1, max_size=140) | st.text(st.sampled_from("a=/.2FD"), min_size=1, max_size=8)


@settings(deadline=None)
@given(one=TEXTS, other=TEXTS)
def test_an_id_is_always_valid_and_never_anothers(one: str, other: str) -> None:
    assert re.fullmatch(USER_PATTERN, user_id(one))
    assert (user_id(one) == user_id(other)) == (one == other)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-03-05T19:30:00Z", NOW),
        ("2026-03-05T20:30:00.5+01:00", NOW + timedelta(milliseconds=500)),
        ("1772739000", NOW),
        ("1772739000.000200", NOW + timedelta(microseconds=200)),
        ("1772739000123", NOW + timedelta(milliseconds=123)),
        ("1772739000123456", NOW + timedelta(microseconds=123456)),
        (" 1772739000 ", NOW),
        ("1772739300", NOW + timedelta(minutes=5)),
        ("1772739301", None),
        ("0", None),
        ("2026-03-05T19:30:00", None),
        ("yesterday", None),
        ("-5", None),
        ("", None),
        (None, None),
    ],
)
def test_a_time_is_read_as_senders_write_it(text: str | None, at: datetime | None) -> None:
    assert moment(text, NOW) == at


@settings(deadline=None)
@given(text=st.text(st.sampled_from("0123456789.-+:TZ "), max_size=30))
def test_any_text_is_a_time_or_none(text: str) -> None:
    found = moment(text, NOW)
    assert found is None or found <= NOW + timedelta(minutes=5)
