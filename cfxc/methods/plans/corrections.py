r"""Corrections of a given plan that make it survive retraining more often.

**Requirement** (section 3.1).  Where μ̂ᵀx_j < ε, x_j is replaced by the nearest x with μ̂ᵀx ≥ ε.
Minimising ½|x - x_j|² under μ̂ᵀx ≥ ε with multiplier η ≥ 0 gives x = x_j + ημ̂ and, as the
constraint binds, η = (ε - μ̂ᵀx_j)/|μ̂|²:

    x = x_j + max(0, ε - μ̂ᵀx_j) μ̂/|μ̂|² .

Entries that may not move (the trailing 1) leave the projection onto the others: a, which is μ̂ with
zeros there, in place of the last μ̂ and |μ̂|.

**Mahalanobis improvement** (Theorem 3.1).  The Mahalanobis distance of μ̂ from the border {θ: xᵀθ =
0} is the least |u| with xᵀ(μ̂ + Σ̂^½u) = 0, which by Cauchy-Schwarz is

    r(x) = μ̂ᵀx/√(xᵀΣ̂x)          (where μ̂ᵀx > 0) .

The rows that fail most often under a worst law are replaced by the x within Δ of x_j that has the
largest r(x).  r does not change along rays, so with v = tx, t = 1/μ̂ᵀx > 0,

    min √(vᵀΣ̂v)   s.t.   |v - t x_j| ≤ tΔ,   μ̂ᵀv = 1,   t ≥ 0 ,

which is convex; x = v/t.  Entries that may not move give v_i = t x_ji.  Which rows fail most often:
at the optimum of the program of L*, the worst law is a mixture, and the mass of its part where x_j
fails is λ*_j of the paper.

What is returned was checked: never outside the ball, never worse than the row it replaces.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...arrays import Floats
from ...errors import InvalidInputError, SolverError, needs
from ...frontends.quadratics import exact
from ...question.checks import number_from_zero, whole_number
from .bounds import programs, read
from .certificate import Reduced
from .moments import array_of, covariance_of, mean_of

INWARD = 1 - 1e-12  # of the limit: where a solution is a little outside of the ball
STEPS = 60  # doublings of a nudge of 2⁻⁵² that lifts μ̂ᵀx over ε in exact arithmetic


@dataclass(frozen=True, eq=False)
class Corrected:
    """A plan after a correction.

    Attributes:
        plan: J × d.
        moved: The rows that are not as they were.
        masses: λ*: how often each row fails under a worst law, before; of the Requirement none.
    """

    plan: Floats
    moved: tuple[int, ...]
    masses: Floats | None = None


def validity_radii(plan: Any, mean: Any, covariance: Any) -> Floats:
    """r(x_j) = μ̂ᵀx_j/√(x_jᵀΣ̂x_j) of each row (Lemma 4.1); the plan's is the least.  Shape (J,).

    The largest ellipsoid {μ̂ + Σ̂^½u: |u| ≤ r} of parameters under all of which the row is valid.
    Infinite for a row that does not vary; negative if the row is invalid for μ̂.

    Raises:
        InvalidInputError, DataTypeError: as :func:`validity_bounds`.
    """
    rows, center, spread = _arrays(plan, mean, covariance)
    return radii_of(rows, center, spread)


def radii_of(rows: Floats, mean: Floats, covariance: Floats) -> Floats:
    """:func:`validity_radii` of arrays that were checked."""
    margins = rows @ mean
    deviations = np.sqrt(np.maximum(np.einsum("jk,kl,jl->j", rows, covariance, rows), 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(deviations > 0, margins / deviations, np.copysign(np.inf, margins))


def requirement_correction(
    plan: Any, mean: Any, epsilon: float = 0.0, *, fixed: Iterable[int] = ()
) -> Corrected:
    """The plan with every row moved, by as little as possible, to where μ̂ᵀx ≥ ε (exactly).

    Args:
        plan: J × d, as for :func:`validity_bounds`.
        mean: μ̂, length d.
        epsilon: ε ≥ 0.
        fixed: Entries that may not move, such as the trailing 1; from 0, or from the end as -1.

    Raises:
        InvalidInputError: shapes that do not fit, ε < 0, or nothing that may move changes μ̂ᵀx.
    """
    rows, center = _rows_and_mean(plan, mean)
    margin = number_from_zero(epsilon, "epsilon")
    direction = np.where(free_entries(fixed, len(center)), center, 0.0)
    short = [j for j in range(len(rows)) if _margin(rows[j], center) < margin]
    if short and not direction.any():
        raise InvalidInputError("no entry that may move has a weight in mean: no row can be moved")
    made = rows.copy()
    for j in short:
        made[j] = _lifted(rows[j], center, direction, margin)
    return Corrected(made, tuple(short))


def _lifted(row: Floats, mean: Floats, direction: Floats, margin: float) -> Floats:
    gap = float(Fraction(margin) - _margin(row, mean))
    step, size = gap / float(direction @ direction), abs(gap) + float(np.abs(row * mean).sum())
    for k in range(STEPS):
        moved = row + step * direction
        if _margin(moved, mean) >= margin:
            return np.asarray(moved)
        step += size * 2.0 ** (k - 52) / float(direction @ direction)
    raise SolverError("a row could not be moved to where the nominal score is at least epsilon")


def mahalanobis_correction(
    plan: Any,
    mean: Any,
    covariance: Any,
    radius: float,
    *,
    count: int,
    limit: float,
    fixed: Iterable[int] = (),
) -> Corrected:
    """The plan with the ``count`` rows that fail most often moved, each by at most ``limit``.

    Args:
        plan, mean, covariance, radius: As for :func:`validity_bounds`; all rows valid for μ̂.
        count: K, from 0 to J.
        limit: Δ ≥ 0, in the Euclidean norm.
        fixed: Entries that may not move, such as the trailing 1.

    Raises:
        InvalidInputError: bad input; a plan that is not valid for μ̂: apply
            ``requirement_correction`` first.
        MissingExtraError: the extra ``plans`` is not installed.
    """
    rows, center, spread = _arrays(plan, mean, covariance)
    wanted, reach = whole_number(count, "count", 0), number_from_zero(limit, "limit")
    if wanted > len(rows):
        raise InvalidInputError(f"count is {wanted}, and the plan has {len(rows)} rows")
    free = free_entries(fixed, len(center))
    refuse_invalid(rows, center)
    masses = worst_masses(rows, center, spread, radius)
    made = rows.copy()
    for j in np.argsort(-masses, kind="stable")[:wanted].tolist():
        made[j] = farthest_border(rows[j], center, spread, reach, free)
    moved = tuple(j for j in range(len(rows)) if (made[j] != rows[j]).any())
    return Corrected(made, moved, masses)


def refuse_invalid(rows: Floats, mean: Floats) -> None:
    """Refuse a plan that is not valid for μ̂.

    Raises:
        InvalidInputError: naming the rows, by how much, and what mends it.
    """
    margins = rows @ mean
    bad = np.flatnonzero(margins <= 0).tolist()
    if bad:
        shown = ", ".join(f"row {j} ({margins[j]:.4g})" for j in bad[:5])
        raise InvalidInputError(
            f"the plan is not valid for the mean of the parameters: μ̂ᵀx <= 0 at {shown}; apply "
            "requirement_correction with epsilon > 0 first"
        )


def worst_masses(plan: Any, mean: Any, covariance: Any, radius: float) -> Floats:
    """λ*: with which probability each row fails first, under a law that attains L*.  Shape (J,).

    As a solver sees them: they choose which rows to correct, and prove nothing.

    Raises:
        As :func:`validity_bounds`.
    """
    rows = array_of(plan, "plan", 2)
    problem = read(rows, mean, covariance, radius)
    masses = np.zeros(len(rows))
    moving = _moving(rows, np.asarray(covariance, dtype=float), float(radius))
    if len(moving) != len(problem.rows):
        raise SolverError("rows that hardly vary: it is not clear which of them fail")
    if moving:
        masses[moving] = _masses(problem)
    return masses


def _masses(problem: Reduced) -> Floats:
    solvers, said = programs(), []
    for name in solvers.SOLVERS:
        solution = solvers.solve_bound(problem, "lower", name)
        if not isinstance(solution, str):
            return np.array([max(float(piece[-1, -1]), 0.0) for piece in solution.pieces[1:]])
        said.append(f"{name}: {solution}")
    raise SolverError(f"no solver found a worst law ({'; '.join(said)})")


def _moving(rows: Floats, covariance: Floats, radius: float) -> list[int]:
    """Rows whose score is not the same for almost all parameters."""
    if radius > 0:
        return [j for j in range(len(rows)) if rows[j].any()]
    spread = exact(covariance)
    return [j for j, x in enumerate(map(exact, rows)) if x @ spread @ x != 0]


def farthest_border(
    row: Floats, mean: Floats, covariance: Floats, limit: float, free: Any
) -> Floats:
    """The x within ``limit`` of a row with the largest r(x) (Theorem 3.1); entries not free stay.

    Raises:
        MissingExtraError, SolverError: no cvxpy; no solver that solves it.
    """
    if not limit or not free.any():
        return row.copy()
    made = _cone(row, mean, covariance, limit, free)
    if made is None:
        return row.copy()
    made = np.where(free, made, row)
    away = float(np.linalg.norm(made - row))
    if away > limit * INWARD:
        made = row + (made - row) * (limit * INWARD / away)
    before, after = radii_of(np.array([row, made]), mean, covariance)
    return made if after > before else row.copy()


def _cone(row: Floats, mean: Floats, covariance: Floats, limit: float, free: Any) -> Any:
    with needs("plans", "correcting plans"):
        import cvxpy as cp
    values, vectors = np.linalg.eigh(covariance)
    factor = (vectors * np.sqrt(np.maximum(values, 0))).T
    unit = float(row @ mean)
    scale = float(np.linalg.norm(factor @ row)) / unit or 1.0
    v, t = cp.Variable(len(row)), cp.Variable(nonneg=True)
    kept = np.flatnonzero(~free)
    limits = [cp.norm(v - t * row) <= limit * t, (mean / unit) @ v == 1]
    if kept.size:
        limits.append(v[kept] == t * row[kept])
    program = cp.Problem(cp.Minimize(cp.norm(factor @ v) / (scale * unit)), limits)
    for solver in ("CLARABEL", "SCS"):
        try:
            program.solve(solver=solver)
        except (cp.SolverError, ValueError, ArithmeticError):
            continue
        if v.value is not None and t.value is not None and float(t.value) > 0:
            return np.asarray(v.value) / float(t.value)
    return None


def _arrays(plan: Any, mean: Any, covariance: Any) -> tuple[Floats, Floats, Floats]:
    rows, center = _rows_and_mean(plan, mean)
    spread, _ = covariance_of(covariance, len(center))
    return rows, center, (spread + spread.T) / 2


def _rows_and_mean(plan: Any, mean: Any) -> tuple[Floats, Floats]:
    rows, center = array_of(plan, "plan", 2), mean_of(mean)
    if rows.shape[1] != len(center):
        raise InvalidInputError(
            f"plan has {rows.shape[1]} columns and mean has {len(center)} entries: both need one "
            "for each parameter"
        )
    return rows, center


def free_entries(fixed: Iterable[int], size: int) -> Any:
    """Which entries may move."""
    free = np.ones(size, dtype=bool)
    for one in fixed:
        if (
            isinstance(one, bool)
            or not isinstance(one, (int, np.integer))
            or not -size <= one < size
        ):
            raise InvalidInputError(f"fixed: {one!r} is no entry of a vector of {size}")
        free[one] = False
    return free


def _margin(row: Floats, mean: Floats) -> Fraction:
    """μ̂ᵀx, exactly."""
    pairs = zip(row.tolist(), mean.tolist(), strict=True)
    return sum((Fraction(x) * Fraction(m) for x, m in pairs), Fraction(0))
