"""Small questions of every sort, with their certificates."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, VotingRegressor
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

import cfxc
from cfxc import FeatureSpace
from cfxc.space import Feature

SPACE = FeatureSpace(
    (
        Feature("kids", "integer", lower=0, upper=4),
        Feature("rate", "real", lower=-1.0, upper=1.0, resolution="0.25"),
        Feature("code", "categorical", labels=("a", "b", "c")),
        Feature("level", "ordinal", labels=("low", "mid", "high"), action="increase"),
    )
)
LEVELS = ("low", "mid", "high")


def grid() -> pd.DataFrame:
    rows = product(range(5), np.arange(-1, 1.25, 0.25), "abc", LEVELS)
    table = pd.DataFrame(list(rows), columns=["kids", "rate", "code", "level"])
    return table.astype({"kids": "int64"})


def fitted(model: Any, *, values: bool = False) -> Any:
    table, rng = grid(), np.random.default_rng(3)
    score = table["kids"] * 0.4 + table["rate"] + (table["code"] == "b") - 0.6
    score += 0.5 * (table["level"] == "high") + rng.normal(scale=0.4, size=len(table))
    encoder = ColumnTransformer(
        [("names", OneHotEncoder(sparse_output=False), ["code", "level"])], remainder="passthrough"
    )
    return make_pipeline(encoder, clone(model)).fit(
        table, score if values else (score > 1).astype(int)
    )


SAMPLES: dict[str, tuple[Any, dict[str, Any]]] = {
    "forest": (RandomForestClassifier(4, max_depth=3, random_state=0), {"target": 1}),
    "boosting l2": (
        GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0),
        {"target": 1, "distance": "l2"},
    ),
    "l2 and penalty": (
        GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=1),
        {"target": 1, "distance": "l2", "change_penalty": 0.1},
    ),
    "constraints": (
        RandomForestClassifier(3, max_depth=3, random_state=1),
        {
            "target": 1,
            "distance": {"l0": 0.5, "linf": 0.5},
            "subject_to": ['x.kids + x.rate <= 2 || x.code == "c"', "x.code != factual.code"],
        },
    ),
    "network": (
        MLPClassifier((3,), alpha=1e-3, max_iter=800, random_state=0),
        {"target": 1, "epsilon": 1e-4},
    ),
    "range": (
        VotingRegressor(
            [("tree", DecisionTreeRegressor(max_depth=3, random_state=0)), ("line", Ridge())]
        ),
        {"target": (1.6, 2.2), "distance": "linf"},
    ),
    "float": (
        RandomForestClassifier(4, max_depth=2, random_state=2),
        {"target": 1, "semantics": "float", "distance": "l1"},
    ),
    "infeasible": (
        RandomForestClassifier(3, max_depth=2, random_state=0),
        {"target": 1, "subject_to": ["x.kids <= 1", "x.rate <= -0.5"]},
    ),
}


@lru_cache(maxsize=8)
def answered(name: str) -> cfxc.Result:
    """The answer for somebody to whom the model says no."""
    model, question = SAMPLES[name]
    values = not hasattr(model, "predict_proba") and "line" in str(model)
    made = fitted(model, values=values)
    table = grid()
    outcome = np.asarray(made.predict(table), dtype=float)
    low = table[(outcome < 0.3) & (table["level"] == "low")]
    row = low.iloc[[0]]
    return cfxc.compile(made, SPACE).explain(row, **{"epsilon": 1e-3, **question})


__all__ = ["SAMPLES", "SPACE", "answered", "fitted", "grid"]
