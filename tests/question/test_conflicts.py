"""Questions without an answer: the rules that leave none, and what giving one up costs."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import cfxc

TABLE = pd.DataFrame(
    {
        "age": [20, 25, 30, 35, 40, 45, 50, 55],
        "pay": [1, 2, 3, 4, 5, 6, 7, 8],
        "city": ["a", "b", "a", "b", "a", "b", "a", "b"],
    }
)
RICH = (TABLE.pay >= 5).astype(int)


@pytest.mark.parametrize("method", ["box", "smt"])
def test_one_rule_is_the_reason(method: str) -> None:
    tree = DecisionTreeClassifier().fit(TABLE[["pay"]], RICH)
    narrow = cfxc.compile(tree, cfxc.FeatureSpace.infer(TABLE[["pay"]], fixed=["pay"]))
    answer = narrow.explain(TABLE[["pay"]].iloc[[0]], method=method)
    assert (answer.status, answer.conflict) == ("infeasible", ("pay may not change",))
    assert answer.given_up == ("pay may not change",)
    assert answer.relaxed is not None
    assert answer.relaxed.changes == {"pay": (1, 5)}
    assert answer.relaxed.status == "optimal"
    assert cfxc.check(answer.relaxed.certificate).ok
    assert "Without 'pay may not change' there is one at 0.571429" in answer.summary()


@pytest.mark.parametrize("seed", range(6))
def test_every_rule_of_a_conflict_is_needed(seed: int) -> None:
    """Against enumeration over all subsets of the rules."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.integers(0, 5, (80, 3)), columns=list("abc"))
    target = (table.a + table.b * table.c > 6 + rng.normal(0, 1, 80)).astype(int)
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(table, target)
    rules = ["a <= 2", "b <= factual.b", "c <= 2", "a + b + c <= 6"]
    space = cfxc.FeatureSpace.infer(table, decrease=["c"])
    row = table[tree.predict(table) == 0].iloc[[seed]]
    answer = cfxc.compile(tree, space).explain(row, subject_to=rules)
    grid = np.array(np.meshgrid(*[np.arange(5)] * 3)).reshape(3, -1).T
    good = grid[tree.predict(pd.DataFrame(grid, columns=list("abc"))) == 1]
    own = row.iloc[0]
    tests: dict[str, Any] = {
        "a <= 2": good[:, 0] <= 2,
        "b <= factual.b": good[:, 1] <= own.b,
        "c <= 2": good[:, 2] <= 2,
        "a + b + c <= 6": good.sum(axis=1) <= 6,
        "c may only decrease": good[:, 2] <= own.c,
    }

    def possible(names: Any) -> bool:
        return bool(np.logical_and.reduce([tests[name] for name in names], initial=True).any())

    assert (answer.status == "infeasible") == (not possible(tests))
    if answer.status != "infeasible":
        assert answer.conflict == ()
        return
    assert not possible(answer.conflict)
    for fewer in combinations(answer.conflict, len(answer.conflict) - 1):
        assert possible(fewer)
    assert answer.relaxed is not None
    assert possible(set(tests) - set(answer.given_up))
    single = [name for name in tests if possible(set(tests) - {name})]
    assert len(answer.given_up) == 1 or not single


def test_there_may_be_none_at_all() -> None:
    """Nobody gets the label within the ranges, whatever may change: no rule is to blame."""
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
    tree = DecisionTreeClassifier().fit(table, [0, 0, 0, 1])
    space = cfxc.FeatureSpace.infer(table.iloc[:3], fixed=[])
    answer = cfxc.compile(tree, space).explain(table.iloc[[0]])
    assert (answer.status, answer.conflict, answer.relaxed) == ("infeasible", (), None)


def test_conditions_are_told_as_written() -> None:
    table = TABLE[["age", "pay"]].assign(age=[20, 40] * 4)
    line = LogisticRegression().fit(table, RICH)
    space = cfxc.FeatureSpace.infer(table, fixed=["age"]).replace(
        "pay", action="conditional", condition="x.age >= 30"
    )
    answer = cfxc.compile(line, space).explain(table.iloc[[0]])
    assert answer.status == "infeasible"
    condition = "pay may change only if x.age >= 30"
    assert answer.conflict == (condition, "age may not change")  # either one opens the way
    assert answer.given_up == (condition,)
    assert answer.to_dict()["conflict"] == list(answer.conflict)


