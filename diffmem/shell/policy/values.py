"""Checks of what stands after an option: each takes the text and the place, and raises `BadValue` or returns."""

import re
from collections.abc import Callable

from diffmem.shell.policy.verdict import BadValue, Place, quoted

Check = Callable[[str, Place], None]

MAX_WIDTH = 999


def text(_value: str, _place: Place) -> None:
    """Anything: the program treats it as data."""


def number(value: str, _place: Place) -> None:
    """A whole number of at most nine digits."""
    if not re.fullmatch(r"[0-9]{1,9}", value):
        raise BadValue("is not a whole number")


def signed(value: str, _place: Place) -> None:
    """A whole number with an optional sign and the suffix of a size (`+5`, `-3`, `10K`)."""
    if not re.fullmatch(r"[+-]?[0-9]{1,9}([bkKMG]B?)?", value):
        raise BadValue("is not a number")


def small(value: str, _place: Place) -> None:
    """A width or a count of at most 999."""
    if not (re.fullmatch(r"[0-9]{1,3}", value)):
        raise BadValue(f"is not a whole number up to {MAX_WIDTH}")


def character(value: str, _place: Place) -> None:
    """At most a few characters: a separator."""
    if len(value) > 16:
        raise BadValue("is too long for a separator")


def one_of(*choices: str) -> Check:
    """A check that takes exactly `choices`."""

    def check(value: str, _place: Place) -> None:
        if value not in choices:
            raise BadValue(f"must be {quoted(choices)}")

    return check


def matching(pattern: str, what: str) -> Check:
    """A check that takes what `pattern` matches as a whole; `what` ends the sentence `... is not`."""
    compiled = re.compile(pattern, re.ASCII)

    def check(value: str, _place: Place) -> None:
        if not compiled.fullmatch(value):
            raise BadValue(f"is not {what}")

    return check


def widths(value: str, _place: Place) -> None:
    """A printf-like format none of whose numbers is over 999, and none comes from an argument."""
    for number_ in re.findall(r"%[^%a-zA-Z]*", value):
        if "*" in number_:
            raise BadValue("takes a width from an argument; write the number")
        if any(int(digits) > MAX_WIDTH for digits in re.findall(r"[0-9]+", number_)):
            raise BadValue(f"has a width over {MAX_WIDTH}")
