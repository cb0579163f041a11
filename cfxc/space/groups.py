"""One-hot and thermometer groups: several 0/1 columns that hold one feature.

A group is read only if it is valid (else ``InvalidInputError``, which names the first row that is
not), and written from one label or level, so it is never invalid.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import Ints
from ..errors import InvalidInputError, MissingColumnError
from .cells import float_column
from .feature import Feature
from .names import suggestion
from .values import Label, dtype_name

Bits = Ints
_BOOLEANS = (bool, np.bool_)
_PLAIN = (*_BOOLEANS, int, float, np.integer, np.floating)


def assign_groups(
    columns: Sequence[str], one_hot: Sequence[str], thermometer: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Columns of each prefix, in table order."""
    groups: dict[str, tuple[str, ...]] = {}
    owner: dict[str, str] = {}
    for prefix in (*one_hot, *thermometer):
        members = tuple(name for name in columns if name.startswith(prefix) and name != prefix)
        if not members:
            raise MissingColumnError(
                f"no column starts with {prefix!r}{suggestion(prefix, columns)}"
            )
        if len(members) == 1 and prefix in one_hot:
            raise InvalidInputError(
                f"one-hot group {prefix!r}: only column {members[0]!r} starts so; a group has one "
                "column per category, at least two"
            )
        for member in members:
            if member in owner:
                raise InvalidInputError(
                    f"column {member!r} belongs to two groups, {owner[member]!r} and {prefix!r}"
                )
            owner[member] = prefix
        groups[prefix] = members
    return groups


def group_name(prefix: str) -> str:
    """Name of the merged feature: the prefix without its separator (``sector_`` → ``sector``)."""
    return re.sub(r"[\W_]+$", "", prefix) or prefix


def infer_one_hot(prefix: str, frame: pd.DataFrame) -> Feature:
    """Categorical feature of a one-hot group; labels are the column names after the prefix."""
    feature = Feature(
        name=group_name(prefix),
        kind="categorical",
        labels=tuple(str(column)[len(prefix) :] for column in frame.columns),
        encoding="one_hot",
        columns=tuple(frame.columns),
        dtypes=tuple(map(dtype_name, frame.dtypes)),
    )
    encode_group_frame(feature, frame)
    return feature


def infer_thermometer(prefix: str, frame: pd.DataFrame) -> Feature:
    """Ordinal feature of a thermometer: its level is the number of leading ones.

    Levels are 0..K for K columns, and 1..K if the first column is 1 in every row.
    """
    name, columns = group_name(prefix), tuple(frame.columns)
    bits = read_bits(name, frame)
    feature = Feature(
        name=name,
        kind="ordinal",
        lower=Fraction(int(bits[:, 0].min())),
        upper=Fraction(len(columns)),
        encoding="thermometer",
        columns=columns,
        dtypes=tuple(map(dtype_name, frame.dtypes)),
    )
    levels_of(feature, bits, frame.index)
    return feature


def encode_group(feature: Feature, cells: Mapping[str, object]) -> Label:
    """Label or level that one row's columns of the group stand for."""
    held = [cells[column] for column in feature.columns]
    code = _plain_code(feature, held)
    if code is None:  # no plain numbers, or no group: said in the words for tables
        row = pd.DataFrame([held], columns=feature.columns)
        code = int(encode_group_frame(feature, row.astype(object))[0])
    return feature.labels[code] if feature.is_symbolic else code


def _plain_code(feature: Feature, held: Sequence[object]) -> int | None:
    """The code of a one-hot group in plain numbers, ``None`` where a closer look is needed."""
    if feature.encoding != "one_hot" or not all(isinstance(cell, _PLAIN) for cell in held):
        return None
    rest = [cell for cell in held if cell != 0]
    return held.index(rest[0]) if len(rest) == 1 and rest[0] == 1 else None


def encode_group_frame(feature: Feature, frame: pd.DataFrame) -> Bits:
    """Codes into the labels (one-hot) or levels (thermometer) of many rows, as int64 (n,)."""
    bits = read_bits(feature.name, frame)
    if feature.encoding == "thermometer":
        return levels_of(feature, bits, frame.index)
    ones = bits.sum(axis=1)
    if (ones != 1).any():
        at = int(np.argmax(ones != 1))
        hint = "; keep all columns when encoding (no drop='first')" if ones[at] == 0 else ""
        raise InvalidInputError(
            f"{feature.name}: one-hot group with {ones[at]} ones in row {frame.index[at]!r} "
            f"(and {int((ones != 1).sum()) - 1} more rows); exactly one of its "
            f"{len(feature.columns)} columns must be 1{hint}"
        )
    codes: Bits = bits.argmax(axis=1).astype(np.int64)
    return codes


def levels_of(feature: Feature, bits: Bits, index: pd.Index[Any]) -> Bits:
    """Levels of a thermometer's rows."""
    broken = (np.diff(bits, axis=1) > 0).any(axis=1)
    if broken.any():
        at = int(np.argmax(broken))
        raise InvalidInputError(
            f"{feature.name}: thermometer {bits[at].tolist()} in row {index[at]!r} has a 1 after a "
            "0; the columns, in table order, must stand for rising steps"
        )
    levels: Bits = bits.sum(axis=1).astype(np.int64)
    lower, upper = int(feature.levels[0] or 0), int(feature.levels[-1] or 0)
    outside = (levels < lower) | (levels > upper)
    if outside.any():
        at = int(np.argmax(outside))
        raise InvalidInputError(
            f"{feature.name}: level {levels[at]} in row {index[at]!r} is outside of the levels "
            f"{lower} to {upper}; correct it, or widen lower and upper"
        )
    return levels


def read_bits(name: str, frame: pd.DataFrame) -> Bits:
    """Group columns as an int64 array (n, K) of zeros and ones; booleans count as such."""
    bits = np.empty(frame.shape, dtype=np.int64)
    for position, column in enumerate(frame.columns):
        series = frame[column]
        if pd.api.types.is_object_dtype(series.dtype):
            series = series.map(lambda cell: int(cell) if isinstance(cell, _BOOLEANS) else cell)
        elif pd.api.types.is_bool_dtype(series.dtype) and not series.hasnans:
            series = series.astype(np.int64)
        values = float_column(series, str(column))
        bad = (values != 0) & (values != 1)
        if bad.any():
            at = int(np.argmax(bad))
            raise InvalidInputError(
                f"{name}: column {column!r} holds {frame[column].iloc[at]!r} in row "
                f"{frame.index[at]!r}; the columns of an encoded group hold 0 and 1 only"
            )
        bits[:, position] = values
    return bits
