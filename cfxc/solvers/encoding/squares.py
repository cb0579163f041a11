"""Tangents of squares, for solvers that know linear forms alone.

What is squared is δ_j, under l2, or an entry of W (z - ẑ), under a Mahalanobis distance.

A parabola lies above its tangents, so a column or variable that only has to lie above these is a
relaxation: what is refuted with it is refuted.  A point that it admits too near tells where more of
them are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from ...compiler.functional import Symbolic
from ...compiler.terms import Term
from ...ir.interval import ceil_float
from ...question.distances import root_above
from ...question.distances.mahalanobis import Whitening
from ...question.domain import Domain
from ...question.hull import Coordinate
from ...question.query import Query

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


def whitened_forms(
    query: Query,
    inputs: Mapping[str, Any],
    number: Callable[[Term], Form],
    truth: Callable[[Term], Form],
) -> list[tuple[Parts[Form], Fraction]]:
    """Of every entry of ``W (z - ẑ)`` its parts over the features' terms, and its constant.

    ``number`` and ``truth`` write the terms of numbers and of labels' guards.
    """
    whitening = query.distance.whitening
    assert whitening is not None
    domains = {domain.name: domain for domain in query.domains}
    factual = [
        each.of(domains[each.feature].factual, domains[each.feature].feature)
        for each in whitening.coordinates
    ]
    parts = coordinate_parts(whitening.coordinates, inputs, number, truth)
    forms = []
    for row in whitening.rows:
        made = [(w * factor, form) for w, k in row for factor, form in parts[k]]
        forms.append((made, -sum((w * factual[k] for w, k in row), Fraction(0))))
    return forms


def whitened_limits(query: Query, square: Fraction) -> list[Fraction | None]:
    """The largest δ_j of every feature where the square of the distance is at most ``square``."""
    whitening = query.distance.whitening
    assert whitening is not None
    domains = {domain.name: domain for domain in query.domains}
    known = whitening.coordinates
    most = np.array([_most(each, domains[each.feature]) for each in known])
    reach = whitening.reach(root_above(square), most) if square >= 0 else 0 * most
    limits: dict[str, Fraction | None] = {}
    for name, domain in domains.items():
        own = [k for k, each in enumerate(known) if each.feature == name]
        if not own:
            limits[name] = None
        elif domain.is_symbolic and domain.feature.kind != "ordinal":
            limits[name] = _label_limit(domain, whitening, own, reach)
        else:
            limits[name] = Fraction(float(reach[own[0]]))
    return list(limits.values())


def _most(coordinate: Coordinate, domain: Domain) -> float:
    """The most that a coordinate can move, rounded up."""
    if coordinate.table is not None:
        return 1.0
    own = Fraction(domain.factual)
    away = max(domain.upper - own, own - domain.lower, Fraction(0))
    return ceil_float(away * coordinate.scale)


def _label_limit(
    domain: Domain, whitening: Whitening, own: list[int], reach: Any
) -> Fraction | None:
    """0 if no other label is in reach: a change moves its own indicator and the new one by 1."""
    here = domain.labels.position(domain.factual)
    stuck = [k for k in own if reach[k] < 1]
    tables = [whitening.coordinates[k].table or () for k in stuck]
    leaves = any(table[here] for table in tables)
    return Fraction(0) if leaves or (not here and stuck == own) else None


Form = TypeVar("Form")
Parts = list[tuple[Fraction, Form]]


def coordinate_parts(
    coordinates: Sequence[Coordinate],
    inputs: Mapping[str, Any],
    number: Callable[[Term], Form],
    truth: Callable[[Term], Form],
) -> list[Parts[Form]]:
    """The parts of every coordinate over the features' terms.

    ``number`` and ``truth`` write the terms of numbers and of labels' guards.
    """
    found: list[Parts[Form]] = []
    for each in coordinates:
        value = inputs[each.feature]
        if each.table is None:
            found.append([(each.scale, number(value))])
            continue
        assert isinstance(value, Symbolic)
        pairs = zip(each.table, value.guards, strict=True)
        found.append([(z, truth(g)) for z, g in pairs if z and not g.is_false])
    return found
