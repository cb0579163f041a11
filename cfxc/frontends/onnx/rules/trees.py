"""Tree ensembles of ``ai.onnx.ml``, with the comparisons and labels of onnxruntime.

Votes of equal weight are added up in single floats in an order that is not known:
onnxruntime adds the leaves that a row reaches in float32: tree by tree, or in parts, one for each
thread, depending on its threads and on how many rows it is given.  Of k votes of the same weight c
the sum lies between two floats that all orders share, since rounding is monotone:

    least(k) = min over i of fl(least(i) + least(k - i)),  least(1) = c,

and likewise the largest.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ....arrays import Floats, Ints
from ....errors import VerificationError
from ....ir import Literal, Operand, Tensor, ops
from ..context import Context, option
from ..forest import Forest, from_tables, from_tensors
from ..graph import DType, Node
from ..values import Choice, Refusal, Rows, Value, size_of
from .arithmetic import HALF, choice_of
from .labels import decide
from .linear import class_labels, softmax_of, squash
from .registry import Inputs, argument, rule

MOST = 4000  # votes; their extremes take quadratic time
NEAR = Fraction(1, 4)  # of a vote: so far from any sum of votes the cut is, at least


def cut_of_votes(forest: Forest) -> Fraction:
    """The cut that the exact sum of a column of votes must exceed for label 1.

    1/2, or, where votes of one weight c come so near to it that rounding decides, and in the same
    way in any order, a cut c/4 away from both sums around it: then exact sums decide as deployed.
    """
    weights = np.unique(forest.value[forest.feature < 0])
    weight, count = float(weights[-1]), int(forest.roots.size)
    if set(weights.tolist()) - {0.0, weight} or not weight > 0 or count > MOST:
        return HALF
    least, most = extremes(weight, count)
    refused, accepted = np.flatnonzero(most <= 0.5)[-1], np.flatnonzero(least > 0.5)
    if not accepted.size or accepted[0] != refused + 1:
        return HALF
    vote = Fraction(weight)
    low, high = int(refused) * vote, (int(refused) + 1) * vote
    return max(min(HALF, high - NEAR * vote), low + NEAR * vote)


def extremes(weight: float, count: int) -> tuple[Floats, Floats]:
    """The least and the largest sum of 0 … ``count`` float32 numbers ``weight``, in any order."""
    least = np.zeros(count + 1, np.float32)
    least[1:2] = weight
    most = least.copy()
    for k in range(2, count + 1):
        half = k // 2
        least[k] = (least[1 : half + 1] + least[k - 1 : k - half - 1 : -1]).min()
        most[k] = (most[1 : half + 1] + most[k - 1 : k - half - 1 : -1]).max()
    return least.astype(np.float64), most.astype(np.float64)


NODES = (
    "nodes_falsenodeids", "nodes_featureids", "nodes_hitrates", "nodes_hitrates_as_tensor",
    "nodes_missing_value_tracks_true", "nodes_modes", "nodes_nodeids", "nodes_treeids",
    "nodes_truenodeids", "nodes_values", "nodes_values_as_tensor", "post_transform",
    "base_values", "base_values_as_tensor",
)  # fmt: skip


def grow(ctx: Context, rows: Rows, forest: Forest, base: Any) -> Rows:
    """The sums of the leaves' values, plus ``base``, as one ``tree_ensemble``."""
    width = size_of(rows.dims)
    if len(rows.dims) != 2 or int(forest.feature.max(initial=-1)) >= width:
        raise Refusal(f"splits on column {int(forest.feature.max())} of {width}")
    x, feature, cuts = _with_gaps(ctx, rows, forest)
    try:
        op = ops.TreeEnsemble(
            x,
            Tensor(forest.roots),
            Tensor(feature),
            Tensor(cuts),
            Tensor(forest.left),
            Tensor(forest.right),
            Tensor(forest.value),
            Tensor(np.asarray(base, dtype=np.float64)),
        )
    except VerificationError as error:
        raise Refusal(str(error)) from error
    return ctx.rows(op, (None, forest.value.shape[1]), rows.dtype)


ALWAYS = float(np.finfo(np.float64).max)


def _with_gaps(ctx: Context, rows: Rows, forest: Forest) -> tuple[Operand, Ints, Floats]:
    """The vector that trees compare, and the features and bounds of their nodes.

    A number that may be missing is there twice more, with a missing one at either end of all
    doubles, so that a comparison sends it to the left, or to the right.
    """
    x, feature, cuts = ctx.vector(rows), forest.feature.copy(), forest.cuts.copy()
    places = [place for place, name in enumerate(rows.gaps) if name]
    if not places:
        return x, feature, cuts
    ends = [
        end
        for side in (-1, 1)
        for end in ctx.filled(rows, places, [Fraction(side * ALWAYS)] * len(places))
    ]
    width = size_of(rows.dims)
    for at, place in enumerate(places):
        nodes = forest.feature == place
        right = forest.missing_right[nodes].astype(np.int64)
        feature[nodes] = width + at + len(places) * right
        cuts[nodes] = np.clip(cuts[nodes], -ALWAYS, np.nextafter(ALWAYS, 0.0))
    return ctx.let(ops.Concat((x, *ends))), feature, cuts


