"""ONNX's own tests of its ops, as rows of a table: the first axis of a case is its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests

from cfxc.errors import CfxcError
from cfxc.frontends.onnx.lowering import lower_model
from cfxc.frontends.onnx.rules import RULES
from cfxc.frontends.predictor import Wanted
from cfxc.ir import BatchEvaluator
from cfxc.space import FeatureSpace

KINDS = {np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.int32),
         np.dtype(np.bool_)}  # fmt: skip
WIDEST = 130
"""Numbers in a row, at most: each is a column of the table."""


@dataclass(frozen=True)
class Case:
    name: str
    model: onnx.ModelProto
    inputs: dict[str, Any]
    outputs: list[Any]
    rtol: float
    atol: float


def cases() -> Iterator[Case | tuple[str, str]]:
    """Every case of claimed ops, or its name and why its data cannot be read."""
    for test in load_model_tests(kind="node"):
        model = test.model or onnx.load(str(Path(test.model_dir) / "model.onnx"))
        ops = {f"{node.domain or 'ai.onnx'}.{node.op_type}" for node in model.graph.node}
        if not ops <= set(RULES):
            continue
        sets = test.data_sets or [_stored(Path(test.model_dir) / "test_data_set_0", model)]
        if not sets or sets[0] is None:
            yield test.name, "holds lists or maps of tensors"
            continue
        given, expected = sets[0]
        names = [each.name for each in model.graph.input]
        yield Case(test.name, model, dict(zip(names, map(np.asarray, given), strict=False)),
                   list(map(np.asarray, expected)), test.rtol, test.atol)  # fmt: skip


def _stored(folder: Path, model: onnx.ModelProto) -> Any:
    tensors: list[list[Any]] = [[], []]
    for held, kind, infos in (
        (tensors[0], "input", model.graph.input), (tensors[1], "output", model.graph.output),
    ):  # fmt: skip
        for place, info in enumerate(infos):
            if info.type.WhichOneof("value") != "tensor_type":
                return None
            content = (folder / f"{kind}_{place}.pb").read_bytes()
            held.append(numpy_helper.to_array(TensorProto.FromString(content)))
    return tensors


def outcome(case: Case) -> str:
    """Why a case is out of scope; empty if program and case agree.

    Raises:
        AssertionError: they do not.
    """
    if not case.inputs:
        return "has no input"
    first = next(iter(case.inputs.values()))
    if first.dtype not in KINDS:
        return f"its first input holds {first.dtype}"
    if first.ndim == 0 or not first.size:
        return "its first input has no rows"
    rows = first.shape[0]
    if first[0].size > WIDEST:
        return f"more than {WIDEST} numbers a row"
    fed = [name for name, value in case.inputs.items()
           if value.ndim and value.shape[0] == rows and value.dtype in KINDS]  # fmt: skip
    reasons = []
    for chosen in (fed, fed[:1]):
        try:
            return _compared(case, chosen, rows)
        except CfxcError as error:
            reasons.append(_short(error))
        except OverflowError:
            return "its numbers are infinite"
    return reasons[-1]


def _short(error: CfxcError) -> str:
    said = getattr(error, "offences", ()) or (str(error),)
    return said[0].split("): ")[-1].split(": ")[-1][:90]


def _compared(case: Case, fed: list[str], rows: int) -> str:
    parts = {name: case.inputs[name].reshape(rows, -1) for name in fed}
    if any(not np.isfinite(part.astype(float)).all() for part in parts.values()):
        return "its numbers are not finite"
    columns = {
        f"{name}_{i}": part[:, i].astype(int) if part.dtype == bool else part[:, i]
        for name, part in parts.items()
        for i in range(part.shape[1])
    }
    frame = pd.DataFrame(columns)
    kinds = {c: "real" for c in frame if frame[c].dtype.kind == "f"}
    wider = pd.concat([frame, frame + 1] if not _bits(frame) else [frame, 1 - frame])
    space = FeatureSpace.infer(wider.reset_index(drop=True), kinds=kinds)
    lowered = lower_model(
        _prepared(case, fed),
        space,
        case.name,
        Wanted("regressor", 0) if case.outputs[0].dtype.kind == "f" else Wanted(output=0),
    )
    found = BatchEvaluator(lowered.program)(space.encode_frame(frame, check_range=False))
    expected = case.outputs[0].reshape(rows, -1)
    if lowered.answer.reading == "label":
        labels = np.array(lowered.answer.classes)[found["label"]]
        assert labels.tolist() == expected.reshape(rows).tolist(), case.name
        return ""
    values = np.asarray(found["value"]).reshape(rows, -1)
    np.testing.assert_allclose(values, expected.astype(float), case.rtol, max(case.atol, 1e-6))
    return ""


def _bits(frame: pd.DataFrame) -> bool:
    return bool(frame.isin([0, 1]).all(axis=None)) and all(frame.dtypes != "float32")


def _prepared(case: Case, fed: list[str]) -> onnx.ModelProto:
    """The model with free rows, its other inputs as constants, its output flat."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    kept = []
    for info in case.model.graph.input:
        value = case.inputs.get(info.name)
        if info.name in fed:
            shape = ["rows", *case.inputs[info.name].shape[1:]]
            kept.append(helper.make_tensor_value_info(
                info.name, info.type.tensor_type.elem_type, shape))  # fmt: skip
        elif value is not None:
            kept.append(info)  # ONNX's checker wants a constant of old models among the inputs, too
            model.graph.initializer.append(numpy_helper.from_array(value, info.name))
    del model.graph.input[:]
    model.graph.input.extend(kept)
    output = model.graph.output[0]
    del model.graph.output[:]
    last = output.name
    kind = output.type.tensor_type.elem_type
    if case.outputs[0].ndim > 2:
        model.graph.node.append(helper.make_node("Flatten", [last], ["flat"], axis=1))
        last = "flat"
    if kind == TensorProto.BOOL:
        model.graph.node.append(helper.make_node("Cast", [last], ["cast"], to=TensorProto.FLOAT))
        last, kind = "cast", TensorProto.FLOAT
    model.graph.output.append(helper.make_tensor_value_info(last, kind, None))
    return model
