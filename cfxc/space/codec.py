"""Rows of a table to exact values and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..arrays import Floats
from ..errors import CfxcError, DataTypeError, InvalidInputError, MissingColumnError
from .cells import Codes, Value, absent_of, check_number, encode_cell, encode_column
from .feature import Feature
from .groups import encode_group, encode_group_frame
from .infer import check_frame
from .names import renamed, shown, suggestion
from .values import MISSING, Label, canonical, exact, key, number_text, scalar

Extra = Literal["error", "ignore"]
Row = pd.DataFrame | pd.Series | Mapping[str, object]
FEW = 4
"""Columns that are changed one by one: of more, a new table is quicker."""


def check_columns(columns: Sequence[str], given: Sequence[object], extra: Extra) -> None:
    """Every column of the space is there, once, and none that it does not know.

    Raises:
        MissingColumnError: listing all that are missing.
        InvalidInputError: unknown columns (unless ``extra="ignore"``), or one given twice.
    """
    if given == list(columns):
        return
    missing = [column for column in columns if column not in given]
    unknown = [column for column in given if column not in columns]
    if missing:
        raise MissingColumnError(
            f"missing column{'s' * (len(missing) > 1)}: {shown(missing)}"
            + (f"; there are unknown ones: {shown(unknown)}" if unknown else "")
            + renamed(missing, unknown)
            + "; a row has every column of the space"
        )
    if unknown and extra != "ignore":
        raise InvalidInputError(
            f"unknown column{'s' * (len(unknown) > 1)}: {shown(unknown)}"
            f"{suggestion(unknown[0], columns)}; leave {'them' if len(unknown) > 1 else 'it'} out: "
            "X[list(space.columns)]"
        )
    if len(set(given)) < len(given):
        twice = [column for column in columns if list(given).count(column) > 1]
        if twice or extra != "ignore":
            raise InvalidInputError(f"given twice: {shown(twice)}")


def row_cells(row: object, columns: Sequence[str], extra: Extra) -> dict[str, object]:
    """Cell of each column in a one-row DataFrame, a Series or a mapping."""
    if isinstance(row, pd.DataFrame):
        given = row.columns.tolist()
        check_columns(columns, given, extra)
        if len(row) != 1:
            raise InvalidInputError(f"expected one row, got {len(row)}; select one: X.iloc[[0]]")
        cells = dict(zip(given, row.to_numpy(dtype=object)[0], strict=True))
        return {column: cells[column] for column in columns}
    if isinstance(row, pd.Series):
        check_columns(columns, list(row.index), extra)
        return {column: row[column] for column in columns}
    if isinstance(row, Mapping):
        check_columns(columns, list(row), extra)
        return {column: row[column] for column in columns}
    raise DataTypeError(
        f"a row is a one-row DataFrame, a Series or a dict, not {type(row).__name__}"
    )


def frame_cells(frame: pd.DataFrame) -> list[dict[str, object]]:
    """The cells of every row, by column, as :func:`row_cells` reads them from one row alone.

    Raises:
        DataTypeError, InvalidInputError: what is no table.
    """
    check_frame(frame)
    names = frame.columns.tolist()
    return [dict(zip(names, cells, strict=True)) for cells in frame.to_numpy(dtype=object)]


def encode_row(
    features: Sequence[Feature], cells: Mapping[str, object], *, check_range: bool
) -> dict[str, Value]:
    """See :meth:`FeatureSpace.encode_row`."""
    return {
        feature.name: encode_cell(feature, cells[feature.columns[0]], check_range=check_range)
        if feature.encoding == "plain"
        else encode_group(feature, cells)
        for feature in features
    }


def encode_frame(
    features: Sequence[Feature], frame: pd.DataFrame, *, check_range: bool
) -> dict[str, Floats | Codes]:
    """See :meth:`FeatureSpace.encode_frame`."""
    return {
        feature.name: _encode_feature(feature, frame, check_range=check_range)
        for feature in features
    }


def _encode_feature(feature: Feature, frame: pd.DataFrame, *, check_range: bool) -> Floats | Codes:
    if feature.encoding == "plain":
        return encode_column(feature, frame[feature.columns[0]], check_range=check_range)
    codes = encode_group_frame(feature, frame[list(feature.columns)])
    return codes if feature.is_symbolic else codes.astype(np.float64)


def decode(
    features: Sequence[Feature], columns: Sequence[str], values: Mapping[str, object]
) -> pd.DataFrame:
    """See :meth:`FeatureSpace.decode`."""
    _check_value_names([feature.name for feature in features], values)
    made: dict[str, pd.Series[Any]] = {}
    for feature in features:
        value = _check_value(feature, values[feature.name], {})
        for column, dtype, cell in _cells(feature, value):
            made[column] = _series(feature, cell, [dtype])
    return pd.DataFrame({column: made[column] for column in columns})


class Rows:
    """Rows like one that is given: its columns, dtypes and index, some features changed.

    ``known``: the row's values, where it was read before.

    Raises:
        MissingColumnError, InvalidInputError, DataTypeError: ``like`` is no row of the space.
    """

    def __init__(
        self,
        features: Sequence[Feature],
        columns: Sequence[str],
        like: pd.DataFrame,
        known: Mapping[str, Value] | None = None,
    ) -> None:
        self.features, self.like = features, like
        if known is None:
            check_frame(like)
            known = encode_row(features, row_cells(like, columns, "ignore"), check_range=False)
        self.factual = known
        self._place = {column: i for i, column in enumerate(like.columns)}
        self._dtypes = like.dtypes.tolist()

    def decode(self, values: Mapping[str, object]) -> pd.DataFrame:
        """See :meth:`FeatureSpace.decode`."""
        _check_value_names([feature.name for feature in self.features], values)
        made: dict[int, pd.Series[Any]] = {}
        for feature in self.features:
            value = _check_value(feature, values[feature.name], self.factual)
            if _same(value, self.factual[feature.name]):
                continue
            for column, dtype, cell in _cells(feature, value):
                place = self._place[column]
                made[place] = _series(feature, cell, [self._dtypes[place], dtype])
                made[place].index = self.like.index
        if len(made) > FEW:
            frame = self.like._constructor({**self._given, **made}, index=self.like.index)
            return frame.set_axis(self.like.columns, axis=1).__finalize__(self.like)
        frame = self.like.copy()
        for place, column in made.items():
            frame.isetitem(place, column)
        return frame

    @cached_property
    def _given(self) -> dict[int, pd.Series[Any]]:
        """The row's own columns by their places."""
        return {place: column for place, (_, column) in enumerate(self.like.items())}


