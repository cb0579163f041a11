"""Trees, forests, boosting and isolation forests.

Where they split, with the deployed comparison ``float32(x) <= threshold``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.ensemble._iforest import _average_path_length
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.utils import get_tags

from ...arrays import Array, Bools, Floats, Ints
from ...ir import Literal, Operand, Tensor, ops
from ...ir.float32 import double_threshold
from .linear import (
    ZERO,
    binary_label_from,
    outlier_or_inlier,
    pair,
    several_outputs,
    top_label,
    values,
)
from .lowering import Lowering, Ref, Refs
from .registry import Estimator, Outputs, model
from .tracing import ALWAYS, Compared, compared, first_true

LARGEST = float(np.finfo(np.float32).max)


def cuts(
    columns: Compared,
    feature: Ints,
    threshold: Floats,
    missing_right: Bools | None = None,
    *,
    single: bool,
) -> tuple[Ints, Floats]:
    """Features and doubles t' with ``x[feature] <= t'`` iff a tree sees at most ``threshold``.

    With ``single`` the tree rounds what it sees to float32.  Any number where ``feature < 0``.
    ``missing_right``: which nodes send a missing number to the right.
    """
    inner = feature >= 0
    moved = thresholds_on_doubles(threshold, inner) if single else np.minimum(threshold, ALWAYS)
    return columns.cuts(feature, moved, missing_right)


def thresholds_on_doubles(threshold: Floats, inner: Bools) -> Floats:
    """The doubles t' with ``x <= t'`` iff ``float32(x) <= t``, where ``inner``.

    A threshold from the largest float32 on (infinite where training separated missing values)
    lets every number pass: the library refuses values that overflow float32.
    """
    moved = np.full(threshold.shape, ALWAYS)
    usual = inner & (threshold < LARGEST)
    moved[usual] = double_threshold(threshold[usual])
    return moved


@dataclass(frozen=True)
class Nodes:
    """One tree: its nodes in order, children after their parent.

    Shapes: ``feature`` (n,), negative on leaves; ``threshold``, ``left``, ``right`` (n,), of any
    value on leaves; ``value`` (n, k), of any value on inner nodes.  Left iff
    ``x[feature] <= threshold`` over the reals.
    """

    feature: Array
    threshold: Array
    left: Array
    right: Array
    value: Array


def nodes_of(
    columns: Compared,
    trees: Sequence[Any],
    leaves: Sequence[Array],
    places: Sequence[npt.ArrayLike | None],
) -> list[Nodes]:
    """Fitted ``tree_`` objects with values ``leaves[t]`` (nodes, k).

    ``places[t]`` are the columns behind the features of a tree, if these are others.
    """
    features = []
    for tree, own in zip(trees, places, strict=True):
        inner = tree.feature >= 0
        known = tree.feature if own is None else np.asarray(own)[np.maximum(tree.feature, 0)]
        features.append(np.where(inner, known, -1))
    ends = np.cumsum([feature.size for feature in features])[:-1]
    bounds = np.concatenate([tree.threshold for tree in trees])
    right = np.concatenate([tree.missing_go_to_left == 0 for tree in trees])
    moved = cuts(columns, np.concatenate(features), bounds, right, single=True)
    feature, threshold = (np.split(each, ends) for each in moved)
    return [
        Nodes(own, bound, tree.children_left, tree.children_right, value)
        for tree, own, bound, value in zip(trees, feature, threshold, leaves, strict=True)
    ]


def joined(
    x: Operand, trees: Sequence[Nodes], base: npt.ArrayLike | None = None
) -> ops.TreeEnsemble:
    """``base`` plus the sum of the trees, in this order; ``base`` (k,) is zero if not given."""
    # millions of nodes are copied one array at a time, the widest first: less memory at the peak
    starts = np.cumsum([0] + [tree.feature.size for tree in trees])
    inner = np.concatenate([tree.feature >= 0 for tree in trees])
    value = np.concatenate([tree.value for tree in trees], dtype=np.float64)
    value[inner] = 0.0
    leaves = Tensor(value, "f64")
    del value

    def children(local: Sequence[Array]) -> Tensor:
        whole = np.concatenate(local, dtype=np.int64)
        for start, end in pairwise(starts.tolist()):
            whole[start:end] += start
        whole[~inner] = 0
        return Tensor(whole, "i64")

    left, right = children([tree.left for tree in trees]), children([tree.right for tree in trees])
    feature = np.concatenate([tree.feature for tree in trees], dtype=np.int64)
    feature[~inner] = -1
    threshold = np.concatenate([tree.threshold for tree in trees], dtype=np.float64)
    threshold[~inner] = 0.0
    start = np.zeros(leaves.shape[1]) if base is None else np.asarray(base, dtype=np.float64)
    return ops.TreeEnsemble(
        x,
        Tensor(starts[:-1], "i64"),
        Tensor(feature, "i64"),
        Tensor(threshold, "f64"),
        left,
        right,
        leaves,
        Tensor(start, "f64"),
    )


def ensemble(
    lowering: Lowering,
    refs: Sequence[Ref],
    trees: Sequence[Any],
    leaves: Sequence[Array],
    places: Sequence[npt.ArrayLike | None] | None = None,
    base: npt.ArrayLike | None = None,
    *,
    gaps: bool = False,
) -> str:
    """The sum of fitted ``tree_`` objects on the columns ``refs``.

    ``leaves[t]`` (nodes, k) are the values of tree t, and ``places[t]`` the columns it knows;
    ``gaps``: whether their library hands them missing numbers.
    """
    columns = compared(lowering, refs, gaps=gaps)
    chosen = [None] * len(trees) if places is None else places
    nodes = nodes_of(columns, trees, leaves, chosen)
    return lowering.let(joined(columns.vector(), nodes, base))


def _is_multioutput(estimator: Estimator) -> Iterator[str]:
    if estimator.n_outputs_ > 1:
        yield "multi-output classification is not supported; train one model per output"


def takes_gaps(estimator: Estimator) -> bool:
    """Whether the library hands missing numbers to the trees of an estimator."""
    return bool(get_tags(estimator).input_tags.allow_nan)


@model("classifier", DecisionTreeClassifier, ExtraTreeClassifier, flaws=_is_multioutput)
def lower_tree_classifier(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """Probability: the leaf's class fractions; label: the largest, ties to the first class."""
    share = _sum(lowering, refs, estimator, [estimator.tree_], lambda tree: tree.value[:, 0, :])
    return {"label": top_label(lowering, estimator.classes_, share), "probability": share}


