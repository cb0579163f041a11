"""ε is relative, for every engine; searches end where the optimum is reached only in a limit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.question.distances import FINEST
from cfxc.question.query import make_query
from cfxc.solvers import box_search, mio
from cfxc.solvers.base import Limits, Outcome
from cfxc.space import Feature
from cfxc.stopping import FINE

WIDE = 10_000
"""Ranges so wide that 20 steps of one are nearer than an ε that was absolute."""
FORMER = Fraction(1, 100)


def compiled(kind: str) -> cfxc.CompiledModel:
    """Label 1 where ``a + b`` is large, over whole numbers of a wide range."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, WIDE, (400, 2)), columns=["a", "b"])
    model = DecisionTreeClassifier(max_depth=4, random_state=0) if kind == "tree" else linear()
    return cfxc.compile(model.fit(table, table.a + table.b > WIDE), cfxc.FeatureSpace.infer(table))


def linear() -> LogisticRegression:
    return LogisticRegression(max_iter=2000)


def nearest(model: cfxc.CompiledModel, row: pd.DataFrame, reach: int = 60) -> Fraction:
    """The l1 distance of the nearest row with label 1, by enumeration around the factual."""
    ends = [model.space[name].bounds for name in ("a", "b")]
    grids = [
        np.arange(
            max(int(low), row[name].iloc[0] - reach), min(int(high), row[name].iloc[0] + reach) + 1
        )
        for name, (low, high) in zip(("a", "b"), ends, strict=True)
    ]
    table = pd.DataFrame(np.stack(np.meshgrid(*grids), -1).reshape(-1, 2), columns=["a", "b"])
    hits = table[model.predict(table)]
    sizes = [int(high - low) for low, high in ends]
    away = [abs(hits[name] - row[name].iloc[0]) for name in ("a", "b")]
    best = min(zip(*away, strict=True), key=lambda one: one[0] / sizes[0] + one[1] / sizes[1])
    return (
        sum((Fraction(int(n), size) for n, size in zip(best, sizes, strict=True)), Fraction(0)) / 2
    )


@pytest.mark.parametrize(
    ("kind", "method"),
    [("tree", "box"), ("tree", "smt"), ("linear", "mio"), ("linear", "smt")],
)
@pytest.mark.parametrize("distance", ["l1", "l2"])
def test_the_gap_is_a_share_of_the_distance(kind: str, method: str, distance: str) -> None:
    model = compiled(kind)
    line = pd.DataFrame({"a": 4000, "b": np.arange(100, 9900)})
    last = int(np.argmax(model.predict(line))) - 1  # one step, and it is accepted
    for row in line.iloc[[last]], line.iloc[[last - 20]]:
        assert not model.predict(row)[0]
        answer = model.explain(
            row, target=True, method=method, distance=distance, epsilon=float(FORMER)
        )
        assert answer.status == "optimal", answer.summary()
        assert answer.exact_distance is not None
        assert answer.exact_lower_bound >= Fraction(99, 100) * answer.exact_distance
        assert answer.exact_lower_bound > 0, "the distance itself is below an absolute ε"
        if distance == "l1":
            optimum = nearest(model, row)
            assert optimum <= FORMER
            assert answer.exact_lower_bound <= optimum <= answer.exact_distance


OPEN = cfxc.FeatureSpace((Feature("x", "real", lower=-1, upper=1),))


def at_an_open_end(kind: str) -> cfxc.CompiledModel:
    """``x > 0`` decides, and every x > 0 is admissible: from 0 on, no nearest one exists."""
    table = pd.DataFrame({"x": [-1.0, 1.0] * 5})
    outcome = table.x > 0
    if kind == "tree":
        return cfxc.compile(DecisionTreeClassifier().fit(table, outcome), OPEN)
    model = LogisticRegression().fit(table, outcome)
    model.coef_, model.intercept_ = np.array([[1.0]]), np.array([0.0])
    return cfxc.compile(model, OPEN)


