"""Projections: affine maps of all columns, and pooled columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.cluster import FeatureAgglomeration
from sklearn.decomposition import (
    PCA,
    FactorAnalysis,
    FastICA,
    IncrementalPCA,
    MiniBatchSparsePCA,
    SparsePCA,
    TruncatedSVD,
)
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.neural_network import BernoulliRBM
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from ...arrays import Array
from ...ir import Op, ops
from ..quadratics import exact, exact_affine
from .lowering import Lowering, Refs, cells, tensor
from .registry import Estimator, dense, transformer


def project(lowering: Lowering, x: str, weight: Any, shift: Any = None) -> str:
    """``W x``, or ``W x + shift``, for W of shape (k, n)."""
    matrix = weight.toarray() if hasattr(weight, "toarray") else np.asarray(weight)
    bias = np.zeros(len(matrix)) if shift is None else np.asarray(shift)
    return lowering.let(
        ops.Affine(x, *(tensor(each.astype(np.float64)) for each in (matrix, bias)))
    )


def _centred(lowering: Lowering, refs: Refs, mean: Array, *parameters: Array) -> str:
    lowering.check_double(refs, mean, *parameters)
    return lowering.let(ops.Sub(lowering.vector(refs), lowering.constant(mean)))


@transformer(PCA, IncrementalPCA, sparse=dense)
def lower_pca(lowering: Lowering, pca: Estimator, refs: Refs) -> Refs:
    """``C x - C mean_``, over the standard deviations (not 0) if ``whiten``.

    The two products are not joined: so the deployed rounding, which grows with both, is bounded.
    """
    weight = pca.components_
    lowering.check_double(refs, weight)
    moved = project(lowering, lowering.vector(refs), weight)
    if pca.mean_ is not None:
        mean = project(lowering, lowering.constant(pca.mean_), weight)
        moved = lowering.let(ops.Sub(moved, mean))
    if pca.whiten:
        scale = np.sqrt(pca.explained_variance_)
        least = np.finfo(scale.dtype).eps
        moved = lowering.let(ops.Div(moved, lowering.constant(np.maximum(scale, least))))
    return cells(moved, len(weight))


@transformer(SparseRandomProjection, sparse=lambda one, given: given and not one.dense_output)
@transformer(GaussianRandomProjection, NeighborhoodComponentsAnalysis, TruncatedSVD, sparse=dense)
def lower_components(lowering: Lowering, projection: Estimator, refs: Refs) -> Refs:
    """``C x`` for the matrix C of components."""
    return _linear(lowering, refs, projection.components_)


def _linear(lowering: Lowering, refs: Refs, weight: Any) -> Refs:
    lowering.check_double(refs, weight.data if hasattr(weight, "toarray") else weight)
    return cells(project(lowering, lowering.vector(refs), weight), weight.shape[0])


@transformer(FastICA, sparse=dense)
def lower_ica(lowering: Lowering, ica: Estimator, refs: Refs) -> Refs:
    """``C (x - mean_)``, or ``C x`` without whitening."""
    weight = ica.components_
    if not ica.whiten:
        return _linear(lowering, refs, weight)
    return cells(
        project(lowering, _centred(lowering, refs, ica.mean_, weight), weight), len(weight)
    )


@transformer(FactorAnalysis, sparse=dense)
def lower_factors(lowering: Lowering, factors: Estimator, refs: Refs) -> Refs:
    """``V P (x - mean_)``: P the components over the noise, V the inverse of ``1 + P C'``.

    V is the matrix of doubles that the library computes anew, and alike, for every table.
    """
    weight = factors.components_
    scaled = weight / factors.noise_variance_
    inverse = linalg.inv(np.eye(len(weight)) + scaled @ weight.T)
    first = project(lowering, _centred(lowering, refs, factors.mean_, weight), scaled)
    return cells(project(lowering, first, inverse.T), len(weight))


def _singular(pca: Estimator) -> Iterator[str]:
    if pca.ridge_alpha <= 0:
        yield "ridge_alpha=0 leaves equations that may have no solution; use ridge_alpha=0.01"


@transformer(
    SparsePCA,
    MiniBatchSparsePCA,
    flaws=_singular,
    sparse=dense,
    note="scikit-learn's own fails on a table of one row: give it the row twice",
)
def lower_sparse_pca(lowering: Lowering, pca: Estimator, refs: Refs) -> Refs:
    """``u`` of ``A u = C (x - mean_)``, ``A = C C' + ridge_alpha I``: a ridge regression of a row.

    The library solves the k equations anew by Cholesky's method.  It is off by no more than
    ``(3 k + 1) ε |A⁻¹| S |u|``, S the roots of ``A_ii A_jj`` (Higham, Theorem 10.4), which rounding
    in the last of these steps may reach too: there ``A u`` is ``(A + M) u - M u``, M ≥ (3 k + 1) S.
    """
    weight = pca.components_
    side = project(lowering, _centred(lowering, refs, pca.mean_, weight), weight)
    gram = weight @ weight.T + pca.ridge_alpha * np.eye(len(weight))
    inverse, roots = linalg.inv(gram), np.sqrt(np.diag(gram))
    more = np.ceil((3 * len(weight) + 1) * np.outer(roots, roots))
    first = project(lowering, side, inverse)
    held = lowering.let(ops.Concat((side, first, first)))
    both = np.concatenate([exact(np.eye(len(weight))), -exact(gram) - exact(more), exact(more)], 1)
    zero = np.full(len(weight), Fraction(0), dtype=object)
    off = exact_affine(lowering, held, both, zero)
    correction = project(lowering, off, inverse)
    return cells(lowering.let(ops.Add(first, correction)), len(weight))


def _no_transform(model: Estimator) -> Iterator[str]:
    if model.solver == "lsqr":
        yield "solver='lsqr' has no transform; use solver='svd' or 'eigen'"


@transformer(LinearDiscriminantAnalysis, flaws=_no_transform, sparse=dense)
def lower_discriminants(lowering: Lowering, model: Estimator, refs: Refs) -> Refs:
    """``S' (x - xbar_)``, or ``S' x`` with the solver 'eigen'."""
    weight = model.scalings_[:, : model._max_components].T
    if model.solver == "eigen":
        return _linear(lowering, refs, weight)
    x = _centred(lowering, refs, model.xbar_, weight)
    return cells(project(lowering, x, weight), len(weight))


@transformer(BernoulliRBM, sparse=dense, note="its probabilities are enclosed")
def lower_machine(lowering: Lowering, machine: Estimator, refs: Refs) -> Refs:
    """``sigmoid(C x + b)``: the probabilities of the hidden units."""
    weight, bias = machine.components_, machine.intercept_hidden_
    lowering.check_double(refs, weight, bias)
    raised = project(lowering, lowering.vector(refs), weight, bias)
    return cells(lowering.let(ops.Sigmoid(raised)), len(weight))


POOLS: dict[Any, Callable[[str], Op] | None] = {
    np.mean: None,
    np.max: ops.ReduceMax,
    np.min: ops.ReduceMin,
    np.sum: ops.ReduceSum,
}


def _other_pool(clusters: Estimator) -> Iterator[str]:
    if clusters.pooling_func not in POOLS:
        name = getattr(clusters.pooling_func, "__name__", repr(clusters.pooling_func))
        yield f"pools by {name!r}; use pooling_func=np.mean, np.max, np.min or np.sum"


@transformer(FeatureAgglomeration, flaws=_other_pool, sparse=dense)
def lower_pools(lowering: Lowering, clusters: Estimator, refs: Refs) -> Refs:
    """Of each cluster of columns the mean, largest, smallest or sum."""
    lowering.check_double(refs)
    x, labels = lowering.vector(refs), clusters.labels_
    members = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    pool = POOLS[clusters.pooling_func]
    if pool is None:
        weight = np.array([np.isin(np.arange(len(refs)), own) for own in members], dtype=float)
        sums = project(lowering, x, weight)
        sizes = lowering.constant(np.array([float(own.size) for own in members]))
        return cells(lowering.let(ops.Div(sums, sizes)), len(members))
    parts = [lowering.let(ops.Take(x, tuple(own.tolist()))) for own in members]
    pooled: list[Op] = [pool(part) for part in parts]
    return cells(lowering.let(ops.Concat(tuple(map(lowering.let, pooled)))), len(members))
