"""Models of every kind on small grids, people to explain, and what a right answer is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import cfxc
from cfxc import FeatureSpace
from cfxc.space import Feature
from tests.solvers.grids import (
    Condition,
    Found,
    Metric,
    Point,
    distance_of,
    exactly,
    is_allowed,
    sampled,
)

F = Fraction
EPSILON = 1e-6
LEVELS = ("low", "mid", "high")

#: Text, an order of text and a resolution that no double is a multiple of.
MIXED = FeatureSpace(
    (
        Feature("age", "integer", lower=F(20), upper=F(25)),
        Feature("pay", "real", lower=0.1, upper=0.7, resolution="0.1"),
        Feature("sector", "categorical", labels=("it", "law", "art")),
        Feature("member", "binary", labels=(False, True)),
        Feature("level", "ordinal", labels=LEVELS),
    )
)
#: Numbers alone, as a model without preprocessing takes them; one column is narrow.
NUMBERS = FeatureSpace(
    (
        Feature("kids", "integer", lower=F(0), upper=F(4)),
        Feature("rate", "real", lower=F(-1), upper=F(1), resolution="0.25"),
        Feature("narrow", "real", lower=F(0), upper=F(1), resolution="0.2", dtypes=("float32",)),
        Feature("member", "binary", labels=(False, True)),
        Feature("code", "categorical", labels=(3, 5, 9)),
    )
)
#: Columns that were encoded before training: a one-hot group and a thermometer.
GROUPS = FeatureSpace(
    (
        Feature(
            "job", "categorical", labels=("a", "b", "c", "d"), encoding="one_hot",
            columns=("job_a", "job_b", "job_c", "job_d"),
        ),
        Feature(
            "edu", "ordinal", lower=F(0), upper=F(3), encoding="thermometer",
            columns=("edu_0", "edu_1", "edu_2"),
        ),
        Feature("hours", "integer", lower=F(-3), upper=F(3), weight=F(2)),
        Feature("gap", "real", lower=F(0), upper=F(2), resolution="0.5", weight=F(1, 2)),
    )
)  # fmt: skip
SPACES = {"mixed": MIXED, "numbers": NUMBERS, "groups": GROUPS}


def mlp(cls: Any, activation: str, *layers: int) -> Any:
    options = {"solver": "lbfgs", "max_iter": 60, "random_state": 2}
    return cls(hidden_layer_sizes=layers or (4,), activation=activation, **options)


#: kind → (estimator, outcome it learns, the space it is tried on)
KINDS: dict[str, tuple[Any, str, str]] = {
    "logistic": (LogisticRegression(), "two", "mixed"),
    "logistic plain": (LogisticRegression(), "two", "numbers"),
    "logistic of 3": (LogisticRegression(), "three", "mixed"),
    "svc": (LinearSVC(random_state=0), "two", "mixed"),
    "svc of 3": (LinearSVC(random_state=0), "three", "groups"),
    "least squares": (LinearRegression(), "value", "mixed"),
    "ridge": (Ridge(), "value", "numbers"),
    "lasso": (Lasso(alpha=0.05), "value", "mixed"),
    "tree": (DecisionTreeClassifier(max_depth=5, random_state=0), "two", "mixed"),
    "tree plain": (DecisionTreeClassifier(random_state=0), "two", "numbers"),
    "tree of 3": (DecisionTreeClassifier(max_depth=5, random_state=0), "three", "groups"),
    "tree for numbers": (DecisionTreeRegressor(max_depth=5, random_state=0), "value", "numbers"),
    "forest": (RandomForestClassifier(7, max_depth=4, random_state=0), "two", "mixed"),
    "forest plain": (RandomForestClassifier(10, max_depth=4, random_state=1), "two", "numbers"),
    "forest of 3": (RandomForestClassifier(6, max_depth=4, random_state=0), "three", "groups"),
    "forest for numbers": (
        RandomForestRegressor(5, max_depth=3, random_state=0), "value", "mixed",
    ),
    "extra trees": (ExtraTreesClassifier(6, max_depth=4, random_state=0), "two", "numbers"),
    "extra trees of 3": (ExtraTreesClassifier(5, max_depth=4, random_state=0), "three", "mixed"),
    "extra trees for numbers": (
        ExtraTreesRegressor(4, max_depth=3, random_state=0), "value", "groups",
    ),
    "relu": (mlp(MLPClassifier, "relu", 4, 3), "two", "mixed"),
    "relu of 3": (mlp(MLPClassifier, "relu"), "three", "numbers"),
    "relu for numbers": (mlp(MLPRegressor, "relu"), "value", "groups"),
    "identity": (mlp(MLPClassifier, "identity"), "two", "groups"),
    "identity of 3": (mlp(MLPClassifier, "identity"), "three", "mixed"),
    "identity for numbers": (mlp(MLPRegressor, "identity"), "value", "mixed"),
}  # fmt: skip
SMOOTH: dict[str, tuple[Any, str, str]] = {
    "logistic network": (mlp(MLPClassifier, "logistic", 3), "two", "mixed"),
    "tanh network": (mlp(MLPClassifier, "tanh", 3), "two", "numbers"),
    "tanh network of 3": (mlp(MLPClassifier, "tanh", 3), "three", "groups"),
    "logistic network for numbers": (mlp(MLPRegressor, "logistic", 3), "value", "numbers"),
}


def worth(point: Point) -> float:
    """What the people's outcomes depend on; every kind of feature counts, not all linearly."""
    if "age" in point:
        total = 0.7 * (point["age"] - 22) + 6 * float(point["pay"]) * (1 + point["member"])
        return total + 2 * (point["sector"] == "law") + LEVELS.index(point["level"])
    if "kids" in point:
        total = point["kids"] + 2 * abs(float(point["rate"])) + 3 * float(point["narrow"])
        return total + 1.5 * point["member"] + (point["code"] == 5)
    total = 1.5 * (point["job"] in "bc") + point["edu"] + 0.5 * point["hours"]
    return total + float(point["gap"]) * (point["edu"] > 1)


