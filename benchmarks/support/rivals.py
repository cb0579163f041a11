"""What EI-CFX is measured against: random search, L-BFGS-B, and Bayesian optimisation of ρ∘f."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

from cfxc.arrays import Floats
from cfxc.methods.bayes.search import Propose, Search, by_improvement
from cfxc.methods.bayes.task import Task

STEP = 0.02  # of a range: what finite differences are taken over


def by_chance(search: Search, task: Task) -> Floats | None:
    """A random admissible row."""
    fresh = search.new(task.region.sample(16, search.rng))
    return fresh[int(search.rng.integers(len(fresh)))] if len(fresh) else None


def by_composition(search: Search, task: Task) -> Floats | None:
    """Where the improvement of ρ∘f is expected to be largest: a surrogate of ρ∘f, not of f."""
    rows, y = search.candidates(task), search.outputs
    if np.isfinite(y).sum() < 2:
        return by_chance(search, task)
    values = task.potential(np.where(np.isfinite(y), y, task.center), task.center)
    search.surrogate.update(search.rows, values)

    def judge(some: Floats) -> Floats:
        return improvement(*search.surrogate.predict(some), task.best)

    return search.climb(task, rows, judge)


def improvement(mean: Floats, std: Floats, best: float) -> Floats:
    """What a normal value is expected to exceed the best by."""
    std = np.maximum(std, 1e-12)
    z = (mean - best) / std
    return np.asarray(std * (norm.pdf(z) + z * norm.cdf(z)))


class OutOfBudget(Exception):
    """Raised inside of the minimiser, which knows no budget."""


def by_quasi_newton(search: Search, task: Task) -> Floats | None:
    """L-BFGS-B with finite differences, one descent after the other, until the budget.

    First from the best row of the initial design, then from random ones.  Features are numbers in
    [0, 1] there, categories by their codes, and rounded to what is admissible; rows that break a
    constraint have the potential 0.  All evaluations are made here.
    """
    region = task.region
    low = region.low[region.free]
    size = region.high[region.free] - low

    def row_of(shares: Floats) -> Floats:
        row = region.start.copy()
        for j, value in zip(region.free.tolist(), low + shares * size, strict=True):
            codes = region.codes[j]
            if codes.size:
                row[j] = codes[np.abs(codes - value).argmin()]
            else:
                row[j] = region.domains[j].rounded(np.array([value]))[0]
        return region.followed(row[None])[0]

    def loss(shares: Floats) -> float:
        if search.caller.calls >= search.settings.budget or task.reached:
            raise OutOfBudget
        row = row_of(shares)
        if not region.holds(region.point(row)):
            return 0.0
        output = search.evaluate(task, [row])[0]
        return -float(task.potential(output, task.center)) if np.isfinite(output) else 0.0

    start = search.rng.random(size.size)
    if task.turns == 1 and task.point is not None:
        start = np.clip((region.row(task.point)[region.free] - low) / size, 0.0, 1.0)
    bounds = [(0.0, 1.0)] * start.size
    try:
        minimize(loss, start, method="L-BFGS-B", bounds=bounds, options={"eps": STEP})
    except OutOfBudget:
        return None
    return by_chance(search, task)


METHODS: dict[str, Propose] = {
    "random": by_chance,
    "L-BFGS-B": by_quasi_newton,
    "Bayes on ρ∘f": by_composition,
    "EI-CFX": by_improvement,
}
"""The four of the paper's Figure 4."""

__all__ = ["METHODS", "improvement"]
