"""`seq`, in exact decimals."""

import re

from diffmem.shell.builtins.shell import Shell, encoded, options

_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})")
_FORMAT = re.compile(r"(?P<before>[^%]*)(?P<conversion>%[-+0# ]*[0-9]*(?:\.[0-9]*)?[efgEFG])(?P<after>[^%]*)")
_CHUNK = 2_000


def seq(shell: Shell, arguments: list[str]) -> int:
    """`seq [-w] [-s SEPARATOR] [-f FORMAT] [FIRST [STEP]] LAST`, written as it is made."""
    given, operands = options(arguments, ("-s", "-f"))
    if not operands:
        shell.complain_as("seq", "missing operand\nTry 'seq --help' for more information.")
        return 1
    for operand in operands:
        if not _DECIMAL.fullmatch(operand):
            shell.complain_as(
                "seq", f"invalid floating point argument: ‘{operand}’\nTry 'seq --help' for more information."
            )
            return 1
    texts = ["1", "1", "1"]
    texts[2] = operands[-1]
    if len(operands) > 1:
        texts[0] = operands[0]
    if len(operands) > 2:
        texts[1] = operands[1]
    return _run(shell, given, texts)


def _run(shell: Shell, given: dict[str, list[str]], texts: list[str]) -> int:
    places = max(_places(texts[0]), _places(texts[1]))
    finest = max(places, _places(texts[2]))
    first, step, last = (_scaled(text, finest) for text in texts)
    if step == 0:
        shell.complain_as("seq", f"invalid Zero increment value: ‘{texts[1]}’\nTry 'seq --help' for more information.")
        return 1
    separator = encoded([*given.get("-s", []), *given.get("--separator", []), "\n"][0])
    conversion = [*given.get("-f", []), *given.get("--format", [])]
    steps = (last - first) // step
    width = 0
    if ("-w" in given or "--equal-width" in given) and steps >= 0:
        width = max(len(_decimal(value, finest, places)) for value in (first, first + steps * step))
    for at in range(0, steps + 1, _CHUNK):
        chunk = range(at, min(at + _CHUNK, steps + 1))
        lines = [encoded(_shown(first + index * step, finest, places, width, conversion)) for index in chunk]
        shell.write(separator.join(lines) + (separator if chunk.stop <= steps else b"\n"))
    return 0


def _shown(value: int, finest: int, places: int, width: int, conversion: list[str]) -> str:
    matched = _FORMAT.fullmatch(conversion[-1]) if conversion else None
    if matched:
        return f"{matched['before']}{matched['conversion'] % (value / 10**finest)}{matched['after']}"
    return _decimal(value, finest, places).zfill(width)


def _places(text: str) -> int:
    return len(text.partition(".")[2])


def _scaled(text: str, places: int) -> int:
    """The number times a power of ten."""
    whole, _, fraction = text.partition(".")
    return int((whole if whole.strip("+-") else f"{whole}0") + fraction.ljust(places, "0"))


def _decimal(value: int, finest: int, places: int) -> str:
    digits = f"{abs(value):0{finest + 1}d}"
    whole, fraction = digits[: len(digits) - finest], digits[len(digits) - finest :]
    shown = f"{whole}.{fraction[:places]}" if places else whole
    return f"-{shown}" if value < 0 else shown
