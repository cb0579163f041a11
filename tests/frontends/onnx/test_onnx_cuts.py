"""Which output decides, and at which cut: as the runtime's own numbers say, on every row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from sklearn.linear_model import LogisticRegression

import cfxc
from cfxc.errors import CfxcError
from cfxc.ir import BatchEvaluator
from cfxc.space import FeatureSpace

from .support import X, export, graph, node, numbers, target

FRAME = numbers(800)
SPACE = FeatureSpace.infer(FRAME)
WORDS = np.array(["bad", "good"])[target(FRAME)]
MODEL = LogisticRegression().fit(FRAME.to_numpy(), WORDS)


def labels(made: Any) -> list[Any]:
    codes = BatchEvaluator(made.program)(SPACE.encode_frame(FRAME, check_range=False))["label"]
    return [made.predictor.classes[code] for code in codes]


@pytest.mark.parametrize("options", [{}, {"zipmap": False}])
@pytest.mark.parametrize("named", [{}, {"output": 1}])
@pytest.mark.parametrize("cut", [0.1, 0.3, 0.5, 0.925])
def test_the_cut_of_a_probability(options: Any, named: Any, cut: float) -> None:
    """Its classes are those that the graph names."""
    made = cfxc.compile(export(MODEL, FRAME, **options), SPACE, cut=cut, **named)
    chance = made.predictor.probabilities(FRAME)[:, 1].astype(float)
    expected = np.array(["bad", "good"])[(chance > cut).astype(int)].tolist()
    assert made.predict(FRAME).tolist() == expected == labels(made)
    assert len(set(expected)) == 2


def test_a_cut_is_explained_with_proof() -> None:
    made = cfxc.compile(export(MODEL, FRAME), SPACE, cut=0.8, favourable="good")
    row = FRAME[np.array(labels(made)) == "bad"].iloc[[0]]
    result = made.explain(row)
    assert result.status == "optimal"
    assert made.predictor.probabilities(result.counterfactual)[0, 1] > 0.8


TWO = graph(
    [
        node("MatMul", "X w", "z"), node("Sigmoid", "z", "p"), node("Tanh", "z", "t"),
    ],
    X, {"z": TensorProto.FLOAT, "p": TensorProto.FLOAT, "t": TensorProto.FLOAT},
    w=np.array([[1], [-1], [0.5], [0.25]], dtype=np.float32),
)  # fmt: skip


@pytest.mark.parametrize(
    ("options", "reads"),
    [
        ({"output": "p"}, ("p", 0.5)),
        ({"output": "p", "cut": 0.25}, ("p", 0.25)),
        ({"output": "z", "task": "classifier"}, ("z", 0.0)),
        ({"output": "z", "cut": -0.5}, ("z", -0.5)),
        ({"output": "t", "task": "classifier"}, ("t", 0.0)),
        ({"output": 2, "cut": 0.5}, ("t", 0.5)),
        ({"cut": 0.75}, ("p", 0.75)),
    ],
)
def test_outputs_by_name_and_position(options: Any, reads: tuple[str, float]) -> None:
    made = cfxc.compile(TWO, SPACE, **options)
    name, cut = reads
    expected = (made.predictor.run(FRAME)[name].ravel().astype(float) > cut).astype(int).tolist()
    assert made.predict(FRAME).tolist() == expected == labels(made)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "several outputs could be the prediction"),
        ({"output": "q"}, r"no output 'q'; output= is one of \['z', 'p', 't'\]"),
        ({"output": True}, "no output True"),
        ({"output": "p", "cut": 1}, r"cut=1 is not in \[0, 1\)"),
        ({"output": "p", "cut": "high"}, "is no number"),
        ({"output": "z", "cut": 0.5, "task": "regressor"}, "leave task='regressor' out"),
    ],
)
def test_what_contradicts_the_outputs(options: Any, message: str) -> None:
    with pytest.raises(CfxcError, match=message):
        cfxc.compile(TWO, SPACE, **options)
