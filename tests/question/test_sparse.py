"""The distance ``sparse``: fewest changes first, l1 among those, both proved."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cfxc
from cfxc.question.distances import resolve_distance

GRID = pd.DataFrame(list(product(range(8), range(5), range(6), range(3))), columns=list("abcd"))
X = GRID.sample(300, random_state=0).reset_index(drop=True)
Y = (X.a + 2 * X.b + X.c * (X.d == 1) + X.d > 11).astype(int)
RANGES = np.array([7, 4, 5, 2])
MODELS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "forest": (RandomForestClassifier(12, max_depth=5, random_state=0), ("box", "mio", "smt")),
    "boosting": (GradientBoostingClassifier(n_estimators=10, random_state=0), ("box", "mio")),
    "linear": (LogisticRegression(), ("mio", "smt")),
    "network": (
        make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=500, random_state=0)),
        ("mio", "smt"),
    ),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("epsilon", [1e-3, 0.5])
def test_fewest_changes_and_then_the_nearest(name: str, epsilon: float) -> None:
    estimator, engines = MODELS[name]
    model = cfxc.compile(estimator.fit(X, Y), cfxc.FeatureSpace.infer(GRID))
    good = GRID[estimator.predict(GRID) == 1].to_numpy()
    people = X[estimator.predict(X) == 0]
    for i in range(0, 12, 3):
        row = people.iloc[[i]]
        moved = np.abs(good - row.to_numpy())
        counts, away = (moved > 0).sum(axis=1), (moved / RANGES).mean(axis=1)
        least = counts.min()
        nearest = away[counts == least].min()
        for method in (*engines, "auto"):
            found = model.explain(row, target=1, distance="sparse", epsilon=epsilon, method=method)
            assert found.status == "optimal", (method, found.summary())
            assert len(found.changes) == least
            (change,) = np.abs(found.counterfactual.to_numpy() - row.to_numpy()) / RANGES
            assert nearest - 1e-9 <= change.mean() <= nearest / (1 - epsilon) + 1e-9
            assert found.lower_bound <= (least + nearest) / 5 + 1e-9
            assert found.lower_bound * 5 >= least + (1 - epsilon) * change.mean() - 1e-9
        assert cfxc.check(found.certificate).ok


def test_the_meaning_of_epsilon() -> None:
    """It is of the l1 part; a bound that leaves fewer changes open closes nothing."""
    measure = resolve_distance("sparse", cfxc.FeatureSpace.infer(GRID))
    value = (2 + Fraction(1, 10)) / 5
    assert measure.below(value, Fraction(1, 2)) == (2 + Fraction(1, 20)) / 5
    assert not measure.is_enough(Fraction(2, 5), value, Fraction(1, 2))
    assert measure.name == "sparse"


def test_weights_that_differ() -> None:
    space = cfxc.FeatureSpace.infer(GRID).replace("a", weight=2)
    with pytest.raises(cfxc.InvalidInputError, match="weights differ"):
        resolve_distance("sparse", space)
