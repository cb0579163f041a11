"""Questions that are wrong whatever the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.errors import InvalidInputError

TABLE = pd.DataFrame({"age": [20, 30, 40, 50], "pay": [1.0, 2.5, 2.0, 4.0], "kind": list("abab")})


def model(**actions: list[str]) -> cfxc.CompiledModel:
    tree = DecisionTreeClassifier().fit(TABLE[["age", "pay"]], [False, False, True, True])
    space = cfxc.FeatureSpace.infer(TABLE[["age", "pay"]], **actions)
    return cfxc.compile(tree, space)


PERSON = TABLE[["age", "pay"]].iloc[[0]]


@pytest.mark.parametrize(
    ("constraints", "culprits"),
    [
        (["age > 35", "pay > 3", "age < 30"], ["age > 35", "age < 30"]),
        (["pay >= 1", "age > 60"], ["age > 60"]),
        (["age > pay", "pay == 2.25"], ["pay == 2.25"]),
        (["age > factual.age", "age <= 20"], ["age > factual.age", "age <= 20"]),
        ("age != age", ["age != age"]),
    ],
    ids=["two of three", "range", "grid", "factual", "one text"],
)
def test_contradictions_name_a_smallest_set(constraints: list[str], culprits: list[str]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        model().explain(PERSON, subject_to=constraints)
    assert [part for part in culprits if f"'{part}'" in str(caught.value)] == culprits
    assert str(caught.value).count("'") == 2 * len(culprits)


def test_contradictions_are_found_before_a_long_search() -> None:
    """Boxes alone would take longer than anybody waits to find out."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 12)).round(2), columns=list("abcdefghijkl"))
    boosted = HistGradientBoostingClassifier(random_state=0).fit(X, rng.random(400) < 0.5)
    model = cfxc.compile(boosted, cfxc.FeatureSpace.infer(X))
    person = X[~boosted.predict(X)].iloc[[0]]
    with pytest.raises(InvalidInputError, match="'a > 1', 'a < 0' contradict each other"):
        model.explain(person, target=True, subject_to=["a > 1", "b >= 0", "a < 0"], time_limit=5)


def test_what_actions_rule_out_is_no_contradiction() -> None:
    answer = model(fixed=["age"]).explain(PERSON, subject_to=["age > factual.age"])
    assert answer.status == "infeasible"
    assert answer.counterfactual is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("return abs(delta[1] - 0.3) - 0.1", "is -0."),
        ("return x.age - factual.age + 4 * delta[2] - 1/8", "is -0."),
        ("return (x.pay - 2) * (x.pay - 2) * (x.pay - 3)", "at "),
    ],
    ids=["dip", "features", "product"],
)
def test_negative_distances(text: str, part: str) -> None:
    with pytest.raises(InvalidInputError, match="distance") as caught:
        model().explain(PERSON, distance=text)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "return (x.pay - factual.pay) * (x.pay - factual.pay)",
        "return 2000000000 + delta[1]",
        "return 1e12 * delta[1] + delta[2]",
        "return max(0, abs(delta[1] - 0.3) - 0.1)",
        "d := x.age - factual.age; return ite(d < 0, -d, d)",
    ],
    ids=["square", "far", "steep", "flat", "conditional"],
)
def test_distances_of_any_size_have_a_nearest(text: str) -> None:
    answer = model().explain(PERSON, distance=text, epsilon=1e-6)
    assert answer.status == "optimal"
    assert answer.distance is not None
    assert answer.lower_bound <= answer.distance
