"""The state of one lowering: the program so far, the columns between steps, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...arrays import Floats
from ...errors import UnsupportedError, VerificationError
from ...ir import Builder, Label, Literal, Op, Operand, Tensor, ops
from ...space import FeatureSpace
from ...space.inputs import NOT_A_NUMBER, Column, column, declare_inputs, parts_of
from ...space.names import shown

DType = np.dtype[Any]
DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class Raw:
    """A column of the user's table, as it is; ``dtype`` as scikit-learn sees it.

    ``cells``: what it holds at each label of its feature by now, if a step changed that.
    """

    column: str
    dtype: DType
    cells: tuple[Label, ...] | None = None


Function = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Stage:
    """A ``function`` of doubles that a step applies, rounded as the library computes it.

    It is monotone on the doubles before the first of ``breaks``, from each on to before the next,
    and from the last on; rising if there are none, unless it ``falls``.  Rounding may break that
    within ``loose`` doubles of where it crosses a value: library functions are not always rounded
    correctly.
    """

    function: Function
    breaks: tuple[float, ...] = ()
    falls: bool = False
    loose: int = 0


@dataclass(frozen=True)
class Image:
    """A column of the table after some ``stages``, the first of them first.

    ``fill``: what it holds where the number in the table is missing; ``None``: it is missing too.
    """

    source: Raw
    stages: tuple[Stage, ...] = ()
    fill: float | None = None

    @property
    def rises(self) -> bool:
        """Whether it is a rising function of the column, also as rounded."""
        return not any(stage.breaks or stage.falls or stage.loose for stage in self.stages)

    def then(self, *stages: Stage) -> Image:
        """The column after more stages."""
        fill = self.fill
        if fill is not None:
            fill = float(Image(self.source, stages).function(np.array([fill]))[0])
        return Image(self.source, (*self.stages, *stages), fill)

    def function(self, values: Floats) -> Floats:
        """What the library makes of numbers in the column."""
        for stage in self.stages:
            values = stage.function(values)
        return values


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


@dataclass(frozen=True)
class Traced:
    """A column without a value in the program, for its function has none; trees can compare it.

    ``flaw`` says why to whoever computes with it, and ``remedy`` what to do.
    """

    image: Image
    flaw: str
    remedy: str
    dtype: DType = DOUBLE


Ref = Raw | Cell | Traced
Refs = tuple[Ref, ...]


def named(ref: Ref) -> str:
    """A column as messages call it."""
    return f"column {ref.column!r}" if isinstance(ref, Raw) else "a column made by an earlier step"


def cells(vector: str, width: int, dtype: DType = DOUBLE) -> tuple[Cell, ...]:
    """All elements of a vector."""
    return tuple(Cell(vector, index, width, dtype) for index in range(width))


def staged(ref: Ref, function: Function | Stage) -> Image | None:
    """A column after one more function, a rising one unless it is a ``Stage``."""
    stage = function if isinstance(function, Stage) else Stage(function)
    image = Image(ref) if isinstance(ref, Raw) else ref.image
    return image and image.then(stage)


def common_dtype(dtypes: Sequence[DType]) -> DType:
    """The dtype of an array that joins columns of these ``dtypes``; objects become doubles."""
    plain = [DOUBLE if dtype.kind not in "biuf" else dtype for dtype in dtypes]
    return np.result_type(*plain) if plain else DOUBLE


def as_array(refs: Sequence[Ref]) -> Refs:
    """The columns of one array made of ``refs``: of one dtype, objects as soon as one is."""
    plain = all(ref.dtype.kind in "biuf" for ref in refs)
    dtype = common_dtype([ref.dtype for ref in refs]) if plain else np.dtype(object)
    return tuple(replace(ref, dtype=dtype) if isinstance(ref, Raw) else ref for ref in refs)


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
        self._vectors: dict[Refs, str] = {}
        self._missing: dict[str, str] = {}
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
        except VerificationError as error:  # parameters that no program holds
            raise UnsupportedError(
                "this model cannot be compiled", [f"{self.where}: {error}"], TRAIN_AGAIN
            ) from error
        finally:
            self._path.pop()

    def problem(self, text: str, remedy: str) -> None:
        """Note that the current step cannot be compiled for this space, and what helps."""
        self.problems.setdefault(f"{self.where}: {text}", remedy)

    def finish(self) -> None:
        """Raise ``UnsupportedError`` with all problems, if there are any."""
        if self.problems:
            remedies = " ".join(dict.fromkeys(self.problems.values()))
            raise UnsupportedError(
                "the model cannot be compiled for this feature space", list(self.problems), remedies
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
        found = column(self.space, ref.column)
        return found if ref.cells is None else replace(found, cells=ref.cells)

    def gap(self, ref: Ref) -> str:
        """The feature whose number is missing where the column's is; empty if it never is."""
        image = Image(ref) if isinstance(ref, Raw) else ref.image
        if image is None or image.fill is not None:
            return ""
        feature = self.source(image.source).feature
        return feature.name if feature.missing else ""

    def is_missing(self, name: str) -> str:
        """Whether the number of a feature is missing, a truth value."""
        if name not in self._missing:
            absent = self.space[name].absent
            assert absent is not None
            value = absent if self.space[name].kind == "real" else int(absent)
            self._missing[name] = self.let(ops.Le(name, Literal(value)))
        return self._missing[name]

    def note_gaps(self, refs: Sequence[Ref]) -> None:
        """Note a problem for each column whose number may be missing."""
        for name in filter(None, map(self.gap, refs)):
            column = self.space[name].columns[0]
            self.problem(f"column {column!r} may be missing, and it computes with it", FILL)

    def vector(self, refs: Sequence[Ref], *, gaps: bool = False) -> str:
        """The numbers in the columns ``refs`` as one vector of their length.

        With ``gaps`` some may be missing, for the reader to ask about; else that is a problem.
        """
        key = tuple(refs)
        if not gaps:
            self.note_gaps(key)
        if key not in self._vectors:
            self._vectors[key] = self._gather(key)
        return self._vectors[key]

    def _gather(self, refs: Refs) -> str:
        parts: list[Operand] = []
        for vector, group in groupby(map(self._valued, refs), lambda r: getattr(r, "vector", "")):
            run = list(group)
            parts += [self._take(vector, run)] if vector else self._columns(run)
        if len(parts) == 1 and parts[0] not in self.space:
            return str(parts[0])
        return self.let(ops.Concat(tuple(parts)))

    def _valued(self, ref: Ref) -> Ref:
        """The column, or a placeholder if it has no value here, which is a problem."""
        if not isinstance(ref, Traced):
            return ref
        self.problem(ref.flaw, ref.remedy)
        return Cell(self.constant(np.zeros(1)), 0, 1)

    def _take(self, vector: str, run: Sequence[Any]) -> str:
        indices = tuple(cell.index for cell in run)
        whole = indices == tuple(range(run[0].width))
        return vector if whole else self.let(ops.Take(vector, indices))

    def _columns(self, run: Sequence[Any]) -> list[Operand]:
        sources = [self.source(ref) for ref in run]
        flaws = [
            _made_missing(ref, source) or source.misfit
            for ref, source in zip(run, sources, strict=True)
            if source.misfit
        ]
        for flaw in flaws:
            self.problem(flaw, NOT_A_NUMBER)
        if flaws:
            return [self.constant(np.zeros(len(run)))]
        return parts_of(self.builder, sources)

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

    def check_finite(self, refs: Sequence[Ref], *parameters: npt.ArrayLike | None) -> None:
        """Note a problem for each column of which a parameter is infinite or no number."""
        for held in parameters:
            if held is None:
                continue
            finite = np.isfinite(np.asarray(held, dtype=np.float64))
            for ref in (ref for ref, fine in zip(refs, finite, strict=True) if not fine):
                image = Image(ref) if isinstance(ref, Raw) else ref.image
                name = "a column" if image is None else f"column {image.source.column!r}"
                self.problem(f"what it took from {name} in training is no finite number", OVERFLOW)

    def dtype(self, refs: Sequence[Ref]) -> DType:
        """The dtype of the array that joins the columns ``refs``."""
        return common_dtype([ref.dtype for ref in refs])


