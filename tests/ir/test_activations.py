"""Smooth activations: exact to many places, and enclosed by everything that claims to enclose."""

from __future__ import annotations

import math
import random
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from cfxc.compiler.enclosures import enclose
from cfxc.compiler.relaxation import CURVES, SQUARE
from cfxc.ir.interval import Interval
from cfxc.ir.ops.activations import PI, erf, gelu, mish, softplus
from cfxc.ir.ops.smooth import PLACES, Softmax, exp, smooth_kinds
from cfxc.kernels import curve_lines

KINDS = smooth_kinds()
BENT = sorted(set(KINDS) - {"exp"})


def test_values_of_doubles() -> None:
    for k in range(-60, 61):
        x = Fraction(k, 7)
        assert math.isclose(float(erf(x)), math.erf(float(x)), rel_tol=1e-14)
        assert math.isclose(float(softplus(x)), math.log1p(math.exp(float(x))), rel_tol=1e-14)
        assert math.isclose(
            float(gelu(x)), float(x) * math.erfc(-float(x) / math.sqrt(2)) / 2, rel_tol=1e-12
        )
        assert math.isclose(
            float(mish(x)), float(x) * math.tanh(math.log1p(math.exp(float(x)))), rel_tol=1e-13
        )
    assert math.isclose(float(PI), math.pi)


def test_softmax_is_right_where_scores_lie_far_apart() -> None:
    scores = [Fraction(0), Fraction(-1, 3), Fraction(-1, 3), Fraction(-700), Fraction(-571_561)]
    values = np.array(scores, dtype=object)
    found = Softmax("x").evaluate(values).tolist()
    total = sum(map(exp, scores))
    for own, score in zip(found, scores, strict=True):
        assert abs(own - exp(score) / total) <= own / 10**PLACES
    assert found[1] == found[2]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("below", [1, 3, 2**40, 10**9 + 7])
def test_exponentials_are_right_to_the_last_bit_kept(below: int) -> None:
    """Within half a unit of 230 bits, and 2**-260 for the series; exactly 1 at 0."""
    context = Context(prec=120, Emin=-(10**9), Emax=10**9)
    wholes = (-(10**15), -12345, -1, 1, 2, 77, 10**6, 10**15)
    for above in (*wholes, *range(-50, 50)):
        x = min(max(Fraction(above, below), Fraction(-(10**4))), Fraction(10**4))
        at = context.divide(Decimal(x.numerator), Decimal(x.denominator))
        off = abs(exp(x) / Fraction(context.exp(at)) - 1)
        assert off <= Fraction(1, 2**231) + Fraction(1, 2**259)
    assert exp(0) == 1


def test_sixty_places() -> None:
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(80):
        for k in range(-40, 41):
            x = Fraction(k, 3)
            at = mpmath.mpf(x.numerator) / x.denominator
            for mine, theirs in (
                (erf(x), mpmath.erf(at)),
                (softplus(x), mpmath.log1p(mpmath.exp(at))),
            ):
                off = abs(mpmath.mpf(mine.numerator) / mine.denominator - theirs)
                assert off < mpmath.mpf(10) ** -60


@pytest.mark.parametrize("name", BENT)
def test_slopes_are_bounded_as_claimed(name: str) -> None:
    """Difference quotients stay within the claims, and derivatives are those of the functions."""
    kind, step = KINDS[name], Fraction(1, 64)
    assert kind.curvature is not None
    assert kind.steepness is not None
    slopes = [kind.slope(step * k) for k in range(-640, 641)]
    assert max(map(abs, slopes)) <= kind.steepness
    assert max(abs(b - a) for a, b in pairwise(slopes)) <= kind.curvature * step
    tiny = Fraction(1, 10**20)
    for k in (-7, -3, -1, 1, 2, 9):
        x = Fraction(k, 3)
        quotient = (kind.function(x + tiny) - kind.function(x - tiny)) / (2 * tiny)
        assert abs(quotient - kind.slope(x)) < Fraction(1, 10**18)
    if kind.turn is not None:
        left, right = map(Fraction, kind.turn)
        assert kind.slope(left) < 0 < kind.slope(right)
        deepest = kind.function(left) + kind.slope(left) * (right - left)  # a tangent is below
        assert Fraction(kind.least) < deepest


@pytest.mark.parametrize("name", ["mish", "gelu_tanh"])
def test_second_derivatives_are_enclosed_by_intervals(name: str) -> None:
    """With intervals on [-12, 12]; beyond, these functions are 0 or x but for exp(-12)."""
    mpmath = pytest.importorskip("mpmath")
    iv = mpmath.iv
    scale = 2 * iv.sqrt(2 / iv.pi)

    def second(x: object) -> object:
        if name == "mish":  # of x g, g = tanh(log(1 + e^x)): 2 g' + x g''
            share = 1 / (1 + iv.exp(-x))
            large = iv.exp(x)
            gate = 1 - 2 / ((1 + large) ** 2 + 1)
            first = (1 - gate**2) * share
            return first * (2 + x * (1 - share - 2 * gate * share))
        inner, bend = scale * (1 + 0.134145 * x**2), scale * 0.26829 * x
        v = 1 / (1 + iv.exp(-scale * (x + 0.044715 * x**3)))
        return v * (1 - v) * (2 * inner + x * (bend + (1 - 2 * v) * inner**2))

    width, bound = 1 / 128, float(KINDS[name].curvature or 0)
    for k in range(-12 * 128, 12 * 128):
        assert abs(second(iv.mpf([k * width, (k + 1) * width]))) <= bound, k * width


@pytest.mark.parametrize("name", [*BENT, SQUARE])
def test_lines_and_intervals_enclose(name: str) -> None:
    """Lines of the kernel, segments of formulae and intervals, at places all over a range."""
    random_ = random.Random(1)
    for _ in range(25):
        a = random_.uniform(-9, 9)
        b = a + 10 ** random_.uniform(-7, 1.2)
        low, high = Fraction(a), Fraction(b)
        places = [low + (high - low) * Fraction(k, 16) for k in range(17)]
        slope, offset, tilt, base = map(Fraction, curve_lines(CURVES.index(name), a, b))
        kind = KINDS.get(name)
        images = [x * x if kind is None else kind.function(x) for x in places]
        for x, value in zip(places, images, strict=True):
            assert tilt * x + base <= value <= slope * x + offset
        if kind is None:
            continue
        box = kind("x").interval(Interval.of(a, b))
        least, most = kind.image(low, high)
        assert isinstance(box, Interval)
        assert least is not None
        assert most is not None
        assert max(Fraction(float(box.lower)), least) <= min(images)
        assert max(images) <= min(Fraction(float(box.upper)), most)
        for segment in enclose(name, low, high):
            x = (segment.start + segment.end) / 2
            under, over = (line[0] + line[1] * x for line in (segment.low, segment.high))
            assert under <= kind.function(x) <= over


@pytest.mark.parametrize("name", sorted(KINDS))
def test_open_ranges(name: str) -> None:
    kind = KINDS[name]
    box = kind("x").interval(Interval.of(-math.inf, math.inf))
    assert isinstance(box, Interval)
    assert (float(box.lower), float(box.upper)) == (kind.least, kind.greatest)
    assert kind.image(None, None)[0] == Fraction(kind.least)
    far = kind("x").interval(Interval.of(-1e300, 1e300))
    assert isinstance(far, Interval)
    assert float(far.upper) >= min(kind.greatest, 1e300)
