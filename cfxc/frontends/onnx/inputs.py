"""Which columns of the table go into which input of the graph, and in which type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from ...arrays import Array
from ...errors import DataTypeError, InvalidInputError, MissingColumnError
from ...space import FeatureSpace
from ...space.inputs import Column, column
from .graph import Dims, DType, Graph, GraphInput


@dataclass(frozen=True)
class Feed:
    """The ``columns`` that one input of the graph takes, in order.

    ``sizes`` are those of one row's tensor, () where the batch is the only axis; ``single`` inputs
    take one row at a time.
    """

    name: str
    dtype: DType
    narrow: bool
    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    single: bool

    @property
    def dims(self) -> Dims:
        """Sizes of the tensor: (n,), (n, number of columns), or what one row is shaped to."""
        return (None, *self.sizes)

    def flaws(self, space: FeatureSpace) -> list[str]:
        """What is wrong with feeding these columns into the input; empty if nothing is."""
        sources = [column(space, name) for name in self.columns]
        return [f"input {self.name!r} ({self.dtype}): {flaw}" for flaw in _flaws(self, sources)]

    def array(self, frame: pd.DataFrame) -> Array:
        """The tensor for the rows of ``frame``, converted as a caller of the runtime would.

        Raises:
            MissingColumnError: ``frame`` lacks a column.
            DataTypeError, InvalidInputError: a cell does not fit the input's type.
        """
        missing = [name for name in self.columns if name not in frame.columns]
        if missing:
            raise MissingColumnError(f"missing columns: {missing[:7]}")
        parts = [_cells(frame[name], name, self.dtype) for name in self.columns]
        if self.dtype == "int" and self.narrow:
            parts = [part.astype(np.int32) for part in parts]
        return np.stack(parts, axis=1).reshape(len(frame), *self.sizes)


def match_inputs(graph: Graph, space: FeatureSpace) -> tuple[Feed, ...]:
    """The columns of every input: by name if each input is one column, else in table order.

    Names are compared as they are, and with every other sign than letters and digits as ``_``.

    Raises:
        InvalidInputError: sizes or names that do not fit the columns of the space.
    """
    return match(graph.name, graph.inputs, space)


def match(where: str, inputs: Sequence[GraphInput], space: FeatureSpace) -> tuple[Feed, ...]:
    """The same for the inputs of any network; ``where`` names it in messages."""
    shapes = [_shape(item, where, len(inputs) == 1) for item in inputs]
    by_name = _by_name(inputs, shapes, space.columns)
    if by_name is not None:
        taken: list[tuple[str, ...]] = [(name,) for name in by_name]
    else:
        taken = _in_order(where, inputs, shapes, space.columns)
    return tuple(
        Feed(item.name, item.dtype, item.narrow, names, shape.of(len(names)), shape.single)
        for item, shape, names in zip(inputs, shapes, taken, strict=True)
    )


@dataclass(frozen=True)
class _Shape:
    sizes: tuple[int, ...] | None
    single: bool

    @property
    def width(self) -> int | None:
        return None if self.sizes is None else prod(self.sizes)

    def of(self, columns: int) -> tuple[int, ...]:
        return (columns,) if self.sizes is None else self.sizes


def _shape(item: GraphInput, where: str, alone: bool) -> _Shape:
    if item.dims is None and alone:
        return _Shape(None, False)
    dims = item.dims or ()
    inner = tuple(size for size in dims[1:] if size is not None)
    free = len(dims) - 1 - len(inner)
    if not dims or (dims[0] or 1) > 1 or (free and len(dims) > 2):
        raise InvalidInputError(
            f"{where}: input {item.name!r} has sizes {_sizes(item)}; expected (rows, columns), or "
            "any fixed sizes after the rows, with any number of rows. Export the model with a free "
            "first axis (dynamic_axes, dynamic_shapes)"
        )
    return _Shape(None if free else inner, dims[0] == 1)


def _sizes(item: GraphInput) -> str:
    return "unknown" if item.dims is None else str(["?" if s is None else s for s in item.dims])


def _by_name(
    inputs: Sequence[GraphInput], shapes: Sequence[_Shape], columns: Sequence[str]
) -> list[str] | None:
    # one input of unknown width takes the whole table
    widths = (1,) if len(inputs) == 1 else (1, None)
    if any(shape.width not in widths for shape in shapes):
        return None
    for spelled in (str, _sanitised):
        known: dict[str, list[str]] = {}
        for name in columns:
            known.setdefault(spelled(name), []).append(name)
        found = [known.get(spelled(item.name), []) for item in inputs]
        if all(len(names) == 1 for names in found):
            return [names[0] for names in found]
    return None


def _sanitised(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _in_order(
    where: str, inputs: Sequence[GraphInput], shapes: Sequence[_Shape], columns: Sequence[str]
) -> list[tuple[str, ...]]:
    count = len(columns)
    if len(inputs) > 1 and all(shape.width == 1 for shape in shapes):
        odd = [item.name for item in inputs if item.name not in columns]
        raise InvalidInputError(
            f"{where}: no columns for the inputs {odd[:7]}; the table has "
            f"{list(columns)[:7]}. Name the inputs as the columns when exporting the model"
        )
    free = sum(shape.width is None for shape in shapes)
    known = sum(shape.width or 0 for shape in shapes)
    if free > 1 or (known != count if not free else known >= count):
        sizes = ", ".join(f"{item.name!r} {_sizes(item)}" for item in inputs) or "none"
        raise InvalidInputError(
            f"{where}: takes {known}{' or more' * bool(free)} columns (inputs: {sizes}), and "
            f"the feature space has {count}: {list(columns)[:7]}. Give the space the columns the "
            "model was trained on, in the same order"
        )
    taken, start = [], 0
    for item, shape in zip(inputs, shapes, strict=True):
        width = count - known if shape.width is None else shape.width
        names = tuple(columns[start : start + width])
        if len(inputs) > 1 and width == 1 and item.name in columns and names != (item.name,):
            raise InvalidInputError(
                f"{where}: input {item.name!r} would take column {names[0]!r}; put the "
                "columns of the space in the order of the model's inputs"
            )
        taken.append(names)
        start += width
    return taken


def _flaws(feed: Feed, sources: Sequence[Column]) -> list[str]:
    if feed.dtype == "string":
        return [
            f"column {source.name!r} does not hold text only"
            for source in sources
            if source.feature.encoding != "plain"
            or not all(isinstance(cell, str) for cell in source.cells or (None,))
        ]
    floats = feed.dtype in ("float", "double")  # whoever computes with them refuses gaps
    found = [source.misfit if floats else source.flaw for source in sources]
    flaws = [flaw for flaw in found if flaw]
    if feed.dtype == "int":
        flaws += [
            f"column {source.name!r} holds fractions"
            for source in sources
            if not source.flaw and not is_whole(source)
        ]
    if feed.dtype == "bool":
        flaws += [
            f"column {source.name!r} holds other numbers than 0 and 1"
            for source in sources
            if not source.flaw and not is_bit(source)
        ]
    return flaws


def is_whole(source: Column) -> bool:
    """Whether the column holds whole numbers only."""
    if source.cells is not None:
        return not source.flaw and all(number == int(number) for number in source.numbers)
    return source.integers is not None


def is_bit(source: Column) -> bool:
    """Whether the column holds zeros and ones only."""
    if source.cells is not None:
        return not source.flaw and set(source.numbers) <= {0, 1}
    return source.integers is not None and set(source.integers[:3]) <= {0, 1}


def is_single(source: Column) -> bool:
    """Whether the column holds finitely many float32 numbers, so that rounding keeps them all."""
    if source.cells is None:
        return source.step is not None
    return not source.flaw and all(float(np.float32(n)) == n for n in source.numbers)


def _cells(series: pd.Series[Any], name: str, dtype: DType) -> Array:
    if dtype == "string":
        cells = series.astype(object).tolist()
        odd = [cell for cell in cells if not isinstance(cell, str)]
        if odd:
            raise DataTypeError(f"{name}: {odd[0]!r} is not text, as the model expects")
        out = np.empty(len(cells), dtype=object)
        out[:] = cells
        return out
    try:
        raw = series.to_numpy()
        cells = (
            raw if raw.dtype.kind in "iubf" else series.to_numpy(dtype=np.float64, na_value=np.nan)
        )
    except (TypeError, ValueError) as error:
        raise DataTypeError(f"{name}: the model expects numbers, not {series.dtype}") from error
    if dtype in ("float", "double"):
        numbers: Array = cells.astype(np.float32 if dtype == "float" else np.float64)
        return numbers
    whole: Array = cells.astype(np.int64)
    if not (whole == cells).all():
        raise InvalidInputError(f"{name}: the model expects whole numbers")
    return whole if dtype == "int" else whole.astype(np.bool_)
