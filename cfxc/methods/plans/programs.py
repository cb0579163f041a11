"""The semidefinite programs of the bounds, in cvxpy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import isfinite
from typing import Any

import cvxpy as cp
import numpy as np

from ...arrays import Floats
from ...stopping import left, poll
from .certificate import Reduced, Side, doubles
from .moments import square_root

# First to last; each with options that ask for more than its defaults.
SOLVERS: dict[str, dict[str, Any]] = {
    "CLARABEL": {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10},
    "SCS": {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iters": 20_000},
}
CLOCK = {"CLARABEL": "time_limit", "SCS": "time_limit_secs"}
"""What each calls its time limit."""
USABLE = (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)


@dataclass(frozen=True)
class Solution:
    """What a solver says: nothing of it is trusted.

    Attributes:
        value: An approximate probability of the event.
        Q, multipliers: The dual point (:class:`cfxc.methods.plans.certificate.Certificate`).
        pieces: Moment matrices of (s, 1), each on one part of a worst law: where none of the
            conditions bind, then one for each condition.  They sum to that law's moments.
    """

    status: str
    value: float
    Q: Floats
    multipliers: Floats
    pieces: tuple[Floats, ...]


def solve_bound(problem: Reduced, side: Side, solver: str) -> Solution | str:
    """The dual program, or what went wrong as text.

        min  tr(K̂P) + ρ̃g   over symmetric P, Q, λ ≥ 0, g
        s.t. the conditions of the side on Q and λ,
             [[P - Q, -ρ̃^½ QF̂], [-ρ̃^½ F̂ᵀQ, gI - ρ̃ F̂ᵀQF̂]] ⪰ 0 ,

    with ρ̃² the mean eigenvalue of the reach N, N = ρ̃²FFᵀ, F̂ = (F; 0), γρ² = ρ̃g: the last says
    that p(s) + γ|δ|² ≥ q(s + lift δ) for all s and δ.  That scaling stays good as ρ → 0.
    """
    k, rows = problem.size, doubles(problem.rows)
    K = np.zeros((k + 1, k + 1))
    K[:k, :k], K[k, k] = doubles(problem.covariance), 1
    N = doubles(problem.reach)
    reach = float(np.sqrt(np.trace(N) / k))
    Q = cp.Variable((k + 1, k + 1), symmetric=True)
    multipliers = cp.Variable(len(rows), nonneg=True)
    unit = np.zeros((k + 1, k + 1))
    unit[k, k] = 1
    forms = [(np.outer(row, unit[k]) + np.outer(unit[k], row)) / 2 for row in rows]
    limits = [Q >> 0]
    if side == "lower":
        limits += [Q - unit + multipliers[j] * form >> 0 for j, form in enumerate(forms)]
    else:
        limits += [Q - unit - sum(multipliers[j] * form for j, form in enumerate(forms)) >> 0]
    transport, objective = [], cp.trace(K @ Q)
    if reach > 0:
        P, price = cp.Variable((k + 1, k + 1), symmetric=True), cp.Variable(nonneg=True)
        F = np.vstack([square_root(N / reach**2), np.zeros((1, k))])
        off = -np.sqrt(reach) * (Q @ F)
        block = cp.bmat([[P - Q, off], [off.T, price * np.eye(k) - reach * (F.T @ Q @ F)]])
        transport, objective = [block >> 0], cp.trace(K @ P) + reach * price
    program = cp.Problem(cp.Minimize(objective), limits + transport)
    poll()
    clock = {CLOCK[solver]: left()} if isfinite(left()) else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "may be inaccurate": the point is checked anyway
            program.solve(solver=solver, **SOLVERS[solver], **clock)
    except (cp.SolverError, ValueError, ArithmeticError) as error:
        return str(error).splitlines()[0] if str(error) else type(error).__name__
    if program.status not in USABLE or Q.value is None or multipliers.value is None:
        return str(program.status)
    return Solution(
        str(program.status),
        float(program.value),
        np.asarray(Q.value),
        np.asarray(multipliers.value),
        tuple(np.asarray(limit.dual_value) for limit in limits),
    )
