"""Imputers: what stands in for a missing number or category, and columns that say so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.impute._iterative import IterativeImputer  # public behind a switch for experiments

from ...ir import Literal, Operand, ops
from ...space import Label
from ...space.values import canonical, key, scalar
from .encoders import symbol
from .lowering import DOUBLE, FILL, Cell, Image, Lowering, Raw, Ref, Refs, cells, tensor
from .members import MEMBERS, lower_member
from .registry import Estimator, dense, refused, transformer

refused(
    KNNImputer,
    reason="looks for the nearest rows of the training table",
    remedy="Use SimpleImputer, or a model that takes missing numbers (histogram boosting).",
)


def is_marker(lowering: Lowering, imputer: Estimator, ref: Ref, cell: Label) -> bool:
    """Whether a cell of a column holds what the imputer takes for missing."""
    marker = canonical(scalar(imputer.missing_values, "missing_values"))
    return key(cell) == key(marker) and not (cell is None and _keeps_none(lowering, imputer, ref))


def _keeps_none(lowering: Lowering, imputer: Estimator, ref: Ref) -> bool:
    """Whether a column of objects writes ``None``, which is no NaN unless numbers are made of it.

    The library finds NaN among objects as what differs from itself.
    """
    if not isinstance(ref, Raw) or imputer.missing_values is None:
        return False
    feature = lowering.source(ref).feature
    held = feature.dtype == "object" and feature.missing_as == "none"
    return held and getattr(imputer, "strategy", "") not in ("mean", "median")


@transformer(SimpleImputer, sparse=dense)
def lower_simple(lowering: Lowering, imputer: Estimator, refs: Refs) -> Refs:
    """``statistics_`` where a column is missing; then indicators, if it adds them.

    Columns that had no values in training are dropped, unless the imputer keeps them.
    """
    made: list[Ref] = []
    for ref, statistic in zip(refs, imputer.statistics_, strict=True):
        empty = _label(statistic) is None
        if not empty:
            made.append(_imputed(lowering, imputer, ref, _label(statistic)))
        elif imputer.keep_empty_features:
            made.append(_imputed(lowering, imputer, ref, 0))
    if imputer.add_indicator:
        made += _indicators(lowering, imputer, refs, imputer.indicator_.features_.tolist())
    return tuple(made)


def _label(value: Any) -> Label:
    """A statistic as a plain value; ``None`` if there is none."""
    return canonical(scalar(value, "statistics_"))


def _imputed(lowering: Lowering, imputer: Estimator, ref: Ref, fill: Label) -> Ref:
    """One column, with ``fill`` where it is missing."""
    if isinstance(ref, Raw) and (held := lowering.source(ref).cells) is not None:
        marks = [is_marker(lowering, imputer, ref, cell) for cell in held]
        filled = (fill if mark else cell for mark, cell in zip(marks, held, strict=True))
        return replace(ref, cells=tuple(filled))
    marked = symbol(lowering, ref)
    number = None if isinstance(fill, str) or fill is None else float(fill)
    if is_marker(lowering, imputer, ref, None):
        name = lowering.gap(ref)
        if not name or number is None:
            return ref
        return _filled(lowering, ref, name, number)
    if lowering.gap(ref):
        lowering.problem(f"takes {imputer.missing_values!r} for missing, and refuses NaN", FILL)
        return ref
    if marked is not None or number is None:
        return ref
    return _replaced(lowering, ref, float(imputer.missing_values), number)


def _filled(lowering: Lowering, ref: Ref, name: str, fill: float) -> Ref:
    """A number that may be missing: of the table, ``x - absent m + fill m``, m = [x <= absent]."""
    missing, let = lowering.is_missing(name), lowering.let
    x: Operand = lowering.vector([ref], gaps=True)
    if isinstance(ref, Raw):
        absent = lowering.space[name].absent
        assert absent is not None
        here = let(ops.ToReal(missing))
        # In this order doubles give the fill itself.
        none = let(ops.Add(x, let(ops.Mul(here, Literal(-absent)))))
        made = let(ops.Add(none, let(ops.Mul(here, Literal(Fraction(fill))))))
        return Cell(made, 0, 1, ref.dtype, Image(ref, fill=fill))
    assert ref.image is not None
    made = let(ops.Select(missing, Literal(Fraction(fill)), x))
    return Cell(made, 0, 1, ref.dtype, replace(ref.image, fill=fill))


def _replaced(lowering: Lowering, ref: Ref, marker: float, fill: float) -> Ref:
    """A column in which one number stands for missing: ``x + (fill - marker) [x = marker]``."""
    let, x = lowering.let, lowering.vector([ref])
    hits = let(ops.ToReal(let(ops.Eq(x, Literal(Fraction(marker))))))
    height = Literal(Fraction(fill) - Fraction(marker))
    return Cell(let(ops.Add(x, let(ops.Mul(hits, height)))), 0, 1)


def _indicators(
    lowering: Lowering, imputer: Estimator, refs: Sequence[Ref], places: Sequence[int]
) -> Refs:
    """1 where a column is missing, else 0, for the columns at ``places``."""
    return tuple(_indicator(lowering, imputer, refs[place]) for place in places)


def _indicator(lowering: Lowering, imputer: Estimator, ref: Ref) -> Ref:
    let = lowering.let
    held = symbol(lowering, ref)
    if held is not None:
        marks = [is_marker(lowering, imputer, ref, cell) for cell in held.cells]
        table = np.array(marks, dtype=np.float64)[:, None]
        return cells(let(ops.Lookup(held.category, held.labels, tensor(table))), 1)[0]
    if not is_marker(lowering, imputer, ref, None):
        marker = Literal(Fraction(float(imputer.missing_values)))
        return Cell(let(ops.ToReal(let(ops.Eq(lowering.vector([ref]), marker)))), 0, 1)
    name = lowering.gap(ref)
    if not name:
        return cells(lowering.constant(np.zeros(1)), 1)[0]
    both = let(ops.ToReal(lowering.is_missing(name)))
    return cells(let(ops.Reshape(both, (1,))), 1)[0]


def _new_gaps(indicator: Estimator) -> Iterator[str]:
    if indicator.sparse is True:
        yield "sparse=True is not supported; use sparse=False"


@transformer(MissingIndicator, flaws=_new_gaps, sparse=dense)
def lower_indicator(lowering: Lowering, indicator: Estimator, refs: Refs) -> Refs:
    """1 where a column is missing, else 0; of all, or of those that had gaps in training."""
    known = set(indicator.features_.tolist())
    for place, ref in enumerate(refs):
        new = place not in known and lowering.gap(ref)
        if new and indicator.error_on_new and indicator.features == "missing-only":
            lowering.problem(
                f"refuses rows in which column {place} is missing, which it never was in training",
                "Set missing = false for it in the feature space.",
            )
    return _indicators(lowering, indicator, refs, indicator.features_.tolist())


def _drawn(imputer: Estimator) -> Iterator[str]:
    if imputer.sample_posterior:
        yield "sample_posterior=True draws what is missing at random; use sample_posterior=False"
    if key(canonical(scalar(imputer.missing_values, "missing_values"))) != key(None):
        yield f"takes {imputer.missing_values!r} for missing; use missing_values=np.nan"


def _fillers(imputer: Estimator) -> Iterator[tuple[str, Estimator]]:
    for _, _, estimator in imputer.imputation_sequence_:
        yield MEMBERS, estimator


@transformer(
    IterativeImputer,
    flaws=_drawn,
    models=_fillers,
    sparse=dense,
    note="as the estimators in it are",
)
def lower_iterative(lowering: Lowering, imputer: Estimator, refs: Refs) -> Refs:
    """Columns that are missing by ``initial_imputer_``, then in turn by models of others.

    The models are those of the rounds of training, and what they say is clipped to ``min_value``
    and ``max_value``.
    """
    lowering.check_double(refs)
    known = np.ones(len(refs), dtype=np.bool_)
    if not imputer.keep_empty_features:
        known = ~imputer._is_empty_feature
    gaps = [lowering.gap(ref) for ref, kept in zip(refs, known, strict=True) if kept]
    first = lower_simple(lowering, imputer.initial_imputer_, refs)
    if gaps and all(gaps) and imputer.imputation_sequence_:
        lowering.problem(
            "where all columns of a row are missing, what it fills in depends on the other rows of "
            "the table",
            "Set missing = false for one of them in the feature space.",
        )
    now = list(first)
    empty = imputer._is_empty_feature[known].tolist()
    for place, others, estimator in imputer.imputation_sequence_:
        if not gaps[place] or empty[place]:
            continue
        columns = tuple(now[other] for other in np.asarray(others).tolist())
        said = lower_member(lowering, estimator, columns)["value"]
        ends = (float(held[place]) for held in (imputer._min_value, imputer._max_value))
        now[place] = _where_missing(lowering, gaps[place], said, first[place], *ends)
    if imputer.add_indicator:
        now += _indicators(lowering, imputer, refs, imputer.indicator_.features_.tolist())
    return tuple(now)


def _where_missing(
    lowering: Lowering, name: str, said: Operand, ref: Ref, low: float, high: float
) -> Ref:
    """A column, and where the number of a feature is missing what a model says, clipped."""
    let = lowering.let
    for bound, op in ((low, ops.Maximum), (high, ops.Minimum)):
        if np.isfinite(bound):
            said = let(op(said, Literal(Fraction(bound))))
    made = let(ops.Select(lowering.is_missing(name), said, lowering.vector([ref])))
    return Cell(made, 0, 1, DOUBLE)
