"""Increasing smooth functions; what decisions need of them is kept as a note."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ....ir import Op, Operand, ops
from ..context import Context, option
from ..graph import Node
from ..values import Monotone, Refusal, Rows, Total, Value, axis_of, size_of
from .arithmetic import share
from .registry import Inputs, argument, rule

SMOOTH: dict[str, Callable[[Operand], Op]] = {
    "Sigmoid": ops.Sigmoid,
    "Tanh": ops.Tanh,
    "Exp": ops.Exp,
}


@rule(*(f"ai.onnx.{name}" for name in SMOOTH))
def _smooth(ctx: Context, node: Node, inputs: Inputs) -> Value:
    return squash(ctx, ctx.numeric(argument(inputs, 0)), node.op)


def squash(ctx: Context, rows: Rows, name: str) -> Rows:
    """``Sigmoid``, ``Tanh`` or ``Exp`` of every number."""
    operand = ctx.let(SMOOTH[name](rows.operand))
    note = Monotone(name.lower(), rows)
    return Rows(operand, rows.dims, rows.dtype, note, chance=name == "Sigmoid")


@rule("ai.onnx.Softmax", attributes=["axis"])
def _softmax(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows = ctx.numeric(argument(inputs, 0))
    old = ctx.opsets["ai.onnx"] < 13  # then everything from ``axis`` on is one vector
    axis = axis_of(option(node, "axis", 1 if old else -1), rows.dims)
    inner = rows.dims[axis:] if old else rows.dims[axis : axis + 1]
    if None in inner or size_of(inner) != size_of(rows.dims):
        raise Refusal("normalises over other axes than all of a row's")
    return softmax_of(ctx, rows)


def softmax_of(ctx: Context, rows: Rows) -> Rows:
    """``exp(x_i) / sum_j exp(x_j)`` of a row's numbers."""
    op = ops.Softmax(ctx.vector(rows))
    return ctx.rows(op, rows.dims, rows.dtype, Monotone("softmax", rows), chance=True)


@rule("ai.onnx.ml.Normalizer", attributes=["norm"])
def _normalizer(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows = ctx.numeric(argument(inputs, 0))
    norm = option(node, "norm", "MAX")
    if norm != "L1" or not rows.chance:
        raise Refusal(f"attribute 'norm' = {norm!r}, of something other than probabilities")
    if isinstance(rows.note, Monotone) and rows.note.kind == "softmax":
        return replace(rows, dtype="float")  # they sum to one
    total = Rows(ctx.let(ops.ReduceSum(ctx.vector(rows))), (None, 1), rows.dtype, Total(rows))
    return replace(share(ctx, rows, total), dtype="float")
