"""Activations: each a composition of ops, most of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import reduce

import numpy as np

from ....arrays import Array
from ....ir import Literal, Op, Operand, ops
from ..context import Context, option
from ..graph import Node
from ..values import Monotone, Refusal, Rows, Signs, Value, constant, scalar, size_of
from .arithmetic import clipped, unary
from .linear import normalised
from .registry import Inputs, argument, rule

ZERO, ONE = Literal(Fraction(0)), Literal(Fraction(1))
LARGEST_POWER = 8

unary("ai.onnx.Mish", ops.Mish)


@rule("ai.onnx.Gelu", attributes=["approximate"])
def _gelu(ctx: Context, node: Node, inputs: Inputs) -> Value:
    kind = option(node, "approximate", "none")
    if kind not in ("none", "tanh"):
        raise Refusal(f"attribute 'approximate' = {kind!r}")
    return _mapped(ctx, inputs, ops.Gelu if kind == "none" else ops.GeluTanh)


def _mapped(ctx: Context, inputs: Inputs, make: Callable[[Operand], Op]) -> Rows:
    rows = ctx.numeric(argument(inputs, 0))
    return Rows(ctx.let(make(rows.operand)), rows.dims, rows.dtype)


@rule("ai.onnx.Swish", attributes=["alpha"])
def _swish(ctx: Context, node: Node, inputs: Inputs) -> Value:
    """``x σ(α x) = silu(α x) / α``."""
    alpha = _attribute(node, "alpha", 1.0)
    if not alpha:
        raise Refusal("attribute 'alpha' = 0")
    return _scaled(ctx, inputs, alpha, ops.Silu, 1 / alpha)


def _attribute(node: Node, name: str, default: float) -> Fraction:
    return Fraction(option(node, name, float(np.float32(default))))


def _scaled(
    ctx: Context, inputs: Inputs, before: Fraction, make: Callable[[Operand], Op], after: Fraction
) -> Rows:
    """``after * f(before * x)``."""
    rows = ctx.numeric(argument(inputs, 0))
    inner = _times(ctx, rows.operand, before)
    return Rows(_times(ctx, ctx.let(make(inner)), after), rows.dims, rows.dtype)


def _times(ctx: Context, operand: Operand, factor: Fraction) -> Operand:
    return operand if factor == 1 else ctx.let(ops.Mul(operand, Literal(factor)))


@rule("ai.onnx.Elu", attributes=["alpha"])
def _elu(ctx: Context, node: Node, inputs: Inputs) -> Value:
    return _steep(ctx, inputs, _attribute(node, "alpha", 1.0), Fraction(1))


@rule("ai.onnx.Selu", attributes=["alpha", "gamma"])
def _selu(ctx: Context, node: Node, inputs: Inputs) -> Value:
    alpha = _attribute(node, "alpha", 1.6732632423543772848170429916717)
    return _steep(ctx, inputs, alpha, _attribute(node, "gamma", 1.0507009873554804934193349852946))


def _steep(ctx: Context, inputs: Inputs, alpha: Fraction, gamma: Fraction) -> Rows:
    """``γ (α elu(x) + (1 - α) max(x, 0))``: γ x where x > 0, else ``γ α (exp(x) - 1)``."""
    rows = ctx.numeric(argument(inputs, 0))
    operand = _times(ctx, ctx.let(ops.Elu(rows.operand)), gamma * alpha)
    if alpha != 1:
        above = ctx.let(ops.Relu(rows.operand))
        operand = ctx.let(ops.Add(operand, _times(ctx, above, gamma * (1 - alpha))))
    note = Monotone("elu", rows) if alpha > 0 and gamma > 0 else None
    return Rows(operand, rows.dims, rows.dtype, note)


@rule("ai.onnx.Celu", attributes=["alpha"])
def _celu(ctx: Context, node: Node, inputs: Inputs) -> Value:
    """``α elu(x / α)``."""
    alpha = _attribute(node, "alpha", 1.0)
    if not alpha > 0:
        raise Refusal(f"attribute 'alpha' = {float(alpha)}")
    return _scaled(ctx, inputs, 1 / alpha, ops.Elu, alpha)


@rule("ai.onnx.HardSwish")
def _hard_swish(ctx: Context, node: Node, inputs: Inputs) -> Value:
    """``c (c + 3) / 6 + max(x - 3, 0)`` with c = x clipped to [-3, 3]."""
    rows = ctx.numeric(argument(inputs, 0))
    inner = clipped(ctx, rows, Fraction(-3), Fraction(3)).operand
    raised = ctx.let(ops.Add(inner, Literal(Fraction(3))))
    bowl = _times(ctx, ctx.let(ops.Mul(inner, raised)), Fraction(1, 6))
    beyond = ctx.let(ops.Relu(ctx.let(ops.Sub(rows.operand, Literal(Fraction(3))))))
    return Rows(ctx.let(ops.Add(bowl, beyond)), rows.dims, rows.dtype)


@rule("ai.onnx.ThresholdedRelu", attributes=["alpha"])
def _thresholded_relu(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows = ctx.numeric(argument(inputs, 0))
    above = ctx.let(ops.Gt(rows.operand, Literal(_attribute(node, "alpha", 1.0))))
    return Rows(ctx.let(ops.Select(above, rows.operand, ZERO)), rows.dims, rows.dtype)


@rule("ai.onnx.Shrink", attributes=["bias", "lambd"])
def _shrink(ctx: Context, node: Node, inputs: Inputs) -> Value:
    """``x - bias`` above lambd, ``x + bias`` below -lambd, else 0."""
    rows = ctx.numeric(argument(inputs, 0))
    bias, edge = _attribute(node, "bias", 0.0), _attribute(node, "lambd", 0.5)
    x = rows.operand
    if bias == edge and edge >= 0:  # continuous
        over = ctx.let(ops.Relu(ctx.let(ops.Sub(x, Literal(edge)))))
        under = ctx.let(ops.Relu(ctx.let(ops.Sub(ctx.let(ops.Neg(x)), Literal(edge)))))
        return Rows(ctx.let(ops.Sub(over, under)), rows.dims, rows.dtype)
    lowered = ctx.let(ops.Sub(x, Literal(bias)))
    raised = ctx.let(ops.Add(x, Literal(bias)))
    upper = ctx.let(ops.Select(ctx.let(ops.Gt(x, Literal(edge))), lowered, ZERO))
    below = ctx.let(ops.Lt(x, Literal(-edge)))
    return Rows(ctx.let(ops.Select(below, raised, upper)), rows.dims, rows.dtype)


@rule("ai.onnx.Sign")
def _sign(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows = ctx.numeric(argument(inputs, 0))
    above, below = ctx.let(ops.Gt(rows.operand, ZERO)), ctx.let(ops.Lt(rows.operand, ZERO))
    positive = ctx.let(ops.ToReal(above))
    made = ctx.let(ops.Sub(positive, ctx.let(ops.ToReal(below))))
    return Rows(made, rows.dims, rows.dtype, Signs(rows))


@rule("ai.onnx.Pow")
def _pow(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows, exponent = ctx.numeric(argument(inputs, 0)), scalar(argument(inputs, 1), "the exponent")
    if exponent not in range(1, LARGEST_POWER + 1):
        raise Refusal(f"raises to the power {exponent}; whole ones up to {LARGEST_POWER} are read")
    factors = [rows.operand] * int(exponent)
    operand = reduce(lambda x, y: ctx.let(ops.Mul(x, y)), factors)
    return replace(rows, operand=operand, note=None, chance=False) if exponent > 1 else rows


@rule("ai.onnx.LogSoftmax", attributes=["axis"])
def _log_softmax(ctx: Context, node: Node, inputs: Inputs) -> Value:
    return _log_shares(ctx, normalised(ctx, node, inputs))


def _log_shares(ctx: Context, rows: Rows) -> Rows:
    """``x_i - log Σ_j exp(x_j)``."""
    if size_of(rows.dims) == 1:
        raise Refusal("normalises a single number")
    total = log_sum(ctx, rows)
    operand = ctx.let(ops.Sub(rows.operand, total))
    return Rows(operand, rows.dims, rows.dtype, Monotone("log_softmax", rows))


def log_sum(ctx: Context, rows: Rows) -> Operand:
    """``log Σ_j exp(x_j)``, of two at a time: ``a + softplus(b - a)``."""
    entries = [ctx.let(ops.Item(rows.operand, i)) for i in range(size_of(rows.dims))]
    return reduce(
        lambda a, b: ctx.let(ops.Add(a, ctx.let(ops.Softplus(ctx.let(ops.Sub(b, a)))))), entries
    )


@rule("ai.onnx.LeakyRelu", attributes=["alpha"])
def _leaky_relu(ctx: Context, node: Node, inputs: Inputs) -> Value:
    alpha = _attribute(node, "alpha", 0.01)
    return _leaky(ctx, ctx.numeric(argument(inputs, 0)), np.array(alpha, dtype=object))


@rule("ai.onnx.PRelu")
def _prelu(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows = ctx.numeric(argument(inputs, 0))
    return _leaky(ctx, rows, constant(argument(inputs, 1), "the slope"))


def _leaky(ctx: Context, rows: Rows, slopes: Array) -> Rows:
    """``max(x, 0) - slope max(-x, 0)``."""
    if slopes.size == 1 and 0 <= (alpha := Fraction(slopes.ravel().tolist()[0])) <= 1:
        return Rows(ctx.let(ops.LeakyRelu(rows.operand, alpha)), rows.dims, rows.dtype)
    above = ctx.let(ops.Relu(rows.operand))
    below = replace(rows, operand=ctx.let(ops.Relu(ctx.let(ops.Neg(rows.operand)))), note=None)
    scaled = ctx.elementwise(ops.Mul, [below, slopes], rows.dtype)
    if scaled.dims != rows.dims:
        raise Refusal(f"has slopes of sizes {list(slopes.shape)}")
    return Rows(ctx.let(ops.Sub(above, scaled.operand)), rows.dims, rows.dtype)
