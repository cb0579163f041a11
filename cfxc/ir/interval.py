"""Sound interval arithmetic on arrays of doubles, rounded outward.

An :class:`Interval` encloses every value of an array: ``lower <= value <= upper`` elementwise.
Each operation computes in double precision and widens its result by at least its own rounding
error, so the enclosure holds for the exact reals.  Booleans are intervals within [0, 1];
a category is the set of labels still possible (:class:`Choice`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..arrays import Array, Bools, Floats
from .sorts import Label, LabelTuple

_INF = np.inf
_EPS = 2.0**-52
_TINY = 2.0**-1070


def down(value: Any) -> Floats:
    """The next double below, elementwise."""
    with np.errstate(over="ignore", under="ignore"):
        return np.nextafter(np.asarray(value, dtype=np.float64), -_INF)


def up(value: Any) -> Floats:
    """The next double above, elementwise."""
    return -down(-np.asarray(value, dtype=np.float64))


def floor_float(value: Fraction | int) -> float:
    """The largest double that is at most ``value``."""
    try:
        nearest = float(value)
    except OverflowError:
        return -_INF if value < 0 else float(np.finfo(np.float64).max)
    top, bottom = nearest.as_integer_ratio()
    return nearest if top * value.denominator <= value.numerator * bottom else float(down(nearest))


def nearest_float(value: Fraction | int) -> float:
    """The double nearest to ``value``; an infinity beyond the largest one."""
    try:
        return float(value)
    except OverflowError:
        return -_INF if value < 0 else _INF


def ceil_float(value: Fraction | int) -> float:
    """The smallest double that is at least ``value``; of 0 it is 0.0, and never -0.0."""
    return 0.0 - floor_float(-value)


def sum_below(values: Floats) -> Floats:
    """At most the exact sum over axis 0, whatever the order in which it is computed."""
    with np.errstate(over="ignore", invalid="ignore"):
        slack = 4 * (values.shape[0] + 1) * _EPS * np.abs(values).sum(axis=0)
        total = np.asarray(values.sum(axis=0) - slack)
    return down(np.where(np.isnan(total), -_INF, total))  # NaN: the sum overflowed


def sum_above(values: Floats) -> Floats:
    """At least the exact sum over axis 0."""
    return -sum_below(-values)


@dataclass(frozen=True, slots=True)
class Interval:
    """Elementwise enclosure; ``lower`` and ``upper`` have the value's shape."""

    lower: Floats
    upper: Floats

    @staticmethod
    def of(lower: Any, upper: Any) -> Interval:
        return Interval(np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64))

    @staticmethod
    def exact(lower: Fraction | int, upper: Fraction | int) -> Interval:
        """The tightest scalar interval of doubles around exact bounds."""
        return Interval.of(floor_float(lower), ceil_float(upper))

    @staticmethod
    def constant(values: Array) -> Interval:
        """Encloses a constant array of doubles, integers, booleans or fractions."""
        if values.dtype == object:
            flat = values.ravel().tolist()
            low = np.array([floor_float(v) for v in flat], dtype=np.float64)
            high = np.array([ceil_float(v) for v in flat], dtype=np.float64)
            return Interval(low.reshape(values.shape), high.reshape(values.shape))
        floats = values.astype(np.float64)
        if values.dtype == np.int64 and np.abs(values).max(initial=0) > 2**53:
            return Interval(down(floats), up(floats))
        return Interval(floats, floats)

    def __add__(self, other: Interval) -> Interval:
        with np.errstate(over="ignore"):
            lower, upper = self.lower + other.lower, self.upper + other.upper
        exact = _either_zero(self.lower, other.lower), _either_zero(self.upper, other.upper)
        return Interval(
            np.where(exact[0], lower, down(lower)), np.where(exact[1], upper, up(upper))
        )

    def __neg__(self) -> Interval:
        return Interval(-self.upper, -self.lower)

    def __sub__(self, other: Interval) -> Interval:
        return self + (-other)

    def __mul__(self, other: Interval) -> Interval:
        return _extremes(np.multiply, self, other)

    def __truediv__(self, other: Interval) -> Interval:
        """Quotient; the whole line where the divisor may be zero."""
        safe = (other.lower > 0) | (other.upper < 0)
        one = Interval(np.where(safe, other.lower, 1.0), np.where(safe, other.upper, 1.0))
        quotient = _extremes(np.divide, self, one)
        return Interval(np.where(safe, quotient.lower, -_INF), np.where(safe, quotient.upper, _INF))

    def hull(self, other: Interval) -> Interval:
        """The smallest interval around both."""
        return Interval(np.minimum(self.lower, other.lower), np.maximum(self.upper, other.upper))

    def minimum(self, other: Interval) -> Interval:
        """Encloses the smaller of two values."""
        return Interval(np.minimum(self.lower, other.lower), np.minimum(self.upper, other.upper))

    def maximum(self, other: Interval) -> Interval:
        """Encloses the larger of two values."""
        return Interval(np.maximum(self.lower, other.lower), np.maximum(self.upper, other.upper))

    def monotone(self, function: Callable[[Floats], Floats]) -> Interval:
        """Image under an increasing function that is exact on doubles."""
        return Interval(function(self.lower), function(self.upper))

    def affine(self, weight: Interval, bias: Interval) -> Interval:
        """Encloses ``W x + b`` for every W, b, x within their enclosures; W is (m, n).

        The centred form costs three products; the slack bounds all rounding of n-term sums, and
        underflow, which costs each term at most the smallest double.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            mid, rad = self._centre()
            w_mid, w_rad = weight._centre()
            centre = w_mid @ mid + bias.lower
            size = np.abs(w_mid) @ (np.abs(mid) + rad) + w_rad @ (np.abs(mid) + rad)
            spread = np.abs(w_mid) @ rad + w_rad @ (np.abs(mid) + rad)
            spread = spread + (bias.upper - bias.lower)
            terms = self.lower.size + 4
            size = size + np.abs(bias.lower) + np.abs(bias.upper)
            slack = terms * (4 * _EPS * size + _TINY)
            lower, upper = down(centre - spread - slack), up(centre + spread + slack)
        if np.isfinite(lower).all() and np.isfinite(upper).all():
            return Interval(lower, upper)
        return self._affine_unbounded(weight, bias)

    def _affine_unbounded(self, weight: Interval, bias: Interval) -> Interval:
        total = bias
        for column in range(self.lower.size):
            w = Interval(weight.lower[:, column], weight.upper[:, column])
            x = Interval(self.lower[column], self.upper[column])
            total = total + w * x
        return total

    def _centre(self) -> tuple[Floats, Floats]:
        mid = self.lower / 2 + self.upper / 2
        return mid, up(np.maximum(up(self.upper - mid), up(mid - self.lower)))


@dataclass(frozen=True, slots=True)
class Choice:
    """The labels of a category that are still possible, as a mask over its ``labels``."""

    labels: LabelTuple
    possible: Bools

    @staticmethod
    def among(labels: LabelTuple, possible: Iterable[Label]) -> Choice:
        """Only the given labels are possible."""
        mask = np.zeros(len(labels), dtype=np.bool_)
        mask[[labels.position(label) for label in possible]] = True
        return Choice(labels, mask)


Bounds = Interval | Choice


def truth(certain: Any, possible: Any) -> Interval:
    """A Boolean enclosure: 1 where ``certain``, 0 where not ``possible``, else [0, 1]."""
    return Interval.of(np.asarray(certain, float), np.asarray(possible, float))


def _extremes(operation: Callable[[Floats, Floats], Floats], a: Interval, b: Interval) -> Interval:
    lows, highs = [], []
    for x in (a.lower, a.upper):
        for y in (b.lower, b.upper):
            with np.errstate(invalid="ignore", over="ignore"):
                corner = np.asarray(operation(x, y))
            # exactly 0; also 0 * inf, as values are finite, and inf / inf: other corners are wider
            zero = _either_zero(x, y) | np.isnan(corner)
            lows.append(np.where(zero, 0.0, down(corner)))
            highs.append(np.where(zero, 0.0, up(corner)))
    low, high = (np.stack(np.broadcast_arrays(*corners)) for corners in (lows, highs))
    return Interval(low.min(axis=0), high.max(axis=0))


def _either_zero(x: Floats, y: Floats) -> Bools:
    found: Bools = (x == 0) | (y == 0)
    return found
