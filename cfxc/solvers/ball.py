"""The ball around the factual that a distance made of norms leaves at a radius."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..compiler.passes import Ball
from ..frontends.query import Query
from ..ir.interval import ceil_float, floor_float

Norms = tuple[Fraction, Fraction, Fraction]


def weights_of(query: Query) -> list[Fraction]:
    """The features' weights in a distance."""
    return [domain.feature.weight for domain in query.domains]


def make_ball(query: Query, norms: Norms, radius: Fraction) -> Ball:
    """The query's ball for pruning: doubles rounded so that the ball only grows."""
    domains, weights = query.domains, weights_of(query)
    width = max([1, *(len(domain.feature.labels) for domain in domains if domain.is_symbolic)])
    total = sum(weights, Fraction(0)) or Fraction(1)
    largest = max(weights) or Fraction(1)
    step = np.full((len(domains), width), np.inf)
    center, lower, upper = (np.zeros(len(domains)) for _ in range(3))
    scale = np.zeros(len(domains))
    for j, domain in enumerate(domains):
        if domain.is_symbolic:
            for label in domain.allowed:
                code = domain.labels.position(label)
                step[j, code] = floor_float(domain.delta(label))
            continue
        center[j] = float(domain.factual)
        lower[j], upper[j] = floor_float(domain.lower), ceil_float(domain.upper)
        size = domain.feature.range
        scale[j] = floor_float(1 / size) if size else 0.0
    return Ball(
        center, lower, upper, scale,
        np.array([floor_float(w / total) for w in weights]),
        np.array([floor_float(w / largest) for w in weights]),
        step, floor_float(norms[0]), floor_float(norms[1]), floor_float(norms[2]),
        ceil_float(radius),
    )  # fmt: skip
