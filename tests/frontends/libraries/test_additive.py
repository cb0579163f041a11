"""Explainable boosting machines: every sum to the last bit, also at and beside every cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cfxc
from cfxc import FeatureSpace
from cfxc.errors import UnsupportedError
from cfxc.ir import ops
from tests.frontends.boosters.agreement import (
    NUMBERS,
    agree,
    people,
    space_of,
    target,
    value_of,
    walked,
)

glassbox = pytest.importorskip("interpret.glassbox")

SMALL: dict[str, Any] = {
    "interactions": 4, "max_bins": 32, "outer_bags": 2, "n_jobs": 1, "random_state": 0,
    "max_rounds": 60,
}  # fmt: skip


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return people(500)


def rows_of(model: Any, used: pd.DataFrame, count: int = 3000) -> pd.DataFrame:
    """Columns shuffled on their own, and rows at and beside every cut."""
    rng = np.random.default_rng(5)
    mixed = {
        name: used[name].iloc[rng.integers(0, len(used), count)].reset_index(drop=True)
        for name in used
    }
    cuts = {
        name: np.unique(np.concatenate(levels))
        for name, levels in zip(used, model.bins_, strict=True)
        if used[name].dtype == float
    }
    return walked(pd.DataFrame(mixed), cuts)


def check(model: Any, used: pd.DataFrame, space: FeatureSpace | None = None) -> None:
    frame = rows_of(model, used)
    compiled, columns = agree(model, space or space_of(used), frame, model.predict(frame))
    (name,) = [let.name for let in compiled.program.lets() if isinstance(let.op, ops.TreeEnsemble)]
    sums = np.ravel(value_of(compiled.program, name, columns))
    if compiled.predictor.task == "classifier":
        assert np.array_equal(sums, np.ravel(model.decision_function(frame)))
    elif model.link_ == "identity":
        assert np.array_equal(sums, model.predict(frame))


def test_two_classes(table: pd.DataFrame) -> None:
    names = np.array(["no", "yes"])[target(table, "two")]
    check(glassbox.ExplainableBoostingClassifier(**SMALL).fit(table, names), table)


def test_three_classes(table: pd.DataFrame) -> None:
    options = SMALL | {"interactions": 0}
    model = glassbox.ExplainableBoostingClassifier(**options).fit(table, target(table, "three"))
    check(model, table)


@pytest.mark.parametrize("objective", ["rmse", "gamma_deviance"])
def test_values(objective: str, table: pd.DataFrame) -> None:
    model = glassbox.ExplainableBoostingRegressor(**SMALL, objective=objective)
    check(model.fit(table, target(table, "amount")), table)


def test_codes_as_categories(table: pd.DataFrame) -> None:
    """Some of which training did not see."""
    kinds = ["continuous"] * 5 + ["nominal"] * 3
    known = table[table["code"] != 5]
    model = glassbox.ExplainableBoostingClassifier(**SMALL, feature_types=kinds)
    model.fit(known, target(table, "two")[known.index])
    check(model, table, space_of(table, code="categorical"))
    with pytest.raises(UnsupportedError, match="'code' holds categories of the model, and numbers"):
        cfxc.compile(model, space_of(table, code="integer"))


@pytest.mark.parametrize("kind", ["continuous", "nominal"])
def test_missing_values_among_a_few(kind: str, table: pd.DataFrame) -> None:
    used = table[["normal", "tenths"]].assign(flag=np.where(table["flag"], 1.0, np.nan))
    used["flag"] = used["flag"].where(np.arange(len(used)) % 3 > 0, 0.0)
    kinds = ["continuous", "continuous", kind]
    model = glassbox.ExplainableBoostingClassifier(**SMALL, feature_types=kinds)
    model.fit(used, target(table, "two"))
    agree(model, space_of(used, flag="categorical"), used, model.predict(used))


@pytest.mark.parametrize("known", [True, False])
def test_missing_numbers(known: bool, table: pd.DataFrame) -> None:
    """They have a bin of their own, also in pairs; in training there are some, or none."""
    used = table[["normal", "tenths", "count"]].astype(float)
    gaps = np.random.default_rng(2).random(used.shape) < 0.2
    holed = used.mask(gaps)
    two = target(table, "two") ^ (gaps[:, 0] & ~gaps[:, 1])
    model = glassbox.ExplainableBoostingClassifier(**SMALL).fit(holed if known else used, two)
    frame = pd.concat([holed, rows_of(model, holed)], ignore_index=True)
    agree(model, space_of(holed), frame, model.predict(frame))
    piped = make_pipeline(StandardScaler(), model).fit(holed if known else used, two)
    agree(piped, space_of(holed), holed, piped.predict(holed))


def test_arrays_and_pipelines(table: pd.DataFrame) -> None:
    numbers, two = table[NUMBERS].astype(float), target(table, "two")
    model = glassbox.ExplainableBoostingClassifier(**SMALL).fit(numbers.to_numpy(), two)
    agree(model, space_of(numbers), numbers, model.predict(numbers.to_numpy()))
    piped = make_pipeline(StandardScaler(), glassbox.ExplainableBoostingClassifier(**SMALL))
    agree(piped.fit(numbers, two), space_of(numbers), numbers, piped.predict(numbers))


def test_explanations_are_proved(table: pd.DataFrame) -> None:
    used = table[["normal", "tenths", "sector"]]
    model = glassbox.ExplainableBoostingClassifier(**SMALL).fit(used, target(table, "two"))
    compiled = cfxc.compile(model, space_of(used))
    for place in range(5):
        row = used.iloc[[place]]
        wanted = 1 - int(model.predict(row)[0])
        result = compiled.explain(row, target=wanted, time_limit=60)
        assert result.status == "optimal"
        assert model.predict(result.counterfactual)[0] == wanted
        assert result.certificate is not None
        assert cfxc.check(result.certificate).ok


def test_refusals(table: pd.DataFrame) -> None:
    used = table[NUMBERS]
    model = glassbox.ExplainableBoostingClassifier(**SMALL).fit(used, target(table, "two"))
    model.link_ = "probit"
    with pytest.raises(UnsupportedError, match="its link 'probit' is not supported"):
        cfxc.compile(model, space_of(used))
