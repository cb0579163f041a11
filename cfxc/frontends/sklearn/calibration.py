"""Isotonic regression, and classifiers whose probabilities are calibrated."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression

from ...ir import Literal, Operand, Tensor, ops
from ..quadratics import exact, exact_affine
from .linear import ONE, ZERO, binary_label, normalised, pair, second_if, top_label
from .lowering import Lowering, Refs
from .members import MEMBERS, chance, classes_of, lower_member, response, total
from .registry import Estimator, Outputs, model

METHODS = ("decision_function", "predict_proba")


def interpolated(lowering: Lowering, isotonic: Estimator, x: Operand) -> str:
    """``y_0 + Σ_i (y_{i+1} - y_i) clip((x - x_i) / (x_{i+1} - x_i), 0, 1)`` of a number x.

    Between thresholds it is linear, and beyond them constant.
    """
    places, heights = exact(isotonic.X_thresholds_), exact(isotonic.y_thresholds_)
    rises = [i for i in range(len(places) - 1) if heights[i] != heights[i + 1]]
    if not rises:
        return lowering.let(ops.Item(lowering.constant(isotonic.y_thresholds_[:1]), 0))
    widths = [1 / (places[i + 1] - places[i]) for i in rises]
    starts = lowering.constant(np.asarray(isotonic.X_thresholds_, dtype=np.float64)[rises])
    shifted = lowering.let(ops.Sub(x, starts))
    factors = lowering.let(ops.Constant(Tensor(np.array(widths, dtype=object), "rat")))
    parts = lowering.let(ops.Mul(shifted, factors))
    clipped = lowering.let(ops.Clip(parts, Fraction(0), Fraction(1)))
    steps = np.array([[heights[i + 1] - heights[i] for i in rises]], dtype=object)
    return lowering.let(ops.Item(exact_affine(lowering, clipped, steps, heights[:1]), 0))


def _open_ends(isotonic: Estimator) -> Iterator[str]:
    if isotonic.out_of_bounds != "clip":
        yield (
            f"out_of_bounds={isotonic.out_of_bounds!r} answers no number beyond what it was "
            "trained on; train it with out_of_bounds='clip'"
        )


@model("regressor", IsotonicRegression, flaws=_open_ends)
def lower_isotonic(lowering: Lowering, isotonic: Estimator, refs: Refs) -> Outputs:
    """Linear between thresholds, constant beyond them."""
    lowering.check_double(refs, isotonic.X_thresholds_)
    if len(refs) != 1:
        lowering.problem(f"takes one column, and gets {len(refs)}", "give it one.")
    column = lowering.let(ops.Item(lowering.vector(refs), 0))
    return {"value": interpolated(lowering, isotonic, column)}


def _calibrated(estimator: Estimator) -> Iterator[tuple[str, Estimator]]:
    return ((MEMBERS, one.estimator) for one in estimator.calibrated_classifiers_)


def _calibration_flaws(estimator: Estimator) -> Iterator[str]:
    count = len(estimator.classes_)
    if count > 2 and len(estimator.calibrated_classifiers_) > 1:
        yield (
            "the mean of quotients of several members and more than two classes has no formula; "
            "train it with ensemble=False"
        )
    for one in estimator.calibrated_classifiers_:
        if len(one.estimator.classes_) != count:
            yield "a member does not know all classes; train it with folds that have all of them"
        if estimator.method == "temperature" and not hasattr(one.estimator, METHODS[0]):
            yield (
                "method 'temperature' takes logarithms of probabilities; calibrate a model with "
                "a decision function, or with method='sigmoid'"
            )


@model(
    "classifier",
    CalibratedClassifierCV,
    flaws=_calibration_flaws,
    parts=_calibrated,
    note="the mean of several sigmoids (ensemble=True) is enclosed, and so is a member's softmax",
)
def lower_calibrated(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """The largest mean of the members' calibrated probabilities, ties to the first class."""
    lower = _lower_two if len(estimator.classes_) == 2 else _lower_many
    return lower(lowering, estimator, refs)


def _logit(lowering: Lowering, calibrator: Estimator, score: Operand) -> str:
    """``-(a s + b)``, whose sigmoid is the calibrated probability."""
    factor, shift = (Literal(Fraction(float(one))) for one in (calibrator.a_, calibrator.b_))
    line = lowering.let(ops.Add(lowering.let(ops.Mul(score, factor)), shift))
    return lowering.let(ops.Neg(line))


def _lower_two(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """Of two classes, the second iff its mean probability is above one half."""
    logits: list[str] = []
    shares: list[Operand] = []
    for one in estimator.calibrated_classifiers_:
        outputs = lower_member(lowering, one.estimator, refs)
        _, score = chance(lowering, one.estimator, outputs, METHODS)
        calibrator = one.calibrators[0]
        if estimator.method == "isotonic":
            shares.append(interpolated(lowering, calibrator, score))
            continue
        if estimator.method == "temperature":  # softmax(-b s, b s)
            double = Literal(2 * Fraction(float(calibrator.beta_)))
            logits.append(lowering.let(ops.Mul(score, double)))
        else:
            logits.append(_logit(lowering, calibrator, score))
        shares.append(lowering.let(ops.Sigmoid(logits[-1])))
    count = Fraction(len(shares))
    summed = total(lowering, shares)
    mean = summed if count == 1 else lowering.let(ops.Div(summed, Literal(count)))
    if count == 1 and logits:
        label = binary_label(lowering, estimator.classes_, logits[0])
    else:
        most = lowering.let(ops.Gt(summed, Literal(count / 2)))
        label = second_if(lowering, estimator.classes_, most)
    return {"label": label, "probability": pair(lowering, mean)}


def _lower_many(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """One calibrator a class, over their sum: the label needs no division."""
    (one,) = estimator.calibrated_classifiers_
    outputs = lower_member(lowering, one.estimator, refs)
    _, given = response(lowering, one.estimator, outputs, METHODS)
    if estimator.method == "temperature":
        factor = Literal(Fraction(float(one.calibrators[0].beta_)))
        scores = lowering.let(ops.Mul(given, factor))
        shares: Operand = lowering.let(ops.Softmax(scores))
    else:
        order = [list(estimator.classes_).index(each) for each in classes_of(one.estimator)]
        items: list[Operand] = [ZERO] * len(order)
        for place, target in enumerate(order):
            score, calibrator = lowering.let(ops.Item(given, place)), one.calibrators[place]
            form = interpolated if estimator.method == "isotonic" else _logit
            items[target] = form(lowering, calibrator, score)
        scores = lowering.let(ops.Concat(tuple(items)))
        shares = _shares(lowering, estimator.method, scores)
    return {"label": top_label(lowering, estimator.classes_, scores), "probability": shares}


def _shares(lowering: Lowering, method: str, scores: Operand) -> Operand:
    """Probabilities over their sum; uniform where all are 0, as isotonic ones may be."""
    if method == "sigmoid":
        return normalised(lowering, lowering.let(ops.Sigmoid(scores)))
    none = lowering.let(ops.Le(lowering.let(ops.ReduceSum(scores)), ZERO))
    return normalised(lowering, lowering.let(ops.Select(none, ONE, scores)))
