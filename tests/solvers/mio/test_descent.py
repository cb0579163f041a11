"""Descent within hulls: the linear programs of slices, and what it may offer."""

from __future__ import annotations

import time
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cfxc
from cfxc.question.query import Query, make_query
from cfxc.solvers.hulls import admits, slack_of
from cfxc.solvers.mio.descent import Descent, Slices
from tests.asking import at_most

RNG = np.random.default_rng(0)
MIX = RNG.normal(size=(3, 8))
X = pd.DataFrame(
    np.round(RNG.normal(size=(400, 3)) @ MIX * 10 + RNG.normal(size=(400, 8))),
    columns=list("abcdefgh"),
).assign(town=RNG.choice(["u", "v", "w"], 400))
Y = (X.a + X.b - X.c + 8 * (X.town == "v") + RNG.normal(0, 2, 400) > 3).astype(int)
NUMBERS = list("abcdefgh")
MODELS = {
    "logistic": LogisticRegression(max_iter=500),
    "forest": RandomForestClassifier(15, max_depth=5, random_state=0),
    "network": MLPClassifier((8,), max_iter=400, random_state=0),
}


@lru_cache
def compiled(name: str) -> cfxc.CompiledModel:
    model = make_pipeline(StandardScaler(), MODELS[name]).fit(X[NUMBERS], Y)
    return cfxc.compile(model, cfxc.FeatureSpace.infer(X[NUMBERS], fixed=["h"]))


def question(name: str, epsilon: float, norm: str = "l1", **asked: Any) -> Query:
    model = compiled(name)
    region = cfxc.TrustRegion(X[NUMBERS], Y, epsilon=epsilon, norm=norm)
    row = X[NUMBERS][model.predict(X[NUMBERS]) == 0].iloc[[5]]
    query = make_query(
        model.program, model.space, model.space.encode_row(row), target=1, distance="l0", **asked
    )
    hulls = region.hulls(model.space, query.target, model.predict, model)
    return Query(**{**vars_of(query), "hulls": hulls})


def vars_of(query: Query) -> dict[str, Any]:
    return {name: getattr(query, name) for name in query.__dataclass_fields__}


@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.parametrize("epsilon", [0.0, 0.15])
def test_the_nearest_point_of_a_slice_and_empty_ones(norm: str, epsilon: float) -> None:
    query = question("logistic", epsilon, norm)
    (hull,) = query.hulls
    slices, rng = Slices(query), np.random.default_rng(1)
    n, size = hull.points.shape
    empty = 0
    for _ in range(25):
        goal = hull.points.mean(axis=0) + rng.normal(size=size) * 0.4
        weights = rng.uniform(0.1, 1.0, size)
        held = rng.random(size) < 0.5
        lower, upper = np.where(held, goal, -2.0), np.where(held, goal, 2.0)
        found = slices.nearest(goal, weights, lower, upper, 0.0, np.inf)
        # z = points' λ - s, |s| within ε, minimise Σ w |z - goal|; columns: λ, z, |z - goal|, |s|
        limit, one, zero = float(hull.inner), np.eye(size), np.zeros((size, size))
        none = np.zeros((size, n))
        equal = [np.append(np.ones(n), np.zeros(3 * size))]
        over = [np.hstack([none, one, -one, zero]), np.hstack([none, -one, -one, zero]),
                np.hstack([hull.points.T, -one, zero, -one]),
                np.hstack([-hull.points.T, one, zero, -one])]  # fmt: skip
        most = [goal, -goal, np.zeros(size), np.zeros(size)]
        if norm == "l1":
            over.append(np.concatenate([np.zeros(n + 2 * size), np.ones(size)])[None])
            most.append(np.array([limit]))
        ends = [(0, None)] * n + list(zip(lower, upper, strict=True)) + [(0, None)] * size
        ends += [(0, None if norm == "l1" else limit)] * size
        truth = linprog(
            np.concatenate([np.zeros(n + size), weights, np.zeros(size)]), np.vstack(over),
            np.concatenate(most), np.array(equal), [1.0], bounds=ends,
        )  # fmt: skip
        assert (found is None) == (truth.status == 2)
        if found is None:
            empty += 1
            continue
        assert weights @ np.abs(found - goal) == pytest.approx(truth.fun, abs=1e-5)
        assert (found >= lower - 1e-9).all()
        assert (found <= upper + 1e-9).all()
    assert 0 < empty < 25


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("most", [None, 4])
def test_what_is_offered_is_a_counterfactual_of_the_hull(name: str, most: int | None) -> None:
    query = question(name, 0.1, subject_to=[*at_most(most)])
    offered: list[dict[str, Any]] = []
    descent = Descent(query, np.random.default_rng(0))

    def offer(point: Any) -> bool:
        offered.append(dict(point))
        return True

    descent.run(offer, time.monotonic() + 20)
    assert descent.is_over
    assert offered
    for point in offered:
        assert not query.violated(point)
        assert query.in_target(point)
        assert admits(query, slack_of(query, point))
    counts = [query.distance_to(point) for point in offered]
    assert counts == sorted(counts, reverse=True)
    assert len(set(counts)) == len(counts)
    assert counts[-1] == Fraction(3, len(query.domains))  # the fewest: branching proves it


def test_seeds_that_are_excluded_lead_to_others() -> None:
    query = question("network", 0.1, subject_to=[cfxc.MaxChanges(4)])
    found: list[Any] = []
    Descent(query, np.random.default_rng(0)).run(
        lambda p: not found.append(p), time.monotonic() + 20
    )
    first = found[-1]
    other = query.without(first, Fraction(1, 50))
    again: list[Any] = []
    descent = Descent(other, np.random.default_rng(0), [first])
    descent.run(lambda p: not again.append(p), time.monotonic() + 20)
    assert again
    assert all(not other.violated(point) for point in again)
    assert other.distance_to(again[-1]) <= other.distance_to(first) + Fraction(2, 8)


def test_labels_of_a_region_may_be_whole_numbers_where_the_models_are_not() -> None:
    rows = X[NUMBERS]
    model = LogisticRegression(max_iter=500).fit(rows, Y.astype(float))
    made = cfxc.compile(model, cfxc.FeatureSpace.infer(rows))
    refused = rows[model.predict(rows) == 0].iloc[[0]]
    region = cfxc.TrustRegion(rows, Y, epsilon=0.1)
    found = made.explain(refused, target=1, subject_to=[region], time_limit=20)
    assert model.predict(found.counterfactual)[0] == 1.0
    with pytest.raises(cfxc.errors.CfxcError, match=r"no row of 400 is in 1\.0"):
        made.explain(refused, target=1, subject_to=[cfxc.TrustRegion(rows, Y.map(str))])


@pytest.mark.parametrize("name", ["forest", "network"])
def test_several_answers_of_few_changes(name: str) -> None:
    model = compiled(name)
    row = X[NUMBERS][model.predict(X[NUMBERS]) == 0].iloc[[5]]
    region = cfxc.TrustRegion(X[NUMBERS], Y, epsilon=0.1)
    found = model.explain(
        row, target=1, subject_to=[cfxc.MaxChanges(5), region], count=3, apart=0.05, time_limit=2
    ).all()
    assert len(found) == 3
    for one in found:
        assert len(one.changes) <= 5
        assert model.predict(one.counterfactual)[0] == 1
        assert one.counterfactual["h"].iloc[0] == row["h"].iloc[0]
