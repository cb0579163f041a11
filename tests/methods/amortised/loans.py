"""Made-up loans with every kind of feature, and models that decide on them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import cfxc

NUMBERS, LABELS = ["age", "amount", "rate", "gain"], ["housing", "job"]
QUICK = {"epochs": 3, "bucket_rows": 40, "learning_rate": 3e-3, "held_out": 0.2}


@lru_cache
def loans(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 70, rows),
            "amount": rng.integers(1, 100, rows) * 100,
            "rate": rng.normal(5, 1, rows).round(2),
            "gain": np.where(rng.random(rows) < 0.8, 0, rng.integers(1, 50, rows)),
            "housing": rng.choice(["own", "rent", "free"], rows),
            "job": rng.choice(["a", "b"], rows),
        }
    )


def outcome(frame: pd.DataFrame) -> Any:
    worth = frame["age"] / 10 - frame["amount"] / 2000 + (frame["housing"] == "own")
    return worth - frame["rate"] / 5 + frame["gain"] / 20


@lru_cache
def compiled(kind: str, classes: int = 2) -> cfxc.CompiledModel:
    X = loans()
    cuts = np.quantile(outcome(X), np.linspace(0, 1, classes + 1)[1:-1])
    y = np.digitize(outcome(X), cuts)
    last = {
        "forest": RandomForestClassifier(8, max_depth=5, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=8, random_state=0),
        "linear": LogisticRegression(),
        "network": MLPClassifier((8,), max_iter=60, random_state=0),
    }[kind]
    encode = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), LABELS))
    space = cfxc.FeatureSpace.infer(X, fixed=["job"], increase=["age"])
    return cfxc.compile(make_pipeline(encode, last).fit(X, y), space)


@lru_cache
def fitted(kind: str, **settings: Any) -> cfxc.Generator:
    return cfxc.Generator(compiled(kind), **(QUICK | settings)).fit(loans())


def refused(model: cfxc.CompiledModel, count: int) -> pd.DataFrame:
    X = loans()
    return X[model.predict(X) == 0].iloc[:count]
