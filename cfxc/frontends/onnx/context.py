"""What a rule needs while it lowers one node: emit ops, turn values into numbers, broadcast."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...arrays import Array, Ints
from ...errors import UnsupportedError, VerificationError
from ...ir import Builder, LabelTuple, Literal, Op, Operand, Tensor, ops
from ...space import FeatureSpace
from ...space.inputs import Column, column, column_value, column_vector, parts_of
from .graph import Dims, DType, Node
from .inputs import is_bit, is_single, is_whole
from .values import (
    Choice,
    Columns,
    Monotone,
    Note,
    Refusal,
    Rows,
    Single,
    Stack,
    Tensors,
    Value,
    broadcast,
    one_row,
    size_of,
    spread,
)


class Context:
    """The program under construction, and the opsets of the graph."""

    def __init__(self, builder: Builder, space: FeatureSpace, opsets: Mapping[str, int]) -> None:
        self.builder = builder
        self.space = space
        self.opsets = opsets
        self._numbers: dict[tuple[tuple[str, ...], tuple[DType, ...]], Operand] = {}

    def let(self, op: Op) -> Operand:
        """Append an op; a constant that has no exact value is refused."""
        return self.builder.let(op)

    def rows(
        self, op: Op, dims: Dims, dtype: DType, note: Note = None, chance: bool = False
    ) -> Rows:
        """The result of an op that gives a flat vector (a scalar if of length one)."""
        operand = self.let(op)
        if size_of(dims) == 1:
            operand = self.let(ops.Item(operand, 0))
        return Rows(operand, dims, dtype, note, chance)

    def vector(self, rows: Rows) -> Operand:
        """The numbers as a flat vector, also if there is one only."""
        if size_of(rows.dims) > 1:
            return rows.operand
        if rows.dtype == "bool":
            return self.let(ops.Reshape(rows.operand, (1,)))
        return self.let(ops.Concat((rows.operand,)))

    def numeric(self, value: Value | None, dtype: DType | None = None) -> Rows:
        """``value`` as numbers or booleans, of element type ``dtype`` if given.

        Raises:
            Refusal: text, a constant, or a conversion that the IR has no op for.
        """
        if isinstance(value, Columns):
            return self._cells(value if dtype is None else self.cast(value, dtype))
        if isinstance(value, Choice):
            rows = self._chosen(value)
        elif isinstance(value, Rows):
            rows = value
        else:
            raise Refusal("an input is a constant where a computed tensor is expected")
        return rows if dtype in (None, rows.dtype) else self.convert(rows, dtype)

    def cast(self, value: Columns, dtype: DType) -> Columns:
        """Columns whose cells go through one more cast.

        Raises:
            Refusal: from or to text; fractions into integers; other numbers than 0 and 1 into
                booleans.
        """
        if dtype == value.dtype:
            return value
        if "string" in (value.dtype, dtype):
            raise Refusal("turns text into numbers or numbers into text")
        fits = {"int": is_whole, "bool": is_bit}.get(dtype)
        odd = [name for name in value.names if fits and not fits(column(self.space, name))]
        if odd:
            raise Refusal(f"turns column {odd[0]!r} into {dtype}, and it holds other numbers")
        return replace(value, casts=(*value.casts, dtype))

    def convert(self, rows: Rows, dtype: DType) -> Rows:
        """``Cast`` of computed numbers: exact, except double to float, which rounds."""
        if dtype == rows.dtype:
            return rows
        if dtype == "string":
            raise Refusal("turns numbers into text")
        if rows.dtype == "bool":
            return Rows(self.let(ops.ToReal(rows.operand)), rows.dims, dtype)
        if dtype == "bool":
            zero = Literal(Fraction(0))
            return Rows(self.let(ops.Ne(rows.operand, zero)), rows.dims, dtype)
        if dtype == "int":
            raise Refusal("turns computed numbers into integers")
        if rows.dtype == "float" or dtype == "double":
            return replace(rows, dtype=dtype)
        if _rounded(rows):
            return replace(rows, dtype=dtype)
        return replace(
            rows, operand=self.let(ops.RoundFloat32(rows.operand)), dtype=dtype, note=None
        )

    def _cells(self, value: Columns) -> Rows:
        """The numbers in raw columns, after the casts of their cells."""
        if "string" in value.casts:
            raise Refusal("computes with text")
        rows = Rows(self._raw(value), value.dims, value.dtype)
        if value.dtype == "bool":
            zero = Literal(Fraction(0))
            return replace(rows, operand=self.let(ops.Ne(rows.operand, zero)))
        return rows

    def with_gaps(self, value: Value | None, dtype: DType | None = None) -> Rows:
        """As :meth:`numeric`, but floats of the table may be missing, which ``gaps`` says."""
        if not isinstance(value, Columns) or {*value.casts, dtype} - {"float", "double", None}:
            return self.numeric(value, dtype)
        value = value if dtype is None else self.cast(value, dtype)
        sources = [column(self.space, name) for name in value.names]
        gaps = tuple(source.feature.name if source.gap else "" for source in sources)
        if not any(gaps):
            return self.numeric(value)
        return Rows(self._raw(value, gaps=True), value.dims, value.dtype, gaps=gaps)

    def filled(self, rows: Rows, places: Sequence[int], fills: Sequence[Fraction]) -> list[Operand]:
        """Numbers of rows with gaps at some places, and what stands in where they are missing."""
        made = []
        for place, fill in zip(places, fills, strict=True):
            item = rows.operand
            if size_of(rows.dims) > 1:
                item = self.let(ops.Item(rows.operand, place))
            if rows.gaps[place]:
                feature = self.space[rows.gaps[place]]
                assert feature.absent is not None
                least = feature.absent if feature.kind == "real" else int(feature.absent)
                missing = self.let(ops.Le(feature.name, Literal(least)))
                item = self.let(ops.Select(missing, Literal(fill), item))
            made.append(item)
        return made

    def _raw(self, value: Columns, *, gaps: bool = False) -> Operand:
        key = (value.names, value.casts)
        if key in self._numbers:
            return self._numbers[key]
        sources = [column(self.space, name) for name in value.names]
        with self.builder.at(value.origin):
            try:
                if gaps:
                    operand = self._with_absent(sources)
                elif len(value.names) == 1:
                    operand = column_value(self.builder, self.space, value.names[0])
                else:
                    operand = column_vector(self.builder, self.space, value.names)
            except UnsupportedError as error:
                raise Refusal("; ".join(error.offences)) from error
            if "float" in value.casts and not all(map(is_single, sources)):
                operand = self.let(ops.RoundFloat32(operand))
        self._numbers[key] = operand
        return operand

    def _with_absent(self, sources: Sequence[Column]) -> Operand:
        parts = parts_of(self.builder, sources)
        if len(parts) == 1 and (len(sources) > 1 or parts[0] in self.space):
            return parts[0]
        joined = self.let(ops.Concat(tuple(parts)))
        return self.let(ops.Item(joined, 0)) if len(sources) == 1 else joined

    def _chosen(self, value: Choice) -> Rows:
        if any(isinstance(label, str) for label in value.labels):
            raise Refusal("computes with text")
        keys = LabelTuple(range(len(value.labels)))
        numbers = Tensor([float(label or 0) for label in value.labels])  # booleans are 0 and 1
        chosen = self.let(ops.Category(value.index, keys))
        rows = Rows(self.let(ops.Lookup(chosen, keys, numbers)), value.dims, value.dtype)
        return self.convert(replace(rows, dtype="int"), "bool") if value.dtype == "bool" else rows

    def operands(self, values: Sequence[Value], dims: Dims) -> list[Operand]:
        """``values`` broadcast to sizes ``dims``: flat vectors of that size, or scalars."""
        size = size_of(dims)
        computed = [v for v in values if not isinstance(v, np.ndarray)]
        full = any(size_of(value.dims) == size for value in computed)
        return [
            self._constant(value, dims, full)
            if isinstance(value, np.ndarray)
            else self._spread(self.numeric(value), dims)
            for value in values
        ]

    def _constant(self, value: Array, dims: Dims, full: bool) -> Operand:
        array = np.broadcast_to(value, one_row(dims)).ravel()
        if array.size == 1 or (full and value.size == 1):
            return literal(array[0])
        return self.let(ops.Constant(exact(array)))

    def _spread(self, rows: Rows, dims: Dims) -> Operand:
        if size_of(rows.dims) in (1, size_of(dims)):  # broadcasting keeps the order
            return rows.operand
        return self.let(ops.Take(rows.operand, tuple(spread(rows.dims, dims).tolist())))

    def elementwise(self, make: Callable[..., Op], values: Sequence[Value], dtype: DType) -> Rows:
        """An elementwise op on broadcast ``values`` (at least one of them computed)."""
        dims = broadcast(*(tuple(v.shape) if isinstance(v, np.ndarray) else v.dims for v in values))
        return Rows(self.let(make(*self.operands(values, dims))), dims, dtype)

    def take(self, value: Tensors, indices: Ints, dims: Dims) -> Tensors:
        """The elements at flat ``indices``, as a tensor of sizes ``dims``."""
        flat = indices.ravel().tolist()
        same = flat == list(range(size_of(value.dims)))
        if isinstance(value, Columns):
            return replace(value, names=tuple(value.names[i] for i in flat), dims=dims)
        if same:
            return replace(value, dims=dims)
        if isinstance(value, Choice):
            raise Refusal("repeats a label")
        if len(flat) == 1:
            item = self.let(ops.Item(value.operand, flat[0]))
            return Rows(item, dims, value.dtype, self._logit(value, flat[0], dims), value.chance)
        return Rows(
            self.let(ops.Take(self.vector(value), tuple(flat))), dims, value.dtype, None,
            value.chance,
        )  # fmt: skip

    def _logit(self, value: Rows, index: int, dims: Dims) -> Note:
        """One of the two entries of a softmax of z is the sigmoid of z_index - z_other."""
        note = value.note
        if not isinstance(note, Monotone) or note.kind != "softmax" or size_of(value.dims) != 2:
            return None
        own, other = (self.let(ops.Item(note.of.operand, at)) for at in (index, 1 - index))
        difference = Rows(self.let(ops.Sub(own, other)), dims, value.dtype)
        return Monotone("sigmoid", difference)


def _rounded(rows: Rows) -> bool:
    if isinstance(rows.note, Stack):
        return all(map(_rounded, rows.note.parts))
    return isinstance(rows.note, Single)


def literal(number: Any) -> Literal:
    """One number or boolean of a constant, exactly."""
    if isinstance(number, np.bool_ | bool):
        return Literal(bool(number))
    try:
        return Literal(Fraction(number.item() if isinstance(number, np.generic) else number))
    except (OverflowError, ValueError) as error:
        raise Refusal(f"has the constant {number}") from error


def exact(array: Any) -> Tensor:
    """Constants as an exact tensor: fractions only where doubles do not hold them."""
    values = np.asarray(array)
    if values.dtype.kind in "US" or (values.dtype == object and _texts(values)):
        raise Refusal("computes with text")
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
    try:
        return Tensor.of(values) if values.dtype == object else Tensor(values)
    except VerificationError as error:
        raise Refusal(str(error)) from error


def _texts(values: Array) -> bool:
    return any(isinstance(item, str | bytes) for item in values.ravel().tolist())


def fractions(array: Array) -> Array:
    """The numbers of a constant as an object array of ``Fraction``."""
    return exact(array).exact()


def option(node: Node, name: str, default: Any = None) -> Any:
    """An attribute of a node, or its default."""
    return node.attributes.get(name, default)
