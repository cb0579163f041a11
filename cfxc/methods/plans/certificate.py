"""Plans in few coordinates, and dual points that prove bounds there; all in exact rationals.

The derivation is in :mod:`cfxc.methods.plans.bounds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, Literal

import numpy as np

from ...arrays import Array, Floats
from ...errors import InvalidInputError
from ...frontends.quadratics import exact
from ...ir.linear import power_near
from ...stopping import poll, polled
from .moments import ROUNDING, square_root

Rationals = Array  # of Fractions, dtype object

GRID = 200  # bits of the largest entry that a test of definiteness keeps


def integers(array: Any) -> tuple[Rationals, Fraction]:
    """Integers and a unit with array = integers · unit: their products need no common divisors."""
    floats = np.asarray(array, dtype=np.float64)
    mantissas, exponents = np.frexp(floats)
    used = exponents[floats != 0]
    least = int(used.min()) if used.size else 0
    result = np.empty(floats.shape, dtype=object)
    for place in np.ndindex(floats.shape):
        up = max(int(exponents[place]) - least, 0)
        result[place] = int(mantissas[place] * 2.0**53) << up
    return result, Fraction(2) ** (least - 53)


def doubles(array: Rationals) -> Floats:
    """The nearest doubles."""
    return np.array(array, dtype=np.float64)


def solve(A: Rationals, B: Rationals) -> Rationals:
    """A⁻¹B by elimination in integers (Bareiss); A is invertible."""
    n = len(A)
    table = np.concatenate([A, B], axis=1)
    for i in range(n):
        table[i] = _whole(table[i])
    before = 1
    for k in polled(range(n), 1):
        pivot = next(i for i in range(k, n) if table[i, k] != 0)
        table[[k, pivot]] = table[[pivot, k]]
        for i in range(n):
            if i != k:
                table[i] = (table[i] * table[k, k] - table[i, k] * table[k]) // before
        before = table[k, k]
    result = np.empty((n, B.shape[1]), dtype=object)
    for place in np.ndindex(result.shape):
        result[place] = Fraction(table[place[0], n + place[1]], before)
    return result


def _whole(entries: Rationals) -> Rationals:
    """Integers in the same ratios."""
    common = lcm(*(Fraction(entry).denominator for entry in entries.flat))
    whole = [int(entry * common) for entry in entries.flat]
    return np.array(whole, dtype=object).reshape(entries.shape)


def independent(C: Rationals) -> list[int] | None:
    """Rows that are a basis of those of a positive semidefinite matrix, largest pivots first.

    ``None`` if a pivot is negative: C is not positive semidefinite.
    """
    rest, basis, before = _whole(C), list[int](), 1
    left = list(range(len(C)))
    while left:
        poll()
        best = max(left, key=lambda j: rest[j, j])
        pivot = rest[best, best]
        if pivot <= 0:
            zero = all(rest[i, j] == 0 for i in left for j in left)
            return sorted(basis) if zero else None
        left.remove(best)
        basis.append(best)
        rest = (rest * pivot - np.outer(rest[:, best], rest[best])) // before
        before = pivot
    return sorted(basis)


def positive_definite(A: Rationals) -> bool:
    """Whether a symmetric matrix is positive definite; ``True`` is proved.

    A is rounded to a grid of GRID bits of its largest entry, A = unit (M + E) with |E| < 1 in each
    entry, so |E|₂ < n, and all leading minors of M - n·I are shown to be positive, in integers
    (Bareiss).  ``False`` may also mean that the smallest eigenvalue is below the grid.
    """
    n = len(A)
    largest = max(abs(entry) for entry in A.flat)
    if largest == 0:
        return False
    unit = power_near(largest) / 2**GRID
    M = [[int(A[i, j] / unit // 1) for j in range(n)] for i in range(n)]
    for i in range(n):
        M[i][i] -= n
    before = 1
    for k in polled(range(n), 1):
        pivot = M[k][k]
        if pivot <= 0:
            return False
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                M[i][j] = M[j][i] = (M[i][j] * pivot - M[i][k] * M[k][j]) // before
        before = pivot
    return True


Side = Literal["lower", "upper"]

FLOOR = 1e-14  # of the largest eigenvalue: smaller ones are not scaled up
COARSEST = 1e-2  # a point that must be moved further than this is not worth repairing


@dataclass(frozen=True)
class Reduced:
    """A plan in coordinates s = lift (θ - μ̂) of the space that its rows span, k ≤ min(J, d).

    Attributes:
        rows: J × (k + 1); x_jᵀθ > 0 iff rows_j · (s, 1) > 0, almost surely.
        covariance: Of s under the nominal moments, k × k.
        reach: ρ² lift liftᵀ, k × k: positive definite, or zero if ρ = 0.
        lift: k × d.
        impossible: Whether some row almost surely fails.
    """

    rows: Rationals
    covariance: Rationals
    reach: Rationals
    lift: Rationals
    impossible: bool = False

    @property
    def size(self) -> int:
        """k."""
        return len(self.covariance)


def reduce_plan(
    plan: Floats, mean: Floats, covariance: Floats, radius: float, rounding: float
) -> Reduced:
    """The plan in whitened coordinates, without rows that are almost surely valid.

    Args:
        rounding: Added to the eigenvalues of the covariance if any is negative (in exact terms).
    """
    X, unit = integers(plan)
    S, of_S = integers(covariance)
    m, of_m = integers(mean)
    G = (X @ X.T) * (unit * unit)
    K = (X @ S @ X.T) * (unit * unit * of_S)
    K, b = (K + K.T) / 2, (X @ m) * (unit * of_m)
    rho2 = Fraction(radius) ** 2
    if rounding or independent(K) is None:
        # By more than the error of a computed eigenvalue, d roundings of the largest one.
        slack = max(rounding, len(mean) * ROUNDING * float(np.trace(covariance)))
        K = K + Fraction(slack) * G
    # What moves: every direction of the plan if ρ > 0, else those with variance.
    C = G if radius > 0 else K
    basis = independent(C)
    if basis is None:
        raise InvalidInputError(
            "covariance is not positive semidefinite on what the plan's rows span; add a small "
            "multiple of the identity"
        )
    fixed = [j for j in range(len(C)) if C[j, j] == 0]
    impossible = any(b[j] < 0 for j in fixed)
    moving = [j for j in range(len(C)) if j not in fixed]
    chosen = np.ix_(basis, basis)
    T = solve(C[chosen], C[basis][:, moving]).T if basis else C[:0, :0]
    B = _whitening(K[chosen] + rho2 * G[chosen])
    rows = np.concatenate(
        [solve(B.T, T.T).T if basis else T.reshape(len(moving), 0), b[moving][:, None]], axis=1
    )
    for row in rows:
        row /= power_near(max(abs(entry) for entry in row))
    return Reduced(
        rows, B @ K[chosen] @ B.T, rho2 * (B @ G[chosen] @ B.T), B @ (X[basis] * unit), impossible
    )


def _whitening(C: Rationals) -> Rationals:
    """A rational B, invertible, with B C Bᵀ near I; C is positive definite."""
    k = len(C)
    if not k:
        return C
    scale = np.array([1 / power_near(Fraction(_root(C[i, i]))) for i in range(k)], dtype=object)
    values, vectors = np.linalg.eigh(doubles(scale[:, None] * C * scale))
    values = np.maximum(values, FLOOR * values[-1])
    return np.asarray(exact((vectors / np.sqrt(values)).T.astype(np.float32)) * scale)


def _root(value: Fraction) -> Fraction:
    """A rational within a factor of 2 of √value, for any value > 0 however large."""
    shift = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    return Fraction(2) ** shift


@dataclass(frozen=True)
class Certificate:
    """A quadratic above the indicator of an event, and a price of transport.

    With ŝ = (s, 1) and q(s) = ŝᵀQŝ: q ≥ 0 everywhere, and q ≥ 1 where some row fails (``lower``)
    or where all rows are valid (``upper``).

    Attributes:
        Q: (k + 1) × (k + 1), symmetric.
        multipliers: One λ ≥ 0 a row.
        price: γρ², of transport in units of the radius; unused if the radius is 0.
    """

    problem: Reduced
    side: Side
    Q: Rationals
    multipliers: Rationals
    price: Fraction

    def conditions(self) -> list[Rationals]:
        """The matrices that must be positive semidefinite for q to be above the indicator."""
        return conditions(self.problem.rows, self.Q, self.multipliers, self.side)

    def value(self) -> Fraction | None:
        """An exact upper bound on the probability of the event; ``None`` if nothing is proved.

            sup E[q] ≤ γρ² + tr(K̂Q) + tr((YKY + yyᵀ) R),   R = (γρ² N⁻¹ - Y)⁻¹ ≻ 0,

        with K̂ = diag(K, 1), N the reach, Y and y the blocks of Q.
        """
        k, N, K = self.problem.size, self.problem.reach, self.problem.covariance
        if not (self.multipliers >= 0).all() or not (self.Q == self.Q.T).all():
            return None
        if not all(positive_definite(matrix) for matrix in self.conditions()):
            return None
        Y, y = self.Q[:k, :k], self.Q[:k, k]
        value = np.sum(K * Y) + self.Q[k, k]
        if N[0, 0] != 0:
            if not positive_definite(self.price * N - N @ Y @ N):
                return None
            R = solve(self.price * exact(np.eye(k)) - N @ Y, N)
            value += self.price + np.sum((Y @ K @ Y + np.outer(y, y)) * R)
        return Fraction(value)


def conditions(
    rows: Rationals | Floats, Q: Rationals | Floats, multipliers: Rationals | Floats, side: Side
) -> list[Rationals]:
    """Q, and Q - e eᵀ with the multipliers' forms, e = (0, …, 0, 1)."""
    above = Q.copy()
    above[-1, -1] -= 1
    if side == "lower":
        return [Q, *(above + _form(m * row) for m, row in zip(multipliers, rows, strict=True))]
    return [Q, above - _form(multipliers @ rows)]


