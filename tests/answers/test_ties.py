"""Who stands where the last bit of a sum decides: what the deployed model says of them counts."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import cfxc

SPACE = cfxc.FeatureSpace((cfxc.Feature("a", "integer", lower=0, upper=9),))
PERSON = pd.DataFrame({"a": [5]})
LARGER, SAME = (0, 4, 5), (5, 3, 1)
"""Sixths of three trees for 1: the exact sum is larger by 3e-17, and the model's is not; it is the
same, and the model's is larger."""


def forest(shares: tuple[int, ...], of: int = 6) -> RandomForestClassifier:
    """Accepts a < 3, refuses a > 7; between them trees give so many of the shares to 1."""
    X = pd.DataFrame({"a": [0] * of + [5] * of + [9] * of})
    made = RandomForestClassifier(len(shares), random_state=0).fit(X, X.a < 3)
    labels = [[1] * of + [1] * n + [0] * (of - n) + [0] * of for n in shares]
    made.estimators_ = [DecisionTreeClassifier(random_state=0).fit(X.values, y) for y in labels]
    made.classes_ = np.array([0, 1])
    return made


def compiled(sixths: tuple[int, ...], **options: Any) -> cfxc.CompiledModel:
    return cfxc.compile(forest(sixths), SPACE, **options)


def test_the_models_differ_from_their_programs() -> None:
    """Or these tests say nothing."""
    assert [forest(sixths).predict(PERSON)[0] for sixths in (LARGER, SAME)] == [0, 1]
    with pytest.raises(cfxc.NoChangeNeededError):
        compiled(LARGER).explain(PERSON, target=1, semantics="real")
    assert compiled(SAME).explain(PERSON, target=1, semantics="real").changes == {"a": (5, 2)}


@pytest.mark.parametrize("asked", ["target", "favourable", "default"])
def test_who_is_refused_by_rounding_gets_an_answer(asked: str) -> None:
    model = compiled(LARGER, favourable=1) if asked == "favourable" else compiled(LARGER)
    named = {"target": 1} if asked == "target" else {}
    answer = model.explain(PERSON, **named)
    assert (answer.outcome_before, answer.outcome_after) == (0, 1)
    assert (answer.changes, answer.unchanged) == ({"a": (5, 2)}, False)
    assert answer.lower_bound <= answer.distance
    table = model.explain_batch(pd.DataFrame({"a": [0, 5, 9]}), **named)
    assert list(table.status == "unchanged") == [asked != "default", False, False]
    assert table.distance[1] == answer.distance


@pytest.mark.parametrize("sixths", [LARGER, SAME])
def test_single_changes_at_a_tie(sixths: tuple[int, ...]) -> None:
    model = compiled(sixths)
    (single,) = model.single_changes(PERSON).singles
    answer = single.answer
    assert answer is not None
    assert answer.outcome_before == model.predict(PERSON)[0] != answer.outcome_after


def test_a_probability_at_a_tie() -> None:
    """One by one and of a batch."""
    model, rule = compiled(LARGER), [cfxc.Probability(0.5)]
    answer = model.explain(PERSON, target=1, subject_to=rule)
    table = model.explain_batch(pd.DataFrame({"a": [0, 5, 9]}), target=1, subject_to=rule)
    assert answer.changes == {"a": (5, 2)}
    assert list(table.status) == ["unchanged", answer.status, "feasible"]  # 7 ties, as 5 does
    assert table.distance[1] == answer.distance


def test_a_probability_is_the_double_that_the_model_gives() -> None:
    """0.6 of one tree is less than 3/5; 0.4, 1 and 1 have a mean below the double 0.8."""
    people = pd.DataFrame({"a": [0, 5, 9]})
    for shares, least, held in ((6,), 0.6, True), ((4, 10, 10), 0.8, False):
        made = forest(shares, 10)
        assert (made.predict_proba(PERSON)[0, 1] >= least) == held
        rule = [cfxc.Probability(least)]
        model = cfxc.compile(made, SPACE, favourable=1)
        answer = model.explain(PERSON, subject_to=rule)
        assert answer.unchanged == held
        assert answer.changes == ({} if held else {"a": (5, 2)})
        table = model.explain_batch(people, target=1, subject_to=rule)
        assert list(table.status == "unchanged") == [True, held, False]
        asking = pytest.raises(cfxc.NoChangeNeededError) if held else nullcontext()
        with asking:
            assert model.explain(PERSON, target=1, subject_to=rule).changes == answer.changes


def test_a_probability_in_single_floats() -> None:
    """The exact one may be less by their rounding; who asks for what the model gives has it."""
    xgboost = pytest.importorskip("xgboost")
    X = pd.DataFrame({"a": np.repeat(range(10), 20)})
    wanted = X.a + np.random.default_rng(0).normal(0, 3, len(X)) > 4
    made = xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(X, wanted)
    model, people = cfxc.compile(made, SPACE), pd.DataFrame({"a": range(10)})
    for place, given in enumerate(made.predict_proba(people)[:, 1].astype(float)):
        if given < 0.5:
            continue
        for least in given, np.nextafter(given, 0), given - 1e-9, np.nextafter(given, 1):
            rule = [cfxc.Probability(float(least))]
            table = model.explain_batch(people, target=1, subject_to=rule)
            assert (table.status[place] == "unchanged") == (given >= least)
            if given >= least:
                with pytest.raises(cfxc.NoChangeNeededError):
                    model.explain(people[place : place + 1], target=1, subject_to=rule)


def test_a_probability_that_the_model_gives_by_rounding() -> None:
    """The exact one is 1/2, of the other label; what the model does not give is still asked for."""
    model = compiled(SAME)
    assert forest(SAME).predict_proba(PERSON)[0, 1] > 0.5
    for chance, status in (0.5, "unchanged"), (0.6, "optimal"):
        rule = [cfxc.Probability(chance)]
        table = model.explain_batch(pd.DataFrame({"a": [0, 5]}), target=1, subject_to=rule)
        assert list(table.status) == ["unchanged", status]
    with pytest.raises(cfxc.NoChangeNeededError, match=r"with probability 0.5"):
        model.explain(PERSON, target=1, subject_to=[cfxc.Probability(0.5)])
    answer = model.explain(PERSON, target=1, subject_to=rule)
    assert answer.changes == {"a": (5, 2)}


@pytest.mark.parametrize("asked", ["target", "favourable", "default"])
def test_who_is_accepted_by_rounding_needs_no_change(asked: str) -> None:
    model = compiled(SAME, favourable=1) if asked == "favourable" else compiled(SAME)
    if asked == "target":
        with pytest.raises(cfxc.NoChangeNeededError, match="it needs no change"):
            model.explain(PERSON, target=1)
    elif asked == "favourable":
        assert model.explain(PERSON).unchanged
    else:
        answer = model.explain(PERSON)
        assert (answer.outcome_before, answer.outcome_after) == (1, 0)
    named = {"target": 1} if asked == "target" else {}
    table = model.explain_batch(pd.DataFrame({"a": [0, 5, 9]}), **named)
    assert list(table.status == "unchanged") == [asked != "default"] * 2 + [False]
    assert table.status.isin(["unchanged", "optimal", "feasible"]).all()
