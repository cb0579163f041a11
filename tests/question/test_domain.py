"""Admissible values around many numbers at once: the same as around each of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cfxc.question.domain as module
from cfxc.question.domain import Domain, domain_of
from cfxc.space import Feature
from cfxc.space.values import first_true
from cfxc.stopping import TimeUp, until

STEPS = [None, "0.01", "0.1", "1/3", "0.5", "3", "1e-6", "7/1000000", "1e-17", "3e-40", "1e-290"]
TINY = [0.0, 1e-45, 1.5e-45, 1e-40, 2e-38, 1e-8, 5e-8, 5e-5, 1e-300, 5e-324]


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    dtype = draw(st.sampled_from(["float64", "float32", "float16", "int64"]))
    kind = "integer" if dtype == "int64" else draw(st.sampled_from(["real", "integer"]))
    cell = np.dtype(dtype).type if kind == "real" and dtype != "int64" else np.float64
    numbers = st.floats(-1e4, 1e4, allow_nan=False, width=32)
    if kind == "integer":
        numbers = st.integers(-1000, 1000).map(float)
    ends = sorted(draw(st.tuples(numbers, numbers, numbers)))
    low, own, high = (Fraction(float(cell(each))) for each in ends)
    step = draw(st.sampled_from(STEPS)) if kind == "real" else None
    feature = Feature(
        "x", kind, lower=low, upper=high, dtypes=(dtype,),
        resolution=None if step is None else Fraction(step),
        action=draw(st.sampled_from(["free", "increase", "decrease", "fixed"])),
    )  # fmt: skip
    if step is not None and draw(st.booleans()):
        own = Fraction(float(cell(float(round(own / Fraction(step)) * Fraction(step)))))
    return domain_of(feature, int(own) if kind == "integer" else own)


@settings(max_examples=400, deadline=None)
@given(domains(), st.lists(st.floats(-1.1e4, 1.1e4, allow_nan=False), max_size=8), st.data())
def test_values_around_many_numbers(
    domain: Domain, values: list[float], data: st.DataObject
) -> None:
    ends = [float(domain.lower), float(domain.upper), float(domain.factual)]
    values += ends + [float(np.nextafter(end, way)) for end in ends for way in (-np.inf, np.inf)]
    if domain.step is not None:  # at multiples, as the column holds them, and beside them
        k = data.draw(st.integers(0, 20)) + domain.lower // domain.step
        held = float(domain.held(k * domain.step))
        values += [held, float(np.nextafter(held, -np.inf)), float(np.nextafter(held, np.inf))]
    for side, one in ((-1, domain.floor), (1, domain.ceil)):
        expected = [one(value) for value in values]
        found = [None if np.isnan(x) else x for x in domain.nearest(np.array(values), side)]
        assert found == expected


@settings(max_examples=200, deadline=None)
@given(
    domains(),
    st.floats(-1.1e4, 1.1e4, allow_nan=False)
    | st.sampled_from([*TINY, *(-value for value in TINY)]),
)
def test_the_next_multiple_is_the_first_that_the_column_holds(domain: Domain, near: float) -> None:
    step, held, value = domain.step, domain.held, Fraction(near)
    if domain.feature.resolution is None or step is None:
        return
    after = first_true(lambda k: held(k * step) >= value, value // step)
    before = first_true(lambda k: held(k * step) > value, value // step) - 1
    assert Fraction(domain._multiple(value, 1)) == held(after * step)
    assert Fraction(domain._multiple(value, -1)) == held(before * step)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_where_a_grid_is_finer_than_the_column_no_multiple_is_sought(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 0, too, where a column holds a great many multiples as 0."""
    monkeypatch.setattr(module, "first_true", None)
    step, nothing = Fraction("1e-299"), Fraction(0)
    fine = Feature(
        "x", "real", lower=Fraction(-10), upper=nothing, resolution=step, dtypes=(dtype,)
    )
    domain = domain_of(fine, nothing)
    least = Fraction(float(np.finfo(dtype).smallest_subnormal))
    assert domain.ceil(Fraction(0)) == domain.floor(Fraction(0)) == 0
    assert domain.ceil(-least / 3) == domain.ceil(-step) == 0
    assert domain.floor(-step) == domain.floor(-least) == domain.ceil(-least) == -least


@pytest.mark.parametrize("step", [None, "0.001", "0.1", "64"])
def test_a_range_beyond_the_largest_float_ends_with_it(step: str | None) -> None:
    wide = Feature(
        "x", "real", lower=Fraction(-66000), upper=Fraction(66000), dtypes=("float16",),
        resolution=None if step is None else Fraction(step),
    )  # fmt: skip
    domain = domain_of(wide, Fraction(0))
    last = domain.floor(Fraction(65504))
    assert last is not None
    assert domain.floor(Fraction(65999)) == domain.floor(Fraction(66000)) == last
    assert domain.ceil(Fraction(65530)) is None
    assert domain.floor(Fraction(-65530)) is None
    assert domain.ceil(Fraction(-66000)) == -last
    values = np.array([-66000.0, -65530.0, 65504.0, 65519.0, 65530.0, 66000.0])
    for side, one in ((-1, domain.floor), (1, domain.ceil)):
        found = [None if np.isnan(x) else x for x in domain.nearest(values, side)]
        assert found == [one(value) for value in values]
    assert np.isfinite(domain.rounded(values)).all()


def test_values_that_doubles_do_not_hold_take_the_slow_way_and_end_with_the_time() -> None:
    top = Fraction(10) ** 14
    fine = Feature("x", "real", lower=Fraction(0), upper=top, resolution=Fraction(1, 100))
    domain = domain_of(fine, Fraction(0))
    values = np.linspace(0.0, 1e14, 11)
    assert domain.nearest(values, 1).tolist() == [float(domain.ceil(v) or 0) for v in values]
    between = values[1:] + 0.004  # near no multiple
    assert domain.nearest(between, 1).tolist() == [float(domain.ceil(v) or 0) for v in between]
    with until(0.0), pytest.raises(TimeUp):
        domain.nearest(between, 1)
