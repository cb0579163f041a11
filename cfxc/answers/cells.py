"""Cells of answers as plain values, and what differs between rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd


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


def plain_row(row: pd.DataFrame) -> Mapping[str, Any]:
    """A one-row table as a mapping of plain cells."""
    return {str(column): plain_cell(row[column].iloc[0]) for column in row.columns}
