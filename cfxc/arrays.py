"""Arrays of numpy by what they hold; shapes are said where they are used."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]


def distinct_values(values: Array) -> tuple[Array, Ints]:
    """The distinct values in order, and which of them each one is; none may be NaN.

    By hashing, where ``np.unique`` sorts all: of millions with few distinct ones 10 times faster.
    """
    import pandas as pd

    codes, found = pd.factorize(values)
    order = np.argsort(found)
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    return found[order], place[codes]
