"""Piecewise-linear enclosures of smooth functions, sound in exact arithmetic.

On a segment where f is convex the chord bounds it from above and the tangent at the middle from
below; where it is concave the other way round.  Elsewhere f is within ``M (b - a)² / 8`` of its
chord over [a, b], where ``|f''| <= M``.  Slopes and values come from the exact evaluation of f with
``SLACK`` added for its error, so that ``low(x) <= f(x) <= high(x)`` on the segment.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor

from ..errors import UnsupportedError
from ..ir.ops.smooth import Smooth, smooth_kinds

SEGMENTS = 8
SLACK = Fraction(1, 10**15)  # far above the 1e-60 of the evaluation, far below what matters
GRID = 2**24  # breakpoints and slopes are rounded to this grid to keep numbers short


FUNCTIONS = smooth_kinds()


@dataclass(frozen=True, slots=True)
class Segment:
    """On [start, end]: ``low[0] + low[1] x <= f(x) <= high[0] + high[1] x``."""

    start: Fraction
    end: Fraction
    low: tuple[Fraction, Fraction]
    high: tuple[Fraction, Fraction]


def enclose(name: str, lower: Fraction | None, upper: Fraction | None) -> list[Segment]:
    """An enclosure of the function ``name`` over [lower, upper].

    Raises ``UnsupportedError`` if the function is unknown or the range unbounded.
    """
    smooth = FUNCTIONS.get(name)
    if smooth is None or lower is None or upper is None:
        raise UnsupportedError(
            f"'{name}' over an unbounded range has no linear enclosure",
            remedy="give every feature a range",
        )
    points = {lower, upper}
    points |= {_short(lower + (upper - lower) * Fraction(i, SEGMENTS)) for i in range(1, SEGMENTS)}
    if lower < 0 < upper:
        points.add(Fraction(0))
    ordered = sorted(point for point in points if lower <= point <= upper)
    if len(ordered) == 1:
        ordered *= 2
    return [_segment(smooth, a, b) for a, b in pairwise(ordered)]


def _short(value: Fraction) -> Fraction:
    return Fraction(round(value * GRID), GRID)


def _segment(smooth: type[Smooth], start: Fraction, end: Fraction) -> Segment:
    first, last = smooth.function(start), smooth.function(end)
    slope = _short((last - first) / (end - start)) if end > start else Fraction(0)
    # the rounded chord is shifted so that it still passes on or beyond both ends
    offsets = (first - slope * start, last - slope * end)
    if smooth.convex is None:
        assert smooth.curvature is not None
        bend = smooth.curvature * (end - start) ** 2 / 8
        low, high = _below(min(offsets) - bend), _above(max(offsets) + bend)
        return Segment(start, end, (low, slope), (high, slope))
    middle = (start + end) / 2
    tangent = _short(smooth.slope(middle))
    # a line of a slightly different slope through the point of tangency misses f by at most this
    drift = abs(end - start) / GRID
    offset = smooth.function(middle) - tangent * middle
    convex = smooth.convex[0] if end <= 0 else smooth.convex[1]
    if convex:
        return Segment(start, end, (_below(offset - drift), tangent), (_above(max(offsets)), slope))
    return Segment(start, end, (_below(min(offsets)), slope), (_above(offset + drift), tangent))


def _below(value: Fraction) -> Fraction:
    return Fraction(floor((value - SLACK) * GRID), GRID)


def _above(value: Fraction) -> Fraction:
    return -_below(-value)
