"""Letters about a linear model of 0 and 1: ranges, weights, causes, shares, truth values."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cfxc
from cfxc.answers.letters import Letter
from cfxc.answers.result import Result
from cfxc.show.letters.fields import checked
from cfxc.show.letters.words import LANGUAGES, Words

from .letter_cases import plain

pytest.importorskip("jinja2")
pytest.importorskip("babel")

ROW = pd.DataFrame({"income": [1167], "used": [0.88], "delay": [28.2], "employed": [False]})
GAP = "\u00a0"


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "income": rng.integers(400, 10600, 400),
            "used": rng.uniform(0, 1, 400).round(2),
            "delay": rng.uniform(0, 60, 400).round(1),
            "employed": rng.random(400) < 0.6,
        }
    )


@pytest.fixture(scope="module")
def space() -> cfxc.FeatureSpace:
    X = people()
    found = cfxc.FeatureSpace.infer(X, resolution={"used": 0.01, "delay": 0.1})
    found = found.replace("income", label="monthly income", unit="€", format="#,##0")
    found = found.replace("used", label="share of credit used", format="0%")
    return found.replace("delay", label="delay", unit="days")


@pytest.fixture(scope="module")
def fitted() -> Any:
    X = people()
    worth = X["income"] / 3000 - 3 * X["used"] - X["delay"] / 40 + X["employed"]
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return model.fit(X, (worth > 0).astype(int))


def letter(result: Result, locale: str = "en", template: str = "plain", **fields: Any) -> str:
    made = Letter("l.html", template, locale, {"contact": "a@b.org", **fields})
    return plain(made.page(result))


def test_the_ranges_that_were_set_are_listed_where_nothing_helps(
    fitted: Any, space: cfxc.FeatureSpace
) -> None:
    narrow = space.replace("income", lower=1167, upper=1168).replace("used", lower=0.88, upper=0.88)
    narrow = narrow.replace("delay", lower=28, upper=29.5)
    model = cfxc.compile(fitted, narrow, favourable=1)
    free = model.explain(ROW)
    text = letter(free)
    ranges = (
        f"monthly income (1,167 to 1,168{GAP}€), share of credit used (88%), "
        f"delay (28 to 29.5{GAP}days), and employed (no or yes)"
    )
    assert f"within the ranges that were set – {ranges} –, would have led to “1”" in text
    assert "these were taken as they are: share of credit used." in text
    assert "is meant" not in text
    fixed = model.explain(ROW, subject_to=["employed == factual.employed"])
    creditor = {"creditor": "A", "action": "B.", "agency": "C", "contact": "D"}
    notice = letter(fixed, template="adverse-action", **creditor)
    both = f"monthly income (1,167 to 1,168{GAP}€) and delay (28 to 29.5{GAP}days)"
    assert f"considered: {both}." in notice
    assert "taken as they are: share of credit used and employed." in notice
    assert notice.count("\nD\n") == 1


def test_few_ranges_are_listed_and_many_are_not(fitted: Any, space: cfxc.FeatureSpace) -> None:
    found = cfxc.compile(fitted, space, favourable=1).explain(ROW)
    assert "were considered: monthly income (" in letter(found)
    X = people().assign(other=np.arange(400))
    more = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, fitted.predict(people()))
    wide = cfxc.FeatureSpace.infer(X, resolution={"used": 0.01, "delay": 0.1})
    many = cfxc.compile(more, wide, favourable=1).explain(ROW.assign(other=3))
    assert "Only values within the ranges that were set were considered." in letter(many)


def test_features_that_count_more_or_less_or_nothing(fitted: Any, space: cfxc.FeatureSpace) -> None:
    weighted = space.replace("income", weight=0).replace("used", weight=2)
    weighted = weighted.replace("delay", weight=0.5)
    text = letter(cfxc.compile(fitted, weighted, favourable=1).explain(ROW))
    assert "A change of monthly income was set to count nothing, however large it is." in text
    said = "share of credit used more than the others; delay less than the others."
    assert f"Some factors count differently, as was set: {said}" in text
    plainly = letter(cfxc.compile(fitted, space, favourable=1).explain(ROW))
    assert "count differently" not in plainly
    assert "count nothing" not in plainly


def test_what_follows_from_other_features_is_said_to(fitted: Any, space: cfxc.FeatureSpace) -> None:
    follows = cfxc.Causal({"delay": "20 * used"})
    model = cfxc.compile(fitted, space, favourable=1)
    text = letter(model.explain(ROW, subject_to=[follows, "used <= 0.5 * factual.used"]))
    assert "delay follows from share of credit used by a rule that the sender can name" in text
    assert "Delay: this change follows from share of credit used." in text
    assert "share of credit used is at most 44%" in text
    alone = letter(model.explain(ROW, subject_to=[follows, "used == factual.used"]))
    assert "follows from share" in alone
    assert "this change follows" not in alone


def test_that_less_may_have_been_enough(fitted: Any, space: cfxc.FeatureSpace) -> None:
    model = cfxc.compile(fitted, space, favourable=1)
    more = model.explain(ROW, subject_to=[cfxc.Probability(0.9)])
    assert "more than “1” alone, for which less may have been enough" in letter(more)
    lead = model.explain(ROW, subject_to=[cfxc.Margin(0.3)])
    assert "“1” with a lead in points of at least 0.3" in letter(lead)
    granted = ROW.assign(income=10400)
    assert model.predict(granted)[0] == 1
    already = model.explain(granted, target=1, subject_to=[cfxc.Probability(0.99)])
    assert "The outcome itself was “1”; this asks for more than that." in letter(already)


@pytest.mark.parametrize("locale", LANGUAGES)
def test_outcomes_of_numbers_are_quoted(locale: str, fitted: Any, space: cfxc.FeatureSpace) -> None:
    answer = cfxc.compile(fitted, space, favourable=1).explain(ROW)
    quoted = {"en": "“1”", "de": "„1“", "fr": f"«{GAP}1{GAP}»"}[locale]
    text = letter(answer, locale)
    assert quoted in text
    worded = letter(answer, locale, outcomes={"0": "no", "1": "granted"})
    assert quoted.replace("1", "granted") in worded
    if locale == "de":
        assert f"€: Damit hätte das Modell {quoted} ergeben)" in text


def test_outcomes_without_words_are_noted(
    fitted: Any, space: cfxc.FeatureSpace, tmp_path: Path
) -> None:
    answer = cfxc.compile(fitted, space, favourable=1).explain(ROW)
    said = Letter("l.html", fields={"outcomes": {"0": "no"}}).lacks(answer)
    assert "calls an outcome 1 (fields, [outcomes])" in said
    assert "contact" in said
    with pytest.raises(cfxc.InvalidInputError, match="outcomes: the model has no outcome '2'"):
        letter(answer, outcomes={"2": "no"})


def test_truth_values_as_files_write_them(fitted: Any, space: cfxc.FeatureSpace) -> None:
    answer = cfxc.compile(fitted, space, favourable=1).explain(ROW)
    for no in ("false", "False"):
        text = letter(answer, wording={"employed": {"values": {no: "out of work"}}})
        assert "out of work" in text


@pytest.mark.parametrize(
    ("locale", "pattern", "value", "said"),
    [
        ("en", "0%", 0.44, "44%"), ("de", "0%", 0.44, f"44{GAP}%"), ("fr", "0%", 0.44, f"44{GAP}%"),
        ("fr-CH", "0%", 0.44, "44%"), ("de", "0.0%", 0.125, f"12,5{GAP}%"),
        ("en", "0.0 %", 0.5, "50.0%"), ("en", "#,##0%", 12.0, "1,200%"),
        ("en", "0%", 0.1 + 0.2, "30.000000000000004%"),
    ],
)  # fmt: skip
def test_shares_in_percent(locale: str, pattern: str, value: float, said: str) -> None:
    feature = cfxc.space.Feature("x", "real", lower=0, upper=20, format=pattern)
    words = Words(locale, [feature], checked({}, "", None), "")
    assert words.value("x", Fraction(value)) == said


@pytest.mark.parametrize("pattern", ["%", "%0", "0%%", "0%0", "0‰", "0 % x"])
def test_other_percent_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(cfxc.InvalidInputError, match="no pattern of a number"):
        cfxc.space.Feature("x", "real", lower=0, upper=1, format=pattern)


def test_certificates_are_made_only_if_asked_for(
    fitted: Any, space: cfxc.FeatureSpace, tmp_path: Path
) -> None:
    answer = cfxc.compile(fitted, space, favourable=1).explain(ROW)
    fields = {"sender": "A", "recipient": "B", "contact": "a@b.org"}

    def written(**options: Any) -> str:
        with pytest.warns(UserWarning, match="the letter calls"):
            path = answer.letter(tmp_path / "l.html", fields=fields, **options)
        return plain(path.read_text("utf-8"))

    text = written()
    assert answer.lower_bound_proof != "certificate"
    assert "There is no certificate with this letter." in text
    assert "It is proved" not in text
    with pytest.raises(cfxc.InvalidInputError, match="certificate=True makes one"):
        Letter("l.html").page(answer, qr=True)
    assert "HASH" in written(certificate=True)
    assert "HASH" in written()  # it is there now
    assert "HASH" not in written(certificate=False)


def test_every_value_is_listed(fitted: Any, space: cfxc.FeatureSpace) -> None:
    answer = cfxc.compile(fitted, space, favourable=1).explain(ROW)
    text = letter(answer)
    table = text[text.index("The model was given these values:") :]
    for label, value in (("Monthly income", f"1,167{GAP}€"), ("Share of credit used", "88%"),
                         ("Delay", f"28.2{GAP}days"), ("employed", "no")):  # fmt: skip
        assert f"{label}\n{value}" in table