def level_cells(
    features: Sequence[Feature], values: Mapping[str, Sequence[Value]], like: pd.DataFrame
) -> dict[str, pd.Series[Any]]:
    """What each column holds at several exact values of its feature: a cell per value, in order.

    In the dtype of ``like``'s column, or one that can hold all cells; they read back as the values.

    Raises:
        InvalidInputError, DataTypeError: a value that is not admissible, or that no cell holds.
    """
    made: dict[str, pd.Series[Any]] = {}
    for feature in features:
        checked = [_check_value(feature, value, {}) for value in values[feature.name]]
        columns: dict[str, list[tuple[str, Label]]] = {name: [] for name in feature.columns}
        for value in checked:
            for column, dtype, cell in _cells(feature, value):
                columns[column].append((dtype, cell))
        for column, cells in columns.items():
            dtypes = (like.dtypes[column], *dict.fromkeys(dtype for dtype, _ in cells))
            made[column] = _all_cells(feature, [cell for _, cell in cells], dtypes)
    return made


def _all_cells(feature: Feature, cells: Sequence[Label], dtypes: Sequence[Any]) -> pd.Series[Any]:
    """The first dtype's series that holds all cells."""
    for dtype in dtypes[:-1]:
        with suppress(InvalidInputError):
            return pd.concat([_series(feature, c, [dtype]) for c in cells], ignore_index=True)
    parts = [_series(feature, cell, dtypes[-1:]) for cell in cells]
    return pd.concat(parts, ignore_index=True)