@pytest.mark.parametrize(
    ("kind", "method"), [("tree", "box"), ("tree", "smt"), ("linear", "mio"), ("linear", "smt")]
)
@pytest.mark.parametrize("distance", ["l1", "l2", "linf"])
def test_a_search_ends_where_no_nearest_point_exists(kind: str, method: str, distance: str) -> None:
    answer = at_an_open_end(kind).explain(
        {"x": 0.0}, target=True, method=method, distance=distance, time_limit=300
    )
    assert answer.seconds < 100, "it ended by itself, not by its time limit"
    assert answer.exact_distance is not None
    assert answer.exact_distance > 0
    assert answer.exact_lower_bound <= answer.exact_distance
    assert answer.distance is not None
    assert answer.distance <= 1e-5, answer.summary()
    if answer.exact_lower_bound == 0:
        assert answer.status == "feasible", "no share of a distance is above a bound of 0"
        assert answer.reason, "and says why it went no further"


def test_what_is_nearer_than_the_finest_ends_the_search_of_the_oracle() -> None:
    answer = at_an_open_end("linear").explain({"x": 0.0}, target=True, method="smt")
    assert answer.exact_distance is not None
    assert answer.exact_distance <= FINEST
    assert answer.reason == "what is left is finer than searches tell apart"


def test_box_search_says_why_it_ends_at_what_is_finer_than_its_unit() -> None:
    """A border 10**-13 away: a share of 0.001 of that is less than one step of its costs."""
    table = pd.DataFrame({"x": [0.0, 1.0] * 20})
    made = cfxc.compile(DecisionTreeClassifier().fit(table, table.x > 0.5), OPEN)
    border = 0.5 + 2.0**-25  # of what is 0.5 to the model, in single floats
    factual = made.space.encode_row({"x": border - 1e-13})
    query = make_query(made.program, made.space, factual, target=True)
    found = box_search.search(query, lambda _: True, Limits(FORMER / 10, 60))
    assert found.best is not None
    assert found.best.distance < FINEST
    assert found.lower < query.distance.below(found.best.distance, FORMER / 10)
    assert found.reason == FINE


@pytest.mark.parametrize("epsilon", [0, 1, 1.5, -0.1, float("nan"), float("inf")])
def test_epsilon_lies_between_0_and_1(epsilon: float) -> None:
    with pytest.raises(cfxc.CfxcError, match="epsilon must be a number between 0 and 1"):
        at_an_open_end("tree").explain({"x": 0.0}, epsilon=epsilon)


def test_a_knapsack_is_closed_by_regions() -> None:
    """On grids of 0.01: z3 does not close 0.1 % of it in a minute."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(2000, 8)).round(2), columns=[f"x{i}" for i in range(8)])
    worth = table.x0 + table.x1 * table.x2 + rng.normal(0, 0.5, 2000)
    model = LogisticRegression().fit(table, worth > 0.7)
    row = table[~model.predict(table)].iloc[[0]]
    made = cfxc.compile(model, cfxc.FeatureSpace.infer(table))
    answer = made.explain(row, target=True)
    assert answer.status == "optimal", answer.summary()
    assert answer.provers == ("regions",)
    assert not answer.calls, "no SMT solver was asked"
    assert cfxc.check(answer.certificate).ok


def test_what_regions_cannot_split_goes_on_by_smt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Curves whose regions are left open early: the SMT solvers get the time that is left."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    network = MLPClassifier((2,), solver="lbfgs", random_state=1)
    model = network.fit(table, table.a + table.b > 0)
    row = table[~model.predict(table)].iloc[[0]]
    made = cfxc.compile(model, cfxc.FeatureSpace.infer(table))
    monkeypatch.setattr(mio, "search", lambda *_, **__: Outcome(reason=mio.NARROW, nodes=7))
    answer = made.explain(row, target=True)
    assert answer.status == "optimal", answer.summary()
    assert answer.calls
    assert answer.nodes >= 7, "mixed-integer search was asked first"
    alone = made.explain(row, target=True, method="mio")
    assert alone.status != "optimal"
    assert alone.reason == mio.NARROW, "who names a method gets it alone"
