"""Points of a feature space as vectors of numbers: what distances and regions are measured in."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ir import LabelTuple
from ..space import Feature

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Coordinate:
    """A number that a feature stands for: itself over its range, or an entry of ``table``."""

    feature: str
    scale: Fraction = Fraction(1)
    table: tuple[Fraction, ...] | None = None

    def of(self, value: Any, labels: LabelTuple | None) -> Fraction:
        """z for a value of the feature."""
        if self.table is None or labels is None:
            return Fraction(value) * self.scale
        return self.table[labels.position(value)]


def coordinates_of(feature: Feature, *, first: int = 1) -> list[tuple[str, Coordinate]]:
    """The coordinates of a feature, each with a name; none if it never changes.

    Numbers and orders over their ranges; of a category an indicator of each label from ``first``.
    """
    if not feature.range:
        return []
    if not feature.is_symbolic:
        return [(feature.name, Coordinate(feature.name, 1 / feature.range))]
    places = range(len(feature.labels))
    if feature.kind == "ordinal":
        table = tuple(place / feature.range for place in places)
        return [(feature.name, Coordinate(feature.name, table=table))]
    return [
        (
            f"{feature.name} = {feature.labels[one]!r}",
            Coordinate(feature.name, table=tuple(Fraction(place == one) for place in places)),
        )
        for one in places[first:]
    ]


def column_of(coordinate: Coordinate, codes: npt.NDArray[Any]) -> Floats:
    """The coordinate of n rows, whose feature was encoded as ``codes``; shape (n,)."""
    if coordinate.table is None:
        return np.asarray(codes * float(coordinate.scale), dtype=np.float64)
    return np.array([float(z) for z in coordinate.table])[codes.astype(np.int64)]


__all__ = ["Coordinate", "column_of", "coordinates_of"]
