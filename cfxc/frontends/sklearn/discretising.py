"""Discretisers: bins and bounds of one column, and the leaves of random trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.preprocessing import Binarizer, KBinsDiscretizer

from ...arrays import Floats
from .columnwise import imaged, stepwise
from .lowering import Lowering, Refs, Stage, cells
from .registry import Estimator, transformer
from .trees import ensemble, thresholds_on_doubles

Bins = Callable[[Floats], Floats]


@transformer(KBinsDiscretizer, sparse=lambda bins, _: bool(bins.encode == "onehot"))
def lower_bins(lowering: Lowering, bins: Estimator, refs: Refs) -> Refs:
    """The number of inner ``bin_edges_`` that x reaches, as a code or as one indicator per bin."""
    single = bins.dtype == np.float32 or lowering.dtype(refs) == np.float32
    dtype = np.dtype(np.float32 if single else np.float64)
    inner = [np.asarray(edges[1:-1], dtype=np.float64) for edges in bins.bin_edges_]
    before = [_before(edges, single) for edges in inner]
    codes = [_codes(edges, single) for edges in inner]
    if bins.encode == "ordinal":
        columns = stepwise(lowering, refs, before, [_column(code) for code in codes])
        parts = zip(columns, refs, codes, strict=True)
        found = [imaged(lowering, cell, ref, Stage(code)) for (cell,), ref, code in parts]
    else:
        rows = [_chosen(code, edges.size + 1) for code, edges in zip(codes, inner, strict=True)]
        found = [cell for column in stepwise(lowering, refs, before, rows) for cell in column]
    return tuple(replace(cell, dtype=dtype) for cell in found)


def _column(function: Bins) -> Bins:
    return lambda values: function(values)[:, None]


def _chosen(codes: Bins, count: int) -> Bins:
    return lambda values: np.eye(count)[codes(values).astype(int)]


def _codes(edges: Floats, single: bool) -> Bins:
    def codes(values: Floats) -> Floats:
        seen = values.astype(np.float32) if single else values
        return np.searchsorted(edges, seen, side="right").astype(np.float64)

    return codes


def _before(edges: Floats, single: bool) -> Floats:
    """The last doubles before the code changes: those that are not seen as the edge or more."""
    found = np.nextafter(np.unique(edges), -np.inf)
    if not single:
        return found
    return thresholds_on_doubles(found, np.ones(found.shape, dtype=np.bool_))


@transformer(Binarizer)
def lower_binarizer(lowering: Lowering, binarizer: Estimator, refs: Refs) -> Refs:
    """1 where ``x > threshold``, else 0."""
    return binarized(lowering, refs, float(binarizer.threshold))


def binarized(lowering: Lowering, refs: Refs, bound: float) -> Refs:
    """Of each column 1 where it exceeds a bound, as rounded by the steps before, else 0."""
    lowering.check_double(refs)

    def above(values: Floats) -> Floats:
        return (values > bound).astype(np.float64)

    bounds = [np.array([bound])] * len(refs)
    made = stepwise(lowering, refs, bounds, [_column(above)] * len(refs))
    stage, dtype = Stage(above), lowering.dtype(refs)
    return tuple(
        replace(imaged(lowering, one[0], ref, stage), dtype=dtype)
        for one, ref in zip(made, refs, strict=True)
    )


@transformer(RandomTreesEmbedding)
def lower_embedding(lowering: Lowering, forest: Estimator, refs: Refs) -> Refs:
    """One indicator per leaf of each tree."""
    known = forest.one_hot_encoder_.categories_
    width, start, leaves = sum(map(len, known)), 0, []
    trees = [member.tree_ for member in forest.estimators_]
    for tree, reached in zip(trees, known, strict=True):
        value = np.zeros((tree.node_count, width))
        value[np.asarray(reached, dtype=int), start + np.arange(len(reached))] = 1.0
        leaves.append(value)
        start += len(reached)
    return cells(ensemble(lowering, refs, trees, leaves), width)
