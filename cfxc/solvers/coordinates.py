"""Coordinates of a feature space as forms of a query's terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from ..compiler.functional import Symbolic
from ..compiler.terms import Term
from ..question.coordinates import Coordinate
from ..question.query import Query

Form = TypeVar("Form")
Parts = list[tuple[Fraction, Form]]


def coordinate_parts(
    query: Query,
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


__all__ = ["Form", "Parts", "coordinate_parts"]
