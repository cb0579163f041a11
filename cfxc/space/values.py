"""Exact numbers and categories, and the cells that tables hold them in."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ..errors import DataTypeError, InvalidInputError, brief

MAX_EXACT_INTEGER = 2**53
"""Every whole number up to here is a double; beyond it, models see another."""
MAX_EXPONENT = 350
"""Of ten, in text: beyond all doubles."""
MAX_DIGITS = 391
"""Of a numerator and a denominator: beyond those of doubles, and what the checker reads."""
MAX_BITS = 1298
"""The same in bits."""
EXPONENT = re.compile(r"[eE][+-]?([\d_]+)\s*$")


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
        raise DataTypeError(f"{what}: {brief(value)} is not a number")
    if _exponent(value) > MAX_EXPONENT:
        shown = value if isinstance(value, Decimal) else brief(value)
        raise InvalidInputError(f"{what}: the exponent of {shown} is beyond {MAX_EXPONENT}")
    if _length(value) > 3 * MAX_DIGITS:  # zeros among them, a point, a quotient
        raise InvalidInputError(f"{what}: {brief(value)} has too many digits")
    try:
        found = Fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise InvalidInputError(
            f"{what}: {brief(value)} is not a finite number; write e.g. 12, 0.5, '0.01' or '1/3'"
        ) from error
    if max(found.numerator.bit_length(), found.denominator.bit_length()) > MAX_BITS:
        raise InvalidInputError(f"{what}: {brief(value)} has too many digits")
    return found


def _exponent(value: int | float | str | Fraction | Decimal) -> int:
    """Of ten, without its sign, as the number is written: so many digits a fraction of it has."""
    if isinstance(value, Decimal):
        return abs(value.adjusted()) if value.is_finite() else 0
    found = EXPONENT.search(value) if isinstance(value, str) else None
    digits = found[1].replace("_", "") if found else ""
    return int(digits or 0) if len(digits) <= MAX_EXPONENT else MAX_EXPONENT + 1


def _length(value: object) -> int:
    """Characters or digits, where reading them takes time."""
    if isinstance(value, Decimal):
        return len(value.as_tuple().digits)
    return len(value) if isinstance(value, str) else 0


def as_written(value: object, what: str = "number") -> Fraction:
    """Like :func:`exact`, but a float means the shortest decimal that denotes it: 0.01 is 1/100.

    For numbers that a user types and no column holds (resolutions, weights).
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
    if places > MAX_DIGITS:
        return str(value)
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


def first_true(condition: Callable[[int], bool], near: int) -> int:
    """Smallest k with ``condition(k)``, which is false up to some point and true from there on."""
    width = 1
    if condition(near):
        while condition(near - width):
            width *= 2
        low, high = near - width, near
    else:
        while not condition(near + width):
            width *= 2
        low, high = near, near + width
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle, high)
    return high


def is_whole(value: float) -> bool:
    """Whether a finite float is an integer."""
    return math.isfinite(value) and value.is_integer()


_TYPE_ORDER = {"boolean": 0, "number": 1, "text": 2, "missing": 3}

Label = str | int | float | bool | None
"""A category as a user sees it; ``None`` is *missing*, a category of its own."""

MISSING = {"nan": math.nan, "none": None, "na": pd.NA}
"""How cells of object columns may write a missing value, by name."""

Key = tuple[str, Label]


def key(label: Label) -> Key:
    """Identity of a label: 1 and 1.0 are one label; True is none of them, nor is the text '1'."""
    if label is None:
        return ("missing", None)
    if isinstance(label, bool):
        return ("boolean", label)
    return ("text" if isinstance(label, str) else "number", label)


def scalar(cell: object, where: str) -> Label:
    """A table's cell as a plain Python value; every missing-value marker becomes ``None``.

    Raises:
        DataTypeError: the cell is no text, number or boolean (a date, a list, …).
    """
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return None
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, float) and math.isnan(cell):
        return None
    if isinstance(cell, str | int | float):  # bool is an int
        return cell
    raise DataTypeError(
        f"{where}: {cell!r} ({type(cell).__name__}) is neither text, a number nor a boolean; "
        "turn it into one of these (a date, for example, into days since a fixed day)"
    )


def is_dictionary(dtype: object) -> bool:
    """Whether it is pyarrow's dtype of categories."""
    return isinstance(dtype, pd.ArrowDtype) and issubclass(dtype.type, pd.CategoricalDtype.type)


def storage_of(dtype: object) -> np.dtype[Any] | None:
    """NumPy's dtype behind one of pandas; ``None`` if there is none."""
    plain = getattr(dtype, "numpy_dtype", dtype)
    return plain if isinstance(plain, np.dtype) else None


def dtype_name(dtype: object) -> str:
    """The name that pandas knows a dtype by; pyarrow's of categories has none of its own."""
    return "category" if is_dictionary(dtype) else str(dtype)


def missing_as(cell: object) -> str:
    """Which of ``MISSING`` a missing cell is; ``nan`` if it is not one of the other two."""
    return "none" if cell is None else "na" if cell is pd.NA else "nan"


def canonical(label: Label) -> Label:
    """Whole floats become integers, so that codes read from a float column print as 1, not 1.0."""
    if isinstance(label, float) and label.is_integer():
        return int(label)
    return label


def distinct(values: Iterable[Label]) -> dict[Key, Label]:
    """The different labels among ``values``, in order of appearance, whole floats as integers."""
    found: dict[Key, Label] = {}
    for value in values:
        found.setdefault(key(value), canonical(value))
    return found


def in_order(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Labels sorted: booleans, numbers, text, missing; each by value."""

    def rank(label: Label) -> tuple[int, float, str]:
        kind, _ = key(label)
        if isinstance(label, str):
            return (_TYPE_ORDER[kind], 0, label)
        return (_TYPE_ORDER[kind], 0 if label is None else label, "")

    return tuple(sorted(labels, key=rank))


def check_labels(labels: tuple[Label, ...], where: str) -> None:
    """Labels must be plain, finite, all different, and not mix booleans with numbers.

    The last because tables cannot tell ``True`` from ``1``.

    Raises:
        DataTypeError, InvalidInputError: naming the label.
    """
    if not labels:
        raise InvalidInputError(f"{where}: no categories; list at least one in labels")
    for label in labels:
        if label is not None and not isinstance(label, str | int | float):
            raise DataTypeError(f"{where}: label {label!r} is neither text, number, bool nor None")
        if isinstance(label, float) and not math.isfinite(label):
            raise InvalidInputError(f"{where}: label {label!r} is not finite (None means missing)")
    if len({key(label) for label in labels}) < len(labels):
        raise InvalidInputError(f"{where}: the same category is listed twice")
    kinds = {key(label)[0] for label in labels}
    if {"boolean", "number"} <= kinds:
        raise InvalidInputError(
            f"{where}: booleans and numbers are mixed, and True cannot be told from 1 in a table; "
            "use one of the two"
        )
