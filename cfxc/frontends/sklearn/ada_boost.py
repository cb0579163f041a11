"""AdaBoost: weighted votes of classifiers, and the weighted median of regressors."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor

from ...ir import Literal, Operand, ops
from .lowering import Lowering
from .members import (
    all_trees,
    as_array,
    classes_of,
    leaf_votes,
    like_members,
    lower_member,
    total,
    vote,
)
from .outputs import binary_label, top_label
from .registry import Estimator, Outputs, model
from .table import Ref
from .trees import ensemble


def _classifier_flaws(estimator: Estimator) -> Iterator[str]:
    if getattr(estimator, "algorithm", "SAMME") == "SAMME.R":
        yield "algorithm 'SAMME.R' is not supported; train it with algorithm='SAMME'"
    if estimator.n_classes_ < 2:
        yield "knows one class only, so nothing can change its answer"


@model("classifier", AdaBoostClassifier, flaws=_classifier_flaws, parts=like_members)
def lower_ada_boost_classifier(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """``w`` for the class a member names and ``-w / (K - 1)`` for all others, over the weights.

    Label: the highest sum; of two, the second class iff its sum is positive.
    """
    columns, width = as_array(refs), estimator.n_classes_
    members = list(zip(estimator.estimators_, estimator.estimator_weights_, strict=False))
    if all_trees(estimator):
        trees = [member.tree_ for member, _ in members]
        leaves = [leaf_votes(one.tree_, _ballots(estimator, one, own)) for one, own in members]
        votes: Operand = ensemble(lowering, columns, trees, leaves)
    else:
        parts = []
        for member, own in members:
            outputs = lower_member(lowering, member, columns)
            parts.append(vote(lowering, member, outputs, _ballots(estimator, member, own)))
        votes = total(lowering, parts)
    mean = lowering.let(
        ops.Div(votes, Literal(Fraction(float(estimator.estimator_weights_.sum()))))
    )
    if width == 2:
        return _binary(lowering, estimator, lowering.let(ops.Item(mean, 0)))
    label = top_label(lowering, estimator.classes_, mean)
    raised = lowering.let(ops.Div(mean, Literal(Fraction(width - 1))))
    return {"label": label, "score": mean, "probability": lowering.let(ops.Softmax(raised))}


def _binary(lowering: Lowering, estimator: Estimator, mean: Operand) -> Outputs:
    """The score is the second class's sum minus the first's, which is its opposite."""
    score = lowering.let(ops.Add(mean, mean))
    half = lowering.let(ops.Div(score, Literal(Fraction(2))))
    both = lowering.let(ops.Concat((lowering.let(ops.Neg(half)), half)))
    label = binary_label(lowering, estimator.classes_, score)
    return {"label": label, "score": score, "probability": lowering.let(ops.Softmax(both))}


def _ballots(estimator: Estimator, member: Estimator, weight: float) -> npt.NDArray[np.float64]:
    """What a member adds to each class if it names its class c: row c.

    One column if there are two classes: the second class's.
    """
    classes = list(estimator.classes_)
    others = -1 / (len(classes) - 1) * weight
    rows = [[weight if own == one else others for one in classes] for own in classes_of(member)]
    table = np.array(rows, dtype=np.float64)
    return table[:, 1:] if len(classes) == 2 else table


@model("regressor", AdaBoostRegressor, parts=like_members)
def lower_ada_boost_regressor(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """The weighted median: the least value that at least half of all weight does not exceed.

    ``min {y_i : sum_j w_j [y_j <= y_i] >= sum_j w_j / 2}``, which is what sorting finds too:
    weights are positive, and equal values share the last of their cumulative weights.
    """
    values = _values(lowering, estimator, as_array(refs))
    weights = [float(one) for one in estimator.estimator_weights_[: len(estimator.estimators_)]]
    reached = []
    for place, weight in enumerate(weights):
        below = lowering.let(ops.Le(lowering.let(ops.Item(values, place)), values))
        counted = lowering.let(ops.ToReal(below))
        reached.append(lowering.let(ops.Mul(counted, Literal(Fraction(weight)))))
    half = Literal(sum(map(Fraction, weights), Fraction(0)) / 2)
    enough = lowering.let(ops.Ge(total(lowering, reached), half))
    largest = lowering.let(ops.ReduceMax(values))
    chosen = lowering.let(ops.Select(enough, values, largest))
    return {"value": lowering.let(ops.ReduceMin(chosen))}


def _values(lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]) -> str:
    """The members' values as one vector."""
    members = estimator.estimators_
    if not all_trees(estimator):
        parts = [lower_member(lowering, member, refs)["value"] for member in members]
        return lowering.let(ops.Concat(tuple(parts)))
    values = []
    for place, member in enumerate(members):
        leaves = np.zeros((member.tree_.node_count, len(members)))
        leaves[:, place] = member.tree_.value[:, 0, 0]
        values.append(leaves)
    return ensemble(lowering, refs, [member.tree_ for member in members], values)
