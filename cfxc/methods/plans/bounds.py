r"""How likely a plan stays valid: bounds over all laws of the parameters with moments in a ball.

The parameters θ of the future model have an unknown law Q whose mean and covariance lie in the
Gelbrich ball B = {(μ, Σ): G((μ, Σ), (μ̂, Σ̂)) ≤ ρ}. The plan x_1, …, x_J is valid if x_jᵀθ ≥ 0
for all j. Then

    L* = inf over B of Q(x_jᵀθ ≥ 0 for all j),      U* = sup over B of the same

(Bui, Nguyen & Nguyen 2022, Theorems 2.2 and 2.3). Both are 1 - V or V, where V bounds the
probability of an event A: that some row fails, or that all are valid.

**Few coordinates.** Only the space that the rows span matters: s = H(θ - μ̂), the rows of H a
basis of it. The images of the ball under H are exactly the moments of s₀ + Hδ with E|δ|² ≤ ρ², δ
in the span: a coupling of θ and θ̂ projects to one, and θ̂ + δ lifts one. So the programs have k
≤ min(J, d) dimensions instead of d. K = HΣ̂Hᵀ, N = ρ²HHᵀ and the rows t_j, b_j with x_jᵀθ = t_jᵀs
+ b_j are exact rationals; H is chosen so that K + N is near I.

**Duality.** If q(s) = ŝᵀQŝ, ŝ = (s, 1), is above the indicator of A, then Q(A) ≤ E q(s), which
depends on the moments alone; so θ may be taken as jointly normal with θ̂ such that E|θ - θ̂|² ≤
ρ² (what G is). For each γ with γI - HᵀYH ≻ 0 (Y the quadratic part of Q, y its linear part),

    E q(s) ≤ γρ² + E sup_δ [q(ŝ₀ + Hδ) - γ|δ|²]
           = γρ² + tr(K̂Q) + tr((YKY + yyᵀ)(γρ²N⁻¹ - Y)⁻¹) =: V(Q, γ) .

Any such Q and γ prove a bound (weak duality); the least V is the bound itself: Isii's theorem
where the nominal moments are interior, and Sion's, as the ball is compact in (μ, M), M = Σ + μμᵀ.

**Above the indicator.** q ≥ 0 everywhere: Q ⪰ 0. Let A_j be the form of the row, ŝᵀA_jŝ = t_jᵀs +
b_j.

- Some row fails: q ≥ 1 on {t_jᵀs + b_j < 0} iff Q - eeᵀ + λ_j A_j ⪰ 0 for a λ_j ≥ 0, for each j
  (the S-lemma with one constraint: lossless).
- All are valid: q ≥ 1 on {t_jᵀs + b_j ≥ 0 for all j} iff Q - eeᵀ - Σ_j λ_j A_j ⪰ 0 for a λ ≥ 0.
  This is lossless for any J, as q is convex and the constraints are affine.

**Strict or not.** Valid is x_jᵀθ ≥ 0, as the paper defines it; what fails is open. As q is
continuous, q ≥ 1 on an open half-space is the same as on its closure: the infimum over {x_jᵀθ ≥
0} is that over {x_jᵀθ > 0}, though attained by laws only in the limit. The two differ in
degenerate cases alone, where x_jᵀθ is almost surely constant: x_j = 0, or ρ = 0 and x_jᵀΣ̂x_j =
0. Such rows are decided exactly: at 0 they are valid.

**What differs from the paper.** (i) The programs there have d × d matrices. (ii) Its L* is stated
for the strict event, and as a lower bound only for the other, which makes it 0 if some x_j = 0;
here it is the infimum of the event as defined. (iii) Its U* is stated as an upper bound only (the
S-lemma as a sufficient condition); it is the supremum. (iv) Theorem 2.2 is the primal, whose
value is approached from the unsafe side; here both bounds come from the dual. (v) The text calls
the half-spaces of eq. (1) open; they are closed, and Proposition 2.4's two cases meet at the
border: with x_jᵀμ̂ = 0 for some j and all others ≥ 0, L* = 0 and U* = 1.

**What is reported** is V(Q, γ) at a point that was moved until it is feasible in exact rational
arithmetic, evaluated there and rounded outwards: right whatever the solver did.
"""

from __future__ import annotations

from fractions import Fraction
from math import asin, atan2, cos, hypot, inf, nextafter, pi, sqrt
from types import ModuleType
from typing import Any

import numpy as np

from ...errors import InvalidInputError, SolverError, needs
from ...question.checks import number_from_zero
from ...stopping import TimeUp, poll
from .certificate import Certificate, Reduced, Side, reduce_plan, repaired
from .moments import array_of, covariance_of, mean_of

# Between what a solver claims and what was proved: more than this, and the next one is asked too.
ENOUGH = 1e-6


