"""The deployed model refuses what the exact program accepts: margins grow until it does not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from onnx import TensorProto, helper, numpy_helper

import cfxc
from cfxc import FeatureSpace
from cfxc.frontends.predictor import SINGLE
from cfxc.question.query import make_query
from cfxc.solvers.box_search.engine import BoxSearch
from cfxc.solvers.rounding import deployed_slack, margins_of
from tests.frontends.onnx.support import node
from tests.solvers.test_ties import forest, grid

GRID = pd.DataFrame(list(product(range(12), repeat=2)), columns=["a", "b"])


def cancelling() -> cfxc.CompiledModel:
    """0.1 a + 0.3 b + 2²² > 2.5 + 2²² in single floats, which there are 1/2 apart."""
    made = helper.make_graph(
        [
            node("Mul", "X w", "p"), node("ReduceSum", "p axis", "s", keepdims=0),
            node("Add", "s n", "t"), node("Greater", "t five", "Y"),
        ],
        "cancelling",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("Y", TensorProto.BOOL, None)],
        [
            numpy_helper.from_array(np.float32([0.1, 0.3]), "w"),
            numpy_helper.from_array(np.float32(2.0**22), "n"),
            numpy_helper.from_array(np.float32(2.0**22 + 2.5), "five"),
            numpy_helper.from_array(np.array([1]), "axis"),
        ],
    )  # fmt: skip
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return cfxc.compile(model, FeatureSpace.infer(GRID))


def away(rows: pd.DataFrame, own: int, width: int) -> Any:
    return (np.abs(rows - rows.iloc[own]) / width).mean(axis=1).to_numpy()


@pytest.mark.parametrize("method", ["smt", "mio"])
def test_networks_that_refuse_points_near_the_cut(method: str) -> None:
    compiled = cancelling()
    said, exact = compiled.predict(GRID), (GRID @ [0.1, 0.3] > 2.5001).to_numpy()
    refused = exact & (said == 0)
    assert refused.any()  # float32 rounds what is added to 2²²
    far = away(GRID, 0, 11)
    result = compiled.explain(GRID.iloc[[0]], target=1, method=method, epsilon=1e-6)
    assert result.counterfactual is not None
    assert compiled.predict(result.counterfactual)[0] == 1
    if method == "smt":
        assert result.distance == pytest.approx(far[said == 1].min())
    assert result.lower_bound <= far[exact].min() + 1e-9 < result.distance
    assert result.status == "feasible"


def test_margins_grow_from_a_share_of_the_slack() -> None:
    compiled = cancelling()
    factual = compiled.space.encode_row(GRID.iloc[[0]])
    query = make_query(compiled.program, compiled.space, factual, target=1)
    single = replace(query, unit=SINGLE)
    slack, found = deployed_slack(single, SINGLE), list(margins_of(single))
    assert found[:8] == [slack * Fraction(2) ** k for k in range(-6, 2)]
    assert all(a < b for a, b in pairwise(found))
    wide = list(margins_of(replace(single, slack=slack)))
    assert wide[:2] == [slack, slack * Fraction(65, 64)]
    assert list(margins_of(replace(single, slack=slack), Fraction(1)))[:2] == [2 * slack, 3 * slack]


@pytest.mark.parametrize("semantics", ["real", "float"])
def test_forests_give_the_nearest_row_that_is_accepted(semantics: Any) -> None:
    _, compiled, said = forest(30)
    rows, feasible = grid(), 0
    for own in np.flatnonzero(said[0] == 0)[::12].tolist():
        try:
            result = compiled.explain(rows.iloc[[own]], target=1, semantics=semantics, epsilon=1e-6)
        except cfxc.errors.InvalidInputError:
            continue  # the exact program says that the person has it
        nearest = away(rows, own, 4)[said[0] == 1].min()
        assert result.distance == pytest.approx(nearest, abs=1e-9)
        feasible += result.status == "feasible"
    assert feasible or semantics == "real"


def test_a_row_is_at_hand_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The long part finds nothing in its time; what wins clearly was secured before."""
    _, compiled, said = forest(30, pure=True)

    def late(search: BoxSearch, *_: Any) -> None:
        search.outcome.reason, search.deadline = "time limit", 0.0

    monkeypatch.setattr(BoxSearch, "_tighten", lambda *_: False)
    monkeypatch.setattr(BoxSearch, "_close", late)
    for own in np.flatnonzero(said[0] == 0)[::40].tolist():
        result = compiled.explain(grid().iloc[[own]], target=1)
        assert result.outcome_after == 1
        assert result.reason == "time limit" or "within rounding" in result.reason
