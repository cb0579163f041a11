"""Mixed-integer search against enumeration of small grids, and against the oracle."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from threading import Event
from typing import Any

import highspy
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import cfxc
from cfxc import FeatureSpace
from cfxc.compiler.mixed_integer import Rounded
from cfxc.errors import InvalidInputError, MissingExtraError
from cfxc.question.query import Query, make_query
from cfxc.solvers import mio
from cfxc.solvers.base import Deployed, Limits, Outcome, Point
from cfxc.solvers.mio.backends import Answer, Highs, solve_constants
from cfxc.solvers.mio.regions import Ending
from cfxc.solvers.smt import backend as smt_backend
from cfxc.solvers.smt import search as smt_search
from cfxc.space import Feature
from cfxc.stopping import now, until
from tests.solvers.grids import NORMS, brute_force, frame_of, norm, root
from tests.solvers.kinds import KINDS, SMOOTH, outcome_of, task, trained
from tests.solvers.test_brute_force import MIX, RULES, WRITTEN, restricted

F = Fraction
TINY = F(1, 10**6)
NETWORKS = ["relu", "relu of 3", "relu for numbers"]
LINEAR = ["logistic plain", "logistic of 3", "svc of 3", "lasso"]
SEARCH = sys.modules["cfxc.solvers.mio.search"]


def asked(
    kind: str, seed: int, distance: Any, constraints: Any = (), rules: Any = None
) -> tuple[Query, Deployed, Any]:
    """The query of one person, the original model on points, and the task itself."""
    model, space, compiled = trained(kind)
    if rules is not None:
        space = restricted(space, rules)
        compiled = cfxc.compile(model, space)
    one = task(model, space, outcome_of(kind), seed)
    query = make_query(
        compiled.program, space, space.encode_row(one.row),
        target=one.target, distance=distance, subject_to=constraints,
    )  # fmt: skip

    def deployed(point: Point) -> bool:
        return bool(one.wanted(model.predict(frame_of(space, [dict(point)]))[0]))

    return query, deployed, one


def run(query: Query, deployed: Deployed = lambda point: True, **options: Any) -> Outcome:
    own = {name: options.pop(name) for name in ("solver", "regions") if name in options}
    limits = Limits(**{"epsilon": TINY, "seconds": 60.0} | options)
    return mio.search(query, deployed, limits, **own)


def check(outcome: Outcome, query: Query, best: Any) -> None:
    assert outcome.provers
    if not best:
        assert outcome.infeasible
        assert outcome.best is None
        return
    assert outcome.best is not None
    optimum = best[0].distance
    lower, upper = outcome.lower, outcome.best.distance
    if query.distance.is_squared:
        lower, upper = root(lower), root(upper)
    assert lower <= optimum <= upper
    assert upper - lower <= TINY * upper * (1 + TINY)
    assert query.distance_to(outcome.best.point) == outcome.best.distance


@pytest.fixture(params=["all", "alone", "solver alone"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The whole search; without a local search, which finds most optima; and without regions."""
    if request.param != "all":
        monkeypatch.setattr("cfxc.solvers.incumbent.first_candidate", lambda *_: None)
        monkeypatch.setattr("cfxc.solvers.incumbent.around", lambda _, point: [point])
    return {"regions": request.param != "solver alone"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("distance", NORMS)
@pytest.mark.parametrize("kind", [*NETWORKS, *LINEAR])
def test_networks_and_linear_models(kind: str, distance: str, engine: dict[str, Any]) -> None:
    model, space, _ = trained(kind)
    for seed in range(3):
        query, deployed, one = asked(kind, seed + len(kind), distance)
        metric = norm(space, *NORMS[distance])
        best = brute_force(space, one.own, model.predict, one.wanted, metric)
        check(run(query, deployed, **engine), query, best)


@pytest.mark.parametrize("kind", [*NETWORKS, *LINEAR])
def test_those_under_constraints_and_a_mix(kind: str, engine: dict[str, Any]) -> None:
    model, space, _ = trained(kind)
    rules = RULES[KINDS[kind][2]]
    space = restricted(space, rules)
    spec, norms = MIX
    for seed in (11, 12):
        query, deployed, one = asked(kind, seed + len(kind), spec, rules.constraints, rules)
        best = brute_force(
            space, one.own, model.predict, one.wanted, norm(space, *norms), rules.conditions
        )
        check(run(query, deployed, **engine), query, best)


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - set(NETWORKS)))
def test_every_other_kind(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a local search: all of it is the solver's work; one norm each, and rules."""
    monkeypatch.setattr("cfxc.solvers.incumbent.first_candidate", lambda *_: None)
    model, space, _ = trained(kind)
    distance = sorted(NORMS)[len(kind) % len(NORMS)]
    metric = norm(space, *NORMS[distance])
    query, deployed, one = asked(kind, len(kind), distance)
    best = brute_force(space, one.own, model.predict, one.wanted, metric)
    check(run(query, deployed), query, best)
    rules = RULES[KINDS[kind][2]]
    space = restricted(space, rules)
    metric = norm(space, *NORMS[distance])
    query, deployed, one = asked(kind, 11 + len(kind), distance, rules.constraints, rules)
    best = brute_force(space, one.own, model.predict, one.wanted, metric, rules.conditions)
    check(run(query, deployed), query, best)


@pytest.mark.parametrize("kind", ["relu", "extra trees of 3", "logistic plain"])
@pytest.mark.parametrize("distance", ["l1", "linf"])
def test_the_next_ones(kind: str, distance: str, engine: dict[str, Any]) -> None:
    """Without the points found so far, as for a menu."""
    model, space, _ = trained(kind)
    rules = RULES[KINDS[kind][2]]
    space = restricted(space, rules)
    metric = norm(space, *NORMS[distance])
    query, deployed, one = asked(kind, 22 + len(kind), distance, rules.constraints, rules)
    left = brute_force(space, one.own, model.predict, one.wanted, metric, rules.conditions)
    for _ in range(3):
        outcome = run(query, deployed, **engine)
        check(outcome, query, left)
        if outcome.best is None:
            break
        gone = dict(outcome.best.point)
        left = [each for each in left if each.point != gone]
        query = query.without(gone)


@pytest.mark.parametrize("kind", ["relu of 3", "relu for numbers", "forest of 3", "svc of 3"])
def test_a_distance_of_the_users_own(kind: str, engine: dict[str, Any]) -> None:
    text, metric = WRITTEN[KINDS[kind][2]]
    model, space, _ = trained(kind)
    query, deployed, one = asked(kind, 41 + len(kind), text)
    best = brute_force(space, one.own, model.predict, one.wanted, metric)
    check(run(query, deployed, **engine), query, best)


@pytest.mark.parametrize("kind", ["relu of 3", "forest of 3"])
@pytest.mark.parametrize("distance", ["l1", "linf"])
def test_scip_gives_the_same(kind: str, distance: str) -> None:
    pytest.importorskip("pyscipopt")
    model, space, _ = trained(kind)
    query, deployed, one = asked(kind, len(distance), distance)
    metric = norm(space, *NORMS[distance])
    best = brute_force(space, one.own, model.predict, one.wanted, metric)
    outcome = run(query, deployed, solver="scip", regions=False)
    check(outcome, query, best)
    assert set(outcome.provers) <= {"SCIP", "bounds"}


# -- continuous features ---------------------------------------------------------------------------

REALS = FeatureSpace(
    (
        Feature("a", "real", lower=F(0), upper=F(10)),
        Feature("b", "real", lower=F(-1), upper=F(1)),
        Feature("c", "categorical", labels=("x", "y", "z")),
        Feature("n", "integer", lower=F(0), upper=F(9)),
    )
)


def real_network(seed: int, *layers: int) -> tuple[Any, pd.DataFrame]:
    """A network on two continuous features, an integer and codes of a category."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "a": rng.uniform(0, 10, 200),
            "b": rng.uniform(-1, 1, 200),
            "n": rng.integers(0, 10, 200),
        }
    )
    worth = np.abs(table["a"] - 5) + 3 * table["b"] * (table["n"] > 4) + table["n"] / 3
    model = make_pipeline(
        StandardScaler(),
        MLPClassifier(layers, solver="lbfgs", max_iter=80, random_state=seed, tol=1e-2),
    )
    return model.fit(table, (worth > worth.median()).astype(int)), table


@pytest.mark.parametrize("distance", ["l1", "linf", {"l0": 0.25, "l1": 0.75}])
@pytest.mark.parametrize("seed", [0, 1])
def test_continuous_features_agree_with_the_oracle(seed: int, distance: Any) -> None:
    model, table = real_network(seed, 5, 4)
    space = FeatureSpace(tuple(f for f in REALS if f.name != "c"))
    compiled = cfxc.compile(model, space)
    refused = table[model.predict(table) == 0].iloc[:3]
    for i in range(len(refused)):
        row = refused.iloc[[i]]
        query = make_query(
            compiled.program, space, space.encode_row(row), target=1, distance=distance
        )

        def deployed(point: Point, like: pd.DataFrame = row) -> bool:
            return bool(model.predict(space.decode(point, like=like))[0] == 1)

        outcome = run(query, deployed, epsilon=F(1, 10**4))
        oracle = smt_search(query, deployed, Limits(F(1, 10**4), 20), smt_backend("z3"))
        assert outcome.best is not None
        assert oracle.best is not None
        assert outcome.best.distance - outcome.lower <= F(1, 10**4)
        assert outcome.lower <= oracle.best.distance
        assert oracle.lower <= outcome.best.distance


# -- limits and refusals ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SMOOTH)
def test_smooth_functions_are_for_regions_alone(kind: str) -> None:
    query, deployed, _ = asked(kind, 3, "l1")
    assert not mio.refuses(query)
    outcome = run(query, deployed)
    assert outcome.provers == ("regions",)
    continuous = [replace(domain, step=None) for domain in query.domains]
    squares = replace(query, domains=tuple(continuous), distance=asked(kind, 3, "l2")[0].distance)
    assert "is smooth" in mio.refuses(squares)


def test_products_are_for_regions_alone() -> None:
    query, _, _ = asked("logistic", 3, WRITTEN["mixed"][0])
    assert mio.refuses(query) == "a product of two numbers that both vary"


def test_a_linear_ball_left_open_leaves_larger_ones_to_regions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query, deployed, _ = asked("relu", 3, "l1")
    search = SEARCH.ProgramSearch(query, deployed, Limits(TINY, 60), mio.backend("highs"))
    near, far = (search.formulator.formulate(F(*radius)) for radius in [(1, 10), (1, 1)])
    assert [bool(each.emission.relaxation.units) for each in (near, far)] == [False, True]
    assert search._goes_by_regions(near)
    monkeypatch.setattr(SEARCH.Regions, "run", lambda *_: Ending("limit", F(0), 1))
    search._explore(near, F(1, 10))
    assert not search._goes_by_regions(near)
    assert search._goes_by_regions(far)


def test_what_is_linear_after_all_is_not_refused() -> None:
    query, _, _ = asked("logistic", 3, "l1", ["pay * ite(member, 2, 1) <= 1"])
    assert mio.refuses(query) == ""


def test_solvers_by_name() -> None:
    query, deployed, _ = asked("relu", 3, "l1")
    with pytest.raises(InvalidInputError, match="unknown solver 'cplex': highs, scip, gurobi"):
        run(query, deployed, solver="cplex")
    for name, cls in mio.BACKENDS.items():
        try:
            assert mio.backend(name).name == cls.name
        except MissingExtraError as error:
            assert f"cfxc[{cls.extra}]" in str(error)  # noqa: PT017


@pytest.mark.parametrize("regions", [True, False])
def test_no_time_gives_the_best_so_far(regions: bool) -> None:
    query, deployed, _ = asked("relu", 3, "l1")
    outcome = run(query, deployed, seconds=0.0, regions=regions)
    assert outcome.best is not None
    assert outcome.reason == "time limit"
    assert outcome.lower <= outcome.best.distance


@pytest.mark.parametrize(("left", "looked_at"), [(-1.0, 1), (60.0, 20)])
def test_points_around_a_solution_are_looked_at_while_there_is_time(
    left: float, looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a hull of many rows each takes a linear program."""
    query, deployed, _ = asked("relu", 3, "l1")
    point, seen = {d.name: d.factual for d in query.domains}, []
    monkeypatch.setattr("cfxc.solvers.incumbent.around", lambda *_: [point] * 20)
    monkeypatch.setattr("cfxc.solvers.incumbent.verify", lambda *_: seen.append(1))
    found = SEARCH.ProgramSearch(query, deployed, Limits(TINY, left), mio.backend("highs"))
    assert not found.improves(point)
    assert len(seen) == looked_at


def test_an_interruption_gives_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    query, deployed, _ = asked("relu", 3, "l1")
    monkeypatch.setattr(SEARCH.Formulator, "formulate", stop)
    outcome = run(query, deployed)
    assert outcome.best is not None
    assert outcome.reason == "interrupted"


@pytest.mark.parametrize("regions", [True, False])
def test_a_model_that_disagrees_with_its_program_is_never_trusted(regions: bool) -> None:
    """Points that only the program accepts keep the bound at their distance, and give a reason."""
    query, _, _ = asked("relu", 4, "l1")
    outcome = run(query, lambda point: False, regions=regions)
    assert outcome.best is None
    assert not outcome.infeasible
    assert "no row that the deployed model accepts was found" in outcome.reason
    best = run(query).best
    assert best is not None
    assert outcome.lower <= best.distance


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_the_nearest_point_of_a_line_under_l2(solver: str) -> None:
    """The foot of the perpendicular, by its formula."""
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    data, target = make_classification(200, 5, n_informative=4, n_redundant=0, random_state=3)
    table = pd.DataFrame(data, columns=list("abcde"))
    model = LogisticRegression().fit(table, target)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(table))
    steps = model.coef_[0] * (table.max() - table.min()).to_numpy()
    for i in np.flatnonzero(model.predict(table) == 0)[:3]:
        row = table.iloc[[i]]
        foot = abs(model.decision_function(row)[0]) / np.sqrt(5 * (steps**2).sum())
        answer = compiled.explain(row, target=1, distance="l2", epsilon=1e-5, solver=solver)
        assert answer.status == "optimal"
        assert answer.lower_bound <= foot <= answer.distance * (1 + 1e-12)
        assert answer.distance - answer.lower_bound <= 1e-5
        oracle = compiled.explain(row, target=1, distance="l2", epsilon=0.01, method="smt")
        assert oracle.status == "optimal"
        assert oracle.lower_bound <= foot <= oracle.distance


