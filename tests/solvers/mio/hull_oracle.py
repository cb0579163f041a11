"""How far a point is from a hull, by scipy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog, minimize


def away(points: np.ndarray, z: np.ndarray, norm: str) -> float:
    """How far z is from the hull of all points."""
    n, size = points.shape
    if norm == "l2":
        start = np.full(n, 1 / n)
        found = minimize(
            lambda s: ((s @ points - z) ** 2).sum(), start, bounds=[(0, 1)] * n,
            jac=lambda s: 2 * points @ (s @ points - z), method="SLSQP",
            constraints={"type": "eq", "fun": lambda s: s.sum() - 1, "jac": lambda s: np.ones(n)},
            options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        return float(np.sqrt(max(found.fun, 0)))
    slacks = size if norm == "l1" else 1
    over = np.eye(size) if norm == "l1" else np.ones((size, 1))
    upper = np.vstack([np.hstack([points.T, -over]), np.hstack([-points.T, -over])])
    total = np.append(np.ones(n), np.zeros(slacks))[None]
    found = linprog(
        np.append(np.zeros(n), np.ones(slacks)), A_ub=upper, b_ub=np.append(z, -z),
        A_eq=total, b_eq=[1.0],
    )  # fmt: skip
    return float(found.fun)
