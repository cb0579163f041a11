"""Cut-offs of probabilities, as scorecards have them: short proofs, quickly, whatever the model."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import cfxc
from cfxc import stopping
from cfxc.certificates import checker
from cfxc.certificates.checker.smooth import CURVES, value
from cfxc.solvers.certification import curves, prover, steps

F = Fraction
RNG = np.random.default_rng(3)
KINDS = 13
NUMBERS = ["duration", "amount", "rate", "age"]
PEOPLE = pd.DataFrame(
    {
        "duration": RNG.integers(4, 73, 400),
        "amount": RNG.integers(250, 18000, 400),
        "rate": RNG.integers(1, 5, 400),
        "age": RNG.integers(19, 75, 400),
        **{
            f"kind {i}": RNG.choice([f"k{n}" for n in range(2 + i // 2)], 400) for i in range(KINDS)
        },
    }
)
SCORE = (
    PEOPLE["age"] / 20 - PEOPLE["duration"] / 15 - PEOPLE["amount"] / 6000
    + sum(0.4 * PEOPLE[f"kind {i}"].str[1:].astype(int) for i in range(KINDS))
    + RNG.normal(0, 1.5, 400)
)  # fmt: skip
PAID = (SCORE.median() < SCORE).astype(int)


def cut(estimator: Any, threshold: float) -> Any:
    """A pipeline with a cut-off, fitted."""
    columns = make_column_transformer(
        (StandardScaler(), NUMBERS), (OneHotEncoder(), [f"kind {i}" for i in range(KINDS)]),
        sparse_threshold=0,
    )  # fmt: skip
    model = FixedThresholdClassifier(make_pipeline(columns, estimator), threshold=threshold)
    return model.fit(PEOPLE, PAID)


def refused(model: Any) -> pd.DataFrame:
    """Of those without the outcome, the ones that are farthest from it."""
    chances = model.predict_proba(PEOPLE)[:, 1]
    return PEOPLE.iloc[np.argsort(chances)[[0, 40]]]


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("far", [0, 25])
def test_a_scorecard_with_a_cut_has_a_proof_like_one_without(target: int, far: int) -> None:
    """Once its search splits where the chance is met, the rest is a linear model's."""
    model = cut(LogisticRegression(), 0.8 if target else 0.2)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(PEOPLE))
    chances = model.predict_proba(PEOPLE)[:, 1]
    row = PEOPLE.iloc[[int(np.argsort(chances)[far if target else -1 - far])]]
    found = compiled.explain(row, target=target).certificate
    shown = checker.check(found.to_dict())
    assert shown.status == "optimal"
    nodes = found.to_dict()["proof"]["nodes"]
    assert [node[0] for node in nodes].count("at") == 1
    assert len(nodes) < 100


@pytest.fixture(params=["boosting", "histograms", "xgboost", "lightgbm"])
def booster(request: pytest.FixtureRequest) -> Any:
    if request.param == "boosting":
        return GradientBoostingClassifier(n_estimators=25, random_state=0)
    if request.param == "histograms":
        return HistGradientBoostingClassifier(max_iter=25, max_leaf_nodes=8)
    name = {"xgboost": "XGBClassifier", "lightgbm": "LGBMClassifier"}[request.param]
    made = getattr(pytest.importorskip(request.param), name)
    return made(n_estimators=25, max_depth=3)


