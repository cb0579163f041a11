"""Data, exported models and the comparison of a program with onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pandas as pd
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)

from cfxc.frontends.onnx import OnnxPredictor
from cfxc.ir import BatchEvaluator, Program, evaluate, parse_program, print_program
from cfxc.space import FeatureSpace

FLOAT = 1e-5  # of values: a few hundred float32 operations on numbers of size one
TENSORS = {"float": FloatTensorType, "double": DoubleTensorType, "int": Int64TensorType}


def numbers(rows: int = 400, columns: int = 4, seed: int = 0) -> pd.DataFrame:
    """Columns of different scales, without ties."""
    generator = np.random.default_rng(seed)
    scale = 10.0 ** np.arange(columns) / 10
    return pd.DataFrame(
        generator.normal(size=(rows, columns)) * scale,
        columns=[f"x{j}" for j in range(columns)],
    )


def people(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """A table of integers, decimals, text and bits."""
    generator = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": generator.integers(18, 80, rows),
            "pay": np.round(generator.normal(50, 15, rows), 2),
            "sector": generator.choice(["it", "law", "art"], rows),
            "school": generator.choice(["low", "mid", "high"], rows),
            "kids": generator.integers(0, 5, rows),
            "member": generator.integers(0, 2, rows),
        }
    )


def target(frame: pd.DataFrame, classes: int = 2) -> Any:
    """Integer labels that depend on all columns that are numbers."""
    score = frame.select_dtypes("number").rank(pct=True) @ np.linspace(
        1, 2, frame.select_dtypes("number").shape[1]
    )
    cuts = np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1])
    return np.digitize(score, cuts)


def export(
    estimator: Any, frame: pd.DataFrame, dtype: str = "float", *, one: bool = True, **options: Any
) -> onnx.ModelProto:
    """skl2onnx's model of a fitted estimator, with one input or one input per column."""
    kind = TENSORS[dtype]
    if one:
        types = [("X", kind([None, frame.shape[1]]))]
    else:
        types = [(name, _type(frame[name], kind)([None, 1])) for name in frame]
    final = estimator[-1] if hasattr(estimator, "steps") else estimator
    more = {id(final): options} if options else None
    return to_onnx(estimator, initial_types=types, options=more)


def loadable(model: onnx.ModelProto) -> onnx.ModelProto:
    """skl2onnx declares double outputs of ai.onnx.ml ops, which give floats; the runtime minds."""
    made = {name: one.domain for one in model.graph.node for name in one.output}
    for output in model.graph.output:
        kind = output.type.tensor_type
        if kind.elem_type == TensorProto.DOUBLE and made[output.name] == "ai.onnx.ml":
            kind.elem_type = TensorProto.FLOAT
    return model


def _type(series: pd.Series[Any], kind: Any) -> Any:
    if series.dtype.kind == "i":
        return Int64TensorType
    return kind if series.dtype.kind == "f" else StringTensorType


def agree(
    model: Any, space: FeatureSpace, frame: pd.DataFrame, *, exact: int = 20, task: Any = None
) -> OnnxPredictor:
    """Program and onnxruntime agree on ``frame``; the exact evaluator on its first rows."""
    predictor = OnnxPredictor(model, space, "m.onnx", task=task)
    program = predictor.program
    assert parse_program(print_program(program)) == program
    expected, found = predictor.predict(frame), run(program, space, frame)
    rows = [evaluate(program, space.encode_row(frame.iloc[[i]])) for i in range(exact)]
    if predictor.task == "regressor":
        assert predictor.classes is None
        np.testing.assert_allclose(found["value"], expected, rtol=FLOAT, atol=FLOAT)
        exactly = np.array([row["value"] for row in rows]).astype(np.float64)
        np.testing.assert_allclose(exactly, found["value"][:exact], rtol=FLOAT, atol=FLOAT)
        return predictor
    assert predictor.classes is not None
    assert [predictor.classes[code] for code in found["label"]] == expected.tolist()
    assert len(set(expected.tolist())) > 1, "a test that sees one label only shows little"
    assert [row["label"] for row in rows] == expected[:exact].tolist()
    for name in ("score", "probability"):
        if name in found:
            exactly = np.array([row[name] for row in rows]).astype(np.float64)
            np.testing.assert_allclose(exactly, found[name][:exact], rtol=FLOAT, atol=FLOAT)
    if "probability" in found:
        given = probabilities(predictor.run(frame), len(predictor.classes))
        np.testing.assert_allclose(found["probability"], given, atol=FLOAT)
    return predictor


def probabilities(outputs: Mapping[str, Any], count: int) -> Any:
    """The (n, K) probabilities among a graph's outputs, zipmaps undone."""
    for output in outputs.values():
        if isinstance(output, list):
            return np.array([list(row.values()) for row in output])
        if output.dtype.kind == "f" and output.ndim == 2 and output.shape[1] == count:
            return output
        if output.dtype.kind == "f" and output.ndim == 2 and count == 2:
            return np.concatenate([1 - output, output], axis=1)
    return np.stack([one for one in outputs.values() if one.dtype.kind == "f"], axis=1)


def run(program: Program, space: FeatureSpace, frame: pd.DataFrame) -> dict[str, Any]:
    """The program on all rows, in doubles."""
    return BatchEvaluator(program)(space.encode_frame(frame, check_range=False))


def graph(
    nodes: Sequence[Any],
    inputs: Mapping[str, tuple[int, Sequence[Any]]],
    outputs: Mapping[str, int],
    opset: int = 18,
    ml: int = 3,
    **constants: Any,
) -> onnx.ModelProto:
    """A hand-made model; ``inputs`` are element type and sizes, ``outputs`` element types."""
    made = helper.make_graph(
        list(nodes),
        "hand",
        [helper.make_tensor_value_info(name, *info) for name, info in inputs.items()],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", ml)]
    return helper.make_model(made, opset_imports=opsets, ir_version=9)


def node(op: str, inputs: str, outputs: str, name: str = "", **attributes: Any) -> Any:
    """A node; ``inputs`` and ``outputs`` are names between blanks; ``ml.X`` is in ai.onnx.ml."""
    domain = "ai.onnx.ml" if op.startswith("ml.") else ""
    return helper.make_node(
        op.removeprefix("ml."), inputs.split(), outputs.split(), name or None, domain=domain,
        **attributes,
    )  # fmt: skip


X = {"X": (TensorProto.FLOAT, [None, 4])}
