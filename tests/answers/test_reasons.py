"""Reasons, beside all sets of features and all their values."""

from __future__ import annotations

import copy
import pickle
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.answers.reasons import MOST, needed, unrestricted
from cfxc.solvers.base import Candidate, verify

TABLE = pd.DataFrame(list(product(range(3), range(3), range(2), range(3))), columns=[*"abcd"])
MODELS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(7, max_depth=3, random_state=1),
    "linear": LogisticRegression(),
}


def outcomes(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    score = TABLE.to_numpy() @ rng.normal(size=4) + rng.normal(0, 0.7, len(TABLE))
    return np.where(score > np.quantile(score, 0.6), "yes", "no")


def flipping(model: Any, row: pd.Series[Any]) -> set[frozenset[str]]:
    """All sets of features of which some values alone give another outcome."""
    labels = model.predict(TABLE)
    own = model.predict(row.to_frame().T)[0]
    found = set()
    for names in chain.from_iterable(combinations(TABLE, n) for n in range(1, 5)):
        others = [name for name in TABLE if name not in names]
        same = (TABLE[others] == row[others]).all(axis=1) if others else labels == labels
        if (labels[same] != own).any():
            found.add(frozenset(names))
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_reasons_are_the_fewest_features_and_each_is_needed(name: str, seed: int) -> None:
    model = MODELS[name].fit(TABLE, outcomes(seed))
    space = cfxc.FeatureSpace.infer(TABLE, fixed=["a"], increase=["b"])
    compiled = cfxc.compile(model, space)
    refused = TABLE[model.predict(TABLE) == "no"]
    for _, row in refused.iloc[[0, 11, -1]].iterrows():
        sets = flipping(model, row)
        reasons = compiled.explain(row.to_frame().T, target="yes").reasons
        left = set(TABLE)
        for reason in reasons.found:
            members = frozenset(reason.changes)
            assert members in sets
            assert members <= left
            assert reason.fewest
            assert len(members) == min(len(each) for each in sets if each <= left)
            point = {**row, **{each: after for each, (_, after) in reason.changes.items()}}
            assert model.predict(pd.DataFrame([point]))[0] == "yes"
            left -= members
        further = [len(each) for each in sets if each <= left]
        assert reasons.ended == ("" if further else "infeasible")
        assert not further or len(set(TABLE) - left) + min(further) > MOST


def test_what_was_not_scored_is_never_a_reason() -> None:
    model = DecisionTreeClassifier(random_state=0).fit(TABLE, np.where(TABLE["c"], "yes", "no"))
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(TABLE, fixed=["c"]))
    answer = compiled.explain(TABLE.iloc[[0]])
    assert answer.status == "infeasible"
    assert [dict(one.changes) for one in answer.reasons.found] == [{"c": (0, 1)}]
    assert answer.reasons.ended == "infeasible"


def test_a_model_of_one_outcome_in_the_range_gives_no_reason() -> None:
    model = DecisionTreeClassifier(random_state=0).fit(TABLE, np.where(TABLE["a"] > 1, "y", "n"))
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(TABLE[TABLE["a"] < 2]))
    reasons = compiled.explain(TABLE.iloc[[0]]).reasons
    assert reasons.found == ()
    assert reasons.ended == "infeasible"


def test_a_missing_number_leaves_open_what_others_could_do() -> None:
    table = pd.DataFrame({"a": [0.0, 1, 2, np.nan], "b": [0, 1, 2, 3]})
    model = DecisionTreeClassifier(random_state=0).fit(table, ["n", "y", "y", "n"])
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(table))
    answer = compiled.explain(table.iloc[[3]], target="y")
    assert answer.reasons.ended in ("", "unknown")


def test_changes_that_are_not_needed_are_put_back() -> None:
    model = DecisionTreeClassifier(random_state=0).fit(TABLE, np.where(TABLE["c"], "yes", "no"))
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(TABLE))
    answer = compiled.explain(TABLE.iloc[[0]])
    query = unrestricted(answer.evidence.query)
    wasteful = {"a": 2, "b": 1, "c": 1, "d": 2}
    found = verify(query, wasteful, answer.deployed.flips)  # type: ignore[union-attr]
    assert isinstance(found, Candidate)
    assert needed(query, found, answer.deployed.flips) == {  # type: ignore[union-attr]
        "a": 0, "b": 0, "c": 1, "d": 0}  # fmt: skip


@pytest.mark.parametrize("numbers", ["int64", "float32", "float64"])
def test_answers_are_copied_and_pickled(numbers: str) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 9, (60, 3)) / 4, columns=[*"abc"]).astype(numbers)
    table["d"] = rng.choice(["x", "y"], 60)
    encode = make_column_transformer((OneHotEncoder(), ["d"]), remainder="passthrough")
    for estimator in (RandomForestClassifier(5, random_state=0), LogisticRegression()):
        model = make_pipeline(encode, estimator).fit(table, table["a"] + table["b"] > table["c"])
        compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(table))
        for more in ({}, {"count": 2, "diversity": cfxc.Diverse(0.5)}):
            answer = compiled.explain(table.iloc[[1]], **more)
            again = (pickle.loads(pickle.dumps(answer)), copy.deepcopy(answer))
            assert [one.to_dict() for one in again] == [answer.to_dict()] * 2
            proof = answer.certificate.content
            assert [one.certificate.content for one in again] == [proof] * 2


def test_a_pickled_answer_leaves_the_model_behind() -> None:
    model = DecisionTreeClassifier(random_state=0).fit(TABLE, np.where(TABLE["c"], "yes", "no"))
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(TABLE), favourable="yes")
    compiled = pickle.loads(pickle.dumps(compiled))  # as other processes get it
    answer = pickle.loads(pickle.dumps(compiled.explain(TABLE.iloc[[0]])))
    with pytest.raises(cfxc.UnsupportedError, match="ask again"):
        _ = answer.reasons
    unchanged = compiled.explain(TABLE[TABLE["c"] == 1].iloc[[0]])
    with pytest.raises(cfxc.UnsupportedError, match="already has the target outcome"):
        _ = unchanged.reasons
