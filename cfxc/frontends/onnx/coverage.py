"""Every op of ONNX: read exactly, read with an enclosure, or why it is not read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal as OneOf
from typing import NamedTuple

from .rules import RULES

Mark = OneOf["exact", "enclosed", "refused"]


class Row(NamedTuple):
    """An op, how it is read, and what is to be known about that."""

    domain: str
    op: str
    mark: Mark
    note: str


SMOOTH = "smooth: engines enclose it between lines"
ENCLOSED: Mapping[str, str] = {
    **dict.fromkeys(
        ("Celu", "Elu", "Erf", "Exp", "Gelu", "Mish", "Selu", "Sigmoid", "Softplus", "Softsign",
         "Swish", "Tanh"), SMOOTH,
    ),
    "Softmax": "all of a row's numbers; labels are decided before it",
    "LogSoftmax": "all of a row's numbers; labels are decided before it",
    "Mul": "exact by a constant; of two computed numbers a difference of squares",
    "Pow": "whole constant exponents up to 8, as products",
    "HardSwish": "a square, clipped, and a hinge",
    "ReduceSumSquare": "squares",
    "BatchNormalization": "of inference; the root as a double",
}  # fmt: skip
NOTES: Mapping[str, str] = {
    "Add": "", "ArgMax": "over all of a row's numbers", "ArgMin": "over all of a row's numbers",
    "Cast": "not from or to text, nor computed numbers to integers",
    "Conv": "fixed sizes, constant weights", "Div": "by constants; of probabilities by their sum",
    "Expand": "not over rows", "Gather": "constant positions, or a constant table of codes",
    "Gemm": "a constant factor", "Imputer": "of missing numbers, or of one number",
    "MatMul": "by a constant on the right", "MaxPool": "fixed sizes", "AveragePool": "fixed sizes",
    "Normalizer": "L1, of probabilities", "OneHot": "of a column of codes",
    "Pad": "fixed sizes", "PRelu": "any constant slopes",
    "Shape": "as sizes for Reshape and the like", "Clip": "constant bounds",
    "LabelEncoder": "of columns and labels", "OneHotEncoder": "of columns",
    "TreeEnsemble": "modes of comparison; sums", "LinearClassifier": "", "ZipMap": "",
    "LinearRegressor": "without post_transform", "Reshape": "constant sizes, row by row",
    "SVMClassifier": "labels, and scores of two classes; kernels RBF and SIGMOID are enclosed",
    "SVMRegressor": "without post_transform; kernels RBF and SIGMOID are enclosed",
}  # fmt: skip

_WAVES = "a periodic or inverse function that no engine has lines for"
_DEVIATION = "divides by a deviation that is computed from the row; BatchNormalization is read"
_STEPS = "jumps between whole numbers at infinitely many places"
_BITS = "computes with the bits of integers"
_RANDOM = "draws at random"
_SEQUENCE = "works on lists of tensors"
_TRAINING = "is for training"
_QUANTISED = "computes in integers of 8 bits; export the model in floats"
_CONTROL = "is control flow; export the branch that is deployed"
_RECURRENT = "is a recurrent layer: products of what it computed before"
_ATTENTION = "divides by sums over computed scores"
_PLACES = "moves elements to computed places"
_IMAGE = "resamples images"
_SIGNAL = "makes constants or transforms of signals; fold it when exporting"
_TEXT = "computes with text"
_SIZES = "its size depends on the values"
_ROOT = "is a root of a computed number, whose slope has no bound"
_QUOTIENT = "divides by a computed number, which no engine takes"

REASONS: Mapping[str, str] = {
    **dict.fromkeys(
        ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Sin", "Sinh", "Tan"),
        _WAVES,
    ),
    **dict.fromkeys(
        ("GroupNormalization", "InstanceNormalization", "LayerNormalization", "LpNormalization",
         "LRN", "MeanVarianceNormalization", "RMSNormalization"), _DEVIATION,
    ),
    **dict.fromkeys(("Ceil", "Floor", "Round", "Mod"), _STEPS),
    **dict.fromkeys(("BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "BitCast"),
                    _BITS),
    **dict.fromkeys(
        ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
         "RandomUniformLike"), _RANDOM,
    ),
    **dict.fromkeys(
        ("ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt",
         "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
         "SequenceMap", "SplitToSequence", "ReverseSequence"), _SEQUENCE,
    ),
    **dict.fromkeys(
        ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "Adagrad", "Adam", "Gradient",
         "Momentum"), _TRAINING,
    ),
    **dict.fromkeys(
        ("ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "QLinearConv",
         "QLinearMatMul", "QuantizeLinear"), _QUANTISED,
    ),
    **dict.fromkeys(("If", "Loop", "Scan"), _CONTROL),
    **dict.fromkeys(("GRU", "LSTM", "RNN", "CausalConvWithState"), _RECURRENT),
    **dict.fromkeys(
        ("Attention", "FlexAttention", "LinearAttention", "RotaryEmbedding", "SwiGLU"), _ATTENTION
    ),
    **dict.fromkeys(
        ("GatherElements", "GatherND", "MaxUnpool", "Scatter", "ScatterElements", "ScatterND",
         "TensorScatter", "TopK", "NonMaxSuppression", "Hardmax", "DeformConv"), _PLACES,
    ),
    **dict.fromkeys(
        ("AffineGrid", "CenterCropPad", "Col2Im", "GridSample", "ImageDecoder", "MaxRoiPool",
         "Resize", "RoiAlign", "Upsample"), _IMAGE,
    ),
    **dict.fromkeys(
        ("BlackmanWindow", "DFT", "HammingWindow", "HannWindow", "MelWeightMatrix", "STFT"), _SIGNAL
    ),
    **dict.fromkeys(
        ("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer",
         "CategoryMapper"), _TEXT,
    ),
    **dict.fromkeys(("Compress", "NonZero", "Unique"), _SIZES),
    **dict.fromkeys(("ReduceL2", "Sqrt", "GlobalLpPool", "LpPool"), _ROOT),
    **dict.fromkeys(("Reciprocal",), _QUOTIENT),
    **dict.fromkeys(("CastMap", "DictVectorizer"), "reads maps; give the columns as tensors"),
    **dict.fromkeys(("ConstantOfShape", "EyeLike", "Range", "Size"),
                    "read where it is constant; here its size depends on the number of rows"),
    **dict.fromkeys(("CumProd", "Det", "ReduceProd"), "multiplies many computed numbers"),
    "CastLike": "casts to the type of a tensor; Cast is read",
    "Log": "is -inf where its operand rounds to 0; LogSoftmax and Softplus are read",
    "Einsum": "is written as a text of sums; MatMul is read",
    "CumSum": "is not read; ReduceSum and MatMul are",
    "Trilu": "is not read; multiply by a constant mask",
    "ReduceLogSumExp": "is read within LogSoftmax",
    "ConvTranspose": "is not read; Conv and MatMul are",
    "ReduceLogSum": "is the logarithm of a sum; LogSoftmax is read",
    "IsInf": "no number of a feature space is infinite; leave it out",
    "IsNaN": "columns that may be missing are refused; leave it out",
}  # fmt: skip


OPSETS = {"ai.onnx": 22, "ai.onnx.ml": 5}
"""The op sets that the table is about."""


def coverage() -> tuple[Row, ...]:
    """Every op of ``OPSETS``, by domain and name."""
    from onnx.defs import get_all_schemas_with_history

    known = {
        (schema.domain or "ai.onnx", schema.name)
        for schema in get_all_schemas_with_history()
        if schema.since_version <= OPSETS.get(schema.domain or "ai.onnx", 0)
    }
    return tuple(_row(domain, op) for domain, op in sorted(known))


def _row(domain: str, op: str) -> Row:
    if op == "Constant" and domain == "ai.onnx":
        return Row(domain, op, "exact", "numbers and text")
    if f"{domain}.{op}" not in RULES:
        return Row(domain, op, "refused", REASONS[op])
    if op in ENCLOSED and domain == "ai.onnx":
        return Row(domain, op, "enclosed", ENCLOSED[op])
    return Row(domain, op, "exact", NOTES.get(op, ""))


def reason(op: str) -> str:
    """Why an op is not read; empty if ONNX does not define it."""
    return REASONS.get(op, "")
