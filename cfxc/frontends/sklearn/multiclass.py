"""Classifiers made of machines for two classes: one against the rest, in pairs, and by codes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

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
from ..quadratics import exact, exact_affine
from .ensembles import like_members
from .linear import ONE, ZERO, pair, second_if, top_label
from .lowering import Lowering, Refs, as_array
from .members import MEMBERS, chance, lower_member
from .pairwise import most_votes, pair_scores, tally
from .registry import Estimator, Outputs, model

ORDER = ("decision_function", "predict_proba")
HALF = Literal(Fraction(1, 2))


def _varying(estimator: Estimator) -> Iterator[tuple[str, Estimator]]:
    """The members, without constants that stand for a class that is always or never there."""
    for name, member in like_members(estimator):
        if type(member) is not _ConstantPredictor:
            yield name, member


def _confidence(lowering: Lowering, member: Estimator, refs: Refs) -> tuple[Operand, Outputs]:
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
def lower_one_vs_rest(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
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


def _says_second(lowering: Lowering, member: Estimator, outputs: Outputs) -> Operand:
    """1 where a machine of two classes answers the second one, else 0."""
    if not outputs:
        return Literal(Fraction(int(member.y_[0])))
    return lowering.let(ops.ToReal(lowering.let(ops.IsLabel(outputs["label"], 1))))


@model("classifier", OneVsOneClassifier, flaws=_pair_flaws, parts=_varying)
def lower_one_vs_one(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """Most votes win; among those, the highest sum of confidences, then the first class.

    Of two classes: the second if its machine says so, or is confident of it.
    """
    columns, count = as_array(refs), len(estimator.classes_)
    wins: list[Operand] = []
    sums: list[Operand] = []
    for member in estimator.estimators_:
        confidence, outputs = _confidence(lowering, member, columns)
        sums.append(confidence)
        wins.append(_says_second(lowering, member, outputs))
    second = lowering.let(ops.Gt(lowering.let(ops.Concat(tuple(wins))), ZERO))
    confidences = lowering.let(ops.Concat(tuple(sums)))
    votes, summed = tally(lowering, second, confidences, count)
    score = pair_scores(lowering, votes, summed)
    if count > 2:
        return {"label": most_votes(lowering, estimator.classes_, votes, summed), "score": score}
    chosen = lowering.let(ops.Gt(wins[0], ZERO))
    if _bar(estimator.estimators_[0]) is ZERO:
        chosen = lowering.let(ops.Or((chosen, lowering.let(ops.Gt(sums[0], ZERO)))))
    label = second_if(lowering, estimator.classes_, chosen)
    return {"label": label, "score": lowering.let(ops.Item(score, 1))}


@model("classifier", OutputCodeClassifier, parts=_varying)
def lower_output_code(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """The class of the code nearest to the confidences y: the largest ``2 <c, y> - |c|²``."""
    pairs = [_confidence(lowering, member, refs) for member in estimator.estimators_]
    confidences = lowering.let(ops.Concat(tuple(confidence for confidence, _ in pairs)))
    codes = exact(estimator.code_book_)
    scores = exact_affine(lowering, confidences, 2 * codes, -(codes * codes).sum(axis=1))
    return {"label": top_label(lowering, estimator.classes_, scores)}