def preprocessing(space: str, scaler: Any) -> list[Any]:
    if space != "mixed":
        return [] if space == "numbers" else [scaler]
    steps = [
        ("scale", scaler, ["age", "pay"]),
        ("hot", OneHotEncoder(), ["sector"]),
        ("order", OrdinalEncoder(categories=[list(LEVELS)]), ["level"]),
    ]
    return [ColumnTransformer(steps, remainder="passthrough")]


@lru_cache
def trained(kind: str) -> tuple[Any, FeatureSpace, cfxc.CompiledModel]:
    estimator, outcome, name = (KINDS | SMOOTH)[kind]
    space = SPACES[name]
    points, table = sampled(space, 160, seed=5)
    worths = np.array([worth(point) for point in points])
    worths += np.random.default_rng(1).normal(0, 0.4, len(worths))
    y: Any = worths
    if outcome != "value":
        parts = np.linspace(0, 1, 3 if outcome == "two" else 4)[1:-1]
        y = np.digitize(worths, np.quantile(worths, parts))
        y = np.array(["no", "perhaps", "yes"])[y] if outcome == "three" else y
    scaler = MinMaxScaler() if "of 3" in kind or "plain" in kind else StandardScaler()
    model = make_pipeline(*preprocessing(name, scaler), estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(table, y)
    return model, space, cfxc.compile(model, space)


@dataclass(frozen=True)
class Task:
    """A factual and a target."""

    row: pd.DataFrame
    own: Point
    target: Any
    wanted: Callable[[Any], bool]


def task(model: Any, space: FeatureSpace, target: str, seed: int) -> Task:
    """Someone with an outcome outside of the target, and a target that others reach."""
    _, table = sampled(space, 60, seed=seed)
    outcomes = model.predict(table)
    rng = np.random.default_rng(seed)
    if target == "value":
        spread = np.sort(np.unique(outcomes))
        low, high = float(np.quantile(spread, 0.7)), float(np.quantile(spread, 0.85))
        wide = seed % 2 == 0
        wished: Any = (low, None if wide else high)
        inside = lambda value: low <= value and (wide or value <= high)  # noqa: E731
    else:
        others = np.unique(outcomes)
        wished = others[int(rng.integers(len(others)))].item()
        inside = lambda value: value == wished  # noqa: E731
    rows = [i for i, outcome in enumerate(outcomes) if not inside(outcome)]
    row = table.iloc[[rows[0]]]
    return Task(row, exactly(space, row), wished, inside)


def check(
    answer: cfxc.Result,
    model: Any,
    space: FeatureSpace,
    asked: Task,
    best: Sequence[Found],
    metric: Metric,
    conditions: Sequence[Condition] = (),
) -> None:
    """An answer against the enumeration: the optimum, its bounds and its row."""
    if not best:
        assert (answer.status, answer.counterfactual) == ("infeasible", None)
        return
    optimum = best[0].distance
    assert answer.status == "optimal", answer.summary()
    row = answer.counterfactual
    assert row is not None
    assert answer.distance is not None
    assert F(answer.lower_bound) <= optimum <= F(answer.distance)
    assert answer.distance - answer.lower_bound <= EPSILON * answer.distance * (1 + 1e-9)
    own_way = distance_of(space, row, asked.own, metric)
    assert float(own_way) == pytest.approx(answer.distance, abs=1e-15)
    assert own_way <= F(answer.distance)
    assert asked.wanted(model.predict(row)[0])
    assert is_allowed(space, row, asked.own, conditions)
    assert list(row.dtypes) == list(asked.row.dtypes)
    if optimum == 0:
        assert own_way == 0


def outcome_of(kind: str) -> str:
    """``two``, ``three`` or ``value``."""
    return (KINDS | SMOOTH)[kind][1]
