"""Soundness of the interval transformers: exact values lie within the enclosures."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.errors import VerificationError
from cfxc.ir import LabelTuple, Program, Sort, Tensor, ops, parse_program
from cfxc.ir.interval import Choice, Interval, ceil_float, floor_float, sum_above, sum_below, up
from cfxc.ir.op import REGISTRY
from tests.strategies import inputs_of, op_programs

INF = float("inf")
MAX = float(np.finfo(np.float64).max)
SMOOTH = {"exp", "sigmoid", "tanh", "softmax"}
EDGES = [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1.0, 1 / 3, 0.1, 2.0**53, 1e308, MAX, -MAX]

everywhere = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(EDGES),
    st.floats(-10, 10),
    st.integers(-3, 3).map(float),
)
moderate = st.one_of(st.floats(-700, 700), st.integers(-3, 3).map(float))


@st.composite
def scalar_boxes(draw: Any, numbers: st.SearchStrategy[float]) -> tuple[float, float, Fraction]:
    """Ends (possibly infinite) and an exact point between them, often on an end or no double."""
    low, high = sorted([draw(numbers), draw(numbers)])
    if draw(st.integers(0, 4)) == 0:
        high = low
    step = draw(st.integers(0, 7))
    point = Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(step, 7)
    if draw(st.integers(0, 7)) == 0:
        low = -INF
    if draw(st.integers(0, 7)) == 0:
        high = INF
    return low, high, point


def boxes(sort: Sort, numbers: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Any, Any]]:
    """``(bounds, exact value inside)`` for a sort."""
    if sort.kind == "category":
        masks = st.lists(st.booleans(), min_size=len(sort.labels), max_size=len(sort.labels))
        return st.tuples(masks, st.sampled_from(list(sort.labels))).map(
            lambda drawn: (_choice(sort.labels, *drawn), drawn[1])
        )
    if sort.kind == "bool":
        one = st.sampled_from(
            [(0.0, 1.0, True), (0.0, 1.0, False), (1.0, 1.0, True), (0.0, 0.0, False)]
        )
    elif sort.kind == "int":
        one = st.tuples(st.integers(-5, 5), st.integers(0, 3), st.integers(0, 3)).map(
            lambda t: (float(t[0] - t[1]), float(t[0] + t[2]), t[0])
        )
    else:
        one = scalar_boxes(numbers)
    count = int(np.prod(sort.shape))
    return st.lists(one, min_size=count, max_size=count).map(lambda found: _stack(found, sort))


def _choice(labels: LabelTuple, mask: list[bool], label: Any) -> Choice:
    possible = np.array(mask)
    possible[labels.position(label)] = True
    return Choice(labels, possible)


def _stack(found: list[tuple[Any, Any, Any]], sort: Sort) -> tuple[Interval, Any]:
    lower, upper, flat = ([item[i] for item in found] for i in range(3))
    value = np.empty(len(flat), dtype=object)
    value[:] = flat
    bounds = Interval.of(np.reshape(lower, sort.shape), np.reshape(upper, sort.shape))
    return bounds, value.reshape(sort.shape) if sort.shape else flat[0]


def assert_encloses(bounds: Interval | Choice, value: Any) -> None:
    if isinstance(bounds, Choice):
        assert bounds.possible[bounds.labels.position(value)]
        return
    values = np.asarray(value, dtype=object)
    assert bounds.lower.shape == bounds.upper.shape == values.shape
    assert bounds.lower.dtype == bounds.upper.dtype == np.float64
    ends = zip(bounds.lower.ravel().tolist(), bounds.upper.ravel().tolist(), strict=True)
    for (low, high), exact in zip(ends, values.ravel().tolist(), strict=True):
        assert low <= Fraction(exact) <= high, (low, exact, high)


def run_op(program: Program, drawn: dict[str, tuple[Any, Any]]) -> tuple[Any, Any]:
    """The op's enclosure over the drawn boxes, and its value at the drawn points."""
    (let,) = program.lets()
    pairs = [drawn[operand] for operand in let.op.operands() if isinstance(operand, str)]
    bounds, values = [bounds for bounds, _ in pairs], [value for _, value in pairs]
    return let.op.interval(*bounds), let.op.evaluate(*values)


