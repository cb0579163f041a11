"""Comparisons of rounded numbers, moved to the numbers themselves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from cfxc.compiler.rewriting import AbsorbingPool, is_rounding
from cfxc.compiler.terms import Pool, Term, evaluate_term, postorder
from cfxc.ir.float32 import FLOAT32_MAX, round_to_float32

LIMIT = 2.0**100
singles = st.floats(-LIMIT, LIMIT, width=32)
bounds = st.one_of(singles, st.floats(-LIMIT, LIMIT)).map(Fraction)


def atom(pool: Pool, bound: Fraction, strict: bool) -> Term:
    x = pool.var("x", "real")
    return pool.at_most(pool.apply("round_float32", x), bound, strict)


def near(bound: Fraction) -> list[Fraction]:
    """The float32 numbers around a bound, the midpoints between them, and what is close."""
    middle = np.float32(float(bound))
    below = np.nextafter(middle, np.float32(-np.inf))
    above = np.nextafter(middle, np.float32(np.inf))
    points = [Fraction(float(one)) for one in (below, middle, above)]
    points += [(points[0] + points[1]) / 2, (points[1] + points[2]) / 2, bound]
    tiny = Fraction(1, 2**200)
    return [point + shift for point in points for shift in (-tiny, 0, tiny)]


@given(bounds, st.booleans())
@example(Fraction(0), False)
@example(Fraction(0), True)
@example(Fraction(2) ** -149, True)
@example(Fraction(2) ** -150, False)
@example(Fraction(16777217), False)
@example(Fraction(1, 3), True)
def test_rounding_is_absorbed_exactly(bound: Fraction, strict: bool) -> None:
    moved = atom(AbsorbingPool(), bound, strict)
    assert not any(map(is_rounding, postorder([moved])))
    for x in near(bound):
        rounded = round_to_float32(x)
        expected = rounded < bound if strict else rounded <= bound
        assert evaluate_term(moved, {"x": x}) == expected


def test_ends_of_float32_stay() -> None:
    for bound in (Fraction(FLOAT32_MAX), Fraction(10) ** 40, -(Fraction(10) ** 40)):
        term = atom(AbsorbingPool(), bound, strict=False)
        assert any(map(is_rounding, postorder([term])))


def test_scaled_numbers_are_absorbed_too() -> None:
    pool = AbsorbingPool()
    x = pool.var("x", "real")
    scaled = pool.scale(Fraction(-1, 3), pool.apply("round_float32", x))
    term = pool.at_most(scaled, Fraction(-1, 3))  # round(x) >= 1
    assert not any(map(is_rounding, postorder([term])))
    half = Fraction(1, 2**25)  # half the gap below 1
    assert evaluate_term(term, {"x": 1 - half})
    assert not evaluate_term(term, {"x": 1 - half - Fraction(1, 2**90)})


def test_sums_keep_their_rounding() -> None:
    pool = AbsorbingPool()
    x, y = pool.var("x", "real"), pool.var("y", "real")
    term = pool.at_most(pool.add(pool.apply("round_float32", x), y), Fraction(1))
    assert any(map(is_rounding, postorder([term])))
