"""Causal models and caps on changes, in every engine, beside enumeration of the original model."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import cfxc
from tests.asking import at_most, following

RNG = np.random.default_rng(0)
N = 400
X = pd.DataFrame(
    {
        "duration": RNG.integers(1, 9, N),
        "amount": 0,
        "rate": RNG.integers(1, 5, N),
        "job": RNG.choice(["a", "b", "c"], N),
    }
)
X["amount"] = 3 * X["duration"] + RNG.integers(0, 6, N)
NOISE = RNG.normal(0, 1, N)
WORTH = X["duration"] * 2 + X["rate"] * 3 - X["amount"] / 2 + 2 * (X["job"] == "b") + NOISE
Y = (WORTH > 9.5).astype(int)
SPACE = cfxc.FeatureSpace.infer(X)
NUMBERS = ["duration", "amount", "rate"]
LEVELS = {name: range(int(X[name].min()), int(X[name].max()) + 1) for name in NUMBERS}
GRID = pd.DataFrame(product(*LEVELS.values(), "abc"), columns=list(X.columns))

MODELS = {
    "forest": (RandomForestClassifier(11, max_depth=4, random_state=0), ("box", "mio", "smt")),
    "boosting": (GradientBoostingClassifier(n_estimators=8, random_state=0), ("box", "mio")),
    "linear": (LogisticRegression(), ("mio", "smt")),
    "svm": (LinearSVC(random_state=0), ("mio", "smt")),
    "network": (MLPClassifier((6,), max_iter=300, random_state=0), ("mio", "smt")),
}
DURATION = X[["duration"]]
CAUSAL = {
    "none": None,
    "text": {"amount": "3 * duration"},
    "chain": {"amount": "3 * duration", "rate": "amount / 6"},
    "linear": {"amount": (LinearRegression().fit(DURATION, X["amount"]), ["duration"])},
    "tree": {
        "amount": (
            DecisionTreeRegressor(max_depth=3).fit(X[["duration", "rate"]], X["amount"]),
            ["duration", "rate"],
        )
    },
    "network": {
        "amount": (
            MLPRegressor(hidden_layer_sizes=(5,), max_iter=2000, random_state=0).fit(
                DURATION, X["amount"]
            ),
            ["duration"],
        )
    },
}


@pytest.fixture(scope="module", params=list(MODELS))
def case(request):
    model, engines = MODELS[request.param]
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["job"]), (StandardScaler(), NUMBERS)
    )
    pipeline = make_pipeline(encode, model).fit(X, Y)
    people = X[pipeline.predict(X) == 0]
    return cfxc.compile(pipeline, SPACE), GRID[pipeline.predict(GRID) == 1], people, engines


def nearest(favourable, person, causal, most):
    """The least l1 distance of a favourable row that obeys the rules, by looking at all rows."""
    factual = SPACE.encode_row(person)
    good = np.ones(len(favourable), dtype=bool)
    for each in cfxc.Causal(causal).mechanisms(SPACE) if causal else ():
        effect = {}
        own = Fraction(factual[each.name]) - each.effect(factual)
        parents = favourable[list(each.parents)].itertuples(index=False, name=None)
        for i, (key, value) in enumerate(zip(parents, favourable[each.name], strict=True)):
            if key not in effect:
                effect[key] = each.effect(dict(zip(each.parents, key, strict=True)))
            good[i] &= abs(own + effect[key] - int(value)) <= Fraction(1, 2)
    changed = sum((favourable[name] != factual[name]).astype(int) for name in X.columns)
    if most is not None:
        good &= (changed <= most).to_numpy()
    rows = favourable[good]
    deltas = [
        (rows[name] - int(factual[name])).abs().map(lambda d, r=SPACE[name].range: Fraction(d) / r)
        for name in NUMBERS
    ]
    totals = sum(deltas) + (rows["job"] != factual["job"]).map(Fraction)
    return min(totals) / 4 if len(rows) else None


@pytest.mark.parametrize("causal", list(CAUSAL))
@pytest.mark.parametrize("most", [None, 1, 2])
def test_nearest_of_all_that_obey(case, causal, most):
    compiled, favourable, people, engines = case
    equations = CAUSAL[causal]
    for person in (people.iloc[[3]], people.iloc[[40]]):
        best = nearest(favourable, person, equations, most)
        for method in (*engines, "auto"):
            result = compiled.explain(
                person, target=1, method=method,
                subject_to=[*following(equations), *at_most(most)],
            )  # fmt: skip
            if best is None:
                assert result.status == "infeasible"
                continue
            assert result.status == "optimal", (method, result.reason)
            assert result.exact_lower_bound <= best <= result.exact_distance
            assert result.exact_distance - best <= Fraction(1, 1000)
            assert most is None or len(result.changes) <= most


def test_rules_that_leave_nothing_are_named(case):
    compiled, _, people, _ = case
    if compiled.predictor.task != "classifier":
        pytest.skip("of classifiers")
    fixed = cfxc.FeatureSpace.infer(X, fixed=["rate", "job"])
    model = cfxc.compile(compiled.predictor.estimator, fixed)
    causal = cfxc.Causal({"amount": "100 * duration"})
    for i in range(3):
        result = model.explain(people.iloc[[i]], target=1, subject_to=[causal])
        if result.status == "infeasible":
            assert result.conflict
            assert any("amount follows 100 * duration" in rule for rule in result.conflict) or any(
                "rate" in rule or "job" in rule for rule in result.conflict
            )


@pytest.mark.parametrize("causal", ["none", "text"])
def test_each_answer_changes_other_features(case, causal):
    compiled, favourable, people, _ = case
    equations = CAUSAL[causal]
    person, left = people.iloc[[3]], favourable
    result = compiled.explain(
        person, target=1, count=5, diversity="features", subject_to=following(equations)
    )
    assert result.stop_reason == "infeasible"
    for answer in result.all():
        best = nearest(left, person, equations, None)
        assert answer.exact_lower_bound <= best <= answer.exact_distance
        used = answer.changes.keys() - (equations or {}).keys()
        for name in used:
            left = left[left[name] == person[name].iloc[0]]
    assert nearest(left, person, equations, None) is None


def test_a_batch_asks_the_same(case):
    compiled, _, people, _ = case
    causal = cfxc.Causal(CAUSAL["text"])
    table = compiled.explain_batch(
        people.iloc[:5], target=1, subject_to=[causal, cfxc.MaxChanges(2)]
    )
    alone = [
        compiled.explain(people.iloc[[i]], target=1, subject_to=[causal, cfxc.MaxChanges(2)])
        for i in range(5)
    ]
    assert table["status"].tolist() == [each.status for each in alone]
    assert table["distance"].tolist() == pytest.approx([each.distance for each in alone], abs=1e-3)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"diversity": "l0"}, "unknown diversity 'l0': points, features"),
        ({"subject_to": {"amount": "duration"}}, "no criterion: give a condition as text"),
        ({"subject_to": [{"amount": "duration"}]}, "no criterion: give a condition as text"),
        ({"max_changes": 1}, "no option 'max_changes'"),
    ],
)
def test_bad_arguments(case, options, match):
    compiled, _, people, _ = case
    with pytest.raises(cfxc.CfxcError, match=match):
        compiled.explain(people.iloc[[0]], target=1, **options)


def penalised(favourable, person, distance, penalty):
    """The least ``(d + α n) / (1 + α J)`` over all rows, of l2 with its square."""
    factual = SPACE.encode_row(person)
    moved = [(favourable[n] - int(factual[n])).abs() / float(SPACE[n].range) for n in NUMBERS]
    deltas = np.array([*moved, (favourable["job"] != factual["job"]).astype(float)]).T
    changed = (deltas > 0).sum(axis=1)
    away = {
        "l0": changed / 4, "l1": deltas.mean(1), "l2": (deltas**2).mean(1), "linf": deltas.max(1)
    }  # fmt: skip
    return float(((away[distance] + penalty * changed) / (1 + penalty * 4)).min())


@pytest.mark.parametrize("distance", ["l0", "l1", "l2", "linf"])
@pytest.mark.parametrize("penalty", [0.02, 0.5])
def test_changes_that_cost(case, distance, penalty):
    compiled, favourable, people, engines = case
    person = people.iloc[[40]]
    best = penalised(favourable, person, distance, penalty)
    for method in (*engines, "auto"):
        result = compiled.explain(
            person, target=1, method=method, distance=distance, change_penalty=penalty
        )
        assert result.status == "optimal", (method, result.reason)
        assert result.lower_bound - 1e-9 <= best <= result.distance + 1e-9
        assert result.distance <= best + 1e-3 + 1e-9
    assert cfxc.check(result.certificate).ok


@pytest.mark.parametrize("distance", ["l1", "l2"])
@pytest.mark.parametrize("kind", ["forest", "linear"])
def test_changes_that_cost_where_numbers_are_continuous(distance, kind):
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.normal(size=(200, 4)).round(3), columns=list("abcd"))
    outcome = (rows["a"] + rows["b"] * rows["c"] + rows["d"] > 0).astype(int)
    model = {
        "forest": RandomForestClassifier(7, max_depth=3, random_state=0),
        "linear": LogisticRegression(),
    }[kind].fit(rows, outcome)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(rows))
    person = rows[model.predict(rows) == 0].iloc[[0]]
    engines = {"forest": ("box", "mio", "smt"), "linear": ("mio", "smt")}[kind]
    found = [
        compiled.explain(person, target=1, method=m, distance=distance, change_penalty=0.1)
        for m in engines
    ]
    assert all(result.status == "optimal" for result in found)
    highest = max(result.exact_lower_bound for result in found)
    assert all(result.exact_distance >= highest for result in found)
    few = compiled.explain(person, target=1, distance=distance, change_penalty=2)
    assert len(few.changes) <= len(found[0].changes)


def test_a_penalty_beside_a_mahalanobis_distance_is_refused(case):
    compiled, _, people, _ = case
    numbers = cfxc.FeatureSpace.infer(X[NUMBERS])
    model = cfxc.compile(LogisticRegression().fit(X[NUMBERS], Y), numbers)
    with pytest.raises(cfxc.UnsupportedError, match="a penalty on changes beside"):
        model.explain(
            people[NUMBERS].iloc[[0]], distance=cfxc.Mahalanobis(X[NUMBERS]), change_penalty=1
        )
    for wrong in (-1, "much", float("nan"), True):
        with pytest.raises(cfxc.CfxcError, match="change_penalty"):
            compiled.explain(people.iloc[[0]], target=1, change_penalty=wrong)


def test_squares_beside_a_penalty_are_closed_on_continuous_networks():
    rng = np.random.default_rng(3)
    rows = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    outcome = (rows["a"] * rows["b"] + rows["c"] > 0.3).astype(int)
    model = MLPClassifier((6,), max_iter=800, random_state=0).fit(rows, outcome)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(rows))
    for i in range(4):
        person = rows[model.predict(rows) == 0].iloc[[i]]
        result = compiled.explain(person, target=1, distance="l2", change_penalty=0.05)
        assert result.status == "optimal", result.reason
        near = compiled.explain(person, target=1, distance="l2")
        scale = 1 + 0.05 * 4
        assert result.lower_bound * scale <= near.distance**2 + 0.05 * len(near.changes) + 1e-6
        found = result.distance * scale - 0.05 * len(result.changes)
        assert found >= near.lower_bound**2 - 1e-6


@pytest.mark.parametrize("method", ["box", "mio", "smt"])
def test_a_cap_beyond_all_features_is_none(method):
    table = pd.DataFrame({"a": range(9), "b": range(9)})
    tree = DecisionTreeClassifier().fit(table, table["a"] + table["b"] > 9)
    compiled = cfxc.compile(tree, cfxc.FeatureSpace.infer(table))
    far = compiled.explain(table.iloc[[0]], target=True, method=method)
    capped = cfxc.MaxChanges(10**40)
    result = compiled.explain(table.iloc[[0]], target=True, method=method, subject_to=capped)
    assert result.exact_distance == far.exact_distance


def test_a_probability_is_told_as_it_was_asked_for():
    assert str(cfxc.Probability(0.9999999)) == "with probability 0.9999999"
    assert str(cfxc.Margin(0.12345678)) == "won by 0.12345678"


@pytest.mark.parametrize("most", [0, 1.5, True, "2"])
def test_caps_that_are_none(most):
    with pytest.raises(cfxc.CfxcError, match="max_changes must be a whole number from 1"):
        cfxc.MaxChanges(most)
