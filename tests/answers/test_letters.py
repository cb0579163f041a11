"""Letters: every status in every template and language, and none that says more than was proved."""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.answers.letters import Letter
from cfxc.answers.reasons import Reasons
from cfxc.answers.result import Result
from cfxc.show.letters.fields import TEMPLATES
from cfxc.show.letters.words import LANGUAGES, catalogue

pytest.importorskip("jinja2")
pytest.importorskip("babel")
segno = pytest.importorskip("segno")

FIELDS: dict[str, dict[str, Any]] = {
    "plain": {"sender": "A Bank\n1 Main Street", "contact": "help@example.org"},
    "adverse-action": {
        "creditor": "A Bank\n1 Main Street", "action": "Your application was declined.",
        "agency": ["Bureau of Consumer Financial Protection", "1700 G Street NW"],
        "contact": "Loan office, 1 Main Street, 555-0100",
    },
    "european": {
        "controller": "A Bank", "contact": "help@example.org", "role": "assisted",
        "system": "Model 3", "authority": "The authority", "officer": "dpo@example.org",
    },
}  # fmt: skip
COMMON = {"recipient": "A. Person", "reference": "7", "date": "2026-11-25", "signature": "B. Clerk"}
STATUSES = ("optimal", "feasible", "unproved", "infeasible", "unknown", "unexplained", "several")
HASH = re.compile(r"\b[0-9a-f]{64}\b")


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, 300),
            "pay": rng.normal(3000, 900, 300).round(2),
            "sector": rng.choice(["it", "law", "art"], 300),
            "member": rng.integers(0, 2, 300).astype(bool),
        }
    )


@pytest.fixture(scope="module")
def model() -> cfxc.CompiledModel:
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    X = table()
    worth = X["pay"] / 100 + 8 * (X["sector"] == "it") + X["age"] / 10
    encode = make_column_transformer((OneHotEncoder(), ["sector"]), remainder="passthrough")
    tree = make_pipeline(encode, DecisionTreeClassifier(max_depth=4, random_state=0))
    tree.fit(X, np.where(worth > 40, "granted", "refused"))
    space = cfxc.FeatureSpace.infer(X, fixed=["age"])
    space = space.replace("pay", label="monthly pay", unit="€", format="#,##0.00")
    space = space.replace("age", label="age", unit="years")
    return cfxc.compile(tree, space, favourable="granted")


def person(model: cfxc.CompiledModel) -> pd.DataFrame:
    """Somebody whose pay or sector could have changed the outcome, each alone."""
    X = table()
    X = X[(model.predict(X) == "refused") & (model.predict(X.assign(sector="it")) == "granted")]
    return X.iloc[[0]]


@pytest.fixture(scope="module")
def answers(model: cfxc.CompiledModel) -> dict[str, Result]:
    row = person(model)
    found = model.explain(row)
    assert found.status == "optimal"
    assert found.exact_distance is not None
    low = found.exact_distance * Fraction(2, 3)
    nothing: dict[str, Any] = {
        "counterfactual": None, "distance": None, "exact_distance": None, "reason": "out of time",
        "exact_lower_bound": Fraction(0), "lower_bound": 0.0, "lower_bound_proof": "none",
        "status": "unknown",
    }  # fmt: skip
    unproved = {name: nothing[name] for name in ("exact_lower_bound", "lower_bound_proof")}
    made = {
        "optimal": found,
        "feasible": replace(found, status="feasible", exact_lower_bound=low),
        "unproved": replace(found, status="feasible", **unproved),
        "infeasible": model.explain(
            row, subject_to=["pay == factual.pay", "sector == factual.sector"]
        ),
        "unknown": replace(found, **nothing, evidence=replace(found.evidence, status="unknown")),
        "several": model.explain(row, count=2, diversity="features"),
    }
    assert made["infeasible"].status == "infeasible"
    assert made["infeasible"].relaxed is not None
    assert len(made["several"].alternatives) == 1
    made["unexplained"] = replace(made["unknown"])
    made["unexplained"].__dict__["reasons"] = Reasons((), "unknown")
    return made


def page(
    answer: Result, template: str = "plain", locale: str = "en", certificate: bool = True,
    **fields: Any,
) -> str:  # fmt: skip
    own = {**FIELDS[template], **COMMON, **fields}
    return Letter("l.html", template, locale, own).page(answer, certificate=certificate)


