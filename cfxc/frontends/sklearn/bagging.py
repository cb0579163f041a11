"""Bagging: the mean of members, each on its own columns."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from sklearn.ensemble import BaggingClassifier, BaggingRegressor

from ...ir import Literal, Operand, ops
from .lowering import Lowering, tensor
from .members import (
    all_trees,
    as_array,
    like_members,
    lower_member,
    probability,
    total,
    vote,
)
from .outputs import top_label, values
from .registry import Estimator, Outputs, model
from .table import Ref
from .trees import ensemble


def _members(
    estimator: Estimator, refs: tuple[Ref, ...]
) -> Iterator[tuple[Estimator, tuple[Ref, ...]]]:
    columns = as_array(refs)
    for member, chosen in zip(estimator.estimators_, estimator.estimators_features_, strict=True):
        yield member, tuple(columns[index] for index in chosen)


@model("classifier", BaggingClassifier, parts=like_members)
def lower_bagging_classifier(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """The mean of the members' probabilities, or of their votes where they have none."""
    count = Literal(Fraction(len(estimator.estimators_)))
    scores: list[Operand] = []
    if all_trees(estimator):
        summed: Operand = _summed_trees(lowering, estimator, refs)
    else:
        shares = []
        for member, own in _members(estimator, refs):
            outputs = lower_member(lowering, member, own)
            shares.append(_share(lowering, estimator, member, outputs))
            if "score" in outputs and len(member.classes_) == estimator.n_classes_:
                scores.append(outputs["score"])
        summed = total(lowering, shares)
    mean = lowering.let(ops.Div(summed, count))
    made = {"label": top_label(lowering, estimator.classes_, mean)}
    if len(scores) == len(estimator.estimators_):
        made["score"] = lowering.let(ops.Div(total(lowering, scores), count))
    return made | {"probability": mean}


def _summed_trees(lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]) -> str:
    trees = [member.tree_ for member in estimator.estimators_]
    values = []
    for member in estimator.estimators_:
        own = member.tree_.value[:, 0, :]
        leaves = np.zeros((len(own), estimator.n_classes_))
        leaves[:, _places(member, estimator)] = own
        values.append(leaves)
    return ensemble(lowering, as_array(refs), trees, values, estimator.estimators_features_)


def _places(member: Estimator, estimator: Estimator) -> list[int]:
    """Where the classes of a member stand: it was trained on their numbers."""
    if len(member.classes_) == estimator.n_classes_:
        return list(range(estimator.n_classes_))
    return [int(one) for one in member.classes_]


def _share(
    lowering: Lowering, estimator: Estimator, member: Estimator, outputs: Outputs
) -> Operand:
    width = estimator.n_classes_
    places = _places(member, estimator)
    spread = np.zeros((len(places), width))
    spread[np.arange(len(places)), places] = 1.0
    if not hasattr(member, "predict_proba"):
        return vote(lowering, member, outputs, spread)
    own = probability(lowering, member, outputs)
    if len(places) == width:
        return own
    return lowering.let(ops.Affine(own, tensor(spread.T), tensor(np.zeros(width))))


@model("regressor", BaggingRegressor, parts=like_members)
def lower_bagging_regressor(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """The mean of the members' values."""
    count = Literal(Fraction(len(estimator.estimators_)))
    if not all_trees(estimator):
        parts = _members(estimator, refs)
        made = [lower_member(lowering, member, own)["value"] for member, own in parts]
        return {"value": lowering.let(ops.Div(total(lowering, made), count))}
    trees = [member.tree_ for member in estimator.estimators_]
    leaves = [tree.value[:, :, 0] for tree in trees]
    summed = ensemble(lowering, as_array(refs), trees, leaves, estimator.estimators_features_)
    return {"value": values(lowering, lowering.let(ops.Div(summed, count)), leaves[0].shape[1])}
