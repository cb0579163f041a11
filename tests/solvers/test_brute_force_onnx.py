"""Models from ONNX files against onnxruntime on every point of a small grid."""

from __future__ import annotations

import warnings
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cfxc
from cfxc import FeatureSpace
from cfxc.space import Feature
from tests.frontends.onnx.support import export
from tests.solvers.grids import NORMS, brute_force, norm, sampled
from tests.solvers.kinds import EPSILON, check, task

F = Fraction

#: Doubles that float32 rounds: 0.1, 0.2 … are inputs of a graph of floats.
SPACE = FeatureSpace(
    (
        Feature("a", "real", lower=0.1, upper=0.9, resolution="0.1"),
        Feature("b", "real", lower=F(-2), upper=F(2), resolution="0.5"),
        Feature("c", "real", lower=F(0), upper=F(5), resolution=1),
    )
)
MODELS: dict[str, tuple[Any, bool]] = {
    "forest": (RandomForestClassifier(7, max_depth=4, random_state=0), False),
    "forest of 3": (RandomForestClassifier(6, max_depth=4, random_state=0), True),
    "forest for numbers": (RandomForestRegressor(4, max_depth=3, random_state=0), False),
    "logistic": (make_pipeline(StandardScaler(), LogisticRegression()), False),
    "relu": (
        MLPClassifier((4,), solver="lbfgs", max_iter=50, random_state=2), False
    ),
}  # fmt: skip


@lru_cache
def converted(kind: str) -> tuple[cfxc.CompiledModel, str]:
    estimator, three = MODELS[kind]
    points, table = sampled(SPACE, 200, seed=3)
    worth = np.array([4 * float(p["a"]) + abs(float(p["b"])) + 0.5 * float(p["c"]) for p in points])
    worth += np.random.default_rng(0).normal(0, 0.2, len(worth))
    quantiles = np.quantile(worth, [1 / 3, 2 / 3] if three else [0.5])
    y = worth if "numbers" in kind else np.digitize(worth, quantiles)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(table.to_numpy(), y)
    options = {} if "numbers" in kind else {"zipmap": False}
    model = export(estimator, table, "float", **options)
    return cfxc.compile(model, SPACE), "value" if "numbers" in kind else "two"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("distance", NORMS)
@pytest.mark.parametrize("kind", MODELS)
def test_converted_models(kind: str, distance: str) -> None:
    compiled, outcome = converted(kind)
    metric = norm(SPACE, *NORMS[distance])
    for seed in (1, 2):
        asked = task(compiled, SPACE, outcome, seed)
        best = brute_force(SPACE, asked.own, compiled.predict, asked.wanted, metric)
        assert best
        answer = compiled.explain(
            asked.row, target=asked.target, distance=distance, epsilon=EPSILON, solver="z3"
        )
        check(answer, compiled, SPACE, asked, best, metric)
