"""The search by regions closes boxes only if nothing is in them."""

from __future__ import annotations

from fractions import Fraction
from itertools import count, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression

import cfxc
from cfxc import FeatureSpace
from cfxc.ir import REAL, Builder, Tensor, ops
from cfxc.ir.ops.smooth import sigmoid, tanh
from cfxc.kernels import curve_lines, region_bound, region_narrow, region_step
from cfxc.question.query import make_query
from cfxc.solvers.base import Point, verify
from cfxc.solvers.mio import regions
from cfxc.solvers.mio.formulation import Formulator
from cfxc.solvers.mio.regions import Problem, Regions, applies
from cfxc.space import Feature
from cfxc.stopping import now
from tests.solvers.mio.test_search import asked, run

F = Fraction


FUNCTIONS = {-1: lambda z: max(z, F(0)), 0: sigmoid, 1: tanh}


def network(seed: int) -> dict[str, Any]:
    """Three whole columns and a category of three, two layers of units, one row, one budget.

    Every third network has ``max(z, 0)`` alone, the others smooth functions too.
    """
    rng = np.random.default_rng(seed)
    n, first, units = 6, 3, 5
    z = np.zeros((units, n + units))
    z[:first, :n] = rng.normal(size=(first, n)).round(2)
    z[first:, : n + first] = rng.normal(size=(units - first, n + first)).round(2)
    rows = np.zeros((1, n + units))
    rows[0] = rng.normal(size=n + units).round(2)
    return {
        "n": n,
        "z": z,
        "z0": rng.normal(size=units).round(2),
        "deep": np.arange(units) >= first,
        "root": np.array([[-1e3] * units, [1e3] * units]),
        "rows": rows,
        "row_low": np.array([round(float(rng.normal(scale=3)), 2)]),
        "row_high": np.array([np.inf]),
        "cost": np.array([0.1, 0.2, 0.05, 0.0, 0.3, 0.2]),
        "group": np.array([-1, -1, -1, 0, 0, 0]),
        "members": np.array([[3, 4, 5]]),
        "reach": np.ones((units, n)),
        "curved": rng.integers(-1, 2, size=units) if seed % 3 else np.full(units, -1),
        "plain": (
            np.array([[1.0, 1.0, -1.0, 0.5, 0.0, -0.25]]),
            np.array([round(float(rng.normal(scale=2)), 2)]),
            np.array([4.0]),
        ),
    }


def value(net: dict[str, Any], point: tuple[int, ...]) -> Fraction:
    """The row's body at a point of base columns, exactly."""
    full = [F(p) for p in point]
    for k in range(len(net["z0"])):
        total = F(net["z0"][k]) + sum(F(c) * v for c, v in zip(net["z"][k], full, strict=False))
        full.append(FUNCTIONS[int(net["curved"][k])](total))
    return sum((F(c) * v for c, v in zip(net["rows"][0], full, strict=True)), F(0))


def is_inside(net: dict[str, Any], point: tuple[int, ...], radius: float) -> bool:
    """Whether a point satisfies both rows and the budget, exactly."""
    (plain,), (least,), (most,) = net["plain"]
    body = sum((F(c) * v for c, v in zip(plain, point, strict=True)), F(0))
    paid = sum((F(c) * v for c, v in zip(net["cost"], point, strict=True)), F(0))
    within = paid <= F(radius) and F(least) <= body <= F(most)
    return within and value(net, point) >= F(net["row_low"][0])


def problem_of(net: dict[str, Any]) -> Problem:
    every, (plain, least, most) = np.ones(6, dtype=bool), net["plain"]
    return Problem(
        every, every, np.zeros(6), net["cost"], np.full(6, -1), net["group"], net["members"],
        net["z"], net["z0"], net["curved"], net["deep"], net["root"], net["reach"],
        net["rows"], net["row_low"], net["row_high"], plain, least, most,
    )  # fmt: skip


def points(low: Any, high: Any) -> list[tuple[int, ...]]:
    ranges = [range(int(a), int(b) + 1) for a, b in zip(low[:3], high[:3], strict=True)]
    labels = [tuple(int(i == j) for i in range(3)) for j in range(3) if high[3 + j]]
    return [(*p, *label) for p in product(*ranges) for label in labels]


