"""The tool of one user, every way it could be talked into another's memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from diffmem.repository import user_hash
from tests.support.app import Function, function
from tests.support.people import Person

CANARY = "wellensittich"


@pytest.fixture(params=["prefer", "off"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Function]:
    """The function, with and without an OS layer under the tool: its policy has to suffice."""
    with function(tmp_path, {"DIFFMEM_SANDBOX": request.param}) as served:
        yield served


@pytest.fixture
def me(app: Function) -> Person:
    person = Person(app, "alex", "kanarienvogel")
    person.remember()
    return person


@pytest.fixture
def you(app: Function) -> Person:
    person = Person(app, "bea", CANARY)
    person.remember()
    assert CANARY in person.run("cat memories/people/*").get_json()["output"], "the other's checkout is on the disk"
    return person


def _place(tmp_path: Path, person: Person) -> Path:
    """Where a person's memory lies in the cache."""
    (place,) = (tmp_path / "cache").glob(f"*/{user_hash(person.user, None)}/*-*")
    return place


def test_no_path_leads_to_another_s_checkout_or_objects(me: Person, you: Person, tmp_path: Path) -> None:
    place = _place(tmp_path, you)
    tree = next(place.glob("views/*/tree"))
    file = f"memories/people/{CANARY}.md"
    up = "../" * 12
    sha = you.commits()[0]
    commands = [
        f"cat {tree}/{file}",
        f"cat {up}{tree}/{file}",
        f"cat /proc/self/root{tree}/{file}",
        f"cat /proc/self/cwd/../../../../../{place.name}/views/*/tree/{file}",
        f"grep -r {CANARY[:5]} {tree}",
        f"grep -r {CANARY[:5]} /",
        f"find {tmp_path} -name '*sittich*'",
        f"ls -R {place.parent.parent}",
        f"cd {tree} && cat {file}",
        f"head -c 1000 < {tree}/{file}",
        f"git -C {tree} log -p",
        f"git --git-dir={place}/git --work-tree={tree} log -p",
        f"git log -p --all --objects={place}/objects",
        f"GIT_DIR={place}/git git log -p",
        f"GIT_ALTERNATE_OBJECT_DIRECTORIES={place}/objects git show {sha}",
        f"GIT_OBJECT_DIRECTORY={place}/objects git show {sha}",
        f"git show {sha}",
        f"git cat-file -p {sha}^{{tree}}",
        f"git diff --no-index profile.md {tree}/{file}",
        f"git log --follow -- {tree}/{file}",
        f"git grep --no-index {CANARY[:5]} {tree}",
        f"git bundle create x {sha}",
        f"git fetch {place}/git",
        f"git clone {place}/git",
        f"sort -m {tree}/{file}",
        f"wc -l {tree}/{file}; diff profile.md {tree}/{file}",
        f"sed -n 'r {tree}/{file}' index.md",
        f"sed -n '1r{tree}/{file}' index.md",
        f"awk '{{while ((getline line < \"{tree}/{file}\") > 0) print line}}' index.md",
        f"xargs -a {tree}/{file} echo",
        f"echo {tree}/{file} | xargs cat",
    ]
    for command in commands:
        answer = me.run(command).get_json()
        said = answer["output"].replace(command, "").replace(file, "")
        assert f"- {CANARY}" not in said, command
        assert f"word is {CANARY}" not in said, command


def test_a_cached_repository_borrows_from_no_other(me: Person, you: Person, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert [path for path in cache.rglob("*") if path.name in ("alternates", "commondir", "shallow", "grafts")] == []
    assert [path for path in cache.rglob("*") if path.is_symlink()] == []
    for person, other in ((me, you), (you, me)):
        packs = {pack.name for pack in _place(tmp_path, person).rglob("*.pack")}
        assert packs
        for sha in set(other.commits()) - set(person.commits()):
            assert person.run(f"git cat-file -t {sha}").get_json()["exit_code"] != 0


def test_a_file_of_one_user_is_no_file_of_another_by_any_address(me: Person, you: Person) -> None:
    file = f"memories/people/{CANARY}.md"
    for path in (
        file,
        f"../bea/{file}",
        f"../../{you.user}/files/{file}",
        f"%2e%2e/{you.user}/{file}",
        f"/v1/users/bea/files/{file}",
        f"..%2f..%2fbea%2f{file}",
    ):
        for address in (f"{me.path}/files/{path}", f"{me.path}/blame/{path}", f"{me.path}/log?path={path}"):
            response = me.app.get(address)
            assert f"- {CANARY}".encode() not in response.data
            assert response.status_code in (200, 400, 404)
            if response.status_code == 200:
                assert response.get_json()["commits"] == []


def test_no_error_names_a_place_on_the_host_or_another_user(me: Person, you: Person, tmp_path: Path) -> None:
    you.app.delete(you.path)
    for address in (you.path, f"{you.path}/export", f"{me.path}/files/../x", f"{me.path}/diff?from=nothing"):
        detail = me.app.get(address).get_json()["detail"]
        assert str(tmp_path) not in detail and "/tmp" not in detail
        assert CANARY not in detail
    for command in ("cat nothing", "git show nothing", "cat /etc/nothing", "sort -o x y", "ls -la .."):
        output = me.run(command).get_json()["output"]
        assert str(tmp_path) not in output
        assert user_hash("bea", None) not in output


def test_the_log_of_it_all_names_nobody(
    me: Person, you: Person, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bundle = you.app.get(f"{you.path}/export").data
    headers = {"Content-Type": "application/x-git-bundle"}
    you.app.put("/v1/users/Zwillingsschwester/import", data=bundle, headers=headers)
    you.app.put("/v1/users/Zwillingsschwester/import?branch=Geheimratsecke", data=b"nothing", headers=headers)
    list(you.everything("Zwillingsschwester"))
    logged = capfd.readouterr().out
    assert logged.count('"severity"') > 10
    for word in (CANARY, "kanarienvogel", "Zwillingsschwester", "Geheimratsecke", str(tmp_path), "users/bea"):
        assert word not in logged
