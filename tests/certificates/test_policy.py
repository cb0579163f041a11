"""An auditor's policy: what restricts people more than it does is rejected, and says where."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.certificates import checker
from cfxc.certificates.auditing import policy
from cfxc.certificates.auditing.inputs import WrongInput
from cfxc.certificates.auditing.report import facts
from cfxc.errors import InvalidInputError
from cfxc.question.target import logit
from tests.certificates.handmade import SPACE, changed

RULE = 'others = "any"\nconstraints = ["x <= 4"]\n'
OWN = RULE + SPACE


def verdict(text: str, content: Any = None) -> str:
    """Why a policy rejects a certificate that holds; empty if it does not."""
    shown = checker.check(changed() if content is None else content)
    try:
        policy.require_no_narrower(shown, policy.Policy(text), facts(shown)["constraints"])
    except checker.Rejected as error:
        return str(error)
    return ""


def of(name: str, **entries: Any) -> str:
    """A policy of one feature."""
    lines = [f"{key} = {value!r}" if isinstance(value, list | str) else f"{key} = {value}"
             for key, value in entries.items()]  # fmt: skip
    return "\n".join([RULE, "[[feature]]", f'name = "{name}"', *lines])


@pytest.mark.parametrize(
    "text",
    [
        OWN,
        RULE,
        of("n", kind="integer", lower=0, upper=4),
        of("n", kind="real", resolution=1, lower=0.0),
        of("n", kind="real", resolution="3"),
        of("x", resolution="1/2", action="fixed"),
        of("n", kind="integer", action="increase"),
        of("x", resolution="1/2"),
        of("x", resolution=1.5),
        of("x", resolution=1e0),
        of("x", kind="integer"),
        of("code", labels=["b", "a"], kind="categorical"),
        of("code", weight="1.0"),
        RULE + "epsilon = 0.25",
        RULE + 'epsilon = "1/4"',
        RULE + 'target = "yes"',
        RULE + 'target = {label = "yes", margin = 0}',
        RULE + "norms = [0, 1, 0, 0]",
        RULE + 'norms = "l1"',
        RULE + "norms = {l1 = 1.0}",
        "version = 1\n" + RULE,
        RULE + "fixed = []",
        RULE + 'semantics = "real"',
        'others = "any"\nconstraints = ["x <= 4", "n >= factual.n"]',
    ],
)
def test_as_wide_or_wider(text: str) -> None:
    assert verdict(text) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (of("m"), "policy: the question has no feature 'm'"),
        (of("n", lower=-1), "policy: 'n': its range 0 to 4 is narrower than -1 to 4"),
        (of("n", upper=4.5), "policy: 'n': its range 0 to 4 is narrower than 0 to 4.5"),
        (of("n", lower=1), "policy: 'n': its range 0 to 4 is wider than 1 to 4, which makes its "
                           "changes cheaper than the policy's"),
        (of("n", lower=0, upper=3.5), "policy: 'n': its range 0 to 4 is wider than 0 to 3.5"),
        (of("x", kind="real"), "policy: 'x': the grid is coarser"),
        (of("x", resolution="1/4"), "policy: 'x': the grid is coarser"),
        (of("x", resolution="0.7"), "policy: 'x': the grid is coarser"),
        (of("n", action="free"), "policy: 'n': the grid is coarser"),
        (of("n", weight=2), "policy: 'n': another weight"),
        (of("code", labels=["a", "d"]), "policy: 'code': the certificate has no label \"d\""),
        (of("code", labels=["a", 1]), "the certificate has no label 1"),
        (of("code", kind="ordinal", labels=["a"]), "policy: 'code': another kind"),
        (of("code", kind="integer", lower=0), "policy: 'code': another kind"),
        (of("n", kind="binary"), "policy: 'n': another kind"),
        (RULE + "epsilon = 0.2", "policy: epsilon is 0.25, more than 0.2"),
        (RULE + "epsilon = 1e-5", "policy: epsilon is 0.25, more than 1e-05"),
        (RULE + 'target = "no"', "policy: target: it is \"yes\", and the policy's \"no\""),
        (RULE + 'target = "maybe"', 'policy: target: the program has no label "maybe"'),
        (RULE + "target = 1.5", "policy: target: the program has no label 1.5"),
        (RULE + 'target = {label = "yes", margin = "0.1"}',
         "policy: target: its margin is 0, not 0.1"),
        (RULE + 'target = {label = "yes", least = 1}', "policy: target: another least score"),
        (RULE + 'target = {label = "yes", probability = 0.7}',
         "policy: target: its margin is 0, not the log odds 0.84729786 of a "),
        (RULE + "target = {lower = 1}", "policy: target: it is a label, and the policy's a range"),
        (RULE + "norms = [1, 0, 0, 0]", "policy: another distance"),
        (RULE + 'norms = "sparse"', "policy: another distance"),
        (RULE + 'norms = "l2"', "policy: another distance: it is 1 l1, and the policy's 1 l2"),
        (RULE + 'semantics = "float"', "policy: the semantics is real, and not float"),
        (RULE + 'fixed = ["code"]', "policy: 'code': it may change, and the policy fixes it"),
        (RULE + 'fixed = ["m"]', "policy: the question has no feature 'm', which is to be fixed"),
        ('constraints = ["x <= 3"]', "policy: it has no constraint x <= 4"),
    ],
)  # fmt: skip
def test_narrower(text: str, why: str) -> None:
    assert why in verdict(text)
    assert verdict(text).startswith("policy: ")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("more = 1", "unknown ['more']; known are version, columns"),
        ("a = [", "no TOML: Invalid value"),
        ("%PDF-1.7", "no TOML: "),
        ("version = 2", "its version is another one than 1"),
        ("feature = [1]", "malformed: TypeError"),
        ("feature = 1", "policy.feature: no list"),
        ("constraints = 'x <= 4'", "policy.constraints: no list"),
        ("semantics = 'exact'", "policy.semantics: it is none of real, float, float32"),
        ("fixed = [1]", "policy.fixed: it holds no names"),
        ("others = 'all'", "policy.others: it is 'any', or not there"),
        (of("n", action="fixd"), "policy.feature[0]: its action is none of free, fixed, increase"),
        (of("n", kind="text"), "policy.feature[0]: its kind is none of real, integer"),
        (of("n", colour="red"), "policy.feature[0]: no name, or unknown ['colour']"),
        (of("n", lower="[]"), "no number: '[]'"),
        (of("n", lower="nan"), "no number: 'nan'"),
        (RULE + "[[feature]]\nname = 'n'\nlower = nan", "a range that does not end"),
        (RULE + "[[feature]]\nname = 'n'\nlower = inf", "a range that does not end"),
        (of("n", weight="1" * 500), "no number"),
        (of("n", weight="-1"), "'n': its weight is below 0"),
        (RULE + "[[feature]]\nname = 'n'\nlower = 3\nupper = 2", "end is above its upper"),
        (RULE + "epsilon = -1", "policy.epsilon: it is below 0"),
        (RULE + "slack = -0.5", "policy.slack: it is below 0"),
        (RULE + "epsilon = true", "policy.epsilon: no number: 'True'"),
        (RULE + "norms = [1, 0, 0]", "policy.norms: not the four factors of l0, l1, linf, l2"),
        (RULE + "norms = {l1 = 0.5}", "policy.norms: the factors do not sum to 1"),
        (RULE + "norms = {l3 = 1}", "policy.norms: unknown ['l3']; known are l0"),
        (RULE + "norms = 'l3'", "policy.norms: unknown ['l3']"),
        (RULE + "norms = 1", "policy.norms: no list"),
        (RULE + "target = {}", "policy.target: it is empty; write label, "),
        (RULE + "target = {labl = 1}", "policy.target: unknown ['labl'], or of the other kind"),
        (RULE + "target = {lower = 2, upper = 1}", "policy.target: its lower end is above"),
        (RULE + "target = {lower = 'a'}", "policy.target.lower: no number: 'a'"),
        (RULE + "target = {label = 1, margn = 1}", "policy.target: unknown ['margn']"),
        (RULE + "target = [1]", "policy.target: the label is no text, number or truth value"),
        (RULE + "target = {label = 1, probability = 0.7, margin = 0}",
         "policy.target: a probability, or a margin and a least score"),
        (RULE + "target = {label = 1, probability = 1}",
         "policy.target: a probability lies between 0 and 1"),
        (of("x", resolution=0), "policy.feature[0]: the resolution is not above 0"),
    ],
)  # fmt: skip
def test_what_is_no_policy_rejects_nothing(text: str, why: str) -> None:
    with pytest.raises(WrongInput) as caught:
        policy.Policy(text, "p.toml")
    assert str(caught.value).startswith("p.toml: this is no policy: ")
    assert why in str(caught.value)


@pytest.mark.parametrize("action", ["fixed", "increase", "decrease"])
def test_one_way_and_fixed(action: str) -> None:
    """What may not change as the policy has it."""
    space = SPACE.replace('dtype = "int64"', f'dtype = "int64"\naction = "{action}"')
    witness = ["1", "5/2", "a"] if action != "increase" else ["3", "1/2", "a"]
    content = changed((("features", 0, "action"), action), (("space",), space),
                      (("witness",), witness))  # fmt: skip
    said = verdict(OWN, content)
    assert said == f"policy: 'n': it may not change as it should: {action}, not free"
    assert verdict(RULE + space, content) == ""
    still = of("n", kind="integer", action="fixed")
    changes = action == "increase"
    assert ("the answer changes it" in verdict(still, content)) == changes
    other = {"increase": "decrease", "decrease": "increase", "fixed": "increase"}[action]
    assert "may not change as it should" in verdict(of("n", action=other), content)


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ({"action": "fixed"}, ", and its action is fixed"),
        ({"action": "decrease"}, ", and its action is decrease"),
        ({"kind": "real", "resolution": 2}, " to 3, off the policy's grid"),
        ({"upper": 2}, " to 3, beyond the policy's range"),
    ],
)
def test_the_answer_is_one_that_the_policy_allows(entries: dict[str, Any], why: str) -> None:
    """The question may allow more than the policy; the change from 1 to 3 may not need it."""
    said = verdict(of("n", **{"kind": "integer", **entries}))
    assert f"'n': the answer changes it{why}" in said


def test_a_label_of_the_answer_is_one_of_the_policy() -> None:
    norms = {"l0": "1", "l1": "0", "linf": "0", "l2": "0"}
    stay = (("proof",), {"radius": "0", "lemmas": [], "nodes": [["distance"]]})
    claim = {"status": "feasible", "distance": "2/3", "lower_bound": "0", "epsilon": "0"}
    content = changed((("question", "norms"), norms), (("claim",), claim), stay,
                      (("witness",), ["3", "1/2", "b"]))  # fmt: skip
    assert verdict(of("code", kind="categorical", labels=["b", "a"]), content) == ""
    said = verdict(of("code", kind="categorical", labels=["c", "a"]), content)
    assert said == "policy: 'code': the answer changes it to \"b\", which the policy does not list"


@pytest.mark.parametrize("encoding", ["one_hot", "thermometer"])
def test_labels_of_columns_are_in_the_policy_s_order(encoding: str) -> None:
    """Another order of labels gives the same columns other names."""
    columns = f'encoding = "{encoding}"\ncolumns = ["a", "b", "c"]'
    space = SPACE.replace('dtype = "object"', f'dtype = "object"\n{columns}')
    content = changed((("space",), space))
    named = "labels = ['b', 'a', 'c']"
    assert verdict(RULE + space, content) == ""
    said = verdict(RULE + space.replace('labels = ["a", "b", "c"]', named), content)
    assert said == "policy: 'code': the labels are in another order"


def test_directions_of_labels_are_the_policy_s() -> None:
    policy = of("code", kind="categorical", labels=["b", "a"], action="increase")
    assert verdict(policy) == "policy: 'code': the labels are in another order"
    policy = of("code", kind="categorical", action="increase")
    assert verdict(policy) == "policy: 'code': the policy lists no labels, whose order counts"
    coarse = of("n", kind="integer", resolution=2)
    with pytest.raises(WrongInput, match="whole numbers have the resolution 1"):
        verdict(coarse)


def test_more_than_the_outcome_is_not_what_a_policy_of_labels_wants() -> None:
    """A margin makes every change farther: the bound of another question."""
    target = {"label": "yes", "margin": "1/2", "least": None}
    claim = {"status": "feasible", "distance": "1/4", "lower_bound": "1/8", "epsilon": "0"}
    content = changed((("question", "target"), target), (("claim",), claim),
                      (("witness",), ["4", "1/2", "a"]))  # fmt: skip
    assert verdict(RULE + 'target = "yes"', content) == "policy: target: its margin is 0.5, not 0"
    assert verdict(RULE + 'target = {label = "yes", margin = "0.5"}', content) == ""


def test_labels_are_compared_with_their_types() -> None:
    one = [(("program", "labels"), [0, 1]), (("question", "target"), {"label": 1})]
    for same in ("1", "1.0"):
        assert verdict(RULE + f"target = {same}", changed(*one)) == ""
    for other in ("true", "0.0", '"1"'):
        assert verdict(RULE + f"target = {other}", changed(*one)).startswith("policy: ")
    half = [(("program", "labels"), [{"float": "1"}, {"float": "1/2"}]),
            (("question", "target"), {"label": {"float": "1/2"}})]  # fmt: skip
    assert verdict(RULE + "target = 0.5", changed(*half)) == ""
    whole = [(("program", "labels"), [{"float": "0"}, {"float": "1"}]),
             (("question", "target"), {"label": {"float": "1"}})]  # fmt: skip
    assert verdict(RULE + "target = 1", changed(*whole)) == ""


def test_ranges_as_targets() -> None:
    content = changed(
        (("program", "labels"), None), (("program", "outputs"), [[[["x", 0], "1"]]]),
        (("question", "target"), {"lower": "3", "upper": None}),
    )  # fmt: skip
    assert verdict(RULE + "target = {lower = 3}", content) == ""
    assert verdict(RULE + "target = {lower = 2}", content) == "policy: target: another range"
    assert verdict(RULE + "target = {lower = 3, upper = 4}", content) != ""
    assert verdict(RULE + 'target = "yes"', content).startswith("policy: ")


def test_a_wider_range_is_another_unit_of_the_distance() -> None:
    """A lender who declares 0 to 1000 makes changes of n nearly free."""
    space = SPACE.replace("upper = 4", "upper = 1000", 1)
    claim = {"status": "feasible", "distance": "501/1000", "lower_bound": "0", "epsilon": "0"}
    changes = [(("features", 0, "upper"), "1000"), (("space",), space), (("claim",), claim)]
    away = {"l0": "1", "l1": "0", "linf": "0", "l2": "0"}
    stay = [(("proof",), {"radius": "0", "lemmas": [], "nodes": [["distance"]]})]
    content = changed(*changes, *stay, (("claim", "distance"), "1/1500"))
    cheap = "policy: 'n': its range 0 to 1000 is wider than 0 to 4, which makes its changes cheaper"
    assert verdict(OWN, content).startswith(cheap)
    counted = changed(*changes, *stay, (("question", "norms"), away),
                      (("claim", "distance"), "1/3"))  # fmt: skip
    assert verdict(OWN, counted) == "", "l0 has no unit"


def test_levels_are_a_unit_and_labels_are_none() -> None:
    stay = (("proof",), {"radius": "0", "lemmas": [], "nodes": [["distance"]]})
    claim = (("claim", "status"), "feasible"), (("claim", "lower_bound"), "0")
    space = (("space",), SPACE.replace('"categorical"', '"ordinal"'))
    content = changed((("features", 2, "kind"), "ordinal"), space, stay, *claim)
    own = of("code", kind="ordinal", labels=["a", "b", "c"])
    assert verdict(own, content) == ""
    assert verdict(of("code", kind="ordinal", labels=["a", "b"]), content) == (
        "policy: 'code': it has 3 levels, and the policy 2, which makes its changes cheaper than "
        "the policy's"
    )
    assert verdict(of("code", kind="categorical", labels=["a", "b"])) == ""


def test_the_double_nearest_to_a_decimal_is_admitted() -> None:
    """A certificate holds the double of 0.3, which is a little less; of 0.7, a little more."""
    for decimal in ("0.3", "0.7"):
        content = changed((("claim", "epsilon"), float(decimal).hex()))
        assert verdict(RULE + f"epsilon = {decimal}", content) == ""
        assert verdict(RULE + f'epsilon = "{decimal}"', content) == ""
    more = changed((("claim", "epsilon"), math.nextafter(0.7, 1).hex()))
    assert verdict(RULE + "epsilon = 0.7", more) == (
        "policy: epsilon is 0.7000000000000001, more than 0.7"
    )


def test_what_must_stay() -> None:
    space = SPACE.replace('dtype = "int64"', 'dtype = "int64"\naction = "fixed"')
    still = changed((("features", 0, "action"), "fixed"), (("space",), space),
                    (("witness",), ["1", "5/2", "a"]))  # fmt: skip
    assert verdict(RULE + 'fixed = ["n"]', still) == ""
    assert "it may change" in verdict(RULE + 'fixed = ["n"]')


@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(7, 10), Fraction(999, 1000),
                                    Fraction(1, 10), Fraction(7, 10**9)])  # fmt: skip
def test_the_lead_of_a_probability(chance: Fraction) -> None:
    """What cfxc writes lies in the enclosure, and that is as wide as it says."""
    low, high = policy.lead_of(chance)
    assert low <= max(logit(chance), Fraction(0)) <= high
    finer, odds = Context(prec=120), chance / (1 - chance)
    ratio = finer.divide(Decimal(odds.numerator), Decimal(odds.denominator))
    exact = max(Fraction(finer.ln(ratio)), Fraction(0))
    assert high >= exact + policy.NEARLY
    assert low <= max(exact - policy.NEARLY, Fraction(0))
    assert high - low <= 2 * policy.NEARLY + Fraction(1, 10**44)


def test_a_probability_in_a_policy() -> None:
    """The lead may be the logit, and no less, nor more, than single floats make of it."""
    wanted = RULE + 'target = {label = "yes", probability = 0.7}'
    low, high = policy.lead_of(Fraction(7, 10))
    stay = (("proof",), {"radius": "0", "lemmas": [], "nodes": [["distance"]]})
    claim = {"status": "feasible", "distance": "1/4", "lower_bound": "0", "epsilon": "0"}
    for margin, holds in (
        (logit(Fraction(7, 10)), True), (low, True), (low - Fraction(1, 10**43), False),
        (high + Fraction(1, 10**43), False),
    ):  # fmt: skip
        target = {"label": "yes", "margin": str(margin), "least": None}
        content = changed((("question", "target"), target), (("claim",), claim), stay,
                          (("witness",), ["4", "1/2", "a"]))  # fmt: skip
        assert (verdict(wanted, content) == "") == holds


def test_sparse_is_what_the_number_of_features_makes_of_it() -> None:
    norms = {"l0": "3/4", "l1": "1/4", "linf": "0", "l2": "0"}
    stay = (("proof",), {"radius": "0", "lemmas": [], "nodes": [["distance"]]})
    claim = {"status": "feasible", "distance": "7/24", "lower_bound": "0", "epsilon": "0"}
    content = changed((("question", "norms"), norms), (("claim",), claim), stay)
    assert verdict(RULE + 'norms = "sparse"', content) == ""
    assert verdict(RULE + "norms = {l0 = 0.75, l1 = 0.25}", content) == ""


def test_features_that_a_policy_does_not_name() -> None:
    """They could be fixed, or have a range of one value: a policy says if that is all right."""
    part = of("n", kind="integer").replace('others = "any"\n', "")
    left = 'policy: it says nothing of "x", "code", and not others = \'any\''
    assert verdict(part) == left
    assert verdict(OWN.replace('others = "any"\n', "")) == ""


def test_constraints_with_the_factual_s_values() -> None:
    """The policy says ``factual.NAME``; the question has the numbers."""
    rules = [["ge", [[["x", 0], "1"], [["one", 0], "-1"]]], ["gt", [[["is", 2, 0], "-1"],
             [["one", 0], "2"]]]]  # fmt: skip
    content = changed((("question", "constraints"), rules))
    shown = checker.check(content)
    assert facts(shown)["constraints"] == ["n >= 1", '[code = "a"] < 2']
    good = "others = 'any'\nconstraints = ['n >= factual.n', '[code = factual.code] < 2']"
    assert verdict(good, content) == ""
    assert "n >= 1" in verdict("constraints = ['n >= factual.x']", content)


def test_numbers_that_are_not_printed_in_full_match_nothing() -> None:
    third = ["ge", [[["x", 1], "-1"], [["one", 0], f"{4 * 3**40}/{3**40 - 1}"]]]
    content = changed((("question", "constraints"), [third]))
    (rule,) = facts(checker.check(content))["constraints"]
    assert "about " in rule
    assert verdict(f"constraints = ['{rule}']", content).startswith("policy: it has no constraint")


def lines() -> tuple[pd.DataFrame, Any]:
    """Rows, and a line through them for each of three grades."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.integers(18, 80, 99), "pay": rng.normal(30, 9, 99).round(2)})
    grades = np.where(rows["pay"] + rows["age"] / 4 > 42, 2, rows["age"] > 50)
    return rows, LogisticRegression(max_iter=5000).fit(rows, grades)


