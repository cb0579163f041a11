"""Ops that move values without arithmetic: constants, concatenation, lookup, conversion."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...errors import VerificationError
from ..interval import Bounds, Choice, Interval
from ..op import Op, Operand, Value, join_kinds, register, require
from ..sorts import LabelTuple, Sort
from ..tensor import Tensor


@register("identity")
class Identity(Op):
    """``y = x``; names a value, or binds a constant in one branch of an ``if``."""

    x: Operand

    def sort(self, *operands: Sort) -> Sort:
        return operands[0]

    def evaluate(self, *values: Value) -> Value:
        return values[0]

    def interval(self, *bounds: Bounds) -> Bounds:
        return bounds[0]


@register("constant")
class Constant(Op):
    """A constant array."""

    value: Tensor

    def sort(self, *operands: Sort) -> Sort:
        return Sort(self.value.kind, self.value.shape)

    def evaluate(self, *values: Value) -> Value:
        exact = self.value.exact()
        return exact if exact.shape else exact.item()

    def interval(self, *bounds: Bounds) -> Bounds:
        return Interval.constant(self.value.array)


@register("concat")
class Concat(Op):
    """One vector of numeric scalars and vectors, in order; Real as soon as one part is."""

    parts: tuple[Operand, ...]

    def sort(self, *operands: Sort) -> Sort:
        require(bool(operands), "concat needs at least one part")
        require(all(len(sort.shape) <= 1 for sort in operands), "concat joins scalars and vectors")
        size = sum(sort.shape[0] if sort.shape else 1 for sort in operands)
        return join_kinds(*(sort.with_shape(()) for sort in operands)).with_shape((size,))

    def evaluate(self, *values: Value) -> Value:
        return np.concatenate([np.atleast_1d(np.asarray(value, dtype=object)) for value in values])

    def interval(self, *bounds: Bounds) -> Bounds:
        parts = [interval_of(part) for part in bounds]
        return Interval(
            np.concatenate([np.atleast_1d(part.lower) for part in parts]),
            np.concatenate([np.atleast_1d(part.upper) for part in parts]),
        )


@register("take")
class Take(Op):
    """``y[i] = x[indices[i]]`` of a vector."""

    x: Operand
    indices: tuple[int, ...]

    def sort(self, *operands: Sort) -> Sort:
        (x,) = operands
        require(len(x.shape) == 1, f"take needs a vector, not {x}")
        require(all(0 <= i < x.shape[0] for i in self.indices), "take: index out of range")
        return x.with_shape((len(self.indices),))

    def evaluate(self, *values: Value) -> Value:
        return values[0][list(self.indices)]

    def interval(self, *bounds: Bounds) -> Bounds:
        x, chosen = interval_of(bounds[0]), list(self.indices)
        return Interval(x.lower[chosen], x.upper[chosen])


@register("item")
class Item(Op):
    """The scalar ``x[index]`` of a vector."""

    x: Operand
    index: int

    def sort(self, *operands: Sort) -> Sort:
        (x,) = operands
        require(len(x.shape) == 1, f"item needs a vector, not {x}")
        require(0 <= self.index < x.shape[0], f"item: index {self.index} out of range")
        return x.with_shape(())

    def evaluate(self, *values: Value) -> Value:
        return values[0][self.index]

    def interval(self, *bounds: Bounds) -> Bounds:
        x = interval_of(bounds[0])
        return Interval.of(x.lower[self.index], x.upper[self.index])


@register("reshape")
class Reshape(Op):
    """The same elements in row-major order under another shape; ``()`` makes a scalar."""

    x: Operand
    shape: tuple[int, ...]

    def sort(self, *operands: Sort) -> Sort:
        (x,) = operands
        require(not x.labels, "a category has no shape")
        require(
            int(np.prod(x.shape)) == int(np.prod(self.shape)),
            f"cannot reshape {x} to {list(self.shape)}",
        )
        return x.with_shape(self.shape)

    def evaluate(self, *values: Value) -> Value:
        reshaped = np.asarray(values[0], dtype=object).reshape(self.shape)
        return reshaped if self.shape else reshaped.item()

    def interval(self, *bounds: Bounds) -> Bounds:
        x = interval_of(bounds[0])
        return Interval(x.lower.reshape(self.shape), x.upper.reshape(self.shape))


@register("lookup")
class Lookup(Op):
    """Row of ``table`` that belongs to the category of ``x``.

    ``labels`` are the labels of ``x``; ``table`` has one entry (scalar result) or one row of k
    entries per label: one-hot, ordinal and target encodings are all lookups.
    """

    x: Operand
    labels: LabelTuple
    table: Tensor

    def sort(self, *operands: Sort) -> Sort:
        (x,) = operands
        shape = self.table.shape
        require(x == Sort("category", (), self.labels), f"lookup in {x} by other labels")
        require(1 <= len(shape) <= 2 and shape[0] == len(x.labels), "lookup: one row per label")
        return Sort(self.table.kind, shape[1:])

    def evaluate(self, *values: Value) -> Value:
        return self.table.exact()[self.labels.position(values[0])]

    def interval(self, *bounds: Bounds) -> Bounds:
        table = Interval.constant(self.table.array[choice_of(bounds[0]).possible])
        return Interval.of(table.lower.min(axis=0), table.upper.max(axis=0))


@register("category")
class Category(Op):
    """The label at position ``index`` (an Int, from 0)."""

    index: Operand
    labels: LabelTuple

    def sort(self, *operands: Sort) -> Sort:
        require(operands[0] == Sort("int"), f"category needs an Int scalar, not {operands[0]}")
        return Sort("category", (), self.labels)

    def evaluate(self, *values: Value) -> Value:
        if not 0 <= values[0] < len(self.labels):
            raise VerificationError(
                f"category index {values[0]} is outside {len(self.labels)} labels"
            )
        return self.labels[values[0]]

    def interval(self, *bounds: Bounds) -> Bounds:
        index, codes = interval_of(bounds[0]), np.arange(len(self.labels))
        return Choice(self.labels, (codes >= index.lower) & (codes <= index.upper))


@register("to_real")
class ToReal(Op):
    """Int to Real, or Bool to 0/1, elementwise."""

    x: Operand

    def sort(self, *operands: Sort) -> Sort:
        require(operands[0].kind in ("int", "bool", "real"), f"to_real takes no {operands[0]}")
        return Sort("real", operands[0].shape)

    def evaluate(self, *values: Value) -> Value:
        return np.frompyfunc(Fraction, 1, 1)(values[0])

    def interval(self, *bounds: Bounds) -> Bounds:
        return bounds[0]


def interval_of(bounds: Bounds) -> Interval:
    """The operand as a numeric enclosure; a category here is a fault of the program."""
    if not isinstance(bounds, Interval):
        raise VerificationError("a number is needed, not a category")
    return bounds


def choice_of(bounds: Bounds) -> Choice:
    """The operand as a set of labels; a number here is a fault of the program."""
    if not isinstance(bounds, Choice):
        raise VerificationError("a category is needed, not a number")
    return bounds
