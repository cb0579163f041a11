"""Exact numbers from what people and tables hold."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from ..errors import DataTypeError, InvalidInputError

MAX_EXACT_INTEGER = (
    2**53
)  # every whole number up to here is a double; beyond it, models see another


def exact(value: object, what: str = "number") -> Fraction:
    """The rational that ``value`` is: a float means its exact binary value, text is read exactly.

    ``exact(0.1)`` is 3602879701896397/36028797018963968, ``exact("0.1")`` and ``exact("1/10")``
    are 1/10.

    Raises:
        DataTypeError: not a number.
        InvalidInputError: NaN, infinite, or text that is no number.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction | Decimal):
        raise DataTypeError(f"{what}: {value!r} is not a number")
    try:
        return Fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise InvalidInputError(
            f"{what}: {value!r} is not a finite number; write e.g. 12, 0.5, '0.01' or '1/3'"
        ) from error


def as_written(value: object, what: str = "number") -> Fraction:
    """Like :func:`exact`, but a float means the shortest decimal that denotes it: 0.01 is 1/100.

    For numbers a person types and no column holds (resolutions, weights).
    """
    if isinstance(value, np.floating):
        value = str(value)
    return exact(repr(value) if isinstance(value, float) else value, what)


def is_double(value: Fraction) -> bool:
    """Whether some float64 is exactly ``value``."""
    try:
        return Fraction(float(value)) == value
    except OverflowError:
        return False


def decimal_text(value: Fraction) -> str:
    """Shortest exact text: ``"12"``, ``"0.01"`` if the decimal expansion ends, else ``"1/3"``."""
    twos, rest = _strip(value.denominator, 2)
    fives, rest = _strip(rest, 5)
    if rest != 1:
        return str(value)
    places = max(twos, fives)
    if places == 0:
        return str(value.numerator)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def number_text(value: Fraction) -> str:
    """How a message shows a number: whole, or as the float that it is, or exactly."""
    if value.denominator == 1:
        return str(value.numerator)
    return repr(float(value)) if is_double(value) else decimal_text(value)


def _strip(number: int, prime: int) -> tuple[int, int]:
    count = 0
    while number % prime == 0:
        number, count = number // prime, count + 1
    return count, number


def is_whole(value: float) -> bool:
    """Whether a finite float is an integer."""
    return math.isfinite(value) and value.is_integer()
