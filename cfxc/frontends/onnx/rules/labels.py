"""Decisions: positions of largest entries, and the labels they stand for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from ....arrays import Array
from ....ir import Literal, Operand, Tensor, ops
from ..context import Context, option
from ..graph import DTYPES, Dims, DType, Node, element_name
from ..values import (
    Choice,
    Columns,
    Complement,
    Linear,
    Monotone,
    Refusal,
    Rows,
    Signs,
    Stack,
    Value,
    axis_of,
    inner_axis,
    plain_labels,
    positions,
    size_of,
)
from .arithmetic import HALF, choice_of
from .encoders import embedded
from .registry import Inputs, argument, rule


def decide(ctx: Context, rows: Rows, dims: Dims) -> Choice:
    """The position of a row's largest number, the first of equals, as a tensor of sizes ``dims``.

    Increasing functions before it are passed over; two opposite numbers -z and z, or the chances
    1 - p and p of a logit z, become the sign of z.
    """
    while isinstance(rows.note, Monotone):
        rows = rows.note.of
    count = size_of(rows.dims)
    if count == 1:
        return Choice(Literal(0), (0,), dims, "int")
    if (z := _opposite(ctx, rows)) is not None:
        return _sign(ctx, z, Fraction(0), dims)
    if (chance := _complementary(rows)) is not None:
        note = chance.note
        if isinstance(note, Monotone) and note.kind == "sigmoid":
            return _sign(ctx, note.of.operand, Fraction(0), dims)
        return _sign(ctx, chance.operand, HALF, dims)
    index = ctx.let(ops.Argmax(rows.operand))
    return Choice(index, tuple(range(count)), dims, "int", rows.operand)


def _sign(ctx: Context, z: Operand, threshold: Fraction, dims: Dims) -> Choice:
    above = Rows(ctx.let(ops.Gt(z, Literal(threshold))), dims, "bool")
    return choice_of(ctx, above, (0, 1), "int", None if threshold else z)


def _opposite(ctx: Context, rows: Rows) -> Operand | None:
    """z, if the numbers are -z and z for an affine z."""
    note = rows.note
    if not isinstance(note, Linear) or note.weight.shape[0] != 2:
        return None
    weight, bias = note.weight.array, note.bias.array
    if not (bool((weight[0] == -weight[1]).all()) and bias[0] == -bias[1]):
        return None
    z = ctx.let(ops.Affine(note.x, Tensor(weight[1:]), Tensor(bias[1:])))
    return ctx.let(ops.Item(z, 0))


def _complementary(rows: Rows) -> Rows | None:
    """p, if the numbers are 1 - p and p."""
    if not isinstance(rows.note, Stack) or len(rows.note.parts) != 2:
        return None
    first, second = rows.note.parts
    if isinstance(first.note, Complement) and first.note.of.operand == second.operand:
        return second
    return None


@rule("ai.onnx.ArgMax", "ai.onnx.ArgMin", attributes=["axis", "keepdims", "select_last_index"])
def _argmax(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows = ctx.numeric(argument(inputs, 0))
    axis = inner_axis(option(node, "axis", 0), rows.dims)
    if option(node, "select_last_index", 0):
        raise Refusal("attribute 'select_last_index' = 1")
    if rows.dims[axis] != size_of(rows.dims):
        raise Refusal("decides along other axes than all of a row's")
    if node.op == "ArgMin":
        rows = Rows(ctx.let(ops.Neg(rows.operand)), rows.dims, rows.dtype)
    kept = (1,) if option(node, "keepdims", 1) else ()
    return decide(ctx, rows, (*rows.dims[:axis], *kept, *rows.dims[axis + 1 :]))


def select_labels(table: Array, choice: Choice, dims: Dims) -> Choice:
    """``table[choice]``: the entries at the chosen positions."""
    if table.ndim > 1 and table.size != table.shape[-1]:
        raise Refusal("looks up whole rows")
    entries = plain_labels(table.ravel())
    chosen = []
    for position in choice.labels:
        if not isinstance(position, int) or not 0 <= position < len(entries):
            raise Refusal(f"looks up position {position!r} of {len(entries)}")
        chosen.append(entries[position])
    return Choice(choice.index, tuple(chosen), dims, _label_dtype(table), choice.score)


def _label_dtype(table: Array) -> DType:
    if table.dtype.kind == "f":
        return "double"
    if table.dtype.kind == "b":
        return "bool"
    return "int" if table.dtype.kind in "iu" else "string"


@rule("ai.onnx.ml.ArrayFeatureExtractor")
def _array_feature_extractor(ctx: Context, node: Node, inputs: Inputs) -> Value:
    data, indices = argument(inputs, 0), argument(inputs, 1)
    if isinstance(data, np.ndarray) and isinstance(indices, Choice):
        return select_labels(data, indices, (1, None))
    if data is None or isinstance(data, np.ndarray) or not isinstance(indices, np.ndarray):
        raise Refusal("the positions must be constant, or else the data")
    return pick(ctx, data, indices.ravel(), -1)


@rule("ai.onnx.Gather", attributes=["axis"])
def _gather(ctx: Context, node: Node, inputs: Inputs) -> Value:
    data, indices = argument(inputs, 0), argument(inputs, 1)
    axis = option(node, "axis", 0)
    if isinstance(data, np.ndarray) and isinstance(indices, Choice):
        if axis_of(axis, data.shape) != data.ndim - 1:
            raise Refusal("looks up whole rows")
        return select_labels(data, indices, (*data.shape[:-1], *indices.dims))
    if isinstance(data, np.ndarray) and isinstance(indices, Columns):
        return embedded(ctx, data, indices, axis)
    if data is None or isinstance(data, np.ndarray) or not isinstance(indices, np.ndarray):
        raise Refusal("the positions must be constant, or else the data")
    return pick(ctx, data, indices, axis)


def pick(ctx: Context, data: Rows | Columns | Choice, indices: Array, axis: int) -> Value:
    """The entries at constant ``indices`` along an axis that is not the batch."""
    axis = inner_axis(axis, data.dims)
    size = data.dims[axis] or 0
    if bool(((indices < -size) | (indices >= size)).any()):
        raise Refusal(f"looks up position {int(indices.max())} of {size}")
    taken = np.take(positions(data.dims), indices, axis=axis)
    return ctx.take(data, taken, (*data.dims[:axis], *indices.shape, *data.dims[axis + 1 :]))


@rule("ai.onnx.Cast", attributes=["to", "saturate", "round_mode"])
def _cast(ctx: Context, node: Node, inputs: Inputs) -> Value:
    value, target = argument(inputs, 0), option(node, "to")
    if target not in DTYPES:
        raise Refusal(f"attribute 'to' = {element_name(target)}")
    dtype = DTYPES[target]
    if isinstance(value, Columns):
        return ctx.cast(value, dtype)
    if isinstance(value, Choice):
        return _cast_labels(value, dtype)
    rows = ctx.numeric(value)
    if rows.dtype == "bool" and dtype == "int" and size_of(rows.dims) == 1:
        return choice_of(ctx, rows, (0, 1), "int")
    if isinstance(rows.note, Signs) and dtype == "int" and size_of(rows.dims) == 1:
        return _sign_of(ctx, rows.note.of)
    return ctx.convert(rows, dtype)


def _sign_of(ctx: Context, rows: Rows) -> Choice:
    """-1, 0 or 1 as a label."""
    zero = Literal(Fraction(0))
    above, below = (ctx.let(op(rows.operand, zero)) for op in (ops.Gt, ops.Lt))
    index = ctx.let(ops.Select(above, Literal(2), Literal(1)))
    index = ctx.let(ops.Select(below, Literal(0), index))
    return Choice(index, (-1, 0, 1), rows.dims, "int")


def _cast_labels(choice: Choice, dtype: DType) -> Choice:
    texts = any(isinstance(label, str) for label in choice.labels)
    if texts != (dtype == "string"):
        raise Refusal("turns text into numbers or numbers into text")
    if texts:
        return choice
    numbers = [label for label in choice.labels if isinstance(label, int | float)]
    if dtype == "float":
        labels: list[int | float] = [float(np.float32(number)) for number in numbers]
    else:
        labels = [{"int": int, "double": float, "bool": bool}[dtype](n) for n in numbers]
    return replace(choice, labels=tuple(labels), dtype=dtype)


@rule("ai.onnx.ml.ZipMap", attributes=["classlabels_int64s", "classlabels_strings"])
def _zip_map(ctx: Context, node: Node, inputs: Inputs) -> Value:
    """The numbers themselves: a map from the classes, in order, to them."""
    rows = ctx.numeric(argument(inputs, 0))
    labels = [*option(node, "classlabels_int64s", ()), *option(node, "classlabels_strings", ())]
    if len(labels) != size_of(rows.dims):
        raise Refusal(f"names {len(labels)} classes for {size_of(rows.dims)} numbers")
    return rows
