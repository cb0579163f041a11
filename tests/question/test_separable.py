"""Users' distances that are mixes of norms: box search and certificates take them as well."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier

import cfxc
from cfxc.ir import evaluate
from cfxc.question.distances import recognised, resolve_distance

GRID = pd.DataFrame(list(product(range(5), range(4), range(6))), columns=list("abc"))
MODEL = GradientBoostingClassifier(n_estimators=8, random_state=0)
X = GRID.sample(90, random_state=1)
MODEL.fit(X, (X.a + 2 * X.b + X.c > 8).astype(int))
SPACE = cfxc.FeatureSpace.infer(GRID)
MIXES = {
    "sum": "return 2 * delta[1] + delta[2] / 3 + 0.5 * delta[3]",
    "some": "return 3 * (delta[1] + 2 * delta[3]) - delta[1]",
    "loop": "d := 0; for j = 1..J do { d := d + j * delta[j] }; return d",
    "count": "return 2 * delta[1] + delta[3] + ite(delta[1] > 0, 4, 0) + ite(0 < delta[3], 2, 0)",
    "only count": "return ite(delta[1] > 0, 1, 0) + ite(delta[2] > 0, 5, 0)",
    "largest": "return max(max(delta[1], 2 * delta[2]), delta[3])",
    "both": "return max(0, max(delta[1], 2 * delta[2])) / 2 + 3 * delta[1] + 6 * delta[2]",
}
OTHERS = {
    "square": "return delta[1] * delta[1] + delta[2]",
    "of a value": "return delta[1] + abs(x.a - factual.a)",
    "other weights": "return delta[1] + ite(delta[1] > 0, 1, 0) + ite(delta[2] > 0, 1, 0)",
    "a constant": "return delta[1] + 1",
    "less": "return 2 - ite(delta[1] > 0, 1, 0)",
    "branch": "if delta[1] > 1/2 then return 1 else return delta[1]",
    "maxima": "return max(delta[1], delta[2]) + max(delta[2], delta[3])",
    "of sums": "return max(delta[1] + delta[2], delta[3])",
    "least": "return min(delta[1], delta[2]) + delta[3]",
    "beyond": "return max(delta[1], 1/2) + delta[2]",
}


@pytest.mark.parametrize("text", MIXES.values(), ids=MIXES)
def test_it_is_the_user_s_distance(text: str) -> None:
    """On every corner and some points within, times its scale, in exact numbers."""
    asked = resolve_distance(text, SPACE)
    found, space = recognised(asked, SPACE)
    assert found.norms is not None
    assert found.name == asked.name
    rng = np.random.default_rng(0)
    points = [*product((0, 1), repeat=3), *rng.integers(0, 5, (60, 3)).tolist()]
    for point in points:
        deltas = {f"delta.{j}": Fraction(int(d), 4) for j, d in enumerate(point, start=1)}
        (theirs,) = evaluate(asked.program, deltas).values()
        (ours,) = evaluate(found.program, deltas).values()
        assert found.root(Fraction(ours), 1) == theirs
    assert [space[n].range for n in "abc"] == [SPACE[n].range for n in "abc"]


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_is_no_mix(text: str) -> None:
    asked = resolve_distance(text, SPACE)
    assert recognised(asked, SPACE) == (asked, SPACE)


@pytest.mark.parametrize("text", MIXES.values(), ids=MIXES)
def test_boxes_and_certificates(text: str) -> None:
    """Beside enumeration, by box search, with a certificate that the checker takes."""
    model = cfxc.compile(MODEL, SPACE)
    good = GRID[MODEL.predict(GRID) == 1]
    program = resolve_distance(text, SPACE).program
    for i in (0, 7):
        row = X[MODEL.predict(X) == 0].iloc[[i]]
        own = row.iloc[0]

        def away(other: Any, own: Any = own) -> float:
            deltas = {
                f"delta.{j}": Fraction(abs(int(other[n] - own[n]))) / SPACE[n].range
                for j, n in enumerate("abc", start=1)
            }
            return float(next(iter(evaluate(program, deltas).values())))

        best = min(away(other) for _, other in good.iterrows())
        result = model.explain(row, target=1, distance=text, method="box")
        assert result.status == "optimal"
        assert best - 1e-9 <= result.distance <= best * 1.001 + 1e-9
        assert result.lower_bound <= best + 1e-9
        assert away(result.counterfactual.iloc[0]) == pytest.approx(result.distance)
        assert cfxc.check(result.certificate).ok
        assert model.explain(row, target=1, distance=text, method="smt").status == "optimal"
