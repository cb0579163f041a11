"""Columns as functions of one column of the table, and conditions on them traced back to it.

Deployed transformers round.  A tree behind one compares rounded numbers, so its question is asked
of the table instead: for which doubles does what the library computes stay within the bound?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ...arrays import Bools, Floats, Ints
from ...errors import UnsupportedError
from ...ir import Literal, Operand, ops
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
    if image is None or lowering.source(image.source).misfit:  # which has been reported
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


def _bisected(low: Ints, high: Ints, stays: Callable[[Floats], Bools]) -> Ints:
    """Elementwise the last place before a test fails that holds at ``low`` and not at ``high``."""
    while (open_ := high - 1 > low).any():
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        below = stays(_doubles(middle))
        low = np.where(open_ & below, middle, low)
        high = np.where(open_ & ~below, middle, high)
    return low


def first_true(test: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest double from ``low`` on for which a monotone test holds, or ``high``."""
    if test(low):
        return low
    ends = [int(_order(low)), int(_order(high))]
    while ends[1] - ends[0] > 1:
        middle = sum(ends) // 2
        ends[bool(test(float(_doubles(np.array(middle)))))] = middle
    return float(_doubles(np.array(ends[1])))


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
    """The changes around each crossing: one, or several where rounding crosses again."""
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
    A number that may be missing is there thrice: as it is, and with a missing one at either end of
    all doubles (``ends``), so that a comparison sends it to the left, or to the right.
    """

    def __init__(
        self,
        lowering: Lowering,
        x: str,
        width: int,
        images: Sequence[Image | None],
        ends: Mapping[int, tuple[int, int]],
    ) -> None:
        self.lowering, self.x, self.width = lowering, x, width
        self.images, self.ends = tuple(images), ends
        self._indicators: dict[tuple[int, Region, bool], int] = {}

    def beside(self, parts: Sequence[Operand], width: int) -> Compared:
        """The same columns, then others of together ``width`` that trees compare as they are."""
        whole = (self.x, *parts) if self.width else tuple(parts)
        x = str(whole[0]) if len(whole) == 1 else self.lowering.let(ops.Concat(whole))
        return Compared(self.lowering, x, self.width + width, self.images, self.ends)

    def cuts(
        self, feature: Ints, threshold: Floats, missing_right: Bools | None = None
    ) -> tuple[Ints, Floats]:
        """Features and bounds with the same answers: ``x[feature] <= bound``.

        ``threshold`` are doubles that the columns are compared with, of any value where
        ``feature < 0``; ``missing_right``: which nodes send a missing number to the right.
        """
        asked, bound = feature.copy(), threshold.copy()
        for place in np.flatnonzero(np.bincount(feature[feature >= 0])).tolist():
            image = self.images[place] if place < len(self.images) else None
            if place not in self.ends and (image is None or not image.stages):
                continue
            nodes = np.flatnonzero(feature == place)
            right = np.zeros(nodes.size, dtype=np.bool_)
            if image is not None and image.fill is not None:
                right = image.fill > threshold[nodes]
            elif missing_right is not None:
                right = missing_right[nodes]
            if image is not None and image.stages and image.rises:
                bound[nodes] = last_below(image.function, bound[nodes])
            elif image is not None and image.stages:
                found = zip(nodes.tolist(), regions(image, bound[nodes]), right, strict=True)
                for node, region, side in found:
                    asked[node], bound[node] = self._asked(place, region, bool(side))
            if place in self.ends:
                plain, low_high = asked[nodes] == place, np.array(self.ends[place])
                asked[nodes] = np.where(plain, low_high[right.astype(np.int64)], asked[nodes])
                bound[nodes] = np.minimum(bound[nodes], np.nextafter(ALWAYS, 0.0))
        return asked, bound

    def _asked(self, place: int, region: Region, side: bool) -> tuple[int, float]:
        if not region.cuts:
            return place, ALWAYS if region.first else -ALWAYS
        if region.first and len(region.cuts) == 1:
            return place, region.cuts[0]
        asked = place, region, side and place in self.ends
        return self._indicators.setdefault(asked, self.width + len(self._indicators)), 0.5

    def vector(self) -> str:
        """The columns and the indicators that ``cuts`` asked for: 0 in the region, else 1."""
        if not self._indicators:
            return self.x
        let, parts, order = self.lowering.let, [self.x], list(range(self.width))
        start = self.width
        places: dict[int, list[tuple[Region, bool, int]]] = {}
        for (place, region, side), index in self._indicators.items():
            places.setdefault(place, []).append((region, side, index))
        order += [0] * len(self._indicators)
        for place, asked in places.items():
            sides = np.array([side for _, side, _ in asked])
            parts.append(self._outside(place, [region for region, _, _ in asked], sides))
            for row, (_, _, index) in enumerate(asked):
                order[index] = start + row
            start += len(asked)
        joined = let(ops.Concat(tuple(parts)))
        return joined if order == sorted(order) else let(ops.Take(joined, tuple(order)))

    def _outside(self, place: int, asked: Sequence[Region], sides: Bools) -> str:
        """Of one column an indicator for each region: 0 in it, else 1; its side if missing."""
        cuts = np.unique(np.array([cut for region in asked for cut in region.cuts]))
        signs = np.zeros((len(asked), cuts.size))
        for row, region in enumerate(asked):
            leaves = np.arange(len(region.cuts)) % 2 != region.first
            signs[row, np.searchsorted(cuts, region.cuts)] = np.where(leaves, 1.0, -1.0)
        first = np.array([0.0 if region.first else 1.0 for region in asked])
        let, bounds = self.lowering.let, self.lowering.constant(cuts)
        low = self.ends[place][0] if place in self.ends else place
        above = let(ops.ToReal(let(ops.Gt(let(ops.Take(self.x, (low,))), bounds))))
        if place in self.ends:  # a missing number lies above no cut
            above = let(ops.Concat((above, self.missing(place))))
            signs = np.column_stack([signs, sides - first])
        return let(ops.Affine(above, tensor(signs), tensor(first)))

    def missing(self, place: int) -> str:
        """1 where the number of a column is missing, else 0."""
        image = self.images[place]
        assert image is not None
        name = self.lowering.source(image.source).feature.name
        return self.lowering.let(ops.ToReal(self.lowering.is_missing(name)))


def compared(lowering: Lowering, refs: Sequence[Ref], *, gaps: bool = False) -> Compared:
    """The columns ``refs`` of trees, each traced back to the table where it is a function of it.

    ``gaps``: whether the trees take missing numbers; else those are a problem.
    """
    if not gaps:
        lowering.note_gaps(refs)
    images = [image_of(lowering, ref) for ref in refs]
    sources = [
        ref if image is None else image.source for ref, image in zip(refs, images, strict=True)
    ]
    parts: list[Operand] = [lowering.vector(sources, gaps=True)] if refs else []
    ends, width = dict[int, tuple[int, int]](), len(refs)
    for place, image in enumerate(images):
        feature = None if image is None else lowering.source(image.source).feature
        if feature is None or not feature.missing:
            continue
        missing = lowering.is_missing(feature.name)
        parts += [
            lowering.let(ops.Select(missing, Literal(Fraction(end)), feature.name))
            for end in (-ALWAYS, ALWAYS)
        ]
        ends[place], width = (width, width + 1), width + 2
    x = "" if not parts else str(parts[0])
    if len(parts) > 1:
        x = lowering.let(ops.Concat(tuple(parts)))
    return Compared(lowering, x, width, images, ends)
