"""Ops that move elements without computing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ....arrays import Ints
from ....ir import Literal, Op, Operand, Tensor, ops
from ..context import Context, option
from ..graph import Dims, Node
from ..values import (
    ROWS,
    Columns,
    Refusal,
    Rows,
    Stack,
    Tensors,
    Total,
    Value,
    axis_of,
    constant,
    inner_axis,
    integers,
    positions,
    size_of,
)
from .registry import Inputs, argument, rule


def tensor(value: Value | None) -> Tensors:
    """A value that depends on the input."""
    if value is None or isinstance(value, np.ndarray):
        raise Refusal("an input is absent or constant")
    return value


@rule("ai.onnx.Identity")
def _identity(ctx: Context, node: Node, inputs: Inputs) -> Value:
    return tensor(argument(inputs, 0))


@rule("ai.onnx.Dropout", attributes=["ratio", "seed"])
def _dropout(ctx: Context, node: Node, inputs: Inputs) -> tuple[Value | None, ...]:
    """The identity, outside of training."""
    training = argument(inputs, 2)
    if training is not None and bool(np.any(constant(training, "training_mode"))):
        raise Refusal("is in training mode")
    return tensor(argument(inputs, 0)), None


@rule("ai.onnx.Reshape", attributes=["allowzero"])
def _reshape(ctx: Context, node: Node, inputs: Inputs) -> Value:
    value = tensor(argument(inputs, 0))
    target = integers(argument(inputs, 1), "the shape")
    if option(node, "allowzero", 0) and 0 in target:
        raise Refusal("attribute 'allowzero' = 1")
    return replace(value, dims=_reshaped(value.dims, target))


def _reshaped(dims: Dims, target: Sequence[int]) -> Dims:
    """Sizes after a reshape; the batch is what ``-1`` (or ``0`` at its place) stands for."""
    if any(size == 0 and axis >= len(dims) for axis, size in enumerate(target)):
        raise Refusal(f"gives sizes {list(target)} to {_shown(dims)}")
    sizes: list[int | None] = [
        dims[axis] if size == 0 else None if size == ROWS else size
        for axis, size in enumerate(target)
    ]
    size = size_of(dims)
    if -1 in sizes:
        rest = size_of(tuple(one for one in sizes if one != -1))
        if None in sizes and rest and size % rest == 0:
            sizes[sizes.index(-1)] = size // rest
        else:
            sizes[sizes.index(-1)] = None
    elif None not in sizes and sizes and sizes[0] == 1:
        sizes[0] = None  # exported for a batch of one row
    same = sizes.count(None) == 1 and size_of(tuple(sizes)) == size
    if not same or size_of(tuple(sizes[: sizes.index(None)])) != size_of(dims[: dims.index(None)]):
        raise Refusal(f"gives sizes {list(target)} to {_shown(dims)}, which mixes or drops rows")
    return tuple(sizes)


def _shown(dims: Dims) -> str:
    return "[" + ", ".join("rows" if size is None else str(size) for size in dims) + "]"


@rule("ai.onnx.Flatten", attributes=["axis"])
def _flatten(ctx: Context, node: Node, inputs: Inputs) -> Value:
    value = tensor(argument(inputs, 0))
    axis = option(node, "axis", 1)
    axis = len(value.dims) if axis == len(value.dims) else axis_of(axis, value.dims)
    before, after = value.dims[:axis], value.dims[axis:]
    if None not in before or size_of(before) != 1:
        raise Refusal("mixes different rows of the batch")
    return replace(value, dims=(None, size_of(after)))


def _axes(node: Node, inputs: Inputs) -> list[int] | None:
    if (value := argument(inputs, 1)) is not None:
        return integers(value, "the axes")
    return integers(node.attributes["axes"], "axes") if "axes" in node.attributes else None


@rule("ai.onnx.Squeeze", attributes=["axes"])
def _squeeze(ctx: Context, node: Node, inputs: Inputs) -> Value:
    value = tensor(argument(inputs, 0))
    axes = _axes(node, inputs)
    if axes is None:
        axes = [axis for axis, size in enumerate(value.dims) if size == 1]
    gone = {inner_axis(axis, value.dims) for axis in axes}
    if any(value.dims[axis] != 1 for axis in gone):
        raise Refusal(f"drops axes {sorted(gone)} of {_shown(value.dims)}")
    kept = tuple(size for axis, size in enumerate(value.dims) if axis not in gone)
    return replace(value, dims=kept)


@rule("ai.onnx.Unsqueeze", attributes=["axes"])
def _unsqueeze(ctx: Context, node: Node, inputs: Inputs) -> Value:
    value = tensor(argument(inputs, 0))
    axes = _axes(node, inputs) or []
    rank = len(value.dims) + len(axes)
    new = {axis_of(axis, (1,) * rank) for axis in axes}
    if len(new) != len(axes):
        raise Refusal(f"adds axes {axes}")
    old = iter(value.dims)
    return replace(value, dims=tuple(1 if axis in new else next(old) for axis in range(rank)))


@rule("ai.onnx.Transpose", attributes=["perm"])
def _transpose(ctx: Context, node: Node, inputs: Inputs) -> Value:
    value = tensor(argument(inputs, 0))
    rank = len(value.dims)
    order = integers(option(node, "perm", np.arange(rank)[::-1]), "perm")
    if sorted(order) != list(range(rank)):
        raise Refusal(f"attribute 'perm' = {order}")
    moved = positions(value.dims).transpose(order)
    return ctx.take(value, moved, tuple(value.dims[axis] for axis in order))


@rule("ai.onnx.Slice", attributes=["starts", "ends", "axes"])
def _slice(ctx: Context, node: Node, inputs: Inputs) -> Value:
    value = tensor(argument(inputs, 0))
    old = "starts" in node.attributes
    starts, ends, axes, steps = (
        option(node, name) if old else argument(inputs, index)
        for index, name in enumerate(("starts", "ends", "axes", "steps"), start=1)
    )
    first, last = integers(starts, "starts"), integers(ends, "ends")
    chosen = list(range(len(first))) if axes is None else integers(axes, "axes")
    strides = [1] * len(first) if steps is None else integers(steps, "steps")
    index: list[Any] = [slice(None)] * len(value.dims)
    for axis, start, end, step in zip(chosen, first, last, strides, strict=True):
        index[inner_axis(axis, value.dims)] = slice(start, end, step)
    return _indexed(ctx, value, positions(value.dims)[tuple(index)])


def _indexed(ctx: Context, value: Tensors, taken: Ints) -> Tensors:
    """The elements at ``taken``, whose batch axis is that of ``value``."""
    batch = value.dims.index(None)
    dims = tuple(None if axis == batch else size for axis, size in enumerate(taken.shape))
    if not taken.size:
        raise Refusal("keeps nothing")
    return ctx.take(value, taken, dims)


@rule("ai.onnx.Split", attributes=["axis", "split", "num_outputs"])
def _split(ctx: Context, node: Node, inputs: Inputs) -> tuple[Value, ...]:
    value = tensor(argument(inputs, 0))
    axis = inner_axis(option(node, "axis", 0), value.dims)
    given = option(node, "split") if argument(inputs, 1) is None else argument(inputs, 1)
    size, count = value.dims[axis] or 0, len(node.outputs)
    part = -(-size // count)
    sizes = [part] * (count - 1) + [size - part * (count - 1)]
    if given is not None:
        sizes = integers(given, "split")
    if sum(sizes) != size or len(sizes) != count:
        raise Refusal(f"splits {size} columns into {sizes}")
    pieces = np.split(positions(value.dims), np.cumsum(sizes)[:-1], axis=axis)
    return tuple(_indexed(ctx, value, piece) for piece in pieces)


@rule("ai.onnx.Concat", attributes=["axis"])
def _concat(ctx: Context, node: Node, inputs: Inputs) -> Value:
    return joined(ctx, [tensor(value) for value in inputs], option(node, "axis", 1))


def joined(ctx: Context, values: Sequence[Tensors], axis: int) -> Tensors:
    """``values`` one after the other along ``axis``, which is not the batch."""
    axis = inner_axis(axis, values[0].dims)
    if len({(*value.dims[:axis], -1, *value.dims[axis + 1 :]) for value in values}) > 1 or any(
        len(value.dims) != len(values[0].dims) for value in values
    ):
        raise Refusal("joins tensors of different sizes")
    offsets = np.cumsum([0, *(size_of(value.dims) for value in values)])
    order = np.concatenate(
        [positions(value.dims) + offset for value, offset in zip(values, offsets, strict=False)],
        axis=axis,
    )
    dims: Dims = (
        *values[0].dims[:axis], order.shape[axis], *values[0].dims[axis + 1 :],
    )  # fmt: skip
    if len(values) == 1:
        return values[0]
    if (cells := _joined_columns(values)) is not None:
        return ctx.take(replace(cells, dims=(None, len(cells.names))), order, dims)
    rows = [_as_numbers(ctx, value) for value in values]
    dtype, chance = rows[0].dtype, all(part.chance for part in rows)
    operand = ctx.let(ops.Concat(tuple(part.operand for part in rows)))
    whole = Rows(operand, (None, int(offsets[-1])), dtype, Stack(tuple(rows)), chance)
    return ctx.take(whole, order, dims)


def _joined_columns(values: Sequence[Tensors]) -> Columns | None:
    columns = [value for value in values if isinstance(value, Columns)]
    if len(columns) < len(values) or len({value.casts for value in columns}) > 1:
        return None
    origins = dict.fromkeys(value.origin for value in columns)
    names = tuple(name for value in columns for name in value.names)
    return replace(columns[0], names=names, origin=next(iter(origins)))


def _as_numbers(ctx: Context, value: Tensors) -> Rows:
    rows = ctx.numeric(value)
    if rows.dtype == "bool":
        raise Refusal("joins booleans")
    return rows


@rule("ai.onnx.ml.FeatureVectorizer", attributes=["inputdimensions"])
def _feature_vectorizer(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows = [ctx.numeric(value, "float") for value in inputs]
    widths = integers(option(node, "inputdimensions", np.zeros(0)), "inputdimensions")
    if widths != [size_of(part.dims) for part in rows] or any(len(r.dims) != 2 for r in rows):
        raise Refusal(f"attribute 'inputdimensions' = {widths}")
    return joined(ctx, rows, 1)


@rule("ai.onnx.Shape", attributes=["start", "end"])
def _shape(ctx: Context, node: Node, inputs: Inputs) -> Value:
    """The sizes, with ``ROWS`` for how many rows there are: nothing may compute with that."""
    sizes = [ROWS if size is None else size for size in tensor(argument(inputs, 0)).dims]
    return np.array(sizes[option(node, "start", 0) : option(node, "end")], dtype=np.int64)


REDUCTIONS: dict[str, type[ops.ReduceSum | ops.ReduceMax | ops.ReduceMin]] = {
    "ReduceSum": ops.ReduceSum,
    "ReduceMean": ops.ReduceSum,
    "ReduceMax": ops.ReduceMax,
    "ReduceMin": ops.ReduceMin,
    "ReduceL1": ops.ReduceSum,
    "ReduceSumSquare": ops.ReduceSum,
}


@rule(
    *(f"ai.onnx.{name}" for name in REDUCTIONS),
    attributes=["axes", "keepdims", "noop_with_empty_axes"],
)
def _reduce(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows = ctx.numeric(argument(inputs, 0))
    axes = _axes(node, inputs)
    if not axes and option(node, "noop_with_empty_axes", 0):
        return rows
    if not axes:
        raise Refusal("mixes different rows of the batch")
    if node.op == "ReduceL1":
        rows = replace(rows, operand=ctx.let(ops.Abs(rows.operand)), note=None)
    if node.op == "ReduceSumSquare":
        rows = replace(rows, operand=ctx.let(ops.Mul(rows.operand, rows.operand)), note=None)
    gone = sorted({inner_axis(axis, rows.dims) for axis in axes})
    keep = option(node, "keepdims", 1)
    dims = tuple(
        1 if axis in gone else size
        for axis, size in enumerate(rows.dims)
        if keep or axis not in gone
    )
    moved = np.moveaxis(positions(rows.dims), gone, range(-len(gone), 0))
    groups = moved.reshape(size_of(dims), -1)
    if rows.dtype == "bool":
        return _connected(ctx, node, rows, groups, dims)
    results = [_reduced(ctx, REDUCTIONS[node.op], rows, group) for group in groups]
    operand = results[0] if len(results) == 1 else ctx.let(ops.Concat(tuple(results)))
    if node.op == "ReduceMean":
        operand = ctx.let(ops.Div(operand, Literal(Fraction(groups.shape[1]))))
    note = Total(rows) if node.op == "ReduceSum" and len(results) == 1 else None
    return Rows(operand, dims, rows.dtype, note)


def _connected(ctx: Context, node: Node, rows: Rows, groups: Ints, dims: Dims) -> Rows:
    """The largest of booleans is true if any of them is, the smallest if all are."""
    if node.op not in ("ReduceMax", "ReduceMin"):
        raise Refusal("adds up booleans")
    parts = tuple(ctx.numeric(ctx.take(rows, places, dims)).operand for places in groups.T)
    connect = ops.Or if node.op == "ReduceMax" else ops.And
    return Rows(parts[0] if len(parts) == 1 else ctx.let(connect(parts)), dims, "bool")


def _reduced(ctx: Context, op: type[Op], rows: Rows, group: Ints) -> Operand:
    """One reduction over the elements of a row at ``group``."""
    if group.size == 1:
        return rows.operand if size_of(rows.dims) == 1 else ctx.let(
            ops.Item(rows.operand, int(group[0]))
        )  # fmt: skip
    vector = rows.operand
    if group.tolist() != list(range(size_of(rows.dims))):
        vector = ctx.let(ops.Take(vector, tuple(group.tolist())))
    return ctx.let(op(vector))  # type: ignore[call-arg]  # each of them takes one operand


@rule(
    "ai.onnx.ml.Imputer",
    attributes=[
        "imputed_value_floats", "imputed_value_int64s", "replaced_value_float",
        "replaced_value_int64",
    ],
)  # fmt: skip
def _imputer(ctx: Context, node: Node, inputs: Inputs) -> Value:
    """What stands in for numbers of the table that are missing, or that equal another one."""
    if not np.isnan(option(node, "replaced_value_float", 0.0)):
        return _replaced(ctx, node, ctx.numeric(argument(inputs, 0)))
    rows = ctx.with_gaps(argument(inputs, 0))
    if not rows.gaps:
        return rows
    stand = _stand_ins(node, "imputed_value_floats", size_of(rows.dims))
    made = ctx.filled(rows, range(len(stand)), stand)
    operand = made[0] if len(stand) == 1 else ctx.let(ops.Concat(tuple(made)))
    return Rows(operand, rows.dims, rows.dtype)


def _replaced(ctx: Context, node: Node, rows: Rows) -> Value:
    """What stands in for numbers that equal the one that is replaced."""
    if rows.dtype not in ("float", "int"):
        raise Refusal(f"imputes columns of type {rows.dtype}")
    single = rows.dtype == "float"
    marker = option(node, "replaced_value_float" if single else "replaced_value_int64", 0)
    name = "imputed_value_floats" if single else "imputed_value_int64s"
    stand = np.array(_stand_ins(node, name, size_of(rows.dims)), dtype=object)
    x = ctx.vector(rows)
    hits = ctx.let(ops.Eq(x, Literal(Fraction(marker))))
    return ctx.rows(
        ops.Select(hits, ctx.let(ops.Constant(Tensor(stand, "rat"))), x), rows.dims, rows.dtype
    )


def _stand_ins(node: Node, name: str, count: int) -> list[Fraction]:
    fills = np.ravel(option(node, name, ()))
    if fills.size not in (1, count) or not np.isfinite(fills).all():
        raise Refusal(f"attribute {name!r} has {fills.size} entries, of {count}")
    return [Fraction(fill) for fill in np.broadcast_to(fills, count).tolist()]
