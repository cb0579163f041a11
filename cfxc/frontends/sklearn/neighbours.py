"""Classifiers by the training rows around a row: within a radius, or weighed by a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.neighbors import RadiusNeighborsClassifier
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

from ...errors import VerificationError
from ...ir import Literal, Tensor, ops
from ...ir.evaluator import enclose
from ...ir.interval import Bounds, Choice, Interval
from ..kernel_functions import squares
from ..predictor import class_labels
from ..quadratics import Exact, exact, exact_affine
from .linear import ZERO, normalised, top_label
from .lowering import Lowering, Refs, tensor
from .members import total
from .registry import Estimator, Outputs, model

EUCLIDEAN, MANHATTAN = ("euclidean", "l2"), ("manhattan", "l1", "cityblock")
LEAST = -650.0  # exp of less loses digits to underflow


def _label_elsewhere(estimator: Estimator) -> Any:
    """The label where no training row is near."""
    return class_labels(np.ravel(np.asarray(estimator.outlier_label_)))[0]


def _radius_flaws(estimator: Estimator) -> Iterator[str]:
    if estimator.outputs_2d_:
        yield "multi-output classification is not supported; train one model per output"
    if estimator.weights not in ("uniform", None):
        yield "weighs by distances, which are roots of squares; use weights='uniform'"
    if estimator.effective_metric_ not in (*EUCLIDEAN, *MANHATTAN):
        yield f"metric {estimator.effective_metric_!r} is not supported; supported are p=1 and p=2"
    if estimator.outlier_label_ is None:
        yield (
            "refuses rows without a training row in the radius; train it with "
            "outlier_label='most_frequent'"
        )
    elif _label_elsewhere(estimator) not in class_labels(estimator.classes_):
        yield (
            f"answers {_label_elsewhere(estimator)!r} where no training row is near, which is none "
            "of its classes; train it with outlier_label='most_frequent'"
        )


@model(
    "classifier",
    RadiusNeighborsClassifier,
    flaws=_radius_flaws,
    note="of equal weights; with a label for rows that no training row is near",
)
def lower_radius(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """The class of most training rows within the radius, the first of equals."""
    rows, let = estimator._fit_X, lowering.let
    lowering.check_double(refs, *([] if hasattr(rows, "toarray") else [rows]))
    radius, vectors = Fraction(float(estimator.radius)), exact(rows)
    if estimator.effective_metric_ in EUCLIDEAN:
        distances, radius = (
            squares(lowering, lowering.vector(refs), Fraction(1), vectors),
            radius**2,
        )
    else:
        distances = _corners(lowering, lowering.vector(refs), vectors)
    near = let(ops.ToReal(let(ops.Le(distances, Literal(radius)))))
    classes = class_labels(estimator.classes_)
    elsewhere = classes.index(_label_elsewhere(estimator))
    belongs = np.arange(len(classes))[:, None] == np.asarray(estimator._y).ravel()[None, :]
    votes = let(ops.Affine(near, tensor(belongs.astype(float)), tensor(np.zeros(len(classes)))))
    alone = let(ops.Le(let(ops.ReduceMax(votes)), ZERO))
    chosen = lowering.constant((np.arange(len(classes)) == elsewhere).astype(float))
    shares = let(ops.Select(alone, chosen, votes))
    label = top_label(lowering, classes, shares)
    return {"label": label, "probability": normalised(lowering, shares)}


def _corners(lowering: Lowering, x: str, vectors: Exact) -> str:
    """``|v_i - x|_1`` for all i."""
    let, parts = lowering.let, []
    for place, column in enumerate(vectors.T):
        held = let(ops.Constant(Tensor.of(column)))
        parts.append(let(ops.Abs(let(ops.Sub(held, let(ops.Item(x, place)))))))
    return str(total(lowering, parts))


def _propagation_flaws(estimator: Estimator) -> Iterator[str]:
    if not isinstance(estimator.kernel, str) or estimator.kernel != "rbf":
        yield f"kernel {estimator.kernel!r} is not supported; use kernel='rbf'"


@model(
    "classifier",
    LabelPropagation,
    LabelSpreading,
    flaws=_propagation_flaws,
    enclosed=True,
    note="kernel 'rbf': gives answers, and seldom bounds",
)
def lower_propagation(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """The class of most weight ``Σ_i exp(-gamma |v_i - x|²) label_distributions_[i]``."""
    rows, let = estimator.X_, lowering.let
    lowering.check_double(refs, *([] if hasattr(rows, "toarray") else [rows]))
    gamma = Fraction(float(estimator.gamma))
    powers = squares(lowering, lowering.vector(refs), -gamma, exact(rows))
    if not lowering.problems and _least_power(lowering, powers) < LEAST:
        lowering.problem(
            "far from all training rows the weights underflow to 0, and it gives no number there",
            "Train it with a smaller gamma, or narrow the ranges of the feature space.",
        )
    held = np.asarray(estimator.label_distributions_, dtype=np.float64).T
    zero = np.full(len(held), Fraction(0), dtype=object)
    weights = exact_affine(lowering, let(ops.Exp(powers)), exact(held), zero)
    label = top_label(lowering, estimator.classes_, weights)
    return {"label": label, "probability": normalised(lowering, weights)}


def _least_power(lowering: Lowering, powers: str) -> float:
    """A number that the largest of some numbers is not below, anywhere in the space."""
    program = lowering.builder.build_with({"powers": powers})
    box: dict[str, Bounds] = {}
    for name, sort in program.inputs:
        feature = lowering.space[name]
        box[name] = (
            Choice.among(sort.labels, sort.labels)
            if sort.labels
            else Interval.exact(*map(Fraction, feature.bounds))
        )
    try:
        found = enclose(program, box)[powers]
    except VerificationError:
        return -np.inf
    assert isinstance(found, Interval)
    return float(np.max(found.lower))
