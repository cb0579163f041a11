"""imbalanced-learn: samplers act in training only, and ensembles predict as those they extend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import cfxc
from cfxc import FeatureSpace
from cfxc.errors import UnsupportedError
from tests.frontends.boosters.agreement import agree

ensemble = pytest.importorskip("imblearn.ensemble")
sampling = pytest.importorskip("imblearn.over_sampling")
pipeline = pytest.importorskip("imblearn.pipeline")


def rare(count: int = 800) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "a": rng.normal(size=count),
            "b": rng.normal(size=count),
            "kind": rng.choice(["x", "y", "z"], count),
        }
    )
    worth = table["a"] + table["b"] ** 2 + (table["kind"] == "z")
    return table, np.where(worth > np.quantile(worth, 0.85), "rare", "usual")


def drawn(table: pd.DataFrame, count: int = 20_000) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    parts = {name: rng.choice(table[name], count) for name in table}
    frame = pd.DataFrame(parts)
    for name in table.select_dtypes(float):
        frame[name] = np.nextafter(frame[name], rng.choice([-np.inf, 0, np.inf], count))
    return frame


PIPED: dict[str, Any] = {
    "a line": LogisticRegression(),
    "a forest": RandomForestClassifier(5, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=6, random_state=0),
}


@pytest.mark.parametrize("kind", PIPED)
def test_pipelines(kind: str) -> None:
    table, labels = rare()
    made = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["kind"]))
    model = pipeline.make_pipeline(made, sampling.RandomOverSampler(random_state=0), PIPED[kind])
    model.fit(table, labels)
    frame = drawn(table)
    agree(model, FeatureSpace.infer(table), frame, model.predict(frame))


def test_explanations_are_proved() -> None:
    table, labels = rare()
    numbers = table[["a", "b"]]
    model = pipeline.make_pipeline(sampling.SMOTE(random_state=0), PIPED["a forest"])
    compiled = cfxc.compile(model.fit(numbers, labels), FeatureSpace.infer(numbers))
    for place in np.flatnonzero(model.predict(numbers) == "usual")[:5]:
        result = compiled.explain(numbers.iloc[[place]], target="rare", time_limit=60)
        assert result.status == "optimal"
        assert model.predict(result.counterfactual)[0] == "rare"
        assert result.certificate is not None
        assert cfxc.check(result.certificate).ok


@pytest.mark.parametrize(
    "name",
    [
        "BalancedBaggingClassifier",
        "BalancedRandomForestClassifier",
        "EasyEnsembleClassifier",
        "RUSBoostClassifier",
    ],
)
def test_ensembles(name: str) -> None:
    table, labels = rare()
    numbers = table[["a", "b"]]
    model = getattr(ensemble, name)(n_estimators=4, random_state=0).fit(numbers, labels)
    frame = drawn(numbers)
    agree(model, FeatureSpace.infer(numbers), frame, model.predict(frame))


def test_other_steps_are_still_refused() -> None:
    table, labels = rare()
    numbers = table[["a", "b"]]

    class Own(StandardScaler):  # type: ignore[misc]
        pass

    model = pipeline.make_pipeline(Own(), sampling.SMOTE(random_state=0), LogisticRegression())
    with pytest.raises(UnsupportedError, match=r"\(Own\): is a subclass of StandardScaler"):
        cfxc.compile(model.fit(numbers, labels), FeatureSpace.infer(numbers))
