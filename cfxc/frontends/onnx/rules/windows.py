"""Convolution, pooling and padding of tensors of fixed sizes, as maps of their flat elements."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ....arrays import Array, Ints
from ....ir import Literal, Operand, Tensor, ops
from ..context import Context, exact, option
from ..graph import Dims, Node
from ..values import Refusal, Rows, Value, constant, integers, positions, scalar, size_of
from .arithmetic import affine
from .registry import Inputs, argument, rule

LARGEST = 4_000_000
"""Entries of the matrix of a convolution, at most."""


def _image(ctx: Context, value: Value | None) -> tuple[Rows, Ints]:
    """Numbers of sizes (rows, channels, …), and their flat positions without the rows."""
    rows = ctx.numeric(value)
    if len(rows.dims) < 3 or rows.dims[0] is not None:
        raise Refusal("expects sizes (rows, channels, …)")
    return rows, positions(rows.dims)[0]


def _ints(node: Node, name: str, default: Sequence[int]) -> list[int]:
    return integers(np.array(option(node, name, default)), name)


def _windows(node: Node, held: Ints, kernel: Sequence[int]) -> Ints:
    """(C, outputs…, kernel…): the flat position that each window's places read; -1 for padding."""
    rank = len(kernel)
    strides, steps = (_ints(node, name, [1] * rank) for name in ("strides", "dilations"))
    spans = [d * (k - 1) + 1 for d, k in zip(steps, kernel, strict=True)]
    pads = _pads(node, held.shape[1:], spans, strides)
    padded = np.pad(held, [(0, 0), *pads], constant_values=-1)
    ceiling = option(node, "ceil_mode", 0)
    for axis in range(rank):
        room = padded.shape[1 + axis] - spans[axis]
        if room < 0:
            raise Refusal("its window is larger than the tensor")
        count = room // strides[axis] + 1
        if ceiling and room % strides[axis]:
            raise Refusal("attribute 'ceil_mode' = 1 where it adds a window")
        places = np.arange(count)[:, None] * strides[axis] + np.arange(kernel[axis]) * steps[axis]
        padded = np.moveaxis(np.take(padded, places, axis=1 + axis), 2 + axis, -1)
    return padded