def plain(page: str) -> str:
    """The text of a page, a line a block; hashes, which versions are part of, as one word."""
    body = page.split("<body>")[1]
    body = re.sub(r"<(br|/p|/li|/h\d|/tr|/th|/td)[^>]*>", r"\n", body)
    lines = (re.sub(r"[ \t\n]+", " ", html.unescape(re.sub(r"<[^>]*>", "", one)))
             for one in body.split("\n"))  # fmt: skip
    return HASH.sub("HASH", "\n".join(line.strip(" ") for line in lines if line.strip(" "))) + "\n"


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
        "Without this condition (monthly pay stays as it is)",
        "This is not an offer: a new application is decided afresh, and the outcome may differ.",
    ]
    places = [text.index(sentence) for sentence in said]
    assert places == sorted(places)
    assert "Not considered" not in text
    assert "may not" not in text


def test_a_letter_about_nothing_is_refused(model: cfxc.CompiledModel) -> None:
    X = table()
    fine = model.explain(X[model.predict(X) == "granted"].iloc[[0]])
    with pytest.raises(cfxc.InvalidInputError, match="nothing needs to change"):
        page(fine)


def test_an_adverse_action_without_reasons_needs_someone_to_ask(
    answers: dict[str, Result],
) -> None:
    with pytest.raises(cfxc.InvalidInputError, match="the field contact"):
        page(answers["unexplained"], "adverse-action", contact=" ")


def test_words_of_features_and_outcomes(answers: dict[str, Result]) -> None:
    words = {
        "wording": {
            "pay": {"label": "Monatslohn", "unit": "EUR"},
            "sector": {"label": "Branche", "values": {"law": "Recht", "art": "Kunst", "it": "IT"}},
            "member": {"values": {"True": "Mitglied", "False": "kein Mitglied"}},
        },
        "outcomes": {"granted": "bewilligt", "refused": "abgelehnt"},
    }
    text = plain(page(answers["several"], "plain", "de-AT", **words))
    assert "Monatslohn" in text
    assert "\u00a0EUR" in text
    assert "„bewilligt“" in text
    assert "granted" not in text
    assert not re.search(r"\b(law|art)\b", text)


def test_fields_of_a_file(tmp_path: Path, answers: dict[str, Result]) -> None:
    file = tmp_path / "sender.toml"
    file.write_text(
        'sender = "A Bank"\ndate = 2026-11-25\n[wording.pay]\nlabel = "wages"\n', "utf-8"
    )
    with pytest.warns(UserWarning, match="names no recipient"):
        path = answers["optimal"].letter(tmp_path / "l.html", fields=file, qr=True)
    text = path.read_text("utf-8")
    assert "A Bank" in text
    assert "November 25, 2026" in text
    assert "wages" in text
    assert text.count("<svg") == 1


@pytest.mark.parametrize(
    ("template", "fields", "said"),
    [
        ("plain", {"sendr": "x"}, "no field 'sendr' .nearest: 'sender'"),
        ("plain", {"sender": 7}, "sender is a text"),
        ("plain", {"date": "tomorrow"}, "write 2026-11-25"),
        ("plain", {"wording": {"wage": {}}}, "no feature 'wage'"),
        ("plain", {"wording": {"pay": {"lable": "x"}}}, "no 'lable' .nearest: 'label'"),
        ("plain", {"wording": {"pay": {"format": "x"}}}, "no pattern of a number"),
        ("plain", {"wording": {"sector": {"unit": "x"}}}, "unit is for numbers"),
        ("plain", {"wording": {"sector": {"values": {"laws": "x"}}}}, "no category 'laws'"),
        ("plain", {"wording": 3}, "wording is a table"),
        ("plain", {"outcomes": {"granted": 3}}, "outcomes.granted is a text"),
        ("european", {"role": "sole"}, "role is automated or assisted"),
        ("european", {"contact": ""}, "- contact: whom to ask"),
        ("european", {"contact": "Ask"}, "contact 'Ask' does not say how to reach anybody"),
        ("adverse-action", {"agency": ""}, "- agency: name and address of the federal agency"),
    ],
)
def test_wrong_fields(
    template: str, fields: dict[str, Any], said: str, answers: dict[str, Result]
) -> None:
    with pytest.raises((cfxc.InvalidInputError, cfxc.DataTypeError), match=said):
        page(answers["optimal"], template, **fields)


