"""Tangents of δ², for solvers that know linear forms alone.

A parabola lies above its tangents, so a column or variable that only has to lie above these is a
relaxation: what is refuted with it is refuted.  A point that it admits too near tells where more of
them are needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..frontends.query import Query

FIRST = 6  # tangents of each δ_j², before any point is known
APART = Fraction(1, 10**6)  # tangents nearer to each other differ by less than solvers' tolerances


class Tangents:
    """Where the tangents of every δ_j² touch."""

    def __init__(self) -> None:
        self._places: dict[str, set[Fraction]] = {}

    def of(self, name: str, most: Fraction) -> list[tuple[Fraction, Fraction]]:
        """``(slope, constant)`` of the tangents of one feature whose δ_j is at most ``most``."""
        first = {most * k / FIRST for k in range(1, FIRST + 1)}
        return [(2 * t, -t * t) for t in sorted(first | self._places.get(name, set()))]

    def touch(self, query: Query, point: Mapping[str, Any]) -> bool:
        """Add tangents where a point is; whether some of them are new."""
        new = False
        for domain in query.domains:
            if not domain.is_symbolic:
                delta = domain.delta(point[domain.name])
                places = self._places.setdefault(domain.name, set())
                if all(abs(delta - place) >= APART for place in places):
                    places.add(delta)
                    new = True
        return new


__all__ = ["Tangents"]
