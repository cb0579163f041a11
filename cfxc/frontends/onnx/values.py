"""What a tensor of the graph is, row by row: a constant, raw columns, numbers, or a choice.

A graph computes on n rows at once; a program on one.  Every tensor that depends on the input has
one *batch axis*, written ``None`` among its sizes; what it holds for one row is kept flat, in
row-major order, so that reshaping costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, Ints
from ...ir import Label, Operand, Tensor
from .graph import Dims, DType

ROWS = -(2**61)
"""How many rows there are, among the sizes that ``Shape`` gives: a number that no size has."""


class Refusal(Exception):
    """One node cannot be compiled; the message says why.  Collected, and raised at the end."""


@dataclass(frozen=True)
class Linear:
    """The numbers are ``weight @ x + bias`` (``bias`` all zero if ``open``) of the vector ``x``."""

    x: Operand
    weight: Tensor
    bias: Tensor
    open: bool


@dataclass(frozen=True)
class Monotone:
    """The numbers compare with each other as those of ``of`` do: the same order, the same ties.

    ``kind``: sigmoid (elementwise), softmax, exp, tanh, or share (divided by their positive sum).
    """

    kind: str
    of: Rows


@dataclass(frozen=True)
class Complement:
    """The numbers are ``1 - of``."""

    of: Rows


@dataclass(frozen=True)
class Stack:
    """The numbers of the ``parts`` one after the other."""

    parts: tuple[Rows, ...]


@dataclass(frozen=True)
class Total:
    """The number is the sum of the numbers of ``of``."""

    of: Rows


@dataclass(frozen=True)
class Size:
    """The numbers are ``|of|``."""

    of: Rows


@dataclass(frozen=True)
class OneMore:
    """The numbers are ``1 + of``."""

    of: Rows


@dataclass(frozen=True)
class Signs:
    """The numbers are -1, 0 or 1, the signs of ``of``."""

    of: Rows


@dataclass(frozen=True)
class Single:
    """The numbers are float32 numbers already: rounding keeps them."""


Note = Linear | Monotone | Complement | Stack | Total | Size | OneMore | Signs | Single | None


@dataclass(frozen=True)
class Rows:
    """Computed numbers or booleans.

    Attributes:
        operand: The IR value: a scalar if there is one number per row, else a flat vector.
        dims: Sizes, the batch axis as ``None``.
        dtype: Element type in the graph; the IR computes over the reals.
        note: How the numbers came about, where a decision can use it.
        chance: Non-negative, and meant as probabilities.
        gaps: Of each number the feature that it is missing with, "" if it never is; empty if none
            may be.  Trees alone read such numbers.
    """

    operand: Operand
    dims: Dims
    dtype: DType
    note: Note = None
    chance: bool = False
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Columns:
    """Raw columns of the table, not computed with yet; element i is column ``names[i]``.

    ``casts`` are the element types that the cells went through, the input's own first.
    """

    names: tuple[str, ...]
    dims: Dims
    casts: tuple[DType, ...]
    origin: str

    @property
    def dtype(self) -> DType:
        return self.casts[-1]


@dataclass(frozen=True)
class Choice:
    """One of finitely many labels: ``labels[index]``; ``score`` is what decided, if kept."""

    index: Operand
    labels: tuple[Label, ...]
    dims: Dims
    dtype: DType
    score: Operand | None = None


@dataclass(frozen=True)
class Unread:
    """A tensor that is not lowered, and why: its graph is, unless what decides needs it."""

    why: str


Tensors = Rows | Columns | Choice
Value = Array | Rows | Columns | Choice
Result = Value | tuple[Value | Unread | None, ...]
"""What a rule gives: the output of its node, or all of them."""


def size_of(dims: Dims) -> int:
    """How many elements one row has."""
    return math.prod(size for size in dims if size is not None)


def one_row(dims: Dims) -> tuple[int, ...]:
    """The sizes for a batch of one row."""
    return tuple(1 if size is None else size for size in dims)


def positions(dims: Dims) -> Ints:
    """The flat position of every element, in the tensor's own shape for a batch of one row."""
    return np.arange(size_of(dims), dtype=np.int64).reshape(one_row(dims))


def dims_of(value: Value) -> Dims:
    """Sizes of a constant, or of a tensor with its batch axis."""
    return tuple(value.shape) if isinstance(value, np.ndarray) else value.dims


def axis_of(axis: int, dims: Dims) -> int:
    """``axis`` counted from the front; ``Refusal`` if there is no such axis."""
    if not -len(dims) <= axis < len(dims):
        raise Refusal(f"axis {axis} of a tensor of rank {len(dims)}")
    return axis % len(dims)


def inner_axis(axis: int, dims: Dims) -> int:
    """``axis`` counted from the front; ``Refusal`` if it is the batch axis."""
    axis = axis_of(axis, dims)
    if dims[axis] is None:
        raise Refusal("mixes different rows of the batch")
    return axis


def broadcast(*all_dims: Dims) -> Dims:
    """The numpy broadcast of sizes, the batch axis meeting only itself and ones.

    Raises:
        Refusal: sizes that do not fit, or rows that would be mixed.
    """
    rank = max(len(dims) for dims in all_dims)
    padded = [(1,) * (rank - len(dims)) + dims for dims in all_dims]
    result: list[int | None] = []
    for sizes in zip(*padded, strict=True):
        different = {size for size in sizes if size != 1} or {1}
        if len(different) > 1:
            mixes = None in different
            raise Refusal(
                "mixes different rows of the batch" if mixes else f"sizes do not fit: {all_dims}"
            )
        result.append(different.pop())
    if result.count(None) > 1:
        raise Refusal("mixes different rows of the batch")
    return tuple(result)


def spread(dims: Dims, result: Dims) -> Ints:
    """For every element of a broadcast of sizes ``result``, the flat position it comes from."""
    own = positions(dims)
    return np.broadcast_to(own, one_row(result)).ravel()


def scalar(value: Any, what: str) -> Any:
    """The only element of a constant; ``Refusal`` unless it is one."""
    array = constant(value, what)
    if array.size != 1:
        raise Refusal(f"{what} must be one number")
    return array.ravel()[0].item()


def constant(value: Value | None, what: str) -> Array:
    """A constant; ``Refusal`` if it is computed from the input or absent."""
    if not isinstance(value, np.ndarray):
        raise Refusal(f"{what} must be constant")
    return value


def integers(value: Any, what: str) -> list[int]:
    """A constant vector of integers (or an attribute that is one)."""
    return [int(item) for item in np.atleast_1d(constant(value, what)).ravel().tolist()]


def plain_label(value: Any) -> Label:
    """An element of a constant as a plain Python label."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    item = value.item() if isinstance(value, np.generic) else value
    if not isinstance(item, str | int | float):
        raise Refusal(f"label {item!r} is neither text nor a number")
    return item


def plain_labels(values: Sequence[Any] | Array) -> tuple[Label, ...]:
    """The elements of a constant or attribute as plain Python labels."""
    return tuple(plain_label(value) for value in values)
