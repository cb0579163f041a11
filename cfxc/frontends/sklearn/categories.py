"""Naive Bayes of categories: a table for each column."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from sklearn.naive_bayes import CategoricalNB

from ...arrays import Floats
from ...ir import Operand, ops
from ...ir.evaluator import enclose
from ...ir.interval import Bounds, Choice, Interval
from ...space.inputs import NOT_A_NUMBER
from ..quadratics import exact, exact_affine
from .discriminants import likeliest
from .encoders import Symbol, symbol
from .lowering import Lowering, Ref, Refs, named, tensor
from .members import total
from .registry import Estimator, Outputs, model

NARROW = "narrow the column in the feature space, or train the model with min_categories."


def _flaws(bayes: Estimator) -> Iterator[str]:
    tables = [*bayes.feature_log_prob_, bayes.class_log_prior_]
    if not all(np.isfinite(table).all() for table in tables):
        yield "a category has probability 0 in a class; train it with alpha > 0"


@model("classifier", CategoricalNB, flaws=_flaws)
def lower_categorical_bayes(lowering: Lowering, bayes: Estimator, refs: Refs) -> Outputs:
    """``log P(c) + Σ_j T_j[c, x_j]``, x_j cut to a whole number as the library does."""
    parts: list[Operand] = [
        _entries(lowering, ref, np.asarray(table.T))
        for ref, table in zip(refs, bayes.feature_log_prob_, strict=True)
    ]
    prior = lowering.constant(bayes.class_log_prior_)
    return likeliest(lowering, bayes, total(lowering, [*parts, prior]))


def _entries(lowering: Lowering, ref: Ref, table: Floats) -> Operand:
    """The row of ``table`` (one per code from 0 on) of what a column holds."""
    held = symbol(lowering, ref)
    if held is not None:
        return _of_symbol(lowering, ref, held, table)
    vector = lowering.vector([ref])
    bounds = enclose(lowering.builder.build(), _box(lowering))[vector]
    assert isinstance(bounds, Interval)
    least, most = float(bounds.lower[0]), float(bounds.upper[0])
    if least <= -1 or most >= len(table):
        _outside(lowering, ref, f"{least:g} … {most:g}", table)
    x = lowering.let(ops.Item(vector, 0))
    if len(table) == 1:
        return lowering.constant(table[0])
    codes = lowering.constant(np.arange(1.0, len(table)))
    reached = lowering.let(ops.ToReal(lowering.let(ops.Ge(x, codes))))
    steps = exact(table[1:]) - exact(table[:-1])
    return exact_affine(lowering, reached, steps.T, exact(table[0]))


def _of_symbol(lowering: Lowering, ref: Ref, held: Symbol, table: Floats) -> Operand:
    if not all(isinstance(cell, int | float) for cell in held.cells):
        lowering.problem(f"{named(ref)} holds what is no number", NOT_A_NUMBER)
        return lowering.constant(table[0])
    codes = [int(cell) for cell in held.cells if isinstance(cell, int | float)]
    if odd := sorted({code for code in codes if not 0 <= code < len(table)}):
        _outside(lowering, ref, ", ".join(map(str, odd)), table)
    rows = table[np.clip(codes, 0, len(table) - 1)]
    return lowering.let(ops.Lookup(held.category, held.labels, tensor(rows)))


def _outside(lowering: Lowering, ref: Ref, found: str, table: Floats) -> None:
    text = f"{named(ref)} can hold {found}, and the model knows the codes 0 … {len(table) - 1}"
    lowering.problem(text, NARROW)


def _box(lowering: Lowering) -> dict[str, Bounds]:
    """What every feature of the space can be."""
    box: dict[str, Bounds] = {}
    for name, sort in lowering.builder.inputs:
        if sort.kind == "category":
            box[name] = Choice(sort.labels, np.ones(len(sort.labels), dtype=bool))
        else:
            lower, upper = lowering.space[name].bounds
            box[name] = Interval.exact(Fraction(lower), Fraction(upper))
    return box
