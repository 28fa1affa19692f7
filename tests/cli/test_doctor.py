"""doctor: one line a part, and what to do where it is wrong."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Command, Ended
from tests.support.gcs_strict import StrictGCS


@pytest.fixture
def gcs() -> Iterator[StrictGCS]:
    with StrictGCS("memory") as server:
        yield server


def _states(ended: Ended) -> dict[str, str]:
    return {finding["part"]: finding["state"] for finding in json.loads(ended.out)}


def test_a_set_up_that_is_right_is_told_so(home: Path, diffmem: Command) -> None:
    ended = diffmem("doctor")
    assert ended.code == 0
    assert len(ended.out.splitlines()) == 8
    assert "WRONG" not in ended.out
    assert _states(diffmem("doctor", "--json"))["model"] == "note"


@pytest.mark.parametrize(
    ("name", "value", "part", "words"),
    [
        ("DIFFMEM_AUTH", "maybe", "configuration", "DIFFMEM_AUTH must be one of"),
        ("DIFFMEM_AUTH", "key", "configuration", "needs DIFFMEM_API_KEYS"),
        ("DIFFMEM_STORE", "s3://bucket", "configuration", "DIFFMEM_STORE must be"),
        ("DIFFMEM_HOOKS", "{", "configuration", "DIFFMEM_HOOKS is not JSON"),
        ("DIFFMEM_CACHE", "/proc/nowhere", "cache", "point DIFFMEM_CACHE to a folder"),
        ("DIFFMEM_CACHE_MAX_BYTES", str(10**17), "cache", "set DIFFMEM_CACHE_MAX_BYTES below"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1", "model", "check OPENAI_BASE_URL"),
        ("DIFFMEM_STORE", "file:/proc/nowhere", "store", "/proc"),
    ],
)
def test_what_is_wrong_is_one_line_with_what_to_do(
    home: Path, diffmem: Command, monkeypatch: pytest.MonkeyPatch, name: str, value: str, part: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    ended = diffmem("doctor")
    assert ended.code == 1
    wrong = [line for line in ended.out.splitlines() if line.startswith("WRONG")]
    assert len(wrong) == 1
    assert wrong[0].split()[1] == part
    assert words in wrong[0]


def test_what_a_bucket_keeps_is_a_note(
    home: Path, diffmem: Command, monkeypatch: pytest.MonkeyPatch, gcs: StrictGCS
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs.url)
    monkeypatch.setenv("DIFFMEM_STORE", "gs://memory/some")
    ended = diffmem("doctor")
    assert (ended.code, "WRONG" in ended.out) == (0, False), ended.out
    states = _states(diffmem("doctor", "--json"))
    assert (states["store"], states["clock"]) == ("ok", "ok")
    monkeypatch.setenv("DIFFMEM_STORE", "gs://nothing-there")
    assert _states(diffmem("doctor", "--json"))["store"] == "WRONG"


def test_a_server_that_is_not_there_is_told(diffmem: Command) -> None:
    ended = diffmem("doctor", "--url", "http://127.0.0.1:9")
    assert (ended.code, ended.out.startswith("WRONG  server")) == (1, True)
