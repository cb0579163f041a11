"""Letters: every status in every template and language, and none that says more than was proved."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cfxc
from cfxc.answers.letters import Letter
from cfxc.answers.result import Result
from cfxc.show.letters.fields import TEMPLATES
from cfxc.show.letters.words import LANGUAGES, catalogue

from .letter_cases import FIELDS, HASH, STATUSES, own, page, person, plain, table

pytest.importorskip("jinja2")
pytest.importorskip("babel")


@pytest.mark.parametrize("locale", LANGUAGES)
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("status", STATUSES)
def test_every_letter_says_what_was_proved_and_no_more(
    status: str, template: str, locale: str, answers: dict[str, Result]
) -> None:
    answer, texts = answers[status], catalogue(locale)
    text = plain(page(answer, template, locale)).replace("\n", " ")

    def says(place: str) -> bool:
        part, name = place.split(".")
        pieces = re.split(r"\{\w+\}", texts[part][name])
        return re.search(".{1,400}?".join(map(re.escape, pieces)), text) is not None

    found = answer.counterfactual is not None
    assert says("change.one" if status != "several" else "change.many") == found
    assert (says("proof.equal") or says("proof.share")) == (status in ("optimal", "several"))
    assert says("proof.feasible") == (status == "feasible")
    assert says("proof.nothing") == (status == "unproved")
    assert says("change.infeasible") == (status == "infeasible")
    assert says("change.relaxed") == (status == "infeasible")
    assert says("change.unknown") == (status in ("unknown", "unexplained"))
    assert says("check.unknown") == (status in ("unknown", "unexplained"))
    assert ("HASH" in text) == (status not in ("unknown", "unexplained"))
    assert says("promise.advice")
    assert says("promise.offer") == (status not in ("unknown", "unexplained"))
    order = ["reasons.title" if template == "plain" else "change.title", "change.title"]
    order += ["european.rights" if template == "european" else "promise.title", "check.title"]
    headings = [text.index(f" {texts[part][name]} ") for part, name in
                (place.split(".") for place in order)]  # fmt: skip
    assert headings == sorted(headings)
    assert says("adverse.right") == (status == "unexplained" and template == "adverse-action")
    if template == "adverse-action":
        assert "Equal Credit Opportunity Act" in text
        for line in FIELDS[template]["agency"]:
            assert line in text
    if template == "european":
        for right in ("review", "view", "contest", "more", "contact"):
            assert says(f"european.{right}")
        assert says("european.assisted_named")


GOLDEN = [
    ("optimal", "plain", "en"), ("feasible", "adverse-action", "en"),
    ("infeasible", "european", "de"), ("unknown", "plain", "fr"),
    ("several", "european", "fr"), ("unexplained", "adverse-action", "de"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "template", "locale"), GOLDEN)
def test_the_text_of_letters(
    status: str, template: str, locale: str, answers: dict[str, Result],
    golden: Callable[[str, str], None],
) -> None:  # fmt: skip
    text = plain(page(answers[status], template, locale))
    golden(f"letters/{status}.{template}.{locale}.txt", text)


def test_without_a_certificate_the_letter_says_so(answers: dict[str, Result]) -> None:
    for status in ("optimal", "feasible", "infeasible", "several"):
        text = page(answers[status], certificate=False)
        assert not HASH.search(text)
        assert "It is proved" not in text
        assert "Our search showed that" in text
        assert "There is no certificate with this letter." in text
    assert "nothing was shown of smaller changes beyond" in page(
        answers["unproved"], certificate=False
    )


def test_a_certificate_that_shows_less_is_said_to(answers: dict[str, Result]) -> None:
    found = answers["optimal"]
    made = found.certificate
    less = {**made.content, "claim": {**made.content["claim"], "lower_bound": "0"}}

    class Weak:
        certificate = type("Made", (), {"content": less})
        query, outcome = found.evidence.query, found.evidence.outcome

    weak = page(replace(found, evidence=Weak))
    assert "not that smaller ones" in weak
    assert "It is proved" not in weak
    assert "Our search showed that, of the changes considered" in weak
    unproved = replace(answers["unproved"], evidence=Weak)
    assert "not that smaller ones" in page(unproved)
    half = Fraction(found.exact_distance or 0) / 2
    less["claim"]["lower_bound"] = str(half)
    weak = page(replace(found, evidence=Weak))
    assert "less than the search did: 50%" in weak
    assert "It is proved" not in weak
    assert "less than the search did" not in page(unproved)


def test_that_solvers_said_so_is_said(answers: dict[str, Result]) -> None:
    answer = replace(answers["optimal"], lower_bound_proof="solver")
    text = plain(page(answer, certificate=False))
    assert "Our search showed, by the word of the programs that it used, that" in text
    assert "rests on the word of the programs" in text


def test_an_infeasible_letter_says_first_what_was_taken_as_it_is(
    answers: dict[str, Result],
) -> None:
    text = plain(page(answers["infeasible"]))
    said = [
        "For this letter, these were taken as they are: age, monthly pay, and sector.",
        "It is proved that none of the changes considered would have led to “granted”.",
        "These conditions together rule it out: monthly pay and sector stay as they are.",
        "The reasons in this letter do not take these conditions into account.",
        "Without this (monthly pay stays as it is)",
        "This is not an offer: a new application is decided afresh, and the outcome may differ.",
    ]
    places = [text.index(sentence) for sentence in said]
    assert places == sorted(places)
    assert "Not considered" not in text
    assert "may not" not in text
    assert "were considered: " in text
    assert "monthly pay (" not in text  # a range would say that it was changed


def test_a_letter_about_nothing_is_refused(letter_model: cfxc.CompiledModel) -> None:
    X = table()
    fine = letter_model.explain(X[letter_model.predict(X) == "granted"].iloc[[0]])
    with pytest.raises(cfxc.InvalidInputError, match="nothing needs to change"):
        page(fine)


def test_an_adverse_action_without_reasons_needs_someone_to_ask(
    answers: dict[str, Result],
) -> None:
    with pytest.raises(cfxc.InvalidInputError, match="the field contact"):
        page(answers["unexplained"], "adverse-action", contact=" ")


@pytest.mark.parametrize(
    ("distance", "said"),
    [
        ("l0", "is the number of its factors"), ("l2", "root of the sum of squares"),
        ("linf", "the largest among its factors"), ("sparse", "fewer factors counts as smaller"),
        ({"l0": 0.5, "l1": 0.5}, "is measured by “0.5*l0 + 0.5*l1”"),
    ],
)  # fmt: skip
def test_how_changes_are_measured(
    distance: Any, said: str, letter_model: cfxc.CompiledModel
) -> None:
    answer = letter_model.explain(person(letter_model), distance=distance)
    text = plain(page(answer))
    assert said in text
    assert "none of fewer factors" not in text  # than one


def test_that_fewer_factors_do_not_do_is_said_of_several(letter_model: cfxc.CompiledModel) -> None:
    X = table()
    alone = [X.assign(pay=X["pay"] + 400), X.assign(sector="it")]
    both = letter_model.predict(alone[0].assign(sector="it")) == "granted"
    for other in alone:
        both &= letter_model.predict(other) == "refused"
    answer = letter_model.explain(
        X[both].iloc[[0]], distance="sparse", subject_to=["pay <= factual.pay + 400"]
    )
    assert len(answer.changes) > 1
    text = plain(page(answer))
    assert "It is proved that, of the changes considered, none of fewer factors would" in text
    reasons = answer.reasons
    assert ("Only together: " in text) == any(len(one.changes) > 1 for one in reasons.found)
    found = replace(answer)
    only = replace(reasons.found[0], changes=answer.changes)
    found.__dict__["reasons"] = replace(reasons, found=(only,), ended="")
    assert "with the values in brackets together, the model would" in plain(page(found))
    assert "for each line there are values with which" in plain(page(found, "adverse-action"))


def test_what_a_later_answer_is_compared_with(letter_model: cfxc.CompiledModel) -> None:
    row = person(letter_model)
    for diversity, said in (("features", "that leave the factors of the possibilities above as"),
                            ("points", "in the way that was asked for")):  # fmt: skip
        answer = letter_model.explain(row, count=2, diversity=diversity)
        assert said in plain(page(answer))


def test_what_was_asked_for_is_said(letter_model: cfxc.CompiledModel) -> None:
    row = person(letter_model)
    likely = letter_model.explain(row, subject_to=[cfxc.Probability(0.9)])
    assert "“granted” with a probability of at least 90%" in plain(page(likely))
    surely = letter_model.explain(row, subject_to=[cfxc.Margin(0.25)])
    text = plain(page(surely))
    assert "“granted” with a lead in points of at least 0.25" in text
    assert "the lead is how far they lie beyond the line between the outcomes" in text
    for asked in (likely, surely):
        assert "more than “granted” alone, for which less may have been enough" in plain(
            page(asked)
        )
    rules = [
        "pay >= factual.pay", "pay <= 5000", 'sector != "art" || member', cfxc.MaxChanges(2),
        "age <= 2 * factual.age - 1",
    ]  # fmt: skip
    capped = plain(page(letter_model.explain(row, subject_to=rules)))
    assert "Not considered: a change of age; a lower monthly pay." in capped
    assert (
        "Further conditions: monthly pay is at most 5,000.00\u00a0€; at most 2 factors change; "
        "age is at most 139\u00a0years; one that the sender can name." in capped
    )
    assert "factual" not in capped


def test_reasons_are_sought_only_where_they_are_shown(
    tmp_path: Path, answers: dict[str, Result]
) -> None:
    answer = replace(answers["optimal"])
    Letter("l.html", own(tmp_path, "{% include '_answers.html' %}")).page(answer)
    assert "reasons" not in answer.__dict__
    Letter("l.html", own(tmp_path, "{% include '_reasons.html' %}")).page(answer)
    assert "reasons" in answer.__dict__


def test_an_answer_among_known_rows(letter_model: cfxc.CompiledModel) -> None:
    X, row = table(), person(letter_model)
    known = X[letter_model.predict(X) == "granted"].iloc[:40]
    answer = letter_model.explain(
        row, subject_to=[cfxc.TrustRegion(known, ["granted"] * len(known))]
    )
    text = plain(page(answer))
    assert "Only cases like those that are known were considered" in text
    assert "There is no certificate with this letter." not in text


def test_a_number_of_a_range(tmp_path: Path) -> None:
    from sklearn.tree import DecisionTreeRegressor

    X = pd.DataFrame({"a": np.arange(40), "b": np.float32(np.arange(40) / 10)})
    tree = DecisionTreeRegressor(random_state=0).fit(X, X["a"] * 1000.5)
    space = cfxc.FeatureSpace.infer(X, resolution={"b": 0.1})
    compiled = cfxc.compile(tree, space)
    for target, said in (((9000, None), "au moins 9"), ((None, 2000), "au plus 2"),
                         ((9000, 9999), "entre 9\u202f000 et 9\u202f999")):  # fmt: skip
        answer = compiled.explain(X.iloc[[5]], target=target)
        assert said in page(answer, locale="fr")