def _check_value_names(names: Sequence[str], values: Mapping[str, object]) -> None:
    missing = [name for name in names if name not in values]
    unknown = [name for name in values if name not in names]
    if missing:
        raise MissingColumnError(f"no value for feature{'s' * (len(missing) > 1)} {shown(missing)}")
    if unknown:
        raise InvalidInputError(f"no feature {unknown[0]!r}{suggestion(unknown[0], names)}")


def _check_value(feature: Feature, value: object, factual: Mapping[str, Value]) -> Value:
    """``value`` as an admissible value of ``feature``, in canonical form."""
    if feature.is_symbolic:
        return feature.labels[feature.code(scalar(value, feature.name))]
    if value is None or feature.is_absent(value):
        if not feature.missing:
            raise InvalidInputError(f"{feature.name}: a missing value is not allowed here")
        return absent_of(feature)
    if isinstance(value, str):
        raise DataTypeError(f"{feature.name}: {value!r} is text, and this feature is a number")
    number = exact(value, feature.name)
    own = factual.get(feature.name)
    if own is not None and number == own:
        return own
    checked = check_number(feature, number, check_range=True)
    if factual and feature.resolution is not None:
        nearest = round(number / feature.resolution) * feature.resolution
        if number not in (nearest, feature.held(nearest)):
            raise InvalidInputError(
                f"{feature.name}: {number_text(number)} is no multiple of the resolution "
                f"{number_text(feature.resolution)}"
            )
    return checked


def _same(left: Value, right: Value) -> bool:
    if isinstance(left, Fraction) or isinstance(right, Fraction):
        return left == right
    return key(left) == key(right)


def _cells(feature: Feature, value: Value) -> list[tuple[str, str, Label]]:
    """Column, dtype and cell of every column of the feature at ``value``."""
    if feature.encoding == "plain":
        cell: Label
        if feature.is_symbolic:
            cell = None if isinstance(value, Fraction) else value
        else:
            cell = None if feature.is_absent(value) else feature.held(exact(value))
        return [(feature.columns[0], feature.dtype, cell)]
    at = [key(level) for level in feature.levels].index(key(_as_label(value)))
    tables = [feature.table(column) or () for column in feature.columns]
    return [
        (column, dtype, table[at])
        for column, dtype, table in zip(feature.columns, feature.dtypes, tables, strict=True)
    ]


def _as_label(value: Value) -> Label:
    return int(value) if isinstance(value, Fraction) else value


def _series(feature: Feature, cell: Label, dtypes: Sequence[Any]) -> pd.Series[Any]:
    """One-cell series in the first dtype that holds ``cell`` exactly."""
    for dtype in dtypes:
        if str(dtype) == "category" and not isinstance(dtype, pd.CategoricalDtype):
            known = [label for label in feature.levels if label is not None]
            dtype = pd.CategoricalDtype(known, ordered=feature.kind == "ordinal")
        if isinstance(dtype, pd.CategoricalDtype) and cell not in (None, *dtype.categories):
            continue
        try:
            absent = cell is None and str(dtype) == "object"
            made = pd.Series([MISSING[feature.missing_as] if absent else cell], dtype=dtype)
            held = scalar(made.iloc[0], feature.name)
        except (TypeError, ValueError, OverflowError, CfxcError):
            continue  # this dtype cannot hold it: the next one may
        if key(canonical(held)) == key(canonical(cell)) or _is_bit(held, cell, feature):
            return made
    raise InvalidInputError(
        f"{feature.name}: a column of dtype {' or '.join(map(str, dtypes))} cannot hold {cell!r}"
    )


def _is_bit(held: Label, cell: Label, feature: Feature) -> bool:
    """In the columns of encoded groups, booleans stand for 0 and 1."""
    return feature.encoding != "plain" and isinstance(held, bool) and int(held) == cell
