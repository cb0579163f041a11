"""Tables of other libraries than pandas: taken in and given back at the public functions."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..errors import DataTypeError, InvalidInputError
from .values import storage_of

Tables = Literal["pandas", "polars"]
"""Whose tables a model takes."""

NAMES = {"i": ("Int", 8), "u": ("UInt", 8), "f": ("Float", 32)}
"""What narwhals calls numbers, and the fewest bits that all libraries have."""
_OWN = (pd.DataFrame, pd.Series, np.ndarray, Mapping, str, Path, list, tuple, type(None))


def as_pandas(table: Any) -> Any:
    """A table of polars or pyarrow as one of pandas with the same cells; all else as it is.

    Numbers keep their width, texts and booleans with gaps become objects where ``None`` is missing,
    and whole numbers with gaps pandas' nullable ones.

    Raises:
        DataTypeError: a query that was not run yet.
    """
    if isinstance(table, _OWN):
        return table
    found = _eager(table)
    if found is None:
        return table
    return pd.DataFrame({name: _to_pandas(found[name]) for name in found.columns})


def rows_of(table: Any, what: str) -> pd.DataFrame:
    """A table of at least one row, as one of pandas; ``what`` is what it is called.

    Raises:
        DataTypeError, InvalidInputError: it is none, or has no rows.
    """
    rows = as_pandas(table)
    if not isinstance(rows, pd.DataFrame):
        raise DataTypeError(
            f"{what} takes a DataFrame of rows, not {type(table).__name__}; such as X[:10], or "
            "pd.DataFrame(rows, columns=[…])"
        )
    if rows.empty:
        raise InvalidInputError(f"{what}: the table has no rows")
    return rows


def kind_of(table: Any) -> Tables:
    """Whose tables a model is given that was trained on such ones."""
    found = None if isinstance(table, _OWN) else _eager(table)
    return "polars" if found is not None and found.implementation.is_polars() else "pandas"


def as_given(frame: pd.DataFrame, given: Any, prefix: str = "") -> Any:
    """A table of pandas in the library of ``given``, in the dtypes of its columns.

    A column of ``given`` that did not change is that very one.  A dtype that cannot hold the cells
    gives way to the nearest one that can, and an index is dropped.

    Args:
        prefix: What the columns of ``given`` are called with in ``frame``.
    """
    found = None if isinstance(given, _OWN) else _eager(given)
    if found is None:
        return frame
    made = {}
    for name in frame.columns:
        own = name.removeprefix(prefix) if name.startswith(prefix) else None
        like = found[own] if own in found.columns else None
        made[name] = _from_pandas(frame[name], name, like, found.implementation)
    return _table(made)


def as_tables(frame: pd.DataFrame, kind: Tables) -> Any:
    """A table of pandas as one of the library ``kind``."""
    if kind == "pandas":
        return frame
    if find_spec("polars") is None:
        raise InvalidInputError(
            "the space says that its model takes tables of polars, which is not installed: "
            "pip install polars"
        )
    import narwhals as nw

    backend = nw.Implementation.POLARS
    return _table({name: _from_pandas(frame[name], name, None, backend) for name in frame.columns})


def indexed(frame: pd.DataFrame, given: Any) -> Any:
    """As :func:`as_given`, with the index as first columns: ``row``, or by its names."""
    if isinstance(given, _OWN) or _eager(given) is None:
        return frame
    names = [_unused(name or "row", frame) for name in frame.index.names]
    return as_given(frame.reset_index(names=names), given)


def _unused(name: str, frame: pd.DataFrame) -> str:
    """A name that is no column's."""
    return _unused(f"{name}_", frame) if name in frame.columns else name


def _eager(table: Any) -> Any:
    """The table as narwhals has it; ``None`` if it is none, or one of pandas."""
    import narwhals as nw

    found = nw.from_native(table, eager_only=False, pass_through=True)
    if isinstance(found, nw.LazyFrame):
        raise DataTypeError("the table is a query that was not run yet: collect it first")
    return found if isinstance(found, nw.DataFrame) else None


def _to_pandas(column: Any) -> Any:
    """A column of narwhals as one of pandas."""
    import narwhals as nw

    dtype, gaps = column.dtype, bool(column.null_count())
    if dtype.is_float() or dtype.is_temporal() or (dtype == nw.Boolean and not gaps):
        return pd.Series(column.to_numpy())
    if dtype.is_integer() and not isinstance(dtype, nw.Int128 | nw.UInt128):
        return pd.Series(column.to_list(), dtype=str(dtype)) if gaps else column.to_numpy()
    if isinstance(dtype, nw.Categorical | nw.Enum) and not gaps:
        return pd.Categorical(column.to_list())
    return pd.Series(column.to_list(), dtype=object)


def _from_pandas(series: pd.Series[Any], name: str, like: Any, backend: Any) -> Any:
    """A column of pandas as one of narwhals: ``like`` itself, in its dtype, or in the nearest."""
    import narwhals as nw

    missing = series.isna().to_numpy()
    if like is not None:
        if pd.Series(_to_pandas(like)).equals(series.reset_index(drop=True)):
            return like.alias(name)
        cells = _cells(series, missing)
        if like.dtype.is_float() and len(like) == len(series):  # null and NaN stay what they were
            kept = zip(cells, missing, like.to_list(), strict=True)
            cells = [old if gone and old is not None and old != old else x for x, gone, old in kept]
        try:
            made = nw.new_series(name, cells, like.dtype, backend=backend)
            held = zip(made.to_list(), cells, strict=True)
            if all(after == cell or cell != cell for after, cell in held):
                return made
        except Exception:  # a library's own error: this dtype does not hold the cells
            pass
    plain = isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf"
    values: Any = series.to_numpy() if plain else _cells(series, missing)
    dtype = nw.String() if missing.all() else None  # not Null, which models read as numbers
    return nw.new_series(name, values, _dtype_of(series.dtype) or dtype, backend=backend)


def _cells(series: pd.Series[Any], missing: Any) -> list[Any]:
    """Plain values, ``None`` where missing."""
    cells = series.astype(object).tolist()
    return [None if gone else cell for cell, gone in zip(cells, missing, strict=True)]


def _dtype_of(dtype: Any) -> Any:
    """Narwhals' dtype of a pandas one; ``None`` if its cells say it."""
    import narwhals as nw

    if isinstance(dtype, pd.CategoricalDtype):
        return nw.Categorical() if dtype.categories.inferred_type == "string" else None
    plain = storage_of(dtype)
    if plain is not None and plain.kind in NAMES:
        name, least = NAMES[plain.kind]
        return getattr(nw, f"{name}{max(8 * plain.itemsize, least)}")()
    return nw.Boolean() if pd.api.types.is_bool_dtype(dtype) else None


def _table(columns: Mapping[str, Any]) -> Any:
    """A native table of columns of narwhals."""
    import narwhals as nw

    return nw.from_dict(dict(columns)).to_native()
