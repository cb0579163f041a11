"""Points that may be counterfactuals: where a search starts, and what lies around a solution."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ..baselines import LocalSearch
from ..candidates import MARGINS, Candidate, Deployed, Point, verify

NUDGES = (1e-12, 1e-9, 1e-7, 1e-5)  # of the way already gone: how much farther to go


def first_candidate(
    local: LocalSearch,
    deployed: Deployed,
    seeds: Sequence[Point],
    rng: np.random.Generator,
    deadline: float,
) -> Candidate | None:
    """The nearest verified point of a local search; of clearer wins if no other verifies."""
    query = local.query
    plain = query.target_program
    for margin in (Fraction(0), *MARGINS):
        if margin and query.target_with_margin(margin) == plain:
            return None  # no score is known to decide
        points = (LocalSearch(query, rng, margin) if margin else local).candidates(seeds)
        verified = (verify(query, point, deployed) for point in points)
        found = next((candidate for candidate in verified if candidate is not None), None)
        if found is not None or not points or time.monotonic() >= deadline:
            return found
    return None


def around(local: LocalSearch, point: Point) -> list[Point]:
    """The point, points slightly farther along its direction, and what shrinking makes of them.

    Solvers put solutions on borders, to within their tolerance; what lies slightly beyond is
    tried too, on numbers that are admissible.
    """
    row, found = local.row(point), [point]
    for power in NUDGES:
        moved = row.copy()
        for j, domain in enumerate(local.domains):
            step = row[j] - local.start[j]
            if domain.is_symbolic or not step:
                continue
            away = np.clip(row[j] + step * power, float(domain.lower), float(domain.upper))
            landed = (domain.ceil if step > 0 else domain.floor)(Fraction(float(away)))
            moved[j] = row[j] if landed is None else float(landed)
        found.append(local.point(moved))
    hits = local.hits(np.array([local.row(each) for each in found]))
    if hits.any():
        base = local.row(found[int(hits.argmax())])
        found.insert(0, local.point(local.shrink(base)))
    return found


__all__ = ["around", "first_candidate"]
