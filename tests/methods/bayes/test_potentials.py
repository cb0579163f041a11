"""Potentials: where they are largest, where they are high, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import e, exp, inf, log, nan, nextafter, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfxc.errors import DataTypeError, InvalidInputError
from cfxc.methods.bayes import AEP, SEP, CustomPotential, ExponentialPolynomial
from cfxc.methods.bayes.potentials import PEAK, band, width_to

FAMILY: dict[str, Callable[[float], ExponentialPolynomial]] = {
    "SEP": SEP,
    "AEP+": lambda width: AEP(width, "+"),
    "AEP-": lambda width: AEP(width, "-"),
}
every = pytest.mark.parametrize("make", FAMILY.values(), ids=FAMILY)
names = st.sampled_from(sorted(FAMILY))
widths = st.floats(-3, 3).map(lambda power: 10.0**power)
places = st.floats(-20, 20)  # of the center, in widths


def by_definition(sign: str, z: float) -> float:
    """Equations 7 and 8."""
    above, below = max(z, 0.0), -min(z, 0.0)
    parts = {"+": (above,), "-": (below,), "+-": (above, below)}[sign]
    return sum(part**2 * exp(-(part**2)) for part in parts)


def bump(y: Any, center: Any) -> Any:
    return np.exp(-(((y - center - 2.0) / 0.5) ** 2))


# -- the family -----------------------------------------------------------------------------------


@given(names, widths, places, st.floats(-30, 30))
def test_values_are_those_of_the_definition(name: str, w: float, place: float, z: float) -> None:
    potential, center = FAMILY[name](w), place * w
    y = center + z * w
    expected = by_definition(potential.sign, (y - center) / w)
    assert float(potential(y, center)) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@given(names, widths, places)
def test_it_is_largest_one_width_away(name: str, w: float, place: float) -> None:
    potential, center = FAMILY[name](w), place * w
    peaks = potential.optima(center)
    assert peaks == tuple(sorted(center + side * w for side in potential.sides))
    assert potential.peak(3.0) == PEAK == 1 / e
    assert potential(peaks, center) == pytest.approx(PEAK, rel=1e-14)
    around = np.concatenate([np.linspace(y - w, y + w, 999) for y in peaks])
    assert potential(around, center).max() <= PEAK
    beside = [y + step * w for y in peaks for step in (-0.01, 0.01)]
    assert (potential(beside, center) < PEAK - 1e-5).all()


@every
def test_it_is_0_at_the_query_and_far_away(make: Callable[[float], ExponentialPolynomial]) -> None:
    potential = make(2.0)
    assert potential(3.0, 3.0) == 0.0
    assert (potential([1e3, -1e3, inf, -inf], 3.0) == 0).all()


@pytest.mark.parametrize(("sign", "wrong"), [("+", -1.0), ("-", 1.0)])
def test_it_is_0_on_the_wrong_side(sign: str, wrong: float) -> None:
    far = np.geomspace(1e-9, 1e9, 99)
    assert (AEP(0.7, sign)(5.0 + wrong * far, 5.0) == 0).all()
    assert (AEP(0.7, sign)(5.0 - wrong * far[40:55], 5.0) > 0).all()


def test_the_symmetric_one_is_the_sum_of_both_sides() -> None:
    y = np.linspace(-9, 9, 1001)
    assert SEP(1.7)(y, 0.3) == pytest.approx(AEP(1.7, "+")(y, 0.3) + AEP(1.7, "-")(y, 0.3))
    assert AEP(1.7, "+")(y, 0.0) == pytest.approx(AEP(1.7, "-")(-y, 0.0))


@every
def test_outputs_and_centers_broadcast(make: Callable[[float], ExponentialPolynomial]) -> None:
    y, center = np.arange(3.0)[:, None], np.arange(4.0)
    found = make(1.5)(y, center)
    assert (found.shape, found.dtype) == ((3, 4), np.float64)
    assert found[2, 1] == make(1.5)(2.0, 1.0)


def test_names_tell_side_and_width() -> None:
    assert [str(make(0.25)) for make in FAMILY.values()] == [
        "SEP, width 0.25",
        "AEP+, width 0.25",
        "AEP-, width 0.25",
    ]
    assert SEP(1) == SEP(1.0) != AEP(1)


# -- superlevel sets ------------------------------------------------------------------------------


@given(names, widths, places, st.floats(1e-9, 1 - 1e-6))
def test_it_is_high_within_its_superlevel_set_and_low_beside(
    name: str, w: float, place: float, share: float
) -> None:
    potential, center, level = FAMILY[name](w), place * w, share * PEAK
    intervals = potential.superlevel(level, center)
    assert len(intervals) == len(potential.sides)
    for low, high in intervals:
        step = 1e-6 * (high - low)
        assert (potential(np.linspace(low + step, high - step, 99), center) >= level).all()
        assert (potential([low - step, high + step], center) < level).all()
        assert potential([low, high], center) == pytest.approx(level, rel=1e-9)


@given(names, st.floats(1e-12, 1), st.floats(1e-12, 1))
def test_superlevel_sets_are_nested(name: str, first: float, second: float) -> None:
    outer, inner = (
        FAMILY[name](3.0).superlevel(share * PEAK, -1.0) for share in sorted((first, second))
    )
    for (low, high), (begin, end) in zip(outer, inner, strict=True):
        assert low <= begin <= end <= high


@every
def test_superlevel_sets_at_the_ends(make: Callable[[float], ExponentialPolynomial]) -> None:
    potential = make(2.0)
    assert potential.superlevel(nextafter(PEAK, 1), 5.0) == ()
    assert potential.superlevel(PEAK, 5.0) == tuple((y, y) for y in potential.optima(5.0))
    ends = {5.0, inf} if "+" in potential.sign else set()
    ends |= {-inf, 5.0} if "-" in potential.sign else set()
    assert {end for pair in potential.superlevel(0.0, 5.0) for end in pair} == ends


def residual(z: float, level: float) -> float:
    """ln of z² exp(-z²) / level: a relative error."""
    return 2 * log(z) - z * z - log(level)


BESIDE_THE_PEAK = [PEAK * (1 - gap) for gap in np.geomspace(1e-15, 0.1, 29)]
LEVELS = [*np.geomspace(1e-300, 0.36, 61), *BESIDE_THE_PEAK, nextafter(PEAK, 0), PEAK]


@pytest.mark.parametrize("level", LEVELS)
def test_the_roots_of_a_level(level: float) -> None:
    low, high = (float(root) for root in band(level))
    assert 0 < low <= 1 <= high
    assert abs(residual(low, level)) <= 1e-12
    assert abs(residual(high, level)) <= 1e-12


@given(st.floats(1e-15, 1e-3))
def test_the_roots_beside_the_peak_leave_it_like_a_square_root(gap: float) -> None:
    """ln ρ = -1 - 2 (z - 1)² + ..., which a root at 1 would satisfy to rounding as well."""
    level = PEAK * (1 - gap)
    depth = -np.log1p((level - PEAK) / PEAK)  # exact, but for the rounding of 1/e
    reach, slack = sqrt(depth / 2), depth + 1e-16 / sqrt(depth)
    low, high = (float(root) for root in band(level))
    assert 1 - low == pytest.approx(reach, abs=slack)
    assert high - 1 == pytest.approx(reach, abs=slack)


def test_roots_of_many_levels_at_once() -> None:
    levels = np.array([0.0, 0.1, 0.3, PEAK])
    low, high = band(levels)
    assert low.tolist() == [float(band(level)[0]) for level in levels]
    assert high.tolist() == [float(band(level)[1]) for level in levels]
    assert (low[0], high[0], low[3], high[3]) == (0.0, inf, 1.0, 1.0)


# -- potentials of one's own ----------------------------------------------------------------------


def test_a_potential_of_ones_own() -> None:
    potential = CustomPotential(bump, 1.0, name="two more")
    assert str(potential) == "two more, width 1"
    assert potential.peak(0.0) == pytest.approx(1.0, abs=1e-8)
    assert potential.optima(10.0) == pytest.approx((12.0,), abs=1e-4)
    assert potential([[12.0], [12.5]], 10.0) == pytest.approx(np.exp([[0.0], [-1.0]]))


@given(st.floats(0.01, 0.99), st.floats(-100, 100))
def test_where_it_is_high(level: float, center: float) -> None:
    ((low, high),) = CustomPotential(bump, 1.0).superlevel(level, center)
    reach = 0.5 * sqrt(-log(level))
    assert (low, high) == pytest.approx((center + 2 - reach, center + 2 + reach), abs=16 / 4096)
    assert (bump(np.array([low, high]), center) >= level * (1 - 1e-9)).all()


def test_it_may_be_high_in_several_places() -> None:
    potential = CustomPotential(lambda y, center: np.cos(3 * (y - center)) + 1, 1.0)
    found = np.array(potential.superlevel(1.0, 0.0))[1:-1]  # those at the ends are cut off
    middle = np.arange(-3, 4) * 2 * np.pi / 3
    assert found.mean(axis=1) == pytest.approx(middle, abs=0.01)
    assert found[:, 1] - found[:, 0] == pytest.approx(np.pi / 3, abs=0.01)


def test_it_is_nowhere_above_its_maximum() -> None:
    potential = CustomPotential(bump, 1.0)
    assert potential.superlevel(1.001, 0.0) == ()
    assert potential.superlevel(0.0, 0.0) == ((-8.0, 8.0),)


@pytest.mark.parametrize("function", [None, "z ** 2", 3.0])
def test_what_cannot_be_called_is_no_potential(function: Any) -> None:
    with pytest.raises(DataTypeError, match="callable"):
        CustomPotential(function, 1.0)


NO_POTENTIALS: list[tuple[str, Any, type[Exception], str]] = [
    ("one number", lambda y, c: 1.0, DataTypeError, "shape"),
    ("another shape", lambda y, c: np.ones(3), DataTypeError, "shape"),
    ("one argument", lambda y: y, DataTypeError, "failed"),
    ("text", lambda y, c: "high", DataTypeError, "failed"),
    ("no arrays", lambda y, c: 1.0 if y > c else 0.0, DataTypeError, "failed"),
    ("negative", lambda y, c: y - c, InvalidInputError, "finite numbers >= 0"),
    ("NaN", lambda y, c: np.where(y > c, nan, 1.0), InvalidInputError, "finite numbers >= 0"),
    ("infinite", lambda y, c: np.where(y > c, inf, 1.0), InvalidInputError, "finite numbers >= 0"),
    ("zero", lambda y, c: 0 * y, InvalidInputError, "is 0 at all outputs"),
    ("far", lambda y, c: np.where(y > c + 9, 1.0, 0.0), InvalidInputError, "is 0 at all outputs"),
]


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [case[1:] for case in NO_POTENTIALS],
    ids=[case[0] for case in NO_POTENTIALS],
)
def test_what_is_no_potential(function: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        CustomPotential(function, 1.0).peak(0.0)


# -- widths ---------------------------------------------------------------------------------------

MAKERS: dict[str, Callable[[Any], Any]] = {
    **FAMILY,
    "custom": lambda width: CustomPotential(bump, width),
}
of_any_kind = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@of_any_kind
@pytest.mark.parametrize("width", [0, 0.0, -1, -1e-300, inf, -inf, nan])
def test_a_width_is_positive_and_finite(make: Callable[[Any], Any], width: float) -> None:
    with pytest.raises(InvalidInputError, match="width"):
        make(width)


@of_any_kind
@pytest.mark.parametrize("width", ["1", "wide", True, False, None, 1j, [1.0]])
def test_a_width_is_a_number(make: Callable[[Any], Any], width: Any) -> None:
    with pytest.raises(DataTypeError, match="width"):
        make(width)


@of_any_kind
@pytest.mark.parametrize("width", [2, Fraction(2), np.float32(2), np.int64(2)])
def test_any_real_number_will_do(make: Callable[[Any], Any], width: Any) -> None:
    assert type(make(width).width) is float
    assert make(width).width == 2.0


def test_a_width_beyond_all_doubles_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="width"):
        SEP(10**400)


@pytest.mark.parametrize("sign", ["", "+-", "plus", None, 1])
def test_a_side_is_above_or_below(sign: Any) -> None:
    with pytest.raises(InvalidInputError, match="sign"):
        AEP(1.0, sign)


def test_the_potential_of_a_goal() -> None:
    assert width_to(3.0, 5.0) == AEP(2.0, "+")
    assert width_to(3.0, 1.5) == AEP(1.5, "-")
    assert width_to(3.0, 1.5).optima(3.0) == (1.5,)
    with pytest.raises(InvalidInputError, match="already"):
        width_to(3.0, 3.0)
    with pytest.raises(InvalidInputError, match="finite"):
        width_to(3.0, nan)


# -- what they are for: Figure 1 ------------------------------------------------------------------

LESS, MORE = 0.9, 1.1  # ε₁ < ε₂: two tastes of "about 1 more"
GRID = np.linspace(0, 10, 1001)  # the query is its first point


def steps(x: Any) -> Any:
    """0 up to x₁ = 1, then 1, and 2 from x₂ = 9 on: a tree's."""
    return np.searchsorted([1.0, 9.0], x, side="right").astype(float)