@settings(derandomize=True, max_examples=150)
@given(st.integers(0, 10**6), st.floats(0.05, 1.5), st.data())
def test_closed_boxes_are_empty(seed: int, radius: float, data: st.DataObject) -> None:
    net = network(seed)
    low = np.zeros(6)
    low[:3] = [data.draw(st.integers(0, 2)) for _ in range(3)]
    high = np.ones(6)
    high[:3] = [a + data.draw(st.integers(0, 2)) for a in low[:3].tolist()]
    inside = [p for p in points(low, high) if is_inside(net, p, radius)]
    left = region_narrow(problem_of(net), radius, low, high)
    for p in inside:
        assert all(a <= v <= b for a, v, b in zip(low, p, high, strict=True))
        assert F(left) <= sum(F(c) * v for c, v in zip(net["cost"], p, strict=True))
    if left == np.inf:
        assert not inside
        return
    closed = region_bound(problem_of(net), radius, low, high, np.zeros(6), np.zeros(6))
    assert not (closed and inside)
    for p in inside:  # what shrank the box had no room for them
        assert all(a <= v <= b for a, v, b in zip(low, p, high, strict=True))


@settings(derandomize=True, max_examples=300)
@given(
    st.sampled_from([0, 1]),
    st.floats(-60, 60) | st.floats(-2, 2) | st.floats(-1e300, 1e300),
    st.floats(0, 80) | st.floats(0, 1e-5) | st.sampled_from([0.0, 5e-324, 1e300]),
)
def test_curves_lie_between_their_lines(code: int, low: float, wide: float) -> None:
    high = min(low + wide, 1e300)
    slope, offset, tilt, base = map(F, curve_lines(code, low, high))
    function = FUNCTIONS[code]
    places = {F(low) + (F(high) - F(low)) * i / 12 for i in range(13)}
    for s in (slope, tilt):  # where the curve is as steep as a line, they may touch
        steep = float(s) * (4 if code == 0 else 1)
        if 1e-30 < steep < 1:
            root = np.sqrt(1 - steep)
            at = F(float(np.log((1 + root) ** 2 / steep) / 2)) * (2 if code == 0 else 1)
            places |= {x for x in (at, -at) if low <= x <= high}
    for x in places:
        if abs(x) < 10**6:
            assert tilt * x + base <= function(x) <= slope * x + offset


def explored(net: dict[str, Any], radius: float) -> tuple[set[Any], set[Any]]:
    """Points inside, and points that a step leaves to exact arithmetic."""
    low, high = np.zeros((1, 6)), np.array([[2.0, 2.0, 2.0, 1.0, 1.0, 1.0]])
    inside = {p for p in points(low[0], high[0]) if is_inside(net, p, radius)}
    boxes, kept = [(low[0], high[0])], set[tuple[int, ...]]()
    while boxes:
        lows, highs = (np.array([box[i] for box in boxes]) for i in (0, 1))
        lows, highs, _, _, decided, _ = region_step(problem_of(net), radius, lows, highs)
        kept |= {tuple(map(int, point)) for point in decided}
        boxes = list(zip(lows, highs, strict=True))
    return inside, kept


def test_no_point_is_lost_and_few_are_kept_in_vain() -> None:
    found = [explored(network(seed), 0.2 + seed / 100) for seed in range(60)]
    assert all(inside <= kept for inside, kept in found)
    assert sum(len(inside) for inside, _ in found) > 100
    vain = sum(len(kept - inside) for inside, kept in found)
    assert vain < 20


def test_up_and_down_exclude_each_other() -> None:
    low, high = np.array([1.0, 0.0]), np.array([3.0, 3.0])
    every, ends = np.ones(2, bool), np.empty(0)
    problem = Problem(
        every, every, np.zeros(2), np.ones(2), np.array([1, 0]), np.array([-1, -1]),
        np.full((0, 1), -1), np.empty((0, 2)), ends, np.empty(0, int), np.empty(0, bool),
        np.empty((2, 0)), np.empty((0, 2)), np.empty((0, 2)), ends, ends,
        np.empty((0, 2)), ends, ends,
    )  # fmt: skip
    region_narrow(problem, 9.0, low, high)
    assert high.tolist() == [3.0, 0.0]


@pytest.mark.parametrize("kind", ["relu", "relu of 3"])
def test_no_time_leaves_a_bound(kind: str) -> None:
    query, _, _ = asked(kind, 3, "l1")
    formulation = Formulator(query).formulate(F(1))
    assert applies(formulation)
    ending = Regions(formulation).run(lambda point: None, now() - 1)
    assert ending.status == "limit"
    assert ending.lower <= 0


