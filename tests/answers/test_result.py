"""What answers look like: exact numbers, plain values, JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.answers.cells import changes_between
from cfxc.datasets.source import Dataset
from cfxc.errors import DataTypeError, InvalidInputError
from cfxc.methods import plans
from cfxc.methods.plans.answer import Member
from cfxc.methods.plans.corrections import Corrected
from cfxc.show.numbers import shown
from cfxc.solvers.base import Call, Outcome

F = Fraction
TABLE = pd.DataFrame({"a": [1, 42, 20, 7], "b": np.float32([0.1, 0.2, 0.3, 0.7])})


def model() -> cfxc.CompiledModel:
    tree = DecisionTreeClassifier(random_state=0).fit(TABLE, [0, 0, 1, 1])
    return cfxc.compile(tree, cfxc.FeatureSpace.infer(TABLE, resolution={"b": 0.1}))


@given(st.fractions(min_value=0, max_denominator=10**9), st.sampled_from([-1, 1]))
def test_shown_numbers_err_on_the_safe_side(value: Fraction, side: int) -> None:
    text = Fraction(shown(value, side))
    assert (text - value) * side >= 0
    assert abs(text - value) <= value / 10**5


@pytest.mark.parametrize(
    ("value", "side", "text"),
    [
        (F(1, 20), 1, "0.05"), (F(1, 20), -1, "0.05"), (F(1, 40), 1, "0.025"),
        (F(1, 3), 1, "0.333334"), (F(1, 3), -1, "0.333333"), (F(0), 1, "0"), (F(0), -1, "0"),
        (F(10) ** 300, 1, "1E+300"), (F(1, 10**9), -1, "1E-9"), (F(123456789), 1, "123457000"),
    ],
    ids=str,
)  # fmt: skip
def test_shown(value: Fraction, side: int, text: str) -> None:
    assert shown(value, side) == text


def test_changes_keep_their_types_and_floats_their_width() -> None:
    answer = model().explain(TABLE.iloc[[1]], epsilon=1e-6)
    ((name, (before, after)),) = answer.changes.items()
    found = {"a": int, "b": float}[name]
    assert type(before) is found
    assert type(after) is found
    moved = replace(answer, counterfactual=TABLE.iloc[[3]])
    assert moved.changes["a"] == (42, 7)
    assert repr(moved.changes["b"]) == "(0.2, 0.7)"


def test_json_round_trip() -> None:
    answer = model().explain(TABLE.iloc[[1]], count=2)
    shown_as = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert shown_as["factual"] == {"a": 42, "b": 0.2}
    assert len(shown_as["alternatives"]) == 1
    again = model().explain(shown_as["factual"])
    assert again.exact_distance == answer.exact_distance


def test_exact_numbers_enclose_the_rounded_ones() -> None:
    answer = model().explain(TABLE.iloc[[1]])
    assert answer.exact_distance is not None
    assert answer.distance is not None
    assert F(answer.lower_bound) <= answer.exact_lower_bound <= answer.exact_distance
    assert answer.exact_distance <= F(answer.distance)


def test_fewer_alternatives_than_asked_for() -> None:
    tree = DecisionTreeClassifier().fit(TABLE[["a"]], [0, 0, 1, 1])
    narrow = cfxc.FeatureSpace.infer(TABLE[["a"]]).replace("a", lower=40, upper=42)
    narrow_model = cfxc.compile(tree, narrow)
    assert narrow_model.explain(pd.DataFrame({"a": [42]}), target=1).stop_reason == ""
    tree = DecisionTreeClassifier().fit([[0], [1], [2]], [0, 1, 1])
    three = cfxc.compile(tree, cfxc.FeatureSpace.infer(pd.DataFrame({"a": [0, 1, 2]})))
    answer = three.explain(pd.DataFrame({"a": [0]}), count=5)
    assert [one.changes["a"][1] for one in answer.all()] == [1, 2]
    assert answer.stop_reason == "infeasible"
    assert three.explain(pd.DataFrame({"a": [0]}), count=2).stop_reason == ""


def test_margins_prove_nothing() -> None:
    calls = [Call(0.2, "unsat", 0.1, "z3", margin=0.5), Call(0.1, "unsat", 0.1, "bounds")]
    assert Outcome(calls=calls[:1]).proved_by == ()
    assert Outcome(calls=calls).proved_by == ("bounds",)
    assert Outcome(calls=calls, provers=("box search",)).proved_by == ("bounds", "box search")


@pytest.mark.parametrize("rows", [[1, 2], None, TABLE["a"]], ids=["list", "none", "series"])
def test_predict_takes_tables(rows: object) -> None:
    with pytest.raises(DataTypeError, match="DataFrame"):
        model().predict(rows)


def test_predict_takes_rows() -> None:
    with pytest.raises(InvalidInputError, match="no rows"):
        model().predict(TABLE.iloc[:0])


@pytest.mark.parametrize("seeds", [[1, 2], "a"], ids=["list", "text"])
def test_seeds_are_a_table(seeds: object) -> None:
    with pytest.raises(DataTypeError, match="seeds"):
        model().explain(TABLE.iloc[[1]], seeds=seeds)


def test_features_that_are_called_like_factual_values() -> None:
    """What is excluded speaks of the features, whatever they are called."""
    table = pd.DataFrame({"y": [0, 1, 2, 3], "factual.y": [3, 2, 1, 0], "%0": [0, 1, 0, 1]})
    tree = DecisionTreeClassifier(random_state=0).fit(table, [0, 0, 1, 1])
    compiled = cfxc.compile(tree, cfxc.FeatureSpace.infer(table))
    found = compiled.explain(table.iloc[[0]], target=1, count=5).all()
    rows = {tuple(one.counterfactual.iloc[0]) for one in found if one.counterfactual is not None}
    assert len(rows) == len(found) == 5


def test_a_condition_may_end_in_a_comment() -> None:
    space = cfxc.FeatureSpace.infer(TABLE, resolution={"b": 0.1}).replace(
        "a", action="conditional", condition="b > factual.b  # never alone"
    )
    tree = DecisionTreeClassifier(random_state=0).fit(
        TABLE[["a"]].assign(b=TABLE["b"]), [0, 0, 1, 1]
    )
    answer = cfxc.compile(tree, space).explain(TABLE.iloc[[1]])
    assert answer.status == "optimal"
    assert "a" not in answer.changes or "b" in answer.changes


@pytest.mark.parametrize("unknown", ["ignore", "error"])
@pytest.mark.parametrize("marker", [None, np.nan], ids=["None", "NaN"])
def test_a_missing_category_is_one_that_the_model_takes(unknown: str, marker: object) -> None:
    cells = pd.Series(["law", marker, "it", "law", marker, "it"] * 20, dtype=object)
    table = pd.DataFrame({"c": cells, "n": np.arange(120) % 7})
    encode = ColumnTransformer(
        [("c", OneHotEncoder(handle_unknown=unknown), ["c"]), ("n", "passthrough", ["n"])]
    )
    tree = make_pipeline(encode, DecisionTreeClassifier(max_depth=2))
    compiled = cfxc.compile(tree.fit(table, cells.isna()), cfxc.FeatureSpace.infer(table))
    answer = compiled.explain(table.iloc[[0]])
    assert (answer.status, answer.outcome_after) == ("optimal", True)
    assert answer.counterfactual is not None
    assert tree.predict(answer.counterfactual)[0]
    assert answer.changes == {"c": ("law", None)}
    people = compiled.explain_batch(table.iloc[:4], target=True)
    assert people["status"].tolist() == ["optimal", "unchanged", "optimal", "optimal"]
    assert tree.predict(answer.to_frame())[-1]


def test_changes_between_rows_with_missing_values() -> None:
    before = pd.DataFrame({"c": pd.Series([pd.NA, "a", pd.NA, None], dtype=object)})
    after = pd.DataFrame({"c": pd.Series(["a", pd.NA, np.nan, "a"], dtype=object)})
    assert changes_between(before, after) == [
        {"c": (None, "a")}, {"c": ("a", None)}, {}, {"c": (None, "a")},
    ]  # fmt: skip


def test_answers_are_equal_to_themselves_alone() -> None:
    first, second = (model().explain(TABLE.iloc[[1]]) for _ in range(2))
    assert first == first
    assert first != second
    assert first in [second, first]
    assert len({first, second, first}) == 2


@pytest.mark.parametrize(
    "kind",
    [
        cfxc.Result, cfxc.PlanResult, cfxc.PotentialResult, cfxc.Moments, plans.RobustPlan,
        plans.Surrogate, plans.LocalMoments, Dataset, Member, Corrected,
    ],
)  # fmt: skip
def test_what_holds_tables_compares_by_identity(kind: type) -> None:
    """Tables and arrays have no truth value, and so no equality that a field could use."""
    assert kind.__eq__ is object.__eq__
    assert kind.__hash__ is object.__hash__
