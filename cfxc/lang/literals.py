"""Numerals, names and quoted texts: how each is written and read, exactly.

``read_number(write_number(v)) == v`` for every rational ``v``, up to the sign and the parentheses
that :func:`write_number` may put; ``unquote(quote(s, q)) == s`` for every text ``s``.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal

from ..errors import InvalidInputError

#: Reserved words; as a variable each needs back-quotes.
KEYWORDS: Final = frozenset(
    ("program", "skip", "if", "then", "else", "for", "do", "return", "in", "true", "false", "none")
)
#: A numeral is written in decimal if it has at most so many significant digits.
DECIMAL_DIGITS: Final = 12
#: Longest decimal numeral read or written; Python refuses to convert more than 4300 digits.
MAX_DIGITS: Final = 4000
#: Largest exponent read: numbers far beyond any double, yet cheap to compute with.
MAX_EXPONENT: Final = 10_000

_MAX_INTEGER: Final = 10**MAX_DIGITS
# For odd t, t / 2**n has the digits of t * 5**n, which does not end in 0 and is at least 5**18.
_MANY_TWOS: Final = 18
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPE = re.compile(r"\\(?:x(..)|u(....)|U(........)|(.)|$)", re.DOTALL)
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "`": "`"}
_WRITTEN: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}


# -- names and labels ----------------------------------------------------------------------------


def quote(text: str, mark: Literal['"', "`"]) -> str:
    """Return ``text`` between quotation marks, on one line, with escapes where needed."""
    return mark + "".join(_escaped(each, mark) for each in text) + mark


def _escaped(character: str, mark: str) -> str:
    if character == mark:
        return "\\" + mark
    if character in _WRITTEN:
        return _WRITTEN[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def unquote(token: str) -> str:
    """Return the text of a quoted token.

    Raises:
        InvalidInputError: an escape is not one of
            ``\\\\ \\" \\` \\n \\t \\r \\xNN \\uNNNN \\UNNNNNNNN``.
    """
    inside = token[1:-1]
    return _ESCAPE.sub(_unescaped, inside) if "\\" in inside else inside


def _unescaped(match: re.Match[str]) -> str:
    short = match[4]
    if short in _CONTROLS:
        return _CONTROLS[short]
    digits = match[1] or match[2] or match[3] or ""
    if digits and all(each in "0123456789abcdefABCDEF" for each in digits):
        code = int(digits, 16)
        if code <= 0x10FFFF:
            return chr(code)
    raise InvalidInputError(f"unknown escape '{match[0]}'; a backslash is written '\\\\'")


def read_name(token: str) -> str:
    """Return the name that an identifier or a back-quoted token stands for."""
    return unquote(token) if token.startswith("`") else token


def write_name(name: str) -> str:
    """Return the name as an identifier if it can be one, else back-quoted."""
    plain = _IDENTIFIER.fullmatch(name) and name not in KEYWORDS
    return name if plain else quote(name, "`")


# -- numbers -------------------------------------------------------------------------------------


@lru_cache(maxsize=65536)
def read_number(token: str) -> Fraction:
    """Return the exact value of a numeral: ``12``, ``0.1`` (one tenth), ``1e-3``, ``0x1.8p+1``.

    Raises:
        InvalidInputError: the numeral is too long or its exponent is out of reach.
    """
    if token[:2] in ("0x", "0X"):
        digits, _, exponent = token[2:].lower().partition("p")
        base, radix, width = 2, 16, 4
    else:
        digits, _, exponent = token.lower().partition("e")
        base, radix, width = 10, 10, 1
    whole, _, decimals = digits.partition(".")
    if radix == 10 and len(whole) + len(decimals) > MAX_DIGITS:
        raise InvalidInputError(f"a numeral has at most {MAX_DIGITS} digits; write a hex one")
    if len(exponent) > 8 or abs(int(exponent or "0")) > MAX_EXPONENT:
        raise InvalidInputError(f"an exponent is at most {MAX_EXPONENT}")
    power = int(exponent or "0") - width * len(decimals)
    mantissa = int(whole + decimals, radix)
    if power >= 0:
        return Fraction(mantissa * base**power)
    return Fraction(mantissa, base**-power)


def write_number(value: Fraction) -> str:
    """Return the numeral of ``value``: exact, the most readable form that it has.

    Decimal with at most :data:`DECIMAL_DIGITS` significant digits; else hexadecimal floating point
    for an integer over a power of two (all doubles); else the full decimal if it ends; else
    ``(p/q)``.
    """
    sign = "-" if value < 0 else ""
    top, bottom = abs(value.numerator), value.denominator
    twos, fives, rest = _powers(bottom)
    if rest == 1 and not fives and _long(top, twos):
        if abs(top.bit_length() - 1 - twos) <= MAX_EXPONENT:
            return sign + _hexadecimal(top, twos)
    elif rest == 1:
        places = max(twos, fives)
        scaled = top * 2 ** (places - twos) * 5 ** (places - fives)
        if scaled < _MAX_INTEGER and places <= MAX_EXPONENT:
            return sign + _decimal(scaled, places)
    return f"({sign}{_integer(top)}/{_integer(bottom)})"


def _powers(bottom: int) -> tuple[int, int, int]:
    """Return a, b, r with ``bottom = 2**a * 5**b * r`` and r prime to 10."""
    twos = (bottom & -bottom).bit_length() - 1
    rest, fives = bottom >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return twos, fives, rest


def _long(top: int, twos: int) -> bool:
    """Whether ``top / 2**twos`` in lowest terms has more than DECIMAL_DIGITS significant digits."""
    if twos >= _MANY_TWOS or top >= _MAX_INTEGER:
        return True
    scaled = top * 5**twos
    while scaled >= 10**DECIMAL_DIGITS:
        scaled, last = divmod(scaled, 10)
        if last:
            return True
    return False


def _decimal(scaled: int, places: int) -> str:
    """Return ``scaled / 10**places`` in plain or scientific notation."""
    if not scaled:
        return "0"
    text = str(scaled)
    digits = text.rstrip("0")
    point = len(text) - places
    if len(digits) <= point <= DECIMAL_DIGITS + 6:
        return digits + "0" * (point - len(digits))
    if 0 < point < len(digits):
        return f"{digits[:point]}.{digits[point:]}"
    if -5 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{mantissa}e{point - 1:+d}"


def _hexadecimal(top: int, twos: int) -> str:
    """Return ``top / 2**twos`` as ``0x1.…p±e``, ``float.hex`` without its trailing zeros."""
    exponent = top.bit_length() - 1
    pad = -exponent % 4
    digits = f"{(top - (1 << exponent)) << pad:0{(exponent + pad) // 4}x}".rstrip("0")
    fraction = f".{digits}" if digits else ""
    return f"0x1{fraction}p{exponent - twos:+d}"


def _integer(value: int) -> str:
    return str(value) if value < _MAX_INTEGER else hex(value)
