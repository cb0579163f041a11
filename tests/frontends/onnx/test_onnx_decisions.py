"""How classifiers answer: labels, ties, scores and signs, exactly as onnxruntime has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from onnx import TensorProto

from cfxc.errors import InvalidInputError, UnsupportedError
from cfxc.frontends.onnx import OnnxPredictor, lower
from cfxc.ir import Program, ops
from cfxc.space import FeatureSpace

from .support import FLOAT, agree, graph, node, numbers, run

LINE = pd.DataFrame({"x": [-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0]})
LINE_SPACE = FeatureSpace.infer(LINE, kinds={"x": "real"})
ONE = {"X": (TensorProto.FLOAT, [None, 1])}
SMOOTH = (ops.Sigmoid, ops.Softmax, ops.Tanh, ops.Exp)


def labels_and_scores(model: Any, space: FeatureSpace, frame: pd.DataFrame) -> OnnxPredictor:
    """Labels are onnxruntime's; so is every number that the program takes for its scores."""
    predictor = OnnxPredictor(model, space, "m.onnx")
    found, outputs = run(predictor.program, space, frame), predictor.run(frame)
    assert predictor.classes is not None
    labels = [predictor.classes[code] for code in found["label"]]
    assert labels == predictor.predict(frame).tolist() == outputs["L"].ravel().tolist()
    if "probability" in found:
        np.testing.assert_allclose(found["probability"], outputs["P"], atol=FLOAT)
    elif "score" in found and found["score"].ndim == 2:
        np.testing.assert_allclose(found["score"], outputs["P"], atol=FLOAT)
    return predictor


def classifier(made: Any, labels: Any) -> Any:
    kind = TensorProto.STRING if isinstance(labels[0], str) else TensorProto.INT64
    return graph([made], ONE, {"L": kind, "P": TensorProto.FLOAT})


def tree(labels: Any, ids: list[int], nodes: list[int], weights: list[float], **more: Any) -> Any:
    """A stump at x <= 0.5 with leaves 1 and 2, and a second tree that is a single leaf 0."""
    names = {"classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s": labels}
    return node(
        "ml.TreeEnsembleClassifier", "X", "L P",
        nodes_treeids=[3, 3, 3], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values=[0.5, 0.0, 0.0],
        nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
        class_treeids=[3] * len(ids), class_nodeids=nodes, class_ids=ids, class_weights=weights,
        **names, **more,
    )  # fmt: skip