def test_a_solver_that_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked a few times; its silence proves nothing."""
    asked_for = []

    def lost(*_: Any, **__: Any) -> Answer:
        asked_for.append(1)
        return Answer("lost")

    monkeypatch.setattr(Highs, "solve", lost)
    query, deployed, _ = asked("relu", 3, "l1")
    outcome = run(query, deployed, regions=False)
    assert outcome.best is not None
    assert not outcome.infeasible
    assert outcome.reason == "HiGHS lost its way in rounding"
    assert 1 <= len(asked_for) <= 4
    assert "HiGHS" not in outcome.provers


def test_a_program_without_columns() -> None:
    """What has nothing left to decide holds, or does not; HiGHS calls it empty."""
    nothing, rows = np.empty(0), np.array([-1.0, 0.0])
    program = Rounded.of(nothing, (nothing, nothing), np.empty((2, 0)), (rows, rows + 1))
    assert solve_constants(replace(program, offset=3.0)).bound == 3.0
    assert solve_constants(replace(program, row_lower=rows + 0.5)).status == "infeasible"


def test_nothing_is_left_to_decide_of_a_one_class_machine() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.integers(0, 12, size=(60, 2)), columns=["a", "b"])
    machine = OneClassSVM(kernel="poly", degree=2, coef0=1, gamma=1, nu=0.4).fit(table)
    model = cfxc.compile(machine, cfxc.FeatureSpace.infer(table))
    row = table[machine.predict(table) == -1].iloc[[0]]
    every = pd.DataFrame([(a, b) for a in range(12) for b in range(12)], columns=["a", "b"])
    wanted = every[machine.predict(every) == 1]
    nearest = ((wanted - row.iloc[0]).abs() / 11).mean(axis=1).min()
    for semantics in ("real", "float"):
        result = model.explain(row, target=1, semantics=semantics)
        assert result.distance == pytest.approx(nearest)


def test_a_solve_that_heeds_no_cancelling_blocks_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """HiGHS's own threads share one lock: after one that was left alone, none began."""
    go_on, run = Event(), highspy.Highs.run

    def deaf(self: highspy.Highs) -> object:
        go_on.wait(20)
        return run(self)

    bounds = (np.zeros(1), np.ones(1)), (np.full(1, 0.5), np.full(1, np.inf))
    program = Rounded.of(np.ones(1), bounds[0], np.ones((1, 1)), bounds[1])
    try:
        with monkeypatch.context() as patch, until(now() + 0.1):
            patch.setattr(highspy.Highs, "run", deaf)
            assert Highs().solve(program, seconds=5.0, gap=0.0).status == "limit"
        answer = Highs().solve(program, seconds=5.0, gap=0.0)
        assert answer.status == "optimal"
        assert answer.bound == pytest.approx(0.5)
    finally:
        go_on.set()


