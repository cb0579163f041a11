"""What is refused: with which words, all at once, and never with a traceback of a library."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from cfxc.errors import (
    CfxcError,
    DataTypeError,
    InvalidInputError,
    MissingColumnError,
    ModelFileError,
    UnsupportedError,
)
from cfxc.frontends.onnx import OnnxPredictor, lower
from cfxc.space import FeatureSpace

from .support import X, export, graph, node, numbers, people, target

FRAME = numbers(60)
SPACE = FeatureSpace.infer(FRAME)
FLOAT, INT64, TEXT = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def refused(model: Any, space: FeatureSpace = SPACE) -> UnsupportedError:
    with pytest.raises(UnsupportedError) as info:
        lower(model, space, "m.onnx")
    assert len(str(info.value).splitlines()) <= 10
    return info.value


def test_everything_unknown_is_listed_with_its_node() -> None:
    nodes = [
        node("Atan", "X", "a", "first"),
        node("Relu", "a", "b"),
        helper.make_node("Foo", ["b"], ["c"], "Softmax_3", domain="com.acme"),
        node("TopK", "c k", "d e"),
        node("Atanh", "d", "Y", "svm"),
        node("LayerNormalization", "X k", "g", "norm"),
    ]
    model = graph(nodes, X, {"Y": FLOAT}, opset=20, k=np.array([1]))
    model.opset_import.append(helper.make_opsetid("com.acme", 1))
    error = refused(model)
    starts = (
        "m.onnx: node 'first' (ai.onnx.Atan): a periodic or inverse function",
        "m.onnx: node 'Softmax_3' (com.acme.Foo)",
        "m.onnx: node 'd' (ai.onnx.TopK): moves elements to computed places",
        "m.onnx: node 'svm' (ai.onnx.Atanh): a periodic",
        "m.onnx: node 'norm' (ai.onnx.LayerNormalization): divides by a deviation",
    )
    assert len(error.offences) == len(starts)
    assert all(map(str.startswith, error.offences, starts))


def test_an_op_that_onnx_does_not_know() -> None:
    model = graph([node("Foo", "X", "Y", "Softmax_3")], X, {"Y": FLOAT})
    assert refused(model).offences == ("m.onnx: node 'Softmax_3' (ai.onnx.Foo)",)


def test_unknown_and_impossible_nodes_come_together() -> None:
    nodes = [
        node("Mul", "X X", "a"),
        node("Div", "a X", "b", "quotient"),
        node("Sqrt", "X", "c", "root"),
        node("MatMul", "c X", "d"),
        node("Pow", "a p", "Y", "power"),
    ]
    offences = refused(graph(nodes, X, {"Y": FLOAT}, p=np.float32(0.5))).offences
    assert offences == (
        "m.onnx: node 'quotient' (ai.onnx.Div): divides by a computed number, which no engine "
        "takes",
        "m.onnx: node 'root' (ai.onnx.Sqrt): is a root of a computed number, whose slope has no "
        "bound",
        "m.onnx: node 'power' (ai.onnx.Pow): raises to the power 0.5; whole ones up to 8 are read",
    )


def ints(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


def stump(mode: str) -> Any:
    return node(
        "ml.TreeEnsembleRegressor", "X", "Y", n_targets=1, nodes_treeids=[0, 0, 0],
        nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_modes=[mode, "LEAF", "LEAF"],
        nodes_values=[0.5, 0.0, 0.0], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
        target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0],
        target_weights=[1.0, 2.0],
    )  # fmt: skip


W32 = np.ones((3, 2), dtype=np.float32)
REFUSALS: dict[str, tuple[list[Any], dict[str, Any], str]] = {
    "Expand": ([node("Expand", "X s", "Y")], {"s": ints(3, 4)}, "repeats the rows"),
    "Tile": ([node("Tile", "X s", "Y")], {"s": ints(2, 1)}, "repeats the rows"),
    "Log": ([node("Log", "X", "Y")], {}, "rounds to 0"),
    "rows in the middle": (
        [node("Reshape", "X s", "c"), node("Relu", "c", "Y")], {"s": ints(2, -1, 2)}, "drops rows",
    ),
    "computing with the number of rows": (
        [node("Shape", "X", "s"), node("Mul", "s s", "t"), node("Reshape", "X t", "Y")], {},
        "number of rows",
    ),
    "equality in trees": ([stump("BRANCH_EQ")], {}, "BRANCH_EQ"),
    "inequality in trees": ([stump("BRANCH_NEQ")], {}, "BRANCH_NEQ"),
    "unknown mode": ([stump("BRANCH_XYZ")], {}, "BRANCH_XYZ"),
    "batch mixed by a sum": (
        [node("ReduceSum", "X a", "Y")], {"a": ints(0)}, "mixes different rows",
    ),
    "batch mixed by a constant": ([node("Add", "X w", "Y")], {"w": np.ones((2, 4), np.float32)},
                                  "mixes different rows"),
    "batch mixed by a reshape": ([node("Reshape", "X s", "Y")], {"s": ints(-1)}, "drops rows"),
    "batch mixed by a flatten": ([node("Flatten", "X", "Y", axis=0)], {}, "mixes different rows"),
    "batch mixed by a softmax": ([node("Softmax", "X", "Y", axis=0)], {}, "other axes"),
    "batch mixed by a concat": ([node("Concat", "X X", "Y", axis=0)], {}, "mixes different rows"),
    "batch indexed": ([node("Gather", "X i", "Y", axis=0)], {"i": ints(0)}, "mixes different rows"),
    "sizes": ([node("Add", "X w", "Y")], {"w": np.ones(3, np.float32)}, "do not fit"),
    "matrix sizes": ([node("MatMul", "X w", "Y")], {"w": W32}, "multiplies"),
    "product": (
        [node("Transpose", "X", "t"), node("MatMul", "X t", "Y")], {}, "must be constant",
    ),
    "division by zero": ([node("Div", "X w", "Y")], {"w": np.float32([1, 0, 1, 1])}, "by zero"),
    "infinity": ([node("Add", "X w", "Y")], {"w": np.float32([1, np.inf, 1, 1])}, "infinit"),
    "nan": ([node("Mul", "X w", "Y")], {"w": np.float32(np.nan)}, "nan"),
    "clip": (
        [node("Clip", "X a b", "Y")], {"a": np.float32(1), "b": np.float32(0)}, "min exceeds max",
    ),
    "cast": ([node("Cast", "X", "Y", to=TensorProto.FLOAT16)], {}, "FLOAT16"),
    "cast to integer": (
        [node("Cast", "X", "i", to=INT64), node("Cast", "i", "Y", to=FLOAT)], {},
        "turns column 'x0' into int",
    ),
    "softmax over a part": (
        [node("Reshape", "X s", "c"), node("Softmax", "c", "d"), node("Flatten", "d", "Y")],
        {"s": ints(0, 2, 2)}, "other axes",
    ),
    "argmax, last index": (
        [node("ArgMax", "X", "Y", axis=1, select_last_index=1)], {}, "select_last_index",
    ),
    "normalizer": ([node("ml.Normalizer", "X", "Y", norm="L2")], {}, "'L2'"),
    "one-hot of computed numbers": (
        [node("Neg", "X", "n"), node("ml.OneHotEncoder", "n", "h", cats_int64s=[1]),
         node("Flatten", "h", "Y")], {}, "encodes computed numbers",
    ),
    "imputer": (
        [node("ml.Imputer", "X", "Y", imputed_value_floats=[1, 2.0], replaced_value_float=0.0)], {},
        "has 2 entries, of 4",
    ),
    "position": ([node("Gather", "X i", "Y", axis=1)], {"i": ints(9)}, "position 9 of 4"),
    "post transform": (
        [node("ml.LinearRegressor", "X", "Y", coefficients=[1.0] * 4, post_transform="PROBIT")],
        {}, "PROBIT",
    ),
    "coefficients": (
        [node("ml.LinearRegressor", "X", "Y", coefficients=[1.0] * 3)], {}, "3 coefficients",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    nodes, constants, why = REFUSALS[name]
    (offence,) = refused(graph(nodes, X, {"Y": FLOAT}, **constants)).offences
    assert offence.startswith("m.onnx: node ")
    assert re.search(why, offence), offence


def test_control_flow_is_refused() -> None:
    body = helper.make_graph(
        [node("Identity", "X", "Z")], "b", [], [helper.make_tensor_value_info("Z", FLOAT, None)]
    )
    condition = node("If", "c", "Y", "choice", then_branch=body, else_branch=body)
    model = graph([condition], X, {"Y": FLOAT}, c=np.array(True))
    assert refused(model).offences == (
        "m.onnx: node 'choice' (ai.onnx.If): is control flow; export the branch that is deployed",
    )


def test_functions_and_unknown_versions_are_refused() -> None:
    function = helper.make_function(
        "acme", "Twice", ["a"], ["b"], [node("Add", "a a", "b")], [helper.make_opsetid("", 18)]
    )
    model = graph([node("Relu", "X", "Y")], X, {"Y": FLOAT})
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("acme", 1))
    assert refused(model).offences == ("m.onnx: local function acme.Twice",)
    old = graph([node("Relu", "X", "Y")], X, {"Y": FLOAT}, opset=6)
    assert "opset 6 of ai.onnx (known: 7 to" in refused(old).offences[0]


# --- files -------------------------------------------------------------------------------------


def model_bytes() -> bytes:
    estimator = RandomForestClassifier(3, max_depth=3, random_state=0)
    content: bytes = export(
        estimator.fit(FRAME.to_numpy(), target(FRAME)), FRAME
    ).SerializeToString()
    return content


CONTENT = model_bytes()


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"none\.onnx: cannot read"):
        lower(tmp_path / "none.onnx", SPACE)
    with pytest.raises(ModelFileError, match="cannot read"):
        lower(tmp_path, SPACE)


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x00" * 100, b"<html>" * 50])
def test_files_that_are_no_models(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"odd\.onnx"):
        lower(path, SPACE)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(CONTENT) - 1))
def test_truncated_files(length: int) -> None:
    """Whatever is cut off, the error is ours (protobuf may accept a prefix, the checks do not)."""
    with pytest.raises((ModelFileError, UnsupportedError, InvalidInputError)):
        lower(CONTENT[:length], SPACE, "cut.onnx")


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(CONTENT) - 1), st.integers(0, 255))
def test_corrupt_files(position: int, value: int) -> None:
    """One byte changed: a program, or an error of ours; never a crash."""
    content = CONTENT[:position] + bytes([value]) + CONTENT[position + 1 :]
    error: Exception | None = None
    try:
        lower(content, SPACE, "odd.onnx")
    except Exception as raised:
        error = raised
    assert error is None or (isinstance(error, CfxcError) and error.exit_code == 2)
    assert len(str(error).splitlines()) <= 10


def test_damaged_networks() -> None:
    """A few thousand changes of a network's bytes: a program, or an error of ours."""
    nodes = [
        node("Reshape", "X s", "c"), node("Conv", "c k", "d", kernel_shape=[2]),
        node("Gelu", "d", "e"), node("MaxPool", "e", "g", kernel_shape=[2]),
        node("Flatten", "g", "h"), node("BatchNormalization", "h a a a a", "i"),
        node("Gemm", "i w b", "j"), node("LogSoftmax", "j", "Y"),
    ]  # fmt: skip
    random, ones = np.random.default_rng(0), np.ones((4, 3), np.float32)
    model = graph(
        nodes, X, {"Y": FLOAT}, opset=20, s=ints(0, 1, 4), k=np.ones((2, 1, 2), np.float32),
        a=ones[:, 0], w=ones, b=ones[0],
    )  # fmt: skip
    content = model.SerializeToString()
    lower(content, SPACE, "net.onnx", task="classifier")
    for trial in range(4000):
        changed = bytearray(content[: random.integers(len(content))] if trial % 3 == 0 else content)
        for _ in range(int(random.integers(1, 4)) if changed else 0):
            changed[random.integers(len(changed))] = random.integers(256)
        error: Exception | None = None
        try:
            lower(bytes(changed), SPACE, "net.onnx", task="classifier")
        except Exception as raised:
            error = raised
        assert error is None or (isinstance(error, CfxcError) and error.exit_code == 2), error
        assert len(str(error).splitlines()) <= 10