@pytest.mark.parametrize(
    "contact", ["a@b.org", "555-0100", "+49 30 12345", "a.org/ask", "http://a", "The loan office"]
)
def test_whom_to_ask_can_be_reached(contact: str, answers: dict[str, Result]) -> None:
    text = page(answers["optimal"], "european", contact=contact)
    assert contact in text.replace("\u00a0", " ")


def test_wrong_letters(tmp_path: Path, answers: dict[str, Result]) -> None:
    answer = answers["optimal"]
    for keywords, said in (
        ({"path": "l.doc"}, "a letter is .html or .pdf"),
        ({"path": "l.html", "locale": "es"}, "letters are written in de, en, fr"),
        ({"path": "l.html", "locale": "../en"}, "letters are written in"),
        ({"path": "l.html", "template": "plane"}, "nearest: 'plain'"),
        ({"path": "l.html", "fields": tmp_path / "no.toml"}, "cannot be read as fields"),
        ({"path": "l.html", "template": "adverse-action"}, "--fields"),
        ({"path": tmp_path / "no" / "l.html"}, "no folder"),
    ):
        with pytest.raises(cfxc.InvalidInputError, match=said):
            answer.letter(**keywords)  # type: ignore[arg-type]
    with pytest.raises(cfxc.DataTypeError, match="a mapping, or the path"):
        answer.letter("l.html", fields=7)  # type: ignore[arg-type]


HOSTILE = [
    "<script>alert(1)</script>", "{{ 7*7 }}", "{% include '/etc/passwd' %}", "{label} %s {0}",
    '"><img src=x onerror=alert(1)>', "\u202eevil\u2066", "a\x00b\x1b[2J", "&lt;b&gt;",
]  # fmt: skip


def test_hostile_names_and_categories_are_shown_as_they_are() -> None:
    rng = np.random.default_rng(0)
    name = "<b>{{ 7*7 }}</b>"
    X = pd.DataFrame({name: rng.choice(HOSTILE, 200), "n": rng.integers(0, 5, 200)})
    places = X[name].map(HOSTILE.index)
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    for kept in range(len(HOSTILE)):
        outcome = np.where(places == kept, HOSTILE[0], HOSTILE[4])
        encode = make_column_transformer((OneHotEncoder(), [name]), remainder="passthrough")
        tree = make_pipeline(encode, DecisionTreeClassifier(random_state=0)).fit(X, outcome)
        compiled = cfxc.compile(tree, cfxc.FeatureSpace.infer(X))
        answer = compiled.explain(X[places != kept].iloc[[0]])
        for template in TEMPLATES:
            fields = dict.fromkeys(("recipient", "reference", "signature"), HOSTILE[kept])
            text = page(answer, template, certificate=False, **fields)
            assert "<script" not in text
            assert "<img" not in text
            assert "<b>" not in text
            assert "49" not in plain(text)
            assert "root:" not in text
            assert not set(text) & {"\x00", "\x1b", "\u202e", "\u2066"}
            shown = "".join("\ufffd" if c in "\u202e\u2066\x00\x1b" else c for c in HOSTILE[kept])
            assert str(html.escape(shown, quote=False)) in text.replace("&#39;", "'").replace(
                "&#34;", '"'
            )


