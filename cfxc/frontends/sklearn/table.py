"""The columns that travel between the steps of a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

DType = np.dtype[Any]
DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class Raw:
    """A column of the person's table, as it is; ``dtype`` as scikit-learn sees it."""

    column: str
    dtype: DType


Function = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Image:
    """A rising ``function`` of a column of the table, rounded as the library computes it."""

    source: Raw
    function: Function


@dataclass(frozen=True)
class Cell:
    """Element ``index`` of ``vector``, a value of length ``width`` in the program.

    ``image`` says which function of one column of the table it is, where that is known.
    """

    vector: str
    index: int
    width: int
    dtype: DType = DOUBLE
    image: Image | None = field(default=None, compare=False)


Ref = Raw | Cell


def cells(vector: str, width: int, dtype: DType = DOUBLE) -> tuple[Cell, ...]:
    """All elements of a vector."""
    return tuple(Cell(vector, index, width, dtype) for index in range(width))


def scaled_cells(
    vector: str, refs: Sequence[Ref], functions: Sequence[Function]
) -> tuple[Cell, ...]:
    """All elements of a vector of doubles that applies one rising function to each of ``refs``."""
    width = len(refs)
    return tuple(
        Cell(vector, index, width, image=_image(ref, function))
        for index, (ref, function) in enumerate(zip(refs, functions, strict=True))
    )


def _image(ref: Ref, function: Function) -> Image | None:
    if isinstance(ref, Raw):
        return Image(ref, function)
    if ref.image is None:
        return None
    first = ref.image.function
    return Image(ref.image.source, lambda values: function(first(values)))


def common_dtype(dtypes: Sequence[DType]) -> DType:
    """The dtype of an array that joins columns of these ``dtypes``; objects become doubles."""
    plain = [DOUBLE if dtype.kind not in "biuf" else dtype for dtype in dtypes]
    return np.result_type(*plain) if plain else DOUBLE


def column_dtype(name: str) -> DType:
    """NumPy dtype behind a pandas dtype's name; ``object`` if there is none."""
    dtype = pd.api.types.pandas_dtype(name)
    plain = getattr(dtype, "numpy_dtype", dtype)
    return plain if isinstance(plain, np.dtype) else np.dtype(object)
