"""Which radii the solver is called with, whatever it says."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import cfxc
from cfxc.question.query import make_query
from cfxc.solvers.base import Limits
from cfxc.solvers.smt import backend
from cfxc.solvers.smt.oracle import Verdict, _Search

F = Fraction


@pytest.fixture
def search() -> _Search:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 5, (60, 4)), columns=list("abcd"))
    fitted = RandomForestClassifier(3, random_state=0).fit(X, X.a + X.b > 4)
    model = cfxc.compile(fitted, cfxc.FeatureSpace.infer(X))
    row = model.space.encode_row(X[~fitted.predict(X)].iloc[[0]])
    query = make_query(model.program, model.space, row, target=True, distance="l0")
    return _Search(query, lambda _: True, Limits(F(1, 1000), 60.0), backend("z3"))


@pytest.mark.parametrize("easy", [1, 2, 3])
def test_under_l0_radii_are_multiples_of_the_grid(
    search: _Search, easy: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solution at one change that no model accepts; radii of ``easy`` changes are too hard."""
    grid, asked = search.query.spacing, list[Fraction]()
    assert grid == F(1, 4)

    def decide(radius: Fraction) -> Verdict:
        asked.append(radius)
        if len(asked) > 20:
            raise AssertionError(asked)
        if radius >= easy * grid and asked.count(radius) == 1 and easy > 1:
            return Verdict.UNKNOWN
        if radius < grid:
            return Verdict.REFUTED
        search.unverified = min(radius, search.unverified or radius)
        return Verdict.UNVERIFIED

    monkeypatch.setattr(search, "_decide", decide)
    search.outcome.best = SimpleNamespace(distance=F(1))  # type: ignore[assignment]
    search._close_gap()
    assert all(radius % grid == 0 for radius in asked)
    assert search.outcome.lower == search.upper == grid
