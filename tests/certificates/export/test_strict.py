"""Strict conditions in VIPR: what must be above a value is not at it, on grids of any step."""

from __future__ import annotations

from fractions import Fraction as Q
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import cfxc
from cfxc import FeatureSpace
from cfxc.certificates.checker import Question
from cfxc.certificates.export.vipr import vipr
from cfxc.certificates.export.vipr.features import Features
from cfxc.certificates.export.vipr.problem import Problem
from cfxc.certificates.export.vipr.ranges import Ranges
from cfxc.space import Feature
from tests.certificates.export.vipr_checker import proved

SPACE = FeatureSpace(
    (
        Feature("a", "real", lower=0.0, upper=3.0, resolution="0.1"),
        Feature("b", "real", lower=0.0, upper=3.0, resolution="0.1"),
        Feature("c", "real", lower=0.0, upper=9.0),
        Feature("fixed", "real", lower=0.0, upper=3.0, resolution="0.1", action="fixed"),
    )
)


@lru_cache
def model() -> tuple[Any, pd.DataFrame]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "a": np.round(rng.integers(0, 31, 300) * 0.1, 10),
            "b": np.round(rng.integers(0, 31, 300) * 0.1, 10),
            "c": rng.uniform(0, 9, 300),
            "fixed": np.round(rng.integers(0, 31, 300) * 0.1, 10),
        }
    )
    fitted = RandomForestClassifier(3, max_depth=2, random_state=0)
    fitted.fit(table, (table["a"] + table["c"] / 3 > 3).astype(int))
    low = table[(fitted.predict(table) == 0) & (table["a"] > 0.5) & (table["b"] > 0.5)]
    return cfxc.compile(fitted, SPACE), low


@lru_cache
def answered(condition: str, distance: str) -> dict[str, Any]:
    compiled, low = model()
    result = compiled.explain(low.iloc[[1]], target=1, distance=distance, subject_to=[condition])
    return dict(result.certificate.to_dict())


@pytest.mark.parametrize("distance", ["l0", "l1", "linf"])
@pytest.mark.parametrize(
    "condition",
    [
        "x.b > factual.b", "x.b < factual.b", "x.b > factual.b - 0.3", "2 * x.b < 1.4",
        "x.c > factual.c", "x.b > x.fixed", "x.b > x.a", "!(x.a >= x.b) || x.b < 0.2",
    ],
)  # fmt: skip
def test_a_strict_condition_keeps_its_bound(condition: str, distance: str) -> None:
    """The nearest value that misses it would be nearer; the file shows the whole claim."""
    certificate = answered(condition, distance)
    text, manifest = vipr(certificate)
    assert manifest["reaches_claim"]
    assert manifest["proved"]["exact"] == str(proved(text)[0])


def ranges() -> Ranges:
    certificate = answered("x.b > factual.b", "l1")
    question = Question(*(certificate[name] for name in ("features", "program", "question")))
    features = Features(Problem(), question, {}, {0, 1, 2, 3})
    return Ranges(question, features.lattice)


def test_the_least_value_above_nothing() -> None:
    """By enumeration of the cells."""
    cells = [Q(k / 10) for k in range(31)]
    found = ranges()
    own = found.question.features[0].own
    above = found.least_above({("x", 0): Q(2), ("one", 0): -2 * own})
    assert above == min(2 * (x - own) for x in cells if x > own)
    below = found.least_above({("x", 0): Q(-1), ("one", 0): Q(1, 3)})
    assert below == min(Q(1, 3) - x for x in cells if x < Q(1, 3))
    apart = found.least_above({("x", 0): Q(1), ("x", 1): Q(-1)})
    assert Q(99, 1000) < apart <= min(x - y for x in cells for y in cells if x > y)
    sums = found.least_above({("x", 0): Q(1), ("x", 1): Q(1), ("one", 0): Q(-7, 20)})
    assert Q(49, 1000) < sums <= min(v for x in cells for y in cells if (v := x + y - Q(7, 20)) > 0)
    assert found.least_above({("x", 0): Q(1), ("one", 0): Q(-99)}) == 1  # never above 0
    tied = {("x", 0): Q(1), ("x", 1): Q(1), ("one", 0): Q(-3, 10)}
    assert found.least_above(tied) == 0  # 0.1 + 0.2 > 0.3, by rounding
    assert found.least_above({("x", 2): Q(1), ("x", 0): Q(1)}) == 0  # no grid


def test_what_cannot_be_kept_is_said() -> None:
    certificate = answered("x.a + x.b > factual.a + factual.b", "l1")
    _, manifest = vipr(certificate)
    assert "constraint: a form that must be above 0 may be 0" in manifest["notes"]
