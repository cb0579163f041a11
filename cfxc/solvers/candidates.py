"""Points as engines exchange them: exact values, always verified before they count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..question.query import Query
from .hulls import admits, slack_of

Point = Mapping[str, Any]
MARGINS = tuple(Fraction(1, 10**k) for k in (12, 9, 7, 5, 4, 3, 2, 1))
"""By how much to win the deciding score where it is not known what rounding may do, in turn."""
Known = Callable[[], Sequence[Point]]
"""Gives points to start from where a search finds none by itself, the nearest first."""
Deployed = Callable[[Point], bool]  # whether the original model puts a point in the target


def nothing() -> Sequence[Point]:
    """No point is known."""
    return ()


@dataclass(frozen=True)
class Candidate:
    """A point that is in the target, admissible, and flips the original model."""

    point: Point
    distance: Fraction


def verify(query: Query, point: Point, deployed: Deployed) -> Candidate | None:
    """The point as a candidate if it is one: exact program, constraints, hulls, original model."""
    if query.violated(point) or not query.in_target(point):
        return None
    slack = slack_of(query, point)
    if not admits(query, slack) or not deployed(point):
        return None
    extra = slack * query.hulls[0].weight if query.hulls else Fraction(0)
    return Candidate(dict(point), query.distance_to(point) + extra)
