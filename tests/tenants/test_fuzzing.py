"""Any text as a user, and any text as a path: an answer of the contract, and never a file that should not be there."""

from pathlib import Path
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diffmem.git.paths import unsafe_reason
from diffmem.http.routing import USER_PATTERN
from diffmem.repository import user_hash
from diffmem.repository.names import manifest_name, new_id, new_pack, pack_objects
from diffmem.storage.bucket import check_name
from tests.support.app import Function
from tests.support.people import uids

MARKDOWN = {"Content-Type": "text/markdown", "If-None-Match": "*"}
SETTINGS = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ODD = (
    "..",
    ".",
    "/",
    "%2e",
    "%2F",
    "\0",
    "\n",
    "\\",
    ".git",
    "~",
    ":",
    "\u202e",
    "é",
    "😀",
    "a",
    "A",
    "x.md",
    "-",
    " ",
)
TEXT = st.text(max_size=40) | st.lists(st.sampled_from(ODD), max_size=6).map("".join)
NAMES = st.from_regex(USER_PATTERN, fullmatch=True)


def _outside(folder: Path) -> set[Path]:
    """What lies where the function has nothing to write."""
    return {path for path in folder.iterdir() if path.name not in ("bucket", "cache")}


@SETTINGS
@given(name=TEXT)
def test_any_text_as_a_user_is_a_user_or_is_refused(app: Function, tmp_path: Path, name: str) -> None:
    before = uids(tmp_path / "bucket")
    response = app.get(f"/v1/users/{quote(name, safe='', errors='surrogatepass')}/log")
    assert response.status_code in (400, 404)
    assert uids(tmp_path / "bucket") == before, "asking makes nothing"
    assert _outside(tmp_path) == set()


@settings(SETTINGS, max_examples=15)
@given(name=NAMES)
def test_every_name_that_is_one_has_a_memory_of_its_own(app: Function, tmp_path: Path, name: str) -> None:
    app.put(f"/v1/users/{quote(name, safe='')}", {})
    assert user_hash(name, None) in uids(tmp_path / "bucket")
    assert app.get(f"/v1/users/{quote(name, safe='')}").get_json()["user"] == name


@SETTINGS
@given(name=NAMES | TEXT)
def test_objects_are_named_without_the_user_and_fit_every_store(name: str) -> None:
    uid = user_hash(name, None)
    for object_name in (manifest_name(uid), *pack_objects(uid, new_pack(7, "0" * 40, new_id()))):
        assert check_name(object_name) == object_name.lower()
        assert len(name) < 4 or name not in object_name


@settings(SETTINGS, max_examples=40)
@given(path=TEXT.map(lambda text: f"{text}.md") | TEXT)
def test_any_text_as_a_path_is_a_file_of_the_memory_or_is_refused(app: Function, tmp_path: Path, path: str) -> None:
    app.put("/v1/users/alex", {})
    address = f"/v1/users/alex/files/{quote(path, safe='/', errors='surrogatepass')}"
    written = app.put(address, data=b"x\n", headers=MARKDOWN)
    assert written.status_code in (200, 201, 400, 404, 409, 412, 422)
    read = app.get(address)
    assert read.status_code in (200, 400, 404)
    if written.status_code == 201:
        assert read.data == b"x\n"
        assert unsafe_reason(path) is None
        assert [row["path"] for row in app.get("/v1/users/alex/files").get_json()["files"] if row["bytes"] == 2] == [
            path
        ]
    app.delete("/v1/users/alex")
    assert _outside(tmp_path) == set()
    assert not list((tmp_path / "cache").rglob("*.md"))


@SETTINGS
@given(path=TEXT)
def test_a_path_that_is_let_through_stays_within_a_folder(path: str) -> None:
    if unsafe_reason(path) is None:
        folder = Path("/memory/tree")
        assert (folder / path).is_relative_to(folder)
        parts = (folder / path).parts
        assert ".." not in parts and ".git" not in [part.lower() for part in parts]
        assert "\0" not in path and "\n" not in path
