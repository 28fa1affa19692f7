import importlib
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import regex
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from diffmem import tokens
from diffmem.tokens.counting import UNSETTLED
from tests.support.published_ranks import as_cache

ROOT = Path(__file__).parent.parent.parent
NEVER = sys.maxsize
TIKTOKEN = tokens.Counter()
TIKTOKEN.load()
ALONE = tokens.Counter(NEVER)

EXAMPLES = [
    ("", 0),
    ("hello world", 2),
    ("Maya's birthday", 4),
    ("<|endoftext|>", 7),
    ("妻の誕生日", 5),
    ("👩‍👩‍👧", 8),
]


def loaded(counter: tokens.Counter) -> bool:
    return counter._encoding is not None


@pytest.fixture
def alone() -> tokens.Counter:
    """One that loads tiktoken only where it has to."""
    return tokens.Counter(NEVER)


@pytest.mark.parametrize(("text", "expected"), EXAMPLES)
def test_counts_are_those_of_o200k_base(alone: tokens.Counter, text: str, expected: int) -> None:
    assert alone.count(text) == TIKTOKEN.count(text) == expected
    assert not loaded(alone)


# What decides where the pattern cuts: apostrophes and their letters (a long s among them), blanks, line ends, numbers,
# marks, modifiers, title case, other scripts.
CUTTING = st.text(
    "'’stremvld STREMVLDſKk \t\r\n\u00a0\u3000/.,-_#*|0123456789٣Ⅷ½éÉßǅʰ\u0301\u200d妻のаЖشไ한👩🏽", max_size=40
)


SETTLED = st.characters(codec="utf-8").filter(lambda character: not UNSETTLED.match(character))


@given(CUTTING | st.text(SETTLED))
def test_alone_it_counts_what_tiktoken_counts(text: str) -> None:
    assert ALONE.count(text) == TIKTOKEN.count(text)
    assert not loaded(ALONE)


@given(st.lists(st.sampled_from(list(TIKTOKEN._vocabulary.ranks())), max_size=12).map(b"".join))
def test_alone_it_merges_any_tokens_as_tiktoken_does(data: bytes) -> None:
    text = UNSETTLED.sub("", data.decode("utf-8", "ignore"))
    assert ALONE.count(text) == TIKTOKEN.count(text)
    assert not loaded(ALONE)


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.md")) + sorted((ROOT / "diffmem").rglob("*.py"))[::10], ids=str)
def test_alone_it_counts_whole_files_as_tiktoken_does(path: Path) -> None:
    text = path.read_text()
    assert ALONE.count(text) == TIKTOKEN.count(text)
    assert [ALONE.count(line) for line in text.split("\n")] == [TIKTOKEN.count(line) for line in text.split("\n")]
    assert not loaded(ALONE)


@pytest.mark.parametrize("kind", sorted(set(re.findall(r"\\p\{\w+\}|\\s", tokens.counting._PATTERN))))
def test_both_engines_agree_on_every_character_that_is_settled(kind: str) -> None:
    """tiktoken's own engine is asked by an encoding that sees nothing but `kind`."""
    text = UNSETTLED.sub("", "".join(map(chr, range(0x110000))))
    bytes_alone = {bytes([byte]): byte for byte in range(256)}
    seen = tiktoken.Encoding("seen", pat_str=kind, mergeable_ranks=bytes_alone, special_tokens={})
    theirs, ours = set(seen.decode(seen.encode_ordinary(text))), set(regex.findall(kind, text))
    assert [f"{ord(character):x}" for character in sorted(theirs ^ ours)] == [], "to be added to UNSETTLED"


@pytest.mark.parametrize(
    "text", ["the bear ʕ•ᴥ•ʔ", "\ud800 half a character", "new: \U00016ea0", "b" * 301, "c" * 20_000]
)
def test_what_it_cannot_count_alone_is_tiktokens_at_once(alone: tokens.Counter, text: str) -> None:
    assert alone.count(text) == TIKTOKEN.count(text)
    assert loaded(alone)


