"""Two users whose names look alike never see each other, whatever either of them asks for."""

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from urllib.parse import quote

import pytest

from diffmem.http.routes import ROUTES
from diffmem.repository import user_hash
from tests.support.app import Function, function
from tests.support.people import Person, said, uids

LOOK_ALIKES = [
    ("alex", "Alex"),
    ("alex", "alex."),
    ("alex", "alex2"),
    ("a+b", "a=b"),
    ("a.b", "a..b"),
    ("a:b", "a@b"),
    ("-", "_"),
    ("x" * 128, "x" * 127),
]
REFUSED = [
    "",
    " alex",
    "alex ",
    "a/b",
    "a\\b",
    "..",
    ".alex",
    "../alex",
    "alex/../bea",
    "al\u0435x",  # a Cyrillic letter
    "ａｌｅｘ",
    "alex\u200b",
    "ale\u0301x",
    "alex\0",
    "alex\n",
    "alex%2f",
    "a*",
    "~alex",
    "x" * 129,
]


@pytest.fixture(params=LOOK_ALIKES, ids=lambda pair: f"{pair[0][:8]} and {pair[1][:8]}")
def pair(request: pytest.FixtureRequest, app: Function) -> tuple[Person, Person]:
    one, other = request.param
    people = Person(app, one, "kanarienvogel"), Person(app, other, "wellensittich")
    for person in people:
        person.remember()
    return people


def test_nobody_reads_what_the_other_said(pair: tuple[Person, Person]) -> None:
    for me, you in (pair, pair[::-1]):
        answers = list(me.everything(you.canary, "word"))
        assert any(me.canary.encode() in said(answer) for answer in answers), "what these tests look for can be found"
        assert not any(you.canary.encode() in said(answer) for answer in answers)


def test_nobody_writes_to_the_other(pair: tuple[Person, Person]) -> None:
    me, you = pair
    before = you.commits()
    me.app.post(f"{me.path}/forget", {"text": "word"})
    me.app.delete(me.path)
    assert you.commits() == before
    assert me.app.get(me.path).status_code == 404
    assert you.app.get(f"{you.path}/files/memories/people/{you.canary}.md").status_code == 200


def test_the_other_s_commits_are_no_commits_here(pair: tuple[Person, Person]) -> None:
    me, you = pair
    for sha in set(you.commits()) - set(me.commits()):
        assert me.app.get(f"{me.path}/files/index.md?at={sha}").status_code == 404
        assert me.app.get(f"{me.path}/diff?from={sha}").status_code == 404
        assert me.app.get(f"{me.path}/diff?to={sha[:7]}").status_code == 404
        assert me.app.post(f"{me.path}/revert", {"commit": sha}).status_code == 404
        for command in (f"git show {sha}", f"git cat-file -p {sha}", f"git log {sha}", f"git diff HEAD {sha}"):
            assert me.run(command).get_json()["exit_code"] != 0


def test_stores_that_do_not_tell_case_apart_tell_users_apart(pair: tuple[Person, Person], tmp_path: Path) -> None:
    found = uids(tmp_path / "bucket")
    assert len(found) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", uid) for uid in found)
    names = [str(path.relative_to(tmp_path)) for path in (tmp_path / "bucket").rglob("*")]
    assert len({name.lower() for name in names}) == len(names)


@pytest.mark.parametrize("user", REFUSED)
def test_a_name_that_could_be_taken_for_another_is_refused(app: Function, tmp_path: Path, user: str) -> None:
    address = f"/v1/users/{quote(user, safe='')}"
    for method, tail in (("PUT", ""), ("GET", "/log"), ("POST", "/sessions"), ("DELETE", "")):
        response = app.call(method, address + tail, {} if method in ("PUT", "POST") else None)
        assert response.status_code in (400, 404)
        assert response.get_json()["type"] in ("/problems/invalid-request", "/problems/unknown-route")
    assert uids(tmp_path / "bucket") == set()


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[Function]:
    keys = "alex:0123456789abcdef:alex,team:fedcba9876543210:team-*:read"
    with function(tmp_path, {"DIFFMEM_AUTH": "key", "DIFFMEM_API_KEYS": keys}) as served:
        yield served


@pytest.mark.parametrize("user", ["Alex", "alex.", "alex2", "ale", "alexalex", "team", "teamX", "Team-1", "bea"])
def test_a_key_opens_its_own_user_on_no_route_another(keyed: Function, user: str) -> None:
    for key in ("0123456789abcdef", "fedcba9876543210"):
        for route in ROUTES:
            if "{user}" not in route.pattern:
                continue
            address = route.pattern.replace("{user}", user).replace("{path*}", "profile.md")
            body: dict[str, str] | None = {} if route.body is not None else None
            response = keyed.call(route.method, address, body, headers={"Authorization": f"Bearer {key}"})
            assert (response.status_code, response.get_json()["type"]) == (403, "/problems/forbidden"), address


def test_a_key_that_reads_writes_on_no_route(keyed: Function) -> None:
    headers = {"Authorization": "Bearer fedcba9876543210"}
    for route in ROUTES:
        if "{user}" in route.pattern:
            address = route.pattern.replace("{user}", "team-1").replace("{path*}", "profile.md")
            body: dict[str, str] | None = {} if route.body is not None else None
            status = keyed.call(route.method, address, body, headers=headers).status_code
            assert (status == 403) == (route.scope == "write"), address


def test_a_pattern_s_own_signs_are_no_names(keyed: Function) -> None:
    headers = {"Authorization": "Bearer fedcba9876543210"}
    assert keyed.get("/v1/users/team-%2A", headers=headers).status_code == 400
    assert keyed.get("/v1/users/team-1%2F..%2Fbea", headers=headers).status_code == 400


def test_every_pair_of_names_has_names_of_its_own_in_the_bucket() -> None:
    names = {name for pair in LOOK_ALIKES for name in pair}
    for secret in (None, "secret"):
        for one, other in combinations(sorted(names), 2):
            assert user_hash(one, secret) != user_hash(other, secret)
