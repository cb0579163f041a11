"""The ball around the factual that a distance made of norms leaves at a radius."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from ...arrays import Floats
from ...compiler.passes import Ball
from ...ir.interval import ceil_float, floor_float
from ...question.distances import Norms
from ...question.query import Query

FILLED = 1e300
"""δ_j of a missing number that is filled in is 1, however near to the range its stand-in is."""


def weights_of(query: Query) -> list[Fraction]:
    """The features' weights in a distance."""
    return [domain.feature.weight for domain in query.domains]


@lru_cache(maxsize=64)
def shares_of(weights: tuple[Fraction, ...]) -> tuple[list[Fraction], list[Fraction]]:
    """The weights over their sum, as l0 and l1 take them, and over the largest, as linf does."""
    total, largest = sum(weights, Fraction(0)) or Fraction(1), max(weights) or Fraction(1)
    return [weight / total for weight in weights], [weight / largest for weight in weights]


def everywhere(query: Query) -> Fraction:
    """A radius beyond every admissible point of a query whose distance is made of norms."""
    ends = [
        domain.delta(value)
        for domain in query.domains
        for value in (domain.allowed if domain.is_symbolic else (domain.lower, domain.upper))
    ]
    return (1 + max(ends, default=Fraction(0))) ** 2


def make_ball(query: Query, norms: Norms, radius: Fraction) -> Ball:
    """The query's ball for pruning: doubles rounded so that the ball only grows."""
    domains = query.domains
    width = max([1, *(len(domain.feature.labels) for domain in domains if domain.is_symbolic)])
    step = np.full((len(domains), width), np.inf)
    center, lower, upper = (np.zeros(len(domains)) for _ in range(3))
    scale = np.zeros(len(domains))
    for j, domain in enumerate(domains):
        if domain.is_symbolic:
            step[j, : len(domain.labels)] = domain.deltas
            continue
        center[j] = float(domain.factual)
        lower[j], upper[j] = floor_float(domain.lower), ceil_float(domain.upper)
        filled = domain.first is not None and domain.is_absent
        scale[j] = FILLED if filled else _per_range(domain.feature.range)
    weight, peak = _floors(tuple(weights_of(query)))
    return Ball(
        center, lower, upper, scale, weight, peak, step,
        floor_float(norms.l0), floor_float(norms.l1), floor_float(norms.linf),
        floor_float(norms.l2), ceil_float(radius),
    )  # fmt: skip


def reach_of(ball: Ball, j: int) -> float:
    """About the largest δ_j within the ball; no bound, but where to look."""
    reach, radius = 1.0, max(ball.radius, 0.0)
    for rate, power in (
        (ball.l1 * ball.weight[j], 1.0),
        (ball.linf * ball.peak[j], 1.0),
        (ball.l2 * ball.weight[j], 0.5),
    ):
        if rate > 0:
            reach = min(reach, float(radius / rate) ** power)
    return reach


@lru_cache(maxsize=256)
def _per_range(size: Fraction) -> float:
    """1 over a range, rounded down; 0 for a feature that is constant."""
    return floor_float(1 / size) if size else 0.0


@lru_cache(maxsize=64)
def _floors(weights: tuple[Fraction, ...]) -> tuple[Floats, Floats]:
    """The shares of the weights as doubles, rounded down."""
    total, largest = shares_of(weights)
    return np.array([floor_float(w) for w in total]), np.array([floor_float(w) for w in largest])