def own(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.html"
    path.write_text(text, "utf-8")
    return path


def test_a_template_of_ones_own(tmp_path: Path, answers: dict[str, Result]) -> None:
    template = own(
        tmp_path,
        '{% extends "_letter.html" %}{% block title %}About {{ topic }}{% endblock %}'
        '{% block body %}{% include "_reasons.html" %}{% include "_answers.html" %}'
        "{{ closing }}{% endblock %}",
    )
    fields = {"topic": "<you>", "closing": "Bye", "recipient": "A. Person"}
    text = Letter("l.html", template, "fr", fields).page(answers["optimal"])
    assert "About &lt;you&gt;" in text
    assert "A. Person" in text
    assert "monthly pay" in text
    with pytest.raises(cfxc.InvalidInputError, match=r"no field 'topik' .nearest: 'topic'"):
        Letter("l.html", template, fields={**fields, "topik": "x"})
    with pytest.raises(cfxc.InvalidInputError, match="'closing' is undefined; give it among"):
        Letter("l.html", template, fields={"topic": "x"}).page(answers["optimal"])
    with pytest.raises(cfxc.InvalidInputError, match="'answers' is what a letter has by itself"):
        Letter("l.html", template, fields={"answers": "x"})


@pytest.mark.parametrize(
    "text",
    [
        "{{ head.__class__.__mro__ }}", "{{ ''.__class__ }}", "{{ t.keys.__globals__ }}",
        "{{ lipsum.__globals__ }}", "{{ cycler.__init__.__globals__.os }}", "{{ self.__init__ }}",
        "{% include '/etc/passwd' %}", "{% include '../fields.py' %}", "{% import 'os' as o %}",
        "{{ '{0.__class__}'.format(t) }}", "{{ head.update({'a': 1}) }}", "{{ nothing }}",
        "{{ head.nothing }}", "{{ 1 / 0 }}", "{% if %}", "{{ range(10**9) }}", "{{ open('x') }}",
    ],
)  # fmt: skip
def test_what_a_template_may_not_do(text: str, tmp_path: Path, answers: dict[str, Result]) -> None:
    with pytest.raises(cfxc.InvalidInputError, match=r"template .*own\.html"):
        Letter("l.html", own(tmp_path, text)).page(answers["optimal"])


def test_languages_have_the_same_sentences() -> None:
    english = catalogue("en")
    for language in LANGUAGES:
        texts = catalogue(language)
        for part, sentences in english.items():
            assert texts[part].keys() == sentences.keys()
            for name, sentence in sentences.items():
                places = [set(re.findall(r"\{\w*\}", one)) for one in (sentence, texts[part][name])]
                assert places[0] == places[1], (language, part, name)


@pytest.mark.parametrize(
    ("distance", "said"),
    [
        ("l0", "is the number of its factors"), ("l2", "root of the sum of squares"),
        ("linf", "the largest among its factors"), ("sparse", "fewer factors counts as smaller"),
        ({"l0": 0.5, "l1": 0.5}, "is measured by “0.5*l0 + 0.5*l1”"),
    ],
)  # fmt: skip
def test_how_changes_are_measured(distance: Any, said: str, model: cfxc.CompiledModel) -> None:
    answer = model.explain(person(model), distance=distance)
    text = plain(page(answer))
    assert said in text
    assert "none of fewer factors" not in text  # than one


def test_that_fewer_factors_do_not_do_is_said_of_several(model: cfxc.CompiledModel) -> None:
    X = table()
    alone = [X.assign(pay=X["pay"] + 400), X.assign(sector="it")]
    both = model.predict(alone[0].assign(sector="it")) == "granted"
    for other in alone:
        both &= model.predict(other) == "refused"
    answer = model.explain(
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


def test_what_a_later_answer_is_compared_with(model: cfxc.CompiledModel) -> None:
    row = person(model)
    for diversity, said in (("features", "that leave the factors of the possibilities above as"),
                            ("points", "in the way that was asked for")):  # fmt: skip
        answer = model.explain(row, count=2, diversity=diversity)
        assert said in plain(page(answer))


def test_what_was_asked_for_is_said(model: cfxc.CompiledModel) -> None:
    row = person(model)
    likely = model.explain(row, subject_to=[cfxc.Probability(0.9)])
    assert "“granted” with a probability of at least 90%" in plain(page(likely))
    surely = model.explain(row, subject_to=[cfxc.Margin(0.25)])
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
    capped = plain(page(model.explain(row, subject_to=rules)))
    assert "Not considered: a change of age; a lower monthly pay." in capped
    assert (
        "Further conditions: monthly pay is at most 5,000.00\u00a0€; at most 2 factors change; "
        "age is at most 139\u00a0years; one that the sender can name." in capped
    )
    assert "factual" not in capped


def test_what_a_letter_lacks_is_said(tmp_path: Path, answers: dict[str, Result]) -> None:
    file, answer = tmp_path / "l.html", answers["optimal"]
    with pytest.warns(
        UserWarning, match="^the letter names no sender, no recipient and no c"
    ) as said:
        answer.letter(file)
    assert "calls features as columns, such as 'sector'" in str(said[0].message)
    words = {"sector": {"label": "branch"}, "member": {"label": "membership"}}
    whole: dict[str, Any] = {"sender": "A", "recipient": "B", "contact": "C", "wording": words}
    with pytest.warns(UserWarning, match="^the letter calls an outcome 'granted'"):
        answer.letter(file, fields={**whole, "outcomes": {"refused": "no"}})
    whole["outcomes"] = {"refused": "no", "granted": "yes"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer.letter(file, fields=whole)


def test_reasons_are_sought_only_where_they_are_shown(
    tmp_path: Path, answers: dict[str, Result]
) -> None:
    answer = replace(answers["optimal"])
    Letter("l.html", own(tmp_path, "{% include '_answers.html' %}")).page(answer)
    assert "reasons" not in answer.__dict__
    Letter("l.html", own(tmp_path, "{% include '_reasons.html' %}")).page(answer)
    assert "reasons" in answer.__dict__


def test_an_answer_among_known_rows(model: cfxc.CompiledModel) -> None:
    X, row = table(), person(model)
    known = X[model.predict(X) == "granted"].iloc[:40]
    answer = model.explain(row, subject_to=[cfxc.TrustRegion(known, ["granted"] * len(known))])
    text = plain(page(answer))
    assert "Only cases like those that are known were considered" in text
    assert "There is no certificate with this letter." in text


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


def without_pango() -> None:
    """Skip what writes PDF, where it cannot be written."""
    pytest.importorskip("weasyprint", exc_type=(ImportError, OSError))  # type: ignore[arg-type]


def pages_of(path: Path) -> list[str]:
    pypdf = pytest.importorskip("pypdf")
    return [each.extract_text() for each in pypdf.PdfReader(path).pages]


@pytest.fixture
def pdf() -> None:
    without_pango()


@pytest.mark.usefixtures("pdf")
@pytest.mark.parametrize(
    ("status", "template", "locale"),
    [("optimal", "plain", "en"), ("feasible", "adverse-action", "en"),
     ("infeasible", "european", "de"), ("several", "plain", "fr")],
)  # fmt: skip
def test_pdf(
    status: str, template: str, locale: str, tmp_path: Path, answers: dict[str, Result]
) -> None:
    fields = {**FIELDS[template], **COMMON}
    path = answers[status].letter(tmp_path / "l.pdf", template, locale, fields, qr=True)
    pages = pages_of(path)
    assert len(pages) <= 2
    flat = re.sub(r"\s+", " ", " ".join(pages))
    assert catalogue(locale)["check"]["title"] in flat
    assert "Monthly pay" in flat
    assert HASH.search(flat)


@pytest.mark.usefixtures("pdf")
@pytest.mark.parametrize(
    "text",
    [
        "<img src='file:///etc/passwd'>", "<img src='http://localhost/x.png'>",
        "<link rel=stylesheet href='file:///etc/passwd'>", "<img src='x.png'>",
        "<style>@import url(file:///etc/passwd)</style>",
        "<a rel=attachment href='file:///etc/passwd'>x</a>",
        "<p style='background: url(file:///etc/passwd)'>x</p>",
        "<object data='file:///etc/passwd'></object>",
        "<svg><image href='file:///etc/passwd' width='9' height='9'/></svg>",
    ],
)  # fmt: skip
def test_a_pdf_loads_nothing(text: str, tmp_path: Path, answers: dict[str, Result]) -> None:
    path = tmp_path / "l.pdf"
    template = own(tmp_path, f"<html><body>{text}</body></html>")
    with pytest.raises(cfxc.InvalidInputError, match="may load nothing"):
        answers["optimal"].letter(path, template)
    assert not path.exists()


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(cfxc.MissingExtraError, match=r"cfxc\[report\]"):
        Letter("l.pdf")
    for name, path in (("jinja2", "l.html"), ("babel", "l.html")):
        with monkeypatch.context() as gone:
            gone.setitem(sys.modules, name, None)
            with pytest.raises(cfxc.MissingExtraError, match=r"cfxc\[report\]"):
                Letter(path)


def test_pdf_without_its_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    real = builtins.__import__

    def broken(name: str, *rest: Any) -> Any:
        if name == "weasyprint":
            raise OSError("cannot load library 'libpango-1.0-0'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(cfxc.UnsupportedError, match=r"apt-get install libpango-1\.0-0"):
        Letter("l.pdf")
