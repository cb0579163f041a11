"""Polynomials of columns, and splines of one column."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

from ...arrays import Floats
from ...ir import Tensor, ops
from ..quadratics import exact
from .columnwise import imaged, tabulated
from .encoders import symbol
from .lowering import Cell, Lowering, Ref, Refs, Stage, cells
from .registry import Estimator, transformer

Monomial = tuple[int, ...]  # its columns, not falling


@transformer(PolynomialFeatures)
def lower_polynomial(lowering: Lowering, polynomial: Estimator, refs: Refs) -> Refs:
    """Products of columns, one for each row of ``powers_``; columns themselves stay."""
    lowering.check_double(refs)
    monomials = [_monomial(row) for row in polynomial.powers_.tolist()]
    known: dict[Monomial, Ref] = {(): Cell(lowering.constant(np.ones(1)), 0, 1)}
    known |= {(place,): ref for place, ref in enumerate(refs)}
    for degree in range(2, max(map(len, monomials), default=0) + 1):
        wanted = [each for each in monomials if len(each) == degree]
        for each in wanted:
            if (made := _table(lowering, each, refs)) is not None:
                known[each] = made
        _products(lowering, [each for each in wanted if each not in known], known)
    return tuple(known[each] for each in monomials)


def _monomial(powers: list[int]) -> Monomial:
    return tuple(place for place, power in enumerate(powers) for _ in range(power))


def _table(lowering: Lowering, each: Monomial, refs: Refs) -> Ref | None:
    """A product as a table: of columns of one category, or a power of a column of few values."""
    held = [symbol(lowering, refs[place]) for place in dict.fromkeys(each)]
    first = held[0]
    if len(held) == 1:
        made = tabulated(lowering, refs[each[0]], partial(_power, len(each)))
        return None if made is None else Cell(made, 0, 1)
    if first is None or any(one is None or one.category != first.category for one in held):
        return None
    cells_of = dict(zip(dict.fromkeys(each), held, strict=True))
    columns = [np.array(one.cells, dtype=np.float64) for p in each if (one := cells_of[p])]
    product = exact(np.prod(columns, axis=0))
    made = lowering.let(ops.Lookup(first.category, first.labels, Tensor.of(product[:, None])))
    return Cell(made, 0, 1)


def _power(degree: int, values: Floats) -> Floats:
    made = values
    for _ in range(degree - 1):  # as the library multiplies
        made = made * values
    return made[:, None]


def _products(lowering: Lowering, wanted: list[Monomial], known: dict[Monomial, Ref]) -> None:
    """Each a product of its last column and of the others, which are known or made before."""
    if not wanted:
        return
    _products(lowering, [each[:-1] for each in wanted if each[:-1] not in known], known)
    first = lowering.vector([known[each[:-1]] for each in wanted])
    last = lowering.vector([known[each[-1:]] for each in wanted])
    made = cells(lowering.let(ops.Mul(first, last)), len(wanted))
    known |= dict(zip(wanted, made, strict=True))


def _spline_flaws(splines: Estimator) -> Iterator[str]:
    if splines.extrapolation in ("error", "periodic"):
        yield f"extrapolation={splines.extrapolation!r} is not supported; use 'constant'"
    if splines.extrapolation == "linear" and splines.degree < 2:
        yield (
            "extrapolation='linear' of degree 1 reads the wrong knots from the second column on, "
            "in scikit-learn itself; use 'continue', which is what it should be"
        )
    if getattr(splines, "handle_missing", "error") != "error":
        yield "handle_missing is not supported; fill missing numbers in before it"


@transformer(SplineTransformer, flaws=_spline_flaws)
def lower_splines(lowering: Lowering, splines: Estimator, refs: Refs) -> Refs:
    """The B-splines of each column: hat functions in degree 1; in any degree tables."""
    lowering.check_double(refs)
    made: list[Ref] = []
    for place, ref in enumerate(refs):
        spline, count = splines.bsplines_[place], splines.bsplines_[0].c.shape[1]
        kept = count if splines.include_bias else count - 1
        rows = partial(_rows, splines, place, kept)
        vector, width = tabulated(lowering, ref, rows), kept
        if vector is None:
            vector, width = _hats(lowering, ref, splines, spline.t, count), count
        bent = np.union1d(spline.t, np.nextafter(spline.t, np.inf)).tolist()
        for one, cell in enumerate(cells(vector, width)[:kept]):
            stage = Stage(partial(_hat, splines, place, one), tuple(bent))
            made.append(imaged(lowering, cell, ref, stage) if splines.degree == 1 else cell)
    return tuple(made)


def _hat(splines: Estimator, place: int, one: int, values: Floats) -> Floats:
    """A spline of degree 1, as the library evaluates and extrapolates it."""
    spline = splines.bsplines_[place]
    if splines.extrapolation == "constant":
        values = np.clip(values, spline.t[1], spline.t[-2])
    with np.errstate(all="ignore"):
        return np.asarray(spline(values)[:, one])


def _rows(splines: Estimator, place: int, count: int, values: Floats) -> Floats:
    """What the library makes of numbers in one column: all its splines that are kept."""
    names = getattr(splines, "feature_names_in_", None)
    tiled = np.tile(values[:, None], (1, len(splines.bsplines_)))
    with np.errstate(all="ignore"):
        made = splines.transform(tiled if names is None else pd.DataFrame(tiled, columns=names))
    plain = np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)
    return plain[:, place * count : (place + 1) * count]


def _hats(lowering: Lowering, ref: Ref, splines: Estimator, knots: Floats, count: int) -> str:
    """Hat functions over distinct knots, ``t_1 .. t_count``: 1 at the own one, 0 at the others."""
    inner = knots[1 : count + 1]
    if splines.degree != 1 or (np.diff(inner) <= 0).any():
        lowering.problem(
            "has splines of a real column that are no hat functions over distinct knots",
            "Use SplineTransformer(degree=1), with fewer knots if they repeat; or declare the "
            "feature integer in the space, which makes a table.",
        )
        return lowering.constant(np.zeros(count))
    x = lowering.vector([ref])
    if splines.extrapolation == "constant":
        x = lowering.let(ops.Clip(x, Fraction(inner[0]), Fraction(inner[-1])))
    knots = exact(inner)
    turns = lowering.let(ops.Relu(lowering.let(ops.Sub(x, lowering.constant(inner[1:-1])))))
    joined = lowering.let(ops.Concat((x, turns))) if count > 2 else x
    values = exact(np.eye(count))  # per knot
    slopes = (values[:, 1:] - values[:, :-1]) / (knots[1:] - knots[:-1])
    weight = np.concatenate([slopes[:, :1], slopes[:, 1:] - slopes[:, :-1]], axis=1)
    base = values[:, 0] - slopes[:, 0] * knots[0]
    return lowering.let(ops.Affine(joined, Tensor.of(weight), Tensor.of(base)))