@pytest.mark.parametrize("rule", [cfxc.MaxChanges(1), "x.age <= factual.age"])
def test_what_is_left_without_a_rule_has_a_certificate(rule: Any) -> None:
    table = TABLE[["age", "pay"]]
    line = LogisticRegression(C=100).fit(table, TABLE.age + 9 * TABLE.pay > 90)
    asked: dict[str, Any] = {"subject_to": [rule, "x.pay <= 4", "x.age <= 40"], "target": True}
    model = cfxc.compile(line, cfxc.FeatureSpace.infer(table))
    answer = model.explain(table.iloc[[0]], **asked, relax=["max_changes", "constraints"])
    assert answer.relaxed is not None
    assert cfxc.check(answer.relaxed.certificate).ok


def test_a_rule_whose_absence_does_not_help_leaves_the_reason() -> None:
    tree = DecisionTreeClassifier().fit(TABLE[["pay"]], RICH)
    model = cfxc.compile(tree, cfxc.FeatureSpace.infer(TABLE[["pay"]]))
    asked: dict[str, Any] = {"subject_to": ["x.pay <= 4", cfxc.MaxChanges(1)]}
    answer = model.explain(TABLE[["pay"]].iloc[[0]], **asked, relax=["max_changes"])
    assert answer.conflict == ("x.pay <= 4",)
    assert answer.relaxed is None  # nothing else is given up


@pytest.mark.parametrize("order", [("x.age <= 20", "x.pay <= 4"), ("x.pay <= 4", "x.age <= 20")])
def test_no_more_is_given_up_than_is_needed(order: tuple[str, str]) -> None:
    """Of those that may be, in whatever order: the pay alone decides."""
    tree = DecisionTreeClassifier().fit(TABLE[["age", "pay"]].assign(age=0), RICH)
    model = cfxc.compile(tree, cfxc.FeatureSpace.infer(TABLE[["age", "pay"]]))
    answer = model.explain(TABLE[["age", "pay"]].iloc[[0]], subject_to=[*order], relax=[*order])
    assert answer.given_up == ("x.pay <= 4",)
    assert answer.relaxed is not None
    assert list(answer.relaxed.changes) == ["pay"]


def test_how_sure_the_outcome_is_cannot_be_given_up() -> None:
    sure = cfxc.Probability(0.9)
    with pytest.raises(cfxc.InvalidInputError, match="is part of the outcome that is asked for"):
        cfxc.Question(subject_to=[sure], relax=[sure])
    with pytest.raises(cfxc.InvalidInputError, match="ask again with less, or without it"):
        cfxc.Question(subject_to=[sure], relax=["probability"])


def test_what_is_told_while_it_is_looked_for_why_is_of_the_question() -> None:
    """Not of those with less, which have answers."""
    tree = DecisionTreeClassifier().fit(TABLE[["pay"]], RICH)
    model, told = cfxc.compile(tree, cfxc.FeatureSpace.infer(TABLE[["pay"]])), list[Any]()
    asked: dict[str, Any] = {"subject_to": ["x.pay <= 4"], "progress": told.append}
    answer = model.explain(TABLE[["pay"]].iloc[[0]], **asked)
    assert answer.status == "infeasible"
    assert answer.relaxed is not None
    assert all(each.upper is None for each in told)


@pytest.mark.parametrize("method", ["auto", "mio", "smt"])
def test_a_model_that_says_the_same_of_all_rows(method: str) -> None:
    """Such as one whose penalty left no coefficient: no tree, no column, and no crash."""
    table = TABLE[["age", "pay"]]
    line = LogisticRegression().fit(table, RICH)
    line.coef_, line.intercept_ = np.zeros((1, 2)), np.array([1.0])
    answer = cfxc.compile(line, cfxc.FeatureSpace.infer(table)).explain(
        table.iloc[[0]], target=0, method=method
    )
    assert (answer.status, answer.conflict) == ("infeasible", ())
