"""Every threshold of a fitted forest, at, just below and just above the tie, in both precisions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from cfxc.frontends.onnx import OnnxPredictor
from cfxc.ir import evaluate, ops
from cfxc.space import FeatureSpace

from .support import export, graph, loadable, node, numbers, run, target

FRAME = numbers(250)
SPACE = FeatureSpace.infer(FRAME)
SINGLE, DOUBLE = 2.0**-24, 2.0**-53


def around(threshold: float, double: bool) -> list[float]:
    """The tie and its neighbours; for float32 inputs also the doubles at which rounding turns."""
    if double:
        return [float(np.nextafter(threshold, side)) for side in (-np.inf, np.inf)] + [threshold]
    tie = np.float32(threshold)
    points = [float(tie)]
    for side in (np.float32(-np.inf), np.float32(np.inf)):
        neighbour = float(np.nextafter(tie, side))
        middle = (float(tie) + neighbour) / 2  # exact: float32 numbers leave room in a double
        points += [neighbour, middle]
        points += [float(np.nextafter(middle, end)) for end in (-np.inf, np.inf)]
    return points


def walk(estimator: Any, model: onnx.ModelProto, double: bool) -> pd.DataFrame:
    """For every inner node a row that reaches it, its column moved around the stored threshold."""
    rows = []
    trees = getattr(estimator, "estimators_", [estimator])
    for tree, number, column, threshold in inner_nodes(model):
        path = trees[tree].decision_path(FRAME.to_numpy(dtype=np.float32))
        reaching = path[:, number].nonzero()[0]
        row = FRAME.to_numpy()[reaching[0]]
        for point in around(threshold, double):
            moved = row.copy()
            moved[column] = point
            rows.append(moved)
    return pd.DataFrame(np.array(rows), columns=FRAME.columns)


def inner_nodes(model: onnx.ModelProto) -> Iterator[tuple[int, int, int, float]]:
    """Tree, node, column and threshold of every split in the file."""
    (ensemble,) = (one for one in model.graph.node if one.op_type.startswith("TreeEnsemble"))
    fields = {item.name: helper.get_attribute_value(item) for item in ensemble.attribute}
    names = ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes")
    for *split, mode in zip(*(fields[name] for name in names), strict=True):
        if mode != b"LEAF":
            yield split[0], split[1], split[2], split[3]


def sum_error(op: ops.TreeEnsemble, unit: float) -> float:
    """A bound on the error of summing one leaf per tree in floats of unit roundoff ``unit``.

    In any order, |fl(sum v_i) - sum v_i| <= gamma_n sum |v_i| with gamma_n = n u / (1 - n u); the
    result is stored in float32, which costs one more relative error of 2**-24.
    """
    count = op.roots.array.size
    gamma = count * unit / (1 - count * unit)
    ends = [*op.roots.array.tolist()[1:], op.value.shape[0]]
    pairs = zip(op.roots.array.tolist(), ends, strict=True)
    largest = sum(np.abs(op.value.array[first:last]).max() for first, last in pairs)
    return float(largest * ((1 + gamma) * (1 + SINGLE) - 1))


def check(estimator: Any, dtype: str, labels: Any) -> int:
    """How many rows were compared; all but those within the bound of a tie must agree."""
    model = loadable(
        export(estimator.fit(FRAME.to_numpy(), labels), FRAME, dtype, **OFF(estimator))
    )
    rows = walk(estimator, model, dtype == "double")
    predictor = OnnxPredictor(model, SPACE)
    found, expected = run(predictor.program, SPACE, rows), predictor.run(rows)
    (op,) = (one.op for one in predictor.program.lets() if isinstance(one.op, ops.TreeEnsemble))
    bound = 0.0  # one tree has nothing to sum
    if op.roots.array.size > 1:
        bound = sum_error(op, DOUBLE if dtype == "double" else SINGLE)
    if predictor.task == "regressor":
        error = np.abs(found["value"] - predictor.predict(rows))
        assert error.max() <= bound
        return len(rows)
    chances = found["probability"]
    assert np.abs(chances - expected["probabilities"]).max() <= bound + SINGLE * (bound > 0)
    best = np.sort(chances, axis=1)
    decided = best[:, -1] - best[:, -2] > 2 * bound
    decided |= op.roots.array.size == 1
    assert predictor.classes is not None
    named = np.array(predictor.classes)[found["label"]]
    assert (named == expected["label"])[decided].all()
    assert decided.mean() > 0.8, "the bound must not excuse everything"
    for i in range(0, len(rows), max(1, len(rows) // 15)):
        exact = evaluate(predictor.program, SPACE.encode_row(rows.iloc[[i]], check_range=False))
        assert exact["label"] == named[i]
    return len(rows)


def OFF(estimator: Any) -> dict[str, Any]:  # noqa: N802
    return {"zipmap": False} if hasattr(estimator, "predict_proba") else {}


FORESTS = [
    DecisionTreeClassifier(random_state=0),
    DecisionTreeRegressor(max_depth=6, random_state=0),
    RandomForestClassifier(8, max_depth=6, random_state=0),
    RandomForestRegressor(5, max_depth=5, random_state=0),
    ExtraTreesClassifier(5, max_depth=6, random_state=0),
    ExtraTreesRegressor(4, max_depth=5, random_state=0),
]


@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("estimator", FORESTS, ids=lambda one: type(one).__name__)
def test_every_threshold_of_a_fitted_model(estimator: Any, dtype: str) -> None:
    regression = not hasattr(estimator, "predict_proba")
    assert check(estimator, dtype, FRAME.x1 if regression else target(FRAME)) > 50


@pytest.mark.parametrize("dtype", ["float", "double"])
def test_every_threshold_with_three_classes(dtype: str) -> None:
    estimator = RandomForestClassifier(7, max_depth=5, random_state=1)
    assert check(estimator, dtype, target(FRAME, 3)) > 100


def test_many_trees_sum_within_the_bound() -> None:
    """With over 80 trees the runtime may sum in another order; the bound holds for any."""
    estimator = RandomForestClassifier(101, max_depth=2, random_state=0)
    assert check(estimator, "float", target(FRAME)) > 500


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"]
SPECIAL = [0.0, 0.1, -0.1, 1.0, 2.0**-149, -(2.0**-130), 2.0**24, 16777217.0, 1e30, -3.25]


@st.composite
def stumps(draw: st.DrawFn) -> list[tuple[str, float]]:
    """A chain of splits on one column: modes and thresholds."""
    split = st.tuples(st.sampled_from(MODES), st.sampled_from(SPECIAL))
    return draw(st.lists(split, min_size=1, max_size=5))


def chain(splits: list[tuple[str, float]], version: str, double: bool) -> onnx.ModelProto:
    """Split i sends what fails it on to split i + 1, and the rest to a leaf worth 2**i."""
    count, kind = len(splits), TensorProto.DOUBLE if double else TensorProto.FLOAT
    number = np.float64 if double else np.float32
    values = np.array([threshold for _, threshold in splits], dtype=number)
    worth = 2.0 ** np.arange(count + 1).astype(number)

    def tensor(array: Any) -> Any:
        return numpy_helper.from_array(np.asarray(array, dtype=number))

    if version == "tensors":
        modes = numpy_helper.from_array(
            np.array([MODES.index(mode) for mode, _ in splits], dtype=np.uint8)
        )
        last = [int(i == count - 1) for i in range(count)]
        made = node(
            "ml.TreeEnsemble", "X", "Y", n_targets=1, nodes_modes=modes,
            nodes_splits=tensor(values), nodes_featureids=[0] * count,
            nodes_truenodeids=list(range(count)), nodes_trueleafs=[1] * count,
            nodes_falsenodeids=[i + 1 for i in range(count)], nodes_falseleafs=last,
            leaf_targetids=[0] * (count + 1), leaf_weights=tensor(worth), tree_roots=[0],
        )  # fmt: skip
    else:
        inner, leaves = list(range(count)), list(range(count, 2 * count + 1))
        tables: dict[str, Any] = {
            "nodes_values": [*values.tolist(), *[0.0] * (count + 1)],
            "target_weights": worth.tolist(),
        }
        if version == "as tensors":
            tables = {f"{name}_as_tensor": tensor(table) for name, table in tables.items()}
        made = node(
            "ml.TreeEnsembleRegressor", "X", "Y", n_targets=1,
            nodes_treeids=[0] * (2 * count + 1), nodes_nodeids=inner + leaves,
            nodes_featureids=[0] * (2 * count + 1),
            nodes_modes=[mode for mode, _ in splits] + ["LEAF"] * (count + 1),
            nodes_truenodeids=leaves[:count] + [0] * (count + 1),
            nodes_falsenodeids=[*inner[1:], leaves[-1]] + [0] * (count + 1),
            target_treeids=[0] * (count + 1), target_nodeids=leaves,
            target_ids=[0] * (count + 1), **tables,
        )  # fmt: skip
    out = kind if version == "tensors" else TensorProto.FLOAT
    ml = {"tables": 1, "as tensors": 3, "tensors": 5}[version]
    return graph([made], {"X": (kind, [None, 1])}, {"Y": out}, ml=ml)


@settings(max_examples=60, deadline=None)
@given(stumps(), st.sampled_from(["tables", "as tensors", "tensors"]), st.booleans())
def test_all_modes_at_their_ties(
    splits: list[tuple[str, float]], version: str, double: bool
) -> None:
    """Leaves are powers of two: any difference in the path shows."""
    model = chain(splits, version, double)
    stored = [threshold if double and version != "tables" else float(np.float32(threshold))
              for _, threshold in splits]  # fmt: skip
    points = sorted({point for threshold in stored for point in around(threshold, double)})
    frame = pd.DataFrame({"x": points})
    space = FeatureSpace.infer(frame, kinds={"x": "real"}, resolution={"x": None})
    predictor = OnnxPredictor(model, space)
    expected = predictor.predict(frame)
    np.testing.assert_array_equal(run(predictor.program, space, frame)["value"], expected)
    exactly = [evaluate(predictor.program, {"x": point})["value"] for point in points]
    assert exactly == expected.tolist()


def test_a_cast_to_float_rounds_what_was_computed_in_double() -> None:
    """Halved in double (exactly), rounded to float32, then compared."""
    split = node(
        "ml.TreeEnsembleRegressor", "h", "Y", n_targets=1, nodes_treeids=[0, 0, 0],
        nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_values=[0.1, 0.0, 0.0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2],
        target_ids=[0, 0], target_weights=[1.0, 2.0],
    )  # fmt: skip
    nodes = [node("Mul", "X w", "d"), node("Cast", "d", "h", to=TensorProto.FLOAT), split]
    inputs = {"X": (TensorProto.DOUBLE, [None, 1])}
    model = graph(nodes, inputs, {"Y": TensorProto.FLOAT}, w=np.float64(0.5))
    frame = pd.DataFrame({"x": [2 * point for point in around(0.1, double=False)]})
    space = FeatureSpace.infer(frame, kinds={"x": "real"}, resolution={"x": None})
    predictor = OnnxPredictor(model, space)
    expected = predictor.predict(frame)
    assert set(expected.tolist()) == {1.0, 2.0}
    np.testing.assert_array_equal(run(predictor.program, space, frame)["value"], expected)


def test_integers_are_compared_as_floats() -> None:
    """int64 inputs are rounded to float32 before the comparison, as C++ does."""
    big = 2**24
    frame = pd.DataFrame({"x": [big - 1, big, big + 1, big + 2, big + 3]})
    space = FeatureSpace.infer(frame)
    made = node(
        "ml.TreeEnsembleClassifier", "X", "L P",
        nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values=[float(big), 0.0, 0.0],
        nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], class_treeids=[0, 0],
        class_nodeids=[1, 2], class_ids=[0, 0], class_weights=[0.0, 1.0],
        classlabels_int64s=[0, 1],
    )  # fmt: skip
    model = graph([made], {"X": (TensorProto.INT64, [None, 1])}, {"L": TensorProto.INT64, "P": 1})
    predictor = OnnxPredictor(model, space)
    assert predictor.predict(frame).tolist() == [0, 0, 0, 1, 1]
    assert run(predictor.program, space, frame)["label"].tolist() == [0, 0, 0, 1, 1]
