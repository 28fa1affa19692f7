import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffmem import tokens

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("hello world", 2), ("Maya's birthday", 4), ("<|endoftext|>", 7), ("妻の誕生日", 5), ("👩‍👩‍👧", 8)],
)
def test_counts_are_those_of_o200k_base(text: str, expected: int) -> None:
    assert tokens.count(text) == expected


def test_a_million_blanks_are_counted() -> None:
    """tiktoken alone panics on them."""
    assert 0 < tokens.count(" " * 1_000_000) < 100_000


@given(st.text())
def test_the_upper_bound_is_one(text: str) -> None:
    assert tokens.count(text) <= tokens.upper_bound(text)


def test_counting_needs_no_network_and_writes_nothing(tmp_path: Path) -> None:
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise OSError('no network here')\n"
        "socket.socket.connect = refuse\n"
        "socket.getaddrinfo = refuse\n"
        "from diffmem import tokens\n"
        "tokens.preload().join()\n"
        "print(tokens.count('hello world'))"
    )
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert found.stdout.strip() == "2", found.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_rank_file_is_the_published_one() -> None:
    import hashlib

    data = (ROOT / "diffmem" / "data" / "fb374d419588a4632f3f557e76b4b70aebbca790").read_bytes()
    assert hashlib.sha256(data).hexdigest() == "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


def test_the_encoding_is_tiktokens_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pattern, special tokens and ranks, as tiktoken makes them of the same file."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(ROOT / "diffmem" / "data"))
    theirs = importlib.import_module("tiktoken_ext.openai_public").o200k_base()
    ours = tokens.encoding()
    assert (ours._pat_str, ours._special_tokens) == (theirs["pat_str"], theirs["special_tokens"])
    assert ours._mergeable_ranks == theirs["mergeable_ranks"]
