"""What EI-CFX is measured against: random search, L-BFGS-B, and Bayesian optimisation of ρ∘f."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

import numpy as np
import torch
from scipy.optimize import minimize

from ...arrays import Floats
from .loop import Search, Task, by_improvement
from .region import snapped

STEP = 0.02  # of a range: what finite differences are taken over
Method = Callable[[Search], None]


def random_search(search: Search) -> None:
    """Random admissible rows."""
    search.propose = _by_chance
    search.run()


def ei_cfx_search(search: Search) -> None:
    """The method itself: a surrogate of f."""
    search.propose = by_improvement
    search.run()


def composite_search(search: Search) -> None:
    """Bayesian optimisation as usual: a surrogate of ρ∘f, and its expected improvement."""
    search.propose = _by_composition
    search.run()


def quasi_newton_search(search: Search) -> None:
    """L-BFGS-B with finite differences on the first question, until the budget.

    First from the best row of the initial design, then from random ones.

    Features are numbers in [0, 1] there, categories by their codes, and rounded to what is
    admissible; rows that break a constraint have the potential 0.
    """
    search.propose = _by_quasi_newton
    search.run()


def _by_chance(search: Search, task: Task) -> Floats | None:
    fresh = search.new(task.region.sample(16, search.rng))
    return fresh[int(search.rng.integers(len(fresh)))] if len(fresh) else None


def _by_composition(search: Search, task: Task) -> Floats | None:
    def composed(outputs: Floats) -> Floats:
        return task.potential(outputs, task.center)

    outputs = np.array(search.caller.data.outputs)
    ranking = np.full(len(outputs), -np.inf)
    good = np.isfinite(outputs)
    ranking[good] = composed(outputs[good])
    rows = search.candidates(task, ranking)
    if not search.condition(task, composed):
        return _by_chance(search, task)

    def judge(some: Floats) -> Floats:
        mean, std = (part.detach() for part in search.surrogate.predict(search.inputs(some)))
        std = torch.clamp(std, min=1e-12)
        z = (mean - task.best) / std
        density = torch.exp(-0.5 * z * z) / sqrt(2 * pi)
        return np.asarray((std * (density + z * torch.special.ndtr(z))).numpy())

    return search.climb(task, rows, judge)


class _OutOfBudget(Exception):
    """Raised inside of the minimiser, which knows no budget."""


def _by_quasi_newton(search: Search, task: Task) -> Floats | None:
    """One descent after the other, all of their evaluations made here."""
    descent = _Descent(search, task)
    start = search.rng.random(descent.size.size)
    if task.taken == 1 and task.point is not None:
        start = descent.share(task.region.row(task.point))
    bounds = [(0.0, 1.0)] * start.size
    try:
        minimize(descent.loss, start, method="L-BFGS-B", bounds=bounds, options={"eps": STEP})
    except _OutOfBudget:
        return None
    return _by_chance(search, task)


class _Descent:
    """The potential as a function of shares of ranges, in [0, 1], of the free features."""

    def __init__(self, search: Search, task: Task) -> None:
        self.search, self.task, self.region = search, task, task.region
        domains = self.region.domains
        self.low = np.array(
            [0.0 if domains[j].is_symbolic else self.region.low[j] for j in self.region.free]
        )
        high = np.array(
            [
                len(domains[j].feature.labels) - 1
                if domains[j].is_symbolic
                else self.region.high[j]
                for j in self.region.free
            ]
        )
        self.size = np.where(high > self.low, high - self.low, 1.0)

    def share(self, row: Floats) -> Floats:
        """A row as shares."""
        return np.asarray(np.clip((row[self.region.free] - self.low) / self.size, 0.0, 1.0))

    def row(self, share: Floats) -> Floats:
        """The admissible values next to shares, as a row."""
        row = self.region.start.copy()
        values = self.low + share * self.size
        for j, value in zip(self.region.free.tolist(), values, strict=True):
            domain, codes = self.region.domains[j], self.region.codes[j]
            if domain.is_symbolic:
                row[j] = codes[np.abs(codes - value).argmin()]
            else:
                row[j] = snapped(domain, np.array([value]))[0]
        return np.asarray(self.region.followed(row[None])[0])

    def loss(self, share: Floats) -> float:
        """Minus the potential; 0 where the row is not admissible."""
        task, caller = self.task, self.search.caller
        if caller.calls >= self.search.settings.budget or task.reached:
            raise _OutOfBudget
        row = self.row(share)
        point = self.region.point(row)
        if self.region.rules.violated(point):
            return 0.0
        output = self.search.evaluate(task, [row])[0]
        return -float(task.potential(output, task.center)) if np.isfinite(output) else 0.0


METHODS: dict[str, Method] = {
    "random": random_search,
    "L-BFGS-B": quasi_newton_search,
    "Bayes on ρ∘f": composite_search,
    "EI-CFX": ei_cfx_search,
}
"""The four of the paper's Figure 4."""

__all__ = [
    "METHODS",
    "composite_search",
    "ei_cfx_search",
    "quasi_newton_search",
    "random_search",
]