def test_weights_that_are_elsewhere(tmp_path: Path) -> None:
    model = graph([node("MatMul", "X w", "Y")], X, {"Y": FLOAT}, w=np.ones((4, 300), np.float32))
    path = tmp_path / "net.onnx"
    onnx.save_model(model, str(path), save_as_external_data=True, size_threshold=0, location="w")
    content = path.read_bytes()
    with pytest.raises(ModelFileError, match=r"net\.onnx"):
        lower(content, SPACE, "net.onnx")
    (tmp_path / "w").unlink()
    with pytest.raises(ModelFileError, match=r"net\.onnx"):
        lower(path, SPACE)


def test_models_of_another_type() -> None:
    with pytest.raises(DataTypeError, match="not int"):
        lower(3, SPACE)  # type: ignore[arg-type]


def test_a_model_that_the_runtime_refuses() -> None:
    model = graph([node("Relu", "X", "Y")], X, {"Y": TensorProto.DOUBLE})
    with pytest.raises(ModelFileError, match=r"m\.onnx: onnxruntime does not load it"):
        OnnxPredictor(model, SPACE, "m.onnx")


# --- inputs ------------------------------------------------------------------------------------


def relu(*sizes: Any, kind: int = FLOAT) -> onnx.ModelProto:
    return graph([node("Relu", "X", "Y")], {"X": (kind, list(sizes))}, {"Y": kind})


