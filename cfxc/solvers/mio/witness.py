"""Points that may be counterfactuals: where a search starts, and what lies around a solution."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, product

import numpy as np

from ...arrays import Floats
from ...stopping import now
from ..base import Candidate, Deployed, Point, verify
from ..baselines import LocalSearch
from ..rounding import margins_of

AT = 1e-6  # of a feature's range: so near to a cut, it may be meant to lie on its other side
SIDES = 6  # numbers that are put on both sides of their cuts
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
    for margin in chain([Fraction(0)], margins_of(query)):
        if margin and query.target_with_margin(margin) == plain:
            return None  # no score is known to decide
        points = (LocalSearch(query, rng, margin) if margin else local).candidates(seeds)
        verified = (verify(query, point, deployed) for point in points)
        found = next((candidate for candidate in verified if candidate is not None), None)
        if found is not None or not points or now() >= deadline:
            return found
    return None


def around(local: LocalSearch, point: Point) -> list[Point]:
    """The point, points slightly farther along its direction, and what shrinking makes of them.

    Solvers put solutions on borders, to within their tolerance; what lies slightly beyond is
    tried too, on numbers that are admissible.  In a hull nothing is gained by shrinking.
    """
    row = local.row(point)
    found = [point]
    if local.query.effects:
        found.append(local.point(local.followed(row[None])[0]))
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
    found += [local.point(sides) for sides in _both_sides(local, row)]
    rows = np.array([local.row(each) for each in found])
    hits = local.hits(rows)
    if local.query.hulls:
        return [point, *(found[i] for i in np.flatnonzero(hits[1:]) + 1)]
    if hits.any():
        base = rows[int(np.where(hits, local.distances(rows), np.inf).argmin())]
        found.insert(0, local.point(local.shrink(base)))
    return found


def _both_sides(local: LocalSearch, row: Floats) -> list[Floats]:
    """The ways to put numbers that lie at cuts of trees on either side of them."""
    options: list[tuple[float, int, list[float]]] = []
    for j, domain in enumerate(local.domains):
        near = np.abs(local.cuts[j] - row[j]) <= AT * float(domain.feature.range)
        values = local.cuts[j][near]
        if values.size > 1:
            away = float(np.abs(values - row[j]).min())
            options.append((away, j, values[np.argsort(np.abs(values - row[j]))][:2].tolist()))
    chosen = sorted(options)[:SIDES]
    made = []
    for values in product(*(each for _, _, each in chosen)) if chosen else ():
        moved = row.copy()
        moved[[j for _, j, _ in chosen]] = values
        made.append(moved)
    return made


__all__ = ["around", "first_candidate"]
