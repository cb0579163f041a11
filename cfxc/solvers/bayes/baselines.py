"""What EI-CFX is measured against: random search, L-BFGS-B, and Bayesian optimisation of ρ∘f."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize

from .loop import Search, Task, by_improvement
from .region import snapped

Floats = npt.NDArray[np.float64]
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
    """L-BFGS-B with finite differences on the first question, from random rows, until the budget.

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
    region, caller, budget = task.region, search.caller, search.settings.budget
    free = region.free
    size = np.where(region.high > region.low, region.high - region.low, 1.0)
    size = np.array([len(d.feature.labels) - 1 if d.is_symbolic else size[j]
                     for j, d in enumerate(region.domains)], np.float64)[free]  # fmt: skip
    low = np.array([0.0 if d.is_symbolic else region.low[j]
                    for j, d in enumerate(region.domains)])[free]  # fmt: skip

    def row_of(share: Floats) -> Floats:
        row = region.start.copy()
        for j, value in zip(free.tolist(), low + share * size, strict=True):
            domain = region.domains[j]
            if domain.is_symbolic:
                row[j] = region.codes[j][np.abs(region.codes[j] - value).argmin()]
            else:
                row[j] = snapped(domain, np.array([value]))[0]
        return np.asarray(region.followed(row[None])[0])

    def loss(share: Floats) -> float:
        if caller.calls >= budget or task.reached:
            raise _OutOfBudget
        row = row_of(share)
        point = region.point(row)
        if region.rules.violated(point):
            return 0.0
        search._evaluate(task, [row])
        output = float(caller.ask([point], [task.frame])[0])
        return -float(task.potential(output, task.center)) if np.isfinite(output) else 0.0

    start = (search.rng.random(free.size), caller.calls)
    try:
        minimize(loss, start[0], method="L-BFGS-B", bounds=[(0.0, 1.0)] * free.size,
                 options={"eps": STEP})  # fmt: skip
    except _OutOfBudget:
        return None
    return _by_chance(search, task)


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
