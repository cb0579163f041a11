"""From table cells to exact values and arrays of one plain column, checked against its feature."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import Bools, Floats, Ints
from ..errors import DataTypeError, InvalidInputError
from .feature import Feature
from .values import MAX_EXACT_INTEGER, Label, number_text, scalar

Value = Fraction | Label
"""Exact value of a feature: rational (real), int (integer, unlabelled ordinal) or label.

The label ``None`` is a missing category; a missing number is the feature's ``absent``.
"""

Codes = Ints


def number(cell: object, where: str) -> int | float | None:
    """A cell of a numeric column: finite number, or ``None`` if missing.

    Raises:
        DataTypeError: text or a boolean.
        InvalidInputError: infinite.
    """
    value = scalar(cell, where)
    if isinstance(value, bool | str):
        raise DataTypeError(
            f"{where}: {value!r} is {'text' if isinstance(value, str) else 'a boolean'}, "
            "but this column holds numbers; write the number alone"
        )
    if isinstance(value, float) and not math.isfinite(value):
        large = ", or larger than a double holds" if math.isinf(value) else ""
        raise InvalidInputError(f"{where}: {value!r} is not a finite number{large}; correct it")
    return value


def encode_cell(feature: Feature, cell: object, *, check_range: bool) -> Value:
    """Exact value of one cell of a plain feature.

    Raises:
        DataTypeError, InvalidInputError: see :meth:`FeatureSpace.encode_row`.
    """
    if feature.is_symbolic:
        return feature.labels[feature.code(scalar(cell, feature.name))]
    value = number(cell, feature.name)
    if value is None:
        if not feature.missing:
            raise InvalidInputError(_no_missing(feature, ""))
        return absent_of(feature)
    return check_number(feature, Fraction(value), check_range=check_range)


def absent_of(feature: Feature) -> Fraction | int:
    """What stands for a missing number of a feature that may miss it, in the feature's type."""
    assert feature.absent is not None
    return feature.typed(feature.absent)


def check_number(feature: Feature, value: Fraction, *, check_range: bool) -> Fraction | int:
    """``value`` as a value of the numeric ``feature``: whole if it must be, and in the range.

    A number so far below the range that it would stand for a missing one is refused in any case.

    The range is compared with what a cell would hold (:meth:`Feature.held`).

    Raises:
        InvalidInputError: a fraction where integers belong, or outside of the range.
    """
    if feature.kind != "real" and value.denominator != 1:
        raise InvalidInputError(_not_whole(feature, number_text(value), ""))
    if check_range:
        lower, upper = feature.bounds
        if not lower <= feature.held(value) <= upper:
            raise InvalidInputError(_outside(feature, value, ""))
    if feature.absent is not None and value <= feature.absent:
        raise InvalidInputError(_outside(feature, value, "", AS_MISSING))
    return feature.typed(value)


def encode_column(feature: Feature, column: pd.Series[Any], *, check_range: bool) -> Floats | Codes:
    """A whole plain column: float64 numbers, or int64 codes into the labels.

    Missing numbers are the feature's ``absent``.

    Raises:
        DataTypeError, InvalidInputError: naming the first offending row and how many there are.
    """
    if feature.is_symbolic:
        return _codes(feature, column)
    values = float_column(column, feature.name)
    _refuse(np.isinf(values), column, f"{feature.name}: infinite value")
    gaps = np.isnan(values)
    if not feature.missing:
        _refuse(gaps, column, lambda row: _no_missing(feature, row))
    known = np.where(gaps, 0.0, values)
    if feature.kind != "real":
        broken = known != np.rint(known)
        _refuse(broken, column, lambda row: _not_whole(feature, f"{known[broken][0]}", row))
    if check_range:
        beyond = ~gaps & _beyond(values, *feature.bounds)
        _refuse(
            beyond, column, lambda row: _outside(feature, Fraction(float(values[beyond][0])), row)
        )
    if feature.absent is None:
        return values
    taken = values <= float(feature.absent)
    _refuse(
        taken,
        column,
        lambda row: _outside(feature, Fraction(float(values[taken][0])), row, AS_MISSING),
    )
    return np.where(gaps, float(feature.absent), values)


