"""The measures of counterfactuals, by their definitions, on rows small enough to do by hand."""

from __future__ import annotations

from math import isnan

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

import cfxc
from cfxc import metrics

DATA = pd.DataFrame(
    {
        "age": [20, 30, 40, 50, 60, 70],
        "debt": [0.0, 0.0, 0.0, 0.0, 4.0, 8.0],
        "job": ["a", "b", "a", "c", "b", "a"],
        "grade": pd.Categorical(["low", "mid", "high", "low", "mid", "high"],
                                ["low", "mid", "high"], ordered=True),
    }
)  # fmt: skip
SPACE = cfxc.FeatureSpace.infer(DATA)
X = DATA.iloc[[0]]  # 20, 0.0, a, low
FOUND = pd.DataFrame(
    {
        "age": [20, 50, 20],
        "debt": [2.0, 0.0, 2.0],
        "job": ["a", "b", "a"],
        "grade": pd.Categorical(["low", "high", "low"], ["low", "mid", "high"], ordered=True),
    }
)


def test_by_hand():
    # changed features: debt; age, job, grade; debt
    assert metrics.sparsity(SPACE, X, FOUND) == pytest.approx(1 - 5 / 12)
    assert metrics.categorical_proximity(SPACE, X, FOUND) == pytest.approx(1 - 2 / 6)
    # MAD of age is 15, that of debt 0, taken as 1
    away = (2 / 1 + 30 / 15 + 2 / 1) / 6
    found = metrics.continuous_proximity(SPACE, X, FOUND, data=DATA)
    assert found == pytest.approx(-away)
    found = metrics.continuous_proximity(SPACE, X, FOUND, scale="range")
    assert found == pytest.approx(-(2 / 8 + 30 / 50 + 2 / 8) / 6)
    assert metrics.continuous_proximity(SPACE, X, FOUND, scale="none") == pytest.approx(-34 / 6)
    assert metrics.sparsity_diversity(SPACE, FOUND) == pytest.approx(8 / 12)
    assert metrics.categorical_diversity(SPACE, FOUND) == pytest.approx(4 / 6)
    found = metrics.continuous_diversity(SPACE, FOUND, scale="none")
    assert found == pytest.approx((30 + 2 + 30 + 2) / 6)
    # (20, 2, a, low) from (20, 0, a, low); (50, 0, b, high) from (30, 0, b, mid): δ 0.4 and 0.5,
    # or from (60, 4, b, mid): 0.2, 0.5 and 0.5, or from (40, 0, a, high): 0.2 and 1
    found = metrics.nearest_neighbours(SPACE, FOUND, DATA)
    assert found == pytest.approx((0.25 + 0.9 + 0.25) / 4 / 3)


def test_validity_counts_what_differs():
    def favours(rows):
        return (rows["age"] > 30).astype(int)

    assert metrics.validity(favours, FOUND, 1) == pytest.approx(1 / 3)
    assert metrics.validity(favours, FOUND, 0) == pytest.approx(1 / 3)  # the third is the first
    ages = FOUND["age"].to_numpy()
    assert metrics.validity(lambda _: ages, FOUND, (30, None)) == pytest.approx(1 / 3)
    assert metrics.validity(lambda _: ages, FOUND, (None, None)) == pytest.approx(2 / 3)


@given(st.lists(st.integers(0, 5), min_size=2, max_size=5), st.integers(0, 5))
def test_bounds_and_the_factual_itself(places, own):
    rows, person = DATA.iloc[places], DATA.iloc[[own]]
    for measure in (metrics.sparsity, metrics.categorical_proximity):
        assert 0 <= measure(SPACE, person, rows) <= 1
        assert measure(SPACE, person, person) == 1
    for measure in (metrics.sparsity_diversity, metrics.categorical_diversity):
        assert 0 <= measure(SPACE, rows) <= 1
        assert (measure(SPACE, rows) == 0) >= (len(set(places)) == 1)
    assert metrics.continuous_proximity(SPACE, person, person, data=DATA) == 0
    assert metrics.nearest_neighbours(SPACE, rows, DATA) == 0


def test_what_there_is_none_of():
    numbers, words = SPACE.subset(["age", "debt"]), SPACE.subset(["job"])
    assert isnan(metrics.categorical_proximity(numbers, X, FOUND))
    assert isnan(metrics.categorical_diversity(numbers, FOUND))
    assert isnan(metrics.continuous_proximity(words, X, FOUND, data=DATA))
    assert isnan(metrics.continuous_diversity(words, FOUND, data=DATA))
    assert isnan(metrics.sparsity_diversity(SPACE, X))
    assert isnan(metrics.continuous_diversity(SPACE, X, data=DATA))


def test_outliers_lie_apart():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    space = cfxc.FeatureSpace.infer(data)
    near = pd.DataFrame({"a": [0.0], "b": [0.1]})
    far = pd.DataFrame({"a": [2.5], "b": [-2.5]})
    factors = [metrics.local_outlier_factor(space, rows, data) for rows in (near, far)]
    assert factors[0] < 1.2 < 1.5 < factors[1]


def test_the_distance_is_cfxcs():
    model = cfxc.compile(
        RandomForestClassifier(5, random_state=0).fit(DATA[["age", "debt"]], DATA["age"] > 45),
        SPACE.subset(["age", "debt"]),
    )
    result = model.explain(DATA[["age", "debt"]].iloc[[0]], target=True)
    rows = pd.concat([result.factual] * 2)
    away = metrics.nearest_neighbours(model.space, result.counterfactual, rows)
    assert away == pytest.approx(result.distance)


def test_a_summary_has_all():
    model = cfxc.compile(
        RandomForestClassifier(5, random_state=0).fit(DATA[["age", "debt"]], DATA["age"] > 45),
        SPACE.subset(["age", "debt"]),
    )
    person = DATA[["age", "debt"]].iloc[[0]]
    result = model.explain(person, target=True, count=3)
    rows = result.to_frame().iloc[1:]
    found = metrics.summary(model, person, rows, True, data=DATA[["age", "debt"]])
    assert found["validity"] == 1
    assert list(found)[-2:] == ["nearest neighbour", "local outlier factor"]
    assert len(metrics.summary(model, person, rows, True, scale="range")) == 7


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: metrics.sparsity(SPACE, DATA, FOUND), "the factual is one row, not 6"),
        (lambda: metrics.sparsity(SPACE, X, FOUND.iloc[:0]), "no counterfactuals"),
        (lambda: metrics.sparsity(SPACE, X, [1]), "rows of a DataFrame"),
        (lambda: metrics.continuous_proximity(SPACE, X, FOUND), "needs data"),
        (lambda: metrics.continuous_proximity(SPACE, X, FOUND, scale="sd"), "unknown scale"),
        (lambda: metrics.nearest_neighbours(SPACE, FOUND, DATA, count=6), "count is from 1"),
        (lambda: metrics.sparsity(SPACE, X, FOUND.drop(columns="job")), "job"),
    ],
)
def test_bad_input(call, match):
    with pytest.raises(cfxc.CfxcError, match=match):
        call()
