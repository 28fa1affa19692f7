"""`$(( ))`: integer expressions as bash evaluates them, in 64 bits that wrap around, by an evaluator of our own.

No host-language evaluation and no big integers: `1<<9999999999` and `2**9999999999` cost nothing.
Standard library only: this module runs in the worker.
"""

import re
from collections.abc import Callable, MutableMapping

from diffmem.shell.stops import MAX_EVALUATIONS, ExpansionError

MAX_DEPTH = 24
MAX_TOKENS = 2_000

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9][0-9A-Za-z_@#]*)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>\*\*|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&^|]=|[-+*/%<>=!~&^|?:(),]))"
)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@_"
_LEVELS = (
    ("|",), ("^",), ("&",), ("==", "!="), ("<=", ">=", "<", ">"), ("<<", ">>"), ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="))


def evaluate(expression: str, variables: MutableMapping[str, str]) -> int:
    """The value of `expression`; an empty one is 0. Assignments in it change `variables`.

    Raises:
        ExpansionError: with bash's wording.
    """
    return _Evaluator(expression, variables, 0, [MAX_EVALUATIONS]).value()


class _Evaluator:
    """Recursive descent over the tokens.

    `skipping` counts the operands that are read without effect (`0 && x++`); `left` holds how many variables may still
    be evaluated, since each may name others.
    """

    def __init__(self, expression: str, variables: MutableMapping[str, str], depth: int, left: list[int]) -> None:
        left[0] -= 1
        if depth > MAX_DEPTH or left[0] < 0:
            raise ExpansionError(f"{expression[:40]}: expression recursion level exceeded")
        self._expression = expression.strip()
        self._variables = variables
        self._depth = depth
        self._left = left
        self._tokens = _split(self._expression)
        self._at = 0
        self._skipping = 0

    def value(self) -> int:
        if not self._tokens:
            return 0
        result = self._comma()
        if self._at < len(self._tokens):
            raise self._error("syntax error in expression")
        return result

    def _comma(self) -> int:
        result = self._assignment()
        while self._take(","):
            result = self._assignment()
        return result

    def _assignment(self) -> int:
        name, sign = self._peek(0), self._peek(1)
        if _is_name(name) and sign in _ASSIGNMENTS:
            self._at += 2
            with_right = self._deeper(self._assignment)
            value = with_right if sign == "=" else self._binary(sign[:-1], self._read(name), with_right)
            return self._assign(name, value)
        return self._conditional()

    def _conditional(self) -> int:
        condition = self._or()
        if not self._take("?"):
            return condition
        yes = self._maybe(bool(condition), lambda: self._deeper(self._comma))
        if not self._take(":"):
            raise self._error("`:' expected for conditional expression")
        no = self._maybe(not condition, lambda: self._deeper(self._conditional))
        return yes if condition else no

    def _or(self) -> int:
        result = self._and()
        while self._take("||"):
            right = self._maybe(not result, self._and)
            result = int(bool(result) or bool(right))
        return result

    def _and(self) -> int:
        result = self._level(0)
        while self._take("&&"):
            right = self._maybe(bool(result), lambda: self._level(0))
            result = int(bool(result) and bool(right))
        return result

    def _level(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._power()
        result = self._level(level + 1)
        while self._peek(0) in _LEVELS[level]:
            sign = self._next()
            result = self._binary(sign, result, self._level(level + 1))
        return result

    def _power(self) -> int:
        base = self._unary()
        if not self._take("**"):
            return base
        exponent = self._deeper(self._power)
        if exponent < 0 and not self._skipping:
            raise self._error("exponent less than 0")
        return _wrap(pow(base, max(0, exponent), 1 << 64))

    def _unary(self) -> int:
        sign = self._peek(0)
        if sign in ("++", "--") and _is_name(self._peek(1)):
            self._at += 2
            name = self._tokens[self._at - 1]
            return self._assign(name, self._read(name) + (1 if sign == "++" else -1))
        if sign in ("+", "-", "!", "~", "++", "--"):
            self._at += 1
            value = self._deeper(self._unary)
            return {"-": _wrap(-value), "!": int(not value), "~": ~value}.get(sign, value)
        return self._primary()

    def _primary(self) -> int:
        token = self._next()
        if token == "(":
            value = self._deeper(self._comma)
            if not self._take(")"):
                raise self._error("missing `)'")
            return value
        if token[:1].isdigit():
            return self._number(token)
        if not _is_name(token):
            self._at -= 1
            raise self._error("syntax error: operand expected")
        value = self._read(token)
        if self._peek(0) in ("++", "--"):
            self._assign(token, value + (1 if self._next() == "++" else -1))
        return value

    def _number(self, token: str) -> int:
        base, mark, digits = token.partition("#")
        if not mark:
            octal = token.startswith("0") and token[1:2] not in ("x", "X", "")
            base, digits = ("16", token[2:]) if token[:2] in ("0x", "0X") else ("8" if octal else "10", token)
        if not base.isdigit() or not 2 <= int(base[:9]) <= 64 or (mark and not digits):
            raise ExpansionError(f'{token}: invalid arithmetic base (error token is "{token}")')
        value = 0
        for digit in digits.lower() if int(base) <= 36 else digits:
            if not 0 <= _DIGITS.find(digit) < int(base):
                raise ExpansionError(f'{token}: value too great for base (error token is "{token}")')
            value = _wrap(value * int(base) + _DIGITS.index(digit))
        return value

    def _binary(self, sign: str, left: int, right: int) -> int:
        if sign in ("/", "%"):
            return self._divide(sign, left, right)
        return _wrap(_BINARY[sign](left, right))

    def _divide(self, sign: str, left: int, right: int) -> int:
        if right == 0:
            if self._skipping:
                return 0
            raise ExpansionError(f'{self._expression}: division by 0 (error token is "{self._tokens[self._at - 1]}")')
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return _wrap(quotient if sign == "/" else left - quotient * right)

    def _read(self, name: str) -> int:
        text = self._variables.get(name, "").strip()
        if not text or self._skipping:
            return 0
        return _Evaluator(text, self._variables, self._depth + 1, self._left).value()

    def _assign(self, name: str, value: int) -> int:
        value = _wrap(value)
        if not self._skipping:
            self._variables[name] = str(value)
        return value

    def _maybe(self, wanted: bool, operand: Callable[[], int]) -> int:
        self._skipping += not wanted
        try:
            return operand()
        finally:
            self._skipping -= not wanted

    def _deeper(self, operand: Callable[[], int]) -> int:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpansionError(f"{self._expression[:40]}: expression recursion level exceeded")
        try:
            return operand()
        finally:
            self._depth -= 1

    def _peek(self, ahead: int) -> str:
        return self._tokens[self._at + ahead] if self._at + ahead < len(self._tokens) else ""

    def _next(self) -> str:
        self._at += 1
        return self._peek(-1)

    def _take(self, sign: str) -> bool:
        taken = self._peek(0) == sign
        self._at += taken
        return taken

    def _error(self, what: str) -> ExpansionError:
        return ExpansionError(f'{self._expression}: {what} (error token is "{"".join(self._tokens[self._at :])}")')


_BINARY: dict[str, Callable[[int, int], int]] = {
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def _split(expression: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    while at < len(expression):
        token = _TOKEN.match(expression, at)
        if token is None or len(tokens) > MAX_TOKENS:
            rest = expression[at : at + 40]
            raise ExpansionError(
                f'{expression[:200]}: syntax error: invalid arithmetic operator (error token is "{rest}")'
            )
        tokens.append(token[token.lastgroup or 0])
        at = token.end()
    return tokens


def _wrap(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _is_name(token: str) -> bool:
    return token[:1].isalpha() or token[:1] == "_"
