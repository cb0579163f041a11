"""Matrix products, and the linear models of ``ai.onnx.ml``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ....arrays import Array
from ....ir import Literal, Op, Operand, Tensor, ops
from ..context import Context, exact, fractions, option
from ..graph import DType, Node
from ..values import (
    Choice,
    Monotone,
    Refusal,
    Rows,
    Total,
    Value,
    axis_of,
    constant,
    plain_labels,
    size_of,
)
from .arithmetic import affine, share
from .labels import decide
from .registry import Inputs, argument, rule


@rule("ai.onnx.MatMul")
def _matmul(ctx: Context, node: Node, inputs: Inputs) -> Value:
    first, second = (argument(inputs, index) for index in (0, 1))
    if isinstance(first, np.ndarray) or not isinstance(second, np.ndarray):
        raise Refusal("the second factor must be constant, the first one computed")
    rows = ctx.numeric(first)
    fits = second.ndim in (1, 2) and len(rows.dims) > 1 and rows.dims[-1] == second.shape[0]
    if rows.dims[0] is not None or not fits:
        raise Refusal(f"multiplies sizes {list(rows.dims)} and {list(second.shape)}")
    matrix, count = second.reshape(second.shape[0], -1).T, size_of(rows.dims[:-1])
    dims = (*rows.dims[:-1], *second.shape[1:])
    whole = np.zeros((count, matrix.shape[0], count, matrix.shape[1]), dtype=matrix.dtype)
    for each in range(count):  # the same for every vector of the row
        whole[each, :, each] = matrix
    return _product(ctx, rows, exact(whole.reshape(count * len(matrix), -1)), None, dims)


@rule("ai.onnx.Gemm", attributes=["alpha", "beta", "transA", "transB"])
def _gemm(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows = ctx.numeric(argument(inputs, 0))
    matrix = constant(argument(inputs, 1), "the second factor")
    if option(node, "transA", 0) or len(rows.dims) != 2 or rows.dims[0] is not None:
        raise Refusal("transposes the batch")
    weight = matrix if option(node, "transB", 0) else matrix.T
    weight = _scaled(weight, option(node, "alpha", 1.0))
    bias: Array | None = None
    if argument(inputs, 2) is not None:
        array = constant(argument(inputs, 2), "the bias")
        try:
            array = np.broadcast_to(array, (1, weight.shape[0]))[0]
        except ValueError as error:
            raise Refusal("the bias differs between rows of the batch") from error
        bias = _scaled(array, option(node, "beta", 1.0))
    return _product(
        ctx, rows, exact(weight), None if bias is None else exact(bias), (None, weight.shape[0])
    )


def _scaled(array: Array, factor: float) -> Any:
    return array if factor == 1.0 else fractions(array) * fractions(np.array([factor]))[0]


def _product(ctx: Context, rows: Rows, weight: Tensor, bias: Tensor | None, dims: Any) -> Rows:
    if weight.shape[1] != size_of(rows.dims):
        raise Refusal(f"multiplies {size_of(rows.dims)} numbers by a matrix {list(weight.shape)}")
    zero = Tensor(np.zeros(weight.shape[0]))
    x = ctx.vector(rows)
    return affine(ctx, x, weight, bias or zero, dims, rows.dtype, open_=bias is None)


@rule(
    "ai.onnx.ml.LinearRegressor",
    attributes=["coefficients", "intercepts", "targets", "post_transform"],
)
def _linear_regressor(ctx: Context, node: Node, inputs: Inputs) -> Value:
    if option(node, "post_transform", "NONE") != "NONE":
        raise Refusal(f"attribute 'post_transform' = {node.attributes['post_transform']!r}")
    targets = option(node, "targets", 1)
    # the runtime drops intercepts of another length
    intercepts = option(node, "intercepts", np.zeros(0))
    used = intercepts if intercepts.size == targets else np.zeros(targets)
    return _scores(ctx, node, inputs, used)


@rule(
    "ai.onnx.ml.LinearClassifier",
    attributes=[
        "coefficients", "intercepts", "multi_class", "post_transform",
        "classlabels_ints", "classlabels_strings",
    ],
)  # fmt: skip
def _linear_classifier(ctx: Context, node: Node, inputs: Inputs) -> tuple[Value, Value]:
    """One row of coefficients: label 1 iff z > 0; several: the largest, the first of equals.

    ``post_transform`` changes the scores, never the label.
    """
    post = option(node, "post_transform", "NONE")
    if post not in ("NONE", "LOGISTIC", "SOFTMAX"):
        raise Refusal(f"attribute 'post_transform' = {post!r}")
    intercepts = option(node, "intercepts")
    if intercepts is None:
        raise Refusal("attribute 'intercepts' is absent")
    labels = class_labels(node, "classlabels_ints")
    scores = _scores(ctx, node, inputs, intercepts)
    count = size_of(scores.dims)
    if len(labels) < count if count > 1 else len(labels) not in (0, 2):
        raise Refusal(f"{count} scores and {len(labels)} classes")
    labels = labels[: max(count, 2)] or (0, 1)
    dtype: DType = "string" if isinstance(labels[0], str) else "int"
    if count == 1:
        positive = ctx.let(ops.Gt(scores.operand, Literal(Fraction(0))))
        index = ctx.let(ops.Select(positive, Literal(1), Literal(0)))
        label = Choice(index, labels, (None,), dtype, scores.operand)
        return label, _binary_scores(ctx, scores, post)
    chosen = decide(ctx, scores, (None,))
    label = Choice(chosen.index, labels, (None,), dtype, chosen.score)
    if post == "NONE":
        return label, scores
    return label, squash(ctx, scores, "Sigmoid") if post == "LOGISTIC" else softmax_of(ctx, scores)


def _scores(ctx: Context, node: Node, inputs: Inputs, intercepts: Array) -> Rows:
    rows = ctx.numeric(argument(inputs, 0), "float")
    coefficients = option(node, "coefficients", np.zeros(0, dtype=np.float32))
    count, width = intercepts.size, size_of(rows.dims)
    if len(rows.dims) != 2 or rows.dims[0] is not None or coefficients.size != count * width:
        raise Refusal(f"{coefficients.size} coefficients for {count} scores of {width} columns")
    weight = exact(coefficients.reshape(count, width))
    return affine(ctx, ctx.vector(rows), weight, exact(intercepts), (None, count), "float")


def _binary_scores(ctx: Context, z: Rows, post: str) -> Rows:
    """Both scores of a single z: logistic of -z and z, else 1 - z and z."""
    if post == "LOGISTIC":
        chance = ctx.let(ops.Sigmoid(z.operand))
        other = ctx.let(ops.Sigmoid(ctx.let(ops.Neg(z.operand))))
    else:
        chance, other = z.operand, ctx.let(ops.Sub(Literal(Fraction(1)), z.operand))
    pair = ctx.let(ops.Concat((other, chance)))
    return Rows(pair, (None, 2), "float", None, post == "LOGISTIC")


def class_labels(node: Node, ints: str) -> tuple[Any, ...]:
    """The classes of an ``ai.onnx.ml`` classifier; empty if it names none."""
    strings = option(node, "classlabels_strings", ())
    return plain_labels(strings) if len(strings) else plain_labels(option(node, ints, ()))


SMOOTH: dict[str, Callable[[Operand], Op]] = {
    "Sigmoid": ops.Sigmoid, "Tanh": ops.Tanh, "Exp": ops.Exp, "Erf": ops.Erf,
    "Softplus": ops.Softplus, "Softsign": ops.Softsign,
}  # fmt: skip


@rule(*(f"ai.onnx.{name}" for name in SMOOTH))
def _smooth(ctx: Context, node: Node, inputs: Inputs) -> Value:
    return squash(ctx, ctx.numeric(argument(inputs, 0)), node.op)


def squash(ctx: Context, rows: Rows, name: str) -> Rows:
    """One of ``SMOOTH``, which all increase, of every number."""
    operand = ctx.let(SMOOTH[name](rows.operand))
    note = Monotone(name.lower(), rows)
    return Rows(operand, rows.dims, rows.dtype, note, chance=name == "Sigmoid")


@rule("ai.onnx.Softmax", attributes=["axis"])
def _softmax(ctx: Context, node: Node, inputs: Inputs) -> Value:
    return softmax_of(ctx, normalised(ctx, node, inputs))


def normalised(ctx: Context, node: Node, inputs: Inputs) -> Rows:
    """The numbers that a softmax, or its logarithm, takes as one vector a row."""
    rows = ctx.numeric(argument(inputs, 0))
    old = ctx.opsets["ai.onnx"] < 13  # then everything from ``axis`` on is one vector
    axis = axis_of(option(node, "axis", 1 if old else -1), rows.dims)
    inner = rows.dims[axis:] if old else rows.dims[axis : axis + 1]
    if None in inner or size_of(inner) != size_of(rows.dims):
        raise Refusal("normalises over other axes than all of a row's")
    return rows


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