def split_input(ctx: Context, inputs: Inputs) -> Rows:
    """The numbers that thresholds are compared with: doubles as they are, else float32."""
    rows = ctx.with_gaps(argument(inputs, 0))
    return rows if rows.dtype in ("float", "double") else ctx.convert(rows, "float")


def _base(node: Node, allowed: tuple[int, ...]) -> Any:
    given = option(node, "base_values", option(node, "base_values_as_tensor", np.zeros(0)))
    if given.size not in (0, *allowed):
        raise Refusal(f"attribute 'base_values' has {given.size} entries")
    return given.astype(np.float64)


@rule(
    "ai.onnx.ml.TreeEnsembleRegressor",
    attributes=[
        *NODES, "aggregate_function", "n_targets", "target_ids", "target_nodeids",
        "target_treeids", "target_weights", "target_weights_as_tensor",
    ],
)  # fmt: skip
def _tree_ensemble_regressor(ctx: Context, node: Node, inputs: Inputs) -> Value:
    if option(node, "post_transform", "NONE") != "NONE":
        raise Refusal(f"attribute 'post_transform' = {node.attributes['post_transform']!r}")
    targets = option(node, "n_targets", 0)
    base = _base(node, (targets,))
    forest = from_tables(node.attributes, "target", targets)
    aggregate = option(node, "aggregate_function", "SUM")
    base = base if base.size else np.zeros(targets)
    return _aggregated(ctx, split_input(ctx, inputs), forest, base, aggregate)


def _aggregated(ctx: Context, rows: Rows, forest: Forest, base: Any, aggregate: str) -> Rows:
    if aggregate == "SUM":
        return _as_float(grow(ctx, rows, forest, base))
    if aggregate != "AVERAGE":
        raise Refusal(f"attribute 'aggregate_function' = {aggregate!r}")
    total = grow(ctx, rows, forest, np.zeros(base.size))
    count = Literal(Fraction(forest.roots.size))
    mean = Rows(ctx.let(ops.Div(total.operand, count)), total.dims, total.dtype)
    if base.any():
        mean = ctx.elementwise(ops.Add, [mean, base], mean.dtype)
    return _as_float(mean)


def _as_float(rows: Rows) -> Rows:
    return Rows(rows.operand, rows.dims, "float", rows.note, rows.chance)


AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


@rule(
    "ai.onnx.ml.TreeEnsemble",
    attributes=[
        "aggregate_function", "leaf_targetids", "leaf_weights", "membership_values", "n_targets",
        "nodes_falseleafs", "nodes_falsenodeids", "nodes_featureids", "nodes_hitrates",
        "nodes_missing_value_tracks_true", "nodes_modes", "nodes_splits", "nodes_trueleafs",
        "nodes_truenodeids", "post_transform", "tree_roots",
    ],
)  # fmt: skip
def _tree_ensemble(ctx: Context, node: Node, inputs: Inputs) -> Value:
    if option(node, "post_transform", 0):
        raise Refusal(f"attribute 'post_transform' = {node.attributes['post_transform']}")
    targets, aggregate = option(node, "n_targets", 0), option(node, "aggregate_function", 1)
    if not 0 <= aggregate < len(AGGREGATES):
        raise Refusal(f"attribute 'aggregate_function' = {aggregate}")
    forest = from_tensors(node.attributes, targets)
    rows = split_input(ctx, inputs)
    result = _aggregated(ctx, rows, forest, np.zeros(targets), AGGREGATES[aggregate])
    return Rows(result.operand, result.dims, rows.dtype)


