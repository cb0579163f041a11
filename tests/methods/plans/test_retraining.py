"""Bootstrap copies: the same whatever runs them, and of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc import DataTypeError, InvalidInputError, retrained

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=80), "b": RNG.integers(0, 9, 80)})
Y = (X.a + 0.3 * X.b > 1.2).astype(int).to_numpy()
SPACE = cfxc.FeatureSpace.infer(X)


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(4, max_depth=3, random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
)
def test_copies_are_seeded_and_differ(estimator: Any) -> None:
    found = retrained(estimator, X, Y, 3, space=SPACE, random_state=7)
    again = retrained(estimator, X, Y, 3, space=SPACE, random_state=7, n_jobs=2)
    more = retrained(estimator, X, Y, 4, space=SPACE, random_state=7)
    assert [each.program for each in found] == [each.program for each in again]
    assert [each.program for each in found] == [each.program for each in more[:3]]
    assert len({each.program.digest for each in more}) == 4
    other = retrained(estimator, X, Y, 3, space=SPACE, random_state=8)
    assert found[0].program != other[0].program
    assert all(each.space == SPACE for each in found)
    assert not hasattr(estimator, "classes_")  # a clone was fitted
    rates = [np.mean(each.predict(X) == Y) for each in found]
    assert min(rates) > 0.8


def test_boosters_and_numbers() -> None:
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1)
    assert all(set(each.predict(X)) <= {0, 1} for each in retrained(booster, X, Y, 2, space=SPACE))
    numbers = retrained(Ridge(), X, 2 * X.a + X.b, 2, space=SPACE, share=0.5)
    assert all(each.predictor.task == "regressor" for each in numbers)


def test_share_is_how_many_rows_are_drawn() -> None:
    sizes = []

    class Counting(DecisionTreeClassifier):
        def fit(self, rows: pd.DataFrame, y: Any) -> Any:
            sizes.append(len(rows))
            return super().fit(rows, y)

    with pytest.raises(cfxc.CfxcError):  # a class of someone's own does not compile
        retrained(Counting(), X, Y, 2, space=SPACE, share=0.31)
    assert sizes == [25, 25]


def test_every_copy_knows_every_class() -> None:
    rare = np.zeros(80, dtype=int)
    rare[:2] = 1
    for each in retrained(DecisionTreeClassifier(), X, rare, 12, space=SPACE):
        assert each.predictor.classes == (0, 1)
    with pytest.raises(InvalidInputError, match="100 draws of 2 rows lack one of 3 classes"):
        retrained(DecisionTreeClassifier(), X, np.arange(80) % 3, 1, space=SPACE, share=0.025)


def test_bad_input() -> None:
    tree = DecisionTreeClassifier()
    with pytest.raises(DataTypeError, match="no estimator"):
        retrained("tree", X, Y, 2, space=SPACE)
    with pytest.raises(DataTypeError, match="DataFrame"):
        retrained(tree, X.to_numpy(), Y, 2, space=SPACE)
    with pytest.raises(DataTypeError, match="FeatureSpace"):
        retrained(tree, X, Y, 2, space=X)
    with pytest.raises(InvalidInputError, match="80 rows, and y the shape"):
        retrained(tree, X, Y[:-1], 2, space=SPACE)
    with pytest.raises(InvalidInputError, match="n must be"):
        retrained(tree, X, Y, 0, space=SPACE)
    with pytest.raises(InvalidInputError, match="share"):
        retrained(tree, X, Y, 1, space=SPACE, share=0)
    with pytest.raises(InvalidInputError, match="n_jobs"):
        retrained(tree, X, Y, 1, space=SPACE, n_jobs=0)
