"""``favourable=``: the outcome people want; whoever has it is told so, targets default to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression

import cfxc
from cfxc.methods.plans import Moments, local_linear, robust

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.integers(0, 9, (200, 3)), columns=list("abc"))
OUTCOME = np.where(TABLE.a + TABLE.b > 8, "good", "bad")
SPACE = cfxc.FeatureSpace.infer(TABLE)
FOREST = RandomForestClassifier(10, max_depth=4, random_state=0).fit(TABLE, OUTCOME)
LINE = LogisticRegression().fit(TABLE, OUTCOME)
WANTED = cfxc.compile(FOREST, SPACE, favourable="good")
PLAIN = cfxc.compile(FOREST, SPACE)
GOOD, BAD = (TABLE[FOREST.predict(TABLE) == label].iloc[[0]] for label in ("good", "bad"))


@pytest.mark.parametrize("model", [FOREST, LINE], ids=["forest", "linear"])
def test_whoever_has_it_is_told_so(model: Any) -> None:
    compiled = cfxc.compile(model, SPACE, favourable="good")
    person = TABLE[model.predict(TABLE) == "good"].iloc[[0]]
    answer = compiled.explain(person, count=3)
    assert (answer.status, answer.unchanged, answer.distance) == ("optimal", True, 0.0)
    assert answer.counterfactual is not None
    pd.testing.assert_frame_equal(answer.counterfactual, person)
    assert (answer.changes, answer.lower_bound, answer.gap) == ({}, 0.0, 0.0)
    assert answer.outcome_before == answer.outcome_after == "good"
    assert answer.reason == "already has the target outcome"
    said = "unchanged: already has the target outcome 'good', nothing needs to change"
    assert answer.summary() == said
    assert said.replace("'", "&#x27;") in answer._repr_html_() or said in answer._repr_html_()
    assert answer.to_dict()["unchanged"] is True
    with pytest.raises(cfxc.UnsupportedError, match="no certificate: it already has"):
        _ = answer.certificate


def test_whoever_lacks_it_is_asked_about_it() -> None:
    answer = WANTED.explain(BAD)
    named = PLAIN.explain(BAD, target="good")
    assert (answer.target_values, answer.unchanged, answer.by_default) == (("good",), False, False)
    assert (answer.distance, answer.summary()) == (named.distance, named.summary())


def test_a_target_that_is_named_counts() -> None:
    assert WANTED.explain(GOOD, target="bad").outcome_after == "bad"
    with pytest.raises(cfxc.NoChangeNeededError, match="it needs no change"):
        WANTED.explain(GOOD, target="good")
    with pytest.raises(cfxc.NoChangeNeededError):
        PLAIN.explain(GOOD, target="good")


def test_without_either_the_answer_says_what_was_asked() -> None:
    answer = PLAIN.explain(GOOD)
    assert answer.outcome_after == "bad"
    assert answer.summary().endswith("; from 'good' to 'bad', as no target was named")
    assert answer.to_dict()["by_default"] is True
    assert "no target was named" not in PLAIN.explain(BAD, target="good").summary()
    fixed = cfxc.FeatureSpace.infer(TABLE, fixed=["a", "b", "c"])
    none = cfxc.compile(FOREST, fixed).explain(BAD)
    assert none.status == "infeasible"
    assert "from 'bad' to 'good'" in none.summary()


@pytest.mark.parametrize("asked", [{}, {"target": "good"}], ids=["favourable", "named"])
def test_a_batch_calls_them_unchanged(asked: dict[str, Any]) -> None:
    people = TABLE.iloc[:20]
    table = (PLAIN if asked else WANTED).explain_batch(people, **asked)
    had = FOREST.predict(people) == "good"
    assert 0 < had.sum() < 20
    assert ((table.status == "unchanged") == had).all()
    assert set(table.status[~had]) == {"optimal"}
    assert (table.distance[had] == 0).all()
    assert (table.reason[had] == "").all()
    assert (table.changes[had] == "").all()
    for name in people.columns:
        assert (table[f"counterfactual.{name}"][had] == people[name][had]).all()


def test_a_batch_of_people_who_all_have_it() -> None:
    people = TABLE[FOREST.predict(TABLE) == "good"].iloc[:5]
    assert set(WANTED.explain_batch(people).status) == {"unchanged"}


def test_an_unknown_one_is_refused_at_once() -> None:
    with pytest.raises(cfxc.InvalidInputError, match=r"favourable: target 'god' is no outcome"):
        cfxc.compile(FOREST, SPACE, favourable="god")


def test_a_range_of_a_regressor() -> None:
    numbers = RandomForestRegressor(5, max_depth=4, random_state=0).fit(TABLE, TABLE.a * 2.0)
    model = cfxc.compile(numbers, SPACE, favourable=(9, None))
    assert model.favourable == (9, None)
    values = numbers.predict(TABLE)
    assert model.explain(TABLE[values > 10].iloc[[0]]).unchanged
    low = model.explain(TABLE[values < 5].iloc[[0]])
    assert (low.status, low.unchanged, low.target_values) == ("optimal", False, (9.0, None))
    with pytest.raises(cfxc.InvalidInputError, match="favourable: "):
        cfxc.compile(numbers, SPACE, favourable="high")


def test_where_the_deployed_model_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact program alone gives nobody the target outcome."""
    model = cfxc.compile(FOREST, SPACE, favourable="good")
    said = {"predict": lambda self, rows: np.array(["bad"] * len(rows)), "adds_singles": False}
    refuses = type("Refuses", (), said)
    wrapped = refuses()
    wrapped.probabilities, wrapped.classes = model.predictor.probabilities, ("bad", "good")
    object.__setattr__(model, "predictor", wrapped)
    with pytest.raises(cfxc.InvalidInputError, match="deployed model says 'bad'"):
        model.explain(GOOD, semantics="real")


