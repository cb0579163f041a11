"""Transformers that compute a kernel of a row with rows of their training table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import KERNEL_PARAMS

from ...ir import Literal, ops
from ..kernel_functions import Kernel, kernel_values
from ..quadratics import exact
from .lowering import Lowering, Refs, cells
from .machines import NAMES, NOTE
from .projection import project
from .registry import Estimator, dense, transformer

DEFAULTS = {"coef0": 1.0, "degree": 3.0}
"""What the library's kernels take where nothing is given; gamma is one over the columns."""


def _parameters(step: Estimator) -> Mapping[str, Any]:
    """gamma, coef0 and degree of a kernel of the library, as far as it takes them."""
    given = dict(getattr(step, "kernel_params", None) or {}) if type(step) is Nystroem else {}
    for name in KERNEL_PARAMS[step.kernel]:
        own = getattr(step, f"{name}_", None) if name == "gamma" else None
        own = getattr(step, name) if own is None else own
        if own is not None:
            given[name] = own
    return {"gamma": 1.0 / step.n_features_in_, **DEFAULTS, **given}


def _flaws(step: Estimator) -> Iterator[str]:
    kernel = step.kernel
    if not isinstance(kernel, str) or kernel not in NAMES:
        yield f"kernel {kernel!r} is not supported; supported are {', '.join(NAMES)}"
    elif NAMES[kernel] == "poly":
        degree = float(_parameters(step)["degree"])
        if degree != int(degree) or degree < 0:
            yield f"degree {degree} of its kernel is no whole number from 0 on"


def _values(lowering: Lowering, step: Estimator, refs: Refs, rows: Any) -> str:
    lowering.check_double(refs, *([] if hasattr(rows, "toarray") else [rows]))
    held = _parameters(step)
    kernel = Kernel(
        NAMES[step.kernel], Fraction(float(held["gamma"])), Fraction(float(held["coef0"])),
        int(held["degree"]),
    )  # fmt: skip
    return kernel_values(lowering, lowering.vector(refs), kernel, exact(rows))


@transformer(Nystroem, flaws=_flaws, sparse=dense, note=NOTE)
def lower_nystroem(lowering: Lowering, step: Estimator, refs: Refs) -> Refs:
    """``normalization_ K(components_, x)``."""
    weight = step.normalization_
    values = _values(lowering, step, refs, step.components_)
    return cells(project(lowering, values, weight), len(weight))


@transformer(KernelPCA, flaws=_flaws, sparse=dense, note=NOTE)
def lower_kernel_pca(lowering: Lowering, pca: Estimator, refs: Refs) -> Refs:
    """``A (k - rows - mean(k) + all)`` of the kernel's values k with the training rows.

    A: the eigenvectors over the roots of their eigenvalues; 0 where one is 0.
    """
    values = _values(lowering, pca, refs, pca.X_fit_)
    rows, let = pca._centerer.K_fit_rows_, lowering.let
    count = Literal(Fraction(len(rows)))
    mean = let(ops.Div(let(ops.ReduceSum(values)), count))
    centred = let(ops.Sub(let(ops.Sub(values, lowering.constant(rows))), mean))
    every = Literal(Fraction(float(pca._centerer.K_fit_all_)))
    used = np.flatnonzero(pca.eigenvalues_)
    weight = np.zeros_like(pca.eigenvectors_)
    weight[:, used] = pca.eigenvectors_[:, used] / np.sqrt(pca.eigenvalues_[used])
    return cells(project(lowering, let(ops.Add(centred, every)), weight.T), weight.shape[1])
