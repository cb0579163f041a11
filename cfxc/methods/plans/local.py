r"""Linear stand-ins for models that are not linear, for bounds that speak of linear ones.

``validity_bounds`` asks for a plan's rows as vectors x_j and for moments of θ, with x_jᵀθ ≥ 0 where
the row is accepted.  Here are the vectors, and three kinds of θ (Bui, Nguyen & Nguyen 2022,
appendix C):

* a model that is linear in features φ(x) has its own θ; the rows are φ(x_j) (:func:`mapped`, C.1);
* :func:`local_linear`: the affine piece that a compiled model has at a row, in exact rationals,
  with the region where it *is* the model;
* :func:`cfxc.methods.plans.surrogate`: a regression on perturbed rows, as LIME fits (C.2).

For the last two, rows are the coordinates z of the feature space (numbers over their ranges, an
indicator for each label but the first) with a 1 for the intercept: :func:`plan_matrix`.
:func:`local_moments` has the moments of θ over retrained copies.  A bound then is one for the
stand-in: for the model as far as the stand-in is faithful where the plan lies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from ...answers.cells import one_row
from ...arrays import Floats
from ...compiler.pipeline import simplified
from ...errors import DataTypeError, InvalidInputError
from ...frontends.compiled import Compiled
from ...ir import evaluate
from ...ir.linear import Inequality
from ...question.target import Target, resolve_target, target_program
from ...space import FeatureSpace
from ...space.tables import rows_of
from .moments import array_of
from .pieces import Coordinates, piece_at


class StandIn(Protocol):
    """A linear model near a row."""

    @property
    def theta(self) -> Floats:
        """Coefficients of the coordinates, then the intercept, shape (d + 1,)."""


@dataclass(frozen=True)
class LocalLinear:
    """An affine piece of a model at a row: ``margin(z) = coefficients · z + intercept``.

    On the region the margin is that of the exact program: the row is in the target iff ``margin >=
    0`` (``> 0`` if ``strict``).

    Attributes:
        coordinates: What z_1 … z_d are (``names``).
        coefficients, intercept: Exact rationals.
        target: What is to be reached.
        region: Inequalities over z; the row at hand meets them all.
        sides: Kinks that the row lies on, and which side was taken; empty as a rule.
        is_exact: Whether the margin is exact on the region.  If not, tangents of smooth functions
            were taken: then it is exact at the row alone, and right to first order near it.
        row: The row at hand (feature → exact value).
    """

    coordinates: Coordinates
    coefficients: tuple[Fraction, ...]
    intercept: Fraction
    strict: bool
    target: Target
    region: tuple[Inequality, ...]
    sides: tuple[str, ...]
    is_exact: bool
    row: Mapping[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates' names."""
        return self.coordinates.names

    @property
    def theta(self) -> Floats:
        """Coefficients and intercept as the nearest doubles, shape (d + 1,)."""
        return np.array([float(each) for each in (*self.coefficients, self.intercept)])

    def margin(self, row: Any) -> Fraction:
        """``coefficients · z + intercept`` at any row of the space, exactly."""
        z = self._at(row)
        return sum((a * x for a, x in zip(self.coefficients, z, strict=True)), self.intercept)

    def covers(self, row: Any) -> bool:
        """Whether a row lies in the region."""
        z = self._at(row)
        return all(each.holds(z) for each in self.region)

    def _at(self, row: Any) -> tuple[Fraction, ...]:
        return self.coordinates.at(point_of(self.coordinates.space, row))


def local_linear(model: Compiled, row: Any, *, target: Any = None) -> LocalLinear:
    """The affine piece of a model's margin at a row, in exact rationals, and where it holds.

    The margin is the score that decides, over its threshold; of several classes the lead over the
    strongest rival; of a range the distance to its nearer end.  Networks of ReLUs and linear models
    have one; of trees it is constant; of smooth networks it is the tangent.

    Args:
        row: One-row DataFrame, Series or mapping with the space's columns.
        target: As for :meth:`cfxc.CompiledModel.explain`; by default the other label of two.

    Raises:
        InvalidInputError, DataTypeError: a bad row or target.
        UnsupportedError: no score decides, or the model computes with float32.
    """
    check_model(model, "model")
    point = point_of(model.space, row)
    wanted = target_of(model, point, target)
    program = simplified(target_program(model.program, wanted, Fraction(0)))
    piece = piece_at(program, model.space, point)
    coordinates = Coordinates.of(model.space)
    terms = [piece.form.terms.get(i, Fraction(0)) for i in range(len(coordinates.names))]
    return LocalLinear(
        coordinates=coordinates,
        coefficients=tuple(Fraction(each) for each in terms),
        intercept=Fraction(piece.form.constant),
        strict=piece.strict,
        target=wanted,
        region=piece.region,
        sides=piece.sides,
        is_exact=piece.is_exact,
        row=point,
    )


