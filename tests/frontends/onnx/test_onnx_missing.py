"""Missing numbers: trees send them where the node says, imputers fill them in, others refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from onnx import TensorProto
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import cfxc
from cfxc.errors import InvalidInputError, UnsupportedError
from cfxc.frontends.onnx import OnnxPredictor
from cfxc.ir import evaluate
from cfxc.space import FeatureSpace

from .support import X, graph, node, numbers, run, target

CUT = 0.1
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")


def holed() -> pd.DataFrame:
    """Numbers of float32, a fifth of two columns missing; some at and beside a cut."""
    frame = numbers(300).astype(np.float32)
    rng = np.random.default_rng(5)
    single = np.float32(CUT)
    near = [single, np.nextafter(single, np.float32(-9)), np.nextafter(single, np.float32(9))]
    frame["x0"] = np.where(rng.random(300) < 0.5, rng.choice(near, 300), frame["x0"])
    return frame.assign(
        x0=frame["x0"].mask(rng.random(300) < 0.2), x2=frame["x2"].mask(rng.random(300) < 0.2)
    )


FRAME = holed()
SPACE = FeatureSpace.infer(FRAME, kinds=dict.fromkeys(FRAME, "real"))


def two_splits(mode: str, tracks: Any, **more: Any) -> Any:
    """x0 beside the cut, then x2 beside 0, on the true side."""
    given = {} if tracks is None else {"nodes_missing_value_tracks_true": [*tracks, 0, 0, 0]}
    return node(
        "ml.TreeEnsembleRegressor", "X", "Y", n_targets=1, nodes_treeids=[0] * 5,
        nodes_nodeids=[0, 1, 2, 3, 4], nodes_featureids=[0, 2, 0, 0, 0],
        nodes_values=[CUT, 0.0, 0.0, 0.0, 0.0], nodes_modes=[mode, mode, "LEAF", "LEAF", "LEAF"],
        nodes_truenodeids=[1, 2, 0, 0, 0], nodes_falsenodeids=[4, 3, 0, 0, 0],
        target_ids=[0, 0, 0], target_nodeids=[2, 3, 4], target_treeids=[0, 0, 0],
        target_weights=[1.0, 2.0, 4.0], **given, **more,
    )  # fmt: skip


@pytest.mark.parametrize("tracks", [None, (0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("mode", MODES)
def test_trees_send_them_where_the_node_says(mode: str, tracks: Any) -> None:
    inputs = {"X": (TensorProto.FLOAT, [None, 4])}
    model = graph([two_splits(mode, tracks)], inputs, {"Y": TensorProto.FLOAT})
    predictor = OnnxPredictor(model, SPACE)
    expected = predictor.predict(FRAME)
    assert len(np.unique(expected)) == 3
    found = run(predictor.program, SPACE, FRAME)["value"]
    assert np.array_equal(found, expected)
    for place in range(0, 300, 15):
        point = SPACE.encode_row(FRAME.iloc[[place]], check_range=False)
        assert evaluate(predictor.program, point)["value"] == expected[place]


def test_lists_of_another_length_are_refused() -> None:
    inputs = {"X": (TensorProto.FLOAT, [None, 4])}
    broken = two_splits("BRANCH_LEQ", (1,))
    model = graph([broken], inputs, {"Y": TensorProto.FLOAT})
    with pytest.raises(UnsupportedError, match="tracks_true' differs in length"):
        OnnxPredictor(model, SPACE)


@pytest.mark.parametrize("final", ["forest", "linear"])
def test_imputers_fill_them_in(final: str) -> None:
    kinds: dict[str, Any] = {
        "forest": RandomForestClassifier(7, max_depth=5, random_state=0),
        "linear": LogisticRegression(),
    }
    labels = target(FRAME.fillna(0.0), 2)
    pipe = make_pipeline(SimpleImputer(), kinds[final]).fit(FRAME.to_numpy().copy(), labels)
    model = to_onnx(
        pipe, initial_types=[("X", FloatTensorType([None, 4]))],
        options={id(pipe[-1]): {"zipmap": False}},
    )  # fmt: skip
    compiled = cfxc.compile(model, SPACE)
    found = run(compiled.program, SPACE, FRAME)["label"]
    assert found.tolist() == compiled.predict(FRAME).tolist()
    lacking = FRAME[FRAME["x0"].isna()].iloc[[0]]
    answer = compiled.explain(lacking, time_limit=60)
    assert answer.status == "optimal"
    assert answer.counterfactual["x0"].isna().all()


def test_one_column_by_its_name() -> None:
    inputs = {"x0": (TensorProto.FLOAT, [None, 1])}
    fill = node("ml.Imputer", "x0", "Y", imputed_value_floats=[0.7],
                replaced_value_float=float("nan"))  # fmt: skip
    space = SPACE.subset(["x0"])
    predictor = OnnxPredictor(graph([fill], inputs, {"Y": TensorProto.FLOAT}), space)
    expected = predictor.predict(FRAME[["x0"]])
    found = run(predictor.program, space, FRAME[["x0"]])["value"]
    assert np.array_equal(found.astype(np.float32), expected)


def test_whoever_computes_with_them_refuses() -> None:
    inputs = {"X": (TensorProto.FLOAT, [None, 4])}
    model = graph([node("Relu", "X", "Y")], inputs, {"Y": TensorProto.FLOAT})
    with pytest.raises(UnsupportedError, match="column 'x0' may be missing, and the model comp"):
        OnnxPredictor(model, SPACE)


@pytest.mark.parametrize("kind", ["float", "int"])
@pytest.mark.parametrize("each", [True, False])
def test_imputers_of_a_number(kind: str, each: bool) -> None:
    """Also beside it; a column of its own fills, or one for all."""
    marker, suffix = (-1, "int64") if kind == "int" else (0.1, "float")
    rng = np.random.default_rng(3)
    single = np.float32(0.1)
    near = [single, np.nextafter(single, np.float32(0)), np.nextafter(single, np.float32(1))]
    held = rng.integers(-3, 3, (200, 2)) if kind == "int" else rng.choice(near, (200, 2))
    table = pd.DataFrame(held, columns=["a", "b"])
    fills = [5, 7] if each else [5]
    given = {f"replaced_value_{suffix}": marker, f"imputed_value_{suffix}s": fills}
    if kind == "float":
        given[f"imputed_value_{suffix}s"] = [float(fill) for fill in fills]
    code = TensorProto.INT64 if kind == "int" else TensorProto.FLOAT
    nodes = [node("ml.Imputer", "X", "m", **given)]
    nodes += [node("Cast", "m", "f", to=TensorProto.FLOAT), node("MatMul", "f w", "Y")]
    weight = np.array([[1.0], [0.5]], dtype=np.float32)
    model = graph(nodes, {"X": (code, [None, 2])}, {"Y": TensorProto.FLOAT}, w=weight)
    space = FeatureSpace.infer(table, kinds={} if kind == "int" else {"a": "real", "b": "real"})
    predictor = OnnxPredictor(model, space)
    found = run(predictor.program, space, table)["value"]
    np.testing.assert_allclose(found, predictor.predict(table), rtol=1e-6)


def test_imputers_of_a_number_that_are_refused() -> None:
    for given, words in (
        ({"replaced_value_float": 1.0, "imputed_value_floats": [1.0, 2.0]}, "has 2 entries, of 4"),
        ({"replaced_value_float": 1.0, "imputed_value_floats": [np.inf]}, "has 1 entries, of 4"),
        ({"replaced_value_float": 1.0, "imputed_value_floats": [1.0]}, "may be missing"),
    ):
        space = SPACE if words == "may be missing" else FeatureSpace.infer(numbers(50))
        model = graph(
            [node("ml.Imputer", "X", "Y", **given)], X,
            {"Y": TensorProto.FLOAT},
        )  # fmt: skip
        with pytest.raises((UnsupportedError, InvalidInputError), match=words):
            OnnxPredictor(model, space)