@pytest.mark.parametrize("seed", [0, 9, 10, 11])
def test_second_answer_lies_just_apart_from_the_first(seed: int) -> None:
    """The nearest of the linear programs that move one number by the gap, up or down."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.random((200, 4)) * [100, 10, 1, 50], columns=list("abcd"))
    weights = rng.normal(size=4) / [100, 10, 1, 50]
    y = (X.to_numpy() @ weights > np.median(X.to_numpy() @ weights)).astype(int)
    model = LogisticRegression(max_iter=5000).fit(X, y)
    space, costs = cfxc.FeatureSpace.infer(X, resolution=None), rng.permutation([1, 2, 4, 8])
    for name, cost in zip(X, costs.tolist(), strict=True):
        space = space.replace(name, weight=cost)
    row, gap = X[model.predict(X) == 0].iloc[[0]], 1e-4
    found = cfxc.compile(model, space).explain(
        row, target=1, distance="l1", count=2, apart=gap, epsilon=1e-6, method="mio"
    )
    first, second = found.all()
    sizes = np.array([float(space[name].range) for name in X])
    own, there = row.to_numpy()[0] / sizes, first.counterfactual.to_numpy()[0] / sizes
    low = X.min().to_numpy() / sizes - own
    slope = model.coef_[0] * sizes
    least = min(
        nearest.fun
        for j in range(4)
        for side in (-1, 1)
        for nearest in [
            linprog(
                np.tile(costs / 15, 2),
                A_ub=[-np.r_[slope, -slope], -side * np.r_[np.eye(4)[j], -np.eye(4)[j]]],
                b_ub=[slope @ own + model.intercept_[0], -side * (there - own)[j] - gap],
                bounds=[*((0, low[k] + 1) for k in range(4)), *((0, -low[k]) for k in range(4))],
            )
        ]
        if nearest.success
    )
    assert second.status == "optimal"
    assert second.distance == pytest.approx(least, rel=2e-6)
    assert np.abs(second.counterfactual.to_numpy()[0] / sizes - there).max() >= gap * (1 - 1e-12)


def test_point_at_the_threshold_that_floats_reject_leads_to_one_beyond_it() -> None:
    """One number decides; the second answer keeps it where it is, and moves the other."""
    X = pd.DataFrame({"a": np.linspace(123.5, 124.4, 60), "b": np.linspace(0, 1, 60)})
    model = LogisticRegression().fit(X, np.arange(60) % 2)
    space = cfxc.FeatureSpace.infer(X, resolution=None).replace("a", weight=2)
    for x in np.linspace(123.52, 124.3, 12):
        model.coef_, model.intercept_ = np.array([[1.1, 0]]), np.array([-x * 1.1 - 1e-3])
        row = pd.DataFrame([[x, 0.31]], columns=X.columns)
        first, second, third = (
            cfxc.compile(model, space)
            .explain(row, target=1, distance="l1", count=3, apart=0.05, epsilon=1e-6, method="mio")
            .all()
        )
        assert {first.status, second.status, third.status} == {"optimal"}
        assert second.distance <= third.distance * (1 + 1e-6)
        assert second.distance == pytest.approx(first.distance + 0.05 / 3, rel=2e-6)