def _made_missing(ref: Raw, source: Column) -> str:
    """What an encoder has turned into a missing value, which another step computes with."""
    held = zip(source.feature.labels, ref.cells or (), strict=False)
    lost = [label for label, cell in held if cell is None]
    if not lost:
        return ""
    return (
        f"computes with column {source.name!r}, of which an earlier step turns {shown(lost)} into "
        "a missing value"
    )


FILL = (
    "Put a SimpleImputer before it, or set missing = false in the feature space, which answers "
    "for instances that have it."
)
TRAIN_AGAIN = "Train it on numbers of usual size, so that all its parameters are finite."
OVERFLOW = (
    "The numbers of the column overflow where they are squared or subtracted: divide the column by "
    "a constant in the table, and train again."
)
DOUBLE_BYTES = 8
SINGLE = (
    "use doubles: infer the space from X.astype('float64') (of polars: X.cast({pl.Float32: "
    "pl.Float64})), and give the model such tables (and encoders dtype=float); it need not be "
    "trained again."
)


def tensor(values: npt.ArrayLike) -> Tensor:
    """Model parameters as an exact tensor: integers stay so, floats are upcast exactly."""
    array = np.asarray(values)
    if array.dtype.kind == "f" and array.dtype.itemsize > DOUBLE_BYTES:
        raise UnsupportedError(f"parameters of type {array.dtype} are not supported")
    return Tensor(array)


Build = Callable[[str, list[int]], str]  # from a vector of the columns at some places to another


def scaled(
    lowering: Lowering, refs: Sequence[Ref], functions: Sequence[Function | Stage], build: Build
) -> Refs:
    """One function of each column: ``build`` makes their vector, of the columns with values."""
    valued = [place for place, ref in enumerate(refs) if not isinstance(ref, Traced)]
    made: dict[int, Cell] = {}
    if valued:
        vector = build(lowering.vector([refs[place] for place in valued], gaps=True), valued)
        made = dict(zip(valued, cells(vector, len(valued)), strict=True))
    after: list[Ref] = []
    for place, (ref, function) in enumerate(zip(refs, functions, strict=True)):
        image = staged(ref, function)
        if isinstance(ref, Traced) and image is not None:
            after.append(replace(ref, image=image))
        else:
            after.append(replace(made[place], image=image))
    return tuple(after)
