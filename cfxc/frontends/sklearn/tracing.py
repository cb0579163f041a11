"""Columns as functions of one column of the table, and conditions on them traced back to it.

Deployed transformers round.  A tree behind one compares rounded numbers, so its question is asked
of the table instead: for which doubles does what the library computes stay within the bound?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...errors import UnsupportedError
from ...ir import ops
from .lowering import Cell, Function, Image, Lowering, Ref, Stage, Traced, tensor

ALWAYS = float(np.finfo(np.float64).max)


class Region(NamedTuple):
    """A set of doubles: those up to the first cut if ``first``, else not; it changes at each cut.

    Cuts are the last doubles before a change, rising.
    """

    first: bool
    cuts: tuple[float, ...]


def image_of(lowering: Lowering, ref: Ref) -> Image | None:
    """Which function of which column of the table a column is; ``None`` if of several, or none."""
    image = ref.image if isinstance(ref, Cell | Traced) else Image(ref)
    if image is None or lowering.source(image.source).flaw:  # which has been reported
        return None
    return image


def last_below(function: Function, threshold: Floats) -> Floats:
    """The largest doubles x with ``function(x) <= threshold``, elementwise, by bisection.

    ``function`` is rising.  The lowest double where there is none.
    """
    with np.errstate(all="ignore"):
        low, high = (np.full(threshold.shape, sign * _order(ALWAYS)) for sign in (-1, 1))
        low[function(_doubles(high)) <= threshold] = _order(ALWAYS)
        return _doubles(_bisected(low, high, lambda x: function(x) <= threshold))


def _bisected(low: Ints, high: Ints, stays: Callable[[Floats], npt.NDArray[np.bool_]]) -> Ints:
    """Elementwise the last place before a test fails that holds at ``low`` and not at ``high``."""
    while (open_ := high - 1 > low).any():
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        below = stays(_doubles(middle))
        low = np.where(open_ & below, middle, low)
        high = np.where(open_ & ~below, middle, high)
    return low


def _order(value: float) -> np.int64:
    """The place of a double among all of them, 0 being that of zero."""
    place = np.float64(abs(value)).view(np.int64)
    return np.int64(-place if value < 0 else place)


def _doubles(order: Ints) -> Floats:
    made: Floats = np.copysign(np.abs(order).view(np.float64), order)
    return made


def regions(image: Image, threshold: Floats) -> list[Region]:
    """For each threshold t the doubles of the table where the column is at most t."""
    distinct, inverse = np.unique(threshold, return_inverse=True)
    found = [Region(True, (float(t),)) for t in distinct]
    for stage in reversed(image.stages):
        asked = np.unique(np.array([cut for region in found for cut in region.cuts]))
        levels = dict(zip(asked.tolist(), _levels(stage, asked), strict=True))
        found = [_through(region, levels) for region in found]
    return [found[i] for i in inverse.tolist()]


def _through(region: Region, levels: dict[float, Region]) -> Region:
    """Where the function lies in ``region``, given where it is at most each cut."""
    first, changes = region.first, set[float]()
    for cut in region.cuts:
        below = levels[cut]
        first ^= not below.first
        changes ^= set(below.cuts)
    return Region(first, tuple(sorted(changes)))


def _levels(stage: Stage, threshold: Floats) -> list[Region]:
    """For each threshold t the doubles x with ``function(x) <= t``."""
    breaks = np.unique(np.array(stage.breaks, dtype=np.float64))
    starts = np.append(-ALWAYS, breaks)
    ends = np.append(np.nextafter(breaks, -np.inf), ALWAYS)
    with np.errstate(all="ignore"):
        low = stage.function(starts)[None, :] <= threshold[:, None]
        high = stage.function(ends)[None, :] <= threshold[:, None]
        cuts: list[list[float]] = [[] for _ in range(threshold.size)]
        which, piece = np.nonzero(low != high)
        places = _bisected(
            np.array([_order(v) for v in starts[piece].tolist()], dtype=np.int64),
            np.array([_order(v) for v in ends[piece].tolist()], dtype=np.int64),
            lambda x: (stage.function(x) <= threshold[which]) == low[which, piece],
        )
        found = _crossings(stage, threshold[which], places, starts[piece], ends[piece])
    for t, changes in zip(which.tolist(), found, strict=True):
        cuts[t] += changes
    for t, p in np.argwhere(high[:, :-1] != low[:, 1:]).tolist():
        cuts[t].append(float(ends[p]))
    return [Region(bool(low[t, 0]), tuple(sorted(each))) for t, each in enumerate(cuts)]


def _crossings(
    stage: Stage, threshold: Floats, places: Ints, starts: Floats, ends: Floats
) -> list[list[float]]:
    """The changes around each crossing: one, or several where rounding crosses again.

    Raises:
        UnsupportedError: it crosses again farther away, so that no neighbourhood holds them all.
    """
    if not stage.loose:
        return [[value] for value in _doubles(places).tolist()]
    near = np.arange(-stage.loose, stage.loose + 2)
    offsets = np.concatenate([-FAR[::-1], near, FAR])
    least, most = (np.array([_order(v) for v in e.tolist()], np.int64) for e in (starts, ends))
    changes: list[list[float]] = []
    for rows in np.array_split(np.arange(places.size), 1 + places.size // CHUNK):
        around = places[rows, None] + offsets
        x = _doubles(np.clip(around, least[rows, None], most[rows, None]))
        below = stage.function(x.ravel()).reshape(x.shape) <= threshold[rows, None]
        differs = below[:, 1:] != below[:, :-1]
        inner = slice(FAR.size, FAR.size + near.size - 1)
        far = differs[:, : FAR.size].any() or differs[:, FAR.size + near.size - 1 :].any()
        if far or (np.abs(places[rows]) > HUGE).any():
            raise UnsupportedError(
                "a tree compares a column where it is so flat that rounding decides",
                remedy="Scale the column before its power or logarithm is taken, and train again.",
            )
        changes += [x[i, inner][differs[i, inner]].tolist() for i in range(rows.size)]
    return changes


HUGE = 2**63 - 2**61  # the place of a double of about 1e154
CHUNK = 2000  # crossings that are looked at together
FAR = np.unique(np.rint(2.0 ** np.arange(8, 60, 0.25)).astype(np.int64))
"""Distances, in doubles, at which a function that may cross again is looked at."""


class Compared:
    """A vector that trees compare; columns of it may be functions of columns of the table.

    A column has an image where it holds the table's column instead: ``cuts`` asks of that what the
    trees ask of the function.  Where that is no single bound, an indicator is added to the vector.
    """

    def __init__(
        self, lowering: Lowering, x: str, width: int, images: Sequence[Image | None]
    ) -> None:
        self.lowering, self.x, self.width, self.images = lowering, x, width, tuple(images)
        self._indicators: dict[tuple[int, Region], int] = {}

    def cuts(
        self, feature: npt.NDArray[np.int64], threshold: Floats
    ) -> tuple[npt.NDArray[np.int64], Floats]:
        """Features and bounds with the same answers: ``x[feature] <= bound``.

        ``threshold`` are doubles that the columns are compared with, of any value where
        ``feature < 0``.
        """
        feature, bound = feature.copy(), threshold.copy()
        for place in np.unique(feature[feature >= 0]).tolist():
            image = self.images[place] if place < len(self.images) else None
            if image is None or not image.stages:
                continue
            nodes = np.flatnonzero(feature == place)
            if image.rises:
                bound[nodes] = last_below(image.function, bound[nodes])
                continue
            for node, region in zip(nodes.tolist(), regions(image, bound[nodes]), strict=True):
                feature[node], bound[node] = self._asked(place, region)
        return feature, bound

    def _asked(self, place: int, region: Region) -> tuple[int, float]:
        if not region.cuts:
            return place, ALWAYS if region.first else -ALWAYS
        if region.first and len(region.cuts) == 1:
            return place, region.cuts[0]
        found = self._indicators.setdefault((place, region), self.width + len(self._indicators))
        return found, 0.5

    def vector(self) -> str:
        """The columns and the indicators that ``cuts`` asked for: 0 in the region, else 1."""
        if not self._indicators:
            return self.x
        let, parts, order = self.lowering.let, [self.x], list(range(self.width))
        start = self.width
        places: dict[int, list[tuple[Region, int]]] = {}
        for (place, region), index in self._indicators.items():
            places.setdefault(place, []).append((region, index))
        order += [0] * len(self._indicators)
        for place, asked in places.items():
            parts.append(self._outside(place, [region for region, _ in asked]))
            for row, (_, index) in enumerate(asked):
                order[index] = start + row
            start += len(asked)
        joined = let(ops.Concat(tuple(parts)))
        return joined if order == sorted(order) else let(ops.Take(joined, tuple(order)))

    def _outside(self, place: int, asked: Sequence[Region]) -> str:
        """Of one column an indicator for each region: 0 in it, else 1."""
        cuts = np.unique(np.array([cut for region in asked for cut in region.cuts]))
        signs = np.zeros((len(asked), cuts.size))
        for row, region in enumerate(asked):
            leaves = np.arange(len(region.cuts)) % 2 != region.first
            signs[row, np.searchsorted(cuts, region.cuts)] = np.where(leaves, 1.0, -1.0)
        first = np.array([0.0 if region.first else 1.0 for region in asked])
        let, bounds = self.lowering.let, self.lowering.constant(cuts)
        above = let(ops.ToReal(let(ops.Gt(let(ops.Take(self.x, (place,))), bounds))))
        return let(ops.Affine(above, tensor(signs), tensor(first)))


def compared(lowering: Lowering, refs: Sequence[Ref]) -> Compared:
    """The columns ``refs`` of trees, each traced back to the table where it is a function of it."""
    images = [image_of(lowering, ref) for ref in refs]
    sources = [
        ref if image is None else image.source for ref, image in zip(refs, images, strict=True)
    ]
    return Compared(lowering, lowering.vector(sources), len(refs), images)


__all__ = ["ALWAYS", "Compared", "Region", "compared", "image_of", "last_below", "regions"]
