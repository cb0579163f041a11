"""Exact rounding to single precision and the thresholds it moves, against numpy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfxc.errors import VerificationError
from cfxc.ir.float32 import double_threshold, round_to_float32

FLOAT32 = np.finfo(np.float32)
MAX, TINY, SMALLEST = float(FLOAT32.max), float(FLOAT32.tiny), 2.0**-149
doubles = st.floats(-MAX, MAX, allow_nan=False)
singles = st.floats(-MAX / 2, MAX / 2, width=32)


def neighbourhood(values: np.ndarray) -> np.ndarray:
    """The values, the doubles beside them, and the midpoints to the next singles, likewise."""
    singles = values.astype(np.float32)
    above = np.nextafter(singles, np.float32(np.inf)).astype(np.float64)
    middles = singles.astype(np.float64) / 2 + above / 2
    centres = np.concatenate([values, singles.astype(np.float64), middles])
    return np.concatenate([centres, np.nextafter(centres, np.inf), np.nextafter(centres, -np.inf)])


def sample() -> np.ndarray:
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2**32, 1500, dtype=np.uint64).astype(np.uint32)
    singles = bits.view(np.float32)
    drawn = singles[np.isfinite(singles)].astype(np.float64)
    special = [
        0.0,
        1.0,
        -1.0,
        0.1,
        1 / 3,
        2.0**24 + 1,
        SMALLEST,
        SMALLEST / 2,
        SMALLEST * 1.5,
        TINY,
    ]
    special += [TINY - SMALLEST, 5e-324, -5e-324, 1e38, -1e38, 16777217.0, 33554435.0]
    values = np.concatenate([drawn, special, -rng.random(100)])
    return values[np.abs(values) < MAX / 2]


def test_rounding_agrees_with_numpy() -> None:
    for value in neighbourhood(sample()).tolist():
        assert round_to_float32(Fraction(value)) == Fraction(float(np.float32(value))), value.hex()


@given(doubles)
def test_rounding_agrees_with_numpy_on_drawn_doubles(value: float) -> None:
    assert round_to_float32(Fraction(value)) == Fraction(float(np.float32(value)))


@given(st.fractions())
def test_rounding_of_rationals_is_to_the_nearest(value: Fraction) -> None:
    rounded = round_to_float32(value)
    single = np.float32(float(rounded))
    assert Fraction(float(single)) == rounded
    for other in (
        np.nextafter(single, np.float32(np.inf)),
        np.nextafter(single, -np.float32(np.inf)),
    ):
        assert abs(value - rounded) <= abs(value - Fraction(float(other)))


def test_ties_go_to_the_even_significand() -> None:
    assert round_to_float32(Fraction(2**24 + 1)) == 2**24
    assert round_to_float32(Fraction(2**24 + 3)) == 2**24 + 4
    assert round_to_float32(Fraction(SMALLEST) / 2) == 0
    assert round_to_float32(Fraction(SMALLEST) * Fraction(3, 2)) == Fraction(SMALLEST) * 2
    assert round_to_float32(Fraction(SMALLEST) / 2 + Fraction(1, 10**100)) == Fraction(SMALLEST)


def test_overflow_starts_half_a_step_beyond_the_largest_single() -> None:
    edge = Fraction(MAX) + 2**103
    assert round_to_float32(edge - Fraction(1, 10**9)) == Fraction(MAX)
    assert round_to_float32(-edge + Fraction(1, 10**9)) == -Fraction(MAX)
    with np.errstate(over="ignore"):
        assert np.isinf(np.float32(float(edge)))
    for value in (edge, -edge):
        with pytest.raises(VerificationError, match="overflows float32"):
            round_to_float32(value)


def test_double_threshold_is_the_last_double_that_goes_left() -> None:
    thresholds = neighbourhood(sample())
    last = double_threshold(thresholds)
    assert last.dtype == np.float64
    with np.errstate(under="ignore"):
        assert (last.astype(np.float32) <= thresholds).all()
        assert (np.nextafter(last, np.inf).astype(np.float32) > thresholds).all()


@given(singles, doubles)
def test_double_threshold_decides_like_the_single_precision_tree(t: float, x: float) -> None:
    last = double_threshold(np.array([t]))[0]
    assert (x <= last) == bool(np.float32(x) <= np.float32(t))


@given(singles.filter(lambda t: t != 0), st.integers(-3, 3))
def test_and_so_it_does_beside_the_tie(t: float, steps: int) -> None:
    x = float(double_threshold(np.array([t]))[0])
    last = x
    for _ in range(abs(steps)):
        x = float(np.nextafter(x, np.inf if steps > 0 else -np.inf))
    assert (x <= last) == bool(np.float32(x) <= np.float32(t)) == (steps <= 0)


def test_double_threshold_keeps_shapes() -> None:
    assert double_threshold(np.zeros((2, 3))).shape == (2, 3)
    assert double_threshold(np.float64(0.5)).shape == ()
    assert double_threshold([0.5]).shape == (1,)


@pytest.mark.parametrize("threshold", [1e39, -1e39, np.inf, -np.inf, np.nan])
def test_thresholds_out_of_range(threshold: float) -> None:
    with pytest.raises(VerificationError, match="outside the range of float32"):
        double_threshold(np.array([threshold]))