@pytest.mark.parametrize("when", ["age >= 40", "age <= 90"])
def test_what_changes_under_a_condition_was_asked_so(when: str) -> None:
    """A question without it gives an answer that the policy may not allow."""
    rows, model = lines()
    space = cfxc.FeatureSpace.infer(rows)
    bound = space.replace("pay", action="conditional", condition=when)
    row = rows[model.predict(rows) == 0].iloc[[0]]
    asked, free = (
        cfxc.compile(model, one).explain(row, target=2).certificate.to_dict()
        for one in (bound, space)
    )
    (rule,) = facts(checker.check(asked))["constraints"]
    own = float(row["pay"].iloc[0])
    listed = rule.replace(
        f"pay >= {own} and pay <= {own}", "pay >= factual.pay and pay <= factual.pay"
    )
    unasked = "'pay': the answer changes it, and its condition was not asked: "
    for held in ([listed], [rule]):
        text = f"constraints = {held}\n{bound.to_toml()}"
        assert verdict(text, asked) == ""
        assert verdict(text, free) == f"policy: {unasked}{held[0]}"
    silent = verdict(bound.to_toml(), free)
    assert silent == f"policy: {unasked}list it in the policy's constraints, as the check prints it"
    other = f"constraints = ['age >= factual.pay', {rule!r}]\n{space.to_toml()}"
    assert verdict(other, free) == ""


