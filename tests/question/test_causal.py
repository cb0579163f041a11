"""Structural causal models: what is refused, what follows, and in which order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

import cfxc
from cfxc.ir import evaluate
from cfxc.question.criteria.causal import effects_of
from cfxc.question.domain import domain_of

X = pd.DataFrame(
    {
        "duration": [1, 2, 3, 4, 9],
        "amount": [10, 20, 30, 40, 90],
        "rate": [0.5, 1.25, 1.0, 2.0, 1.5],
        "cost": [0.0, 1.0, 2.5, 3.0, 9.0],
        "job": ["a", "b", "a", "c", "b"],
    }
)
SPACE = cfxc.FeatureSpace.infer(X)
PERSON = {"duration": 2, "amount": 25, "rate": Fraction(1), "cost": Fraction(2), "job": "a"}


def effects(equations):
    mechanisms = cfxc.Causal(equations).mechanisms(SPACE)
    domains = [domain_of(feature, PERSON[feature.name]) for feature in SPACE]
    return effects_of(mechanisms, PERSON, domains)


def test_causes_come_before_effects():
    model = cfxc.Causal(
        {"cost": "amount / 10 * rate", "amount": "10 * duration", "rate": "duration / 4"}
    )
    order = [each.name for each in model.mechanisms(SPACE)]
    assert order.index("cost") == 2
    assert sorted(order) == ["amount", "cost", "rate"]


def test_the_noise_of_a_person_stays():
    (effect,) = effects({"amount": "10 * duration"})
    assert effect.own == 5
    assert effect.error == Fraction(1, 2)
    for duration, amount, holds in ((2, 25, True), (3, 35, True), (3, 30, False), (3, 36, False)):
        values = {"duration": duration, "amount": amount}
        assert evaluate(effect.holds, values)["holds"] is holds


def test_halfway_between_two_values_either_will_do():
    (effect,) = effects({"amount": "duration / 2"})
    held = [
        amount
        for amount in range(20, 30)
        if evaluate(effect.holds, {"duration": 3, "amount": amount})["holds"]
    ]
    assert held == [25, 26]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.sampled_from(["7 * duration / 3"]))
def test_rows_follow_the_equation(durations, text):
    (effect,) = effects({"amount": text})
    columns = {"duration": np.array(durations, dtype=np.float64)}
    for duration, amount in zip(durations, effect.follow(columns), strict=True):
        low, high = SPACE["amount"].bounds
        values = {"duration": duration, "amount": int(amount)}
        inside = low < amount < high
        assert not inside or evaluate(effect.holds, values)["holds"]


def test_learned_mechanisms_are_the_regressor():
    regressor = LinearRegression().fit(X[["duration", "rate"]], X["cost"])
    (effect,) = effects({"cost": (regressor, ["duration", "rate"])})
    rows = X[["duration", "rate"]].astype(float)
    expected = 2 + regressor.predict(rows) - regressor.predict(rows.assign(duration=2, rate=1.0))
    columns = {name: rows[name].to_numpy() for name in rows}
    low, high = map(float, SPACE["cost"].bounds)
    found = effect.follow(columns)
    step = SPACE["cost"].resolution
    assert np.abs(found - np.clip(expected, low, high)).max() <= float(step) / 2 + 1e-9


@pytest.mark.parametrize(
    ("equations", "error", "match"),
    [
        ({}, cfxc.DataTypeError, "one at least"),
        ("amount = duration", cfxc.DataTypeError, "one at least"),
        ({"amount": 3}, cfxc.InvalidInputError, "equation as text"),
        ({"amount": (LinearRegression(), "duration")}, cfxc.InvalidInputError, "equation as text"),
        ({"amount": (LinearRegression(), [])}, cfxc.InvalidInputError, "equation as text"),
        ({"amont": "duration"}, cfxc.MissingColumnError, "'amount'"),
        ({"amount": (LinearRegression(), ["duratoin"])}, cfxc.MissingColumnError, "'duration'"),
        ({"amount": "10 * duratoin"}, cfxc.LanguageError, "duration"),
        ({"amount": "10 *"}, cfxc.LanguageError, "causal model, amount"),
        ({"amount": "duration > 3"}, cfxc.InvalidInputError, "no single number"),
        ({"job": "duration"}, cfxc.InvalidInputError, "is a category"),
        ({"amount": "amount + 1"}, cfxc.InvalidInputError, "amount → amount"),
        ({"amount": "10 * cost", "cost": "amount / 10"}, cfxc.InvalidInputError, "from themselves"),
        ({"amount": (LinearRegression(), ["duration"])}, cfxc.CfxcError, "fitted"),
    ],
)
def test_what_is_refused(equations, error, match):
    with pytest.raises(error, match=match):
        cfxc.Causal(equations).mechanisms(SPACE)


def test_it_says_what_it_is():
    model = cfxc.Causal({"amount": "10 * duration", "cost": (LinearRegression(), ["rate"])})
    assert repr(model) == (
        "Causal(amount follows 10 * duration, cost follows LinearRegression(rate))"
    )
