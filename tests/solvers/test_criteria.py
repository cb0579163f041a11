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
from sklearn.tree import DecisionTreeRegressor

import cfxc

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
    for each in cfxc.CausalModel(causal).mechanisms(SPACE) if causal else ():
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
                person, target=1, method=method, max_changes=most,
                causal=None if equations is None else cfxc.CausalModel(equations),
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
    causal = cfxc.CausalModel({"amount": "100 * duration"})
    for i in range(3):
        result = model.explain(people.iloc[[i]], target=1, causal=causal)
        if result.status == "infeasible":
            assert result.conflict
            assert any("amount follows 100 * duration" in rule for rule in result.conflict) or any(
                "rate" in rule or "job" in rule for rule in result.conflict
            )


@pytest.mark.parametrize("causal", ["none", "text"])
def test_each_answer_changes_other_features(case, causal):
    compiled, favourable, people, _ = case
    equations = CAUSAL[causal]
    model = None if equations is None else cfxc.CausalModel(equations)
    person, left = people.iloc[[3]], favourable
    result = compiled.explain(person, target=1, count=5, diversity="features", causal=model)
    assert result.rest == "infeasible"
    for answer in result.all():
        best = nearest(left, person, equations, None)
        assert answer.exact_lower_bound <= best <= answer.exact_distance
        used = answer.changes.keys() - (equations or {}).keys()
        for name in used:
            left = left[left[name] == person[name].iloc[0]]
    assert nearest(left, person, equations, None) is None


def test_a_batch_asks_the_same(case):
    compiled, _, people, _ = case
    causal = cfxc.CausalModel(CAUSAL["text"])
    table = compiled.explain_batch(people.iloc[:5], target=1, causal=causal, max_changes=2)
    alone = [
        compiled.explain(people.iloc[[i]], target=1, causal=causal, max_changes=2) for i in range(5)
    ]
    assert table["status"].tolist() == [each.status for each in alone]
    assert table["distance"].tolist() == pytest.approx([each.distance for each in alone], abs=1e-3)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"diversity": "l0"}, "unknown diversity 'l0': points, features"),
        ({"max_changes": 0}, "max_changes must be a whole number from 1"),
        ({"max_changes": 1.5}, "max_changes must be a whole number from 1"),
        ({"causal": {"amount": "duration"}}, "causal is a CausalModel, not dict"),
    ],
)
def test_bad_arguments(case, options, match):
    compiled, _, people, _ = case
    with pytest.raises(cfxc.CfxcError, match=match):
        compiled.explain(people.iloc[[0]], target=1, **options)
