"""All ops, one class each; importing this package registers them."""

from __future__ import annotations

from .activations import Elu, Erf, Gelu, GeluTanh, Mish, Silu, Softplus, Softsign
from .arithmetic import (
    Abs,
    Add,
    Affine,
    Clip,
    Div,
    LeakyRelu,
    Maximum,
    Minimum,
    Mul,
    Neg,
    PiecewiseLinear,
    ReduceMax,
    ReduceMin,
    ReduceSum,
    Relu,
    RoundFloat32,
    Sub,
)
from .logic import And, Argmax, Eq, Ge, Gt, IsLabel, Le, Lt, Ne, Not, Or, Select
from .smooth import Exp, Sigmoid, Smooth, Softmax, Tanh
from .structure import Category, Concat, Constant, Identity, Item, Lookup, Reshape, Take, ToReal
from .trees import TreeEnsemble

__all__ = [
    "Abs", "Add", "Affine", "And", "Argmax", "Category", "Clip", "Concat", "Constant", "Div",
    "Elu", "Eq", "Erf", "Exp", "Ge", "Gelu", "GeluTanh", "Gt", "Identity", "IsLabel", "Item",
    "Le", "LeakyRelu", "Lookup", "Lt", "Maximum", "Minimum", "Mish", "Mul", "Ne", "Neg", "Not",
    "Or", "PiecewiseLinear", "ReduceMax", "ReduceMin", "ReduceSum", "Relu", "Reshape",
    "RoundFloat32", "Select", "Sigmoid", "Silu", "Smooth", "Softmax", "Softplus", "Softsign",
    "Sub", "Take", "Tanh", "ToReal", "TreeEnsemble",
]  # fmt: skip
