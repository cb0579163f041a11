"""Rows that are asked about, their cells as plain values, and what differs between rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import Ints
from ..errors import CfxcError, InvalidInputError
from ..show.numbers import cell_text
from ..space import FeatureSpace
from ..space.codec import frame_cells
from ..space.tables import as_pandas

Cells = Mapping[str, object] | None
"""The cells of one row by column, where they were read with those of others."""


def changes_between(before: pd.DataFrame, after: pd.DataFrame) -> list[dict[str, tuple[Any, Any]]]:
    """What differs between the rows of two tables of the same columns, row by row."""
    found: list[dict[str, tuple[Any, Any]]] = [{} for _ in range(len(before))]
    for column in before.columns:  # not row by row, which would turn integers into floats
        pairs = zip(before[column].array, after[column].array, strict=True)
        for changes, (old, new) in zip(found, pairs, strict=True):
            if not _same(old, new):
                changes[str(column)] = (plain_cell(old), plain_cell(new))
    return found


def _same(before: Any, after: Any) -> bool:
    if pd.isna(before) or pd.isna(after):
        return bool(pd.isna(before) and pd.isna(after))
    return bool(before == after)


def plain_cell(value: Any) -> Any:
    """A cell as a plain Python value; a float32 as the shortest decimal that it holds."""
    if isinstance(value, np.float32):
        value = float(str(value))
    plain = value.item() if hasattr(value, "item") else value
    return None if pd.isna(plain) else plain


def changes_text(changes: Mapping[str, tuple[Any, Any]]) -> str:
    """What changes, on one line."""
    pairs = ((name, *map(cell_text, pair)) for name, pair in changes.items())
    return "; ".join(f"{name}: {old} → {new}" for name, old, new in pairs)


def plain_row(row: pd.DataFrame) -> Mapping[str, Any]:
    """A one-row table as a mapping of plain cells."""
    return {str(column): plain_cell(row[column].iloc[0]) for column in row.columns}


def plain_texts(rows: pd.DataFrame) -> tuple[list[str], list[str], list[list[str]]]:
    """Columns, the cells of the first row, and those of each other one, as texts."""
    first, *others = (
        [cell_text(cell) for cell in plain_row(rows.iloc[[i]]).values()] for i in range(len(rows))
    )
    return list(map(str, rows.columns)), first, others


def one_row(space: FeatureSpace, row: Any) -> pd.DataFrame:
    """A row of an instance as a table.

    Raises:
        CfxcError: it is none of the forms a row has, or not of the space.
    """
    row = as_pandas(row)
    if isinstance(row, pd.DataFrame):
        return row
    if isinstance(row, pd.Series):
        row = row.to_dict()
    if not isinstance(row, Mapping):
        raise InvalidInputError(
            "a row is a one-row DataFrame, a Series or a mapping of columns, such as X.iloc[[0]], "
            f"not {type(row).__name__}"
        )
    return space.decode(space.encode_row(row))


def cells_of(rows: pd.DataFrame) -> list[Cells]:
    """The cells of each row, read at once; ``None`` where each is to be read alone, and refused."""
    try:
        return [*frame_cells(rows)]
    except CfxcError:
        return [None] * len(rows)


def first_alike(rows: pd.DataFrame) -> Ints:
    """The place of the first row with the same cells, for each row (n,): they have one answer.

    Cells of objects are the same only if they have one type and one text: ``1`` is not ``True``.
    """
    group = np.zeros(len(rows), dtype=np.int64)
    for number in range(rows.shape[1]):
        column = rows.iloc[:, number]
        if column.dtype == object:
            column = column.map(lambda cell: f"{type(cell).__qualname__} {cell!r}")
        codes = pd.factorize(column, use_na_sentinel=False)[0].astype(np.int64)
        group = np.unique(group * (codes.max() + 1) + codes, return_inverse=True)[1]
    _, place = np.unique(group, return_index=True)
    firsts: Ints = place[group]
    return firsts
