"""Forests of ONNX whose votes tie but for rounding: bounds beside enumeration by onnxruntime."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import cfxc
from cfxc import FeatureSpace
from cfxc.errors import InvalidInputError

ORDERS = [(1, 4096), (2, 60), (3, 4096), (4, 60)]
"""Threads, and rows at once: both decide in which order votes are added."""


def grid() -> pd.DataFrame:
    return pd.DataFrame(list(product(range(5), repeat=4)), columns=list("abcd"))


def labels(model: bytes, rows: pd.DataFrame, threads: int, batch: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    numbers = rows.to_numpy(np.float32)
    parts = (numbers[i : i + batch] for i in range(0, len(numbers), batch))
    return np.concatenate([session.run(None, {"X": part})[0] for part in parts])


@cache
def forest(
    trees: int, classes: int = 2, *, pure: bool = False
) -> tuple[bytes, cfxc.CompiledModel, Any]:
    """An unrestricted forest on a small grid, and its label of every row in each order.

    ``pure``: no two people are alike, so that every leaf has one vote or none.
    """
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 5, (250, 4)), columns=list("abcd"))
    rows = grid().sample(250, random_state=0) if pure else rows
    score = rows.sum(axis=1) + rng.normal(size=250) * 2
    y = pd.qcut(score, classes, labels=False).to_numpy()
    fitted = RandomForestClassifier(trees, random_state=0).fit(rows.to_numpy(np.float32), y)
    content = to_onnx(fitted, np.zeros((1, 4), np.float32), options={"zipmap": False})
    model: bytes = content.SerializeToString()
    said = np.array([labels(model, grid(), *order) for order in ORDERS])
    return model, cfxc.compile(model, FeatureSpace.infer(grid())), said


def nearly_tied(compiled: cfxc.CompiledModel, count: int) -> list[int]:
    chances = np.sort(compiled.predictor.probabilities(grid()), axis=1)
    return np.argsort(chances[:, -1] - chances[:, -2], kind="stable")[:count].tolist()


@pytest.mark.parametrize(("trees", "classes"), [(10, 2), (30, 2), (20, 3)])
def test_no_bound_lies_above_a_row_that_onnxruntime_accepts(trees: int, classes: int) -> None:
    _, compiled, said = forest(trees, classes)
    rows = grid()
    for own in [*nearly_tied(compiled, 6), 3, 300, 555]:
        wanted = int(said[0][own] + 1) % classes
        away = (np.abs(rows - rows.iloc[own]) / 4).mean(axis=1).to_numpy()
        result = compiled.explain(rows.iloc[[own]], target=wanted, epsilon=1e-4)
        assert result.semantics == "float"
        assert ("as deployed" in result.summary()) == (result.lower_bound > 0)
        assert result.lower_bound <= away[(said == wanted).any(axis=0)].min() + 1e-12
        assert result.distance == pytest.approx(away[said[0] == wanted].min(), abs=1e-9)
        assert result.outcome_after == wanted
        assert cfxc.check(result.certificate).ok


def test_real_bounds_do_not_hold_of_tied_votes() -> None:
    """What the default guards against: the exact program refuses what some order accepts."""
    _, compiled, said = forest(50, pure=True)
    rows, broken = grid(), 0
    for own in np.flatnonzero(said[0] == 0)[::12].tolist():
        away = (np.abs(rows - rows.iloc[own]) / 4).mean(axis=1).to_numpy()
        nearest = away[(said == 1).any(axis=0)].min()
        real = compiled.explain(rows.iloc[[own]], target=1, epsilon=1e-4, semantics="real")
        assert real.semantics == "real"
        broken += real.lower_bound > nearest + 1e-9
        assert compiled.explain(rows.iloc[[own]], target=1).lower_bound <= nearest + 1e-12
    assert broken


def test_ties_that_every_order_decides_cost_nothing() -> None:
    _, compiled, _ = forest(10, pure=True)
    rows = grid()
    found = [compiled.explain(rows.iloc[[own]]) for own in nearly_tied(compiled, 6)]
    assert {one.status for one in found} == {"optimal"}
    assert {one.semantics for one in found} == {"float"}


def test_people_whose_own_votes_tie() -> None:
    """The deployed model's word decides what they have, not the exact program's."""
    _, compiled, said = forest(30)
    predict = compiled.predict(grid())
    assert (predict == said[0]).all()
    exact = np.array([
        cfxc.ir.evaluate(compiled.program, compiled.space.encode_row(grid().iloc[[i]]))["label"]
        for i in nearly_tied(compiled, 10)
    ])  # fmt: skip
    odd = [i for i, label in zip(nearly_tied(compiled, 10), exact, strict=True) if
           label != predict[i]]  # fmt: skip
    assert odd
    row = grid().iloc[[odd[0]]]
    result = compiled.explain(row)
    assert result.outcome_before != result.outcome_after
    assert result.lower_bound == 0  # in another order it may have the outcome already
    with pytest.raises(InvalidInputError, match="already has the outcome that is asked for"):
        compiled.explain(row, target=int(result.outcome_before))
    table = compiled.explain_batch(grid().iloc[odd[:2]])
    assert (table["status"] != "error").all()


def test_single_trees_and_doubles_need_no_slack() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 5, (120, 4)), columns=list("abcd"))
    y = (rows.sum(axis=1) > 8).astype(int)
    one = RandomForestClassifier(1, random_state=0).fit(rows.to_numpy(np.float32), y)
    model = to_onnx(one, np.zeros((1, 4), np.float32), options={"zipmap": False})
    compiled = cfxc.compile(model, FeatureSpace.infer(rows))
    person = rows[compiled.predict(rows) == 0].iloc[[0]]
    assert compiled.explain(person).semantics == "real"
    double = cfxc.compile(RandomForestClassifier(10).fit(rows, y), FeatureSpace.infer(rows))
    assert double.explain(person, target=1).semantics == "real"


def test_regressors_and_probabilities() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 5, (200, 4)), columns=list("abcd"))
    fitted = RandomForestRegressor(10, max_depth=4, random_state=0)
    fitted.fit(rows.to_numpy(np.float32), rows.sum(axis=1))
    model = to_onnx(fitted, np.zeros((1, 4), np.float32))
    compiled = cfxc.compile(model, FeatureSpace.infer(grid()))
    values, own = compiled.predict(grid()), 0
    end = float(np.sort(values)[400])  # a value that the model predicts, at the end of the range
    away = (np.abs(grid() - grid().iloc[own]) / 4).mean(axis=1).to_numpy()
    result = compiled.explain(grid().iloc[[own]], target=(end, None), epsilon=1e-4)
    assert result.semantics == "float"
    assert result.lower_bound <= away[values >= end].min() + 1e-12

    _, compiled, said = forest(30)
    chances = compiled.predictor.probabilities(grid())[:, 1]
    refused = int(np.flatnonzero(said[0] == 0)[0])
    away = (np.abs(grid() - grid().iloc[refused]) / 4).mean(axis=1).to_numpy()
    for share in (0.6, 0.8):  # 18 and 24 of 30 votes, but for rounding
        result = compiled.explain(
            grid().iloc[[refused]],
            subject_to=[cfxc.Probability(share)],
            epsilon=1e-4,
        )
        assert result.semantics == "float"
        assert result.lower_bound <= away[chances >= share].min() + 1e-12
