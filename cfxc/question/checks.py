"""Checks of one value each: ``DataTypeError`` or ``InvalidInputError`` that names the option."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf
from numbers import Integral, Real
from typing import Any

from ..errors import DataTypeError, InvalidInputError, brief
from ..space.values import MAX_EXPONENT, as_written


def anything(value: Any, name: str) -> Any:
    """What is checked where it is used, with the model at hand."""
    return value


def one_of(*known: str) -> Callable[[Any, str], str]:
    """One of some names."""

    def check(value: Any, name: str) -> str:
        if not isinstance(value, str) or value not in known:
            raise InvalidInputError(f"unknown {name} {brief(value)}: {', '.join(known)}")
        return str(value)

    return check


def as_double(value: Any, demand: str) -> float:
    """A real number as a double, infinite beyond the largest; else ``demand`` is the error."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise DataTypeError(f"{demand}, not {brief(value)}")
    try:
        return float(value)
    except OverflowError:
        return -inf if value < 0 else inf


def positive_number(value: Any, name: str, *, finite: bool = False) -> float:
    """A number > 0, which may be infinite unless it is to be ``finite``."""
    demand = f"{name} must be a positive{', finite' * finite} number"
    number = as_double(value, demand)
    if not number > 0 or (finite and number == inf):
        raise InvalidInputError(f"{demand}, not {number}")
    return number


def proper_share(value: Any, name: str) -> float:
    """A number between 0 and 1, both left out."""
    demand = f"{name} must be a number between 0 and 1, such as 0.001 for a thousandth"
    number = as_double(value, demand)
    if not 0 < number < 1:
        raise InvalidInputError(f"{demand}, not {number}")
    return number


def number_from_zero(value: Any, name: str) -> float:
    """A finite number >= 0."""
    number = as_double(value, f"{name} must be a number >= 0")
    if not 0 <= number < inf:
        raise InvalidInputError(f"{name} must be finite and >= 0, not {number}")
    return number


def closed_share(value: Any, name: str) -> float:
    """A number from 0 to 1."""
    demand = f"{name} is a share from 0 to 1"
    number = as_double(value, demand)
    if not 0 <= number <= 1:
        raise InvalidInputError(f"{demand}, not {number}")
    return number


def non_negative(value: Any, name: str) -> Fraction:
    """An exact number from 0 on."""
    number = as_written(value, name)
    if number < 0:
        raise InvalidInputError(f"{name} must be at least 0, not {brief(value)}")
    return number


def whole_number(value: Any, name: str, least: int, *, also: str = "") -> int:
    """A whole number from ``least`` on; ``also``: what else a message offers."""
    demand = f"{name} must be {also}a whole number from {least}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise DataTypeError(f"{demand}, not {brief(value)}")
    if not least <= int(value) <= 10**MAX_EXPONENT:
        demand += f" to 10**{MAX_EXPONENT}" * (int(value) > least)
        raise InvalidInputError(f"{demand}, not {brief(int(value))}")
    return int(value)


def whole_from(least: int) -> Callable[[Any, str], int]:
    """:func:`whole_number` from a least one on."""
    return lambda value, name: whole_number(value, name, least)


def processors(value: Any, name: str) -> int:
    """A number of threads or processes; -1 for all processors."""
    from joblib import cpu_count

    all_of_them = isinstance(value, Integral) and value == -1
    return whole_number(cpu_count() if all_of_them else value, name, 1, also="-1, or ")