def test_a_probability_is_of_two_labels() -> None:
    """Who leads each of two others by its logit may have less."""
    rows, model = lines()
    model.coef_[1], model.intercept_[1] = model.coef_[0], model.intercept_[0]
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(rows))
    row = rows[model.predict(rows) == 0].iloc[[0]]
    result = compiled.explain(row, target=2, subject_to=[cfxc.Margin(math.log(4))])
    assert model.predict_proba(result.counterfactual)[0, 2] < 0.8
    wanted = 'constraints = []\nothers = "any"\ntarget = {label = 2, probability = 0.8}'
    said = verdict(wanted, result.certificate.to_dict())
    assert said == "policy: target: a lead is no probability of one label among several"


def test_what_a_policy_leaves_open_is_said() -> None:
    own = 'target = "yes"\nnorms = "l1"\nepsilon = 1\n'
    assert policy.Policy(own + SPACE).silent == []
    assert policy.Policy(own + RULE).silent == ["features that it does not name"]
    half = SPACE.replace("upper = 4", "")
    assert half != SPACE
    assert policy.Policy(half).silent == [
        "the target", "the distance", "epsilon", "the ranges of some features"
    ]  # fmt: skip


def test_over_the_interface(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(OWN, "utf-8")
    assert cfxc.check(changed(), policy=path).ok
    path.write_text("fixed = ['cod', 'n']\nothers = 'any'", "utf-8")
    found = cfxc.check(changed(), policy=str(path))
    assert found.reason == (
        "policy: the question has no feature 'cod', which is to be fixed; did the policy mean "
        "'code'?; 'n': it may change, and the policy fixes it; it has no constraint x <= 4"
    )
    assert found.shown is None
    path.write_text("version = 1", "utf-8")
    for text in ('target = "yes"', "epsilon = 0.01"):
        with pytest.raises(WrongInput, match="no policy: it names no feature; write"):
            policy.Policy(text)
    with pytest.raises(InvalidInputError, match=r"no policy: it states nothing of what a question"):
        cfxc.check(changed(), policy=path)
    path.write_bytes(b"\xff")
    with pytest.raises(InvalidInputError, match=r"policy.toml: cannot be read: not UTF-8 text"):
        cfxc.check(changed(), policy=path)
    with pytest.raises(InvalidInputError, match=r"none.toml: cannot read the policy: no such file"):
        cfxc.check(changed(), policy=tmp_path / "none.toml")


@pytest.mark.parametrize("empty", [None, float("nan")], ids=["none", "nan"])
def test_a_space_says_how_a_missing_category_is_written(empty: object) -> None:
    table = pd.DataFrame({"a": pd.Series(["x", empty, "y", "x"] * 5, dtype=object), "n": range(20)})
    encode = make_column_transformer((OneHotEncoder(), ["a"]), remainder="passthrough")
    tree = make_pipeline(encode, DecisionTreeClassifier(random_state=0)).fit(table, table["n"] > 9)
    model = cfxc.compile(tree, cfxc.FeatureSpace.infer(table))
    assert cfxc.check(model.explain(table.iloc[[1]], target=True).certificate).ok


def test_the_policy_of_the_page_is_one() -> None:
    """And every key that is read is in its table."""
    page = Path(__file__).parents[2] / "docs" / "how-to" / "certificates.md"
    text = page.read_text("utf-8")
    example = text.split("```toml\n")[1].split("```")[0]
    assert policy.Policy(example).norms == [0, 1, 0, 0]
    table = "".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| "))
    assert [name for name in policy.POLICY if f"`{name}`" not in table and name != "feature"] == []
    assert [name for name in policy.FIELDS if f"`{name}`" not in table] == []
