"""Ensembles of whole predictors: bagging, voting and AdaBoost."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from ...arrays import Floats
from ...ir import Literal, Operand, ops
from .linear import binary_label, pair, top_label, values
from .lowering import Lowering, Refs, as_array, tensor
from .members import MEMBERS, SMOOTH, classes_of, lower_member, probability, total, vote
from .registry import Estimator, Outputs, model
from .trees import ensemble

TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)


def like_members(estimator: Estimator) -> Iterator[tuple[str, Estimator]]:
    """The members of an ensemble that trains many of one kind; they share one name."""
    return ((MEMBERS, member) for member in estimator.estimators_)


def all_trees(estimator: Estimator) -> bool:
    """Whether every member is one decision tree, so that one sum of trees says it all."""
    return all(type(member) in TREES for member in estimator.estimators_)


def leaf_votes(tree: Any, rows: Floats) -> Floats:
    """``rows[c]`` at the nodes of a classification tree where its own label is its class c.

    The label of a leaf is its largest class fraction, ties to the first.
    """
    votes: Floats = rows[tree.value[:, 0, :].argmax(axis=1)]
    return votes


def _members(estimator: Estimator, refs: Refs) -> Iterator[tuple[Estimator, Refs]]:
    columns = as_array(refs)
    for member, chosen in zip(estimator.estimators_, estimator.estimators_features_, strict=True):
        yield member, tuple(columns[index] for index in chosen)


@model("classifier", BaggingClassifier, parts=like_members, note=SMOOTH)
def lower_bagging_classifier(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
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
    made: Outputs = {"label": top_label(lowering, estimator.classes_, mean)}
    if len(scores) == len(estimator.estimators_):
        made["score"] = lowering.let(ops.Div(total(lowering, scores), count))
    return made | {"probability": mean}


def _summed_trees(lowering: Lowering, estimator: Estimator, refs: Refs) -> str:
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
def lower_bagging_regressor(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
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


def named_members(estimator: Estimator) -> Iterator[tuple[str, Estimator]]:
    """The members of an ensemble of named ones, without those that are dropped."""
    names = [name for name, given in estimator.estimators if not _is_dropped(given)]
    for name, member in zip(names, estimator.estimators_, strict=True):
        yield repr(name), member


def _is_dropped(given: object) -> bool:
    return isinstance(given, str) and given == "drop"


def _weights(estimator: Estimator) -> list[float] | None:
    weights = estimator._weights_not_none
    return None if weights is None else [float(weight) for weight in weights]


def _useless_weights(estimator: Estimator) -> Iterator[str]:
    weights = _weights(estimator)
    if weights is None:
        return
    if not all(np.isfinite(weights)):
        yield f"its weights {weights} are not all numbers"
    elif getattr(estimator, "voting", "") == "hard":
        if min(weights) < 0:
            yield f"votes with negative weights {weights}"
    elif sum(weights) == 0:
        yield f"its weights {weights} sum to zero"


@model("classifier", VotingClassifier, flaws=_useless_weights, parts=named_members, note=SMOOTH)
def lower_voting_classifier(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """Hard: the class with most votes, ties to the first one.  Soft: the highest mean share."""
    soft = estimator.voting == "soft"
    parts: list[Operand] = []
    weights = _weights(estimator)
    for place, (name, member) in enumerate(named_members(estimator)):
        outputs = lower_member(lowering, member, refs, name)
        weight = 1.0 if weights is None else weights[place]
        if soft:
            share = probability(lowering, member, outputs)
            parts.append(_weighted(lowering, share, None if weights is None else weight))
        else:
            classes = [int(one) for one in classes_of(member)]  # it was trained on their numbers
            rows = np.zeros((len(classes), len(estimator.classes_)))
            rows[np.arange(len(classes)), classes] = weight
            parts.append(vote(lowering, member, outputs, rows))
    votes = total(lowering, parts)
    if not soft:
        return {"label": top_label(lowering, estimator.classes_, votes)}
    mean = _over(lowering, votes, weights, len(parts))
    return {"label": top_label(lowering, estimator.classes_, mean), "probability": mean}


@model("regressor", VotingRegressor, flaws=_useless_weights, parts=named_members)
def lower_voting_regressor(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """The weighted mean of the members' values."""
    weights = _weights(estimator)
    parts = []
    for place, (name, member) in enumerate(named_members(estimator)):
        value = lower_member(lowering, member, refs, name)["value"]
        parts.append(_weighted(lowering, value, None if weights is None else weights[place]))
    return {"value": _over(lowering, total(lowering, parts), weights, len(parts))}


def _weighted(lowering: Lowering, value: Operand, weight: float | None) -> Operand:
    if weight is None:
        return value
    return lowering.let(ops.Mul(value, Literal(Fraction(weight))))


def _over(lowering: Lowering, summed: Operand, weights: list[float] | None, count: int) -> Operand:
    size = Fraction(count) if weights is None else Fraction(float(np.sum(weights)))
    return lowering.let(ops.Div(summed, Literal(size)))


def _classifier_flaws(estimator: Estimator) -> Iterator[str]:
    if getattr(estimator, "algorithm", "SAMME") == "SAMME.R":
        yield "algorithm 'SAMME.R' is not supported; train it with algorithm='SAMME'"
    if estimator.n_classes_ < 2:
        yield "knows one class only, so nothing can change its answer"


@model("classifier", AdaBoostClassifier, flaws=_classifier_flaws, parts=like_members)
def lower_ada_boost_classifier(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
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
    label = binary_label(lowering, estimator.classes_, score)
    share = pair(lowering, lowering.let(ops.Sigmoid(score)))  # the softmax of (-s/2, s/2)
    return {"label": label, "score": score, "probability": share}


def _ballots(estimator: Estimator, member: Estimator, weight: float) -> Floats:
    """What a member adds to each class if it names its class c: row c.

    One column if there are two classes: the second class's.
    """
    classes = list(estimator.classes_)
    others = -1 / (len(classes) - 1) * weight
    rows = [[weight if own == one else others for one in classes] for own in classes_of(member)]
    table = np.array(rows, dtype=np.float64)
    return table[:, 1:] if len(classes) == 2 else table


@model("regressor", AdaBoostRegressor, parts=like_members)
def lower_ada_boost_regressor(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
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


def _values(lowering: Lowering, estimator: Estimator, refs: Refs) -> str:
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
