"""Machines with kernels: support vectors and kernel ridge regression.

``f(x) = Σ_i a_i K(v_i, x) + b``: affine or a polynomial in x, but for the kernels ``rbf`` and
``sigmoid``, which engines hold between lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from ...ir import Operand, ops
from ..kernel_functions import Kernel, kernel_values, pair_weights
from ..quadratics import Exact, exact, exact_affine
from .linear import ZERO, binary_label, binary_label_from, outlier_or_inlier, top_label, values
from .lowering import Lowering, Refs
from .pairwise import most_votes, pair_scores, tally
from .registry import Estimator, Outputs, model

NAMES = {"linear": "linear", "poly": "poly", "polynomial": "poly", "rbf": "rbf", "sigmoid": "tanh"}
"""What a kernel computes, by the names that models give it."""
NOTE = "kernels 'rbf' and 'sigmoid' are enclosed: 'rbf' gives answers, and seldom bounds"


def _kernel_of(machine: Estimator) -> Kernel:
    gamma = machine._gamma if hasattr(machine, "_gamma") else machine.gamma
    gamma = 1.0 / machine.n_features_in_ if gamma is None else float(gamma)
    coef0 = Fraction(float(machine.coef0))
    return Kernel(NAMES[machine.kernel], Fraction(gamma), coef0, int(machine.degree))


def _kernel_flaws(machine: Estimator) -> Iterator[str]:
    kernel = machine.kernel
    if not isinstance(kernel, str) or kernel not in NAMES:
        yield f"kernel {kernel!r} is not supported; supported are {', '.join(NAMES)}"
    elif NAMES[kernel] == "poly" and (machine.degree != int(machine.degree) or machine.degree < 0):
        yield f"degree {machine.degree} of its kernel is no whole number from 0 on"


def expansion(
    lowering: Lowering, refs: Refs, kernel: Kernel, vectors: Exact, dual: Exact,
    bias: Exact,
) -> str:  # fmt: skip
    """``Σ_i dual[r, i] K(vectors[i], x) + bias[r]`` for all r; shapes (m, n), (k, m), (k,).

    Added up as libraries do: what rounding may do depends on it.
    """
    kernels = kernel_values(lowering, lowering.vector(refs), kernel, vectors)
    return exact_affine(lowering, kernels, dual, bias)


def _pairs(machine: Estimator) -> tuple[Exact, Exact]:
    """Weights (p, m) of the vectors and biases (p,) of the machines of classes i < j, in order."""
    weights = pair_weights(exact(machine._dual_coef_), machine.n_support_)
    return weights, exact(machine._intercept_)


@model("classifier", SVC, NuSVC, flaws=_kernel_flaws, note=NOTE)
def lower_support_classifier(lowering: Lowering, machine: Estimator, refs: Refs) -> Outputs:
    """One machine per pair of classes: the first one iff its value is positive; most votes win.

    Of two classes, the second iff the (negated) value is at least 0.  With ``break_ties`` sums of
    values decide among equal votes.
    """
    dual, bias = _pairs(machine)
    count = len(machine.classes_)
    kernel, vectors = _kernel_of(machine), exact(machine.support_vectors_)
    if count == 2:
        vector = expansion(lowering, refs, kernel, vectors, -dual, -bias)
        score = lowering.let(ops.Item(vector, 0))
        label = binary_label_from(lowering, machine.classes_, score, ZERO)
        return {"label": label, "score": score}
    vector = expansion(lowering, refs, kernel, vectors, dual, bias)
    second = lowering.let(ops.Le(vector, ZERO))
    against = lowering.let(ops.Neg(vector))
    votes, _ = tally(lowering, second, against, count)
    label = top_label(lowering, machine.classes_, votes)
    if machine.decision_function_shape == "ovo":
        return {"label": label, "score": vector}
    below = lowering.let(ops.Lt(vector, ZERO))  # unlike predict, it gives ties to the first class
    votes, sums = tally(lowering, below, against, count)
    if machine.break_ties:
        label = most_votes(lowering, machine.classes_, votes, sums)
    return {"label": label, "score": pair_scores(lowering, votes, sums)}


def _value(lowering: Lowering, machine: Estimator, refs: Refs) -> Operand:
    vectors, dual = exact(machine.support_vectors_), exact(machine._dual_coef_)
    bias = exact(machine._intercept_)
    made = expansion(lowering, refs, _kernel_of(machine), vectors, dual, bias)
    return lowering.let(ops.Item(made, 0))


@model("regressor", SVR, NuSVR, flaws=_kernel_flaws, note=NOTE)
def lower_support_regressor(lowering: Lowering, machine: Estimator, refs: Refs) -> Outputs:
    """``value``: the machine's value."""
    return {"value": _value(lowering, machine, refs)}


@model("classifier", OneClassSVM, flaws=_kernel_flaws, labels=outlier_or_inlier, note=NOTE)
def lower_one_class_machine(lowering: Lowering, machine: Estimator, refs: Refs) -> Outputs:
    """Label 1 iff the machine's value is above 0, else -1."""
    score = _value(lowering, machine, refs)
    label = binary_label(lowering, outlier_or_inlier(machine), score)
    return {"label": label, "score": score}


@model("regressor", KernelRidge, flaws=_kernel_flaws, note=NOTE)
def lower_kernel_ridge(lowering: Lowering, machine: Estimator, refs: Refs) -> Outputs:
    """``K(x, X_fit_) dual_coef_``, one number or one per target."""
    fitted: Any = machine.X_fit_
    dual = exact(machine.dual_coef_).reshape(len(machine.dual_coef_), -1).T
    lowering.check_double(refs, *([] if hasattr(fitted, "toarray") else [fitted]))
    bias = np.full(len(dual), Fraction(0), dtype=object)
    made = expansion(lowering, refs, _kernel_of(machine), exact(fitted), dual, bias)
    return {"value": values(lowering, made, len(dual))}
