"""Letters: what they say of numbers, steps, gaps and probabilities is what was proved."""

from __future__ import annotations

import html
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.answers.letters import Letter
from cfxc.answers.result import Result
from cfxc.show.letters.fields import checked
from cfxc.show.letters.words import LANGUAGES, Words, catalogue

pytest.importorskip("jinja2")
pytest.importorskip("babel")


def text_of(result: Result, locale: str = "en") -> str:
    """The words of a letter, without its style."""
    body = Letter("letter.html", locale=locale).page(result, certificate=False)
    words = html.unescape(re.sub("<[^>]*>", " ", body.split("</style>")[1]))
    return re.sub(r"\s+", " ", words)


@pytest.mark.parametrize("locale", LANGUAGES)
def test_steps_and_gaps_that_stay_are_said(locale: str) -> None:
    """A proof of whole steps says nothing of what lies between them."""
    X = pd.DataFrame({"pay": np.linspace(0, 1000, 60), "debt": np.linspace(500, 0, 60)})
    X.loc[::3, "debt"] = np.nan
    tree = DecisionTreeClassifier(max_depth=2).fit(X[["pay"]].assign(debt=0), X["pay"] > 610)
    tree.fit(X, X["pay"] > 610)
    space = cfxc.FeatureSpace.infer(X).replace("pay", resolution=100, label="wage", unit="€")
    row = pd.DataFrame({"pay": [250.0], "debt": [np.nan]})
    result = cfxc.compile(tree, space).explain(row, target=True)
    given = catalogue(locale)["given"]
    text = text_of(result, locale)
    assert result.changes["pay"] == (250.0, 700.0)
    assert given["step"].format(label="wage", step="100\u00a0€").replace("\u00a0", " ") in text
    assert given["missing"].format(labels="debt").replace("\u00a0", " ") in text
    assert catalogue(locale)["size"]["gap"] not in text
    filled = cfxc.compile(tree, space.replace("debt", missing="may fill"))
    filled_in = text_of(filled.explain(row, target=True), locale)
    assert catalogue(locale)["size"]["gap"] in filled_in
    assert given["missing"].split("{")[0] not in filled_in
    plain = space.replace("pay", resolution=None)
    assert given["steps"].split("{")[0] not in text_of(
        cfxc.compile(tree, plain).explain(row.fillna(0.0), target=True), locale
    )


def test_a_probability_is_not_rounded() -> None:
    """That 0.494978 is out of reach does not say that 0.494 is."""
    X = pd.DataFrame({"pay": np.linspace(0, 1, 200)})
    from sklearn.linear_model import LogisticRegression

    regression = LogisticRegression().fit(X, X["pay"] > 0.5)
    space = cfxc.FeatureSpace.infer(X).replace("pay", upper=0.75)
    best = regression.predict_proba(pd.DataFrame({"pay": [0.75]}))[0, 1]
    chance = round(float(best) + 1e-6, 6)
    row = pd.DataFrame({"pay": [0.25]})
    result = cfxc.compile(regression, space).explain(
        row, target=True, subject_to=[cfxc.Probability(chance)]
    )
    assert result.status == "infeasible"
    assert f"at least {100 * chance:.4f}%" in text_of(result)


def test_that_no_other_factor_matters_is_said_of_all_numbers() -> None:
    """No multiple of 100 lies from 310 to 390, where the outcome would be another one."""
    X = pd.DataFrame({"pay": np.linspace(0, 1000, 400), "age": np.arange(400.0)})
    y = X["pay"].between(310, 390)
    tree = DecisionTreeClassifier().fit(X[["pay"]].assign(age=0.0), y)
    space = cfxc.FeatureSpace.infer(X).replace("pay", resolution=100)
    row = pd.DataFrame({"pay": [200.0], "age": [3.0]})
    found = {}
    for step in (100, None):
        asked = cfxc.compile(tree, space.replace("pay", resolution=step))
        found[step] = asked.explain(row, target=True)
    assert found[100].status == "infeasible"
    assert found[100].reasons.ended == "unknown"
    assert found[None].reasons.found


@pytest.mark.parametrize("number", [1e300, -(2.0**70), 5e-324, 0.1 + 0.2])
def test_numbers_have_all_their_digits(number: float) -> None:
    from babel.numbers import parse_decimal

    feature = cfxc.space.Feature("x", "real", lower=-1e301, upper=1e301, format="#,##0.00")
    words = Words("de", [feature], checked({}, "", None), "")
    shown = words.value("x", Fraction(number))
    assert float(parse_decimal(shown, locale="de")) == number


def test_what_stays_is_not_said_to_move_in_no_direction_too() -> None:
    X = pd.DataFrame({"pay": np.linspace(0, 1000, 60), "age": np.arange(60) * 7 % 60})
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, X["pay"] > 610)
    space = cfxc.FeatureSpace.infer(X).replace("age", action="increase")
    asked = cfxc.compile(tree, space).explain(X.iloc[[3]], subject_to="age == factual.age")
    free = cfxc.compile(tree, space).explain(X.iloc[[3]])
    assert "a lower age" in text_of(free)
    assert "a change of age" in text_of(asked)
    assert "a lower age" not in text_of(asked)
