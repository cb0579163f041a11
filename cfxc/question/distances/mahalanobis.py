"""The Mahalanobis distance: changes count against how the data vary together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Floats
from ...errors import DataTypeError, InvalidInputError
from ...ir import Builder, Literal, Operand, Program, Tensor, ops
from ...ir.tensor import fractions
from ...space import FeatureSpace
from ...space.feature import sort_of
from ...space.names import names_arguments
from ...space.tables import rows_of
from ..hull import Coordinate, column_of, coordinates_of

if TYPE_CHECKING:
    from sklearn.covariance import EmpiricalCovariance

FLAT = 1e-10  # variance of standardised columns, or deviation beside size, that counts as none
LEADING = 0.2  # share of a direction by which a column is named
#: The half-width of a double's rounding, and what sums of them may reach.
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Whitening:
    """``d² = ||W (z - ẑ)||²``: the rows of W are exact, and positive semidefinite by form.

    ``factor``: W, shape (K, K), for ``K`` coordinates.
    """

    coordinates: tuple[Coordinate, ...]
    factor: Floats

    @cached_property
    def rows(self) -> list[list[tuple[Fraction, int]]]:
        """Of every row of W, what is not 0, exactly, with its column."""
        return [[(Fraction(w), k) for k, w in enumerate(row) if w] for row in self.factor.tolist()]

    def parts(self, space: FeatureSpace, x: Mapping[str, Any], own: Mapping[str, Any]) -> list[Any]:
        """The entries of ``W (z - ẑ)`` for two points, exactly."""
        moved = []
        for each in self.coordinates:
            name, feature = each.feature, space[each.feature]
            moved.append(each.of(x[name], feature) - each.of(own[name], feature))
        return [sum((w * moved[k] for w, k in row), Fraction(0)) for row in self.rows]

    @cached_property
    def _inverse(self) -> tuple[Floats, Floats]:
        """Row norms of an approximate inverse M, and bounds of ``|I - M W|``, outwards."""
        size = len(self.coordinates)
        inverse = np.linalg.pinv(self.factor)
        product = np.abs(inverse) @ np.abs(self.factor)
        slack = 4 * (size + 2) * EPS
        rest = np.abs(np.eye(size) - inverse @ self.factor) * (1 + slack) + product * slack
        norms = np.sqrt((inverse**2).sum(axis=1)) * (1 + slack)
        return norms, rest

    def reach(self, radius: float, most: Floats) -> Floats:
        """Bounds of ``|z_k - ẑ_k|`` where ``||W (z - ẑ)|| <= radius`` and each is at most ``most``.

        With M near the inverse of W: ``v = M (W v) + (I - M W) v``.
        """
        norms, rest = self._inverse
        inner = (norms * radius + rest @ most) * (1 + 8 * len(most) * EPS)
        return np.minimum(inner, most)


@names_arguments
class Mahalanobis:
    """The distance of Mahalanobis (1936), ``d² = (z - ẑ)ᵀ Σ⁻¹ (z - ẑ)``.

    z holds numbers and orders over their ranges, and of every category an indicator of each label
    but the first; Σ is their covariance in ``data``.  So d counts standard deviations, and a change
    that goes along with how the data vary is a small one.  It is no share of a range: it may exceed
    1.  The factor W of ``Σ⁻¹ = Wᵀ W`` is rounded to doubles once, and proofs speak of these.

    Args:
        data: Rows with the space's columns, complete; others are passed over.
        covariance: An unfitted estimator of ``sklearn.covariance``; by default the covariance of
            the data.  With shrinkage (``LedoitWolf()``), columns may depend on each other.

    Raises:
        DataTypeError: no table, or no such estimator.
    """

    def __init__(self, data: Any, covariance: EmpiricalCovariance | None = None) -> None:
        from sklearn.covariance import EmpiricalCovariance

        data = rows_of(data, "Mahalanobis")
        chosen = EmpiricalCovariance() if covariance is None else covariance
        if not isinstance(chosen, EmpiricalCovariance):
            raise DataTypeError(
                f"covariance is an estimator of sklearn.covariance, not {type(chosen).__name__}"
            )
        self.data, self.covariance = data, chosen

    def __repr__(self) -> str:
        return f"Mahalanobis({len(self.data)} rows, {self.covariance})"

    def whitening(self, space: FeatureSpace) -> Whitening:
        """Coordinates and W for the features of a space.

        Raises:
            CfxcError: the data do not fit the space, values are missing, or a direction has no
                variance.
        """
        if any(feature.weight != 1 for feature in space):
            raise InvalidInputError("weights of features have no meaning in a Mahalanobis distance")
        from sklearn.base import clone

        space.refuse_missing("a Mahalanobis distance")
        codes = space.encode_frame(self.data, extra="ignore", check_range=False)
        known: list[Coordinate] = []
        names: list[str] = []
        columns: list[Floats] = []
        for feature in space:
            for name, coordinate in coordinates_of(feature):
                known.append(coordinate)
                names.append(name)
                columns.append(column_of(coordinate, codes[feature.name]))
        if not columns:
            raise InvalidInputError("no feature varies, so nothing has a distance")
        z = np.column_stack(columns)
        if len(z) < 2:
            raise InvalidInputError("a covariance needs at least two rows of data")
        holes = np.flatnonzero(np.isnan(z).any(axis=0)).tolist()
        if holes:
            first = names[holes[0]]
            raise InvalidInputError(f"the data of a Mahalanobis distance miss values of {first}")
        fitted = clone(self.covariance).fit(z)
        sigma = np.asarray(fitted.covariance_, dtype=np.float64)
        _refuse_flat(sigma, names, np.abs(z).max(axis=0))
        return Whitening(tuple(known), np.linalg.inv(np.linalg.cholesky(sigma)))


def _refuse_flat(sigma: Floats, names: list[str], size: Floats) -> None:
    """Refuse directions along which nothing varies: a change there would have no distance.

    ``size``: the largest |z| of each column, beside which rounding counts as no variance.
    """
    advice = "; with shrinkage, as of sklearn.covariance.LedoitWolf(), every direction has some"
    spread = np.sqrt(np.diag(sigma))
    still = [name for name, s, z in zip(names, spread, size, strict=True) if not s > FLAT * z]
    if still:
        raise InvalidInputError(f"{still[0]} does not vary in the data{advice}")
    values, vectors = np.linalg.eigh(sigma / np.outer(spread, spread))
    if values[0] < FLAT:
        leading = [names[k] for k in np.flatnonzero(np.abs(vectors[:, 0]) > LEADING)]
        raise InvalidInputError(
            f"in the data, columns depend on each other: {', '.join(leading[:5])}{advice}"
        )


def whitened_program(whitening: Whitening, space: FeatureSpace) -> Program:
    """``d²`` as a program from ``x.<feature>`` and ``factual.<feature>`` to ``result``."""
    builder = Builder("mahalanobis")
    for record in ("x", "factual"):
        for feature in space:
            builder.input(f"{record}.{feature.name}", sort_of(feature))
    moved: list[Operand] = []
    for each in whitening.coordinates:
        feature = space[each.feature]
        pair = [f"{record}.{each.feature}" for record in ("x", "factual")]
        if each.table is None:
            change = builder.let(ops.Sub(pair[0], pair[1]))
            moved.append(builder.let(ops.Mul(change, Literal(each.scale))))
            continue
        labels, table = feature.label_tuple, Tensor(fractions(list(each.table)), "rat")
        values = [builder.let(ops.Lookup(name, labels, table)) for name in pair]
        moved.append(builder.let(ops.Sub(values[0], values[1])))
    size = len(moved)
    vector = builder.let(ops.Concat(tuple(moved)))
    white = builder.let(ops.Affine(vector, Tensor(whitening.factor), Tensor(np.zeros(size))))
    total = builder.let(ops.ReduceSum(builder.let(ops.Mul(white, white))))
    return builder.build(result=total)
