"""Support vector machines of ``ai.onnx.ml``."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ....ir import Literal, ops
from ...kernel_functions import Kernel, kernel_values, pair_votes, pair_weights
from ...quadratics import Exact, exact_affine
from ..context import Context, fractions, option
from ..graph import DType, Node
from ..values import Choice, Refusal, Result, Rows, Unread, Value, size_of
from .linear import class_labels
from .registry import Inputs, argument, rule

ZERO = Literal(Fraction(0))
KINDS = {"LINEAR": "linear", "POLY": "poly", "RBF": "rbf", "SIGMOID": "tanh"}
MOST_DEGREE = 8
SHARED = ["coefficients", "kernel_params", "kernel_type", "post_transform", "rho",
          "support_vectors"]  # fmt: skip
ITERATION = "its probabilities are those of an iteration that stops at a tolerance"
PAIRS = "its scores are those of pairs of classes; the label is read"


@rule("ai.onnx.ml.SVMRegressor", attributes=[*SHARED, "n_supports", "one_class"])
def _svm_regressor(ctx: Context, node: Node, inputs: Inputs) -> Value:
    """``Σ_i coefficient_i K(v_i, x) + rho``; without vectors ``coefficients x + rho``."""
    _untransformed(node)
    if option(node, "one_class", 0):
        raise Refusal("attribute 'one_class' = 1; give the value, and compare it with 0")
    rows = ctx.numeric(argument(inputs, 0), "float")
    coefficients = fractions(option(node, "coefficients")).reshape(1, -1)
    rho = fractions(option(node, "rho", np.zeros(1)))
    if rho.size != 1:
        raise Refusal(f"{rho.size} constants for one value")
    values = ctx.vector(rows)
    if count := option(node, "n_supports", 0):
        values = kernel_values(ctx, values, _kernel(node), _vectors(node, rows, count))
    if coefficients.size != (count or size_of(rows.dims)):
        raise Refusal(f"{coefficients.size} coefficients for {count or size_of(rows.dims)} numbers")
    made = ctx.let(ops.Item(exact_affine(ctx, values, coefficients, rho), 0))
    return Rows(made, (None, 1), "float")


@rule(
    "ai.onnx.ml.SVMClassifier",
    attributes=[
        *SHARED, "classlabels_ints", "classlabels_strings", "prob_a", "prob_b", "vectors_per_class",
    ],
)  # fmt: skip
def _svm_classifier(ctx: Context, node: Node, inputs: Inputs) -> Result:
    """Of classes i < j the first one iff their machine's value is above 0; most votes win.

    Probabilities decide nothing: the runtime answers by votes even where it has them.
    """
    _untransformed(node)
    sizes = [int(size) for size in option(node, "vectors_per_class", ())]
    labels = class_labels(node, "classlabels_ints")
    if not sum(sizes) or min(sizes) < 0:
        raise Refusal("has no support vectors; export a linear machine as a LinearClassifier")
    if len(labels) != len(sizes) or len(labels) < 2:
        raise Refusal(f"{len(labels)} classes and vectors of {len(sizes)}")
    rows = ctx.numeric(argument(inputs, 0), "float")
    vectors, count = _vectors(node, rows, sum(sizes)), len(labels)
    dual, rho = fractions(option(node, "coefficients")), fractions(option(node, "rho"))
    pairs = count * (count - 1) // 2
    if dual.size != (count - 1) * len(vectors) or rho.size != pairs:
        raise Refusal(f"{dual.size} coefficients and {rho.size} constants of {pairs} pairs")
    weights = pair_weights(dual.reshape(count - 1, -1), sizes)
    values = kernel_values(ctx, ctx.vector(rows), _kernel(node), vectors)
    scores = exact_affine(ctx, values, weights, rho)
    dtype: DType = "string" if isinstance(labels[0], str) else "int"
    chances = len(option(node, "prob_a", ())) > 0
    if count > 2:
        votes = pair_votes(ctx, ctx.let(ops.Gt(scores, ZERO)), count)
        label = Choice(ctx.let(ops.Argmax(votes)), labels, (None,), dtype)
        return label, Unread(ITERATION if chances else PAIRS)
    first = ctx.let(ops.Item(scores, 0))
    second = ctx.let(ops.Neg(first))
    is_second = ctx.let(ops.Ge(second, ZERO))
    index = ctx.let(ops.Select(is_second, Literal(1), Literal(0)))
    label = Choice(index, labels, (None,), dtype, second)
    both = Rows(ctx.let(ops.Concat((second, first))), (None, 2), "float")
    return label, Unread(ITERATION) if chances else both


def _untransformed(node: Node) -> None:
    if option(node, "post_transform", "NONE") != "NONE":
        raise Refusal(f"attribute 'post_transform' = {node.attributes['post_transform']!r}")


def _kernel(node: Node) -> Kernel:
    """The kernel, with its parameters; ``Refusal`` of one that has no formula here."""
    name = option(node, "kernel_type", "LINEAR")
    given: Any = np.ravel(option(node, "kernel_params", ()))
    if name not in KINDS:
        raise Refusal(f"attribute 'kernel_type' = {name!r}")
    if given.size not in (0, 3) or not np.isfinite(given).all():
        raise Refusal(f"attribute 'kernel_params' has {given.size} numbers, of 3")
    gamma, coef0, degree = given.tolist() if given.size else (0.0, 0.0, 0.0)
    if name == "POLY" and not (degree == int(degree) and 0 <= degree <= MOST_DEGREE):
        raise Refusal(f"degree {degree} of its kernel is no whole number from 0 to {MOST_DEGREE}")
    return Kernel(KINDS[name], Fraction(gamma), Fraction(coef0), int(degree))


def _vectors(node: Node, rows: Rows, count: int) -> Exact:
    """The support vectors (count, n) of a machine; ``Refusal`` where they do not fit the rows."""
    held, width = fractions(option(node, "support_vectors")), size_of(rows.dims)
    if len(rows.dims) != 2 or rows.dims[0] is not None or held.size != count * width:
        raise Refusal(f"{held.size} numbers of {count} vectors of {width} columns")
    return held.reshape(count, width)
