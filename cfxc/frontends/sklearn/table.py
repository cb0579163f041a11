"""The columns that travel between the steps of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

DType = np.dtype[Any]
DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class Raw:
    """A column of the person's table, as it is; ``dtype`` as scikit-learn sees it."""

    column: str
    dtype: DType


@dataclass(frozen=True)
class Cell:
    """Element ``index`` of ``vector``, a value of length ``width`` in the program."""

    vector: str
    index: int
    width: int
    dtype: DType = DOUBLE


Ref = Raw | Cell


def cells(vector: str, width: int, dtype: DType = DOUBLE) -> tuple[Cell, ...]:
    """All elements of a vector."""
    return tuple(Cell(vector, index, width, dtype) for index in range(width))


def common_dtype(dtypes: Sequence[DType]) -> DType:
    """The dtype of an array that joins columns of these ``dtypes``; objects become doubles."""
    plain = [DOUBLE if dtype.kind not in "biuf" else dtype for dtype in dtypes]
    return np.result_type(*plain) if plain else DOUBLE


def column_dtype(name: str) -> DType:
    """NumPy dtype behind a pandas dtype's name; ``object`` if there is none."""
    dtype = pd.api.types.pandas_dtype(name)
    plain = getattr(dtype, "numpy_dtype", dtype)
    return plain if isinstance(plain, np.dtype) else np.dtype(object)
