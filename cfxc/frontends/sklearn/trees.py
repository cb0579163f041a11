"""Decision trees and forests, with the deployed comparison ``float32(x) <= threshold``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from ...ir.float32 import double_threshold
from .lowering import Lowering
from .outputs import top_label, values
from .registry import Estimator, Outputs, model
from .table import Ref

LARGEST = float(np.finfo(np.float32).max)
ALWAYS = float(np.finfo(np.float64).max)


def ensemble(
    x: Operand, trees: Sequence[Any], leaves: Sequence[npt.NDArray[Any]]
) -> ops.TreeEnsemble:
    """The sum of fitted ``tree_`` objects; ``leaves[t]`` (nodes, k) are the values of tree t."""
    counts = np.array([tree.node_count for tree in trees], dtype=np.int64)
    roots = np.concatenate([[0], np.cumsum(counts)[:-1]])
    feature = np.concatenate([tree.feature for tree in trees]).astype(np.int64)
    inner = feature >= 0
    offset = np.repeat(roots, counts)

    def children(name: str) -> Tensor:
        local = np.concatenate([getattr(tree, name) for tree in trees])
        return Tensor(np.where(inner, local + offset, 0), "i64")

    threshold = np.concatenate([tree.threshold for tree in trees])
    value = np.concatenate(leaves).astype(np.float64)
    value[inner] = 0.0
    return ops.TreeEnsemble(
        x,
        Tensor(roots, "i64"),
        Tensor(np.where(inner, feature, -1), "i64"),
        Tensor(np.where(inner, thresholds_on_doubles(threshold, inner), 0.0), "f64"),
        children("children_left"),
        children("children_right"),
        Tensor(value, "f64"),
        Tensor(np.zeros(value.shape[1]), "f64"),
    )


def thresholds_on_doubles(
    threshold: npt.NDArray[np.float64], inner: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """The doubles t' with ``x <= t'`` iff ``float32(x) <= t``, where ``inner``.

    A threshold from the largest float32 on (infinite where training separated missing values)
    lets every number pass: the library refuses values that overflow float32.
    """
    moved = np.full(threshold.shape, ALWAYS)
    usual = inner & (threshold < LARGEST)
    moved[usual] = double_threshold(threshold[usual])
    return moved


def _is_multioutput(estimator: Estimator) -> Iterator[str]:
    if estimator.n_outputs_ > 1:
        yield "multi-output classification is not supported; train one model per output"


@model("classifier", DecisionTreeClassifier, ExtraTreeClassifier, flaws=_is_multioutput)
def lower_tree_classifier(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """Probability: the leaf's class fractions; label: the largest, ties to the first class."""
    tree = estimator.tree_
    share = lowering.let(ensemble(lowering.vector(refs), [tree], [tree.value[:, 0, :]]))
    return {"label": top_label(lowering, estimator.classes_, share), "probability": share}


@model("regressor", DecisionTreeRegressor, ExtraTreeRegressor)
def lower_tree_regressor(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """The leaf's value, or one per target."""
    tree = estimator.tree_
    value = lowering.let(ensemble(lowering.vector(refs), [tree], [tree.value[:, :, 0]]))
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
    total = lowering.let(ensemble(lowering.vector(refs), trees, leaves))
    return lowering.let(ops.Div(total, Literal(Fraction(len(trees)))))