@pytest.mark.parametrize("kind", ["relu", "relu of 3", "logistic plain", "svc of 3"])
@pytest.mark.parametrize("seed", [1, 3])
def test_wherever_the_time_ends_what_was_not_offered_is_not_ruled_out(
    kind: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of points whose boxes are decided, too, those that are left wait below the bound."""
    query, deployed, _ = asked(kind, seed, "l1")
    best = run(query, deployed).best
    assert best is not None
    formulation, endings = Formulator(query).formulate(F(1)), set()
    for looks in range(60):
        ticks, offered = count(), list[F]()
        monkeypatch.setattr(regions, "now", lambda ticks=ticks: next(ticks))

        def offer(point: Point, offered: list[F] = offered) -> None:
            if (found := verify(query, point, lambda _: True)) is not None:
                offered.append(found.distance)

        ending = Regions(formulation).run(offer, looks)
        endings.add(ending.status)
        assert ending.lower <= best.distance or min(offered, default=F(2)) <= best.distance
    assert "limit" in endings


def test_linear_models_need_no_solver() -> None:
    query, deployed, _ = asked("logistic plain", 3, "l1")
    assert applies(Formulator(query).formulate(F(1)))
    assert "HiGHS" not in run(query, deployed).provers


@pytest.mark.parametrize("distance", ["l0", "l1", "linf"])
@pytest.mark.parametrize("slopes", [(-0.5, 0.3, 0.4, 0.8), (0.1, 0.1, 0.1, 0.8)])
def test_rows_that_leave_one_value_do_not_lose_it(slopes: tuple[float, ...], distance: str) -> None:
    """They narrow three columns to nothing, round by round, where doubles end."""
    names = ["f0", "f1", "f2", "f3"]
    rows = [
        "(-5/3)*x.f0 + (-5/3)*x.f1 + (-2)*x.f2 >= (-11/4)",
        "(-2)*x.f0 + (-2)*x.f1 + (1/10)*x.f2 == (-57/40)",
        "(3)*x.f0 + (7/11)*x.f1 + (-1)*x.f2 == (7/22)",
    ]
    own = pd.DataFrame([[0.25, 0.5, 0.75, 0.75]], columns=names)
    line = LogisticRegression().fit(pd.DataFrame(np.eye(4), columns=names), [0, 1, 0, 1])
    line.coef_ = np.array([slopes])
    line.intercept_ = np.array([-float(line.coef_[0] @ own.to_numpy()[0]) - 0.1])
    assert line.predict(own.assign(f3=1.0))[0] == 1 > line.predict(own)[0]
    space = FeatureSpace(tuple(Feature(n, "real", F(0), F(1), action="increase") for n in names))
    answer = cfxc.compile(line, space).explain(
        own, target=1, subject_to=rows, distance=distance, epsilon=1e-6, time_limit=3
    )
    assert list(answer.changes) == ["f3"]


def test_a_program_without_columns_is_left_to_exact_arithmetic() -> None:
    """The model's own rounding decides there, and the one region has no point to be decided."""
    table = pd.DataFrame({"a": [0, 1, 2, 0], "b": [0.0, 1.0, 2.0, 3.0]})
    line = LinearRegression().fit(table, [0.0, 1.0, 2.0, 3.0])
    line.coef_, line.intercept_ = np.array([2.0**-53, 2.0**-52]), 1.0
    value = float(line.predict(table.iloc[[2]])[0])
    assert value > line.predict(table.iloc[[0]])[0] == 1
    model = cfxc.compile(line, FeatureSpace.infer(table))
    asked = {"target": (value, value), "semantics": "float"}
    for method in ("auto", "mio"):
        found = model.explain(table.iloc[[0]], **asked, method=method)
        assert found.status in ("feasible", "optimal")
        assert found.exact_lower_bound <= found.exact_distance


@pytest.mark.parametrize("scale", [F(1), F(1, 10**7), F(1, 10**12)])
def test_a_narrow_range_is_split_as_any_other(scale: Fraction) -> None:
    """Values of 1e-7 may be all that decides: a region of them is no point."""
    space = FeatureSpace((Feature("x", "real", lower=F(0), upper=F(float(scale))),))
    builder = Builder("hat")  # tanh(8 u - 2) - tanh(8 u - 6), u = x / scale: high around 1/2
    x = builder.let(ops.Concat((builder.input("x", REAL),)))
    slopes = np.array([[8 / scale], [8 / scale]], dtype=object)
    z = builder.let(ops.Affine(x, Tensor(slopes), Tensor(np.array([F(-2), F(-6)], dtype=object))))
    out, none = np.array([[F(1), F(-1)]], dtype=object), np.array([F(0)], dtype=object)
    hat = builder.let(ops.Affine(builder.let(ops.Tanh(z)), Tensor(out), Tensor(none)))
    program = builder.build(value=builder.let(ops.Item(hat, 0)))
    query = make_query(program, space, {"x": F(0)}, target=(1.5, None))
    middle = {"x": F(float(scale / 2))}
    assert query.in_target(middle)
    formulation = Formulator(query).formulate(F(1))
    assert applies(formulation)
    assert Regions(formulation).run(lambda point: None, now() + 0.2).status == "limit"