def test_widths_that_differ_from_the_space() -> None:
    with pytest.raises(InvalidInputError, match=r"takes 5 columns .* the feature space has 4"):
        lower(relu(None, 5), SPACE, "m.onnx")
    assert lower(relu(None, None), SPACE).output_sorts["value"].shape == (4,)


@pytest.mark.parametrize("sizes", [(None, None, 1), (), (7, 4), (4,)])
def test_odd_sizes(sizes: Any) -> None:
    with pytest.raises(InvalidInputError, match="'X'"):
        lower(relu(*sizes), SPACE, "m.onnx")


def test_names_that_are_no_columns() -> None:
    inputs: Any = {"x0": (FLOAT, [None, 1]), "y": (FLOAT, [None, 1])}
    model = graph([node("Add", "x0 y", "Y")], inputs, {"Y": FLOAT})
    with pytest.raises(InvalidInputError, match=r"no columns for the inputs \['y'\]"):
        lower(model, SPACE)


def test_grouped_inputs_in_another_order() -> None:
    inputs: Any = {"rest": (FLOAT, [None, 3]), "x0": (FLOAT, [None, 1])}
    model = graph([node("Add", "rest x0", "Y")], inputs, {"Y": FLOAT})
    with pytest.raises(InvalidInputError, match="input 'x0' would take column 'x3'"):
        lower(model, SPACE)