def _pads(
    node: Node, sizes: Sequence[int], spans: Sequence[int], strides: Sequence[int]
) -> list[tuple[int, int]]:
    rank, auto = len(sizes), option(node, "auto_pad", "NOTSET")
    if auto == "NOTSET":
        flat = _ints(node, "pads", [0] * (2 * rank))
        if min(flat) < 0:
            raise Refusal("attribute 'pads' is negative")
        return list(zip(flat[:rank], flat[rank:], strict=True))
    if auto == "VALID":
        return [(0, 0)] * rank
    pads = []
    for size, span, stride in zip(sizes, spans, strides, strict=True):
        total = max((-(-size // stride) - 1) * stride + span - size, 0)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if auto == "SAME_UPPER" else (more, less))
    return pads


WINDOW = ("auto_pad", "dilations", "kernel_shape", "pads", "strides")


@rule("ai.onnx.Conv", attributes=[*WINDOW, "group"])
def _conv(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows, held = _image(ctx, argument(inputs, 0))
    weight = constant(argument(inputs, 1), "the weight")
    given, groups = argument(inputs, 2), option(node, "group", 1)
    kernel = weight.shape[2:]
    if len(kernel) != held.ndim - 1 or held.shape[0] != weight.shape[1] * groups:
        raise Refusal(f"a weight of sizes {list(weight.shape)} for {list(held.shape)}")
    windows = _windows(node, held, kernel)
    outputs = windows.shape[1 : held.ndim]
    if weight.shape[0] * np.prod(outputs) * held.size > LARGEST:
        raise Refusal(f"is a matrix of more than {LARGEST} entries")
    reads = windows.reshape(held.shape[0], -1, int(np.prod(kernel)))
    matrix = np.zeros((weight.shape[0], reads.shape[1], held.size), dtype=weight.dtype)
    per = weight.shape[0] // groups
    for channel in range(weight.shape[0]):
        first = channel // per * weight.shape[1]
        for own in range(weight.shape[1]):
            read, factors = reads[first + own], weight[channel, own].ravel()
            place, tap = np.nonzero(read >= 0)
            matrix[channel, place, read[place, tap]] = factors[tap]
    bias = np.zeros(weight.shape[0]) if given is None else constant(given, "the bias")
    dims: Dims = (None, weight.shape[0], *outputs)
    flat = exact(matrix.reshape(-1, held.size)), exact(np.repeat(bias, reads.shape[1]))
    return affine(ctx, ctx.vector(rows), *flat, dims, rows.dtype)


@rule("ai.onnx.MaxPool", attributes=[*WINDOW, "ceil_mode", "storage_order"])
def _max_pool(ctx: Context, node: Node, inputs: Inputs) -> tuple[Value, ...]:
    if len([name for name in node.outputs if name]) > 1:
        raise Refusal("gives positions")
    rows, held = _image(ctx, argument(inputs, 0))
    windows = _windows(node, held, _ints(node, "kernel_shape", ()))
    return (_pooled(ctx, rows, held, windows, ops.ReduceMax),)


def _pooled(
    ctx: Context, rows: Rows, held: Ints, windows: Ints, op: Any, count_padding: bool = False
) -> Rows:
    """Every window reduced; a mean counts the padding or not."""
    dims: Dims = (None, *windows.shape[: held.ndim])
    groups = windows.reshape(size_of(dims), -1)
    vector, results = ctx.vector(rows), list[Operand]()
    for group in groups:
        inside = group[group >= 0]
        if not inside.size:
            raise Refusal("has a window of padding alone")
        result: Operand = ctx.let(op(ctx.let(ops.Take(vector, tuple(inside.tolist())))))
        if op is ops.ReduceSum:
            count = group.size if count_padding else inside.size
            result = ctx.let(ops.Div(result, Literal(Fraction(count))))
        results.append(result)
    operand = results[0] if len(results) == 1 else ctx.let(ops.Concat(tuple(results)))
    return Rows(operand, dims, rows.dtype)


@rule("ai.onnx.AveragePool", attributes=[*WINDOW, "ceil_mode", "count_include_pad"])
def _average_pool(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows, held = _image(ctx, argument(inputs, 0))
    windows = _windows(node, held, _ints(node, "kernel_shape", ()))
    whole = bool(option(node, "count_include_pad", 0))
    return _pooled(ctx, rows, held, windows, ops.ReduceSum, whole)


@rule("ai.onnx.GlobalAveragePool", "ai.onnx.GlobalMaxPool")
def _global_pool(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows, held = _image(ctx, argument(inputs, 0))
    windows = held.reshape(held.shape[0], *[1] * (held.ndim - 1), -1)
    op = ops.ReduceMax if node.op == "GlobalMaxPool" else ops.ReduceSum
    return _pooled(ctx, rows, held, windows, op)


@rule("ai.onnx.Pad", attributes=["mode", "pads", "value"])
def _pad(ctx: Context, node: Node, inputs: Inputs) -> Value:
    mode = option(node, "mode", "constant")
    rows = ctx.numeric(argument(inputs, 0))
    given = option(node, "pads") if argument(inputs, 1) is None else argument(inputs, 1)
    pads, rank = integers(given, "the pads"), len(rows.dims)
    axes = list(range(rank)) if argument(inputs, 3) is None else [
        axis % rank for axis in integers(argument(inputs, 3), "the axes")
    ]  # fmt: skip
    wide = [(0, 0)] * rank
    for axis, low, high in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        wide[axis] = (low, high)
    if min(pads, default=0) < 0 or any(wide[rows.dims.index(None)]):
        raise Refusal(f"pads by {pads}")
    numpy_mode = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}
    if mode not in numpy_mode:
        raise Refusal(f"attribute 'mode' = {mode!r}")
    if mode != "constant":
        kept: Any = numpy_mode[mode]  # one of the literals
        moved = np.pad(positions(rows.dims), wide, mode=kept)
        return ctx.take(rows, moved, _sized(rows.dims, moved))
    fill = option(node, "value", 0.0)
    if argument(inputs, 2) is not None:
        fill = scalar(argument(inputs, 2), "the fill")
    moved = np.pad(positions(rows.dims), wide, constant_values=size_of(rows.dims))
    padding = ctx.let(ops.Constant(Tensor([float(fill)])))
    longer = ctx.let(ops.Concat((rows.operand, padding)))
    dims = (None, size_of(rows.dims) + 1)
    return ctx.take(Rows(longer, dims, rows.dtype), moved, _sized(rows.dims, moved))


def _sized(dims: Dims, moved: Array) -> Dims:
    batch = dims.index(None)
    return tuple(None if axis == batch else size for axis, size in enumerate(moved.shape))


@rule("ai.onnx.Expand")
def _expand(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows = ctx.numeric(argument(inputs, 0))
    shape = integers(argument(inputs, 1), "the shape")
    return ctx.take(rows, *_stretched(rows.dims, [max(size, 1) for size in shape]))


def _stretched(dims: Dims, shape: Sequence[int]) -> tuple[Ints, Dims]:
    held = positions(dims)
    try:
        moved = np.broadcast_to(held, np.broadcast_shapes(held.shape, tuple(shape)))
    except ValueError as error:
        raise Refusal(f"expands {list(held.shape)} to {list(shape)}") from error
    batch = dims.index(None) + moved.ndim - held.ndim
    if moved.shape[batch] != 1:
        raise Refusal("repeats the rows of the batch")
    return moved, tuple(None if a == batch else size for a, size in enumerate(moved.shape))


@rule("ai.onnx.Tile")
def _tile(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows = ctx.numeric(argument(inputs, 0))
    moved = np.tile(positions(rows.dims), integers(argument(inputs, 1), "the repeats"))
    if moved.ndim != len(rows.dims) or moved.shape[rows.dims.index(None)] != 1:
        raise Refusal("repeats the rows of the batch")
    return ctx.take(rows, moved, _sized(rows.dims, moved))


@rule("ai.onnx.DepthToSpace", "ai.onnx.SpaceToDepth", attributes=["blocksize", "mode"])
def _blocks(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows, held = _image(ctx, argument(inputs, 0))
    size = option(node, "blocksize", 1)
    channels, high, wide = held.shape
    column = option(node, "mode", "DCR") == "CRD"
    if node.op == "SpaceToDepth":
        parts = held.reshape(channels, high // size, size, wide // size, size)
        order = (0, 2, 4, 1, 3) if column else (2, 4, 0, 1, 3)
        moved = parts.transpose(order).reshape(-1, high // size, wide // size)
    else:
        shape = (-1, size, size, high, wide) if column else (size, size, -1, high, wide)
        parts = held.reshape(shape)
        order = (0, 3, 1, 4, 2) if column else (2, 3, 0, 4, 1)
        moved = parts.transpose(order).reshape(-1, high * size, wide * size)
    return ctx.take(rows, moved, (None, *moved.shape))


@rule("ai.onnx.BatchNormalization", attributes=["epsilon", "momentum", "spatial", "training_mode"])
def _batch_normalization(ctx: Context, node: Node, inputs: Inputs) -> tuple[Value, ...]:
    """``(x - mean) / sqrt(var + eps) * scale + B``, by channels; the root as a double."""
    if option(node, "training_mode", 0) or not option(node, "spatial", 1):
        raise Refusal("is in training mode")
    rows = ctx.numeric(argument(inputs, 0))
    names = ("scale", "B", "mean", "var")
    parts = [constant(argument(inputs, i + 1), name) for i, name in enumerate(names)]
    rank = len(rows.dims)
    if rank < 2 or rows.dims[0] is not None or parts[0].size != rows.dims[1]:
        raise Refusal("expects sizes (rows, channels, …)")
    scale, shift, mean, var = (part.reshape(-1, *[1] * (rank - 2)) for part in parts)
    root = np.sqrt(var.astype(np.float64) + float(option(node, "epsilon", np.float32(1e-5))))
    if not bool((root > 0).all()):
        raise Refusal("divides by zero")
    centred = ctx.elementwise(ops.Sub, [rows, mean], rows.dtype)
    scaled = ctx.elementwise(ops.Div, [centred, root], rows.dtype)
    weighted = ctx.elementwise(ops.Mul, [scaled, scale], rows.dtype)
    return (ctx.elementwise(ops.Add, [weighted, shift], rows.dtype),)
