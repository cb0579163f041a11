"""Features as cells: between two neighbouring cuts nothing that decides can change.

Of a cell only the admissible point nearest to the factual matters, for every distance that grows
with each δ_j.  Costs are whole numbers of ``UNIT``, rounded down, so that the cost of a cell is
never above the distance of a point in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import numpy.typing as npt

from ...frontends.query import Domain, Query
from ..ball import Norms, weights_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

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
    symbolic: npt.NDArray[np.bool_]
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
                point[domain.name] = (
                    int(value) if domain.sort.kind == "int" else Fraction(float(value))
                )
        return point


def make_cells(query: Query, norms: Norms, cuts: list[Floats]) -> Cells:
    """Cells between ``cuts`` (per feature, in any order), over the admissible values."""
    homes, points, bounds, deltas, ends, firsts, lasts = [], [], [], [], [], [], []
    for domain, own in zip(query.domains, cuts, strict=True):
        if domain.is_symbolic:
            labels = domain.labels
            homes.append(labels.position(domain.factual))
            away = np.abs(np.arange(len(labels)) - homes[-1])
            away = away if domain.feature.kind == "ordinal" else np.minimum(away, 1)
            delta = np.full(len(labels), np.inf)
            allowed = [labels.position(label) for label in domain.allowed]
            delta[allowed] = away[allowed] / (float(domain.feature.range) or np.inf)
            points.append(np.arange(len(labels), dtype=np.float64))
            bounds.append(np.empty(0))
            ends.append((0.0, 0.0))
            firsts.append(np.zeros(len(labels)))
            lasts.append(np.zeros(len(labels)))
        else:
            low, high = _ends(domain)
            last, after = _around(domain, own, low, high)
            first, end = np.concatenate([[low], after]), np.concatenate([last, [high]])
            home = int((last < float(domain.factual)).sum())
            point = np.clip(float(domain.factual), first, end)
            ends.append((low, high))
            firsts.append(first)
            lasts.append(end)
            size = float(domain.feature.range)
            away = np.abs(point - float(domain.factual))
            delta = away / size if size else np.zeros(point.size)
            homes.append(home)
            points.append(point)
            bounds.append(last)
        deltas.append(delta)
    sizes = [point.size for point in points]
    added, peak = _costs(query, norms, deltas)
    return Cells(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array([domain.is_symbolic for domain in query.domains]),
        np.array(homes, dtype=np.int64),
        np.concatenate(points),
        np.concatenate(firsts),
        np.concatenate(lasts),
        tuple(bounds),
        np.array([low for low, _ in ends]),
        np.array([high for _, high in ends]),
        np.concatenate(added),
        np.concatenate(peak),
    )


def _costs(query: Query, norms: Norms, deltas: list[Floats]) -> tuple[list[Ints], list[Ints]]:
    weights = weights_of(query)
    total, largest = sum(weights, Fraction(0)) or Fraction(1), max(weights) or Fraction(1)
    added, peak = [], []
    for weight, delta in zip(weights, deltas, strict=True):
        per_change = floor(norms[0] * weight / total / UNIT)
        slope = float(norms[1] * weight / total / UNIT) * DOUBLES
        top = float(norms[2] * weight / largest / UNIT) * DOUBLES
        possible = np.isfinite(delta)
        known = np.where(possible, delta, 0.0)
        costs = np.floor(slope * known).astype(np.int64) + np.where(known > 0, per_change, 0)
        added.append(np.where(possible, costs, NEVER))
        peak.append(np.where(possible, np.floor(top * known).astype(np.int64), NEVER))
    return added, peak


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
    if _is_plain(domain):
        whole = domain.step is not None
        last = np.unique(np.floor(inside)) if whole else inside
        return last, last + 1 if whole else np.nextafter(last, np.inf)
    pairs = {_pair(domain, cut) for cut in inside.tolist()}
    kept = sorted((a, b) for a, b in pairs if a is not None and b is not None)
    below = np.array([a for a, _ in kept], dtype=np.float64)
    return below, np.array([b for _, b in kept], dtype=np.float64)


def _is_plain(domain: Domain) -> bool:
    """Whether the admissible values are all doubles of the range, or all its whole numbers."""
    storage = domain.feature.storage
    if domain.step is None:
        return bool(storage == np.float64)
    held_whole = storage.kind in "iu" or storage == np.float64
    own_whole = Fraction(domain.factual).denominator == 1
    small = max(abs(domain.lower), abs(domain.upper)) < 2**52
    return domain.step == 1 and held_whole and own_whole and small


def _pair(domain: Domain, cut: float) -> tuple[float | None, float | None]:
    """The admissible values around a cut: at most it, and above it."""
    below, above = domain.floor(cut), domain.ceil(float(np.nextafter(cut, np.inf)))
    return (
        None if below is None else float(below),
        None if above is None else float(above),
    )


__all__ = ["NEVER", "UNIT", "Cells", "make_cells"]
