"""Smooth functions between rationals (lemma 15): their values, their slopes, lines beside them.

Numbers are whole multiples of 2⁻¹⁶⁰.  All that is multiplied and added up is at least 0, so what is
rounded down at each step is at most the exact number, and what is rounded up is at least that.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as Q
from functools import lru_cache
from typing import NamedTuple

from .reader import KEPT, need

BITS = 160
ONE = 1 << BITS
FAR = 2**10 * ONE  # exp(-1024) < 2⁻¹⁶⁰, and beyond exp(1024) are no doubles
WIDE = 16 * ONE  # 1 - Φ(16) < 2⁻¹⁶⁰
NORM, PLACES = 398942280401432677939946059934381868475858631164934657, 10**54  # of 1 / √(2π)


class Curve(NamedTuple):
    """A function that rises everywhere: values, slopes, whether it is convex left and right of 0,
    and the steepest slope, if there is one.
    """

    value: Callable[[int, bool], int]
    slope: Callable[[int, bool], int]
    convex: tuple[bool, bool]
    steepest: Q | None


def over(n: int, d: int, up: bool) -> int:
    """n / d, rounded down or up."""
    return -(-n // d) if up else n // d


def exp(x: int, up: bool) -> int:
    """eˣ: halved until it is at most 1/32, twenty terms of the series, squared as often."""
    if x < 0:
        return over(ONE * ONE, exp(-x, not up), up) if x > -FAR else int(up)
    need(x <= FAR, "limits: exp of more than 1024")
    halvings = max(x.bit_length() - BITS, 0) + 5
    x = over(x, 1 << halvings, up)
    total = term = ONE
    for n in range(1, 21):
        term = over(term * x, n * ONE, up)
        total += term
    total += term * up  # the rest is less than the last term
    for _ in range(halvings):
        total = over(total * total, ONE, up)
    return total


def sigmoid(x: int, up: bool) -> int:
    """1 / (1 + e⁻ˣ), and left of 0 eˣ / (1 + eˣ)."""
    small = exp(-abs(x), up == (x < 0))
    return over(ONE * (small if x < 0 else ONE), ONE + small, up)


def softplus(x: int, up: bool) -> int:
    """max(x, 0) + log(1 + y), y = exp(-|x|); this is 2 (w + w³/3 + …), w = y / (2 + y)."""
    small = exp(-abs(x), up)
    power, total = over(ONE * small, 2 * ONE + small, up), 0
    square = over(power * power, ONE, up)
    for n in range(1, 107, 2):
        total += over(power, n, up)
        power = over(power * square, ONE, up)
    return max(x, 0) + 2 * (total + power * up)  # the rest is less than the next power


def normal(x: int, up: bool) -> int:
    """Φ(x) = 1/2 + exp(-x²/2) / √(2π) (x + x³/3 + x⁵/(3·5) + …); 1 - Φ(-x) left of 0."""
    if x < 0:
        return ONE - normal(-x, not up)
    if x > WIDE:
        return ONE - (not up)
    square, term = over(x * x, ONE, up), x
    total = term
    for n in range(3, 140 + 5 * square // ONE, 2):
        term = over(term * square, n * ONE, up)
        total += term
    total += term * up  # the rest is less: from there on terms are halved each time, or more
    total = over(total * ONE, exp(over(x * x, 2 * ONE, not up), not up), up)
    return min(ONE // 2 + over(total * (NORM + up), PLACES, up), ONE)


def bell(x: int, up: bool) -> int:
    """φ(x) = exp(-x²/2) / √(2π)."""
    return over(exp(-over(x * x, 2 * ONE, not up), up) * (NORM + up), PLACES, up)


def steep(x: int, up: bool) -> int:
    """The slope of the logistic function, σ(x) σ(-x)."""
    return over(sigmoid(x, up) * sigmoid(-x, up), ONE, up)


CURVES = {
    "exp": Curve(exp, exp, (True, True), None),
    "sigmoid": Curve(sigmoid, steep, (True, False), Q(1, 4)),
    "softplus": Curve(softplus, sigmoid, (True, True), Q(1)),
    "normal": Curve(normal, bell, (True, False), Q(2, 5)),
}


def value(kind: str, x: Q, up: bool) -> Q:
    """What f(x) is not below or, if ``up``, not above."""
    need(abs(x) < 2**1024, "limits: a smooth function of a number beyond all floats")
    return _value(kind, over(x.numerator * ONE, x.denominator, up), up)


@lru_cache(KEPT)
def _value(kind: str, x: int, up: bool) -> Q:
    return Q(CURVES[kind].value(x, up), ONE)


def least(kind: str, side: Q, slope: Q, place: Q, low: Q, high: Q) -> Q:
    """Lemma 15: what ``side (f(t) - slope t)`` is not below for t from low to high.

    Left and right of 0 apart: where that is concave, it is least at an end; where it is convex,
    nowhere below its tangent at the number next to the place.
    """
    found, curve = list[Q](), CURVES[kind]
    pieces = (low, min(high, Q(0))), (max(low, Q(0)), high)
    for (a, b), convex in zip(pieces, curve.convex, strict=True):
        if a > b:
            continue
        if convex != (side > 0):
            found += [side * (value(kind, t, side < 0) - slope * t) for t in (a, b)]
            continue
        near = min(max(place, a), b)
        grid = over(near.numerator * ONE, near.denominator, False)
        slopes = [Q(curve.slope(grid, up), ONE) for up in (False, True)]
        at, top = Q(grid, ONE), _value(kind, grid, side < 0)
        found += [
            side * (top - slope * t) + min(side * each * (t - at) for each in slopes)
            for t in (a, b)
        ]
    return min(found)