def test_an_input_of_an_odd_type() -> None:
    error = refused(relu(None, 4, kind=TensorProto.FLOAT16))
    assert error.offences == ("m.onnx: input 'X' holds FLOAT16",)


PEOPLE = people(30)
PEOPLE_SPACE = FeatureSpace.infer(PEOPLE)


@pytest.mark.parametrize(
    ("column", "kind", "why"),
    [
        ("sector", FLOAT, "holds text such as 'art'"),
        ("pay", TEXT, "does not hold text only"),
        ("member", TEXT, "does not hold text only"),
        ("pay", INT64, "holds fractions"),
        ("kids", TensorProto.BOOL, "holds other numbers than 0 and 1"),
    ],
)
def test_columns_that_do_not_fit_their_input(column: str, kind: int, why: str) -> None:
    model = graph([node("Identity", column, "Y")], {column: (kind, [None, 1])}, {"Y": kind})
    assert why in refused(model, PEOPLE_SPACE).offences[0]


def test_missing_values_and_unseen_categories() -> None:
    holes = FeatureSpace.infer(FRAME.assign(x1=FRAME.x1.where(FRAME.x1 > 0)))
    assert "column 'x1' may be missing" in refused(relu(None, 4), holes).offences[0]
    strict = node("ml.OneHotEncoder", "sector", "h", cats_strings=["art", "it"], zeros=0)
    inputs: Any = {"sector": (TEXT, [None, 1])}
    model = graph([strict, node("Flatten", "h", "Y")], inputs, {"Y": FLOAT})
    assert "knows no category 'law'" in refused(model, PEOPLE_SPACE).offences[0]
    codes = node("ml.OneHotEncoder", "kids", "h", cats_int64s=[0, 1, 2], zeros=0)
    inputs = {"kids": (INT64, [None, 1])}
    model = graph([codes, node("Flatten", "h", "Y")], inputs, {"Y": FLOAT})
    assert "fails on 3" in refused(model, PEOPLE_SPACE).offences[0]


def test_tables_that_the_predictor_refuses() -> None:
    estimator = LogisticRegression().fit(FRAME.to_numpy(), target(FRAME))
    predictor = OnnxPredictor(export(estimator, FRAME), SPACE)
    with pytest.raises(MissingColumnError, match="x3"):
        predictor.predict(FRAME.drop(columns="x3"))
    with pytest.raises(DataTypeError, match="x0"):
        predictor.predict(FRAME.assign(x0="a"))
    inputs: Any = {"sector": (TEXT, [None, 1]), "kids": (INT64, [None, 1])}
    nodes = [
        node("ml.LabelEncoder", "sector", "s", keys_strings=["it"], values_int64s=[1]),
        node("Add", "s kids", "Y"),
    ]
    mixed = OnnxPredictor(graph(nodes, inputs, {"Y": INT64}), PEOPLE_SPACE)
    with pytest.raises(DataTypeError, match="sector: 3 is not text"):
        mixed.predict(PEOPLE.assign(sector=3))
    with pytest.raises(InvalidInputError, match="kids: the model expects whole numbers"):
        mixed.predict(PEOPLE.assign(kids=0.5))


def test_the_table_may_hold_numbers_in_other_types() -> None:
    estimator = LogisticRegression().fit(FRAME.to_numpy(), target(FRAME))
    predictor = OnnxPredictor(export(estimator, FRAME), SPACE)
    expected = predictor.predict(FRAME).tolist()
    assert predictor.predict(FRAME.astype("Float64")).tolist() == expected
    assert predictor.predict(FRAME.astype(object)).tolist() == expected
    assert predictor.predict(pd.DataFrame(FRAME.to_dict("list"))).tolist() == expected


def test_one_input_of_unknown_width_takes_the_whole_table() -> None:
    """Even where it happens to be called as a column is."""
    model = graph([node("Relu", "x0", "Y")], {"x0": (FLOAT, [None, None])}, {"Y": FLOAT})
    assert lower(model, SPACE).output_sorts["value"].shape == (4,)
