"""At most so many changes, over many features: beside enumeration of which ones change."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import cfxc
from cfxc.solvers.box_search.logic import _factor
from tests.asking import at_most

FEATURES = 12


def data(seed: int) -> tuple[pd.DataFrame, Any]:
    """Whole numbers and two categories; many features matter a little."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"x{j}": rng.integers(0, 6, 300) for j in range(FEATURES)})
    X["color"] = rng.choice(["red", "green", "blue"], 300)
    X["mode"] = rng.choice(["a", "b"], 300)
    score = X[[f"x{j}" for j in range(FEATURES)]].sum(axis=1) + 2 * (X.color == "red")
    return X, (score > np.median(score)).astype(int)


def by_enumeration(model: Any, X: pd.DataFrame, row: pd.DataFrame, most: int) -> float | None:
    """The least l1 distance with at most so many changes; ``None`` if nothing is one."""
    values = {name: [v for v in X[name].unique() if v != row[name].iloc[0]] for name in X.columns}
    tried = []
    for size in range(1, most + 1):
        for chosen in combinations(X.columns, size):
            for new in product(*(values[name] for name in chosen)):
                tried.append({**row.iloc[0], **dict(zip(chosen, new, strict=True))})
    table = pd.DataFrame(tried).astype(X.dtypes.to_dict())
    hits = table[model.predict(table) == 1]
    if not len(hits):
        return None
    own = row.iloc[0]
    total = np.zeros(len(hits))
    for name in X.columns:
        if X[name].dtype.kind == "i":
            total += np.abs(hits[name] - own[name]).to_numpy() / (X[name].max() - X[name].min())
        else:
            total += (hits[name] != own[name]).to_numpy()
    return float(total.min()) / X.shape[1]


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_nearest_with_few_changes(kind: str, most: int) -> None:
    X, y = data(most)
    columns = make_column_transformer(
        (OrdinalEncoder(), ["color", "mode"]), remainder="passthrough"
    )
    if kind == "forest":
        trees: Any = RandomForestClassifier(25, max_depth=6, random_state=0)
    else:
        trees = GradientBoostingClassifier(n_estimators=25, max_depth=3, random_state=0)
    model = make_pipeline(columns, trees).fit(X, y)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(X))
    refused = X[model.predict(X) == 0]
    none = 0
    for i in range(0, 30, 5):
        row = refused.iloc[[i]]
        least = by_enumeration(model, X, row, most)
        result = compiled.explain(
            row,
            target=1,
            subject_to=[*at_most(most)],
            method="box",
            epsilon=1e-9,
        )
        if least is None:
            none += 1
            assert result.status == "infeasible"
        else:
            assert result.status == "optimal"
            assert float(result.distance) == pytest.approx(least, abs=1e-9)
            assert len(result.changes) <= most
    assert most == 2 or none  # else nothing was proved impossible


def test_certificate_of_a_cap_that_binds() -> None:
    X, y = data(3)
    X = X.drop(columns=["color", "mode"])
    model = RandomForestClassifier(15, max_depth=5, random_state=0).fit(X, y)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(X))
    refused = X[model.predict(X) == 0]
    statuses = set()
    for i in range(0, 24, 3):
        result = compiled.explain(
            refused.iloc[[i]], target=1, subject_to=[cfxc.MaxChanges(1)], method="box"
        )
        statuses.add(result.status)
        assert result.certificate is not None
        assert cfxc.check(result.certificate).ok
    assert statuses == {"optimal", "infeasible"}


def test_a_freed_feature_counts_too() -> None:
    """Where a relaxation lets a fixed feature change, the cap on changes still holds."""
    X, _ = data(4)
    X = X[["x0", "x1", "x2"]]
    model = RandomForestClassifier(30, random_state=0).fit(X, X.sum(axis=1) > 8)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(X, fixed=["x0"]))
    row = pd.DataFrame({"x0": [0], "x1": [2], "x2": [0]})  # two must change
    asked: dict[str, Any] = {"target": True, "subject_to": cfxc.MaxChanges(1)}
    assert compiled.explain(row, **asked, relax=["actions"]).relaxed is None
    result = compiled.explain(row, **asked, relax=["actions", "max_changes"])
    assert result.given_up == ("at most 1 feature may change",)  # the fixed one need not change


def test_coefficients_that_round_to_whole_numbers_are_not_taken_for_these() -> None:
    """0.99… (20 nines) is 1.0 as a double, and 3 of it still are less than 3."""
    assert not _factor(1 - Fraction(1, 10**20)).is_integer()
    assert _factor(Fraction(3)) == 3.0
    X = pd.DataFrame(list(product(range(6), range(3))), columns=["a", "b"])
    model = RandomForestClassifier(3, random_state=0, bootstrap=False).fit(X, X.a >= 3)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(X))
    row = pd.DataFrame({"a": [0], "b": [0]})
    rule = "x.a * 0.99999999999999999999 + x.b < 3"
    result = compiled.explain(row, target=True, method="box", subject_to=[rule])
    assert result.status == "optimal"
    assert result.changes == {"a": (0, 3)}
