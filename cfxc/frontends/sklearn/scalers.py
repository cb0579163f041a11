"""Scalers: affine functions of one column, and quotients by a norm of the row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

from ...arrays import Floats
from ...ir import Literal, Op, ops
from .lowering import Function, Lowering, Refs, cells, scaled
from .registry import Estimator, transformer

Parameters = Floats | None  # one per column, or the step is switched off


@transformer(StandardScaler)
def lower_standard(lowering: Lowering, scaler: Estimator, refs: Refs) -> Refs:
    """``(x - mean_) / scale_``, either part only if it is switched on."""
    means = scaler.mean_ if scaler.with_mean else None
    return _centred(lowering, refs, means, scaler.scale_ if scaler.with_std else None)


@transformer(RobustScaler)
def lower_robust(lowering: Lowering, scaler: Estimator, refs: Refs) -> Refs:
    """``(x - center_) / scale_``, either part only if it is switched on."""
    centres = scaler.center_ if scaler.with_centering else None
    return _centred(lowering, refs, centres, scaler.scale_ if scaler.with_scaling else None)


@transformer(MaxAbsScaler)
def lower_max_abs(lowering: Lowering, scaler: Estimator, refs: Refs) -> Refs:
    """``x / scale_``, clipped to [-1, 1] if ``clip``."""
    clip = (-1.0, 1.0) if getattr(scaler, "clip", False) else None
    return _centred(lowering, refs, None, scaler.scale_, clip)


def _centred(
    lowering: Lowering,
    refs: Refs,
    centres: Parameters,
    scales: Parameters,
    clip: tuple[float, float] | None = None,
) -> Refs:
    """``(x - centre) / scale``, or times the rounded ``1 / scale`` of a sparse matrix."""
    lowering.check_double(refs)
    lowering.check_finite(refs, centres, scales)
    if lowering.problems:
        return refs

    def build(x: str, places: list[int]) -> str:
        if centres is not None:
            x = lowering.let(ops.Sub(x, lowering.constant(centres[places])))
        if scales is not None:
            x = lowering.let(ops.Div(x, lowering.constant(scales[places])))
        return x if clip is None else lowering.let(ops.Clip(x, *map(Fraction, clip)))

    functions = [
        _standard(
            None if centres is None else centres[place],
            None if scales is None else scales[place],
            clip,
            lowering.sparse,
        )
        for place in range(len(refs))
    ]
    return scaled(lowering, refs, functions, build)


def _standard(
    centre: float | None, scale: float | None, clip: tuple[float, float] | None, sparse: bool
) -> Function:
    def function(values: Floats) -> Floats:
        values = values if centre is None else values - centre
        if scale is not None:
            values = values * (1 / scale) if sparse else values / scale
        return values if clip is None else np.clip(values, *clip)

    return function


@transformer(MinMaxScaler)
def lower_min_max(lowering: Lowering, scaler: Estimator, refs: Refs) -> Refs:
    """``x * scale_ + min_``, clipped to ``feature_range`` if ``clip``."""
    lowering.check_double(refs)
    lowering.check_finite(refs, scaler.scale_, scaler.min_)
    if lowering.problems:
        return refs

    def build(x: str, places: list[int]) -> str:
        product = lowering.let(ops.Mul(x, lowering.constant(scaler.scale_[places])))
        x = lowering.let(ops.Add(product, lowering.constant(scaler.min_[places])))
        if not scaler.clip:
            return x
        lower, upper = (Fraction(float(end)) for end in np.asarray(scaler.feature_range))
        return lowering.let(ops.Clip(x, lower, upper))

    ends = scaler.feature_range if scaler.clip else (-np.inf, np.inf)
    functions = [_range(*both, ends) for both in zip(scaler.scale_, scaler.min_, strict=True)]
    return scaled(lowering, refs, functions, build)


def _range(factor: float, shift: float, ends: tuple[float, float]) -> Function:
    return lambda values: np.clip(values * factor + shift, *ends)


def _euclidean(normalizer: Estimator) -> Iterator[str]:
    if normalizer.norm == "l2":
        other = None if type(normalizer) is TfidfTransformer else "max"
        yield (
            "norm='l2' divides by a square root of squares, which has no exact program; "
            f"use norm='l1' or {other!r}"
        )


@transformer(Normalizer, flaws=_euclidean, note="norm 'l1' or 'max'")
def lower_normalizer(lowering: Lowering, normalizer: Estimator, refs: Refs) -> Refs:
    """``x / norm(x)`` with the l1 norm or the largest magnitude; a row of zeros stays."""
    lowering.check_double(refs)
    return cells(_over_norm(lowering, lowering.vector(refs), normalizer.norm), len(refs))


def _over_norm(lowering: Lowering, x: str, name: str) -> str:
    norms: dict[str, Callable[[str], Op]] = {"l1": ops.ReduceSum, "max": ops.ReduceMax}
    norm = lowering.let(norms[name](lowering.let(ops.Abs(x))))
    is_zero = lowering.let(ops.Le(norm, Literal(Fraction(0))))
    divisor = lowering.let(ops.Select(is_zero, Literal(Fraction(1)), norm))
    return lowering.let(ops.Div(x, divisor))


def _term_flaws(step: Estimator) -> Iterator[str]:
    yield from _euclidean(step)
    if step.sublinear_tf:
        yield "sublinear_tf=True takes logarithms of counts; use sublinear_tf=False"


@transformer(
    TfidfTransformer,
    flaws=_term_flaws,
    sparse=lambda step, _: True,
    note="norm 'l1' or None; of columns of counts",
)
def lower_terms(lowering: Lowering, step: Estimator, refs: Refs) -> Refs:
    """``x * idf_`` of counts x, over the l1 norm if it says so; a row of zeros stays."""
    lowering.check_double(refs)
    x = lowering.vector(refs)
    if step.use_idf:
        x = lowering.let(ops.Mul(x, lowering.constant(step.idf_)))
    return cells(x if step.norm is None else _over_norm(lowering, x, step.norm), len(refs))
