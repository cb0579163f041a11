"""Levels: what every feature may be, numbers by the quantile bucket that they lie in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...arrays import Array, Bools, Floats, Ints
from ...errors import ModelFileError
from ...space import Feature, FeatureSpace

Codes = Ints
Bands = Mapping[str, Floats]
"""Inner edges of numbers, by feature: b is the band above ``edges[b - 1]``, and not above
``edges[b]``.
"""


@dataclass(frozen=True)
class FeatureLevels:
    """The levels of one feature.

    Attributes:
        feature: Of the space.
        values: What each level decodes to (L,): a number that a cell can hold, or a label's code.
        edges: Of a number the inner edges (L - 1,): level l is of what lies above ``edges[l - 1]``
            and at most at ``edges[l]``; what lies beyond the data is of the first or last one.
    """

    feature: Feature
    values: Floats
    edges: Floats

    def __len__(self) -> int:
        return self.values.size

    @property
    def is_free(self) -> bool:
        """Whether it can change at all."""
        return len(self) > 1 and self.feature.action != "fixed"

    def of(self, column: Array) -> Codes:
        """The level of each value of a column."""
        if self.feature.is_symbolic:
            return column.astype(np.int64)
        return np.searchsorted(self.edges, column, side="left").astype(np.int64)

    def allowed(self, column: Array, levels: Codes) -> Bools:
        """Where each instance of a column may go (n, L); the own level is the factual's value.

        A monotone feature may go where the level's value lies on the right side of the own one.
        """
        found: Bools = levels[:, None] == np.arange(len(self))
        values, here = self.values[None], column[:, None].astype(np.float64)
        if not self.is_free:
            return found
        if self.feature.action == "increase":
            found |= values > here
        elif self.feature.action == "decrease":
            found |= values < here
        else:
            found |= values != here
        return found


def levels_of(feature: Feature, column: Array, buckets: int, rows: int) -> FeatureLevels:
    """Cut a feature by a column of data (A.3): at most ``buckets``, each of at least ``rows``.

    Quantiles as ``pandas.qcut`` has them, equal edges dropped; fewer until every bucket holds
    enough, and until all buckets decode to numbers of their own.  Where all quantiles are one value
    that is not the only one (most instances gain no capital), this value is a bucket of its own
    beside those of smaller and of larger ones; by quantiles alone it could not change.  Labels are
    levels as they are.
    """
    if feature.is_symbolic:
        return FeatureLevels(feature, np.arange(float(len(feature.labels))), np.empty(0))
    values, edges = _cut(feature, column, buckets, rows)
    if values.size == 1 and buckets > 1:
        values, edges = _beside(feature, column, buckets, rows)
    return FeatureLevels(feature, values, edges)


def _cut(feature: Feature, column: Floats, buckets: int, rows: int) -> tuple[Floats, Floats]:
    """Values and inner edges of quantile buckets."""
    for count in range(buckets, 1, -1):
        _, bins = pd.qcut(column, count, retbins=True, duplicates="drop")
        if bins.size < 3:
            break
        held = np.bincount(np.searchsorted(bins[1:-1], column, side="left"), minlength=1)
        values = np.array([_middle(feature, *ends) for ends in pairwise(bins)])
        below = values[1:] <= bins[1:-1]  # the edge belongs to the bucket before
        values[1:][below] = [_middle(feature, end, end) for end in bins[2:][below]]
        own = np.searchsorted(bins[1:-1], values, side="left")
        if held.min() >= rows and (own == np.arange(values.size)).all():
            return values, bins[1:-1].astype(np.float64)
    ends = float(column.min()), float(column.max())
    return np.array([_middle(feature, *ends)]), np.empty(0)


def _beside(feature: Feature, column: Floats, buckets: int, rows: int) -> tuple[Floats, Floats]:
    """Buckets of what lies below the most frequent value, of this value, and of what lies above.

    A side with too few rows belongs to the value's own bucket.
    """
    distinct, counts = np.unique(column, return_counts=True)
    middle = float(distinct[counts.argmax()])
    below, above = column[column < middle], column[column > middle]
    values, edges = [_middle(feature, middle, middle)], list[float]()
    if below.size >= rows:
        first, inner = _cut(feature, below, buckets - 1, rows)
        values, edges = [*first.tolist(), *values], [*inner.tolist(), float(below.max())]
    if above.size >= rows:
        last, inner = _cut(feature, above, buckets - 1, rows)
        values, edges = [*values, *last.tolist()], [*edges, middle, *inner.tolist()]
    if counts.max() >= rows and (np.diff(values) > 0).all():
        return np.array(values), np.array(edges, np.float64)
    return np.array([_middle(feature, float(column.min()), float(column.max()))]), np.empty(0)


def _middle(feature: Feature, low: float, high: float) -> float:
    """The admissible value of a number nearest to the middle of a bucket."""
    middle = (Fraction(low) + Fraction(high)) / 2
    lower, upper = feature.bounds
    if feature.kind != "real":
        return float(min(max(round(middle), int(lower)), int(upper)))
    if feature.steps is None:
        held = float(feature.held(middle))
        return (
            held if lower <= held <= upper else float(feature.held(min(max(middle, lower), upper)))
        )
    assert feature.resolution is not None
    first, last = feature.steps
    multiple = min(max(round(middle / feature.resolution), first), last)
    return float(feature.held(multiple * feature.resolution))


class Levels:
    """The levels of a space: instances as codes (n, J), and codes as values.

    Attributes:
        features: One entry per feature, in order.
        free: Positions of the features that can change, K of the paper.
        slots: First column of each feature in the one-hot input.
        width: Columns of the one-hot input, D.
        places: Where a network's output has each level of a free feature (K, ``most``); 0 beyond
            the last level.
        most: The largest number of levels of a feature.
    """

    def __init__(self, features: Sequence[FeatureLevels]) -> None:
        self.features = tuple(features)
        self.free = np.array([j for j, each in enumerate(self.features) if each.is_free], np.int64)
        sizes = [len(each) for each in self.features]
        self.slots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        self.width, self.most = sum(sizes), max(sizes)
        ends = np.cumsum([0, *(sizes[j] for j in self.free)])
        self.places = np.zeros((self.free.size, self.most), np.int64)
        for k, j in enumerate(self.free.tolist()):
            self.places[k, : sizes[j]] = np.arange(ends[k], ends[k + 1])

    @classmethod
    def cut(
        cls, space: FeatureSpace, columns: Mapping[str, Array], buckets: int, rows: int
    ) -> Levels:
        """Levels of all features by columns of data."""
        return cls([levels_of(f, columns[f.name], buckets, rows) for f in space])

    @property
    def numbers(self) -> list[Feature]:
        """The features that are numbers."""
        return [each.feature for each in self.features if not each.feature.is_symbolic]

    def codes(self, columns: Mapping[str, Array]) -> Codes:
        """The level of each instance in each feature (n, J)."""
        return np.stack([each.of(columns[each.feature.name]) for each in self.features], axis=1)

    def reach(self, columns: Mapping[str, Array], codes: Codes) -> Bools:
        """Where each instance may go in each free feature (n, K, ``most``)."""
        found = np.zeros((codes.shape[0], self.free.size, self.most), dtype=bool)
        for k, j in enumerate(self.free.tolist()):
            each = self.features[j]
            found[:, k, : len(each)] = each.allowed(columns[each.feature.name], codes[:, j])
        return found

    def one_hot(self, codes: Codes) -> npt.NDArray[np.float32]:
        """z of the paper (n, D)."""
        found = np.zeros((codes.shape[0], self.width), np.float32)
        np.put_along_axis(found, codes + self.slots, 1.0, axis=1)
        return found

    def columns(
        self, raw: Mapping[str, Array], instances: Codes, own: Codes, codes: Codes
    ) -> dict[str, Array]:
        """What rows of codes (m, J) decode to, as the batch evaluator takes it.

        Row i is of instance ``instances[i]``; where it has the instance's own level it keeps its
        value.
        """
        found: dict[str, Array] = {}
        for j, each in enumerate(self.features):
            column = raw[each.feature.name][instances]
            if each.feature.is_symbolic:
                column = codes[:, j]
            elif each.is_free:
                moved = codes[:, j] != own[instances, j]
                column = np.where(moved, each.values[codes[:, j]], column)
            found[each.feature.name] = column
        return found

    def to_dict(self) -> list[dict[str, Any]]:
        """For JSON, exactly."""
        return [
            {"feature": each.feature.name, "values": each.values.tolist(),
             "edges": each.edges.tolist()}
            for each in self.features
        ]  # fmt: skip

    @classmethod
    def from_dict(cls, space: FeatureSpace, found: Any, where: str) -> Levels:
        """What :meth:`to_dict` wrote.

        Raises:
            ModelFileError: it is none, or of other features.
        """
        fields = {"feature", "values", "edges"}
        if not isinstance(found, list) or len(found) != len(space):
            raise ModelFileError(f"{where}: not one entry of levels for each feature")
        made = []
        for feature, entry in zip(space, found, strict=True):
            if not isinstance(entry, dict) or set(entry) != fields:
                raise ModelFileError(f"{where}: levels have the fields {', '.join(sorted(fields))}")
            values, edges = _numbers(entry["values"], where), _numbers(entry["edges"], where)
            size = len(feature.labels) if feature.is_symbolic else values.size
            inner = 0 if feature.is_symbolic else size - 1
            if entry["feature"] != feature.name or values.size != size or edges.size != inner:
                raise ModelFileError(f"{where}: levels of {feature.name!r} do not fit it")
            made.append(FeatureLevels(feature, values, edges))
            if odd := _strays(made[-1]):
                raise ModelFileError(
                    f"{where}: level {odd[0]:g} of {feature.name!r} is none that was learned: "
                    "outside of its range or bucket, or off its grid; fit the generator again"
                )
        return cls(made)


def _strays(levels: FeatureLevels) -> list[float]:
    """Levels that cutting cannot have made.

    A level is the admissible value nearest to some value of its bucket; so it is also the nearest
    one to the end of the bucket on its own side, or lies inside.
    """
    if levels.feature.is_symbolic:
        return [v for place, v in enumerate(levels.values.tolist()) if v != place]
    ends = pairwise([-np.inf, *levels.edges.tolist(), np.inf])
    buckets = zip(levels.values.tolist(), ends, strict=True)
    nearest = ((v, float(min(max(v, low), high))) for v, (low, high) in buckets)
    return [v for v, inside in nearest if _middle(levels.feature, inside, inside) != v]


def _numbers(found: Any, where: str) -> Floats:
    if not isinstance(found, list) or any(type(each) not in (int, float) for each in found):
        raise ModelFileError(f"{where}: levels are lists of numbers")
    numbers = np.array(found, np.float64)
    if not np.isfinite(numbers).all() or (np.diff(numbers) <= 0).any():
        raise ModelFileError(f"{where}: levels are finite numbers that rise")
    return numbers
