"""Laws whose moments are inside the ball for certain, and whether any escapes the bounds.

A base law puts equal weights on n integer points θ̂_i (in units of 1/16) with *exactly* the nominal
moments: θ̂ = μ̂ + Lz, Σ̂ = LLᵀ, z of mean 0 and covariance I (signs of a Hadamard matrix, also mixed
with 0; products of skew two-point laws).  Each point is moved by an integer δ_i with Σ|δ_i|² ≤ nρ²,
checked in integers.  The pairs are a coupling, so the Gelbrich distance of the moved law is at most
(Σ|δ_i|²/n)^½ ≤ ρ: it is inside, whatever rounding does.  Its validity is a count of integer signs.
Half of the laws are moved at random, the others against the bound: the points that are cheapest to
push over the border first.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cfxc.methods.plans import validity_bounds

from .portable import Array
from .report import Table

UNIT = 16
INSTANCES = 100
RADII = (Fraction(1, 4), Fraction(1), Fraction(3))


@dataclass(frozen=True)
class Instance:
    """A plan, integer moments in units of 1/16, and a base law with these."""

    plan: Array
    mean: Array
    covariance: Array
    points: Array  # n × d, integers in units of 1/16
    radius: Fraction


def instance(rng: np.random.Generator) -> Instance:
    """A random one; of about a third the nominal mean is not valid."""
    d, size = int(rng.integers(2, 5)), int(rng.integers(1, 5))
    plan = rng.integers(-3, 4, size=(size, d))
    plan[(plan == 0).all(axis=1)] = 1
    L = rng.integers(-1, 2, size=(d, d)) + 2 * np.eye(d, dtype=np.int64)
    while abs(np.linalg.det(L)) < 0.5:
        L = rng.integers(-1, 2, size=(d, d)) + 2 * np.eye(d, dtype=np.int64)
    z = _standard(rng, d)  # in quarters
    inward = np.linalg.lstsq(plan, np.full(size, 10.0), rcond=None)[0]
    mean = np.round(UNIT * inward * rng.uniform(-0.5, 2.5)).astype(np.int64)
    points = mean + (UNIT // 4) * z @ L.T
    exact = points - mean
    assert (exact.sum(axis=0) == 0).all()
    assert (exact.T @ exact == len(z) * UNIT**2 * (L @ L.T)).all()
    radius = RADII[int(rng.integers(len(RADII)))]
    return Instance(plan, mean, L @ L.T, points, radius)


HADAMARD = np.array([[1]])
for _ in range(3):
    HADAMARD = np.block([[HADAMARD, HADAMARD], [HADAMARD, -HADAMARD]])


def _standard(rng: np.random.Generator, d: int) -> Array:
    """Points of mean 0 and covariance I, in quarters, all with the same weight."""
    kind = int(rng.integers(4))
    if kind < 3:  # signs; half of them twice as large beside zeros; few, four times as large
        signs = HADAMARD[:, 1 + rng.permutation(7)[:d]] * rng.choice([-1, 1], size=d)
        size = (1, 2, 4)[kind]
        zeros = np.zeros((8 * (size * size - 1), d), dtype=np.int64)
        return np.concatenate([4 * size * signs, zeros])
    values = np.array([8, -2, -2, -2, -2])  # 2 with 1/5, -1/2 with 4/5
    grids = np.meshgrid(*[values * rng.choice([-1, 1]) for _ in range(d)], indexing="ij")
    return np.stack([grid.ravel() for grid in grids], axis=1)


def moved(one: Instance, rng: np.random.Generator, side: str) -> Array:
    """Points of a law inside the ball, in units of 1/16."""
    n, d = one.points.shape
    budget = one.radius**2 * n * UNIT**2
    if side == "random":
        step = rng.normal(size=(n, d)) * rng.exponential(size=(n, 1)) + rng.normal(size=d)
        scale = float(budget) ** 0.5 * rng.uniform() / np.linalg.norm(step)
        delta = np.trunc(step * scale).astype(np.int64)
    else:
        delta = _against(one, rng, side, budget)
    assert int((delta * delta).sum()) <= budget
    return one.points + delta


def _against(one: Instance, rng: np.random.Generator, side: str, budget: Fraction) -> Array:
    """Over the border, the cheapest points first; the costs are a little disturbed."""
    points, plan = one.points.astype(float), one.plan.astype(float)
    valid = (one.points @ one.plan.T >= 0).all(axis=1)
    squares = (plan**2).sum(axis=1)
    if side == "lower":
        margins = points @ plan.T
        j = (margins / np.sqrt(squares)).argmin(axis=1)
        gap = (margins[np.arange(len(points)), j] + 1) / squares[j]
        delta = -np.ceil(np.abs(gap[:, None] * plan[j])) * np.sign(plan[j])
    else:
        delta = np.zeros_like(points)
        for _ in range(30):  # onto the violated half-spaces in turn
            margins = (points + delta) @ plan.T
            j = margins.argmin(axis=1)
            short = np.minimum(margins[np.arange(len(points)), j], 0) / squares[j]
            delta = delta - short[:, None] * plan[j]
        delta = np.sign(delta) * np.ceil(np.abs(delta))
    delta = delta.astype(np.int64)
    moving = valid if side == "lower" else ~valid
    costs = (delta * delta).sum(axis=1)
    order = np.argsort(costs * rng.uniform(0.8, 1.25, size=len(costs)))
    order = order[moving[order]]
    affordable = order[np.cumsum(costs[order]) <= float(budget) * (1 - 1e-12)]
    chosen = np.zeros_like(delta)
    chosen[affordable] = delta[affordable]
    return chosen


def violations(count: int, instances: int, seed: int) -> tuple[int, int, float, float]:
    """Laws tried, violations, and the least distances from L* and from U*."""
    rng = np.random.default_rng(seed)
    tried, broken, nearest = 0, 0, [1.0, 1.0]
    for k in range(instances):
        one = instance(rng)
        lower, upper = validity_bounds(one.plan, one.mean / UNIT, one.covariance, float(one.radius))
        for i in range((count + instances - 1 - k) // instances):
            side = ("random", "lower", "random", "upper")[i % 4]
            theta = moved(one, rng, side)
            valid = (theta @ one.plan.T >= 0).all(axis=1)
            share = Fraction(int(valid.sum()), len(valid))
            broken += not Fraction(lower) <= share <= Fraction(upper)
            nearest[0] = min(nearest[0], float(share) - lower if lower > 0 else 1.0)
            nearest[1] = min(nearest[1], upper - float(share) if upper < 1 else 1.0)
            tried += 1
    return tried, broken, nearest[0], nearest[1]


def run_laws(options: Namespace) -> tuple[list[Table], list[str]]:
    """All of them, counted."""
    tried, broken, low, high = violations(options.laws, INSTANCES, 0)
    table = Table(
        f"Laws inside the ball, {INSTANCES} plans and moments",
        ("laws", "outside [L*, U*]", "nearest to an L* above 0", "nearest to a U* below 1"),
    )
    table.rows.append((f"{tried:,}", str(broken), f"{low:.4f}", f"{high:.4f}"))
    return [table], []
