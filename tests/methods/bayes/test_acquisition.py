"""EI-CFX beside its definition, the integral of equation 9, by adaptive quadrature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, product
from math import erf, exp, log, nextafter, pi, sqrt
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq

from cfxc.methods.bayes import (
    AEP,
    SEP,
    CustomPotential,
    ExponentialPolynomial,
    ei_cfx,
    log_ei_cfx,
    monte_carlo_ei,
    quadrature_ei,
)
from cfxc.methods.bayes.potentials import PEAK

BELOW = nextafter(PEAK, 0)
FAMILY: dict[str, Callable[[float], ExponentialPolynomial]] = {
    "SEP": SEP,
    "AEP+": lambda width: AEP(width, "+"),
    "AEP-": lambda width: AEP(width, "-"),
}
SIDES = {"SEP": (1, -1), "AEP+": (1,), "AEP-": (-1,)}
every = pytest.mark.parametrize("name", FAMILY)
names = st.sampled_from(sorted(FAMILY))
Function = Callable[[float], float]


# -- the oracle -----------------------------------------------------------------------------------


def integral(rho: Function, mean: float, std: float, best: float, marks: Sequence[float]) -> float:
    """Equation 9 with y = mean + std s, piece by piece between the marks, which are outputs."""

    def gain(s: float) -> float:
        return max(0.0, rho(mean + std * s) - best) * exp(-0.5 * s * s) / sqrt(2 * pi)

    inner = [s for y in marks if abs(s := (y - mean) / std) < 12]
    ends = sorted({*np.linspace(-12, 12, 9).tolist(), *inner})
    parts = (quad(gain, low, high, epsabs=1e-15, epsrel=1e-12)[0] for low, high in pairwise(ends))
    return float(sum(parts))


def roots(best: float) -> list[float]:
    """Of z² exp(-z²) = best."""
    if not 0 < best < PEAK:
        return []
    return [brentq(lambda z: z * z * exp(-z * z) - best, *ends) for ends in ((0, 1), (1, 28))]


def ep_potential(name: str, width: float, center: float) -> Function:
    """Equations 7 and 8."""

    def rho(y: float) -> float:
        z = [max(side * (y - center) / width, 0.0) for side in SIDES[name]]
        return sum(part * part * exp(-part * part) for part in z)

    return rho


def expected(
    name: str, mean: float, std: float, best: float, width: float = 1.0, center: float = 0.0
) -> float:
    rho = ep_potential(name, width, center)
    if best >= PEAK:
        return 0.0
    if std == 0:
        return max(0.0, rho(mean) - best)
    at = [0.0, *roots(best), 0.5, 1.0, 2.0, 4.0, 8.0]
    return integral(rho, mean, std, best, [center + s * z * width for z in at for s in (1, -1)])


def expected_log(m: float, t: float, best: float) -> float:
    """ln of the integral for AEP+, of width 1 and center 0, from m outside of [a, b].

    With u the distance from the end that is nearer to m, and x = ln u; the trapezoidal rule.
    """
    a, b = roots(best) if best else (0.0, m + 60)
    end, inwards = (a, 1) if m < a else (b, -1)
    gap = abs(m - end)
    u = np.exp(np.linspace(log(1e-18), log(b - a), 40_001))
    s = end + inwards * u
    gain = (s * np.exp(-s * s / 2)) ** 2 - best
    if best:
        gain = best * np.expm1(2 * np.log1p(inwards * u / end) - u * (2 * inwards * end + u))
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.log(np.maximum(gain, 0)) - u * (gap + u / 2) / t**2 + np.log(u)
    top = total.max()
    area = np.exp(total - top).sum() * (log(b - a) - log(1e-18)) / 40_000
    return float(top + log(area) - 0.5 * (gap / t) ** 2 - log(t * sqrt(2 * pi)))


def numbers(*values: float) -> list[torch.Tensor]:
    return [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in values]


def with_gradients(judge: Any, mean: float, std: float, *rest: Any) -> list[float]:
    """The value, and its derivatives by mean and standard deviation."""
    inputs = numbers(mean, std)
    value = judge(*inputs, *rest)
    return [float(part.detach()) for part in (value, *torch.autograd.grad(value, inputs))]


@st.composite
def cases(draw: st.DrawFn) -> tuple[float, float, float, float, float]:
    """Mean, deviation, best, width and center, on the scale of the width."""
    width = 10.0 ** draw(st.floats(-3, 3))
    center = width * draw(st.floats(-5, 5))
    mean = center + width * draw(st.floats(-6, 6))
    std = width * 10.0 ** draw(st.floats(-8, 2))
    edge = st.sampled_from([0.0, 1e-300, 1e-12, BELOW, PEAK])
    best = draw(st.one_of(st.floats(0, PEAK), edge))
    return mean, std, best, width, center


# -- the integral ---------------------------------------------------------------------------------


@given(names, cases())
@settings(max_examples=150)
def test_it_is_the_integral(name: str, case: tuple[float, float, float, float, float]) -> None:
    mean, std, best, width, center = case
    found = ei_cfx(mean, std, best, FAMILY[name](width), center)
    assert found == pytest.approx(expected(name, *case), rel=0, abs=1e-10)
    assert 0 <= found <= PEAK - best + 1e-15


@given(names, cases())
def test_quadrature_gives_the_same(
    name: str, case: tuple[float, float, float, float, float]
) -> None:
    mean, std, best, width, center = case
    std = max(std, 1e-5 * width)
    both = [
        judge(mean, std, best, FAMILY[name](width), center) for judge in (ei_cfx, quadrature_ei)
    ]
    assert both[0] == pytest.approx(both[1], rel=0, abs=1e-10)


@given(names, st.floats(-3, 3), st.floats(0, 0.3))
@settings(max_examples=40)
def test_quadrature_gives_the_same_without_deviation(name: str, mean: float, best: float) -> None:
    both = [judge(mean, 0.0, best, FAMILY[name](1.0), 0.0) for judge in (ei_cfx, quadrature_ei)]
    assert both[0] == pytest.approx(both[1], rel=0, abs=1e-10)


@every
def test_samples_give_the_same_within_their_error(name: str) -> None:
    potential = FAMILY[name](2.0)
    mean, std = np.array([[-3.0], [0.5], [4.0]]), np.array([0.2, 1.0, 5.0])
    runs = np.array([
        monte_carlo_ei(mean, std, 0.1, potential, 1.0, samples=2000, random_state=seed)
        for seed in range(40)
    ])  # fmt: skip
    error = runs.std(axis=0, ddof=1) / sqrt(40)
    off = np.abs(runs.mean(axis=0) - ei_cfx(mean, std, 0.1, potential, 1.0))
    assert (off <= 5 * error + 1e-9).all()
    assert error.max() < 1e-3


def test_samples_are_drawn_anew_only_with_another_seed() -> None:
    once, again, other = (
        monte_carlo_ei(0.3, 1.0, 0.1, SEP(1.0), 0.0, random_state=seed) for seed in (1, 1, 2)
    )
    assert once == again != other


def test_samples_are_antithetic() -> None:
    plus, minus = (monte_carlo_ei(0.0, 1.0, 0.1, AEP(1.0, side), 0.0, samples=9) for side in "+-")
    assert plus == pytest.approx(minus, rel=1e-12)


@every
@pytest.mark.parametrize("mean", [-1.0, -0.3, 0.0, 1.0, 2.5, 40.0])
@pytest.mark.parametrize("best", [0.0, 1e-300, 0.2, BELOW, PEAK])
def test_a_known_output_improves_by_what_it_is_better(name: str, mean: float, best: float) -> None:
    expectation = expected(name, mean, 0.0, best)
    for std in (0.0, 1e-14):
        found = ei_cfx(mean, std, best, FAMILY[name](1.0), 0.0)
        assert found == pytest.approx(expectation, rel=0, abs=1e-12)


@every
def test_of_the_largest_potential_there_is_no_improvement(name: str) -> None:
    mean, std = np.linspace(-3, 3, 13)[:, None], np.array([0, 1e-14, 1e-3, 1, 1e6])
    for best in (PEAK, nextafter(PEAK, 1), 0.5, 7.0):
        for judge in (ei_cfx, quadrature_ei):
            assert (judge(mean, std, best, FAMILY[name](1.0), 0.0) == 0).all()
        assert (log_ei_cfx(mean, std, best, FAMILY[name](1.0), 0.0) == -np.inf).all()


@every
def test_just_below_the_largest_potential_there_is_next_to_none(name: str) -> None:
    mean, std = np.linspace(-3, 3, 13)[:, None], np.array([0, 1e-14, 1e-3, 1, 1e6])
    found = ei_cfx(mean, std, BELOW, FAMILY[name](1.0), 0.0)
    assert ((found >= 0) & (found <= 1e-16)).all()


@every
def test_a_best_below_0_counts_as_none(name: str) -> None:
    found = [ei_cfx(0.4, 0.7, best, FAMILY[name](1.0), 0.0) for best in (0.0, -1.0)]
    assert found[0] == found[1] == pytest.approx(expected(name, 0.4, 0.7, 0.0), abs=1e-14)


@every
@pytest.mark.parametrize("std", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("best", [0.0, 0.1, 0.36])
def test_of_a_flat_density_it_is_an_area(name: str, std: float, best: float) -> None:
    """∫ max(0, ρ - ρ*) dy times the density, which varies as the square of width / std."""
    a, b = roots(best) if best else (0.0, 28.0)
    area = [sqrt(pi) / 4 * erf(z) - z / 2 * exp(-z * z) - best * z for z in (a, b)]
    expectation = len(SIDES[name]) * (area[1] - area[0]) / (std * sqrt(2 * pi))
    found = ei_cfx(0.3, std, best, FAMILY[name](1.0), 0.0)
    assert found == pytest.approx(expectation, rel=1e-10 + 10 / std**2, abs=0)


# -- its logarithm --------------------------------------------------------------------------------

REGULAR = [(0.2, 0.5, 0.1), (3.0, 0.3, 0.2), (-2.0, 1.0, 0.0), (-1.0, 20.0, 0.3), (1.2, 0.01, 0.1)]
FAR_OFF = [(-3.0, 0.05, 0.2), (9.0, 0.1, 0.3), (-40.0, 1.0, 1e-6), (0.1, 1e-3, 0.3),
           (30.0, 0.5, 0.36), (-5.0, 0.1, 0.0), (2.0, 1e-3, 0.367), (5.0, 0.1, 1e-5),
           (-1e3, 7.0, 0.01)]  # fmt: skip


@pytest.mark.parametrize("case", REGULAR)
def test_the_logarithm_is_one(case: tuple[float, float, float]) -> None:
    for potential in (SEP(1.0), AEP(1.0)):
        found = log_ei_cfx(*case, potential, 0.0)
        assert found == pytest.approx(log(ei_cfx(*case, potential, 0.0)), rel=1e-12)


@pytest.mark.parametrize("case", [*FAR_OFF, (-2.0, 1.0, 0.0), (3.0, 0.3, 0.2)])
def test_the_logarithm_is_exact_where_the_improvement_underflows(
    case: tuple[float, float, float],
) -> None:
    assert log_ei_cfx(*case, AEP(1.0), 0.0) == pytest.approx(expected_log(*case), rel=1e-9)


@pytest.mark.parametrize(("t", "best"), [(0.1, 0.3), (0.02, 0.05), (0.5, 1e-6)])
def test_the_logarithm_is_exact_where_the_terms_begin_to_cancel(t: float, best: float) -> None:
    """From where the closed form is good to where it is nothing but rounding."""
    a, b = roots(best)
    for sigmas in np.linspace(2, 32, 16):
        for m in (a - sigmas * t, b + sigmas * t):
            found = log_ei_cfx(m, t, best, AEP(1.0), 0.0)
            assert found == pytest.approx(expected_log(m, t, best), rel=1e-9)


@every
@pytest.mark.parametrize("std", [1e-6, 1e-3, 0.1, 1.0])
@pytest.mark.parametrize("best", [1e-12, 0.1, 0.36, 0.36787944])
def test_far_away_there_is_still_a_way_to_go(name: str, std: float, best: float) -> None:
    far = np.linspace(60, 10, 101)
    if name == "AEP-":
        far = -far
    for means in (far, -np.linspace(60, 0.5, 101) * np.sign(far[0])):
        if name == "SEP" and means[0] * far[0] < 0:
            continue  # the other side's band is on the way
        found = log_ei_cfx(means, std, best, FAMILY[name](1.0), 0.0)
        assert np.isfinite(found).all()
        assert (np.diff(found) > 0).all()
    assert ei_cfx(far[0], std, best, FAMILY[name](1.0), 0.0) == 0 or std == 1.0


@pytest.mark.parametrize("best", [0.03, 0.35])
@pytest.mark.parametrize(("mean", "std"), [(5.0, 1e-9), (5.0, 0.0), (0.1, 0.0), (1e6, 1e-9)])
def test_the_logarithm_is_finite_however_small_the_deviation(
    mean: float, std: float, best: float
) -> None:
    value, *slopes = with_gradients(log_ei_cfx, mean, std, best, AEP(1.0), 0.0)
    assert -np.inf < value < -1e10
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("judge", [ei_cfx, log_ei_cfx, quadrature_ei])
@pytest.mark.parametrize("mean", [0.4, -1.5])
def test_the_side_without_mass_does_not_spoil_the_gradient(judge: Any, mean: float) -> None:
    value, *slopes = with_gradients(judge, mean, 0.0, 0.001, SEP(1.0), 0.0)
    known = expected("SEP", mean, 0.0, 0.001)
    assert value == pytest.approx(log(known) if judge is log_ei_cfx else known, rel=1e-4)
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("mean", [20.0, 30.0, 300.0])
def test_of_no_potential_yet_the_logarithm_is_exact_far_away(mean: float) -> None:
    k = 3.0  # t = 1
    closed = -mean * mean / k - 0.5 * log(k) + log((mean / k) ** 2 + 1 / k)  # and Φ(m'/t') is 1
    assert log_ei_cfx(mean, 1.0, 0.0, AEP(1.0), 0.0) == pytest.approx(closed, rel=1e-12)


@pytest.mark.parametrize("case", [(-15.3, 0.421, 0.352), (-0.555, 0.01812, 0.0178)])
def test_where_the_improvement_is_subnormal(case: tuple[float, float, float]) -> None:
    """Between exp(-745) and exp(-708)."""
    mean = np.linspace(0.97, 1.03, 201) * case[0]
    found = log_ei_cfx(mean, *case[1:], AEP(1.0), 0.0)
    inside = (found > -745) & (found < -708)
    assert inside.sum() > 20
    for one in mean[inside]:
        value, *slopes = with_gradients(log_ei_cfx, one, *case[1:], AEP(1.0), 0.0)
        assert value == pytest.approx(expected_log(one, *case[1:]), rel=1e-9)
        assert np.isfinite(slopes).all()


# -- gradients ------------------------------------------------------------------------------------

POINTS = [(0.2, 0.5), (1.0, 0.3), (0.0, 1.0), (-3.0, 0.7), (3.0, 0.2), (1.4, 0.01), (0.5, 40.0)]
custom = CustomPotential(lambda y, c: np.exp(-(((y - c - 1) / 0.5) ** 2)), 1.0, name="bump")


@pytest.mark.parametrize("judge", [ei_cfx, log_ei_cfx, quadrature_ei])
@pytest.mark.parametrize("best", [0.0, 0.1, 0.36])
@pytest.mark.parametrize("name", [*FAMILY, "custom"])
def test_gradients_are_those_of_the_values(judge: Any, best: float, name: str) -> None:
    potential = custom if name == "custom" else FAMILY[name](1.0)
    for mean, std in POINTS:

        def value(m: Any, t: Any) -> Any:
            return judge(m, t, best, potential, 0.0)

        size = max(1.0, abs(float(judge(mean, std, best, potential, 0.0))))
        inputs = numbers(mean, std)
        step = 1e-5 * min(1.0, std)
        assert torch.autograd.gradcheck(value, inputs, eps=step, atol=1e-6 * size, rtol=1e-5)


@every
@pytest.mark.parametrize("best", [0.0, 0.1, 0.36])
def test_gradients_are_those_of_the_integral(name: str, best: float) -> None:
    h = 1e-4
    for mean, std in POINTS[:-2]:
        _, by_mean, by_std = with_gradients(ei_cfx, mean, std, best, FAMILY[name](1.0), 0.0)
        left, right, less, more = (
            expected(name, mean + i * h, std + j * h, best)
            for i, j in ((-1, 0), (1, 0), (0, -1), (0, 1))
        )
        assert by_mean == pytest.approx((right - left) / (2 * h), rel=0, abs=1e-6)
        assert by_std == pytest.approx((more - less) / (2 * h), rel=0, abs=1e-6)


@every
@given(st.floats(-3, 3), st.floats(0.2, 5), st.floats(0, 0.36))
@settings(max_examples=30)
def test_it_solves_the_heat_equation(name: str, mean: float, std: float, best: float) -> None:
    """As any E[g(m + t Z)] does: its derivative by t is t times the second one by m."""
    h, potential = 1e-4, FAMILY[name](1.0)
    left, middle, right = (
        with_gradients(ei_cfx, mean + step, std, best, potential, 0.0) for step in (-h, 0, h)
    )
    second = (right[1] - left[1]) / (2 * h)
    assert middle[2] == pytest.approx(std * second, rel=0, abs=1e-5)


EDGES = [*product((0.0, 0.2, 1.0, 5.0, 60.0, 1e6), (1e-3, 1.0, 1e6)),
         *product((0.3, 1.0), (1e-9, 1e-14, 0.0))]  # fmt: skip
of_any_kind = pytest.mark.parametrize(
    "potential", [*(make(1.0) for make in FAMILY.values()), custom], ids=str
)


@pytest.mark.parametrize("judge", [ei_cfx, log_ei_cfx, quadrature_ei])
@of_any_kind
@pytest.mark.parametrize("best", [0.0, 1e-300, 0.001])
def test_no_value_and_no_gradient_is_nan_or_infinite(
    judge: Any, potential: Any, best: float
) -> None:
    for (mean, std), sign in product(EDGES, (1, -1)):
        if std < 1e-6 and best == 0.001 and not (potential is custom and sign > 0):
            continue  # see the tests of small deviations
        found = with_gradients(judge, sign * mean, std, best, potential, 0.0)
        assert np.isfinite(found).all(), (mean, std, found)


@pytest.mark.parametrize("judge", [ei_cfx, log_ei_cfx, quadrature_ei])
@of_any_kind
@pytest.mark.parametrize("over", [0.0, 1e-9, 1.0])
def test_without_improvement_there_is_a_gradient(judge: Any, potential: Any, over: float) -> None:
    """ρ* is 1/e where an output is just what was asked for: of trees, or whole numbers."""
    for mean, std in ((1.0, 1.0), (0.0, 1e-3), (-1e3, 2.0), (1.0, 0.0)):
        best = potential.peak(0.0) + over
        value, *slopes = with_gradients(judge, mean, std, best, potential, 0.0)
        assert value < -30 if judge is log_ei_cfx else 0 <= value < 1e-15
        assert np.isfinite(slopes).all()


@pytest.mark.parametrize(("mean", "std"), [(1.0, 1e160), (1e160, 1.0), (1e300, 0.0)])
def test_absurd_sizes_are_no_nan(mean: float, std: float) -> None:
    assert np.isfinite(with_gradients(log_ei_cfx, mean, std, 0.1, SEP(1.0), 0.0)).all()


# -- symmetries -----------------------------------------------------------------------------------


@given(cases())
def test_both_sides_are_the_sum_of_each(case: tuple[float, float, float, float, float]) -> None:
    mean, std, best, width, center = case
    parts = [ei_cfx(mean, std, best, FAMILY[name](width), center) for name in FAMILY]
    assert parts[0] == pytest.approx(parts[1] + parts[2], rel=1e-12, abs=1e-300)


@given(cases())
def test_one_side_is_the_mirror_image_of_the_other(
    case: tuple[float, float, float, float, float],
) -> None:
    mean, std, best, width, center = case
    for name, mirror in (("AEP+", "AEP-"), ("SEP", "SEP")):
        for judge in (ei_cfx, log_ei_cfx):
            one = judge(mean, std, best, FAMILY[name](width), center)
            assert one == judge(-mean, std, best, FAMILY[mirror](width), -center)


@given(names, cases(), st.floats(-3, 3), st.floats(-100, 100))
def test_units_and_origin_do_not_matter(
    name: str, case: tuple[float, float, float, float, float], power: float, shift: float
) -> None:
    mean, std, best, width, center = case
    k, std = 10.0**power, max(std, 1e-6 * width)
    own = ei_cfx(mean, std, best, FAMILY[name](width), center)
    moved = [k * value + k * width * shift for value in (mean, center)]
    other = ei_cfx(moved[0], k * std, best, FAMILY[name](k * width), moved[1])
    assert own == pytest.approx(other, rel=0, abs=1e-12)


@given(names, cases(), st.floats(0, 1))
def test_the_better_the_best_the_less_is_left(
    name: str, case: tuple[float, float, float, float, float], share: float
) -> None:
    mean, std, best, width, center = case
    more, less = (ei_cfx(mean, std, at, FAMILY[name](width), center) for at in (share * best, best))
    assert less <= more + 1e-15
    assert more - less <= (1 - share) * best + 1e-15


# -- potentials of one's own ----------------------------------------------------------------------


def custom_expected(mean: float, std: float, best: float, center: float) -> float:
    reach = [0.5 * sqrt(-log(best)), 0.5, 1.0] if best else [0.5, 1.0, 2.0]
    marks = [center + 1 + sign * part for part in reach for sign in (-1, 0, 1)]
    return integral(lambda y: exp(-(((y - center - 1) / 0.5) ** 2)), mean, std, best, marks)


def worst_custom(best: float, stds: Sequence[float]) -> float:
    """How far off EI of the bump is."""
    return max(
        abs(ei_cfx(mean, std, best, custom, 3.0) - custom_expected(mean, std, best, 3.0))
        for mean, std in product((2.0, 3.6, 4.0, 4.3, 6.0), stds)
    )


def test_a_potential_of_ones_own() -> None:
    assert worst_custom(0.0, (1e-3, 0.05, 0.5, 3.0)) < 1e-10


@pytest.mark.parametrize("best", [0.1, 0.5, 0.9])
def test_it_is_looked_at_finely_enough(best: float) -> None:
    assert worst_custom(best, (0.05, 0.5, 3.0)) < 1e-3


@pytest.mark.parametrize("best", [0.1, 0.5, 0.9, 0.999])
def test_it_is_exact_between_the_points_at_which_it_is_looked_at(best: float) -> None:
    assert worst_custom(best, (1e-3, 0.05, 0.5, 3.0)) < 1e-10


def one_like(name: str) -> CustomPotential:
    def function(y: Any, center: Any) -> Any:
        parts = [np.maximum(side * (y - center) / 2.0, 0.0) ** 2 for side in SIDES[name]]
        return sum(part * np.exp(-part) for part in parts)

    return CustomPotential(function, 2.0, name=f"like {name}")


MEANS, STDS = np.linspace(-9, 9, 13)[:, None], np.array([1e-3, 0.1, 1.0, 30.0])


@every
def test_one_that_does_as_a_closed_form_does(name: str) -> None:
    found = ei_cfx(MEANS, STDS, 0.0, one_like(name), 0.5)
    off = np.abs(found - ei_cfx(MEANS, STDS, 0.0, FAMILY[name](2.0), 0.5))
    assert off.max() < (1e-10 if name == "SEP" else 1e-4)  # nodes see nothing of a kink


@every
def test_one_that_does_as_a_closed_form_does_above_a_level(name: str) -> None:
    found = ei_cfx(MEANS, STDS, 0.2, one_like(name), 0.5)
    assert found == pytest.approx(ei_cfx(MEANS, STDS, 0.2, FAMILY[name](2.0), 0.5), abs=1e-10)
