"""``Feature.near`` beside enumeration, also where steps are far finer than the column's floats."""

from __future__ import annotations

import math
from fractions import Fraction as Q
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfxc.certificates.checker import Feature, Rejected
from tests.certificates.handmade import REAL

ACTIONS = ("free", "fixed", "increase", "decrease", "conditional")
STEPS = ["1/10", "1/3", "1/4", "3", "1/1000", "1/1000003"]


def feature(own: Q, action: str = "free", **more: Any) -> Feature:
    return Feature({**REAL, "action": action, **more}, str(own), "f")


def held(value: Q, width: int) -> Q:
    """A multiple as the column holds it: the nearest double, and of narrow columns the float32."""
    near = float(value)
    return Q(float(np.float32(near))) if width == 4 else Q(near)


def every(found: Feature, width: int) -> list[Q]:
    """All admissible values, by definition."""
    assert found.step is not None
    ends = found.lower / found.step, found.upper / found.step
    first, last = math.floor(ends[0]) - 2, math.ceil(ends[1]) + 2
    cells = {held(k * found.step, width) if width else k * found.step
             for k in range(first, last + 1)}  # fmt: skip
    return sorted(x for x in cells | {found.own} if found.lower <= x <= found.upper)


def require_near(found: Feature, values: list[Q], place: Q) -> None:
    above = [x for x in values if x >= place]
    below = [x for x in values if x <= place]
    assert found.near(place, 1) == (min(above) if above else None)
    assert found.near(place, -1) == (max(below) if below else None)


@given(
    st.sampled_from(STEPS), st.sampled_from([4, 8]), st.sampled_from(ACTIONS),
    st.integers(-8, 40), st.integers(0, 40), st.data(),
)  # fmt: skip
def test_near(step: str, width: int, action: str, low: int, size: int, data: Any) -> None:
    step = step if Q(step) > Q(1, 500) else "1/10"
    own = held(Q(low, 4) + Q(size, 4) * Q(data.draw(st.integers(0, 16)), 16), 4)
    ends = {"lower": str(Q(low, 4)), "upper": str(Q(low + size, 4)), "step": step, "float": width}
    found = feature(own, action, **ends)
    values = every(found, width)
    places = [own, *values[:3], *values[-3:], Q(data.draw(st.integers(-1000, 3000)), 97)]
    places += [place + Q(s, 10**9) for place in places for s in (-1, 1)]
    for place in places:
        require_near(found, values, place)


@pytest.mark.parametrize("step", ["1/1000", "1/1000003", "1/7", "1/1048576"])
def test_steps_far_finer_than_the_floats_of_the_column(step: str) -> None:
    """Around 2²³ a float32 is a whole number: thousands of multiples are held as one value."""
    low, high = 2**23 - 4, 2**23 + 6
    ends = {"lower": str(low), "upper": str(high), "step": step, "float": 4}
    found = feature(Q(low), **ends)
    narrow = [Q(float(x)) for x in _floats(np.float32(low), np.float32(high))]
    for place in [*narrow, *(x + Q(1, 3) for x in narrow), *(x - Q(1, 10**9) for x in narrow)]:
        require_near(found, narrow, place)
    # each is held for some multiple: the step is finer than half of a float's width
    near = Q(step)
    assert all(any(held(k * near, 4) == x for k in _around(x, near)) for x in narrow[1:-1])


def _floats(low: Any, high: Any) -> list[Any]:
    found = [low]
    while found[-1] < high:
        found.append(np.nextafter(found[-1], np.float32(np.inf)))
    return found


def _around(x: Q, step: Q) -> range:
    return range(math.floor(x / step) - 1, math.ceil(x / step) + 2)


def test_numbers_without_a_step_are_floats() -> None:
    for width, kind in ((4, np.float32), (8, np.float64)):
        found = feature(Q(1), step=None, float=width, upper="1000")
        for value in (Q(1, 3), Q(1000, 7), Q(1, 10**9)):
            near = kind(float(value))
            below = near if Q(float(near)) <= value else np.nextafter(near, kind(-np.inf))
            above = near if Q(float(near)) >= value else np.nextafter(near, kind(np.inf))
            assert found.near(value, -1) == Q(float(below))
            assert found.near(value, 1) == Q(float(above))


def test_nothing_is_left_beyond_a_range() -> None:
    """A factual lies in its range; else a range of one value would hide all there is."""
    nothing = (None, None)
    assert feature(Q(1)).nearest(nothing) is None
    assert feature(Q(1)).sides(nothing, Q(1)) == (nothing, nothing)
    for own in (Q(9), Q(-1)):
        with pytest.raises(Rejected, match="lies outside"):
            feature(own)


def test_distances_are_kept_up_to_a_number_of_them() -> None:
    found = feature(Q(0), lower="-10", upper="10")
    found.kept = 1
    assert [found.delta(Q(x)) for x in (1, 2, 2)] == [Q(1, 20), Q(1, 10), Q(1, 10)]
    assert found.away == {Q(1): Q(1, 20)}
