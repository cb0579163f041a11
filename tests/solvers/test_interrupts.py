"""Ctrl-C: the best answer so far, with what is proved about it."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.model import CompiledModel

TABLE = pd.DataFrame({"a": [0, 1, 2, 3, 4, 5], "b": [3, 1, 4, 1, 5, 9]})


class Broken:
    """A model during whose second prediction after the factual's somebody presses Ctrl-C."""

    task = "classifier"
    adds_singles, unit_roundoff = False, Fraction(1, 2**53)

    def __init__(self, tree: Any, after: int, times: int = 1000) -> None:
        self.tree, self.left, self.times = tree, after, times
        self.classes = tuple(tree.classes_.tolist())

    def predict(self, frame: pd.DataFrame) -> Any:
        if not self.left and self.times:
            self.times -= 1
            raise KeyboardInterrupt
        self.left -= 1
        return np.asarray(self.tree.predict(frame))


@pytest.mark.parametrize("method", ["smt", "mio"])
def test_a_search_broken_off_says_so(method: str) -> None:
    tree = DecisionTreeClassifier().fit(TABLE, [0, 0, 0, 1, 1, 1])
    model = cfxc.compile(tree, cfxc.FeatureSpace.infer(TABLE))
    broken = CompiledModel(model.program, model.space, Broken(tree, 1))
    answer = broken.explain(TABLE.iloc[[0]], method=method)
    assert (answer.status, answer.reason) == ("unknown", "interrupted")
    assert answer.lower_bound == 0


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def test_box_search_asks_the_model_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = RandomForestClassifier(9, random_state=0).fit(TABLE, [0, 0, 1, 1, 1, 0])
    model = cfxc.compile(forest, cfxc.FeatureSpace.infer(TABLE))
    assert model.explain(TABLE.iloc[[0]]).status == "optimal"
    monkeypatch.setattr(sys.modules["cfxc.solvers.box_search.thread_pool"], "run", interrupt)
    answer = model.explain(TABLE.iloc[[0]])
    assert (answer.status, answer.reason) == ("feasible", "interrupted")
    assert (answer.outcome_before, answer.outcome_after) == (0, 1)
    broken = CompiledModel(model.program, model.space, Broken(forest, 0, times=1))
    answer = broken.explain(TABLE.iloc[[0]])
    assert (answer.status, answer.reason) == ("feasible", "interrupted")  # a row that is known


@pytest.mark.parametrize("method", ["box", "smt", "mio"])
def test_no_further_answers_are_looked_for(method: str) -> None:
    tree = DecisionTreeClassifier().fit(TABLE, [0, 0, 0, 1, 1, 1])
    model = cfxc.compile(tree, cfxc.FeatureSpace.infer(TABLE))
    broken = CompiledModel(model.program, model.space, Broken(tree, 2))
    answer = broken.explain(TABLE.iloc[[0]], method=method, count=3)
    assert answer.status == "optimal"
    assert len(answer.all()) < 3
