"""Gradient boosting: one sum of trees from a constant, on columns rounded to float32.

A leaf adds ``learning_rate * value``; the library computes that product in doubles for every row,
so the double it gets is the leaf's value here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from ...ir import Literal, Operand, ops
from .lowering import Lowering
from .outputs import ZERO, binary_label_from, pair, top_label
from .registry import Estimator, Outputs, model
from .table import Ref
from .trees import ensemble

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


def _raw(lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]) -> tuple[str, int]:
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


def _start(estimator: Estimator) -> npt.NDArray[np.float64]:
    """What the sum starts from, as the library computes it: the same for all rows."""
    row = np.zeros((1, estimator.n_features_in_), dtype=np.float32)
    start: npt.NDArray[np.float64] = np.ravel(estimator._raw_predict_init(row))
    return start


@model("classifier", GradientBoostingClassifier, flaws=_varying_start)
def lower_boosted_classifier(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """Label: the second class iff ``raw >= 0`` (a tie is the second class), or the highest."""
    raw, width = _raw(lowering, estimator, refs)
    if width > 1:
        label = top_label(lowering, estimator.classes_, raw)
        return {"label": label, "score": raw, "probability": lowering.let(ops.Softmax(raw))}
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
def lower_boosted_regressor(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """``value``: the raw sum, whatever the loss."""
    raw, _ = _raw(lowering, estimator, refs)
    return {"value": lowering.let(ops.Item(raw, 0))}
