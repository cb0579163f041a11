"""Rows that enough of several models accept: brute force, the oracle, and proofs taken apart."""

from __future__ import annotations

import time
import warnings
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import cfxc
from cfxc import DataTypeError, FeatureSpace, InvalidInputError, UnsupportedError, retrained
from cfxc.methods.plans import RobustPlan, robust
from cfxc.space import Feature
from tests.solvers.grids import Found, Metric, brute_force, distance_of, exactly, norm, sampled
from tests.solvers.kinds import NUMBERS, SPACES, mlp, preprocessing, worth

F = Fraction
EPSILON = 1e-6
L1 = (0, 1, 0)
KINDS: dict[str, Any] = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(5, max_depth=3, random_state=0),
    "boosted": GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0),
    "logistic": LogisticRegression(),
    "relu": mlp(MLPClassifier, "relu", 6),
}
CASES = [(kind, space) for kind in KINDS for space in SPACES]


def people(space: FeatureSpace, seed: int = 5) -> tuple[pd.DataFrame, Any]:
    points, table = sampled(space, 120, seed)
    worths = np.array([worth(point) for point in points])
    worths += np.random.default_rng(seed).normal(0, 0.6, len(worths))
    return table, np.digitize(worths, [np.quantile(worths, 0.55)])


@lru_cache
def models_of(kind: str, name: str, count: int = 4) -> tuple[cfxc.CompiledModel, ...]:
    """A model and retrained copies; of ``mixed`` kinds, another kind each."""
    space = SPACES[name]
    table, y = people(space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if kind == "all kinds":
            found = [
                retrained(made(one, name), table, y, 1, space=space, random_state=i)[0]
                for i, one in enumerate(KINDS)
            ]
            return tuple(found)
        return tuple(retrained(made(kind, name), table, y, count + 1, space=space, share=0.6))


def made(kind: str, name: str) -> Any:
    return make_pipeline(*preprocessing(name, StandardScaler()), clone(KINDS[kind]))


def refused(models: Any, space: FeatureSpace, seed: int) -> pd.DataFrame:
    _, table = sampled(space, 60, seed)
    return table[models[0].predict(table) == 0].iloc[[0]]


def accepted(models: Any, needed: int, target: Any = 1) -> Any:
    """Whether the first model and enough of the others accept rows: by ``predict`` alone."""

    def predict(table: pd.DataFrame) -> Any:
        says = np.array([np.asarray(each.predict(table)) == target for each in models])
        return says[0] & (says[1:].sum(axis=0) >= needed)

    return predict


def check(
    plan: RobustPlan, models: Any, row: pd.DataFrame, best: list[Found], metric: Metric, size: int
) -> None:
    space = models[0].space
    own, left = exactly(space, row), list(best)
    for member in plan.members:
        optimum = left[0].distance
        assert member.status == "optimal", plan.summary()
        assert F(member.lower_bound) <= optimum <= F(member.distance)
        assert member.distance - member.lower_bound <= EPSILON * (1 + 1e-9)
        assert distance_of(space, member.row, own, metric) == member.exact_distance
        says = [each.predict(member.row)[0] for each in models]
        assert list(member.outcomes) == says
        assert [one == 1 for one in says] == [True, *member.valid]
        assert sum(member.valid) >= plan.needed
        assert list(member.row.dtypes) == list(row.dtypes)
        point = exactly(space, member.row)
        assert point in [each.point for each in left]
        left = [each for each in left if each.point != point]
        proves(member.parts, plan.count, plan.needed, member.exact_lower_bound)
    assert len(plan.members) == min(size, len(best))
    assert plan.status == ("optimal" if best else "infeasible")
    assert plan.stop_reason == ("" if len(best) >= size else "infeasible")


def proves(parts: Any, count: int, needed: int, lower: Fraction) -> None:
    """Whichever models accept a row, the relaxation of one part shows that it is not nearer."""
    for chosen in combinations(range(1, count + 1), needed):
        bounds = [p.infeasible or p.lower >= lower for p in parts if p.required <= set(chosen)]
        assert any(bounds)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kind", "name"), [*CASES, *(("all kinds", name) for name in SPACES)])
def test_brute_force(kind: str, name: str) -> None:
    models, space = models_of(kind, name), SPACES[name]
    metric = norm(space, *L1)
    for seed, share in enumerate((1.0, 0.75, 0.3)):
        row = refused(models, space, seed)
        needed = ceil(share * 4)
        best = brute_force(
            space, exactly(space, row), accepted(models, needed), bool, metric
        )  # fmt: skip
        plan = robust(models[0], row, models[1:], share=share, size=3, target=1, epsilon=EPSILON)
        check(plan, models, row, best, metric, 3)


@pytest.mark.parametrize("kind", ["tree", "logistic", "relu"])
@pytest.mark.parametrize("distance", ["l0", "linf", "l2"])
def test_other_distances_and_the_oracle(kind: str, distance: str) -> None:
    models, row = models_of(kind, "numbers"), refused(models_of(kind, "numbers"), NUMBERS, 4)
    weights = {"l0": (1, 0, 0), "linf": (0, 0, 1), "l2": (0, 0, 0, 1)}[distance]
    best = brute_force(
        NUMBERS, exactly(NUMBERS, row), accepted(models, 2), bool, norm(NUMBERS, *weights)
    )
    assert best
    for method in ("auto", "mio") if distance == "l2" else ("auto", "smt", "mio"):
        plan = robust(
            models[0], row, models[1:], share=0.5, target=1, distance=distance, method=method,
            epsilon=EPSILON,
        )  # fmt: skip
        assert plan.status == "optimal"
        (member,) = plan.members
        optimum = best[0].distance
        assert F(member.lower_bound) <= optimum <= F(member.distance)
        assert member.distance - member.lower_bound <= EPSILON * (1 + 1e-9)


GRID = FeatureSpace(
    (
        Feature("a", "integer", lower=F(0), upper=F(5)),
        Feature("b", "integer", lower=F(0), upper=F(3)),
        Feature("c", "categorical", labels=(0, 1, 2)),
    )
)
POINTS = pd.DataFrame(
    [(a, b, c) for a in range(6) for b in range(4) for c in range(3)], columns=["a", "b", "c"]
)


@settings(max_examples=40, deadline=None)
@given(
    seeds=st.lists(st.integers(0, 10**6), min_size=2, max_size=7),
    rate=st.floats(0.1, 0.6),
    share=st.floats(0.01, 1),
    size=st.integers(1, 4),
)
def test_random_models(seeds: list[int], rate: float, share: float, size: int) -> None:
    """Trees that know random labels by heart contradict each other in every way."""
    models = []
    for seed in seeds:
        y = np.random.default_rng(seed).random(len(POINTS)) < rate
        y[:2] = False, True
        models.append(cfxc.compile(DecisionTreeClassifier(random_state=0).fit(POINTS, y), GRID))
    row = POINTS.iloc[[0]]
    metric, needed = norm(GRID, *L1), ceil(F(str(share)) * (len(models) - 1))
    best = brute_force(GRID, exactly(GRID, row), accepted(models, needed), bool, metric)
    plan = robust(models[0], row, models[1:], share=share, size=size, epsilon=EPSILON)
    check(plan, models, row, best, metric, size)


def tree(accepts: Any, space: FeatureSpace = GRID) -> cfxc.CompiledModel:
    y = np.asarray(accepts, dtype=int)
    return cfxc.compile(DecisionTreeClassifier(random_state=0).fit(POINTS, y), space)


def test_models_that_contradict_each_other() -> None:
    model, row = tree(POINTS.a > 0), POINTS.iloc[[0]]
    fine, high, low = tree(POINTS.a > 1), tree(POINTS.b > 1), tree(POINTS.b < 2)
    plan = robust(model, row, [fine, high, low])
    assert (plan.status, plan.members, plan.stop_reason) == ("infeasible", (), "infeasible")
    assert plan.conflict == (1, 2)
    assert plan.provers
    assert len(plan.rows) == 0
    assert list(plan.rows.columns) == ["a", "b", "c"]
    assert "no counterfactual is valid for at least 3 of 3" in plan.summary()
    enough = robust(model, row, [fine, high, low], share=0.6)
    assert enough.status == "optimal"
    assert enough.members[0].valid == (True, False, True)
    assert float(enough.members[0].distance) == pytest.approx(2 / 5 / 3)
    assert enough.validity.to_numpy().tolist() == [[True, False, True]]
    assert enough.changes == [{"a": (0, 2)}]
    assert enough.to_frame().valid.tolist() == [2]


def test_a_model_that_accepts_nobody() -> None:
    """It knows the label, and never gives it within the space."""
    wide = POINTS.assign(a=POINTS.a + 10)
    both = pd.concat([POINTS, wide], ignore_index=True)
    never = DecisionTreeClassifier(random_state=0).fit(both, (both.a > 8).astype(int))
    model, never = tree(POINTS.a > 2), cfxc.compile(never, GRID)
    others = [tree(POINTS.a > 3), never]
    plan = robust(model, POINTS.iloc[[0]], others)
    assert (plan.status, plan.conflict) == ("infeasible", (1,))
    half = robust(model, POINTS.iloc[[0]], others, share=0.5, size=2)
    assert half.status == "optimal"
    assert [member.valid for member in half.members] == [(True, False)] * 2
    assert half.rows.a.tolist() == [4, 4] or half.rows.a.tolist() == [4, 5]


def test_a_plan_that_ends() -> None:
    model = tree((POINTS.a == 5) & (POINTS.b == 3))
    plan = robust(model, POINTS.iloc[[0]], [model], size=9)
    assert (plan.status, plan.stop_reason, len(plan.members)) == ("optimal", "infeasible", 3)
    assert sorted(plan.rows.c) == [0, 1, 2]


def test_members_that_change_other_features() -> None:
    model = tree((POINTS.a > 2) | (POINTS.b > 1) | (POINTS.c == 2))
    other = tree((POINTS.a > 3) | (POINTS.b > 2) | (POINTS.c == 2))
    plan = robust(model, POINTS.iloc[[0]], [other], size=4, diversity="features")
    assert [list(each) for each in plan.changes] in (
        [["a"], ["b"], ["c"]],
        [["a"], ["c"], ["b"]],
    )
    assert plan.stop_reason == "infeasible"
    far = robust(model, POINTS.iloc[[0]], [other], size=2, apart=0.3)
    first, second = (far.rows.iloc[i] for i in range(2))
    assert abs(first.a - second.a) >= 2 or abs(first.b - second.b) >= 1 or first.c != second.c


def test_constraints_actions_and_ranges_of_numbers() -> None:
    table = POINTS.astype({"c": int})
    value = 2.0 * table.a + table.b - table.c
    fits = [cfxc.compile(LinearRegression().fit(table, value + shift), GRID) for shift in (0, 0.4)]
    fits.append(cfxc.compile(DecisionTreeRegressor(random_state=0).fit(table, value - 0.3), GRID))
    plan = robust(
        fits[0], table.iloc[[0]], fits[1:], target=(4, 7), epsilon=EPSILON,
        subject_to=["x.a <= 2", cfxc.MaxChanges(2)],
    )  # fmt: skip
    (member,) = plan.members
    assert all(4 <= value <= 7 for value in member.outcomes)
    assert member.row.a.iloc[0] <= 2
    fitting = [
        (r.a / 5 + r.b / 3 + (r.c != 0)) / 3
        for r in table.itertuples()
        if r.a <= 2
        and sum((r.a != 0, r.b != 0, r.c != 0)) <= 2
        and 4 <= 2 * r.a + r.b - r.c <= 6.6
        and 2 * r.a + r.b - r.c - 0.3 >= 4
    ]
    assert member.distance == pytest.approx(min(fitting), abs=1e-9)
    with pytest.raises(InvalidInputError, match="constraint"):
        robust(fits[0], table.iloc[[0]], fits[1:], target=(4, 7), subject_to=["x.a > 9"])


def test_margins_and_floats() -> None:
    """Every model must win by the margin, and the bound allows for each one's rounding."""
    models, space = models_of("logistic", "numbers"), NUMBERS
    row = refused(models, space, 3)
    plain = robust(models[0], row, models[1:], target=1)
    strict = robust(models[0], row, models[1:], target=1, subject_to=[cfxc.Margin(0.5)])
    assert strict.members[0].distance >= plain.members[0].distance
    for each in models:
        assert each.predictor.estimator.decision_function(strict.rows)[0] >= 0.5
    likely = robust(models[0], row, models[1:], target=1, subject_to=[cfxc.Probability(0.7)])
    for each in models:
        assert each.predictor.estimator.predict_proba(likely.rows)[0, 1] >= 0.7
    deployed = robust(models[0], row, models[1:], target=1, semantics="float")
    assert deployed.semantics == "float"
    assert deployed.lower_bound <= plain.members[0].distance


def test_answers_are_what_the_deployed_models_say() -> None:
    """A program's word does not count where its own model disagrees."""
    model, other = tree(POINTS.a > 1), tree(POINTS.a > 1)

    class Contrary:
        task, classes = other.predictor.task, other.predictor.classes
        unit_roundoff, adds_singles = other.predictor.unit_roundoff, False
        probabilities = other.predictor.probabilities

        def predict(self, frame: pd.DataFrame) -> Any:
            says = np.asarray(other.predictor.predict(frame)).copy()
            says[frame.a.to_numpy() == 2] = 0
            return says

    contrary = cfxc.CompiledModel(other.program, GRID, Contrary())
    plan = robust(model, POINTS.iloc[[0]], [contrary], time_limit=10)
    assert plan.rows.a.tolist() in ([], [3])  # never 2
    assert float(plan.lower_bound) <= 2 / 15
    assert plan.status in ("unknown", "feasible")


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_too_little_time(share: float) -> None:
    """What is reported then still holds."""
    models, row = (
        models_of("relu", "mixed"),
        refused(models_of("relu", "mixed"), SPACES["mixed"], 2),
    )
    space = SPACES["mixed"]
    best = brute_force(
        space, exactly(space, row), accepted(models, ceil(share * 4)), bool, norm(space, *L1)
    )
    for limit in (1e-6, 0.01, 0.1):
        started = time.monotonic()
        plan = robust(
            models[0], row, models[1:], share=share, target=1, time_limit=limit, epsilon=1e-9
        )
        assert time.monotonic() - started < limit + 5
        assert F(plan.lower_bound) <= best[0].distance
        if not plan.members:
            assert (plan.status, plan.stop_reason) == ("unknown", "unknown")
            assert plan.reason
            assert "unknown" in plan.summary()
        else:
            assert F(plan.members[0].distance) >= best[0].distance


def test_bad_input() -> None:
    model, row = tree(POINTS.a > 1), POINTS.iloc[[0]]
    labels = np.array(["x", "y"])[(POINTS.a > 1).astype(int)]
    named = cfxc.compile(DecisionTreeClassifier().fit(POINTS, labels), GRID)
    number = cfxc.compile(DecisionTreeRegressor().fit(POINTS, POINTS.a), GRID)
    narrow = FeatureSpace((*GRID.features[:2], Feature("c", "categorical", labels=(0, 1, 2, 3))))
    fewer = FeatureSpace(GRID.features[:2])
    small = cfxc.compile(DecisionTreeClassifier().fit(POINTS[["a", "b"]], POINTS.a > 1), fewer)
    for others, message in [
        ([], "others is empty"),
        ([named], r"others\[0\] never predicts the target 1: its outcomes are \"x\", \"y\""),
        ([model, number], r"others\[1\] is a regressor"),
        ([tree(POINTS.a > 1, narrow)], r"others\[0\] has other ranges, kinds or actions of \"c\""),
        ([small], r"others\[0\] has other features \(\"c\"\)"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            robust(model, row, others)
    network = cfxc.compile(mlp(MLPClassifier, "relu", 3).fit(POINTS, POINTS.a > 1), GRID)
    plain = cfxc.compile(DecisionTreeClassifier().fit(POINTS, POINTS.a > 1), GRID)
    with pytest.raises(UnsupportedError, match=r"others\[1\]: method 'box' does not take"):
        robust(plain, row, [plain, network], method="box")
    for others in (model, 3, [DecisionTreeClassifier()], "model"):
        with pytest.raises(DataTypeError, match="compile"):
            robust(model, row, others)
    for share in (0, -0.5, 1.01, float("nan")):
        with pytest.raises(InvalidInputError, match="share"):
            robust(model, row, [model], share=share)
    with pytest.raises(InvalidInputError, match="diversity"):
        robust(model, row, [model], diversity="pool")
    with pytest.raises(InvalidInputError, match="size"):
        robust(model, row, [model], size=0)
    with pytest.raises(InvalidInputError, match="time_limit"):
        robust(model, row, [model], time_limit=0)
    with pytest.raises(InvalidInputError, match="already has the outcome that is asked for"):
        robust(model, POINTS.iloc[[-1]], [model], target=1)
