"""Certificates of answers to a probability: behind cut-offs, and of several labels."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

import cfxc
from cfxc import Feature, FeatureSpace
from cfxc.certificates import checker
from cfxc.solvers.certification import require_program_of

SPACE = FeatureSpace(
    (
        Feature("a", "integer", lower=0, upper=8),
        Feature("b", "real", lower=-2, upper=2, resolution="0.5"),
        Feature("c", "integer", lower=0, upper=4),
    )
)
GRID = pd.DataFrame(product(range(9), np.arange(-2, 2.5, 0.5), range(5)), columns=list("abc"))
NOISE = np.random.default_rng(0).normal(0, 1.5, len(GRID))
WORTH = GRID["a"] * 0.6 + GRID["b"] * 1.5 - GRID["c"] + NOISE
YES = np.where(WORTH > 1, "yes", "no")
MODELS: dict[str, tuple[Any, Any]] = {
    "low": (FixedThresholdClassifier(LogisticRegression(), threshold=0.3, pos_label="yes"), YES),
    "first": (FixedThresholdClassifier(LogisticRegression(), threshold=0.7, pos_label="no"), YES),
    "tuned": (TunedThresholdClassifierCV(LogisticRegression(), cv=2), WORTH > 1),
    "forest": (
        FixedThresholdClassifier(
            RandomForestClassifier(7, max_depth=3, random_state=0), threshold=0.35, pos_label="yes"
        ),
        YES,
    ),
    "boosting": (
        FixedThresholdClassifier(
            GradientBoostingClassifier(n_estimators=5, random_state=0),
            threshold=0.45, pos_label="yes",
        ),
        YES,
    ),
    "three": (LogisticRegression(), np.digitize(WORTH, [0, 3])),
}  # fmt: skip


@pytest.mark.parametrize("chance", [0.4, 0.6])
@pytest.mark.parametrize("name", MODELS)
def test_they_claim_what_is_so_of_every_row(name: str, chance: float) -> None:
    estimator, labels = MODELS[name]
    model = clone(estimator).fit(GRID, labels)
    compiled = cfxc.compile(model, SPACE)
    for place, target in enumerate(model.classes_.tolist()[:2]):
        said, sure = model.predict(GRID), model.predict_proba(GRID)[:, place]
        row = GRID[said != target].iloc[[5]]
        fits = GRID[(said == target) & (sure >= chance)]
        away = ((fits - row.iloc[0]).abs() / [8, 4, 4]).sum(axis=1) / 3
        answer = compiled.explain(row, target=target, subject_to=[cfxc.Probability(chance)])
        content = answer.certificate.to_dict()
        shown = checker.check(content)
        require_program_of(content, compiled)
        if fits.empty:
            assert shown.status == "infeasible"
            continue
        assert shown.status == "optimal"
        assert shown.distance is not None
        assert float(shown.distance) == pytest.approx(away.min(), rel=1.1e-3)
        assert float(shown.bound) <= away.min() + 1e-12


def test_it_is_a_condition_on_the_score() -> None:
    """As long as it is printed in full, so that a policy can name it."""
    estimator, labels = MODELS["low"]
    plain = clone(estimator).fit(GRID, labels)
    model = cfxc.compile(plain, SPACE)
    row = GRID[model.predict(GRID) == "no"].iloc[[5]]
    content = model.explain(
        row, target="yes", subject_to=[cfxc.Probability(0.8)]
    ).certificate.to_dict()
    (text,) = cfxc.check(content).facts["constraints"]
    assert ">= " in text
    assert "about " not in text
    ((kind, form),) = content["question"]["constraints"]
    factors = {tuple(source): checker.number(factor) for source, factor in form}
    value = float(factors["one", 0]) + sum(
        float(factors["x", j]) * GRID[name] for j, name in enumerate("abc")
    )
    assert kind == "ge"
    assert ((value >= 0) == (plain.predict_proba(GRID)[:, 1] >= 0.8)).all()


def test_floats_refuse_it_by_name() -> None:
    """A constraint has no slack for what sums of shares lose."""
    estimator, labels = MODELS["forest"]
    model = cfxc.compile(clone(estimator).fit(GRID, labels), SPACE)
    row = GRID[model.predict(GRID) == "yes"].iloc[[5]]
    asked = {"target": "no", "subject_to": [cfxc.Probability(0.8)], "semantics": "float"}
    with pytest.raises(cfxc.UnsupportedError, match="in floats; ask with semantics='real'"):
        model.explain(row, **asked).certificate.to_dict()