@pytest.mark.parametrize("name", sorted(REGISTRY))
@settings(max_examples=60)
@given(data=st.data())
def test_the_exact_value_lies_within(name: str, data: st.DataObject) -> None:
    program = data.draw(op_programs(name))
    numbers = moderate if name in SMOOTH else everywhere
    drawn = {key: data.draw(boxes(sort, numbers)) for key, sort in program.inputs}
    try:
        bounds, value = run_op(program, drawn)
    except VerificationError:
        return  # undefined here: division by zero, overflow of float32, …
    assert_encloses(bounds, value)


def point(value: Any, sort: Sort) -> Interval | Choice:
    """The enclosure of one dyadic value, without any slack."""
    if sort.kind == "category":
        return Choice.among(sort.labels, [value])
    exact = np.asarray(value, dtype=object).astype(np.float64)
    return Interval(exact, exact)


@pytest.mark.parametrize("name", sorted(REGISTRY.keys() - {"div"}))
@settings(max_examples=30)
@given(data=st.data())
def test_enclosures_of_points_are_narrow(name: str, data: st.DataObject) -> None:
    """Soundness alone would be met by the whole line."""
    program = data.draw(op_programs(name, exact=True))
    drawn = {
        key: (point(value, dict(program.inputs)[key]), value)
        for key, value in data.draw(inputs_of(program)).items()
    }
    try:
        bounds, value = run_op(program, drawn)
    except VerificationError:
        return  # a category index out of range
    assert_encloses(bounds, value)
    if isinstance(bounds, Choice):
        assert bounds.possible.sum() == 1
    else:
        size = np.abs(np.asarray(value, dtype=object).astype(np.float64))
        assert ((bounds.upper - bounds.lower) <= 1e-11 * (1 + size)).all()


@given(everywhere, everywhere)
def test_arithmetic_is_rounded_outward(x: float, y: float) -> None:
    a, b = Interval.of(x, x), Interval.of(y, y)
    assert_encloses(a + b, Fraction(x) + Fraction(y))
    assert_encloses(a - b, Fraction(x) - Fraction(y))
    assert_encloses(a * b, Fraction(x) * Fraction(y))
    if y:
        assert_encloses(a / b, Fraction(x) / Fraction(y))


def test_division_by_what_may_be_zero_is_unbounded() -> None:
    one = Interval.of(1.0, 1.0)
    for low, high in ((0.0, 1.0), (-1.0, 0.0), (-1.0, 1.0), (0.0, 0.0)):
        quotient = one / Interval.of(low, high)
        assert (quotient.lower, quotient.upper) == (-INF, INF)
    assert_encloses(one / Interval.of(2.0, INF), Fraction(1, 10**400))


@given(st.fractions(), st.integers(-320, 310))
def test_directed_rounding_of_rationals(value: Fraction, exponent: int) -> None:
    exact = value * Fraction(10) ** exponent
    low, high = floor_float(exact), ceil_float(exact)
    assert low <= exact <= high
    assert high == low or high == up(low)


@pytest.mark.parametrize("double", EDGES)
def test_directed_rounding_keeps_doubles(double: float) -> None:
    assert floor_float(Fraction(double)) == ceil_float(Fraction(double)) == double


def test_directed_rounding_beyond_the_doubles() -> None:
    huge = Fraction(10) ** 400
    assert (floor_float(huge), ceil_float(huge)) == (MAX, INF)
    assert (floor_float(-huge), ceil_float(-huge)) == (-INF, -MAX)
    assert (floor_float(1 / huge), ceil_float(1 / huge)) == (0.0, 5e-324)
    assert (floor_float(-1 / huge), ceil_float(-1 / huge)) == (-5e-324, 0.0)
    edge = Fraction(MAX) + 1  # rounds to MAX, and yet exceeds it
    assert (floor_float(edge), ceil_float(edge)) == (MAX, INF)


