"""Ensembles: the nearest counterfactual is the one that enumeration of a small grid finds."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from sklearn import ensemble
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import cfxc
from cfxc import FeatureSpace
from tests.frontends.sklearn.ensembles import ada_boost
from tests.solvers.grids import NORMS, brute_force, norm, sampled
from tests.solvers.kinds import EPSILON, SPACES, check, preprocessing, task, worth

FIXED: dict[str, Any] = {"random_state": 0}
Boosting = ensemble.GradientBoostingClassifier
Histogram = ensemble.HistGradientBoostingClassifier
SMALL: dict[str, Any] = {"max_depth": 2, "random_state": 0}
LEAVES: dict[str, Any] = {
    "num_leaves": 6, "min_child_samples": 5, "cat_smooth": 1, "min_data_per_group": 3,
    "verbosity": -1, "random_state": 0, "n_jobs": 1,
}  # fmt: skip


def histogram(cls: Any = Histogram, **options: Any) -> Any:
    return cls(max_iter=4, max_depth=3, min_samples_leaf=5, random_state=0, **options)


def panel() -> list[tuple[str, Any]]:
    return [
        ("tree", DecisionTreeClassifier(max_depth=3, **FIXED)),
        ("line", make_pipeline(StandardScaler(), LogisticRegression())),
        ("boosted", Boosting(n_estimators=2, **SMALL)),
    ]


def estimators() -> list[tuple[str, Any]]:
    return [("tree", DecisionTreeRegressor(**SMALL)), ("line", LinearRegression())]


#: kind → (estimator, outcome it learns, the space it is tried on); "raw" skips preprocessing
KINDS: dict[str, tuple[Any, str, str]] = {
    "boosting": (Boosting(n_estimators=5, **SMALL), "two", "mixed"),
    "boosting of 3": (Boosting(n_estimators=3, **SMALL), "three", "groups"),
    "boosting for numbers": (
        ensemble.GradientBoostingRegressor(n_estimators=4, **SMALL), "value", "numbers",
    ),
    "histogram": (histogram(), "two", "mixed"),
    "raw histogram": (histogram(categorical_features=["sector", "level"]), "two", "mixed"),
    "raw histogram of 3": (histogram(categorical_features=["code", "kids"]), "three", "numbers"),
    "histogram for numbers": (
        histogram(ensemble.HistGradientBoostingRegressor), "value", "groups",
    ),
    "stumps": (ada_boost(n_estimators=8, **FIXED), "two", "numbers"),
    "stumps of 3": (ada_boost(n_estimators=5, **FIXED), "three", "mixed"),
    "median": (
        ensemble.AdaBoostRegressor(DecisionTreeRegressor(**SMALL), n_estimators=3, **FIXED),
        "value", "groups",
    ),
    "bagging": (
        ensemble.BaggingClassifier(
            DecisionTreeClassifier(max_depth=3), n_estimators=4, max_features=0.7, **FIXED
        ),
        "two", "numbers",
    ),
    "bagging of votes": (
        ensemble.BaggingClassifier(RidgeClassifier(), n_estimators=4, max_features=0.7, **FIXED),
        "two", "groups",
    ),
    "votes": (ensemble.VotingClassifier(panel()), "three", "mixed"),
    "weighted votes": (ensemble.VotingClassifier(panel(), weights=[1, 1, 2]), "two", "numbers"),
    "mean shares": (
        ensemble.VotingClassifier(
            [("tree", DecisionTreeClassifier(max_depth=3)),
             ("forest", ensemble.RandomForestClassifier(3, **SMALL))],
            voting="soft", weights=[1, 2],
        ),
        "three", "groups",
    ),
    "mean of numbers": (ensemble.VotingRegressor(estimators()), "value", "numbers"),
    "isolation": (
        ensemble.IsolationForest(n_estimators=5, max_samples=16, contamination=0.4, **FIXED),
        "two", "numbers",
    ),
    "svc": (SVC(kernel="linear"), "two", "mixed"),
    "svc of 3": (SVC(kernel="linear"), "three", "groups"),
    "svr": (SVR(kernel="linear"), "value", "mixed"),
}  # fmt: skip


#: kind → (its library, what makes the estimator, outcome, space); "raw" skips preprocessing
BOOSTERS: dict[str, tuple[str, Callable[[Any], Any], str, str]] = {
    "xgboost": (
        "xgboost", lambda xgb: xgb.XGBClassifier(n_estimators=5, max_depth=3), "two", "mixed",
    ),
    "raw xgboost": (
        "xgboost",
        lambda xgb: xgb.XGBClassifier(
            n_estimators=5, max_depth=3, booster="dart", rate_drop=0.5, one_drop=True
        ),
        "two", "numbers",
    ),
    "xgboost for numbers": (
        "xgboost", lambda xgb: xgb.XGBRegressor(n_estimators=4, max_depth=3), "value", "groups",
    ),
    "raw xgboost with missing zeros": (
        "xgboost", lambda xgb: xgb.XGBClassifier(n_estimators=5, max_depth=3, missing=0.0),
        "two", "numbers",
    ),
    "raw lightgbm with missing zeros": (
        "lightgbm",
        lambda lgb: lgb.LGBMClassifier(n_estimators=5, zero_as_missing=True, **LEAVES),
        "two", "numbers",
    ),
    "lightgbm": (
        "lightgbm", lambda lgb: lgb.LGBMClassifier(n_estimators=5, **LEAVES), "two", "mixed",
    ),
    "raw lightgbm of 3": (
        "lightgbm",
        lambda lgb: lgb.LGBMClassifier(n_estimators=3, categorical_feature=[0, 4], **LEAVES),
        "three", "numbers",
    ),
    "lightgbm for numbers": (
        "lightgbm",
        lambda lgb: lgb.LGBMRegressor(
            n_estimators=5, boosting_type="rf", bagging_freq=1, bagging_fraction=0.7, **LEAVES
        ),
        "value", "groups",
    ),
}  # fmt: skip


@lru_cache
def trained(kind: str) -> tuple[Any, FeatureSpace, cfxc.CompiledModel]:
    if kind in BOOSTERS:
        library, make, outcome, name = BOOSTERS[kind]
        estimator = make(pytest.importorskip(library))
    else:
        estimator, outcome, name = KINDS[kind]
    space = SPACES[name]
    points, table = sampled(space, 160, seed=5)
    worths = np.array([worth(point) for point in points])
    worths += np.random.default_rng(1).normal(0, 0.4, len(worths))
    y: Any = worths
    if outcome != "value":
        ends = np.quantile(worths, np.linspace(0, 1, 3 if outcome == "two" else 4)[1:-1])
        y = np.digitize(worths, ends)
        y = np.array(["no", "perhaps", "yes"])[y] if outcome == "three" else y
    steps = [] if kind.startswith("raw") else preprocessing(name, StandardScaler())
    model = make_pipeline(*steps, estimator).fit(table, y)
    return model, space, cfxc.compile(model, space)


def is_nearest(kind: str, outcome: str, distance: str) -> None:
    """The answer for a kind is as near as the nearest of all rows."""
    model, space, compiled = trained(kind)
    asked = task(model, space, outcome, len(distance) + len(kind))
    metric = norm(space, *NORMS[distance])
    best = brute_force(space, asked.own, model.predict, asked.wanted, metric)
    assert best
    answer = compiled.explain(
        asked.row, target=asked.target, distance=distance, epsilon=EPSILON, solver="z3"
    )
    check(answer, model, space, asked, best, metric)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("distance", ["l0", "l1"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_ensemble(kind: str, distance: str) -> None:
    is_nearest(kind, KINDS[kind][1], distance)


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore:categorical_feature keyword")  # it is used all the same
@pytest.mark.parametrize("distance", ["l0", "l1"])
@pytest.mark.parametrize("kind", BOOSTERS)
def test_every_booster(kind: str, distance: str) -> None:
    is_nearest(kind, BOOSTERS[kind][2], distance)


@pytest.mark.parametrize("kind", ["boosting", "raw histogram of 3", "votes", "isolation"])
def test_under_constraints(kind: str) -> None:
    """Fixed and rising features, and a condition, leave another nearest point, or none."""
    model, space, _ = trained(kind)
    rules: dict[str, tuple[Any, str, Any]] = {
        "mixed": (
            {"age": "increase", "member": "fixed"},
            'x.pay >= 0.25 || x.sector == "law"',
            lambda x, own: x["pay"] >= 0.25 or x["sector"] == "law",
        ),
        "numbers": (
            {"kids": "decrease", "member": "fixed"},
            "x.rate <= 0.5 || x.code == 5",
            lambda x, own: x["rate"] <= 0.5 or x["code"] == 5,
        ),
    }
    actions, text, condition = rules[KINDS[kind][2]]
    for name, action in actions.items():
        space = space.replace(name, action=action)
    asked = task(model, space, KINDS[kind][1], 21)
    metric = norm(space, *NORMS["l1"])
    best = brute_force(space, asked.own, model.predict, asked.wanted, metric, (condition,))
    answer = cfxc.compile(model, space).explain(
        asked.row, target=asked.target, epsilon=EPSILON, subject_to=[text]
    )
    check(answer, model, space, asked, best, metric, (condition,))
