"""Every op alone, in a hand-made graph: the program computes what onnxruntime computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

import cfxc
from cfxc.errors import UnsupportedError
from cfxc.frontends.onnx import OnnxPredictor, lower
from cfxc.frontends.onnx.rules import RULES
from cfxc.space import FeatureSpace

from .support import X, agree, graph, node, numbers, people

FRAME = numbers(60)
SPACE = FeatureSpace.infer(FRAME)
W = np.arange(12, dtype=np.float32).reshape(4, 3) / 7 - 0.5
ROW = np.array([1.5, -2, 0.25, 3], dtype=np.float32)
INTS = np.int64


def ints(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


# name: nodes from X (n, 4) to Y, then constants; "opset" is the version (18 by default)
GRAPHS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "Add": ([node("Add", "X w", "Y")], {"w": ROW}),
    "Add scalar": ([node("Add", "w X", "Y")], {"w": np.float32(0.3)}),
    "Add itself": ([node("Add", "X X", "Y")], {}),
    "Add column": (
        [node("Slice", "X a b b", "c"), node("Add", "X c", "Y")],
        {"a": ints(0), "b": ints(1)},
    ),
    "Sub": ([node("Sub", "w X", "Y")], {"w": ROW}),
    "Mul": ([node("Mul", "X w", "Y")], {"w": ROW[None]}),
    "Mul computed": ([node("Mul", "X X", "Y")], {}),
    "Div": ([node("Div", "X w", "Y")], {"w": ROW}),
    "Neg": ([node("Neg", "X", "Y")], {}),
    "Abs": ([node("Abs", "X", "Y")], {}),
    "Relu": ([node("Relu", "X", "Y")], {}),
    "LeakyRelu": ([node("LeakyRelu", "X", "Y", alpha=0.3)], {}),
    "LeakyRelu default": ([node("LeakyRelu", "X", "Y")], {}),
    "PRelu": ([node("PRelu", "X w", "Y")], {"w": np.float32([0.25])}),
    "Clip": ([node("Clip", "X a b", "Y")], {"a": np.float32(-0.1), "b": np.float32(0.2)}),
    "Clip below": ([node("Clip", "X a", "Y")], {"a": np.float32(0)}),
    "Clip above": ([node("Clip", "X  b".replace("  ", " _ "), "Y")], {"b": np.float32(0.2)}),
    "Clip 6": ([node("Clip", "X", "Y", min=-0.25, max=0.5)], {"opset": 9}),
    "HardSigmoid": ([node("HardSigmoid", "X", "Y")], {}),
    "Sigmoid": ([node("Sigmoid", "X", "Y")], {}),
    "Tanh": ([node("Tanh", "X", "Y")], {}),
    "Exp": ([node("Clip", "X a a", "c"), node("Exp", "c", "Y")], {"a": np.float32(0.5)}),
    "Softmax": ([node("Softmax", "X", "Y")], {}),
    "Softmax 11": ([node("Softmax", "X", "Y")], {"opset": 11}),
    "Softmax 11 of a matrix": (
        [node("Reshape", "X s", "c"), node("Softmax", "c", "d"), node("Flatten", "d", "Y")],
        {"s": ints(0, 2, 2), "opset": 11},
    ),
    "Min": ([node("Min", "w X v", "Y")], {"w": ROW, "v": np.float32(0)}),
    "Max": ([node("Max", "X w", "Y")], {"w": ROW}),
    "Sum": ([node("Sum", "X w X", "Y")], {"w": ROW}),
    "MatMul": ([node("MatMul", "X w", "Y")], {"w": W}),
    "MatMul vector": ([node("MatMul", "X w", "Y")], {"w": W[:, 0].copy()}),
    "MatMul Add": ([node("MatMul", "X w", "c"), node("Add", "b c", "Y")], {"w": W, "b": ROW[:3]}),
    "MatMul Add twice": (
        [node("MatMul", "X w", "c"), node("Add", "c b", "d"), node("Add", "d b", "Y")],
        {"w": W, "b": ROW[:1]},
    ),
    "Gemm": ([node("Gemm", "X w b", "Y")], {"w": W, "b": ROW[:3]}),
    "Gemm transB": (
        [node("Gemm", "X w b", "Y", transB=1, alpha=0.3, beta=0.7)],
        {"w": W.T.copy(), "b": ROW[:1]},
    ),
    "Gemm alone": ([node("Gemm", "X w", "Y")], {"w": W}),
    "Less Where": (
        [node("Less", "X w", "c"), node("Where", "c X v", "Y")],
        {"w": ROW, "v": np.float32(7)},
    ),
    "LessOrEqual And": (
        [
            node("LessOrEqual", "X w", "c"), node("GreaterOrEqual", "X v", "d"),
            node("And", "c d", "e"), node("Cast", "e", "Y", to=TensorProto.FLOAT),
        ],
        {"w": ROW, "v": -ROW},
    ),
    "Greater Or Not": (
        [
            node("Greater", "X w", "c"), node("Equal", "X v", "d"), node("Or", "c d", "e"),
            node("Not", "e", "f"), node("Cast", "f", "Y", to=TensorProto.FLOAT),
        ],
        {"w": ROW, "v": ROW},
    ),
    "Cast double": (
        [
            node("Cast", "X", "c", to=TensorProto.DOUBLE), node("Mul", "c w", "d"),
            node("Cast", "d", "Y", to=TensorProto.FLOAT),
        ],
        {"w": np.float64(0.1)},
    ),
    "Cast bool": (
        [
            node("Relu", "X", "r"), node("Cast", "r", "c", to=TensorProto.BOOL),
            node("Cast", "c", "Y", to=TensorProto.FLOAT),
        ],
        {},
    ),
    "Identity": ([node("Identity", "X", "c"), node("Relu", "c", "Y")], {}),
    "Dropout": ([node("Relu", "X", "c"), node("Dropout", "c", "Y")], {}),
    "Constant": (
        [node("Constant", "", "w", value_floats=[1.0, 2.0, 3.0, 4.0]), node("Add", "X w", "Y")],
        {},
    ),
    "folded": ([node("Transpose", "w", "v"), node("MatMul", "X v", "Y")], {"w": W.T.copy()}),
    "Reshape": (
        [node("Reshape", "X s", "c"), node("Mul", "c w", "d"), node("Reshape", "d t", "Y")],
        {"s": ints(-1, 2, 2), "t": ints(0, -1), "w": ROW[:2].reshape(2, 1)},
    ),
    "Flatten": (
        [node("Unsqueeze", "X a", "c"), node("Relu", "c", "d"), node("Flatten", "d", "Y")],
        {"a": ints(1)},
    ),
    "Squeeze": (
        [node("Unsqueeze", "X a", "c"), node("Relu", "c", "d"), node("Squeeze", "d a", "Y")],
        {"a": ints(1)},
    ),
    "Squeeze 11": (
        [
            node("Unsqueeze", "X", "c", axes=[2]), node("Relu", "c", "d"),
            node("Squeeze", "d", "Y", axes=[-1]),
        ],
        {"opset": 11},
    ),
    "Transpose": (
        [
            node("Reshape", "X s", "c"), node("Relu", "c", "d"),
            node("Transpose", "d", "e", perm=[0, 2, 1]), node("Flatten", "e", "Y"),
        ],
        {"s": ints(0, 2, 2)},
    ),
    "Transpose batch": (
        [
            node("Transpose", "X", "c"), node("Mul", "c w", "d"),
            node("Transpose", "d", "Y", perm=[1, 0]),
        ],
        {"w": ROW[:, None]},
    ),
    "Slice": (
        [node("Slice", "X a b c d", "Y")],
        {"a": ints(3), "b": ints(-100), "c": ints(1), "d": ints(-2)},
    ),
    "Slice 9": ([node("Slice", "X", "Y", starts=[1], ends=[3], axes=[1])], {"opset": 9}),
    "Split": (
        [node("Split", "X", "a b", axis=1, num_outputs=2), node("Sub", "a b", "Y")],
        {},
    ),
    "Split sizes": (
        [node("Split", "X s", "a b", axis=-1), node("Concat", "b a", "Y", axis=1)],
        {"s": ints(3, 1)},
    ),
    "Gather": ([node("Gather", "X i", "Y", axis=1)], {"i": ints(2, 0, -1, 0)}),
    "Gather one": ([node("Relu", "X", "c"), node("Gather", "c i", "Y", axis=1)], {"i": INTS(2)}),
    "ArrayFeatureExtractor": (
        [node("Neg", "X", "c"), node("ml.ArrayFeatureExtractor", "c i", "Y")],
        {"i": ints(3, 1)},
    ),
    "Concat": ([node("Relu", "X", "c"), node("Concat", "X c", "Y", axis=1)], {}),
    "Concat inner": (
        [
            node("Reshape", "X s", "c"), node("Neg", "c", "d"),
            node("Concat", "c d", "e", axis=2), node("Flatten", "e", "Y"),
        ],
        {"s": ints(0, 2, 2)},
    ),
    "FeatureVectorizer": (
        [node("Neg", "X", "c"), node("ml.FeatureVectorizer", "X c", "Y", inputdimensions=[4, 4])],
        {},
    ),
    "ReduceSum": ([node("ReduceSum", "X a", "Y")], {"a": ints(1)}),
    "ReduceSum 11": ([node("ReduceSum", "X", "Y", axes=[-1], keepdims=0)], {"opset": 11}),
    "ReduceMean": ([node("ReduceMean", "X a", "Y", keepdims=0)], {"a": ints(1)}),
    "ReduceMax": ([node("ReduceMax", "X", "Y", axes=[1])], {"opset": 13}),
    "ReduceMin groups": (
        [node("Reshape", "X s", "c"), node("ReduceMin", "c a", "Y", keepdims=0)],
        {"s": ints(0, 2, 2), "a": ints(1)},
    ),
    "Scaler": ([node("ml.Scaler", "X", "Y", offset=ROW.tolist(), scale=[0.5, 2, 0.1, 1])], {}),
    "Scaler one": ([node("ml.Scaler", "X", "Y", offset=[0.5], scale=[1.0])], {}),
    "Binarizer": ([node("ml.Binarizer", "X", "Y", threshold=0.05)], {}),
    "Normalizer sigmoid": (
        [node("Sigmoid", "X", "c"), node("ml.Normalizer", "c", "Y", norm="L1")],
        {},
    ),
    "Normalizer softmax": (
        [node("Softmax", "X", "c"), node("ml.Normalizer", "c", "Y", norm="L1")],
        {},
    ),
    "Normalizer by hand": (
        [
            node("Sigmoid", "X", "c"), node("Abs", "c", "d"), node("ReduceSum", "d a", "e"),
            node("Div", "c e", "Y"),
        ],
        {"a": ints(1)},
    ),
    "Imputer": (
        [
            node("ml.Imputer", "X", "Y", imputed_value_floats=[1.0, 2.0, 3.0, 4.0],
                 replaced_value_float=float("nan")),
        ],
        {},
    ),
    **{
        name: ([node(name, "X", "Y")], {"opset": 24})
        for name in (
            "Celu", "Elu", "Erf", "Gelu", "HardSwish", "Mish", "Selu", "Shrink", "Sign", "Softplus",
            "Softsign", "Swish", "ThresholdedRelu", "LogSoftmax",
        )
    },
    "Elu steep": ([node("Elu", "X", "Y", alpha=1.7)], {}),
    "Celu steep": ([node("Celu", "X", "Y", alpha=0.4)], {}),
    "Gelu tanh": ([node("Gelu", "X", "Y", approximate="tanh")], {"opset": 20}),
    "Swish steep": ([node("Swish", "X", "Y", alpha=1.702)], {"opset": 24}),
    "Shrink soft": ([node("Shrink", "X", "Y", bias=0.3, lambd=0.3)], {}),
    "Softsign by hand": (
        [node("Abs", "X", "c"), node("Add", "w c", "d"), node("Div", "X d", "Y")],
        {"w": np.float32(1)},
    ),
    "Sigmoid by hand": (
        [node("Exp", "X", "c"), node("Add", "w c", "d"), node("Div", "w d", "Y")],
        {"w": np.float32(1)},
    ),
    "LeakyRelu steep": ([node("LeakyRelu", "X", "Y", alpha=-2.5)], {}),
    "PRelu each": ([node("PRelu", "X w", "Y")], {"w": ROW}),
    "Pow": ([node("Pow", "X w", "Y")], {"w": np.float32(3)}),
    "Mean": ([node("Mean", "X w X", "Y")], {"w": ROW}),
    "Xor": (
        [
            node("Less", "X w", "c"), node("Less", "X v", "d"), node("Xor", "c d", "e"),
            node("Cast", "e", "Y", to=TensorProto.FLOAT),
        ],
        {"w": ROW, "v": -ROW},
    ),
    "Where constant": ([node("Where", "c X w", "Y")], {"c": np.array([True, False, True, False]),
                                                         "w": ROW}),
    "ReduceL1": ([node("ReduceL1", "X a", "Y")], {"a": ints(1)}),
    "ReduceSumSquare": ([node("ReduceSumSquare", "X a", "Y")], {"a": ints(1)}),
    "Expand": ([node("Unsqueeze", "X b", "c"), node("Expand", "c s", "d"),
                node("Flatten", "d", "Y")], {"b": ints(1), "s": ints(1, 3, 1)}),
    "Tile": ([node("Tile", "X r", "Y")], {"r": ints(1, 2)}),
    "Pad": ([node("Pad", "X p v", "Y")], {"p": ints(0, 1, 0, 2), "v": np.float32(0.5)}),
    "Pad reflect": ([node("Pad", "X p", "Y", mode="reflect")], {"p": ints(0, 1, 0, 2)}),
    "Shape": (
        [
            node("Shape", "X", "s"), node("Gather", "s z", "n"), node("Unsqueeze", "n z1", "m"),
            node("Concat", "m k", "t", axis=0), node("Relu", "X", "r"), node("Reshape", "r t", "u"),
            node("Flatten", "u", "Y"),
        ],
        {"z": INTS(0), "z1": ints(0), "k": ints(2, 2)},
    ),
    "MatMul of vectors": (
        [node("Reshape", "X s", "c"), node("MatMul", "c w", "d"), node("Flatten", "d", "Y")],
        {"s": ints(0, 2, 2), "w": W[:2]},
    ),
    "BatchNormalization": (
        [node("BatchNormalization", "X a b m v", "Y")],
        {"a": ROW, "b": -ROW, "m": ROW / 3, "v": np.abs(ROW)},
    ),
    **{
        name: (
            [node("Reshape", "X s", "c"), node(*ending[0], **ending[1]), node("Flatten", "d", "Y")],
            {"s": ints(0, 1, 2, 2), "k": (np.arange(8, dtype=np.float32) - 3).reshape(2, 1, 2, 2),
             "b": ROW[:2]},
        )
        for name, ending in {
            "Conv": (("Conv", "c k b", "d"), {"pads": [1, 0, 0, 1], "kernel_shape": [2, 2]}),
            "Conv same": (("Conv", "c k", "d"), {"auto_pad": "SAME_LOWER", "strides": [2, 1]}),
            "MaxPool": (("MaxPool", "c", "d"), {"kernel_shape": [2, 1], "pads": [1, 0, 0, 0]}),
            "AveragePool": (("AveragePool", "c", "d"), {"kernel_shape": [2, 2],
                                                        "pads": [1, 1, 0, 0]}),
            "AveragePool padded": (("AveragePool", "c", "d"), {
                "kernel_shape": [2, 2], "pads": [1, 1, 0, 0], "count_include_pad": 1}),
            "GlobalMaxPool": (("GlobalMaxPool", "c", "d"), {}),
            "GlobalAveragePool": (("GlobalAveragePool", "c", "d"), {}),
            "SpaceToDepth": (("SpaceToDepth", "c", "d"), {"blocksize": 2}),
        }.items()
    },
    **{
        f"DepthToSpace {mode}": (
            [
                node("Reshape", "X s", "c"), node("DepthToSpace", "c", "d", blocksize=2, mode=mode),
                node("Flatten", "d", "Y"),
            ],
            {"s": ints(0, 4, 1, 1)},
        )
        for mode in ("DCR", "CRD")
    },
    "SVMRegressor": (
        [
            node("ml.SVMRegressor", "X", "Y", kernel_type="LINEAR", n_supports=2, rho=[0.25],
                 kernel_params=[0.0, 0.0, 3.0], coefficients=[0.5, -0.25],
                 support_vectors=[*ROW.tolist(), *(2 * ROW).tolist()]),
        ],
        {},
    ),
    "SVMRegressor coefficients": (
        [node("ml.SVMRegressor", "X", "Y", kernel_type="LINEAR", rho=[0.25], n_supports=0,
              kernel_params=[0.0, 0.0, 3.0], coefficients=ROW.tolist())],
        {},
    ),
    "LinearRegressor": (
        [node("ml.LinearRegressor", "X", "Y", coefficients=ROW.tolist(), intercepts=[0.5])],
        {},
    ),
    "LinearRegressor targets": (
        [node("ml.LinearRegressor", "X", "Y", coefficients=W.ravel().tolist(), targets=3)],
        {},
    ),
}  # fmt: skip


def build(nodes: list[Any], constants: dict[str, Any], **more: Any) -> Any:
    constants = dict(constants)
    opset = constants.pop("opset", 18)
    for one in nodes:  # "_" stands for an absent input
        one.input[:] = ["" if name == "_" else name for name in one.input]
    inputs = more.get("inputs", X)
    return graph(nodes, inputs, {"Y": TensorProto.FLOAT}, opset=opset, **constants)


@pytest.mark.parametrize("name", GRAPHS)
def test_op_computes_what_onnxruntime_computes(name: str) -> None:
    nodes, constants = GRAPHS[name]
    agree(build(nodes, constants), SPACE, FRAME, exact=8, task="regressor")


SIGNS = node("Greater", "X v", "b")  # booleans (n, 4)
BOOLEANS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "largest": ([node("ReduceMax", "b a", "Y", keepdims=0)], {"a": ints(1)}),
    "smallest": ([node("ReduceMin", "b a", "Y", keepdims=0)], {"a": ints(1)}),
    "kept": ([node("ReduceMin", "b a", "c"), node("Squeeze", "c a", "Y")], {"a": ints(1)}),
    "of constants": (
        [node("Or", "b w", "c"), node("ReduceMin", "c a", "Y", keepdims=0)],
        {"a": ints(1), "w": np.array([True, False, True, False])},
    ),
    "of some": (
        [
            node("Gather", "b i", "c", axis=1), node("Not", "c", "d"),
            node("ReduceMax", "d a", "Y", keepdims=0),
        ],
        {"a": ints(1), "i": ints(0, 2)},
    ),
    "of one": (
        [node("Gather", "b i", "c", axis=1), node("ReduceMax", "c a", "Y", keepdims=0)],
        {"a": ints(1), "i": ints(3)},
    ),
    "largest, then smallest": (
        [
            node("Reshape", "b s", "c"), node("ReduceMax", "c a", "d", keepdims=0),
            node("ReduceMin", "d e", "Y", keepdims=0),
        ],
        {"s": ints(0, 2, 2), "a": ints(2), "e": ints(1)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOOLEANS)
def test_reductions_of_booleans(name: str) -> None:
    nodes, constants = BOOLEANS[name]
    bit = {"Y": TensorProto.BOOL}
    made = graph([SIGNS, *nodes], X, bit, opset=20, v=ROW / 10, **constants)
    agree(made, SPACE, FRAME, exact=60)
    one = cfxc.compile(made, SPACE)
    assert one.explain(FRAME.iloc[[0]]).status == "optimal"


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([node("ReduceMean", "b a", "Y", keepdims=0)], r"node 'Y' \(ai.onnx.ReduceMean\): adds up"),
        (
            [node("Max", "b b", "c"), node("ReduceMax", "c a", "Y")],
            r"node 'c'\): a number is needed",
        ),
    ],
)
def test_other_arithmetic_on_booleans_is_refused(nodes: list[Any], reason: str) -> None:
    """No such model loads, but nothing may get past the frontend."""
    made = graph([SIGNS, *nodes], X, {"Y": TensorProto.BOOL}, opset=20, v=ROW, a=ints(1))
    with pytest.raises(UnsupportedError, match=reason):
        lower(made, SPACE)


def test_every_rule_is_exercised() -> None:
    """By the graphs above, or by name in the other tests of this folder."""
    elsewhere = {
        "ArgMax", "ArgMin", "OneHot", "LabelEncoder",
        "LinearClassifier", "OneHotEncoder", "SVMClassifier", "TreeEnsemble",
        "TreeEnsembleClassifier", "TreeEnsembleRegressor", "ZipMap",
    }  # fmt: skip
    used = {one.op_type for nodes, _ in GRAPHS.values() for one in nodes}
    assert {kind.rpartition(".")[2] for kind in RULES} <= used | elsewhere


PEOPLE = people(60).assign(rate=np.resize([0.1, 0.3, 0.7], 60))
PEOPLE_SPACE = FeatureSpace.infer(PEOPLE, kinds={"rate": "categorical"})
TEXT, INT64 = TensorProto.STRING, TensorProto.INT64
COLUMNS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "one-hot text": (
        [node("ml.OneHotEncoder", "sector", "c", cats_strings=["art", "law"], zeros=1)],
        {"sector": (TEXT, [None, 1])},
    ),
    "one-hot bits": (
        [node("ml.OneHotEncoder", "member", "c", cats_int64s=[1, 0], zeros=0)],
        {"member": (INT64, [None, 1])},
    ),
    "one-hot integers": (
        [node("ml.OneHotEncoder", "kids", "c", cats_int64s=[0, 2, 3], zeros=1)],
        {"kids": (INT64, [None, 1])},
    ),
    "embedding": (
        [node("Gather", "t kids", "c")],
        {"kids": (INT64, [None, 1]), "t": np.arange(10, dtype=np.float32).reshape(5, 2) / 7},
    ),
    "embedding of bits": (
        [node("Gather", "t member", "c")],
        {"member": (INT64, [None, 1]), "t": np.float32([[0.5], [0.25]])},
    ),
    "OneHot": (
        [node("OneHot", "kids d v", "c")],
        {"kids": (INT64, [None, 1]), "d": INTS(6), "v": np.float32([-1, 2])},
    ),
    "one-hot of one": (
        [node("ml.OneHotEncoder", "kids", "c", cats_int64s=[2], zeros=1)],
        {"kids": (INT64, [None, 1])},
    ),
    "one-hot floats": (
        [
            node("Cast", "kids", "f", to=TensorProto.FLOAT),
            node("Cast", "f", "i", to=INT64),
            node("ml.OneHotEncoder", "i", "c", cats_int64s=[0, 1, 2, 3, 4], zeros=0),
        ],
        {"kids": (INT64, [None, 1])},
    ),
    "labels text": (
        [
            node("ml.LabelEncoder", "school", "e", keys_strings=["low", "mid"],
                 values_int64s=[3, 5], default_int64=9),
            node("Cast", "e", "c", to=TensorProto.FLOAT),
        ],
        {"school": (TEXT, [None, 1])},
    ),
    "labels integers": (
        [node("ml.LabelEncoder", "kids", "c", keys_int64s=[0, 3], values_floats=[0.1, -4.0])],
        {"kids": (INT64, [None, 1])},
    ),
    "labels integers, default": (
        [
            node("ml.LabelEncoder", "kids", "e", keys_int64s=[0, 3], values_int64s=[4, 5]),
            node("Cast", "e", "c", to=TensorProto.FLOAT),
        ],
        {"kids": (INT64, [None, 1])},
    ),
    "labels fractions": (
        [node("ml.LabelEncoder", "rate", "c", keys_floats=[0.1, 0.7], values_floats=[1.0, 2.0])],
        {"rate": (TensorProto.FLOAT, [None, 1])},
    ),
    "labels bits": (
        [
            node("ml.LabelEncoder", "member", "e", keys_int64s=[1, 0], values_int64s=[7, 8]),
            node("Cast", "e", "c", to=TensorProto.FLOAT),
        ],
        {"member": (INT64, [None, 1])},
    ),
    "equal text": (
        [
            node("Equal", "sector w", "e"), node("Cast", "e", "c", to=TensorProto.FLOAT),
        ],
        {"sector": (TEXT, [None, 1]), "w": np.array(["law"])},
    ),
    "scaled integers": (
        [node("ml.Scaler", "kids", "c", offset=[0.5], scale=[2.0])],
        {"kids": (INT64, [None, 1])},
    ),
    "two columns": (
        [
            node("Cast", "age", "a", to=TensorProto.FLOAT), node("Concat", "a pay", "c", axis=1),
        ],
        {"age": (INT64, [None, 1]), "pay": (TensorProto.FLOAT, [None, 1])},
    ),
    "flat columns": (
        [node("Add", "pay pay", "d"), node("Reshape", "d s", "c")],
        {"pay": (TensorProto.FLOAT, [None]), "s": ints(-1, 1)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_read_as_onnxruntime_reads_them(name: str) -> None:
    nodes, more = COLUMNS[name]
    inputs = {key: value for key, value in more.items() if isinstance(value, tuple)}
    constants = {key: value for key, value in more.items() if key not in inputs}
    last = [*nodes, node("Flatten", "c", "Y")]
    model = graph(last, inputs, {"Y": TensorProto.FLOAT}, opset=19, **constants)
    agree(model, PEOPLE_SPACE, PEOPLE, exact=8, task="regressor")


@pytest.mark.parametrize("kind", [INT64, TensorProto.INT32, TensorProto.DOUBLE, TensorProto.BOOL])
def test_input_types(kind: int) -> None:
    frame = PEOPLE[["kids", "member"]] if kind != TensorProto.BOOL else PEOPLE[["member"]]
    space = FeatureSpace.infer(frame)
    nodes = [node("Cast", "X", "c", to=TensorProto.FLOAT), node("Neg", "c", "Y")]
    model = graph(nodes, {"X": (kind, [None, frame.shape[1]])}, {"Y": TensorProto.FLOAT})
    agree(model, space, frame, task="regressor")


def test_a_batch_of_one_row() -> None:
    """Models exported for one row at a time run row by row."""
    nodes = [node("MatMul", "X w", "c"), node("Reshape", "c s", "Y")]
    inputs = {"X": (TensorProto.FLOAT, [1, 4])}
    model = graph(nodes, inputs, {"Y": TensorProto.FLOAT}, w=W, s=ints(1, 3))
    agree(model, SPACE, FRAME, task="regressor")


def test_encoded_groups_are_read_as_bits() -> None:
    frame = FRAME.assign(g_a=(FRAME.x0 > 0).astype(int), g_b=(FRAME.x0 <= 0).astype(int))
    frame = frame.assign(t_1=(FRAME.x1 > -1).astype(int), t_2=(FRAME.x1 > 0).astype(int))
    space = FeatureSpace.infer(frame, one_hot=["g_"], thermometer=["t_"])
    inputs = {"X": (TensorProto.FLOAT, [None, 8])}
    model = graph([node("Neg", "X", "Y")], inputs, {"Y": TensorProto.FLOAT})
    predictor = agree(model, space, frame, task="regressor")
    assert isinstance(predictor, OnnxPredictor)


def two_trees(**more: Any) -> Any:
    """A stump on x0 and one on x3, both with two targets at their leaves."""
    return node(
        "ml.TreeEnsembleRegressor", "X", "Y", n_targets=2,
        nodes_treeids=[0, 0, 0, 1, 1, 1], nodes_nodeids=[2, 1, 0, 0, 1, 2],
        nodes_featureids=[0, 0, 0, 3, 0, 0], nodes_values=[0.01, 0.0, 0.0, -5.0, 0.0, 0.0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
        nodes_truenodeids=[0, 0, 0, 2, 0, 0], nodes_falsenodeids=[1, 0, 0, 1, 0, 0],
        target_treeids=[1, 0, 0, 1, 1, 1], target_nodeids=[1, 0, 1, 2, 1, 2],
        target_ids=[0, 0, 1, 0, 1, 1], target_weights=[1.0, 2.0, 4.0, 8.0, -16.0, 32.0],
        **more,
    )  # fmt: skip


@pytest.mark.parametrize("base", [{}, {"base_values": [0.5, -0.25]}], ids=["plain", "base"])
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE"])
def test_sums_and_means_of_trees(aggregate: str, base: Any) -> None:
    """Nodes and weights in any order; the root of a tree is its first node."""
    model = build([two_trees(aggregate_function=aggregate, **base)], {})
    predictor = agree(model, SPACE, FRAME, task="regressor")
    assert len({tuple(row) for row in predictor.predict(FRAME).tolist()}) == 4


@pytest.mark.parametrize("aggregate", ["MIN", "MAX"])
def test_other_aggregates_are_refused(aggregate: str) -> None:
    model = build([two_trees(aggregate_function=aggregate)], {})
    with pytest.raises(UnsupportedError, match=f"'aggregate_function' = '{aggregate}'"):
        lower(model, SPACE)