def test_constants_that_are_no_doubles_are_enclosed() -> None:
    third = Interval.constant(Tensor(np.array([Fraction(1, 3)], dtype=object)).array)
    assert third.lower[0] < Fraction(1, 3) < third.upper[0]
    for integer in (2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)):
        bounds = Interval.constant(np.array([integer], dtype=np.int64))
        assert bounds.lower[0] <= integer <= bounds.upper[0]
    exact = Interval.constant(np.array([2**53, -7], dtype=np.int64))
    assert (exact.lower == exact.upper).all()


@given(st.lists(everywhere, min_size=1, max_size=8))
def test_sums_are_enclosed_even_when_they_overflow(values: list[float]) -> None:
    exact = sum(map(Fraction, values))
    assert sum_below(np.array(values)) <= exact <= sum_above(np.array(values))


def test_cancellation_does_not_fool_the_sum() -> None:
    values = np.array([1e16, 1.0, -1e16])
    assert sum_below(values) <= 1 <= sum_above(values)
    assert sum_above(values) - sum_below(values) < 200


def test_unbounded_sums_are_not_nan() -> None:
    assert sum_below(np.array([-INF, 1.0])) == -INF
    assert sum_above(np.array([INF, -1.0])) == INF
    assert sum_below(np.array([MAX, MAX, -INF])) == -INF


@pytest.mark.parametrize(
    ("lower", "upper", "clipped"),
    [(-9.0, -8.0, Fraction(-1, 3)), (8.0, 9.0, Fraction(1, 3)), (-0.25, 0.25, Fraction(1, 7))],
)
def test_clip_at_ends_that_are_no_doubles(lower: float, upper: float, clipped: Fraction) -> None:
    op = ops.Clip("x", Fraction(-1, 3), Fraction(1, 3))
    assert_encloses(op.interval(Interval.of(lower, upper)), clipped)


def test_affine_on_the_largest_doubles() -> None:
    weight = np.array([[0.0, 1.0], [1.0, -1.0]])
    op = ops.Affine("x", Tensor(weight), Tensor([0.0, 1.0]))
    for low, high in ((-MAX, MAX), (-INF, INF), (MAX, MAX), (-INF, -MAX)):
        bounds = op.interval(Interval.of([low, 1.0], [high, 2.0]))
        assert isinstance(bounds, Interval)
        assert not np.isnan([bounds.lower, bounds.upper]).any()
        assert bounds.lower[0] <= 1 <= 2 <= bounds.upper[0]
        assert bounds.upper[0] - bounds.lower[0] < 1.0001
        point = np.array([Fraction(max(min(high, MAX), -MAX)), Fraction(1)], dtype=object)
        assert_encloses(bounds, op.evaluate(point))


def test_affine_covers_cancellation_and_underflow() -> None:
    sums = ops.Affine("x", Tensor([[1.0, 1.0, 1.0]]), Tensor([0.0]))
    for values in ([1e16, 1.0, -1e16], [1e16, -1e16, 1.0], [1.0, 2.0**53, -(2.0**53)]):
        point = Tensor(values)
        bounds = sums.interval(Interval(point.array, point.array))
        assert_encloses(bounds, sums.evaluate(point.exact()))
    many = ops.Affine("x", Tensor(np.full((1, 3000), 0.2)), Tensor([0.0]))
    tiny = Tensor(np.full(3000, 2.0**-1073))  # each of the products underflows to 0
    assert_encloses(many.interval(Interval(tiny.array, tiny.array)), many.evaluate(tiny.exact()))