def float_column(column: pd.Series[Any], name: str) -> Floats:
    """A numeric column as float64, exactly; missing values become NaN.

    Raises:
        DataTypeError: text, booleans, dates or other things that are no numbers.
        InvalidInputError: whole numbers beyond 2**53, which float64 cannot tell apart.
    """
    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    if not numeric or pd.api.types.is_bool_dtype(column.dtype):
        cells = [number(cell, f"{name}, row {at!r}") for at, cell in column.items()]
        big = [cell for cell in cells if isinstance(cell, int) and abs(cell) > MAX_EXACT_INTEGER]
        values = np.array([math.nan if cell is None else cell for cell in cells], dtype=np.float64)
    else:
        if pd.api.types.is_complex_dtype(column.dtype):
            raise DataTypeError(f"{name}: complex numbers are no feature")
        whole = pd.api.types.is_integer_dtype(column.dtype)
        big = _beyond_exact(column) if whole else []
        values = column.to_numpy(dtype=np.float64, na_value=math.nan)
    if big:
        raise InvalidInputError(
            f"{name}: whole numbers beyond 2**53, such as {int(big[0])}, are not exact as floats; "
            "drop the column, or make it text if it is an identifier"
        )
    return values


def _beyond_exact(column: pd.Series[Any]) -> list[int]:
    """Cells of an integer column beyond 2**53, compared as integers."""
    present = column.dropna()
    return list(present[(present > MAX_EXACT_INTEGER) | (present < -MAX_EXACT_INTEGER)])


def _codes(feature: Feature, column: pd.Series[Any]) -> Codes:
    if pd.api.types.is_object_dtype(column.dtype):
        # Element by element: pandas' hashing would take True for 1.
        labels = (scalar(cell, f"{feature.name}, row {at!r}") for at, cell in column.items())
        return np.array([feature.code(label) for label in labels], dtype=np.int64)
    positions, unique = pd.factorize(column)
    missing = feature.code(None) if (positions < 0).any() else -1
    codes = [feature.code(scalar(cell, feature.name)) for cell in unique]
    # Position -1 is pandas' missing marker; it selects the last entry.
    by_position: Codes = np.array([*codes, missing], dtype=np.int64)
    result: Codes = by_position[positions]
    return result


def _beyond(values: Floats, lower: Fraction, upper: Fraction) -> Bools:
    """Where ``values`` lie outside of ``[lower, upper]``; exact, whether the bounds are doubles."""
    low, high = float(lower), float(upper)
    below = values < low if Fraction(low) >= lower else values <= low
    above = values > high if Fraction(high) <= upper else values >= high
    return below | above


def _refuse(bad: Bools, column: pd.Series[Any], message: str | Callable[[str], str]) -> None:
    count = int(np.count_nonzero(bad))
    if not count:
        return
    row = f" (row {column.index[int(np.argmax(bad))]!r}"
    row += f" and {count - 1} more)" if count > 1 else ")"
    raise InvalidInputError(message + row if isinstance(message, str) else message(row))


def _no_missing(feature: Feature, row: str) -> str:
    return (
        f"{feature.name}: missing value{row}, and none is allowed here; give the number, or set "
        "missing = true in the feature space if the model was trained on missing ones"
    )


def _not_whole(feature: Feature, value: str, row: str) -> str:
    return (
        f"{feature.name}: {value} is no whole number{row}, and the feature is {feature.kind}; "
        "correct it, or make the feature real in the feature space (kind and dtype)"
    )


AS_MISSING = ", where programs read a missing number"


def _outside(feature: Feature, value: Fraction, row: str, why: str = "") -> str:
    lower, upper = feature.bounds
    text, change = number_text(value), "lower" if value < lower else "upper"
    return (
        f"{feature.name}: {text} is outside of the range {number_text(lower)} to "
        f"{number_text(upper)}{why}{row}; correct it, or set {change} to {text} in the feature "
        "space"
    )
