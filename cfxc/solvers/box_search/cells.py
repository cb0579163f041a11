"""Features as cells: between two neighbouring cuts nothing that decides can change.

Of a cell only the admissible point nearest to the factual matters, for every distance that grows
with each δ_j.  Costs are whole numbers of ``UNIT``, rounded down, so that the cost of a cell is
never above the distance of a point in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import floor
from typing import Any

import numpy as np

from ...arrays import Bools, Floats, Ints
from ...question.distances import Norms
from ...question.domain import Domain
from ...question.query import Query
from ...stopping import poll
from ..encoding.ball import shares_of, weights_of

UNIT = Fraction(1, 2**50)
DOUBLES = 1 - 2.0**-48  # below the rounding errors of the few operations that make a cost
NEVER = np.int64(2**60)  # the cost of a label that is not admissible


@dataclass(frozen=True)
class Cells:
    """The cells of J features, side by side: those of feature j start at ``start[j]``.

    Attributes:
        start: (J + 1,).
        symbolic: (J,), whether the cells of j are its labels.
        home: (J,), the cell that holds the factual, counted within its feature.
        point: (C,), the admissible value nearest to the factual, or the label's code.
        least, largest: (C,), the ends of the cell's admissible values; 0 for labels.
        cuts: Per feature the largest admissible value of each cell but the last.
        lowest, highest: (J,), the least and largest admissible values; 0 for categories.
        added, peak: (C,), cost in sum and in maximum: the distance of a point is at least
            ``(Σ_j added + max_j peak) · UNIT``.
    """

    start: Ints
    symbolic: Bools
    home: Ints
    point: Floats
    least: Floats
    largest: Floats
    cuts: tuple[Floats, ...]
    lowest: Floats
    highest: Floats
    added: Ints
    peak: Ints

    def size(self, j: int) -> int:
        """How many cells feature j has."""
        return int(self.start[j + 1] - self.start[j])

    def values(self, query: Query, chosen: Ints) -> dict[str, Any]:
        """The nearest point of one cell per feature, as exact values."""
        point: dict[str, Any] = {}
        for j, domain in enumerate(query.domains):
            value = self.point[self.start[j] + chosen[j]]
            if domain.is_symbolic:
                point[domain.name] = domain.feature.labels[int(value)]
            elif chosen[j] == self.home[j]:
                point[domain.name] = domain.factual
            else:
                point[domain.name] = domain.feature.typed(float(value))
        return point

    def around(self, query: Query, point: Mapping[str, Any]) -> Ints:
        """The cell of each feature that holds a point: what ``values`` takes."""
        chosen = [
            domain.labels.position(point[domain.name])
            if domain.is_symbolic
            else int(np.searchsorted(cuts, float(point[domain.name]), side="left"))
            for domain, cuts in zip(query.domains, self.cuts, strict=True)
        ]
        return np.array(chosen, dtype=np.int64)


@dataclass(frozen=True)
class Costs:
    """What moving a feature costs in ``UNIT``, and its admissible values; one entry per feature.

    ``flat``: of any change; ``slope``, ``square``: of δ_j and its square in sum, and ``top`` of δ_j
    in maximum, rounded down;
    ``delta``: of each label of a category, infinite where it is not admissible, else ``None``;
    ``size``: of a number's range, 0 if it is constant; ``ends``: its least and largest admissible
    values.
    """

    flat: list[int]
    slope: list[float]
    square: list[float]
    top: list[float]
    delta: list[Floats | None]
    size: list[float]
    ends: list[tuple[float, float]]


def make_costs(query: Query, norms: Norms) -> Costs:
    """Everything about cells that does not depend on the cuts."""
    return Costs(
        *_rates(norms, tuple(weights_of(query))),
        [domain.deltas if domain.is_symbolic else None for domain in query.domains],
        [float(domain.feature.range) for domain in query.domains],
        [(0.0, 0.0) if domain.is_symbolic else _ends(domain) for domain in query.domains],
    )


@lru_cache(maxsize=64)
def _rates(
    norms: Norms, weights: tuple[Fraction, ...]
) -> tuple[list[int], list[float], list[float], list[float]]:
    """``flat``, ``slope``, ``square`` and ``top`` of ``Costs``."""
    total, largest = shares_of(weights)
    return (
        [floor(norms.l0 * share / UNIT) for share in total],
        [float(norms.l1 * share / UNIT) * DOUBLES for share in total],
        [float(norms.l2 * share / UNIT) * DOUBLES for share in total],
        [float(norms.linf * share / UNIT) * DOUBLES for share in largest],
    )


def make_cells(query: Query, costs: Costs, cuts: Sequence[Floats]) -> Cells:
    """Cells between ``cuts`` (per feature, in any order), over the admissible values."""
    homes, points, bounds, deltas, firsts, lasts = [], [], [], [], [], []
    for j, (domain, own) in enumerate(zip(query.domains, cuts, strict=True)):
        delta = costs.delta[j]
        if delta is not None:
            homes.append(domain.labels.position(domain.factual))
            points.append(np.arange(delta.size, dtype=np.float64))
            bounds.append(np.empty(0))
            firsts.append(np.zeros(delta.size))
            lasts.append(np.zeros(delta.size))
        else:
            (low, high), here = costs.ends[j], float(domain.factual)
            last, after = _around(domain, own, low, high)
            first, end = np.concatenate([[low], after]), np.concatenate([last, [high]])
            point = np.minimum(np.maximum(here, first), end)
            homes.append(int((last < here).sum()))
            points.append(point)
            bounds.append(last)
            firsts.append(first)
            lasts.append(end)
            delta = domain.away(point)
        deltas.append(delta)
    sizes = [point.size for point in points]
    added, peak = _costs(costs, np.concatenate(deltas), np.array(sizes))
    return Cells(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array([domain.is_symbolic for domain in query.domains]),
        np.array(homes, dtype=np.int64),
        np.concatenate(points),
        np.concatenate(firsts),
        np.concatenate(lasts),
        tuple(bounds),
        np.array([low for low, _ in costs.ends]),
        np.array([high for _, high in costs.ends]),
        added,
        peak,
    )


def _costs(costs: Costs, delta: Floats, sizes: Ints) -> tuple[Ints, Ints]:
    """The costs of all cells (C,) in sum and in maximum; ``NEVER`` where δ is infinite."""
    flat, slope, square, top = (
        np.repeat(np.array(each), sizes)
        for each in (costs.flat, costs.slope, costs.square, costs.top)
    )
    possible = np.isfinite(delta)
    known = np.where(possible, delta, 0.0)
    added = np.floor(known * (slope + square * known)).astype(np.int64)
    added += np.where(known > 0, flat, 0)
    peak = np.floor(top * known).astype(np.int64)
    return np.where(possible, added, NEVER), np.where(possible, peak, NEVER)


def _ends(domain: Domain) -> tuple[float, float]:
    """The least and the largest admissible value of a number."""
    least, most = domain.ceil(domain.lower), domain.floor(domain.upper)
    assert least is not None  # the factual's own value is admissible
    assert most is not None
    return float(least), float(most)


def _around(domain: Domain, cuts: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """The admissible values just at or below each cut that tells, and just above it."""
    inside = np.unique(cuts[(cuts >= low) & (cuts < high)])
    if not inside.size:
        return inside, inside
    if domain.is_plain:
        whole = domain.step is not None
        last = np.unique(np.floor(inside)) if whole else inside
        return last, last + 1 if whole else np.nextafter(last, np.inf)
    poll()
    below, above = domain.nearest(inside, -1), domain.nearest(np.nextafter(inside, np.inf), 1)
    known = ~(np.isnan(below) | np.isnan(above))
    last, first = np.unique(below[known], return_index=True)
    return last, above[known][first]
