"""An auditor's policy: what restricts people more than it does is rejected, and says where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.certificates import checker
from cfxc.certificates.auditing import policy
from cfxc.certificates.auditing.report import facts
from cfxc.errors import InvalidInputError
from tests.certificates.handmade import SPACE, changed

RULE = 'others = "any"\nconstraints = ["x <= 4"]\n'
OWN = RULE + SPACE


def verdict(text: str, content: Any = None) -> str:
    """Why a policy rejects a certificate that holds; empty if it does not."""
    shown = checker.check(changed() if content is None else content)
    try:
        policy.require_no_narrower(shown, text, facts(shown)["constraints"])
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
        of("n", kind="integer", lower=1, upper=3),
        of("n", kind="real", resolution=1, lower=0.5),
        of("n", kind="real", resolution="3"),
        of("n", kind="integer", action="increase"),
        of("n", kind="integer", action="fixed"),
        of("n", kind="integer", action="conditional"),
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
        'others = "any"\nconstraints = ["x <= 4", "n >= factual.n"]',
    ],
)
def test_as_wide_or_wider(text: str) -> None:
    assert verdict(text) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (of("m"), "policy: the question has no feature 'm'"),
        (of("n", lower=-1), "policy: 'n': the range is narrower"),
        (of("n", upper=4.5), "policy: 'n': the range is narrower"),
        (of("x", kind="real"), "policy: 'x': the grid is coarser"),
        (of("x", resolution="1/4"), "policy: 'x': the grid is coarser"),
        (of("x", resolution="0.7"), "policy: 'x': the grid is coarser"),
        (of("n", action="free"), "policy: 'n': the grid is coarser"),
        (of("n", weight=2), "policy: 'n': another weight"),
        (of("code", labels=["a", "d"]), "policy: 'code': labels are missing: [('str', 'd')]"),
        (of("code", labels=["a", 1]), "labels are missing: [('int', 1)]"),
        (of("code", kind="ordinal", labels=["a"]), "policy: 'code': another kind"),
        (of("code", kind="integer", lower=0), "policy: 'code': another kind"),
        (of("n", kind="binary"), "policy: 'n': another kind"),
        (RULE + "epsilon = 0.2", "policy: epsilon is larger"),
        (RULE + "epsilon = 1e-5", "policy: epsilon is larger"),
        (RULE + 'target = "no"', "policy: another target"),
        (RULE + 'target = "maybe"', "policy: question.target: no label of the program"),
        (RULE + "target = 1.5", "policy: question.target: no label of the program"),
        (RULE + 'target = {label = "yes", margin = "0.1"}', "policy: another target"),
        (RULE + "target = {lower = 1}", "policy: question.target: unknown or missing"),
        (RULE + "norms = [1, 0, 0, 0]", "policy: another distance"),
        ("", "policy: it has no constraint x <= 4"),
        ('constraints = ["x <= 3"]', "policy: it has no constraint x <= 4"),
        ("more = 1", "policy: unknown ['more']"),
        ("a = [", "policy: no TOML"),
        ("feature = [1]", "policy: malformed: TypeError"),
        ("feature = 1", "policy.feature: no list"),
        (of("n", lower="[]"), "policy: no number: '[]'"),
        (of("n", lower="nan"), "policy: no number: 'nan'"),
        (RULE + "[[feature]]\nname = 'n'\nlower = nan", "policy: malformed: ValueError"),
        (RULE + "[[feature]]\nname = 'n'\nlower = inf", "policy: malformed: OverflowError"),
        (of("n", weight="1" * 500), "policy: no number"),
        (RULE + "epsilon = true", "policy: no number: 'True'"),
    ],
)  # fmt: skip
def test_narrower(text: str, why: str) -> None:
    assert why in verdict(text)
    assert verdict(text).startswith("policy: ")


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
    assert verdict(still, content) == "", "what may not change need not"
    other = {"increase": "decrease", "decrease": "increase", "fixed": "increase"}[action]
    assert "may not change as it should" in verdict(of("n", action=other), content)


def test_more_than_the_outcome_is_not_what_a_policy_of_labels_wants() -> None:
    """A margin makes every change farther: the bound of another question."""
    target = {"label": "yes", "margin": "1/2", "least": None}
    claim = {"status": "feasible", "distance": "1/4", "lower_bound": "1/8", "epsilon": "0"}
    content = changed((("question", "target"), target), (("claim",), claim),
                      (("witness",), ["4", "1/2", "a"]))  # fmt: skip
    assert verdict(RULE + 'target = "yes"', content) == "policy: another target"
    assert verdict(RULE + 'target = {label = "yes", margin = "0.5"}', content) == ""


def test_labels_are_compared_with_their_types() -> None:
    one = [(("program", "labels"), [0, 1]), (("question", "target"), {"label": 1})]
    assert verdict(RULE + "target = 1", changed(*one)) == ""
    for other in ("true", "1.0", '"1"'):
        assert verdict(RULE + f"target = {other}", changed(*one)).startswith("policy: ")
    half = [(("program", "labels"), [{"float": "1"}, {"float": "1/2"}]),
            (("question", "target"), {"label": {"float": "1/2"}})]  # fmt: skip
    assert verdict(RULE + "target = 0.5", changed(*half)) == ""


def test_ranges_as_targets() -> None:
    content = changed(
        (("program", "labels"), None), (("program", "outputs"), [[[["x", 0], "1"]]]),
        (("question", "target"), {"lower": "3", "upper": None}),
    )  # fmt: skip
    assert verdict(RULE + "target = {lower = 3}", content) == ""
    assert verdict(RULE + "target = {lower = 2}", content) == "policy: another target"
    assert verdict(RULE + 'target = "yes"', content).startswith("policy: ")


def test_features_that_a_policy_does_not_name() -> None:
    """They could be fixed, or have a range of one value: a policy says if that is all right."""
    part = of("n", kind="integer").replace('others = "any"\n', "")
    assert verdict(part) == "policy: it says nothing of ['code'], and not others = 'any'"
    assert verdict('others = "all"\n' + part) == "policy: others is 'any', or is not there"
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


def test_over_the_interface(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(OWN, "utf-8")
    assert cfxc.check(changed(), policy=path).ok
    path.write_text("", "utf-8")
    found = cfxc.check(changed(), policy=str(path))
    assert found.reason == "policy: it has no constraint x <= 4"
    assert found.shown is None
    path.write_bytes(b"\xff")
    with pytest.raises(InvalidInputError, match=r"policy.toml: cannot be read: not UTF-8 text"):
        cfxc.check(changed(), policy=path)
    with pytest.raises(InvalidInputError, match=r"none.toml: cannot be read: No such file"):
        cfxc.check(changed(), policy=tmp_path / "none.toml")


@pytest.mark.parametrize("empty", [None, float("nan")], ids=["none", "nan"])
def test_a_space_says_how_a_missing_category_is_written(empty: object) -> None:
    table = pd.DataFrame({"a": pd.Series(["x", empty, "y", "x"] * 5, dtype=object), "n": range(20)})
    encode = make_column_transformer((OneHotEncoder(), ["a"]), remainder="passthrough")
    tree = make_pipeline(encode, DecisionTreeClassifier(random_state=0)).fit(table, table["n"] > 9)
    model = cfxc.compile(tree, cfxc.FeatureSpace.infer(table))
    assert cfxc.check(model.explain(table.iloc[[1]], target=True).certificate).ok