@model("regressor", DecisionTreeRegressor, ExtraTreeRegressor)
def lower_tree_regressor(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """The leaf's value, or one per target."""
    value = _sum(lowering, refs, estimator, [estimator.tree_], lambda tree: tree.value[:, :, 0])
    return {"value": values(lowering, value, estimator.n_outputs_)}


@model("classifier", RandomForestClassifier, ExtraTreesClassifier, flaws=_is_multioutput)
def lower_forest_classifier(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """Probability: the mean of the trees' class fractions; label: its largest entry."""
    mean = _mean(lowering, refs, estimator, lambda tree: tree.value[:, 0, :])
    return {"label": top_label(lowering, estimator.classes_, mean), "probability": mean}


@model("regressor", RandomForestRegressor, ExtraTreesRegressor)
def lower_forest_regressor(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """The mean of the trees' values, or one per target."""
    mean = _mean(lowering, refs, estimator, lambda tree: tree.value[:, :, 0])
    return {"value": values(lowering, mean, estimator.n_outputs_)}


def _sum(
    lowering: Lowering, refs: Refs, estimator: Estimator, trees: Sequence[Any],
    leaves: Callable[[Any], Array],
) -> str:  # fmt: skip
    made = [leaves(tree) for tree in trees]
    return ensemble(lowering, refs, trees, made, gaps=takes_gaps(estimator))


def _mean(lowering: Lowering, refs: Refs, forest: Estimator, leaves: Callable[[Any], Array]) -> str:
    """The sum over the trees, then one division: the library's order."""
    trees = [one.tree_ for one in forest.estimators_]
    total = _sum(lowering, refs, forest, trees, leaves)
    return lowering.let(ops.Div(total, Literal(Fraction(len(trees)))))


CONSTANT = (DummyClassifier, DummyRegressor)


def _varying_start(estimator: Estimator) -> Iterator[str]:
    start = estimator.init_
    if isinstance(start, str) and start == "zero":
        return
    if type(start) not in CONSTANT:
        yield (
            f"starts from a {type(start).__name__} (init); only init=None, init='zero' and dummy "
            "estimators are supported"
        )
    elif start.strategy == "stratified":
        yield "starts from random numbers: init is a DummyClassifier(strategy='stratified')"


def _raw(lowering: Lowering, estimator: Estimator, refs: Refs) -> tuple[str, int]:
    """``raw_predictions``, a vector, and its length: one, or one per class."""
    base = _start(estimator)
    trees, values = [], []
    for stage in estimator.estimators_:
        for place, one in enumerate(stage):
            leaves = np.zeros((one.tree_.node_count, base.size))
            leaves[:, place] = estimator.learning_rate * one.tree_.value[:, 0, 0]
            trees.append(one.tree_)
            values.append(leaves)
    return ensemble(lowering, refs, trees, values, base=base), base.size


def _start(estimator: Estimator) -> Floats:
    """What the sum starts from, as the library computes it: the same for all rows."""
    row = np.zeros((1, estimator.n_features_in_), dtype=np.float32)
    start: Floats = np.ravel(estimator._raw_predict_init(row))
    return start


@model("classifier", GradientBoostingClassifier, flaws=_varying_start)
def lower_boosted_classifier(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """Label: the second class iff ``raw >= 0`` (a tie is the second class), or the highest."""
    raw, width = _raw(lowering, estimator, refs)
    if width > 1:
        return several_outputs(lowering, estimator.classes_, raw)
    score = lowering.let(ops.Item(raw, 0))
    label = binary_label_from(lowering, estimator.classes_, score, ZERO)
    share = lowering.let(ops.Sigmoid(_logit(lowering, estimator, score)))
    return {"label": label, "score": score, "probability": pair(lowering, share)}


def _logit(lowering: Lowering, estimator: Estimator, score: str) -> Operand:
    """The log-odds: the raw sum, or twice that under the exponential loss."""
    if estimator.loss != "exponential":
        return score
    return lowering.let(ops.Mul(score, Literal(2)))


@model("regressor", GradientBoostingRegressor, flaws=_varying_start)
def lower_boosted_regressor(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """``value``: the raw sum, whatever the loss."""
    raw, _ = _raw(lowering, estimator, refs)
    return {"value": lowering.let(ops.Item(raw, 0))}


@model("classifier", IsolationForest, labels=outlier_or_inlier)
def lower_isolation_forest(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """Label 1 iff the decision function is at least 0, which is a bound on the depth, else -1."""
    values = [
        (depths + extra - 1.0)[:, None]
        for depths, extra in zip(
            estimator._decision_path_lengths, estimator._average_path_length_per_tree, strict=True
        )
    ]
    subsampled = estimator._max_features != estimator.n_features_in_
    places = estimator.estimators_features_ if subsampled else None
    trees = [member.tree_ for member in estimator.estimators_]
    total = ensemble(lowering, refs, trees, values, places, gaps=takes_gaps(estimator))
    depth = lowering.let(ops.Item(total, 0))
    most = float(sum(leaves.max() for leaves in values))
    least = Literal(Fraction(_least_depth(estimator, most)))
    return {"label": binary_label_from(lowering, outlier_or_inlier(estimator), depth, least)}


def _least_depth(estimator: Estimator, most: float) -> float:
    """The smallest double from 0 to ``2 most + 1`` whose score reaches the offset.

    One beyond ``most`` if none does.
    """
    scale = len(estimator.estimators_) * _average_path_length([estimator._max_samples])

    def is_inlier(depth: float) -> bool:
        depths = np.array([depth])
        ratio = np.divide(depths, scale, out=np.ones_like(depths), where=scale != 0)
        decision = -(2 ** (-ratio)) - estimator.offset_
        return not bool((decision < 0)[0])

    return first_true(is_inlier, 0.0, 2 * most + 1)
