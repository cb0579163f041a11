"""Ranges of boosted exponentials, beside every row that there is."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import cfxc

GRID = pd.DataFrame(product(range(6), range(6)), columns=["a", "b"])
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"a": RNG.integers(0, 6, 150), "b": RNG.integers(0, 6, 150)})
COUNTS = RNG.poisson(np.exp((TABLE["a"] - TABLE["b"]) / 3)) + 1
MODELS: dict[str, Any] = {
    **{
        f"lightgbm {goal}": ("lightgbm", "LGBMRegressor", {"objective": goal, "verbose": -1})
        for goal in ("poisson", "gamma", "tweedie")
    },
    **{
        f"xgboost {goal}": ("xgboost", "XGBRegressor", {"objective": goal})
        for goal in ("count:poisson", "reg:gamma", "reg:tweedie")
    },
}


def fitted(kind: str) -> Any:
    """A small model whose outcome is an exponential."""
    if kind == "histograms":
        return HistGradientBoostingRegressor(loss="poisson", max_iter=5).fit(TABLE, COUNTS)
    library, name, options = MODELS[kind]
    made = getattr(pytest.importorskip(library), name)
    return made(n_estimators=5, max_depth=2, **options).fit(TABLE, COUNTS)


@pytest.mark.parametrize("method", ["auto", "smt", "mio"])
@pytest.mark.parametrize("kind", ["histograms", *MODELS])
def test_the_nearest_in_a_range(kind: str, method: Any) -> None:
    """Below and above 1, where a logit and a logarithm part; vectors of one, and plain numbers."""
    model = fitted(kind)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(TABLE))
    said = model.predict(GRID)
    values = np.unique(said)
    ends = [values[1] * 0.999, float(np.median(said)) * 1.001, values[-1] * 0.999]
    targets = [*((end, None) for end in ends), *((None, end) for end in ends), (0.5, ends[0])]
    asked = 0
    for lower, upper in targets:
        inside = (said >= (lower or 0)) & (said <= (upper or np.inf))
        for place in np.flatnonzero(~inside)[[0, -1]] if (~inside).any() else ():
            answer = compiled.explain(GRID.iloc[[place]], target=(lower, upper), method=method)
            asked += 1
            if not inside.any():
                assert answer.status == "infeasible"
                continue
            away = (GRID[inside] - GRID.iloc[place]).abs().mean(axis=1).min() / 5
            assert answer.status == "optimal"
            assert answer.distance == pytest.approx(away, rel=1.1e-3)
    assert asked > 5
