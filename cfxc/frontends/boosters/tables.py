"""Tables as the booster libraries take them: text as categories, everything else as numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...space import Label

Categories = Mapping[str, Sequence[Label]]


def fitting(
    categories: Categories, codes: Collection[str] = ()
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """What gives the columns of a table the dtypes that the model was trained on.

    Args:
        categories: Categories of the columns that hold some, in the order of their codes.
        codes: Columns that hold the codes themselves, as numbers.
    """
    dtypes = {name: pd.CategoricalDtype(list(known)) for name, known in categories.items()}

    def fit(table: pd.DataFrame) -> pd.DataFrame:
        made: dict[str, Any] = {}
        for name in table.columns:
            column = table[name]
            if name in dtypes:
                if column.dtype != dtypes[name]:
                    made[name] = _coded(column, dtypes[name])
            elif name in codes or column.dtype.kind == "O":  # numbers, whatever their dtype
                made[name] = column.astype(np.float64)
        return table.assign(**made) if made else table

    return fit


def _coded(column: pd.Series[Any], dtype: Any) -> Any:
    """A column as categories; missing where it holds another value."""
    codes = dtype.categories.get_indexer(column.astype(object))
    return pd.Categorical.from_codes(codes, dtype=dtype)
