"""Transformers that rescale columns, with the library's own operations in its own order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ...ir import ops
from .lowering import Lowering
from .registry import Estimator, transformer
from .table import Ref, cells


@transformer(StandardScaler)
def lower_standard(lowering: Lowering, scaler: Estimator, refs: tuple[Ref, ...]) -> tuple[Ref, ...]:
    """``(x - mean_) / scale_``, either part only if it is switched on."""
    lowering.check_double(refs)
    x = lowering.vector(refs)
    if scaler.with_mean:
        x = lowering.let(ops.Sub(x, lowering.constant(scaler.mean_)))
    if scaler.with_std:
        x = lowering.let(ops.Div(x, lowering.constant(scaler.scale_)))
    return cells(x, len(refs))


@transformer(MinMaxScaler)
def lower_min_max(lowering: Lowering, scaler: Estimator, refs: tuple[Ref, ...]) -> tuple[Ref, ...]:
    """``x * scale_ + min_``, clipped to ``feature_range`` if ``clip``."""
    lowering.check_double(refs)
    product = lowering.let(ops.Mul(lowering.vector(refs), lowering.constant(scaler.scale_)))
    x = lowering.let(ops.Add(product, lowering.constant(scaler.min_)))
    if scaler.clip:
        lower, upper = (Fraction(float(end)) for end in np.asarray(scaler.feature_range))
        x = lowering.let(ops.Clip(x, lower, upper))
    return cells(x, len(refs))
