"""Linear models, linear support vector machines and networks.

Affine maps and activations, then a sign or an argmax: labels without transcendental functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import linear_model
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lars,
    LarsCV,
    Lasso,
    LassoCV,
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    MultiTaskLasso,
    MultiTaskLassoCV,
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
    Perceptron,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    SGDClassifier,
    SGDOneClassSVM,
    SGDRegressor,
    TheilSenRegressor,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import LinearSVC, LinearSVR

from ...arrays import Array, Floats
from ...ir import Literal, Op, Operand, ops
from ..predictor import class_labels
from .lowering import Lowering, Refs, tensor
from .registry import Estimator, Outputs, model

Classes = Sequence[Any] | Array


def passing(name: str) -> list[type]:
    """A linear model that versions of scikit-learn from 1.10 on do not have."""
    return [getattr(linear_model, name)] if hasattr(linear_model, name) else []


ZERO, ONE = Literal(Fraction(0)), Literal(Fraction(1))


def binary_label(lowering: Lowering, classes: Classes, score: Operand, most: Operand = ZERO) -> str:
    """The second class iff ``score > most``: a tie is the first class, as deployed."""
    return second_if(lowering, classes, lowering.let(ops.Gt(score, most)))


def binary_label_from(lowering: Lowering, classes: Classes, score: Operand, least: Operand) -> str:
    """The second class iff ``score >= least``: a tie is the second class, where deployed so."""
    return second_if(lowering, classes, lowering.let(ops.Ge(score, least)))


def second_if(lowering: Lowering, classes: Classes, second: Operand) -> str:
    """The second class where ``second`` holds, else the first."""
    index = lowering.let(ops.Select(second, Literal(1), Literal(0)))
    return lowering.let(ops.Category(index, class_labels(classes)))


def top_label(lowering: Lowering, classes: Classes, scores: Operand) -> str:
    """The class of the highest score; ties go to the first one."""
    index = lowering.let(ops.Argmax(scores))
    return lowering.let(ops.Category(index, class_labels(classes)))


def several_outputs(lowering: Lowering, classes: Classes, scores: Operand) -> Outputs:
    """Of more than two classes: the one of the highest score, and the softmax of the scores."""
    label = top_label(lowering, classes, scores)
    return {"label": label, "score": scores, "probability": lowering.let(ops.Softmax(scores))}


def pair(lowering: Lowering, probability: Operand) -> Operand:
    """``(1 - p, p)``."""
    rest = lowering.let(ops.Sub(ONE, probability))
    return lowering.let(ops.Concat((rest, probability)))


def normalised(lowering: Lowering, shares: Operand) -> Operand:
    """Shares over their sum."""
    return lowering.let(ops.Div(shares, lowering.let(ops.ReduceSum(shares))))


def shares(lowering: Lowering, classes: Classes, scores: Operand) -> Operand:
    """The softmax of the scores; of two, by the sigmoid of their difference, which is enclosed."""
    if len(classes) != 2:
        return lowering.let(ops.Softmax(scores))
    second, first = (lowering.let(ops.Item(scores, place)) for place in (1, 0))
    return pair(lowering, lowering.let(ops.Sigmoid(lowering.let(ops.Sub(second, first)))))


def values(lowering: Lowering, vector: Operand, width: int) -> Operand:
    """A regressor's targets: the number itself if there is only one."""
    return lowering.let(ops.Item(vector, 0)) if width == 1 else vector


def affine(lowering: Lowering, refs: Refs, weight: Any, bias: npt.ArrayLike) -> tuple[str, int]:
    """``W x + b`` as a vector, and its length."""
    weight = weight.toarray() if hasattr(weight, "toarray") else np.asarray(weight)
    weight = weight.reshape(-1, len(refs))
    lowering.check_double(refs, weight)
    bias = np.broadcast_to(np.ravel(bias), (len(weight),))
    made = ops.Affine(lowering.vector(refs), tensor(_doubles(weight)), tensor(_doubles(bias)))
    return lowering.let(made), len(weight)


def _affine(lowering: Lowering, estimator: Estimator, refs: Refs) -> tuple[str, int]:
    return affine(lowering, refs, estimator.coef_, estimator.intercept_)


def _doubles(values: Array) -> Floats:
    """Doubles equal to the parameters (float32 is upcast exactly)."""
    return values.astype(np.float64)


def _decision(lowering: Lowering, estimator: Estimator, refs: Refs) -> tuple[Operand, Outputs]:
    """The decision function (scalar if binary), and the label and score it gives."""
    vector, width = _affine(lowering, estimator, refs)
    score = values(lowering, vector, width)
    decide = binary_label if width == 1 else top_label
    return score, {"label": decide(lowering, estimator.classes_, score), "score": score}


def _is_multilabel(estimator: Estimator) -> Iterator[str]:
    if estimator._label_binarizer.y_type_.startswith("multilabel"):
        yield "multi-label classification is not supported; train one model per label"


