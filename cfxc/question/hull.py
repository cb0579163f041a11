"""Points of a feature space as vectors, the convex hull of rows, and what lies near it.

With z the coordinates of a point (numbers and orders over their ranges, an indicator of each label
of a category) and z_i those of the rows, the ε-hull (equation 3 of Maragno, Röber & Birbil 2022) is

    { z :  Σ λ_i z_i = z + s,  Σ λ_i = 1,  λ >= 0,  ||s||_p <= ε }.

For any normal a it lies within ``a·z <= max_i a·z_i + ε ||a||_*``, and nothing else does for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..arrays import Array, Floats
from ..ir import Builder, Operand, Tensor, ops
from ..ir import Literal as Constant
from ..ir.tensor import fractions
from ..space import Feature, FeatureSpace
from ..space.feature import sort_of
from .domain import Domain


@dataclass(frozen=True)
class Coordinate:
    """What a feature's value v is as a number: (v - offset)·scale, or an entry of ``table``."""

    feature: str
    scale: Fraction = Fraction(1)
    table: tuple[Fraction, ...] | None = None
    offset: Fraction = Fraction(0)

    def of(self, value: Any, feature: Feature) -> Fraction:
        """z for a value of the feature."""
        if self.table is None:
            return (Fraction(value) - self.offset) * self.scale
        return self.table[feature.label_tuple.position(value)]

    def back(self, z: Floats) -> Floats:
        """The numbers that have these coordinates, to within rounding."""
        return z / float(self.scale) + float(self.offset)

    def ends(self, domain: Domain) -> tuple[float, float]:
        """The least and the largest z of admissible values."""
        values = domain.allowed if domain.is_symbolic else (domain.lower, domain.upper)
        found = [float(self.of(value, domain.feature)) for value in values]
        return min(found), max(found)


def coordinates_of(feature: Feature, *, first: int = 1) -> list[tuple[str, Coordinate]]:
    """The coordinates of a feature, each with a name; none if it never changes.

    Numbers and orders over their ranges; of a category an indicator of each label from ``first``.
    """
    if not feature.range:
        return []
    if not feature.is_symbolic:
        return [(feature.name, Coordinate(feature.name, 1 / feature.range))]
    if feature.kind == "ordinal":
        table = tuple(place / feature.range for place in range(len(feature.labels)))
        return [(feature.name, Coordinate(feature.name, table=table))]
    return indicators_of(feature, first)


def indicators_of(feature: Feature, first: int = 1) -> list[tuple[str, Coordinate]]:
    """Of labels from ``first`` on, whether each is the feature's; each with a name."""
    places = range(len(feature.labels))
    return [
        (
            f"{feature.name} = {feature.labels[one]!r}",
            Coordinate(feature.name, table=tuple(Fraction(place == one) for place in places)),
        )
        for one in places[first:]
    ]


def vector_of(
    coordinates: Iterable[Coordinate], space: FeatureSpace, point: Mapping[str, Any]
) -> tuple[Fraction, ...]:
    """The coordinates of a point (feature → exact value), exactly."""
    return tuple(each.of(point[each.feature], space[each.feature]) for each in coordinates)


def column_of(coordinate: Coordinate, codes: Array) -> Floats:
    """The coordinate of n rows, whose feature was encoded as ``codes``; shape (n,)."""
    if coordinate.table is None:
        moved = codes - float(coordinate.offset)
        return np.asarray(moved * float(coordinate.scale), dtype=np.float64)
    return np.array([float(z) for z in coordinate.table])[codes.astype(np.int64)]


