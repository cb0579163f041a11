"""Tangents of squares, for solvers that know linear forms alone.

What is squared is δ_j, under l2, or an entry of W (z - ẑ), under a Mahalanobis distance.

A parabola lies above its tangents, so a column or variable that only has to lie above these is a
relaxation: what is refuted with it is refuted.  A point that it admits too near tells where more of
them are needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..question.query import Query

FIRST = 6  # tangents of each square, before any point is known
APART = Fraction(1, 10**6)  # tangents nearer to each other differ by less than solvers' tolerances


class Tangents:
    """Where the tangents of every square touch, on the side above 0."""

    def __init__(self) -> None:
        self._places: dict[str, set[Fraction]] = {}

    def of(self, name: str, most: Fraction) -> list[Fraction]:
        """Where the tangents of one square touch whose root is at most ``most``.

        The tangent at t is ``2 t y - t²``.
        """
        first = {most * k / FIRST for k in range(1, FIRST + 1)}
        return sorted(first | self._places.get(name, set()))

    def touch(self, query: Query, point: Mapping[str, Any]) -> bool:
        """Add tangents where a point is; whether some of them are new."""
        new = False
        for name, place in _roots(query, point):
            new |= self.add(name, place)
        return new

    @property
    def count(self) -> int:
        """How many there are, beside the first ones."""
        return sum(map(len, self._places.values()))

    def add(self, name: str, place: Fraction) -> bool:
        """Add a tangent of one square; whether none was as near to there."""
        places = self._places.setdefault(name, set())
        new = all(abs(place - other) >= APART for other in places)
        if new:
            places.add(place)
        return new


def _roots(query: Query, point: Mapping[str, Any]) -> list[tuple[str, Fraction]]:
    """What is squared at a point, each with its name."""
    whitening = query.distance.whitening
    if whitening is not None:
        parts = whitening.parts(query.space, point, query.factual)
        return [(whitened_name(i), abs(part)) for i, part in enumerate(parts)]
    return [
        (domain.name, domain.delta(point[domain.name]))
        for domain in query.domains
        if not domain.is_symbolic
    ]


def whitened_name(i: int) -> str:
    """What entry i of W (z - ẑ) is called."""
    return f"whitened {i + 1}"


__all__ = ["Tangents", "whitened_name"]