def _form(row: Rationals | Floats) -> Rationals:
    """The symmetric matrix A with ŝᵀAŝ = row · ŝ."""
    A = np.zeros((len(row), len(row)), dtype=row.dtype)
    A[-1, :] += row / 2
    A[:, -1] += row / 2
    return A


def repaired(
    problem: Reduced, side: Side, Q: Floats, multipliers: Floats
) -> tuple[Certificate, Fraction] | None:
    """An exactly feasible point near the given one, with the value that it proves.

    Q is raised by ε·I, ε from the smallest eigenvalue of the conditions, until they hold in exact
    arithmetic: this costs ε (1 + E|s|²), E|s|² ≤ k or nearly.  The price is the best for that Q.
    """
    if not (np.isfinite(Q).all() and np.isfinite(multipliers).all()):
        return None
    Q, multipliers = (Q + Q.T) / 2, np.maximum(multipliers, 0)
    rows, size = doubles(problem.rows), 1 + float(np.abs(Q).max())
    least = min(
        float(np.linalg.eigvalsh(matrix.astype(float))[0])
        for matrix in conditions(rows, Q, multipliers, side)
    )
    epsilon = 1.01 * max(-least, 0) + 1e-15 * size
    while epsilon < COARSEST:
        raised = Q + epsilon * np.eye(len(Q))
        price = best_price(problem, raised)
        for slack in (0.0, 1e-12, 1e-9, 1e-6):
            certificate = Certificate(
                problem, side, exact(raised), exact(multipliers), Fraction(price * (1 + slack))
            )
            value = certificate.value()
            if value is not None:
                return certificate, value
            if not all(positive_definite(matrix) for matrix in certificate.conditions()):
                break
        epsilon *= 4
    return None


def best_price(problem: Reduced, Q: Floats) -> float:
    """The γρ² that makes the value of Q least: γρ² + Σ c_i/(γρ² - d_i) over γρ² > max d_i."""
    N, K = doubles(problem.reach), doubles(problem.covariance)
    Y, y = Q[:-1, :-1], Q[:-1, -1]
    F = square_root(N)
    d, U = np.linalg.eigh(F @ Y @ F)
    c = np.maximum(np.diag(U.T @ F @ (Y @ K @ Y + np.outer(y, y)) @ F @ U), 0)
    low, high = max(float(d[-1]), 0.0), max(float(d[-1]), 0.0) + float(np.sqrt(c.sum()))
    for _ in range(100):  # the slope 1 - Σ c/(γ - d)² rises from below 0 to at least 0
        middle = (low + high) / 2
        if not low < middle < high:
            break
        steep = float(np.sum(c / np.maximum(middle - d, 1e-300) ** 2))
        low, high = (middle, high) if steep > 1 else (low, middle)
    return high * (1 + 1e-14) + 1e-300
