"""A Mahalanobis distance as engines need it: its linear forms, and the ball's box."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..compiler.terms import Term
from ..ir import LabelTuple
from ..ir.interval import ceil_float
from ..question.coordinates import Coordinate
from ..question.distances import root_above
from ..question.distances.mahalanobis import Whitening
from ..question.domain import Domain
from ..question.query import Query
from .coordinates import Form, Parts, coordinate_parts


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
        each.of(domains[each.feature].factual, _labels(domains[each.feature]))
        for each in whitening.coordinates
    ]
    parts = coordinate_parts(query, whitening.coordinates, inputs, number, truth)
    forms = []
    for row in whitening.rows:
        made = [(w * factor, form) for w, k in row for factor, form in parts[k]]
        forms.append((made, -sum((w * factual[k] for w, k in row), Fraction(0))))
    return forms


def _labels(domain: Domain) -> LabelTuple | None:
    return domain.labels if domain.is_symbolic else None


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


__all__ = ["whitened_forms", "whitened_limits"]
