"""Categories: the values of text, boolean and coded columns, and the cells they are read from."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

from ..errors import DataTypeError, InvalidInputError

_TYPE_ORDER = {"boolean": 0, "number": 1, "text": 2, "missing": 3}

Label = str | int | float | bool | None
"""A category as a person sees it; ``None`` is *missing*, a category of its own."""

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
