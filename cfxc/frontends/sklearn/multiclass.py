"""Classifiers made of machines for two classes: one against the rest, in pairs, and by codes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.dummy import DummyRegressor
from sklearn.multiclass import (
    OneVsOneClassifier,
    OneVsRestClassifier,
    OutputCodeClassifier,
    _ConstantPredictor,
)

from ...ir import Literal, Operand, ops
from ..predictor import class_labels
from .ensembles import like_members
from .linear import ONE, ZERO, pair, second_if, top_label
from .lowering import Lowering, Ref, as_array, tensor
from .members import MEMBERS, chance, lower_member
from .quadratics import exact, exact_affine
from .registry import Estimator, Outputs, model

ORDER = ("decision_function", "predict_proba")
HALF = Literal(Fraction(1, 2))


def _varying(estimator: Estimator) -> Iterator[tuple[str, Estimator]]:
    """The members, without constants that stand for a class that is always or never there."""
    for name, member in like_members(estimator):
        if type(member) is not _ConstantPredictor:
            yield name, member


def _confidence(
    lowering: Lowering, member: Estimator, refs: tuple[Ref, ...]
) -> tuple[Operand, Outputs]:
    """``_predict_binary``: a regressor's value, the decision function or the second probability."""
    if type(member) is _ConstantPredictor:
        return Literal(Fraction(float(member.y_[0]))), {}
    outputs = lower_member(lowering, member, refs, MEMBERS)
    if is_regressor(member):
        return outputs["value"], outputs
    return chance(lowering, member, outputs, ORDER)[1], outputs


def _bar(member: Estimator) -> Literal:
    """What the confidence of the second of two classes is compared with."""
    has_score = hasattr(member, "decision_function") and is_classifier(member)
    return ZERO if has_score else HALF


@cache
def ties_go_last() -> bool:
    """Whether the installed library gives ties of one-vs-rest to the last class, as old ones do."""
    probe = OneVsRestClassifier(DummyRegressor()).fit(np.zeros((3, 1)), [0, 1, 2])
    return bool(probe.predict(np.zeros((1, 1)))[0])


def _rest_flaws(estimator: Estimator) -> Iterator[str]:
    if estimator.multilabel_:
        yield "multi-label classification is not supported; train one model per label"


@model("classifier", OneVsRestClassifier, flaws=_rest_flaws, parts=_varying)
def lower_one_vs_rest(lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]) -> Outputs:
    """The class of the most confident machine; of two classes, one machine's answer."""
    members = list(estimator.estimators_)
    pairs = [_confidence(lowering, member, refs) for member in members]
    made: Outputs = {}
    if len(members) == 1:
        score = pairs[0][0]
        above = lowering.let(ops.Gt(score, _bar(members[0])))
        made["label"] = second_if(lowering, estimator.classes_, above)
    else:
        score = lowering.let(ops.Concat(tuple(confidence for confidence, _ in pairs)))
        made["label"] = _top(lowering, estimator, score)
    if hasattr(estimator, "decision_function"):
        made["score"] = score
    if all("probability" in outputs for _, outputs in pairs):
        shares = [lowering.let(ops.Item(outputs["probability"], 1)) for _, outputs in pairs]
        made["probability"] = _probability(lowering, shares)
    return made


def _top(lowering: Lowering, estimator: Estimator, scores: str) -> Operand:
    if not ties_go_last():
        return top_label(lowering, estimator.classes_, scores)
    count = len(estimator.classes_)
    mirrored = lowering.let(ops.Take(scores, tuple(reversed(range(count)))))
    index = lowering.let(ops.Sub(Literal(count - 1), lowering.let(ops.Argmax(mirrored))))
    return lowering.let(ops.Category(index, class_labels(estimator.classes_)))


def _probability(lowering: Lowering, shares: list[str]) -> Operand:
    """Over their sum; all 0 stay 0."""
    if len(shares) == 1:
        return pair(lowering, shares[0])
    vector = lowering.let(ops.Concat(tuple(shares)))
    total = lowering.let(ops.ReduceSum(vector))
    none = lowering.let(ops.Le(total, ZERO))
    return lowering.let(ops.Div(vector, lowering.let(ops.Select(none, ONE, total))))


def _pair_flaws(estimator: Estimator) -> Iterator[str]:
    if any(is_regressor(member) for member in estimator.estimators_):
        yield "pairs of classes are told apart by regressors; use classifiers"
    if estimator.pairwise_indices_ is not None:
        yield "takes a matrix of kernel values; give the machines a kernel of their own"


@model("classifier", OneVsOneClassifier, flaws=_pair_flaws, parts=_varying)
def lower_one_vs_one(lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]) -> Outputs:
    """Most votes win; among those, the highest sum of confidences, then the first class.

    The library adds ``s / (3 (|s| + 1))`` to the votes, which rises with the sum s and is less
    than a third: so it decides among equal votes alone.
    """
    columns, count = as_array(refs), len(estimator.classes_)
    wins: list[Operand] = []
    sums: list[Operand] = []
    for member in estimator.estimators_:
        confidence, outputs = _confidence(lowering, member, columns)
        sums.append(confidence)
        if not outputs:
            wins.append(Literal(bool(member.y_[0])))
        else:
            wins.append(lowering.let(ops.IsLabel(outputs["label"], 1)))
    if count == 2:
        second = wins[0]
        if _bar(estimator.estimators_[0]) is ZERO:
            above = lowering.let(ops.Gt(sums[0], ZERO))
            second = lowering.let(ops.Or((second, above)))
        return {"label": second_if(lowering, estimator.classes_, second)}
    spread, start = np.zeros((count, len(wins))), np.zeros(count)
    for place, (i, j) in enumerate(combinations(range(count), 2)):
        spread[i, place], spread[j, place] = -1, 1
        start[i] += 1
    numbers = [lowering.let(ops.ToReal(each)) for each in wins]
    won = lowering.let(ops.Concat(tuple(numbers)))
    votes = lowering.let(ops.Affine(won, tensor(spread), tensor(start)))
    confidences = lowering.let(ops.Concat(tuple(sums)))
    summed = lowering.let(ops.Affine(confidences, tensor(spread), tensor(np.zeros(count))))
    return {"label": _most_votes(lowering, estimator, votes, summed)}


def _most_votes(lowering: Lowering, estimator: Estimator, votes: str, sums: str) -> Operand:
    """The highest sum among the classes with most votes; all others come below the lowest sum."""
    most = lowering.let(ops.Ge(votes, lowering.let(ops.ReduceMax(votes))))
    below = lowering.let(ops.Sub(lowering.let(ops.ReduceMin(sums)), ONE))
    return top_label(lowering, estimator.classes_, lowering.let(ops.Select(most, sums, below)))


@model("classifier", OutputCodeClassifier, parts=_varying)
def lower_output_code(lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]) -> Outputs:
    """The class of the code nearest to the confidences y: the largest ``2 <c, y> - |c|²``."""
    pairs = [_confidence(lowering, member, refs) for member in estimator.estimators_]
    confidences = lowering.let(ops.Concat(tuple(confidence for confidence, _ in pairs)))
    codes = exact(estimator.code_book_)
    scores = exact_affine(lowering, confidences, 2 * codes, -(codes * codes).sum(axis=1))
    return {"label": top_label(lowering, estimator.classes_, scores)}


__all__ = ["ties_go_last"]