@rule(
    "ai.onnx.ml.TreeEnsembleClassifier",
    attributes=[
        *NODES, "class_ids", "class_nodeids", "class_treeids", "class_weights",
        "class_weights_as_tensor", "classlabels_int64s", "classlabels_strings",
    ],
)  # fmt: skip
def _tree_ensemble_classifier(ctx: Context, node: Node, inputs: Inputs) -> tuple[Value, Value]:
    """The label and scores, as onnxruntime has them (see the functions below)."""
    post = option(node, "post_transform", "NONE")
    if post not in ("NONE", "LOGISTIC", "SOFTMAX"):
        raise Refusal(f"attribute 'post_transform' = {post!r}")
    labels = class_labels(node, "classlabels_int64s")
    if len(labels) < 2:
        raise Refusal(f"has {len(labels)} classes")
    forest = from_tables(node.attributes, "class", len(labels))
    rows = split_input(ctx, inputs)
    dtype: DType = "string" if isinstance(labels[0], str) else "int"
    if len(labels) > 2:
        return _many_classes(ctx, node, rows, forest, labels, dtype)
    if len(np.unique(forest.ids)) == 1:
        return _one_score(ctx, node, rows, forest, labels, dtype)
    return _two_scores(ctx, node, rows, forest, labels, dtype)


def _many_classes(
    ctx: Context, node: Node, rows: Rows, forest: Forest, labels: tuple[Any, ...], dtype: DType
) -> tuple[Value, Value]:
    """The largest score among the classes that a reached leaf names, the first of equals."""
    base = _base(node, (len(labels),))
    if not base.size and not forest.names_all_classes() and not forest.always_positive():
        raise Refusal("scores some classes at some leaves only, which decides the label")
    scores = _as_float(grow(ctx, rows, forest, base if base.size else np.zeros(len(labels))))
    label = decide(ctx, scores, (None,))
    post = option(node, "post_transform", "NONE")
    score = None if post == "NONE" and forest.nonnegative else scores.operand
    choice = Choice(label.index, labels, (None,), dtype, score)
    chance = post == "NONE" and forest.nonnegative and not base.any()
    return choice, _post(ctx, Rows(scores.operand, scores.dims, "float", None, chance), post)


def _post(ctx: Context, rows: Rows, post: str) -> Rows:
    if post == "NONE":
        return rows
    return squash(ctx, rows, "Sigmoid") if post == "LOGISTIC" else softmax_of(ctx, rows)


def _one_score(
    ctx: Context, node: Node, rows: Rows, forest: Forest, labels: tuple[Any, ...], dtype: DType
) -> tuple[Value, Value]:
    """Leaves name one class only, so there is one sum s: label 1 iff s > 1/2, or, if some weight
    is negative, s > 0.  ``post_transform`` changes the scores, never the label.

    Sums of equal votes that float32 rounds across 1/2 are told apart as the runtime does.
    """
    post = option(node, "post_transform", "NONE")
    (own,) = np.unique(forest.ids).tolist()
    base = _base(node, (1,) if own == 0 else ())
    column = Forest.only(forest, own)
    total = _as_float(grow(ctx, rows, column, base if base.size else np.zeros(1)))
    threshold = Fraction(0)
    if forest.nonnegative:
        counted = not base.any() and rows.dtype == "float"
        threshold = cut_of_votes(column) if counted else HALF
    above = Rows(ctx.let(ops.Gt(total.operand, Literal(threshold))), (None,), "bool")
    voted = forest.nonnegative and post == "NONE" and not base.any()
    label = choice_of(ctx, above, labels, dtype, None if threshold else total.operand)
    s: Operand = total.operand
    zero, one = Literal(Fraction(0)), Literal(Fraction(1))
    if own == 1:
        pair: tuple[Operand, Operand] = (zero, s)
    elif post != "LOGISTIC" and forest.nonnegative:
        pair = (ctx.let(ops.Sub(one, s)), s)
    else:
        pair = (ctx.let(ops.Neg(s)), s)
    scores = Rows(ctx.let(ops.Concat(pair)), (None, 2), "float", None, voted)
    if post == "LOGISTIC":
        return label, squash(ctx, scores, "Sigmoid")
    return label, softmax_of(ctx, scores) if post == "SOFTMAX" and own == 1 else scores


def _two_scores(
    ctx: Context, node: Node, rows: Rows, forest: Forest, labels: tuple[Any, ...], dtype: DType
) -> tuple[Value, Value]:
    """Leaves name both of two classes: onnxruntime answers 1 iff the second sum is above 0.

    It is not the larger sum that wins, and integer labels come out as 0 and 1 whatever they are.
    """
    _base(node, ())
    if not forest.names_all_classes():
        raise Refusal("scores the second of two classes at some leaves only")
    if dtype == "int" and labels != (0, 1):
        raise Refusal(f"names both of two classes; the runtime answers 0 or 1, not {labels}")
    scores = _as_float(grow(ctx, rows, forest, np.zeros(2)))
    second = ctx.let(ops.Item(scores.operand, 1))
    above = Rows(ctx.let(ops.Gt(second, Literal(Fraction(0)))), (None,), "bool")
    label = choice_of(ctx, above, labels, dtype)
    return label, _post(ctx, scores, option(node, "post_transform", "NONE"))