def plan_matrix(space: FeatureSpace, rows: Any) -> Floats:
    """Rows as ``validity_bounds`` takes them beside a stand-in's θ: (z, 1), shape (J, d + 1).

    Raises:
        CfxcError: the table has no rows, or does not fit the space.
    """
    rows = rows_of(rows, "plan_matrix")
    coordinates = Coordinates.of(space)
    points = [space.encode_row(rows.iloc[[i]], extra="ignore") for i in range(len(rows))]
    found = [[*map(float, coordinates.at(_complete(point))), 1.0] for point in points]
    return np.array(found, dtype=np.float64)


def mapped(rows: Any, phi: Callable[[Any], Any]) -> Floats:
    """φ of a plan's rows, shape (J, d): what ``validity_bounds`` takes for a model linear in φ.

    Theorems 2.2 and 2.3 hold with φ(x_j) in the place of x_j (C.1).  No 1 is added for an
    intercept: φ has one if θ has.

    Args:
        rows: J rows, as φ takes them.
        phi: A function of all rows, or something fitted with ``transform``; one vector per row.

    Raises:
        DataTypeError: φ is neither, or gives no numbers.
        InvalidInputError: it gives another number of rows, numbers that are missing, or other ones
            for a row alone.
    """
    function = getattr(phi, "transform", phi)
    if not callable(function):
        raise DataTypeError(f"phi is a function of rows or has transform, not {phi!r}")
    found = _dense(function(rows))
    if found.shape[0] != len(rows):
        raise InvalidInputError(f"phi gives {found.shape[0]} vectors for {len(rows)} rows")
    for i in range(len(rows)):
        alone = rows.iloc[[i]] if hasattr(rows, "iloc") else rows[i : i + 1]
        if not np.allclose(_dense(function(alone))[0], found[i], rtol=SAME, atol=SAME):
            raise InvalidInputError(f"phi of row {i} depends on the other rows: fit it before")
    return found


SAME = 1e-9
"""By how much φ of a row may differ when others are beside it: products of matrices round so."""


def _dense(values: Any) -> Floats:
    return array_of(values.toarray() if hasattr(values, "toarray") else values, "phi(rows)", 2)


@dataclass(frozen=True, eq=False)
class LocalMoments:
    """Moments of θ over copies of a model, for ``validity_bounds``.

    Attributes:
        mean: Shape (d + 1,), the intercept last.
        covariance: Shape (d + 1, d + 1), with n - 1 in the denominator; singular for n <= d + 1.
        stand_ins: Of each copy.
    """

    mean: Floats
    covariance: Floats
    stand_ins: tuple[StandIn, ...]


def local_moments(
    models: Sequence[Compiled],
    row: Any,
    *,
    target: Any = None,
    by: Callable[..., StandIn] = local_linear,
    **options: Any,
) -> LocalMoments:
    """Mean and covariance of the local θ of retrained copies at one row.

    Args:
        models: n ≥ 2, compiled over one space, as :func:`cfxc.retrained` makes them.
        row: At which.
        target: What is to be reached, the same for all; by default the other label of two than
            the first model gives.
        by: What makes the stand-ins: :func:`local_linear` or :func:`surrogate`.
        options: Passed to it.

    Raises:
        CfxcError: fewer than two models, or of different spaces; what ``by`` raises.
    """
    if not isinstance(models, Iterable):
        raise DataTypeError(f"models is a list of compiled models, not {type(models).__name__}")
    models = list(models)
    for i, each in enumerate(models):
        check_model(each, f"models[{i}]")
    if len(models) < 2:
        raise InvalidInputError(f"moments need at least two models, not {len(models)}")
    odd = [i for i, each in enumerate(models) if each.space != models[0].space]
    if odd:
        raise InvalidInputError(f"models[{odd[0]}] is compiled over another space than the first")
    if target is None:
        target = target_of(models[0], point_of(models[0].space, row), None).label
    found = tuple(by(each, row, target=target, **options) for each in models)
    thetas = np.array([each.theta for each in found])
    return LocalMoments(
        thetas.mean(axis=0), np.cov(thetas, rowvar=False).reshape(2 * thetas.shape[1:]), found
    )


def check_model(model: Any, name: str) -> None:
    """Refuse what is not compiled."""
    if not isinstance(model, Compiled):
        raise DataTypeError(
            f"{name} is a {type(model).__name__}: compile it first, with cfxc.compile"
        )


def target_of(model: Compiled, point: Mapping[str, Any], target: Any) -> Target:
    """The target named, or the favourable one, or the other label than the row has."""
    return resolve_target(
        model.program, model.target_or_favourable(target), evaluate(model.program, point)
    )


def point_of(space: FeatureSpace, row: Any) -> dict[str, Any]:
    """A row as exact values, none of them missing."""
    return _complete(space.encode_row(one_row(space, row), extra="ignore", check_range=False))


def _complete(point: Mapping[str, Any]) -> dict[str, Any]:
    missing = [name for name, value in point.items() if value is None]
    if missing:
        raise InvalidInputError(f"{missing[0]} is missing: linear stand-ins need all values")
    return dict(point)
