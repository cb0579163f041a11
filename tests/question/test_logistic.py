"""Cuts of chances: as cuts of logits, to the side that admits more."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.ensemble import GradientBoostingClassifier

import cfxc
from cfxc import FeatureSpace
from cfxc.errors import UnsupportedError
from cfxc.ir import evaluate, ops, parse_program
from cfxc.ir.ops.smooth import sigmoid
from cfxc.question.target import Target, logit, target_program
from tests.frontends.onnx.support import node

F = Fraction
GRID = pd.DataFrame([(a, b) for a in range(9) for b in range(9)], columns=["a", "b"], dtype="int64")
WEIGHTS = np.float32([[0.6, -0.2, 0.1], [-0.3, 0.4, 0.2]])

HEADS: dict[str, list[Any]] = {
    "softmax at least": [node("Gather", "s one", "p", axis=1), node("GreaterOrEqual", "p t", "Y")],
    "softmax above": [node("Gather", "s one", "p", axis=1), node("Greater", "p t", "Y")],
    "softmax below": [node("Gather", "s one", "p", axis=1), node("Less", "p t", "Y")],
    "softmax at most": [node("Gather", "s one", "p", axis=1), node("LessOrEqual", "p t", "Y")],
    "first of two": [node("Gather", "s nought", "p", axis=1), node("Greater", "p t", "Y")],
    "turned round": [node("Gather", "s one", "p", axis=1), node("Less", "t p", "Y")],
    "a slice": [node("Slice", "s one two one", "p"), node("Greater", "p t", "Y")],
    "a difference": [
        node("Gather", "s one", "p", axis=1), node("Sub", "p t", "d"), node("Greater", "d z", "Y"),
    ],
    "the other chance": [
        node("Gather", "s one", "p", axis=1), node("Sub", "o p", "d"), node("Less", "d t", "Y"),
    ],
    "sigmoid": [
        node("Gather", "x one", "q", axis=1), node("Sigmoid", "q", "p"),
        node("Greater", "p t", "Y"),
    ],
    "sigmoids": [
        node("Sigmoid", "x", "q"), node("Gather", "q one", "p", axis=1),
        node("Greater", "p t", "Y"),
    ],
}  # fmt: skip


def graph(nodes: Sequence[Any], width: int, cut: float, kind: int = TensorProto.BOOL) -> Any:
    constants = {
        "w": WEIGHTS[:, :width], "b": np.float32([0.1, -0.5, 0])[:width], "t": np.float32([cut]),
        "one": np.array([1]), "two": np.array([2]), "nought": np.array([0]),
        "z": np.float32([0]), "o": np.float32([1]),
    }  # fmt: skip
    body = [node("Gemm", "X w b", "x"), node("Softmax", "x", "s"), *nodes]
    used = {name for each in body for name in each.input}
    made = helper.make_graph(
        body, "cut",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("Y", kind, None)],
        [numpy_helper.from_array(v, name) for name, v in constants.items() if name in used],
    )  # fmt: skip
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.mark.parametrize("cut", [0.3, 0.5, 0.85])
@pytest.mark.parametrize("head", HEADS)
def test_nearest_beside_enumeration(head: str, cut: float) -> None:
    compiled = cfxc.compile(graph(HEADS[head], 2, cut), FeatureSpace.infer(GRID))
    said, own = compiled.predict(GRID), 40
    assert len(set(said)) == 2
    away = (np.abs(GRID - GRID.iloc[own]) / 8).mean(axis=1).to_numpy()
    nearest = away[said != said[own]].min()
    result = compiled.explain(GRID.iloc[[own]], epsilon=1e-6)
    assert result.status == "optimal"
    assert result.distance == pytest.approx(nearest)
    assert result.lower_bound <= nearest
    kinds = (ops.Softmax, ops.Sigmoid)
    asked = target_program(compiled.program, Target(1), F(0))
    assert not any(isinstance(let.op, kinds) for let in asked.lets())  # every engine takes it


def test_three_classes_are_refused_with_a_reason() -> None:
    compiled = cfxc.compile(graph(HEADS["softmax above"], 3, 0.3), FeatureSpace.infer(GRID))
    with pytest.raises(UnsupportedError, match="softmax of 3 scores gives has no formula"):
        compiled.explain(GRID.iloc[[0]])


def test_a_chance_as_a_number() -> None:
    """A regressor whose value is a chance: ranges of it are ranges of the logit."""
    nodes = [node("Gather", "s one", "Y", axis=1)]
    made = graph(nodes, 2, 0.0, TensorProto.FLOAT)
    compiled = cfxc.compile(made, FeatureSpace.infer(GRID), task="regressor")
    values, own = compiled.predict(GRID), 40
    away = (np.abs(GRID - GRID.iloc[own]) / 8).mean(axis=1).to_numpy()
    for low, high in [(0.7, None), (None, 0.2), (0.6, 0.65)]:
        inside = (values >= (low or 0)) & (values <= (high or 1))
        result = compiled.explain(GRID.iloc[[own]], target=(low, high), epsilon=1e-6)
        assert result.distance == pytest.approx(away[inside].min())
    result = compiled.explain(GRID.iloc[[own]], target=(1.5, None))
    assert result.status == "infeasible"


def test_logits_lie_on_their_sides() -> None:
    for t in (F(3, 10), F(1, 2), F(1, 10**6), 1 - F(1, 10**9)):
        least, most = logit(t, -1), logit(t, 1)
        assert least < most <= least + F(1, 10**39) or (t == F(1, 2) and not least)
        assert sigmoid(least) <= t + F(1, 10**55)
        assert sigmoid(most) >= t - F(1, 10**55)


def test_cuts_that_every_chance_or_none_passes() -> None:
    program = parse_program("program p(x: Real) { p: Real = sigmoid(x) return value = p }")

    def holds(lower: Any, upper: Any) -> Any:
        asked = target_program(program, Target(lower=lower, upper=upper, is_range=True), F(0))
        return evaluate(asked, {"x": F(3)})["in_target"]

    assert holds(F(0), None)
    assert holds(F(-1), F(1))
    assert not holds(F(1), None)
    assert not holds(None, F(0))


def test_trees_whose_chance_is_cut_go_to_box_search() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 8, (200, 4)), columns=list("abcd"))
    y = (table.sum(axis=1) + rng.normal(size=200) > 14).astype(int)
    boosted = GradientBoostingClassifier(n_estimators=10, random_state=0)
    boosted.fit(table.to_numpy(np.float32), y)
    model: onnx.ModelProto = to_onnx(
        boosted, np.zeros((1, 4), np.float32), options={"zipmap": False}, target_opset=18
    )
    del model.graph.output[:]
    model.graph.initializer.extend(
        [numpy_helper.from_array(np.float32([0.3]), "t"),
         numpy_helper.from_array(np.array([1]), "one")]
    )  # fmt: skip
    model.graph.node.extend(
        [node("Gather", "probabilities one", "p", axis=1), node("Greater", "p t", "Y")]
    )
    model.graph.output.append(helper.make_tensor_value_info("Y", TensorProto.BOOL, None))
    if "" not in {one.domain for one in model.opset_import}:
        model.opset_import.append(helper.make_opsetid("", 18))
    compiled = cfxc.compile(model, FeatureSpace.infer(table))
    refused = table[compiled.predict(table) == 0].iloc[[0]]
    result = compiled.explain(refused)
    assert (result.status, result.proved_by) == ("optimal", "box search")
    assert result.lower_bound_proof == "search"
    assert cfxc.check(result.certificate, model=compiled).ok
