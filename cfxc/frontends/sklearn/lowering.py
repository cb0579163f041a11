"""The state of one lowering: the program so far, the columns between steps, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...errors import UnsupportedError
from ...ir import Builder, Op, Operand, Tensor, ops
from ...space import FeatureSpace
from ...space.inputs import NOT_A_NUMBER, Column, column, column_parts, declare_inputs

DType = np.dtype[Any]
DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class Raw:
    """A column of the user's table, as it is; ``dtype`` as scikit-learn sees it."""

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


def as_array(refs: Sequence[Ref]) -> tuple[Ref, ...]:
    """The columns of one array made of ``refs``: of one dtype, objects as soon as one is."""
    plain = all(ref.dtype.kind in "biuf" for ref in refs)
    dtype = common_dtype([ref.dtype for ref in refs]) if plain else np.dtype(object)
    return tuple(Raw(ref.column, dtype) if isinstance(ref, Raw) else ref for ref in refs)


def column_dtype(name: str) -> DType:
    """NumPy dtype behind a pandas dtype's name; ``object`` if there is none."""
    dtype = pd.api.types.pandas_dtype(name)
    plain = getattr(dtype, "numpy_dtype", dtype)
    return plain if isinstance(plain, np.dtype) else np.dtype(object)


class Lowering:
    """Builds a program while collecting what the space and the model disagree on.

    Problems do not stop the work: a placeholder stands in, and ``finish`` raises all of them.
    """

    def __init__(self, name: str, space: FeatureSpace) -> None:
        self.space = space
        self.builder = Builder(name)
        self.problems: dict[str, str] = {}
        self.definitions: dict[str, Op] = {}
        self.sparse = False  # whether the step gets a sparse matrix, as fitted
        self._path: list[str] = []
        self._vectors: dict[tuple[Ref, ...], str] = {}
        declare_inputs(self.builder, space)

    @property
    def where(self) -> str:
        """The step being lowered, outermost first."""
        return " > ".join(self._path)

    @contextmanager
    def at(self, step: str) -> Iterator[None]:
        """Mark what is appended inside as coming from ``step`` of the current one."""
        self._path.append(step)
        try:
            with self.builder.at(self.where):
                yield
        finally:
            self._path.pop()

    def problem(self, text: str, remedy: str) -> None:
        """Note that the current step cannot be lowered for this space, and what helps."""
        self.problems.setdefault(f"{self.where}: {text}", remedy)

    def finish(self) -> None:
        """Raise ``UnsupportedError`` with all problems, if there are any."""
        if self.problems:
            remedies = " ".join(dict.fromkeys(self.problems.values()))
            raise UnsupportedError(
                "the model cannot be lowered for this feature space", list(self.problems), remedies
            )

    def let(self, op: Op) -> str:
        """Append an assignment and return its name."""
        name = self.builder.let(op)
        self.definitions[name] = op
        return name

    def constant(self, values: npt.ArrayLike) -> str:
        """A constant array; floats are upcast to doubles exactly."""
        return self.let(ops.Constant(tensor(values)))

    def source(self, ref: Raw) -> Column:
        """The table's column behind ``ref``, as a function of its feature."""
        return column(self.space, ref.column)

    def vector(self, refs: Sequence[Ref]) -> str:
        """The numbers in the columns ``refs`` as one vector of their length."""
        key = tuple(refs)
        if key not in self._vectors:
            self._vectors[key] = self._gather(key)
        return self._vectors[key]

    def _gather(self, refs: tuple[Ref, ...]) -> str:
        parts: list[Operand] = []
        for vector, group in groupby(refs, lambda ref: getattr(ref, "vector", "")):
            run = list(group)
            parts += [self._take(vector, run)] if vector else self._columns(run)
        if len(parts) == 1 and parts[0] not in self.space:
            return str(parts[0])
        return self.let(ops.Concat(tuple(parts)))

    def _take(self, vector: str, run: Sequence[Any]) -> str:
        indices = tuple(cell.index for cell in run)
        whole = indices == tuple(range(run[0].width))
        return vector if whole else self.let(ops.Take(vector, indices))

    def _columns(self, run: Sequence[Any]) -> list[Operand]:
        flaws = [flaw for ref in run if (flaw := self.source(ref).flaw)]
        for flaw in flaws:
            self.problem(flaw, NOT_A_NUMBER)
        if flaws:
            return [self.constant(np.zeros(len(run)))]
        return column_parts(self.builder, self.space, [ref.column for ref in run])

    def check_double(self, refs: Sequence[Ref], *parameters: object) -> None:
        """Note a problem if the library would compute in single precision here.

        It does so when all columns and parameters are float32 (or narrower): results then differ
        from the model's real arithmetic by far more than the rounding of doubles.
        """
        dtypes = [ref.dtype for ref in refs]
        if parameters:
            dtypes += [np.asarray(parameter).dtype for parameter in parameters]
        dtype = common_dtype(dtypes)
        if dtype.kind == "f" and dtype.itemsize < DOUBLE_BYTES:
            self.problem(f"computes in {dtype}, because all its columns are {dtype}", SINGLE)

    def dtype(self, refs: Sequence[Ref]) -> DType:
        """The dtype of the array that joins the columns ``refs``."""
        return common_dtype([ref.dtype for ref in refs])


DOUBLE_BYTES = 8
SINGLE = (
    "use doubles: infer the space from X.astype('float64'), and give the model such tables "
    "(and encoders dtype=float)."
)


def tensor(values: npt.ArrayLike) -> Tensor:
    """Model parameters as an exact tensor: integers stay so, floats are upcast exactly."""
    array = np.asarray(values)
    if array.dtype.kind == "f" and array.dtype.itemsize > DOUBLE_BYTES:
        raise UnsupportedError(f"parameters of type {array.dtype} are not supported")
    return Tensor(array)
