"""Targets far beyond all that a model can give, which machine integers do not hold."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.datasets import make_regression
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

import cfxc


@pytest.mark.parametrize("kind", [RandomForestRegressor, GradientBoostingRegressor])
@pytest.mark.parametrize("far", [1e6, 1e18, 1e19, 1e20, 1e30, 1e299, 1e308])
def test_no_output_is_so_far_away(kind: Any, far: float) -> None:
    X, y = make_regression(60, 3, random_state=0, shuffle=False)
    regressor = kind(n_estimators=5, max_depth=3, random_state=0).fit(X, y)
    table = cfxc.FeatureSpace([cfxc.Feature(f"x{i}", "real", -3, 3) for i in range(3)])
    model = cfxc.compile(regressor, table)
    row = table.decode({f"x{i}": float(X[0, i]) for i in range(3)})
    for target in ((far, None), (None, -far), (far, 1.5 * far if far < 1e308 else None)):
        found = model.explain(row, target=target)
        assert found.status == "infeasible"
        assert cfxc.check(found.certificate).ok
    before = float(regressor.predict(row.to_numpy())[0])
    assert model.explain(row, target=(before + 1, far)).status == "optimal"
    assert model.explain(row, target=(-far, before - 1)).status == "optimal"
