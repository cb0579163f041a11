"""Regressors that are more than affine maps: links, targets that are transformed, constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import special
from sklearn._loss.link import IdentityLink, LogLink
from sklearn.compose import TransformedTargetRegressor
from sklearn.cross_decomposition import CCA, PLSCanonical, PLSRegression
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

from ...ir import Literal, Operand, ops
from ..predictor import class_labels
from .functions import expm1
from .linear import affine, values
from .lowering import Lowering, Refs, tensor
from .members import lower_member
from .registry import Estimator, Outputs, model

Inverse = Callable[[Lowering, Operand], Operand]


def _link_flaws(estimator: Estimator) -> Iterator[str]:
    link = type(estimator._base_loss.link)
    if link not in (IdentityLink, LogLink):
        yield f"link {link.__name__} is not supported; supported are the identity and log"


@model(
    "regressor",
    PoissonRegressor,
    GammaRegressor,
    TweedieRegressor,
    flaws=_link_flaws,
    enclosed=True,
    note="exact with link 'identity'; a range of the target is one of its logarithm",
)
def lower_generalised_linear(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """``exp(coef_ x + intercept_)``, or that itself with the identity as link."""
    vector, _ = affine(lowering, refs, estimator.coef_, estimator.intercept_)
    score = lowering.let(ops.Item(vector, 0))
    identity = type(estimator._base_loss.link) is IdentityLink
    return {"value": score if identity else lowering.let(ops.Exp(score))}


@model("regressor", PLSRegression, PLSCanonical, CCA)
def lower_partial_least_squares(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """``coef_ (x - mean) + intercept_``, one number or one per target."""
    lowering.check_double(refs, estimator.coef_)
    mean = lowering.constant(np.asarray(estimator._x_mean, dtype=np.float64))
    centred = lowering.let(ops.Sub(lowering.vector(refs), mean))
    weight = np.asarray(estimator.coef_, dtype=np.float64)
    bias = np.asarray(np.broadcast_to(estimator.intercept_, len(weight)), dtype=np.float64)
    made = lowering.let(ops.Affine(centred, tensor(weight), tensor(bias)))
    return {"value": values(lowering, made, len(weight))}


INVERSES: dict[Any, Inverse] = {
    None: lambda lowering, value: value,
    np.exp: lambda lowering, value: lowering.let(ops.Exp(value)),
    np.expm1: expm1,
    np.negative: lambda lowering, value: lowering.let(ops.Neg(value)),
    np.square: lambda lowering, value: lowering.let(ops.Mul(value, value)),
    np.tanh: lambda lowering, value: lowering.let(ops.Tanh(value)),
    special.expit: lambda lowering, value: lowering.let(ops.Sigmoid(value)),
}
"""Functions that turn values back into targets."""
SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)


def _target_flaws(estimator: Estimator) -> Iterator[str]:
    back = estimator.transformer_
    if type(back) is FunctionTransformer:
        if not _known(back.inverse_func):
            name = getattr(back.inverse_func, "__name__", type(back.inverse_func).__name__)
            known = ", ".join(each.__name__ for each in INVERSES if each is not None)
            yield f"its inverse_func {name!r} is not supported; supported are {known}"
    elif type(back) not in SCALERS:
        yield (
            f"its transformer is a {type(back).__name__}; supported are func and inverse_func, "
            "StandardScaler, MinMaxScaler, MaxAbsScaler and RobustScaler"
        )


def _known(function: object) -> bool:
    return any(function is each for each in INVERSES)


def _regressor(estimator: Estimator) -> Iterator[tuple[str, Estimator]]:
    yield "its regressor", estimator.regressor_


@model(
    "regressor",
    TransformedTargetRegressor,
    flaws=_target_flaws,
    parts=_regressor,
    note="inverse functions exp, expm1, tanh and expit are enclosed",
)
def lower_transformed_target(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """What the inverse of the target's transformer makes of the regressor's value."""
    value = lower_member(lowering, estimator.regressor_, refs, "its regressor")["value"]
    back = estimator.transformer_
    if type(back) is FunctionTransformer:
        return {"value": INVERSES[back.inverse_func](lowering, value)}
    lowest = -back.min_ if type(back) is MinMaxScaler else None
    if lowest is not None:  # (value - min_) / scale_
        value = _with(lowering, ops.Add, value, lowest)
        return {"value": _with(lowering, ops.Div, value, back.scale_)}
    if getattr(back, "with_std", True) and getattr(back, "with_scaling", True):
        value = _with(lowering, ops.Mul, value, back.scale_)
    shift = back.mean_ if type(back) is StandardScaler else getattr(back, "center_", None)
    centred = getattr(back, "with_mean", True) and getattr(back, "with_centering", True)
    return {"value": value if shift is None or not centred else
            _with(lowering, ops.Add, value, shift)}  # fmt: skip


def _with(lowering: Lowering, op: Any, value: Operand, parameter: Any) -> Operand:
    """``value op parameter``: one number each, or one for every target."""
    if len(parameter) == 1:
        return lowering.let(op(value, Literal(Fraction(float(parameter[0])))))
    return lowering.let(op(value, lowering.constant(parameter)))


def _dummy_flaws(estimator: Estimator) -> Iterator[str]:
    if estimator.strategy in ("stratified", "uniform"):
        yield f"strategy {estimator.strategy!r} answers at random"
    elif estimator.n_outputs_ > 1:
        yield "multi-output classification is not supported; train one model per output"


@model("classifier", DummyClassifier, flaws=_dummy_flaws)
def lower_dummy_classifier(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """One label for all, and its probabilities."""
    row = np.zeros((1, 1))
    labels = class_labels(estimator.classes_)
    place = labels.position(class_labels(estimator.predict(row))[0])
    label = lowering.let(ops.Category(Literal(place), labels))
    shares = lowering.constant(estimator.predict_proba(row)[0].astype(np.float64))
    return {"label": label, "probability": shares}


@model("regressor", DummyRegressor)
def lower_dummy_regressor(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """One value for all, or one per target."""
    vector = lowering.constant(np.ravel(estimator.constant_).astype(np.float64))
    return {"value": values(lowering, vector, estimator.n_outputs_)}