@model("classifier", LinearSVC, Perceptron, *passing("PassiveAggressiveClassifier"))
@model("classifier", RidgeClassifier, RidgeClassifierCV, flaws=_is_multilabel)
def lower_linear_classifier(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """Label and decision function; such models have no probabilities."""
    return _decision(lowering, estimator, refs)[1]


@model("classifier", LinearDiscriminantAnalysis)
@model("classifier", LogisticRegression, LogisticRegressionCV)
def lower_logistic(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
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


OUTLIER, INLIER = -1, 1


def outlier_or_inlier(estimator: Estimator) -> list[int]:
    """The labels of every detector of outliers."""
    return [OUTLIER, INLIER]


@model("classifier", SGDOneClassSVM, labels=outlier_or_inlier)
def lower_one_class_sgd(lowering: Lowering, machine: Estimator, refs: Refs) -> Outputs:
    """Label 1 iff ``coef_ x - offset_ >= 0``, else -1."""
    vector, _ = affine(lowering, refs, machine.coef_, -machine.offset_)
    score = lowering.let(ops.Item(vector, 0))
    label = binary_label_from(lowering, outlier_or_inlier(machine), score, ZERO)
    return {"label": label, "score": score}


def _shares(lowering: Lowering, scores: Operand) -> Operand:
    return normalised(lowering, lowering.let(ops.Sigmoid(scores)))


@model("classifier", SGDClassifier)
def lower_sgd_classifier(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
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
    ARDRegression,
    BayesianRidge,
    HuberRegressor,
    Lars,
    LarsCV,
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    MultiTaskLasso,
    MultiTaskLassoCV,
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
    QuantileRegressor,
    TheilSenRegressor,
    *passing("PassiveAggressiveRegressor"),
)
def lower_linear_regressor(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """``value``: one number, or one per target."""
    vector, width = _affine(lowering, estimator, refs)
    return {"value": values(lowering, vector, width)}


ACTIVATIONS: dict[str, Callable[[Operand], Op] | None] = {
    "identity": None,
    "relu": ops.Relu,
    "logistic": ops.Sigmoid,
    "tanh": ops.Tanh,
}
OUTPUT_ACTIVATIONS: dict[str, Callable[[Operand], Op] | None] = {"identity": None, "exp": ops.Exp}


def _last_layer(lowering: Lowering, network: Estimator, refs: Refs) -> str:
    """What the last layer computes, before the output activation."""
    lowering.check_double(refs, *network.coefs_)
    x = lowering.vector(refs)
    activation = ACTIVATIONS[network.activation]
    last = len(network.coefs_) - 1
    for layer, (weight, bias) in enumerate(zip(network.coefs_, network.intercepts_, strict=True)):
        wide = weight.T.astype(np.float64), bias.astype(np.float64)
        x = lowering.let(ops.Affine(x, *map(tensor, wide)))
        if activation and layer < last:
            x = lowering.let(activation(x))
    return x


def _unknown_activation(network: Estimator) -> Iterator[str]:
    if network.activation not in ACTIVATIONS:
        yield f"activation {network.activation!r} is not supported"


def _label_network_flaws(network: Estimator) -> Iterator[str]:
    yield from _unknown_activation(network)
    if network._label_binarizer.y_type_.startswith("multilabel"):
        yield "multi-label classification is not supported; train one model per label"
    elif network.out_activation_ not in ("logistic", "softmax"):
        yield f"output activation {network.out_activation_!r} is not supported"


def _network_flaws(network: Estimator) -> Iterator[str]:
    yield from _unknown_activation(network)
    if network.out_activation_ not in OUTPUT_ACTIVATIONS:
        yield f"output activation {network.out_activation_!r} is not supported"


@model(
    "classifier",
    MLPClassifier,
    flaws=_label_network_flaws,
    note="activations 'logistic' and 'tanh' are enclosed",
)
def lower_mlp_classifier(lowering: Lowering, network: Estimator, refs: Refs) -> Outputs:
    """Label from the logits (the output activation is increasing), logits, probabilities."""
    logits = _last_layer(lowering, network, refs)
    if network.out_activation_ == "softmax":
        return several_outputs(lowering, network.classes_, logits)
    logit = lowering.let(ops.Item(logits, 0))
    label = binary_label(lowering, network.classes_, logit)
    share = lowering.let(ops.Sigmoid(logit))
    return {"label": label, "score": logit, "probability": pair(lowering, share)}


@model(
    "regressor",
    MLPRegressor,
    flaws=_network_flaws,
    note="activations 'logistic' and 'tanh', and exp at the end, are enclosed",
)
def lower_mlp_regressor(lowering: Lowering, network: Estimator, refs: Refs) -> Outputs:
    """``value``: one number, or one per target."""
    value = _last_layer(lowering, network, refs)
    if activation := OUTPUT_ACTIVATIONS[network.out_activation_]:
        value = lowering.let(activation(value))
    return {"value": values(lowering, value, network.n_outputs_)}
