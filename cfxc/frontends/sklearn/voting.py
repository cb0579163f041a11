"""Voting: predictors of different kinds on the same columns, with weights."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from sklearn.ensemble import VotingClassifier, VotingRegressor

from ...ir import Literal, Operand, ops
from .lowering import Lowering
from .members import classes_of, lower_member, probability, total, vote
from .outputs import top_label
from .registry import Estimator, Outputs, model
from .table import Ref


def _named(estimator: Estimator) -> Iterator[tuple[str, Estimator]]:
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


@model("classifier", VotingClassifier, flaws=_useless_weights, parts=_named)
def lower_voting_classifier(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """Hard: the class with most votes, ties to the first one.  Soft: the highest mean share."""
    soft = estimator.voting == "soft"
    parts: list[Operand] = []
    weights = _weights(estimator)
    for place, (name, member) in enumerate(_named(estimator)):
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


@model("regressor", VotingRegressor, flaws=_useless_weights, parts=_named)
def lower_voting_regressor(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """The weighted mean of the members' values."""
    weights = _weights(estimator)
    parts = []
    for place, (name, member) in enumerate(_named(estimator)):
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