def test_trees_follow_both_sides_exactly_when_the_box_straddles() -> None:
    program = parse_program(
        """program p(x: Real[1]) {
             y: Real[1] = tree_ensemble(x, roots=i64[1](0), feature=i64[3](0, -1, -1),
               threshold=f64[3](0x1p-1, 0., 0.), left=i64[3](1, 0, 0), right=i64[3](2, 0, 0),
               value=f64[3, 1](0., 1., 3.), base=f64[1](10.))
             return y = y
           }"""
    )
    (let,) = program.lets()
    for low, high, least, greatest in (
        (0.0, 0.5, 11, 11),
        (0.5, 1.0, 11, 13),
        (0.5000000000000001, 1.0, 13, 13),
        (-INF, INF, 11, 13),
    ):
        bounds = let.op.interval(Interval.of([low], [high]))
        assert isinstance(bounds, Interval)
        assert least - 1e-9 < bounds.lower[0] <= least
        assert greatest <= bounds.upper[0] < greatest + 1e-9


@pytest.mark.parametrize(
    ("op", "lower", "upper", "least", "greatest"),
    [
        (ops.Exp("x"), -INF, INF, 0.0, INF),
        (ops.Exp("x"), -INF, -1e9, 0.0, 1e-300),
        (ops.Exp("x"), 1e9, INF, MAX, INF),
        (ops.Sigmoid("x"), -INF, INF, 0.0, 1.0),
        (ops.Tanh("x"), -INF, INF, -1.0, 1.0),
        (ops.RoundFloat32("x"), -INF, INF, -3.4028234663852886e38, 3.4028234663852886e38),
        (ops.Abs("x"), -3.0, 2.0, 0.0, 3.0),
        (ops.Abs("x"), -3.0, -2.0, 2.0, 3.0),
        (ops.Relu("x"), -3.0, 2.0, 0.0, 2.0),
    ],
)
def test_ranges(op: Any, lower: float, upper: float, least: float, greatest: float) -> None:
    bounds = op.interval(Interval.of(lower, upper))
    assert least <= bounds.lower <= bounds.upper <= greatest


def test_comparisons_decide_when_they_can() -> None:
    x = Interval.of([0.0, 2.0, 1.0], [1.0, 3.0, 2.0])
    one = Interval.of(1.0, 1.0)
    expected = {
        ops.Le: [(1, 1), (0, 0), (0, 1)],
        ops.Lt: [(0, 1), (0, 0), (0, 0)],
        ops.Ge: [(0, 1), (1, 1), (1, 1)],
        ops.Gt: [(0, 0), (1, 1), (0, 1)],
        ops.Eq: [(0, 1), (0, 0), (0, 1)],
        ops.Ne: [(0, 1), (1, 1), (0, 1)],
    }
    for cls, pairs in expected.items():
        bounds = cls("x", "y").interval(x, one)
        assert isinstance(bounds, Interval)
        assert list(zip(bounds.lower, bounds.upper, strict=True)) == pairs, cls


def test_select_and_argmax_rule_out_what_is_impossible() -> None:
    x, y = Interval.of(0.0, 1.0), Interval.of(5.0, 6.0)
    select = ops.Select("c", "x", "y")
    for condition, ends in (((1, 1), (0, 1)), ((0, 0), (5, 6)), ((0, 1), (0, 6))):
        bounds = select.interval(Interval.of(*condition), x, y)
        assert isinstance(bounds, Interval)
        assert (bounds.lower, bounds.upper) == ends
    cases = [  # the last entry of the first can only tie, and ties go to the lowest index
        ([0.0, 2.0, 1.0, 0.0], [1.0, 3.0, 4.0, 2.0], (1, 2)),
        ([0.0, 2.0, 1.0, 0.0], [2.0, 3.0, 4.0, 2.5], (0, 3)),
        ([-INF, -INF], [INF, INF], (0, 1)),
    ]
    for lower, upper, ends in cases:
        best = ops.Argmax("v").interval(Interval.of(lower, upper))
        assert isinstance(best, Interval)
        assert (best.lower, best.upper) == ends


def test_mixing_numbers_and_categories_is_an_error() -> None:
    choice = Choice.among(LabelTuple(["a", "b"]), ["a"])
    number = Interval.of(0.0, 1.0)
    with pytest.raises(VerificationError, match="a number is needed"):
        ops.Neg("x").interval(choice)
    with pytest.raises(VerificationError, match="a category is needed"):
        ops.IsLabel("x", "a").interval(number)