def test_long_words_of_plain_text_need_no_tiktoken(alone: tokens.Counter) -> None:
    text = " ".join(["ไม่มีช่องว่างระหว่างคำ" * 4, "-" * 290, "妻" * 90, "Donaudampfschifffahrtsgesellschaftskapitän"])
    assert alone.count(text) == TIKTOKEN.count(text)
    assert not loaded(alone)


@pytest.mark.parametrize(
    "text", ["the same old words, and again " * 40, " ".join(f"Xqzw{x}vbkjh" for x in "abcdefghij")]
)
def test_tiktoken_is_loaded_beside_when_that_has_become_cheaper(text: str) -> None:
    counter = tokens.Counter(loading_chars=1000)
    expected = TIKTOKEN.count(text)
    assert not loaded(counter)
    assert counter.count(text) == expected
    for thread in threading.enumerate():
        if thread.name == "tiktoken":
            thread.join()
    assert loaded(counter)
    assert counter.count(text) == expected


def test_threads_that_ask_at_once_are_all_answered_right() -> None:
    counter = tokens.Counter(loading_chars=5000)
    texts = [(ROOT / "README.md").read_text()[at : at + 2000] for at in range(0, 16_000, 2000)]
    found: dict[int, int] = {}

    def ask(number: int) -> None:
        found[number] = counter.count(texts[number])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: TIKTOKEN.count(text) for number, text in enumerate(texts)}


@pytest.mark.parametrize("word", [" ", "a", "-", "\n", "abcdefghijklmn", "妻", "\ud800"])
@pytest.mark.parametrize("known", [False, True], ids=["new", "loaded"])
def test_a_word_of_a_million_characters_is_counted_in_portions(word: str, known: bool) -> None:
    """tiktoken alone panics on a million blanks."""
    counter = tokens.Counter()
    if known:
        counter.load()
    text = word * (1_000_000 // len(word))
    exact = sum(TIKTOKEN.count(text[at : at + 100_000]) for at in range(0, len(text), 100_000))
    assert exact - 10 <= counter.count(text) <= exact + 400


@given(st.text("abcdeXYZ-", min_size=100, max_size=300))
def test_portions_are_not_fewer_tokens_than_the_word(word: str) -> None:
    portions = [word[at : at + 30] for at in range(0, len(word), 30)]
    assert sum(map(TIKTOKEN.count, portions)) + len(portions) >= TIKTOKEN.count(word)


@pytest.mark.parametrize("size", [10_001, 150_000])
def test_a_long_word_of_a_text_that_is_not_large_is_counted_exactly(alone: tokens.Counter, size: int) -> None:
    text = f"before {'ab' * (size // 2)} after"
    assert alone.count(text) == TIKTOKEN.count(text) == len(TIKTOKEN.load().encode_ordinary(text))


def test_a_large_text_of_words_is_counted_exactly() -> None:
    text = (ROOT / "README.md").read_text() * 20
    assert len(text) > 200_000
    assert TIKTOKEN.count(text) == tokens.Counter().count(text) == len(TIKTOKEN.load().encode_ordinary(text))


def test_counting_needs_no_network_and_writes_nothing(tmp_path: Path) -> None:
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise OSError('no network here')\n"
        "socket.socket.connect = refuse\n"
        "socket.getaddrinfo = refuse\n"
        "from diffmem import tokens\n"
        "counter = tokens.Counter()\n"
        "print(counter.count('hello world'))\n"
        "counter.load()\n"
        "print(counter.count('hello world'))"
    )
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert found.stdout.split() == ["2", "2"], found.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_encoding_is_tiktokens_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pattern, special tokens and ranks, as tiktoken makes them of the file that it would download."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(as_cache(tmp_path)))
    theirs = importlib.import_module("tiktoken_ext.openai_public").o200k_base()
    ours = TIKTOKEN.load()
    assert (ours._pat_str, ours._special_tokens) == (theirs["pat_str"], theirs["special_tokens"])
    assert ours._mergeable_ranks == theirs["mergeable_ranks"]
