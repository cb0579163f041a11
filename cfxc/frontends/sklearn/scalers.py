"""Transformers that rescale columns, with the library's own operations in its own order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ...ir import ops
from .lowering import Lowering
from .registry import Estimator, transformer
from .table import Function, Ref, scaled_cells

Floats = npt.NDArray[np.float64]


@transformer(StandardScaler)
def lower_standard(lowering: Lowering, scaler: Estimator, refs: tuple[Ref, ...]) -> tuple[Ref, ...]:
    """``(x - mean_) / scale_``, either part only if it is switched on."""
    lowering.check_double(refs)
    x = lowering.vector(refs)
    if scaler.with_mean:
        x = lowering.let(ops.Sub(x, lowering.constant(scaler.mean_)))
    if scaler.with_std:
        x = lowering.let(ops.Div(x, lowering.constant(scaler.scale_)))
    means = scaler.mean_ if scaler.with_mean else [None] * len(refs)
    scales = scaler.scale_ if scaler.with_std else [None] * len(refs)
    functions = [_standard(*both) for both in zip(means, scales, strict=True)]
    return scaled_cells(x, refs, functions)


def _standard(mean: float | None, scale: float | None) -> Function:
    def function(values: Floats) -> Floats:
        centred = values if mean is None else values - mean
        return centred if scale is None else centred / scale

    return function


@transformer(MinMaxScaler)
def lower_min_max(lowering: Lowering, scaler: Estimator, refs: tuple[Ref, ...]) -> tuple[Ref, ...]:
    """``x * scale_ + min_``, clipped to ``feature_range`` if ``clip``."""
    lowering.check_double(refs)
    product = lowering.let(ops.Mul(lowering.vector(refs), lowering.constant(scaler.scale_)))
    x = lowering.let(ops.Add(product, lowering.constant(scaler.min_)))
    if scaler.clip:
        lower, upper = (Fraction(float(end)) for end in np.asarray(scaler.feature_range))
        x = lowering.let(ops.Clip(x, lower, upper))
    ends = scaler.feature_range if scaler.clip else (-np.inf, np.inf)
    functions = [_range(*both, ends) for both in zip(scaler.scale_, scaler.min_, strict=True)]
    return scaled_cells(x, refs, functions)


def _range(factor: float, shift: float, ends: tuple[float, float]) -> Function:
    return lambda values: np.clip(values * factor + shift, *ends)
