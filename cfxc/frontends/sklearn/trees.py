"""Decision trees and forests, with the deployed comparison ``float32(x) <= threshold``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from ...ir import Literal, Operand, Tensor, ops
from .comparisons import Compared, compared, cuts
from .lowering import Lowering
from .outputs import top_label, values
from .registry import Estimator, Outputs, model
from .table import Ref


@dataclass(frozen=True)
class Nodes:
    """One tree: its nodes in order, children after their parent.

    Shapes: ``feature`` (n,), negative on leaves; ``threshold``, ``left``, ``right`` (n,), of any
    value on leaves; ``value`` (n, k), of any value on inner nodes.  Left iff
    ``x[feature] <= threshold`` over the reals.
    """

    feature: npt.NDArray[Any]
    threshold: npt.NDArray[Any]
    left: npt.NDArray[Any]
    right: npt.NDArray[Any]
    value: npt.NDArray[Any]


def nodes_of(
    columns: Compared,
    tree: Any,
    leaves: npt.NDArray[Any],
    places: npt.ArrayLike | None = None,
) -> Nodes:
    """A fitted ``tree_`` with values ``leaves`` (nodes, k).

    ``places`` are the columns behind the features of the tree, if these are others.
    """
    feature, inner = tree.feature, tree.feature >= 0
    if places is not None:
        feature = np.where(inner, np.asarray(places)[np.maximum(feature, 0)], -1)
    threshold = cuts(columns, feature, tree.threshold, single=True)
    return Nodes(feature, threshold, tree.children_left, tree.children_right, leaves)


def joined(
    x: Operand, trees: Sequence[Nodes], base: npt.ArrayLike | None = None
) -> ops.TreeEnsemble:
    """``base`` plus the sum of the trees, in this order; ``base`` (k,) is zero if not given."""
    counts = np.array([tree.feature.size for tree in trees], dtype=np.int64)
    roots = np.concatenate([[0], np.cumsum(counts)[:-1]])
    feature = np.concatenate([tree.feature for tree in trees]).astype(np.int64)
    inner = feature >= 0
    offset = np.repeat(roots, counts)

    def children(local: Sequence[npt.NDArray[Any]]) -> Tensor:
        return Tensor(np.where(inner, np.concatenate(local).astype(np.int64) + offset, 0), "i64")

    threshold = np.concatenate([tree.threshold for tree in trees])
    value = np.concatenate([tree.value for tree in trees]).astype(np.float64)
    value[inner] = 0.0
    start = np.zeros(value.shape[1]) if base is None else np.asarray(base, dtype=np.float64)
    return ops.TreeEnsemble(
        x,
        Tensor(roots, "i64"),
        Tensor(np.where(inner, feature, -1), "i64"),
        Tensor(np.where(inner, threshold, 0.0), "f64"),
        children([tree.left for tree in trees]),
        children([tree.right for tree in trees]),
        Tensor(value, "f64"),
        Tensor(start, "f64"),
    )


def ensemble(
    lowering: Lowering,
    refs: Sequence[Ref],
    trees: Sequence[Any],
    leaves: Sequence[npt.NDArray[Any]],
    places: Sequence[npt.ArrayLike | None] | None = None,
    base: npt.ArrayLike | None = None,
) -> str:
    """The sum of fitted ``tree_`` objects on the columns ``refs``.

    ``leaves[t]`` (nodes, k) are the values of tree t, and ``places[t]`` the columns it knows.
    """
    columns = compared(lowering, refs)
    chosen = [None] * len(trees) if places is None else places
    nodes = [nodes_of(columns, *parts) for parts in zip(trees, leaves, chosen, strict=True)]
    return lowering.let(joined(columns.x, nodes, base))


def _is_multioutput(estimator: Estimator) -> Iterator[str]:
    if estimator.n_outputs_ > 1:
        yield "multi-output classification is not supported; train one model per output"


@model("classifier", DecisionTreeClassifier, ExtraTreeClassifier, flaws=_is_multioutput)
def lower_tree_classifier(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """Probability: the leaf's class fractions; label: the largest, ties to the first class."""
    tree = estimator.tree_
    share = ensemble(lowering, refs, [tree], [tree.value[:, 0, :]])
    return {"label": top_label(lowering, estimator.classes_, share), "probability": share}


@model("regressor", DecisionTreeRegressor, ExtraTreeRegressor)
def lower_tree_regressor(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """The leaf's value, or one per target."""
    tree = estimator.tree_
    value = ensemble(lowering, refs, [tree], [tree.value[:, :, 0]])
    return {"value": values(lowering, value, estimator.n_outputs_)}


@model("classifier", RandomForestClassifier, ExtraTreesClassifier, flaws=_is_multioutput)
def lower_forest_classifier(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """Probability: the mean of the trees' class fractions; label: its largest entry."""
    trees = [one.tree_ for one in estimator.estimators_]
    mean = _mean(lowering, refs, trees, [tree.value[:, 0, :] for tree in trees])
    return {"label": top_label(lowering, estimator.classes_, mean), "probability": mean}


@model("regressor", RandomForestRegressor, ExtraTreesRegressor)
def lower_forest_regressor(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """The mean of the trees' values, or one per target."""
    trees = [one.tree_ for one in estimator.estimators_]
    mean = _mean(lowering, refs, trees, [tree.value[:, :, 0] for tree in trees])
    return {"value": values(lowering, mean, estimator.n_outputs_)}


def _mean(
    lowering: Lowering,
    refs: tuple[Ref, ...],
    trees: Sequence[Any],
    leaves: Sequence[npt.NDArray[Any]],
) -> str:
    """The sum over the trees, then one division: the library's order."""
    total = ensemble(lowering, refs, trees, leaves)
    return lowering.let(ops.Div(total, Literal(Fraction(len(trees)))))