@pytest.mark.parametrize("semantics", ["auto", "float"])
def test_boosters_with_a_cut_keep_the_proof_of_their_search(
    booster: Any, semantics: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where trees share what a leaf costs; or box search makes it again, with more slack."""
    monkeypatch.setattr(steps, "prove", lambda *given: pytest.fail("proved by linear programs"))
    model = cut(booster, 0.7)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(PEOPLE))
    for place in range(2):
        row = refused(model).iloc[[place]]
        answer = compiled.explain(row, target=1, semantics=semantics)
        assert answer.status == "optimal"
        certificate = answer.certificate.to_dict()
        assert checker.check(certificate).bound > 0
        assert cfxc.check(certificate, model=model, factual=row).ok


def test_a_margin_of_a_chance_is_called_no_log_odds() -> None:
    compiled = cfxc.compile(cut(LogisticRegression(), 0.7), cfxc.FeatureSpace.infer(PEOPLE))
    row = PEOPLE[compiled.predict(PEOPLE) == 0].iloc[[0]]
    made = compiled.explain(row, target=1, subject_to=[cfxc.Margin(0.05)]).certificate
    assert cfxc.check(made).facts["target"] == "1, by a margin of 0.05"


@pytest.mark.parametrize("target", [(0.9, 1.1), (2.5, None), (None, 0.6)])
@pytest.mark.parametrize("kind", ["linear", "trees"])
def test_both_ends_of_an_exponential(kind: str, target: Any) -> None:
    made = (
        PoissonRegressor()
        if kind == "linear"
        else HistGradientBoostingRegressor(loss="poisson", max_iter=10, max_leaf_nodes=5)
    )
    counts = np.random.default_rng(0).poisson(np.exp((SCORE - SCORE.mean()) / 4))
    numbers = PEOPLE[NUMBERS]
    model = make_pipeline(StandardScaler(), made).fit(numbers, counts)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(numbers))
    said = model.predict(numbers)
    inside = (said >= (target[0] or 0)) & (said <= (target[1] or np.inf))
    for place in np.flatnonzero(~inside)[:3]:
        answer = compiled.explain(numbers.iloc[[place]], target=target)
        certificate = answer.certificate.to_dict()
        shown = checker.check(certificate)
        assert shown.status == answer.status
        best = np.inf if answer.distance is None else answer.distance
        away = ((numbers[inside] - numbers.iloc[place]).abs() / np.ptp(numbers, axis=0)).sum(axis=1)
        assert float(shown.bound) <= min(best, away.min() / len(NUMBERS)) + 1e-12


@pytest.mark.parametrize("kind", CURVES)
@pytest.mark.parametrize("factor", [F(1), F(-2, 3)])
def test_the_place_beside_a_crossing(kind: str, factor: Fraction) -> None:
    """On its side the checker's own bounds miss; one hair farther they do not."""
    for z in (F(-3, 7), F(1, 3), F(17, 5)):
        constant = -factor * value(kind, z, up=False)
        place = curves.crossing(kind, factor, constant, F(-5), F(6))
        assert place is not None
        assert abs(place - z) <= 1e-14
        assert factor * value(kind, place, factor > 0) + constant < 0
        beyond = place + (1 if factor > 0 else -1) * F(1, 10**13)
        assert factor * value(kind, beyond, factor > 0) + constant > 0
    for low, high in ((F(1), F(2)), (F(-2), F(-1)), (F(0), F(0))):  # it lies elsewhere, or nowhere
        constant = -factor * value(kind, F(1, 2) if low == high else 3 * high, up=False)
        assert curves.crossing(kind, factor, constant, low, high) is None


def test_proofs_end_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a part, too: the checker's arithmetic looks at the clock."""
    monkeypatch.setattr(prover, "turns", lambda *given: iter(()))
    model = cut(LogisticRegression(), 0.8)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(PEOPLE))
    answer = compiled.explain(refused(model)[:1], target=1)
    started = stopping.now()
    with stopping.until(started + 0.5), pytest.raises(stopping.TimeUp):
        print(answer.certificate)
    assert stopping.now() - started < 2  # it would take more than a minute


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
def test_calibration_in_floats_has_certificates(method: str) -> None:
    """With the slack that the checker derives, which is more than what the search allowed for."""
    base = GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0)
    model = CalibratedClassifierCV(base, method=method, cv=2).fit(PEOPLE[NUMBERS], PAID)
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(PEOPLE[NUMBERS]))
    rows = PEOPLE[NUMBERS][model.predict(PEOPLE[NUMBERS]) == 0]
    for place in (0, 30):
        answer = compiled.explain(rows.iloc[[place]], target=1, semantics="float")
        assert answer.status == "optimal"
        assert cfxc.check(answer.certificate, model=model).ok


def test_what_says_not_where_to_split_is_split() -> None:
    """A network's solution with nothing wrong beyond its tolerance, and labels that are left."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "a": rng.integers(0, 6, 200),
            "b": rng.integers(0, 6, 200),
            "c": rng.choice(["u", "v", "w"], 200),
        }
    )
    worth = table["a"] - table["b"] + 2 * (table["c"] == "u") + rng.normal(0, 1, 200)
    goal = (worth > 1).astype(int)
    columns = make_column_transformer(
        (OneHotEncoder(), ["c"]), remainder="passthrough", sparse_threshold=0
    )
    asked = 0
    for seed in range(3):
        network = MLPClassifier((4,), max_iter=800, random_state=seed)
        model = make_pipeline(columns, network).fit(table, goal)
        compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(table))
        for row in (table.iloc[[place]] for place in np.flatnonzero(model.predict(table) == 0)[:3]):
            for chance in (0.75, 0.9999):
                conditions = [cfxc.Probability(chance), "a >= factual.a"]
                answer = compiled.explain(row, target=1, subject_to=conditions, time_limit=20)
                if answer.status in ("optimal", "infeasible"):
                    asked += 1
                    assert cfxc.check(answer.certificate).ok
    assert asked > 10
