"""Power and quantile transformers: rising functions that change how a column is distributed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, cast

import numpy as np
from scipy import stats
from scipy.special import boxcox
from sklearn.preprocessing import PowerTransformer, QuantileTransformer

from ...arrays import Floats
from ...ir import Tensor, ops
from ..quadratics import exact
from .columnwise import column_function, range_of
from .functions import LOOSE, NO_VALUE
from .lowering import Lowering, Refs, Stage
from .registry import Estimator, dense, transformer
from .tracing import last_below


@transformer(PowerTransformer, sparse=dense)
def lower_powers(lowering: Lowering, powers: Estimator, refs: Refs) -> Refs:
    """The Box-Cox or Yeo-Johnson power of each column, standardised if asked for."""
    lowering.check_double(refs)
    if powers.method == "box-cox":
        for ref in refs:
            low, _ = range_of(lowering, ref)
            if low <= 0:
                lowering.problem(
                    f"takes numbers above 0 only (box-cox), and a column can hold {low:g}",
                    "Raise the feature's lower bound above 0 in the space.",
                )
    scaler = powers._scaler if powers.standardize else None
    made = []
    for place, (ref, exponent) in enumerate(zip(refs, powers.lambdas_.tolist(), strict=True)):
        power = partial(_power, _powers_of(powers), exponent)
        stages = [Stage(power, (0.0,), loose=LOOSE)]
        if scaler is not None:
            stages.append(Stage(partial(_standard, scaler.mean_[place], scaler.scale_[place])))
        flaw = "a power of a real column has no exact program"
        made.append(column_function(lowering, ref, stages, flaw=flaw, remedy=NO_VALUE))
    return tuple(made)


def _powers_of(powers: Estimator) -> Callable[[Floats, float], Any]:
    """The function that this version of the library calls."""
    if powers.method == "box-cox":
        return cast("Callable[[Floats, float], Any]", boxcox)
    own = getattr(powers, "_yeo_johnson_transform", stats.yeojohnson)
    return cast("Callable[[Floats, float], Any]", own)


def _power(function: Callable[[Floats, float], Any], exponent: float, values: Floats) -> Floats:
    """The library's function; at 0 and below, the Box-Cox power is a large negative number."""
    if function is boxcox:
        made = function(np.maximum(values, np.finfo(np.float64).tiny), exponent)
        return np.where(values > 0, made, -np.inf)
    return np.asarray(function(values, exponent), dtype=np.float64)


def _standard(mean: float, scale: float, values: Floats) -> Floats:
    return (values - mean) / scale


@transformer(QuantileTransformer)
def lower_quantiles(lowering: Lowering, quantiles: Estimator, refs: Refs) -> Refs:
    """The share of training below x, interpolated; or the normal quantile of that share."""
    lowering.check_double(refs)
    if lowering.sparse:
        lowering.problem(
            "leaves the zeros of a sparse matrix as they are",
            "Give it dense columns (OneHotEncoder(sparse_output=False), sparse_threshold=0).",
        )
    normal = quantiles.output_distribution == "normal"
    made = []
    for ref, own in zip(refs, quantiles.quantiles_.T, strict=True):
        stages = _normal(quantiles, own) if normal else [_uniform(quantiles, own)]
        real = None if normal else partial(_interpolated, own, quantiles.references_)
        made.append(
            column_function(
                lowering,
                ref,
                stages,
                real,
                flaw="normal quantiles of a real column have no exact program, unlike "
                "output_distribution='uniform'",
                remedy=NO_VALUE,
            )
        )
    return tuple(made)


def _around(values: Floats) -> tuple[float, ...]:
    """Numbers, and the doubles after them: functions may jump to and from each."""
    return tuple(np.union1d(values, np.nextafter(values, np.inf)).tolist())


def _shares(references: Floats, own: Floats, values: Floats) -> Floats:
    """The library's interpolation, from both sides where quantiles repeat."""
    rising = np.interp(values, own, references)
    falling = np.interp(-values, -own[::-1], -references[::-1])
    return np.asarray(0.5 * (rising - falling), dtype=np.float64)


def _uniform(quantiles: Estimator, own: Floats) -> Stage:
    def function(values: Floats) -> Floats:
        made = _shares(quantiles.references_, own, values)
        made[values == own[-1]] = 1.0
        made[values == own[0]] = 0.0
        return made

    return Stage(function, _around(own))


MARGIN = 1e-7  # BOUNDS_THRESHOLD of the library


def _normal(quantiles: Estimator, own: Floats) -> list[Stage]:
    """What lies within a margin of the ends is an end; then the quantiles, clipped."""

    def shares(values: Floats) -> Floats:
        made = _shares(quantiles.references_, own, values)
        made[values + MARGIN > own[-1]] = 1.0
        made[values - MARGIN < own[0]] = 0.0
        return made

    least = MARGIN - np.spacing(1)
    ends = stats.norm.ppf(least), stats.norm.ppf(1 - least)

    def normal(values: Floats) -> Floats:
        return np.asarray(np.clip(stats.norm.ppf(np.clip(values, 0.0, 1.0)), *ends))

    before = np.array([np.nextafter(own[0], -np.inf), own[-1]])
    low = last_below(lambda x: x - MARGIN, before[:1])
    high = last_below(lambda x: x + MARGIN, before[1:])
    changes = np.nextafter(np.concatenate([low, high]), np.inf)
    return [Stage(shares, (*_around(own), *changes.tolist())), Stage(normal, loose=LOOSE)]


def _interpolated(own: Floats, references: Floats, lowering: Lowering, x: str) -> str:
    """The interpolation over the reals: hinges, and a jump wherever quantiles repeat.

    Half of a jump is taken at the number itself; all at the last, none at the first.
    """
    places, first = np.unique(own, return_index=True)
    last = own.size - 1 - np.unique(own[::-1], return_index=True)[1]
    held, below, above = (exact(each) for each in (places, references[first], references[last]))
    parts, weights = [], []
    if places.size > 1:
        slopes = (below[1:] - above[:-1]) / (held[1:] - held[:-1])
        beyond = lowering.let(ops.Sub(x, lowering.constant(places)))
        parts.append(lowering.let(ops.Relu(beyond)))
        weights += _differences(slopes.tolist())
    jumps = above - below
    for op, share in ((ops.Gt, _share_above(places.size)), (ops.Ge, _share_at(places.size))):
        kept = np.flatnonzero((jumps != 0) & (share != 0))
        if kept.size:
            hits = lowering.let(op(x, lowering.constant(places[kept])))
            parts.append(lowering.let(ops.ToReal(hits)))
            weights += (jumps * share)[kept].tolist()
    joined = parts[0] if len(parts) == 1 else lowering.let(ops.Concat(tuple(parts)))
    matrix = np.array([weights], dtype=object)
    base = np.array([below[0]], dtype=object)
    return lowering.let(ops.Affine(joined, Tensor.of(matrix), Tensor.of(base)))


def _differences(slopes: list[Fraction]) -> list[Fraction]:
    """By how much the slope changes at each place; it is 0 before the first and after the last."""
    return [b - a for a, b in zip([Fraction(0), *slopes], [*slopes, Fraction(0)], strict=True)]


def _share_above(count: int) -> Floats:
    """Of each jump the share above the number: half, all at the first, none at the last."""
    share = np.full(count, Fraction(1, 2), dtype=object)
    share[-1], share[0] = Fraction(0), Fraction(1)
    return share


def _share_at(count: int) -> Floats:
    """The rest of each jump, from the number on."""
    return 1 - _share_above(count)