def test_with_a_margin_the_outcome_alone_is_not_enough() -> None:
    votes = FOREST.predict_proba(TABLE)[:, 1]
    close = TABLE[(votes > 0.5) & (votes < 0.7)].iloc[[0]]
    assert WANTED.explain(close).unchanged
    assert not WANTED.explain(close, subject_to=[cfxc.Margin(0.6)]).unchanged
    assert WANTED.explain(TABLE[votes > 0.9].iloc[[0]], subject_to=[cfxc.Margin(0.6)]).unchanged


def test_plans_and_local_models_default_to_it() -> None:
    line = cfxc.compile(LINE, SPACE, favourable="good")
    person = TABLE[LINE.predict(TABLE) == "good"].iloc[[0]]
    assert local_linear(line, person).target.label == "good"
    assert local_linear(cfxc.compile(LINE, SPACE), person).target.label == "bad"
    found = robust(line, TABLE[LINE.predict(TABLE) == "bad"].iloc[[0]], [line])
    assert set(line.predict(found.members[0].row)) == {"good"}


def test_a_plan_for_whoever_has_it_is_refused() -> None:
    pytest.importorskip("cvxpy")
    line = cfxc.compile(LINE, SPACE, favourable="good")
    person = TABLE[LINE.predict(TABLE) == "good"].iloc[[0]]
    mean = np.append(LINE.coef_[0] * 8, LINE.intercept_[0])
    moments = Moments.given(mean, np.eye(4) * 1e-2)
    with pytest.raises(
        cfxc.NoChangeNeededError, match=r"already has the outcome that is asked for \('good'"
    ):
        line.plan(person, moments=moments, size=1)


def test_generators_learn_and_draw_for_it() -> None:
    pytest.importorskip("torch")
    made = cfxc.Generator(WANTED, epochs=2, random_state=0).fit(TABLE)
    assert made.targets == ("good",)
    two = cfxc.Generator(WANTED, epochs=2, random_state=0).fit(TABLE, ["bad", "good"])
    two.generate(pd.concat([GOOD, BAD]), n=3, time_limit=5)
    report = two.last_report
    assert report is not None
    assert report["status"].iloc[0] == "in target"
    assert report["status"].iloc[1] != "in target"
