"""Classifiers of two classes with a threshold of their own."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from ...ir import Literal, Operand, ops
from .linear import second_if
from .lowering import Lowering, Refs
from .members import lower_member, response
from .registry import Estimator, Outputs, model
from .structure import INSIDE
from .tracing import first_true

ORDER = ("predict_proba", "decision_function")


def _inside(estimator: Estimator) -> Estimator:
    return getattr(estimator, "estimator_", estimator.estimator)


def _part(estimator: Estimator) -> Iterator[tuple[str, Estimator]]:
    yield INSIDE, _inside(estimator)


def _methods(estimator: Estimator) -> tuple[str, ...]:
    asked = estimator.response_method
    return ORDER if asked == "auto" else (asked,)


@model("classifier", FixedThresholdClassifier, parts=_part)
def lower_fixed_threshold(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """The class ``pos_label`` iff its score is at least ``threshold``; else the other one."""
    threshold = None if estimator.threshold == "auto" else float(estimator.threshold)
    return _with_threshold(lowering, estimator, refs, threshold, estimator.pos_label)


@model("classifier", TunedThresholdClassifierCV, parts=_part)
def lower_tuned_threshold(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """As a fixed threshold, with ``best_threshold_`` and the label that its scorer is for."""
    positive = estimator._curve_scorer._get_pos_label()
    return _with_threshold(lowering, estimator, refs, float(estimator.best_threshold_), positive)


def _with_threshold(
    lowering: Lowering, estimator: Estimator, refs: Refs, threshold: float | None,
    positive: Any,
) -> Outputs:  # fmt: skip
    member = _inside(estimator)
    outputs = lower_member(lowering, member, refs, INSIDE)
    method, score = response(lowering, member, outputs, _methods(estimator))
    place = 1 if positive is None else list(estimator.classes_).index(positive)
    shares = method == "predict_proba"
    least = threshold if threshold is not None else 0.5 * shares
    if shares:
        score, cut = share_cut(lowering, lowering.let(ops.Item(score, place)), least)
        reached = ops.Ge(score, cut) if place else ops.Gt(cut, score)
    else:  # of the first class: -f(x) >= t, so the second one iff f(x) > -t
        cut = Literal(Fraction(least if place else -least))
        reached = ops.Ge(score, cut) if place else ops.Gt(score, cut)
    label = second_if(lowering, estimator.classes_, lowering.let(reached))
    return outputs | {"label": label}


def share_cut(lowering: Lowering, share: str, threshold: float) -> tuple[Operand, Literal]:
    """z and t with ``z >= t`` iff a share from 0 to 1 is at least ``threshold`` as deployed.

    A mean is divided last: 1/10 in doubles is at least 0.1, which is larger than one tenth.  So z
    is the sum, and t the least double whose quotient reaches the threshold.
    """
    op = lowering.definitions[share]
    if isinstance(op, ops.Item) and isinstance(op.x, str):
        mean = lowering.definitions.get(op.x)
        if isinstance(mean, ops.Div) and isinstance(mean.y, Literal) and mean.y.value >= 1:
            count = float(mean.y.value)
            least = first_true(lambda total: total / count >= threshold, 0.0, 2 * count + 1)
            return lowering.let(ops.Item(mean.x, op.index)), Literal(Fraction(least))
    return share, Literal(Fraction(threshold))