def validity_bounds(plan: Any, mean: Any, covariance: Any, radius: float) -> tuple[float, float]:
    """Bounds on the probability that all rows of a plan stay valid.

    lower ≤ Q(x_jᵀθ ≥ 0 for all j) ≤ upper for every law Q of the parameters whose mean and
    covariance lie within the Gelbrich distance ``radius`` of the given ones.  Both are proved in
    exact arithmetic and, up to what repairing costs (1e-8 as a rule), the best there are: L* and
    U* of Theorems 2.2 and 2.3.  No bias term is added: append a 1 to each row if θ has one.

    Args:
        plan: J × d, a row a counterfactual.
        mean: Of the parameters, length d.
        covariance: Of the parameters, d × d, positive semidefinite; what rounding took from its
            smallest eigenvalues (1e-15 of the largest, d times) is added to all of them.
        radius: ρ ≥ 0, in the unit of the parameters.

    Raises:
        InvalidInputError: Shapes that do not fit, a radius below 0, numbers that are missing, or a
            covariance that is not positive semidefinite.
        DataTypeError: Not numbers.
        MissingExtraError: Plans of several rows need the extra ``plans``.
        SolverError: No solver gave a point that could be repaired.
    """
    problem = read(plan, mean, covariance, radius)
    if problem.impossible:
        return 0.0, 0.0
    if not len(problem.rows):
        return 1.0, 1.0
    offsets = problem.rows[:, -1]
    lower, upper = 0.0, 1.0
    if (offsets >= 0).all():  # Proposition 2.4: only one of the two says anything
        if not _border_in_reach(problem):
            lower = _rounded(1 - prove(problem, "lower")[1], -inf)
    else:
        upper = _rounded(prove(problem, "upper")[1], inf)
    return max(lower, 0.0), min(upper, 1.0)


def read(plan: Any, mean: Any, covariance: Any, radius: Any) -> Reduced:
    """The arguments of :func:`validity_bounds`, checked, in few coordinates."""
    X, m = array_of(plan, "plan", 2), mean_of(mean)
    if X.shape[1] != len(m):
        raise InvalidInputError(
            f"plan has {X.shape[1]} columns and mean has {len(m)} entries: both need one for each "
            "parameter; no bias term is added, append a 1 to each row if there is one"
        )
    S, rounding = covariance_of(covariance, len(m))
    return reduce_plan(X, m, S, number_from_zero(radius, "radius"), rounding)


def _border_in_reach(problem: Reduced) -> bool:
    """Whether some law in the ball has its mean on a border of validity: then L* = 0.

    min x_jᵀμ over |μ - μ̂| ≤ ρ is x_jᵀμ̂ - ρ|x_j|.
    """
    normals, offsets = problem.rows[:, :-1], problem.rows[:, -1]
    return any(
        offset * offset <= normal @ problem.reach @ normal
        for normal, offset in zip(normals, offsets, strict=True)
    )


def prove(problem: Reduced, side: Side) -> tuple[Certificate, Fraction]:
    """The best certificate found for the probability of the side's event, with its value."""
    if len(problem.rows) == 1:
        found = _of_one_row(problem, side)
        if found is not None:
            return found
    solvers, best, said = programs(), None, list[str]()
    for name in solvers.SOLVERS:
        try:
            solution = solvers.solve_bound(problem, side, name)
            if isinstance(solution, str):
                said.append(f"{name}: {solution}")
                continue
            found = repaired(problem, side, solution.Q, solution.multipliers)
        except TimeUp:
            if best is None:
                raise
            break
        if found is None:
            said.append(f"{name}: {solution.status}, but its point could not be repaired")
            continue
        if best is None or found[1] < best[1]:
            best = found
        if float(found[1]) - solution.value <= ENOUGH:
            break
    if best is None:
        poll()
        raise SolverError(
            f"no solver gave a proof of the {side} bound ({'; '.join(said)}): rows or moments "
            "of very different sizes may be the reason; standardise the features"
        )
    return best


def programs() -> ModuleType:
    """The module of the semidefinite programs.

    Raises:
        MissingExtraError: a library that they need is not installed.
    """
    with needs("plans", "bounds on plans", of=("cvxpy", "clarabel", "scs")):
        from . import programs
    return programs


def _of_one_row(problem: Reduced, side: Side) -> tuple[Certificate, Fraction] | None:
    """The optimal dual point of a plan of one row, in closed form.

    With w = ±x·θ the margin (mean m̂ > 0 and deviation ŝ, nominally, and r = ρ|x|), the event is
    w ≤ 0 or w < 0.  Cantelli: P = s²/(s² + m²) = sin² of the angle of (m, s), whose largest value
    over the disk |(m, s) - (m̂, ŝ)| ≤ r is α = atan2(ŝ, m̂) + asin(r/D), D = |(m̂, ŝ)|.  There
    q = (1 - c·w)², c = cos α/√(D² - r²), is 1 and 0 on the two points of the worst law.
    """
    row, sign = problem.rows[0], 1 if side == "lower" else -1
    margin = sign * float(row[-1])
    variance = row[:-1] @ problem.covariance @ row[:-1]
    deviation = sqrt(variance)
    reach = sqrt(row[:-1] @ problem.reach @ row[:-1])
    distance = hypot(margin, deviation)
    if reach >= margin:
        return None
    angle = atan2(deviation, margin) + asin(reach / distance)
    if angle >= pi / 2:
        return None
    slope = cos(angle) / sqrt((distance - reach) * (distance + reach))
    factor = np.append(np.zeros(problem.size), 1.0) - slope * sign * row.astype(float)
    return repaired(problem, side, np.outer(factor, factor), np.array([2 * slope]))


def _rounded(value: Fraction, towards: float) -> float:
    """The double next to an exact value that is not on its wrong side."""
    near = float(value)
    wrong = Fraction(near) > value if towards < 0 else Fraction(near) < value
    return nextafter(near, towards) if wrong else near
