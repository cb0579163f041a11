"""Linear models: one affine map, then a sign or an argmax."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.svm import LinearSVC, LinearSVR

from ...ir import Literal, Operand, ops
from .lowering import Lowering, tensor
from .outputs import ONE, ZERO, binary_label, normalised, pair, top_label, values
from .registry import Estimator, Outputs, model
from .table import Ref


def _affine(lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]) -> tuple[str, int]:
    """``coef_ x + intercept_`` as a vector, and its length."""
    weight = estimator.coef_
    weight = weight.toarray() if hasattr(weight, "toarray") else np.asarray(weight)
    weight = weight.reshape(-1, len(refs))
    lowering.check_double(refs, weight)
    bias = np.broadcast_to(np.ravel(estimator.intercept_), (len(weight),))
    made = ops.Affine(lowering.vector(refs), tensor(_doubles(weight)), tensor(_doubles(bias)))
    return lowering.let(made), len(weight)


def _doubles(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Doubles equal to the parameters (float32 is upcast exactly)."""
    return values.astype(np.float64)


def _decision(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> tuple[Operand, Outputs]:
    """The decision function (scalar if binary), and the label and score it gives."""
    vector, width = _affine(lowering, estimator, refs)
    score = values(lowering, vector, width)
    decide = binary_label if width == 1 else top_label
    return score, {"label": decide(lowering, estimator.classes_, score), "score": score}


def _is_multilabel(estimator: Estimator) -> Iterator[str]:
    if estimator._label_binarizer.y_type_.startswith("multilabel"):
        yield "multi-label classification is not supported; train one model per label"


@model("classifier", LinearSVC)
@model("classifier", RidgeClassifier, RidgeClassifierCV, flaws=_is_multilabel)
def lower_linear_classifier(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """Label and decision function; such models have no probabilities."""
    return _decision(lowering, estimator, refs)[1]


@model("classifier", LogisticRegression, LogisticRegressionCV)
def lower_logistic(lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]) -> Outputs:
    """Label, logits, and probabilities: sigmoid, softmax, or one-vs-rest shares.

    The last only before scikit-learn 1.8 (``multi_class``, or the solver liblinear).
    """
    score, outputs = _decision(lowering, estimator, refs)
    legacy = getattr(estimator, "multi_class", None)
    if len(estimator.classes_) == 2:
        if legacy == "multinomial":  # softmax over (-z, z)
            both = lowering.let(ops.Concat((lowering.let(ops.Neg(score)), score)))
            return outputs | {"probability": lowering.let(ops.Softmax(both))}
        return outputs | {"probability": pair(lowering, lowering.let(ops.Sigmoid(score)))}
    one_vs_rest = legacy in ("ovr", "warn") or (
        legacy in ("auto", "deprecated") and estimator.solver == "liblinear"
    )
    if one_vs_rest:
        return outputs | {"probability": _shares(lowering, score)}
    return outputs | {"probability": lowering.let(ops.Softmax(score))}


def _shares(lowering: Lowering, scores: Operand) -> Operand:
    return normalised(lowering, lowering.let(ops.Sigmoid(scores)))


@model("classifier", SGDClassifier)
def lower_sgd_classifier(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """Label and decision function, with probabilities for the two losses that have them."""
    score, outputs = _decision(lowering, estimator, refs)
    binary = len(estimator.classes_) == 2
    if estimator.loss == "log_loss":
        share = _shares(lowering, score) if not binary else lowering.let(ops.Sigmoid(score))
    elif estimator.loss == "modified_huber":
        share = _huber_share(lowering, score, len(estimator.classes_))
    else:
        return outputs
    return outputs | {"probability": pair(lowering, share) if binary else share}


def _huber_share(lowering: Lowering, score: Operand, classes: int) -> Operand:
    """``(clip(z, -1, 1) + 1) / 2``, over its sum if there are several; uniform if all are 0."""
    clipped = lowering.let(ops.Clip(score, Fraction(-1), Fraction(1)))
    raised = lowering.let(ops.Add(clipped, ONE))
    share = lowering.let(ops.Div(raised, Literal(Fraction(2))))
    if classes == 2:
        return share
    none = lowering.let(ops.Le(lowering.let(ops.ReduceSum(share)), ZERO))
    return normalised(lowering, lowering.let(ops.Select(none, ONE, share)))


@model(
    "regressor",
    LinearRegression,
    Ridge,
    RidgeCV,
    Lasso,
    LassoCV,
    ElasticNet,
    ElasticNetCV,
    SGDRegressor,
    LinearSVR,
)
def lower_linear_regressor(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """``value``: one number, or one per target."""
    vector, width = _affine(lowering, estimator, refs)
    return {"value": values(lowering, vector, width)}