TREES: dict[str, Any] = {
    "votes": ([5, 7], [0, 0], [1, 2], [0.3, 0.7], {}),
    "votes, tie": ([5, 7], [0, 0], [1, 2], [0.5, 0.7], {}),
    "votes of the second class": ([5, 7], [1, 1], [1, 2], [0.3, 0.7], {}),
    "votes of the second class, softmax": (
        [5, 7], [1, 1], [1, 2], [0.3, 0.7], {"post_transform": "SOFTMAX"},
    ),
    "votes of the second class, logistic": (
        [5, 7], [1, 1], [1, 2], [0.3, 0.7], {"post_transform": "LOGISTIC"},
    ),
    "votes, base, logistic": (
        [5, 7], [0, 0], [1, 2], [0.1, 0.7],
        {"base_values": [0.25], "post_transform": "LOGISTIC"},
    ),
    "votes, text": (["a", "b"], [0, 0], [1, 2], [0.3, 0.7], {}),
    "votes, one absent": (["a", "b"], [0], [2], [0.7], {}),
    "votes, logistic": ([5, 7], [0, 0], [1, 2], [0.3, 0.7], {"post_transform": "LOGISTIC"}),
    "votes, softmax": ([5, 7], [0, 0], [1, 2], [0.3, 0.7], {"post_transform": "SOFTMAX"}),
    "votes, base": ([5, 7], [0, 0], [1, 2], [0.1, 0.7], {"base_values": [0.25]}),
    "margins": ([5, 7], [0, 0], [1, 2], [-0.3, 0.7], {}),
    "margins, small": ([5, 7], [0, 0], [1, 2], [-0.3, 0.2], {}),
    "margins, text": (["a", "b"], [0, 0], [1, 2], [-0.3, 0.7], {}),
    "margins, zero": (["a", "b"], [0, 0, 0], [0, 1, 2], [-1.0, 0.0, 0.7], {}),
    "margins, logistic": ([5, 7], [0, 0], [1, 2], [-0.3, 0.7], {"post_transform": "LOGISTIC"}),
    "margins, softmax": ([5, 7], [0, 0], [1, 2], [-0.3, 0.7], {"post_transform": "SOFTMAX"}),
    "margins, base": ([5, 7], [0, 0], [1, 2], [-0.3, 0.7], {"base_values": [0.25]}),
    "margins, second": ([5, 7], [1, 1], [1, 2], [-0.3, 0.7], {}),
    "margins, second, logistic": (
        [5, 7], [1, 1], [1, 2], [-0.3, 0.7], {"post_transform": "LOGISTIC"},
    ),
    "both classes": ([0, 1], [0, 1, 0, 1], [1, 1, 2, 2], [0.9, 0.1, 1.0, 0.0], {}),
    "both classes, text": (["a", "b"], [0, 1, 0, 1], [1, 1, 2, 2], [0.9, 0.1, 1.0, 0.0], {}),
    "three": ([5, 7, 9], [0, 1, 2, 0, 1, 2], [1, 1, 1, 2, 2, 2], [0.2, 0.5, 0.3, 0.5, 0, 0.5], {}),
    "three, base": (
        [5, 7, 9], [0, 1, 2, 0, 1, 2], [1, 1, 1, 2, 2, 2], [0.2, 0.5, 0.3, 0.5, 0.0, 0.5],
        {"base_values": [0.0, 0.25, 0.25]},
    ),
    "three, softmax": (
        ["a", "b", "c"], [0, 1, 2, 0, 1, 2], [1, 1, 1, 2, 2, 2], [-0.2, 0.5, 0.3, 0.5, -1.0, 0.4],
        {"post_transform": "SOFTMAX"},
    ),
    "three, logistic": (
        ["a", "b", "c"], [0, 1, 2, 0, 1, 2], [1, 1, 1, 2, 2, 2], [-0.2, 0.5, 0.3, 0.5, -1.0, 0.4],
        {"post_transform": "LOGISTIC"},
    ),
    "three, absent but positive": ([5, 7, 9], [2, 1], [1, 2], [0.2, 0.5], {}),
    "three, base makes all present": (
        [5, 7, 9], [2, 1], [1, 2], [-0.2, -0.5], {"base_values": [0.0, 0.0, 0.0]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TREES)
def test_tree_labels(name: str) -> None:
    labels, ids, nodes, weights, more = TREES[name]
    labels_and_scores(
        classifier(tree(labels, ids, nodes, weights, **more), labels), LINE_SPACE, LINE
    )


@pytest.mark.parametrize(
    ("labels", "ids", "nodes", "weights", "more", "why"),
    [
        ([5, 7], [0, 1, 0, 1], [1, 1, 2, 2], [0.9, 0.1, 1.0, 0.0], {}, "answers 0 or 1"),
        ([0, 1], [0, 1], [1, 2], [0.9, 0.1], {}, "some leaves only"),
        ([5, 7, 9], [1, 2], [1, 2], [-1.0, -2.0], {}, "some leaves only"),
        ([5, 7], [0, 0], [1, 2], [0.1, 0.2], {"base_values": [0.1, 0.2]}, "base_values"),
        ([5, 7], [1, 1], [1, 2], [0.1, 0.2], {"base_values": [0.1]}, "base_values"),
        ([5, 7, 9], [1, 2], [1, 2], [0.1, 0.2], {"post_transform": "PROBIT"}, "PROBIT"),
        ([5], [0, 0], [1, 2], [0.1, 0.2], {}, "1 classes"),
        ([5, 7], [0, 0, 0], [1, 1, 2], [0.1, 0.2, 0.4], {}, "twice"),
        ([5, 7], [0, 4], [1, 2], [0.1, 0.2], {}, "outside"),
        ([5, 7], [0, 0], [1, 8], [0.1, 0.2], {}, "no node 8"),
        ([5, 7], [0, 0], [1, 2], [0.1, float("inf")], {}, "infinity"),
    ],
)
def test_tree_labels_that_are_not_determined(
    labels: Any, ids: Any, nodes: Any, weights: Any, more: Any, why: str
) -> None:
    model = classifier(tree(labels, ids, nodes, weights, **more), labels)
    with pytest.raises(UnsupportedError, match=why):
        lower(model, LINE_SPACE)


LINEAR: dict[str, Any] = {
    "one row": ([1.0], [-0.5], [5, 7], "NONE"),
    "one row, logistic": ([1.0], [-0.5], ["a", "b"], "LOGISTIC"),
    "one row, softmax": ([1.0], [-0.5], ["a", "b"], "SOFTMAX"),
    "opposite rows": ([-1.0, 1.0], [0.5, -0.5], [5, 7], "NONE"),
    "opposite rows, logistic": ([-1.0, 1.0], [0.5, -0.5], ["a", "b"], "LOGISTIC"),
    "opposite rows, softmax": ([-1.0, 1.0], [0.5, -0.5], ["a", "b"], "SOFTMAX"),
    "two rows": ([2.0, 3.0], [0.5, 0.0], ["a", "b"], "SOFTMAX"),
    "three rows": ([-1.0, 0.5, 1.0], [0.0, 0.25, 0.0], [9, 5, 7], "NONE"),
    "three rows, ties": ([-1.0, 1.0, -1.0], [0.0, 0.0, 0.0], [9, 5, 7], "SOFTMAX"),
    "three rows, logistic": ([-1.0, 0.5, 1.0], [0.0, 0.25, 0.0], [9, 5, 7], "LOGISTIC"),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_labels(name: str) -> None:
    coefficients, intercepts, labels, post = LINEAR[name]
    names = {"classlabels_strings" if isinstance(labels[0], str) else "classlabels_ints": labels}
    made = node(
        "ml.LinearClassifier", "X", "L P", coefficients=coefficients, intercepts=intercepts,
        post_transform=post, **names,
    )  # fmt: skip
    predictor = labels_and_scores(classifier(made, labels), LINE_SPACE, LINE)
    if len(labels) == 2 and name != "two rows":
        assert not predictor.program.output_sorts["score"].shape, "one logit, not two scores"


FRAME = numbers(200)
SPACE = FeatureSpace.infer(FRAME)
X = {"X": (TensorProto.FLOAT, [None, 4])}
HIDDEN = np.random.default_rng(1).normal(size=(4, 5)).astype(np.float32)
LOGIT = np.random.default_rng(2).normal(size=(5, 1)).astype(np.float32)
LOGITS = np.random.default_rng(3).normal(size=(5, 3)).astype(np.float32)
BIAS = np.array([[0.1, -0.2, 0.3, 0.4, -0.5]], dtype=np.float32)
NETWORK = {"h": HIDDEN, "b": BIAS[0], "one": LOGIT, "many": LOGITS, "zero": np.float32(0)}
NETWORK |= {"two": LOGITS[:, :2].copy(), "first": np.array([0])}
NETWORK |= {"half": np.float32(0.5), "unit": np.float32(1), "axis": np.array([1])}


def body(last: str, *more: Any) -> list[Any]:
    """x -> relu(x h + b) -> times the last layer -> z -> more."""
    first = [node("Gemm", "X h b", "a"), node("Relu", "a", "r"), node("MatMul", f"r {last}", "z")]
    return [*first, *more]


INT64, BOOL = TensorProto.INT64, TensorProto.BOOL
# nodes, type of the only output Y, task, may the label use a smooth function?
NETWORKS: dict[str, Any] = {
    "sigmoid": (body("one", node("Sigmoid", "z", "Y")), 1, None),
    "sigmoid, flat": (
        body("one", node("Sigmoid", "z", "p"), node("Squeeze", "p axis", "Y")), 1, None,
    ),
    "softmax": (body("many", node("Softmax", "z", "Y", axis=1)), 1, None),
    "logit": (body("one", node("Identity", "z", "Y")), 1, "classifier"),
    "logits": (body("many", node("Identity", "z", "Y")), 1, "classifier"),
    "argmax": (body("many", node("ArgMax", "z", "Y", axis=1, keepdims=0)), INT64, None),
    "argmax of softmax": (
        body("many", node("Softmax", "z", "p"), node("ArgMax", "p", "Y", axis=-1)), INT64, None,
    ),
    "above half": (
        body("one", node("Sigmoid", "z", "p"), node("Greater", "p half", "Y")), BOOL, None,
    ),
    "at least half": (
        body("one", node("Sigmoid", "z", "p"), node("GreaterOrEqual", "p half", "g"),
             node("Cast", "g", "Y", to=INT64)), INT64, None,
    ),
    "half above": (
        body("one", node("Sigmoid", "z", "p"), node("Less", "half p", "g"),
             node("Cast", "g", "Y", to=INT64)), INT64, None,
    ),
    "pair of chances": (
        body("one", node("Sigmoid", "z", "p"), node("Sub", "unit p", "q"),
             node("Concat", "q p", "c", axis=1), node("ArgMax", "c", "Y", axis=1)), INT64, None,
    ),
    "pair of other numbers": (
        body("one", node("HardSigmoid", "z", "p"), node("Sub", "unit p", "q"),
             node("Concat", "q p", "c", axis=1), node("ArgMax", "c", "Y", axis=1)), INT64, None,
    ),
    "second of two": (
        body("two", node("Softmax", "z", "p"), node("Gather", "p axis", "Y", axis=1)), 1, None,
    ),
    "first of two": (
        body("two", node("Softmax", "z", "p"), node("Gather", "p first", "g", axis=1),
             node("Less", "g half", "Y")), BOOL, None,
    ),
    "one minus": (body("one", node("Sigmoid", "z", "p"), node("Sub", "unit p", "Y")), 1, None),
    "sign": (body("one", node("Greater", "z zero", "Y")), BOOL, None),
    "where": (
        body("one", node("Greater", "z zero", "g"), node("Where", "g yes no", "Y")),
        TensorProto.STRING, None,
    ),
    "gather": (
        body("many", node("ArgMax", "z", "i", axis=1, keepdims=0), node("Gather", "table i", "Y")),
        INT64, None,
    ),
    "label encoder": (
        body("many", node("ArgMax", "z", "i", axis=1, keepdims=0),
             node("ml.LabelEncoder", "i", "Y", keys_int64s=[0, 1], values_strings=["a", "b"],
                  default_string="c")), TensorProto.STRING, None,
    ),
    "repeated label": (
        body("many", node("ArgMax", "z", "i", axis=1, keepdims=0),
             node("ml.LabelEncoder", "i", "Y", keys_int64s=[0, 1, 2],
                  values_strings=["a", "b", "a"])), TensorProto.STRING, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_without_labels(name: str) -> None:
    nodes, kind, task = NETWORKS[name]
    more = {"yes": np.array("yes"), "no": np.array("no"), "table": np.array([7, 8, 9])}
    model = graph(nodes, X, {"Y": kind}, opset=18, **NETWORK, **more)
    predictor = OnnxPredictor(model, SPACE, task=task)
    found, expected = run(predictor.program, SPACE, FRAME), predictor.predict(FRAME)
    assert predictor.classes is not None
    assert [predictor.classes[code] for code in found["label"]] == expected.tolist()
    assert len(set(expected.tolist())) > 1
    smooth = any(isinstance(op, SMOOTH) for op in needed(predictor.program, "label"))
    assert smooth == (name == "one minus")


def needed(program: Program, output: str) -> list[Any]:
    """The ops that one output depends on."""
    wanted, found = {program.output(output)}, []
    for statement in reversed(list(program.lets())):
        if statement.name in wanted:
            found.append(statement.op)
            wanted.update(statement.op.operands())
    return found


def test_the_answer_of_a_sigmoid_is_read_as_stated() -> None:
    """Label 1 iff p > 1/2; the logit is the score; both probabilities come with it."""
    nodes = [node("Mul", "X w", "z"), node("Sigmoid", "z", "Y")]
    model = graph(nodes, ONE, {"Y": 1}, w=np.float32(2))
    predictor = OnnxPredictor(model, LINE_SPACE)
    assert predictor.task == "classifier"
    assert predictor.classes == (0, 1)
    assert predictor.predict(LINE).tolist() == (LINE.x > 0).astype(int).tolist()
    found = run(predictor.program, LINE_SPACE, LINE)
    np.testing.assert_array_equal(found["score"], 2 * LINE.x)
    np.testing.assert_allclose(found["probability"].sum(axis=1), 1)


def test_one_number_is_a_regression_unless_said_otherwise() -> None:
    model = graph([node("Neg", "X", "Y")], ONE, {"Y": 1})
    assert OnnxPredictor(model, LINE_SPACE).task == "regressor"
    assert OnnxPredictor(model, LINE_SPACE, task="classifier").task == "classifier"
    sigmoid = graph([node("Sigmoid", "X", "Y")], ONE, {"Y": 1})
    agree(sigmoid, LINE_SPACE, LINE, exact=4, task="regressor")


def test_a_classifier_is_no_regressor() -> None:
    labels = ["a", "b"]
    model = classifier(tree(labels, [0, 0], [1, 2], [0.1, 0.7]), labels)
    with pytest.raises(InvalidInputError, match="is a classifier"):
        lower(model, LINE_SPACE, task="regressor")


@pytest.mark.parametrize(
    ("nodes", "outputs", "why"),
    [
        ([node("Neg", "X", "Y"), node("Relu", "X", "Z")], ["Y", "Z"], "several outputs"),
        ([node("Identity", "unit", "Y"), node("Relu", "X", "Z")], ["Y"], "no output depends"),
        ([node("Reshape", "X s", "Y")], ["Y"], "output 'Y' has sizes"),
    ],
)
def test_outputs_that_could_mean_anything(nodes: Any, outputs: Any, why: str) -> None:
    constants = {"unit": np.float32([1]), "s": np.array([-1, 2, 2])}
    model = graph(nodes, X, dict.fromkeys(outputs, 1), **constants)
    with pytest.raises(UnsupportedError, match=why):
        lower(model, SPACE)
