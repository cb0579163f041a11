"""Support vector machines of ``ai.onnx.ml`` answer as onnxruntime does."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, NuSVC, OneClassSVM

import cfxc
from cfxc.errors import UnsupportedError
from cfxc.frontends.onnx import OnnxPredictor, lower
from cfxc.ir import evaluate
from cfxc.question.target import Target
from cfxc.solvers.rounding import slack_within
from cfxc.space import FeatureSpace

from .support import X, agree, export, graph, loadable, node, numbers, run, target
from .test_onnx_models import MACHINES, MACHINES_OF_VALUES

FRAME = numbers(150)
SPACE = FeatureSpace.infer(FRAME)
VECTORS = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]


def machine(estimator: Any, count: int, dtype: str = "float", **options: Any) -> onnx.ModelProto:
    labels = target(FRAME, count) if count else None
    options = {"zipmap": False, **options} if count else {}
    return loadable(export(clone(estimator).fit(FRAME.to_numpy(), labels), FRAME, dtype, **options))


@pytest.mark.parametrize(
    ("name", "count", "dtype"), list(product(MACHINES, (2, 3, 4), ("float", "double")))
)
def test_votes(name: str, count: int, dtype: str) -> None:
    predictor = agree(machine(MACHINES[name], count, dtype), SPACE, FRAME)
    assert ("score" in predictor.program.output_sorts) == (count == 2)


@pytest.mark.filterwarnings("ignore")  # scikit-learn will drop probabilities of machines
@pytest.mark.parametrize("count", [2, 3])
def test_labels_where_there_are_probabilities(count: int) -> None:
    """They come of an iteration up to a tolerance, and decide nothing."""
    model = machine(SVC(probability=True, random_state=0), count)
    predictor = agree(model, SPACE, FRAME)
    assert "probability" not in predictor.program.output_sorts
    with pytest.raises(UnsupportedError, match="an iteration that stops at a tolerance"):
        OnnxPredictor(model, SPACE, output="probabilities")
    compiled = cfxc.compile(model, SPACE)
    with pytest.raises(UnsupportedError, match="probabilit"):
        compiled.explain(FRAME.iloc[[0]], target=1, subject_to=[cfxc.Probability(0.9)])


def test_scores_of_two_classes_are_the_runtimes() -> None:
    predictor = OnnxPredictor(machine(MACHINES["rbf"], 2), SPACE)
    scores = predictor.run(FRAME)["probabilities"]
    found = run(predictor.program, SPACE, FRAME)["score"]
    assert np.allclose(np.abs(scores[:, 1]), np.abs(found), atol=1e-5)


def test_other_machines() -> None:
    agree(machine(NuSVC(nu=0.3), 3), SPACE, FRAME)
    detector = make_pipeline(StandardScaler(), OneClassSVM(nu=0.2))
    predictor = agree(machine(detector, 0), SPACE, FRAME)
    assert predictor.classes == (-1, 0, 1)


@pytest.mark.parametrize("name", MACHINES_OF_VALUES)
def test_values_are_the_runtimes_but_for_rounding(name: str) -> None:
    scaled = (FRAME - FRAME.mean()) / FRAME.std()
    estimator = clone(MACHINES_OF_VALUES[name]).fit(FRAME.to_numpy(), scaled.x0 * scaled.x1)
    model = loadable(export(estimator, FRAME, "float"))
    if name == "rbf":  # the rounding of an exponential has no bound here
        agree(model, SPACE, FRAME)
        return
    predictor = OnnxPredictor(model, SPACE)
    deployed, unit = predictor.predict(FRAME), predictor.unit_roundoff
    for place in range(6):
        point = SPACE.encode_row(FRAME.iloc[[place]])
        box = tuple((key, (Fraction(value), Fraction(value))) for key, value in point.items())
        slack = slack_within(predictor.program, Target(is_range=True), box, unit)
        exact = Fraction(evaluate(predictor.program, point)["value"])
        assert abs(exact - Fraction(float(deployed[place]))) <= slack < Fraction(1, 100)


def classifier(**changed: Any) -> Any:
    """A machine of two classes by hand: the first one iff x0 - x1 + x2 > 0."""
    attributes: dict[str, Any] = {
        "kernel_type": "LINEAR", "kernel_params": [1.0, 0.0, 3.0], "support_vectors": VECTORS,
        "coefficients": [1.0, -1.0, 1.0], "rho": [0.0], "vectors_per_class": [2, 1],
        "classlabels_ints": [5, 7],
    } | changed  # fmt: skip
    kept = {name: value for name, value in attributes.items() if value is not None}
    nodes = [node("ml.SVMClassifier", "X", "Y Z", **kept)]
    return graph(nodes, X, {"Y": TensorProto.INT64, "Z": TensorProto.FLOAT})


def test_ties_go_to_the_second_class() -> None:
    predictor = OnnxPredictor(classifier(), SPACE)
    zero = FRAME.iloc[:3].assign(x0=[0.25, np.nextafter(0.25, 1), 0.25], x1=0.25, x2=0.0)
    zero.loc[1, "x0"] = np.nextafter(np.float32(0.25), np.float32(1)).astype(float)
    said = predictor.predict(zero).tolist()
    assert said == [7, 5, 7]
    labels = predictor.classes or ()
    assert [labels[code] for code in run(predictor.program, SPACE, zero)["label"]] == said


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"post_transform": "LOGISTIC"}, "'post_transform' = 'LOGISTIC'"),
        ({"kernel_type": "COSINE"}, "'kernel_type' = 'COSINE'"),
        ({"kernel_type": "POLY", "kernel_params": [1.0, 0.0, 2.5]}, "degree 2.5"),
        ({"kernel_type": "POLY", "kernel_params": [1.0, 0.0, 9.0]}, "degree 9.0"),
        ({"kernel_params": [1.0, 0.0]}, "'kernel_params' has 2 numbers"),
        ({"kernel_params": [np.inf, 0.0, 3.0]}, "'kernel_params' has 3 numbers"),
        ({"vectors_per_class": None}, "no support vectors"),
        ({"vectors_per_class": [4, -1]}, "no support vectors"),
        ({"vectors_per_class": [1, 1, 1]}, "2 classes and vectors of 3"),
        ({"support_vectors": VECTORS[:-1]}, "11 numbers of 3 vectors of 4 columns"),
        ({"coefficients": [1.0, 2.0]}, "2 coefficients and 1 constants of 1 pairs"),
        ({"rho": [1.0, 2.0]}, "3 coefficients and 2 constants of 1 pairs"),
    ],
)
def test_what_no_machine_has(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        lower(classifier(**changed), SPACE)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"one_class": 1}, "'one_class' = 1"),
        ({"coefficients": [1.0]}, "1 coefficients for 3 numbers"),
        ({"rho": [1.0, 2.0]}, "2 constants for one value"),
        ({"post_transform": "PROBIT"}, "'post_transform'"),
    ],
)
def test_what_no_machine_of_values_has(changed: dict[str, Any], words: str) -> None:
    attributes: dict[str, Any] = {
        "kernel_type": "RBF", "kernel_params": [0.5, 0.0, 3.0], "support_vectors": VECTORS,
        "coefficients": [1.0, -1.0, 1.0], "rho": [0.0], "n_supports": 3,
    } | changed  # fmt: skip
    model = graph([node("ml.SVMRegressor", "X", "Y", **attributes)], X, {"Y": TensorProto.FLOAT})
    with pytest.raises(UnsupportedError, match=words):
        lower(model, SPACE)


@pytest.mark.parametrize(("name", "count"), [("linear", 3), ("poly", 2), ("rbf", 2)])
def test_answers_hold_for_the_deployed_machine(name: str, count: int) -> None:
    compiled = cfxc.compile(machine(MACHINES[name], count), SPACE)
    row = FRAME.iloc[[0]]
    other = next(label for label in range(count) if label != compiled.predict(row)[0])
    result = compiled.explain(row, target=other, time_limit=10)
    assert result.counterfactual is not None
    assert compiled.predict(result.counterfactual)[0] == other
    if name == "linear":
        assert result.status == "optimal"