class Combining(Builder):
    """Writes sums of coordinates over an input ``<record><feature>`` for each of their features."""

    def __init__(
        self, name: str, space: FeatureSpace, coordinates: Sequence[Coordinate], record: str = ""
    ) -> None:
        super().__init__(name)
        self.space, self.coordinates, self.record = space, coordinates, record
        self.reserve(space.names)
        for feature in dict.fromkeys(each.feature for each in coordinates):
            self.input(f"{record}{feature}", sort_of(space[feature]))

    def combined(self, weights: Iterable[Fraction], constant: Fraction = Fraction(0)) -> Operand:
        """``constant + Σ weight · z``, exactly."""
        parts: list[Operand] = []
        tables: list[tuple[str, list[Fraction]]] = []
        for each, weight in zip(self.coordinates, weights, strict=True):
            if each.table is not None:
                tables.append((each.feature, [weight * z for z in each.table]))
            elif weight:
                constant -= weight * each.scale * each.offset
                parts.append(self.times(each.feature, weight * each.scale))
        return self.total([*parts, *self.looked_up(tables)], constant)

    def times(self, feature: str, factor: Fraction) -> str:
        """A number by a factor."""
        return self.let(ops.Mul(f"{self.record}{feature}", Constant(factor)))

    def looked_up(self, tables: Iterable[tuple[str, list[Fraction]]]) -> list[str]:
        """What the label of each feature is worth, by the sum of its tables."""
        sums: dict[str, list[Fraction]] = {}
        for name, table in tables:
            known = sums.get(name, [Fraction(0)] * len(table))
            sums[name] = [x + y for x, y in zip(known, table, strict=True)]
        found = []
        for name, table in sums.items():
            labels, worths = self.space[name].label_tuple, Tensor(fractions(table), "rat")
            found.append(self.let(ops.Lookup(f"{self.record}{name}", labels, worths)))
        return found

    def total(self, parts: Iterable[Operand], constant: Fraction = Fraction(0)) -> Operand:
        """The sum of the parts and a constant."""
        start: Operand = Constant(constant)
        return reduce(lambda x, y: self.let(ops.Add(x, y)), parts, start)


Norm = Literal["l1", "l2", "linf"]
NORMS = ("l1", "l2", "linf")
NUMPY = {"l1": 1, "l2": 2, "linf": np.inf}
DUAL = {"l1": np.inf, "l2": 2, "linf": 1}
TOLERANCE = Fraction(1, 10**6)
"""How far beyond ε a point may lie: a hull's faces have normals that no grid meets exactly."""
ROUNDING = 1e-12  # of sums of coordinates: far above what doubles lose
EPS = 2.0**-52


@dataclass(frozen=True, eq=False)
class Hull:
    """The ε-hull of some rows.

    Attributes:
        coordinates: What the columns of ``points`` are.
        points: The rows' coordinates, shape (n, K), as doubles: these are the hull's corners.
            Quickest in Fortran's order.
        epsilon: ε; ``None`` for no limit.
        weight: β.
        table: The rows.
        text: How it was asked for.
    """

    coordinates: tuple[Coordinate, ...]
    points: Floats
    epsilon: Fraction | None
    norm: Norm
    weight: Fraction
    table: pd.DataFrame = field(repr=False)
    text: str = ""

    @cached_property
    def largest(self) -> float:
        """The largest coordinate, in size."""
        return float(np.abs(self.points).max())

    @property
    def reach(self) -> Fraction:
        """The most that ``||s||`` may be: ε and the tolerance, or more than coordinates differ."""
        if self.epsilon is None:
            return 2 * Fraction(len(self.coordinates)) + Fraction(self.largest)
        return self.epsilon + TOLERANCE

    @property
    def inner(self) -> Fraction:
        """A slack that leaves room for rounding."""
        return self.reach - TOLERANCE / 2

    def vector(self, space: FeatureSpace, values: Mapping[str, Any]) -> tuple[Fraction, ...]:
        """The coordinates of a point, exactly."""
        return vector_of(self.coordinates, space, values)

    def slack(self, z: Sequence[Fraction], rows: Sequence[int], shares: Floats) -> Fraction:
        """``||Σ λ_i z_i - z||``, rounded upward.  Shares are scaled to sum to 1."""
        chosen, parts = self.points[list(rows)], np.maximum(shares, 0.0)
        own = np.array([float(one) for one in z])
        away = np.abs(parts / parts.sum() @ chosen - own)
        size = 1 + float(np.abs(chosen).max()) + float(np.abs(own).max())
        away += (len(rows) + 8) * EPS * size  # what doubles lose on the way
        return Fraction(float(np.linalg.norm(away, NUMPY[self.norm])) * (1 + ROUNDING))

    def along(self, normal: Floats) -> Floats:
        """``a·z`` of each row, of shape (n,); a face's normal often is 0, or nearly all of it."""
        used = np.flatnonzero(normal)
        every = used.size == normal.size
        return self.points @ normal if every else self.points[:, used] @ normal[used]

    def support(self, normal: Floats, along: Floats | None = None) -> float:
        """``max a·z`` over the hull without ε, rounded upward; ``along``: a·z of each row."""
        most = float((self.along(normal) if along is None else along).max())
        return most + ROUNDING * (1 + float(np.abs(normal).sum()) * self.largest)

    def dual_norm(self, normal: Floats) -> float:
        """``max a·s`` over ``||s|| <= 1``, rounded upward."""
        return float(np.linalg.norm(normal, DUAL[self.norm])) * (1 + ROUNDING)
