from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffmem.hooks.places import Place, parse_path
from diffmem.hooks.templates import Scope, first_text, parse_template

PAYLOAD: dict[str, Any] = {
    "object": "whatsapp",
    "entry": [
        {
            "contacts": [{"wa_id": "1", "name": "Maya"}, {"wa_id": 2, "name": "Ida"}, "odd"],
            "messages": [
                {"from": "2", "n": 0, "yes": True, "no": False, "empty": "", "none": None, "list": [1, 2, "3"]}
            ],
        }
    ],
}


def _item(path: str = "entry[*].messages[*]") -> Place:
    return next(parse_path(path).find(Place(PAYLOAD)))


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("from", ["2"]),
        ("missing", []),
        ("from.deeper", []),
        ("from[0]", []),
        ("list[*]", [1, 2, "3"]),
        ("list[0]", [1]),
        ("list[-1]", ["3"]),
        ("list[3]", []),
        ("list[-4]", []),
        ("list.0", []),
        ("^.contacts[*].name", ["Maya", "Ida"]),
        ("^.contacts[wa_id=from].name", ["Ida"]),
        ("^.contacts[wa_id=missing].name", []),
        ("^.contacts[wa_id=none].name", []),
        ("^^.object", ["whatsapp"]),
        ("^^^.object", []),
        ("$.object", ["whatsapp"]),
        ("$.entry[*].messages[*].n", [0]),
    ],
)
def test_a_path_finds_what_it_leads_to(path: str, values: list[Any]) -> None:
    assert [place.value for place in parse_path(path).find(_item())] == values


def test_the_item_and_the_payload_themselves() -> None:
    assert [place.value for place in parse_path(".").find(_item())] == [PAYLOAD["entry"][0]["messages"][0]]
    assert [place.value for place in parse_path("$").find(_item())] == [PAYLOAD]
    assert _item().pointer == "/entry/0/messages/0"
    assert Place({}).inside("a/b~", 1).pointer == "/a~1b~0"


@pytest.mark.parametrize(
    "text", ["", "a..b", "a.", "a[", "a[x]", "a[1", "a]", "a[b=]", "a{b}", "a^b", "$$", "a.$", "a[=b]"]
)
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_path(text)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("wa-{from}", "wa-2"),
        ("{from}{from}", "22"),
        ("plain", "plain"),
        ("", ""),
        ("{missing}", None),
        ("wa-{missing}", None),
        ("{empty}", None),
        ("{none}", None),
        ("{n}", "0"),
        ("{yes}", "true"),
        ("{list}", None),
        ("{list[*]}", "1, 2, 3"),
        ("x{?from}", "x"),
        ("x{?n}", "x"),
        ("x{?list}", "x"),
        ("x{?no}", None),
        ("x{?empty}", None),
        ("x{?none}", None),
        ("x{?missing}", None),
        ("x{!missing}", "x"),
        ("x{!no}", "x"),
        ("x{!from}", None),
        ("x{?from=2}", "x"),
        ("x{?from=1|2}", "x"),
        ("x{?from=1}", None),
        ("x{!from=1}", "x"),
        ("x{?no=false}", "x"),
        ("x{?^.contacts[wa_id=from].name=Ida}", "x"),
        ("{@webhook-id}{#}", "msg_1/entry/0/messages/0"),
        ("{@Webhook-Id}", "msg_1"),
        ("{@missing}", None),
        ("acme-{}", "acme-own"),
    ],
)
def test_a_template_is_filled_or_gives_nothing(template: str, text: str | None) -> None:
    assert parse_template(template).text(Scope(_item(), {"webhook-id": "msg_1"}, "own")) == text


def test_the_first_template_that_gives_a_text_counts() -> None:
    templates = [parse_template(text) for text in ("{missing}", "{from}", "other")]
    assert first_text(templates, Scope(_item())) == "2"
    assert first_text(templates[:1], Scope(_item())) is None
    assert first_text([], Scope(_item())) is None


@pytest.mark.parametrize("text", ["{", "}", "a}b", "{a", "{a}}", "{a{b}}", "{?}", "{!}", "{a..b}", "{?a..b=1}"])
def test_what_is_no_template_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_template(text)


@settings(deadline=None)
@given(text=st.text(st.sampled_from("ab.[]{}=^$?!#@*-0 |"), max_size=12))
def test_any_text_is_a_template_or_refused(text: str) -> None:
    try:
        template = parse_template(text)
    except ValueError:
        return
    template.text(Scope(_item()))
