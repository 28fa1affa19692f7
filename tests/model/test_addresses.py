"""Name lookups: real child processes that answer, fail and stall."""

import socket
import sys

import pytest

from diffmem.model.addresses import Address, Addresses

V4 = Address(socket.AF_INET, "192.0.2.7")
V6 = Address(socket.AF_INET6, "2001:db8::7")


def program(source: str) -> tuple[str, ...]:
    return sys.executable, "-I", "-S", "-c", source


ANSWERS = program("print('v4 192.0.2.7'); print('v6 2001:db8::7'); print('v4 192.0.2.7')")


def test_the_system_is_asked_for_a_name_that_it_does_not_know() -> None:
    with pytest.raises(OSError, match=r"'nowhere\.invalid'"):
        Addresses().of("nowhere.invalid", 20.0)


@pytest.mark.parametrize(
    ("host", "first"),
    [
        ("127.0.0.1", Address(socket.AF_INET, "127.0.0.1")),
        ("::1", Address(socket.AF_INET6, "::1")),
        ("localhost", Address(socket.AF_INET, "127.0.0.1")),
        ("ollama.localhost", Address(socket.AF_INET, "127.0.0.1")),
    ],
)
def test_numbers_and_localhost_need_no_lookup(host: str, first: Address) -> None:
    assert Addresses(("/nonexistent",)).of(host, 1.0)[0] == first


def test_each_address_comes_once_in_the_order_of_the_system() -> None:
    assert Addresses(ANSWERS).of("provider.example", 20.0) == (V4, V6)


@pytest.mark.parametrize("source", ["pass", "print('nonsense')", "raise SystemExit(1)", "print('v4 ')"])
def test_no_answer_is_an_error(source: str) -> None:
    with pytest.raises(OSError, match="no address"):
        Addresses(program(source)).of("provider.example", 20.0)


def test_a_stalled_lookup_is_cut_off() -> None:
    with pytest.raises(TimeoutError):
        Addresses(program("import time; time.sleep(60)")).of("provider.example", 0.1)


def test_an_answer_without_end_is_cut_off() -> None:
    assert Addresses(program("while True: print('v4 192.0.2.7')")).of("provider.example", 20.0)[0] == V4


class Lookups:
    """A memory of addresses over a program that can be exchanged, and a clock that is a number."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.addresses = Addresses(ANSWERS, fresh_seconds=300.0, clock=lambda: self.now)

    def answer_with(self, source: str) -> None:
        self.addresses._command = program(source)


def test_an_answer_is_remembered_while_it_is_fresh() -> None:
    lookups = Lookups()
    lookups.addresses.of("provider.example", 20.0)
    lookups.answer_with("print('v4 192.0.2.8')")
    lookups.now += 299
    assert lookups.addresses.of("provider.example", 20.0) == (V4, V6)
    lookups.now += 2
    assert lookups.addresses.of("provider.example", 20.0) == (Address(socket.AF_INET, "192.0.2.8"),)


def test_a_doubted_answer_is_looked_up_again() -> None:
    lookups = Lookups()
    lookups.addresses.of("provider.example", 20.0)
    lookups.answer_with("print('v4 192.0.2.8')")
    lookups.addresses.doubt("provider.example")
    assert lookups.addresses.of("provider.example", 20.0) == (Address(socket.AF_INET, "192.0.2.8"),)


@pytest.mark.parametrize("source", ["raise SystemExit(1)", "import time; time.sleep(60)"])
def test_an_old_answer_is_better_than_none(source: str) -> None:
    lookups = Lookups()
    lookups.addresses.of("provider.example", 20.0)
    lookups.now += 1000
    lookups.answer_with(source)
    assert lookups.addresses.of("provider.example", 20.0) == (V4, V6)


def test_a_lookup_that_failed_is_made_again_after_half_a_minute() -> None:
    lookups = Lookups()
    lookups.addresses.of("provider.example", 20.0)
    lookups.now += 1000
    lookups.answer_with("raise SystemExit(1)")
    lookups.addresses.of("provider.example", 20.0)
    lookups.answer_with("print('v4 192.0.2.8')")
    lookups.now += 29
    assert lookups.addresses.of("provider.example", 20.0) == (V4, V6)
    lookups.now += 2
    assert lookups.addresses.of("provider.example", 20.0) == (Address(socket.AF_INET, "192.0.2.8"),)
