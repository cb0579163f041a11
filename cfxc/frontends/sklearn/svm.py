"""Support vector machines with a linear kernel: affine maps summed exactly from their vectors.

``sum_i a_i <v_i, x> + b = <sum_i a_i v_i, x> + b``: the weights are rationals, not the rounded
``coef_``; the library sums the left side in doubles, whatever the columns are.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.svm import SVC, SVR, NuSVC, NuSVR

from ...ir import Tensor, ops
from .lowering import Lowering, tensor
from .outputs import ZERO, binary_label_from, top_label
from .registry import Estimator, Outputs, model
from .table import Ref

Exact = npt.NDArray[Any]


def _regressor_flaws(estimator: Estimator) -> Iterator[str]:
    if estimator.kernel != "linear":
        yield f"kernel {estimator.kernel!r} is not supported; only 'linear' is"


def _classifier_flaws(estimator: Estimator) -> Iterator[str]:
    yield from _regressor_flaws(estimator)
    if estimator.break_ties and len(estimator.classes_) > 2:
        yield "break_ties=True is not supported with more than two classes"


def _exact(values: Any) -> Exact:
    dense = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    return np.asarray(np.frompyfunc(Fraction, 1, 1)(dense), dtype=object)


def _affine(lowering: Lowering, refs: tuple[Ref, ...], weight: Exact, bias: Exact) -> str:
    made = ops.Affine(lowering.vector(refs), Tensor(weight, "rat"), Tensor(bias, "rat"))
    return lowering.let(made)


def _pairs(estimator: Estimator) -> tuple[Exact, Exact]:
    """Weights (p, n) and biases (p,) of the machines of classes i < j, in the library's order."""
    vectors, dual = _exact(estimator.support_vectors_), _exact(estimator._dual_coef_)
    ends = np.cumsum(estimator.n_support_)
    own = [slice(end - size, end) for end, size in zip(ends, estimator.n_support_, strict=True)]
    rows = [
        dual[j - 1, own[i]].dot(vectors[own[i]]) + dual[i, own[j]].dot(vectors[own[j]])
        for i, j in combinations(range(len(own)), 2)
    ]
    return np.array(rows, dtype=object), _exact(estimator._intercept_)


@model("classifier", SVC, NuSVC, flaws=_classifier_flaws)
def lower_support_classifier(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """One machine per pair of classes: the first one iff its value is positive; most votes win.

    Of two classes, the second iff the (negated) value is at least 0.
    """
    weight, bias = _pairs(estimator)
    count = len(estimator.classes_)
    if count == 2:
        score = lowering.let(ops.Item(_affine(lowering, refs, -weight, -bias), 0))
        label = binary_label_from(lowering, estimator.classes_, score, ZERO)
        return {"label": label, "score": score}
    first = lowering.let(ops.Gt(_affine(lowering, refs, weight, bias), ZERO))
    spread, start = np.zeros((count, len(bias))), np.zeros(count)
    for place, (i, j) in enumerate(combinations(range(count), 2)):
        spread[i, place], spread[j, place] = 1, -1
        start[j] += 1
    hits = lowering.let(ops.ToReal(first))
    votes = lowering.let(ops.Affine(hits, tensor(spread), tensor(start)))
    return {"label": top_label(lowering, estimator.classes_, votes)}


@model("regressor", SVR, NuSVR, flaws=_regressor_flaws)
def lower_support_regressor(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """``value``: the machine's value."""
    vectors, dual = _exact(estimator.support_vectors_), _exact(estimator._dual_coef_)
    value = _affine(lowering, refs, dual.dot(vectors), _exact(estimator._intercept_))
    return {"value": lowering.let(ops.Item(value, 0))}
