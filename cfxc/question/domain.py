"""The values that one feature may take, and how far each lies from the factual's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, isinf
from typing import Any

import numpy as np

from ..arrays import Floats
from ..ir import LabelTuple, Sort
from ..ir.interval import ceil_float, floor_float
from ..ir.sorts import NO_LABELS
from ..space import Feature
from ..space.feature import sort_of
from ..space.values import first_true
from ..stopping import polled

WHOLE = 2**53
"""Up to here doubles hold every whole number."""
DENSE = 2**20
"""Multiples of a step, from where on a column may hold every other one, and not be walked."""
ROUNDS = 8
"""Steps that a quotient of doubles may be off its whole number."""


@dataclass(frozen=True)
class Domain:
    """The admissible values of one feature for this factual (ranges, types and actions applied).

    Numeric: all admissible values lie in [lower, upper]; on the grid ``step * k`` if there is a
    step (the factual's own value is always admissible).  Category: ``allowed`` labels.

    ``first``: where the number may be there or be missing, the end of the numbers' range; what
    stands for a missing one is ``lower`` then, and nothing between the two is admissible.
    """

    feature: Feature
    factual: Any
    lower: Fraction
    upper: Fraction
    step: Fraction | None
    allowed: LabelTuple
    first: Fraction | None = None

    @property
    def name(self) -> str:
        return self.feature.name

    @property
    def sort(self) -> Sort:
        return sort_of(self.feature)

    @property
    def is_symbolic(self) -> bool:
        return self.feature.is_symbolic

    @property
    def is_too_large(self) -> bool:
        """Whether it may take whole numbers whose neighbours are no doubles."""
        if self.is_symbolic or self.step is None or self.is_fixed:
            return False
        return max(abs(self.lower), abs(self.upper)) > WHOLE

    @property
    def is_absent(self) -> bool:
        """Whether the factual's number is missing."""
        return self.feature.is_absent(self.factual)

    @property
    def is_fixed(self) -> bool:
        return len(self.allowed) == 1 if self.is_symbolic else self.lower == self.upper

    @property
    def has_grid(self) -> bool:
        """Whether the feature's resolution leaves out numbers that it may else change to."""
        return self.feature.resolution is not None and not self.is_fixed

    @property
    def labels(self) -> LabelTuple:
        """The labels of a category or an order, which know their places."""
        return self.feature.label_tuple

    @cached_property
    def numbers(self) -> Domain:
        """The same without the missing number."""
        return self if self.first is None else replace(self, lower=self.first, first=None)

    @cached_property
    def is_plain(self) -> bool:
        """Whether the admissible values are all doubles of the range, or all its whole numbers."""
        if self.first is not None:
            return False
        storage = self.feature.storage
        if self.step is None:
            return bool(storage == np.float64) and self.held(self.factual) == self.factual
        held_whole = storage.kind in "iu" or storage == np.float64
        own_whole = Fraction(self.factual).denominator == 1
        small = max(abs(self.lower), abs(self.upper)) < WHOLE / 2
        return self.step == 1 and held_whole and own_whole and small

    def floor(self, value: Fraction | float) -> Fraction | None:
        """The largest admissible value that is at most ``value``, or ``None``."""
        return self._near(Fraction(value), -1)

    def ceil(self, value: Fraction | float) -> Fraction | None:
        """The smallest admissible value that is at least ``value``, or ``None``."""
        return self._near(Fraction(value), 1)

    def nearest(self, values: Floats, side: int) -> Floats:
        """``floor`` (side -1) or ``ceil`` (side 1) of many doubles; NaN where there is none."""
        if self.first is not None:
            inner, gone = self.numbers.nearest(values, side), float(self.lower)
            beside = values <= gone if side > 0 else np.isnan(inner) & (values >= gone)
            return np.where(beside, gone, inner)
        (low, high), own = self.ends, float(self.factual)
        clipped = np.minimum(values, high) if side < 0 else np.maximum(values, low)
        fits = (low <= clipped) & (clipped <= high)
        found = self._landed(np.where(fits, clipped, low), side) if self._is_double else None
        if found is None:
            near = self.floor if side < 0 else self.ceil
            slow = (near(Fraction(value)) for value in polled(values.tolist()))
            return np.array([np.nan if one is None else float(one) for one in slow])
        best = np.where(fits & (low <= found) & (found <= high), found, np.nan)
        if low <= own <= high:
            usable = fits & ((own - clipped) * side >= 0)
            best = np.where(usable, (np.fmax if side < 0 else np.fmin)(best, own), best)
        return best

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The range in doubles, which all admissible values are."""
        return ceil_float(self.lower), floor_float(self.upper)

    @cached_property
    def _is_double(self) -> bool:
        """Whether the factual's number is one."""
        return bool(float(self.factual) == self.factual)

    @cached_property
    def _is_counted(self) -> bool:
        """Whether doubles count the multiples of the step in the range, each with its numerator."""
        assert self.step is not None
        top, bottom = self.step.numerator, self.step.denominator
        return max(abs(self.lower), abs(self.upper)) * bottom + 8 * top < WHOLE and bottom < WHOLE

    def _landed(self, values: Floats, side: int) -> Floats | None:
        """What the column holds at or beyond values of the range, as ``_near``; None if unsure."""
        if self.is_plain and self.step is not None:
            return np.floor(values) if side < 0 else np.ceil(values)
        if self.step is None:
            return self._beyond(values, side)
        if not self._is_counted:
            return self._on_fine_grid(values, side, self.step)
        top, bottom = self.step.numerator, self.step.denominator
        # k · top and bottom are doubles, and their quotient is rounded once
        k = np.floor(values / (top / bottom))

        def held(k: Floats) -> Floats:
            return self._stored(k * top / bottom)

        for _ in range(ROUNDS):
            away = held(k) > values if side < 0 else held(k - 1) >= values
            near = held(k + 1) <= values if side < 0 else held(k) < values
            if not (away.any() or near.any()):
                return held(k)
            k = k - (away & ~near) + near
        return self._on_fine_grid(values, side, self.step)

    def _beyond(self, values: Floats, side: int) -> Floats:
        """The next numbers that the column can hold, at or beyond doubles."""
        found, kind = self._stored(values), self._floats.dtype.type
        with np.errstate(over="ignore"):
            beyond = np.nextafter(found.astype(kind), kind(side * np.inf)).astype(np.float64)
        return np.where((found - values) * side >= 0, found, beyond)

    def _on_fine_grid(self, values: Floats, side: int, step: Fraction) -> Floats | None:
        """The same on a grid with multiples that doubles do not count, of a column of floats.

        Where such a float is four steps and more from the next one towards 0, a multiple lies so
        near to it that a cell for that holds it; else it is seen whether one for the nearest does.
        """
        if self.feature.storage.kind != "f":
            return None
        found, kind = self._beyond(values, side), self._floats.dtype.type
        gaps = np.abs(found - np.nextafter(found.astype(kind), kind(0)).astype(np.float64))
        rare = np.flatnonzero((found != 0) & ~(gaps >= 4 * float(step)))
        landed = self._stored(np.array([_multiple_near(x, step) for x in found[rare].tolist()]))
        rare = rare[landed != found[rare]]
        exact = (self._multiple(Fraction(value), side) for value in polled(values[rare].tolist()))
        found[rare] = [float(value) for value in exact]
        return found

    def rounded(self, values: Floats) -> Floats:
        """What the column holds in the range, on the grid, nearest to many doubles.

        Up to the rounding of doubles, which the exact ``floor`` and ``ceil`` know nothing of.
        """
        if self.first is not None:
            middle = float(self.lower + self.first) / 2
            return np.where(values < middle, float(self.lower), self.numbers.rounded(values))
        if self.step is None:
            return np.clip(self._stored(values), float(self.lower), float(self.upper))
        first, last = ceil(self.lower / self.step), floor(self.upper / self.step)
        if first > last:
            return np.full_like(values, float(self.factual))
        multiples = np.clip(np.rint(values / float(self.step)), first, last)
        found = self._stored(multiples * self.step.numerator / self.step.denominator)
        largest = float(self._floats.max)  # which the range may go beyond
        return np.clip(found, -largest, largest)

    def _stored(self, values: Floats) -> Floats:
        """What cells of the feature's column hold for doubles."""
        storage = self.feature.storage
        if storage.kind != "f" or storage.itemsize >= 8:
            return values
        with np.errstate(over="ignore"):
            return values.astype(storage).astype(np.float64)

    def _near(self, value: Fraction, side: int) -> Fraction | None:
        if self.first is not None:
            if side > 0 and value <= self.lower:
                return self.lower
            inner = self.numbers._near(value, side)
            return self.lower if inner is None and side < 0 and value >= self.lower else inner
        value = min(value, self.upper) if side < 0 else max(value, self.lower)
        if not self.lower <= value <= self.upper:
            return None
        if self.is_plain:
            return self._plain(value, side)
        found = self._double(value, side) if self.step is None else self._multiple(value, side)
        options = [Fraction(found)] if self.lower <= found <= self.upper else []
        own = self.factual
        if self.lower <= own <= self.upper and (own - value) * side >= 0:
            options.append(Fraction(own))
        if not options:
            return None
        return max(options) if side < 0 else min(options)

    def _plain(self, value: Fraction, side: int) -> Fraction | None:
        """``_near`` where all doubles, or all whole numbers, of the range are admissible."""
        if self.step is None:
            found = Fraction((floor_float if side < 0 else ceil_float)(value))
        else:
            found = Fraction((floor if side < 0 else ceil)(value))
        return found if self.lower <= found <= self.upper else None

    def _double(self, value: Fraction, side: int) -> float | int:
        """The next number that the feature's column can hold, at or beyond ``value``."""
        nearest = self.feature.held(value)  # infinite beyond the largest
        if nearest <= value if side < 0 else nearest >= value:
            return nearest
        storage = self.feature.storage
        kind = storage.type if storage.kind == "f" else np.float64
        with np.errstate(over="ignore"):
            return float(np.nextafter(kind(nearest), kind(side * np.inf)))

    def _multiple(self, value: Fraction, side: int) -> float | int:
        """What the column holds for the next multiple of the step, at or beyond ``value``."""
        step, held = self.step, self.feature.held
        assert step is not None
        if max(abs(value), self._normal) > DENSE * step:
            found = self._double(value, side)  # no number of the column lies before it
            if isinf(found) or held(round(Fraction(found) / step) * step) == found:
                return found
        near = value // step
        if side > 0:
            return held(first_true(lambda k: held(k * step) >= value, near) * step)
        return held((first_true(lambda k: held(k * step) > value, near) - 1) * step)

    def held(self, value: Fraction) -> Fraction:
        """What a cell of the feature's column holds for ``value``."""
        return Fraction(self.feature.held(value))

    @property
    def _floats(self) -> np.finfo[Any]:
        """Of the column's cells, or of doubles where these are whole numbers.

        Not kept: numpy cannot read what it pickles of it.
        """
        storage = self.feature.storage
        return np.finfo(storage if storage.kind == "f" else np.float64)

    @cached_property
    def _normal(self) -> Fraction:
        """Numbers of the column nearer to 0 lie no denser than those there."""
        return Fraction(float(self._floats.smallest_normal))

    @property
    def rounding(self) -> Fraction:
        """How far a cell's float may lie from the multiple of the step that it stands for."""
        if self.step is None:
            return Fraction(0)
        size = max(abs(self.lower), abs(self.upper))
        double, floats = np.finfo(np.float64), self._floats
        units = self.step.denominator
        dyadic = not units & (units - 1) and units * Fraction(float(floats.smallest_subnormal)) <= 1
        if dyadic and size * units < 2**floats.nmant:
            return Fraction(0)  # every multiple is a float: below the first gap of this unit
        half_ulps = {Fraction(float(each.eps)) / 2 for each in (floats, double)}  # rounded twice
        return size * sum(half_ulps) + Fraction(float(floats.smallest_subnormal))

    def delta(self, value: Any) -> Fraction:
        """The per-feature distance δ_j in [0, 1] of an admissible value from the factual.

        1 of a number that is filled in or lost.
        """
        size = self.feature.range
        if self.feature.missing and self.feature.is_absent(value) != self.is_absent:
            return Fraction(1)
        if not size:
            return Fraction(0)
        if not self.is_symbolic:
            return abs(Fraction(value) - Fraction(self.factual)) / size
        here, there = self.labels.position(value), self.labels.position(self.factual)
        if self.feature.kind == "ordinal":
            return Fraction(abs(here - there)) / size
        return Fraction(int(here != there))

    def away(self, values: Floats) -> Floats:
        """δ_j of admissible numbers, up to the rounding of doubles; 1 exactly where a gap is."""
        size = float(self.feature.range)
        found = np.abs(values - float(self.factual)) / size if size else np.zeros(values.shape)
        if self.first is None:
            return found
        return np.where((values <= float(self.lower)) == self.is_absent, found, 1.0)

    @cached_property
    def deltas(self) -> Floats:
        """δ_j of each label of a category or an order, as doubles rounded down.

        Infinite where a label is not admissible.
        """
        labels, size = self.labels, float(self.feature.range)
        away = np.abs(np.arange(len(labels)) - labels.position(self.factual)).astype(np.float64)
        if self.feature.kind != "ordinal":
            away = np.minimum(away, 1.0)
        elif size:
            away = np.where(away == size, 1.0, np.nextafter(away / size, 0.0))
        delta = np.full(len(labels), np.inf)
        allowed = [labels.position(label) for label in self.allowed]
        delta[allowed] = away[allowed] if size else 0.0
        return delta


def _multiple_near(value: float, step: Fraction) -> float:
    """The double nearest to the multiple of the step that is nearest to a double."""
    (top, bottom), (a, b) = step.as_integer_ratio(), value.as_integer_ratio()
    nearest = (2 * a * bottom + b * top) // (2 * b * top)
    return nearest * top / bottom


def domain_of(feature: Feature, factual: Any) -> Domain:
    """Apply the feature's action to its range, at the factual's value."""
    action = feature.action
    if feature.is_symbolic:
        labels = feature.label_tuple
        here = labels.position(factual)
        spans = {
            "fixed": range(here, here + 1),
            "increase": range(here, len(labels)),
            "decrease": range(here + 1),
        }
        allowed = LabelTuple(labels[i] for i in spans[action]) if action in spans else labels
        return Domain(feature, factual, Fraction(0), Fraction(0), None, allowed)
    value = Fraction(factual)
    step = feature.resolution if feature.kind == "real" else Fraction(1)
    gone, first = feature.is_absent(value), None
    lower, upper = feature.bounds
    if action == "fixed" or (gone and not feature.may_change_gap(value)):
        lower = upper = value
    elif not gone:  # there is no direction to fill in a number, or to lose one
        lower = value if action == "increase" else lower
        upper = value if action == "decrease" else upper
    if feature.may_change_gap(value):
        assert feature.absent is not None
        lower, first = feature.absent, lower
    return Domain(feature, factual, lower, upper, step, NO_LABELS, first)


def freed(domain: Domain) -> Domain:
    """The same feature without its action, as questions without it have it.

    Gaps that could not change stay so, since conditions were read in that knowledge.
    """
    feature = replace(domain.feature, action="free", condition="")
    if domain.first is None and feature.missing:
        feature = replace(feature, missing=True)
    return domain_of(feature, domain.factual)


def is_admissible(domain: Domain, value: Any) -> bool:
    """Whether the domain contains the value exactly."""
    if domain.is_symbolic:
        return domain.allowed.has(value)
    if value == domain.factual:
        return True
    return bool(domain.floor(Fraction(value)) == value)