def slope(x: Any) -> Any:
    """Strictly increasing, continuous: steep up to x₁, and then hardly until beyond x₂."""
    return np.interp(x, [0, 1, 9, 10], [0.0, 1.0, 1.04, 2.0])


def nearest(good: Any) -> float:
    """The first point of the grid, which begins with the query, that qualifies."""
    return float(GRID[np.flatnonzero(good)[0]])


def by_threshold(output: Any, least: float) -> float:
    return nearest(np.abs(output - output[0]) >= least)


def by_potential(output: Any, width: float, tolerance: float = 0.0) -> float:
    """The nearest of the ε-optimal points of Definition 2.4."""
    value = AEP(width, "+")(output, output[0])
    return nearest(value >= (1 - tolerance) * value.max())


def test_a_threshold_flips_the_answer_and_a_potential_does_not() -> None:
    output = steps(GRID)
    query, first, second = output[0], *steps([1.0, 9.0])
    assert query < query + LESS < first < query + MORE < second
    assert (by_threshold(output, LESS), by_threshold(output, MORE)) == (1.0, 9.0)
    assert (by_potential(output, LESS), by_potential(output, MORE)) == (1.0, 1.0)


def test_of_a_continuous_model_the_nearly_optimal_points_stay() -> None:
    """Its best point is where the output is just as asked for, and may be as far as that."""
    output = slope(GRID)
    assert (by_threshold(output, LESS), by_threshold(output, MORE)) == pytest.approx((0.9, 9.07))
    assert by_potential(output, MORE) == pytest.approx(9.06, abs=0.011)
    near = [by_potential(output, width, tolerance=0.05) for width in (LESS, MORE)]
    assert max(near) < 1.0
    assert abs(near[1] - near[0]) < 0.3
