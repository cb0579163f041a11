"""Categories to numbers: one-hot encoding and tables of labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ....arrays import Array
from ....ir import LabelTuple, Literal, Op, Operand, Tensor, ops
from ....space.inputs import Column, column
from ..context import Context, exact, option
from ..graph import DType, Node
from ..values import (
    Choice,
    Columns,
    Refusal,
    Rows,
    Single,
    Value,
    constant,
    plain_label,
    plain_labels,
    scalar,
    size_of,
)  # fmt: skip
from .registry import Inputs, argument, rule
from .structure import joined

Cell = str | int | float


def cells_of(source: Column, casts: Sequence[DType]) -> tuple[Cell, ...] | None:
    """What a column holds at each label of its feature, after casts; ``None`` if not symbolic."""
    if casts[0] == "string":
        return tuple(cell for cell in source.cells or () if isinstance(cell, str))
    if source.cells is None:
        return None
    if source.flaw:
        raise Refusal(source.flaw)
    return tuple(_cast(number, casts) for number in source.numbers)


def _cast(number: int | float, casts: Sequence[DType]) -> int | float:
    for dtype in casts:
        if dtype == "float":
            number = float(np.float32(number))
        elif dtype in ("int", "bool"):
            number = int(number)
    return number


Encode = Callable[[Cell], Sequence[float]]
Compare = Callable[[Context, Operand], Op]


def encode(ctx: Context, value: Columns, symbolic: Encode, numeric: Compare) -> list[Operand]:
    """Every column through a table (symbolic features) or through comparisons (numeric ones)."""
    results: list[Operand] = []
    for name in value.names:
        source = column(ctx.space, name)
        cells = cells_of(source, value.casts)
        if cells is None:
            number = ctx.numeric(replace(value, names=(name,), dims=(None, 1)))
            results.append(ctx.let(numeric(ctx, number.operand)))
        else:
            table = np.array([symbolic(cell) for cell in cells], dtype=np.float64)
            labels = LabelTuple(source.feature.labels)
            tensor = exact(table if table.shape[1] > 1 else table[:, 0])
            results.append(ctx.let(ops.Lookup(source.feature.name, labels, tensor)))
    return results


@rule("ai.onnx.ml.OneHotEncoder", attributes=["cats_int64s", "cats_strings", "zeros"])
def _one_hot_encoder(ctx: Context, node: Node, inputs: Inputs) -> Value:
    """1 at the category of the cell, else 0; ``zeros=0`` fails on others, so there must be none."""
    value = argument(inputs, 0)
    categories = _categories(node)
    if not isinstance(value, Columns):
        raise Refusal("encodes computed numbers")
    if value.dtype != "string":
        value = ctx.cast(value, "int")
    if isinstance(categories[0], str) != (value.dtype == "string"):
        raise Refusal("the categories are of another type than the input")
    if not option(node, "zeros", 1):
        _demand_known(ctx, value, categories)
    count = len(categories)

    def row(cell: Cell) -> list[float]:
        return [float(cell == category) for category in categories]

    def compare(ctx: Context, number: Operand) -> Op:
        if count == 1:
            return ops.ToReal(ctx.let(ops.Eq(number, Literal(int(categories[0])))))
        constants = ctx.let(ops.Constant(Tensor(np.array(categories, dtype=np.int64))))
        return ops.ToReal(ctx.let(ops.Eq(number, constants)))

    parts = encode(ctx, value, row, compare)
    operand = parts[0] if len(parts) == 1 else ctx.let(ops.Concat(tuple(parts)))
    return Rows(operand, (*value.dims, count), "float")


def _categories(node: Node) -> tuple[Any, ...]:
    strings = option(node, "cats_strings", ())
    categories = plain_labels(strings if len(strings) else option(node, "cats_int64s", ()))
    if not categories or len(set(categories)) < len(categories):
        raise Refusal("categories are absent or repeated")
    return categories


def _demand_known(ctx: Context, value: Columns, categories: Sequence[Any]) -> None:
    known = set(categories)
    for name in value.names:
        source = column(ctx.space, name)
        cells = cells_of(source, value.casts)
        if cells is None:
            _demand_domain(source, known)
        elif odd := [cell for cell in cells if cell not in known]:
            raise Refusal(f"knows no category {odd[0]!r} of column {name!r}, and fails on it")


def _demand_domain(source: Column, known: set[Any]) -> None:
    if source.integers is None:
        raise Refusal(f"fails on most numbers of column {source.name!r}; declare it categorical")
    for number in source.integers:
        if number not in known:
            raise Refusal(
                f"fails on {number}, which column {source.name!r} may hold; declare it categorical"
            )


def embedded(ctx: Context, table: Array, value: Columns, axis: int) -> Rows:
    """``table[x]`` for every column x of codes: an embedding."""
    if axis % max(table.ndim, 1) or table.dtype.kind not in "fiub":
        raise Refusal("looks up codes along another axis than the first")
    width, flat = table.shape[0], table.reshape(table.shape[0], -1).astype(np.float64)
    value = ctx.cast(value, "int")
    for name in value.names:
        source = column(ctx.space, name)
        cells = cells_of(source, value.casts)
        known = source.integers if cells is None else cells
        ends = () if not known else (known[0], known[-1]) if cells is None else known
        if cells is None and source.integers is None:
            raise Refusal(f"looks up column {name!r}, which holds fractions")
        if odd := [code for code in ends if not 0 <= int(code) < width]:
            raise Refusal(f"looks up {odd[0]} of column {name!r} in a table of {width} rows")

    def compare(ctx: Context, number: Operand) -> Op:
        codes = ctx.let(ops.Constant(Tensor(np.arange(width))))
        bits = ctx.let(ops.ToReal(ctx.let(ops.Eq(number, codes))))
        return ops.Affine(bits, exact(flat.T), Tensor(np.zeros(flat.shape[1])))

    parts = encode(ctx, value, lambda cell: flat[int(cell)].tolist(), compare)
    operand = parts[0] if len(parts) == 1 else ctx.let(ops.Concat(tuple(parts)))
    dims = (*value.dims, *table.shape[1:])
    if (
        size_of(dims) == 1
        and flat.shape[1] == 1
        and column(ctx.space, value.names[0]).cells is None
    ):
        operand = ctx.let(ops.Item(operand, 0))
    dtype: DType = "double" if table.dtype == np.float64 else "float"
    return Rows(operand, dims, dtype if table.dtype.kind == "f" else "int", Single())


@rule("ai.onnx.OneHot", attributes=["axis"])
def _one_hot(ctx: Context, node: Node, inputs: Inputs) -> Value:
    """``values[1]`` at the place of the code, else ``values[0]``."""
    value, depth = argument(inputs, 0), int(scalar(argument(inputs, 1), "the depth"))
    values = constant(argument(inputs, 2), "the values")
    if not isinstance(value, Columns):
        raise Refusal("encodes computed numbers")
    if option(node, "axis", -1) not in (-1, len(value.dims)):
        raise Refusal("writes another axis than the last")
    table = np.full((depth, depth), values[0])
    np.fill_diagonal(table, values[1])
    return embedded(ctx, table, value, 0)


@rule(
    "ai.onnx.ml.LabelEncoder",
    attributes=[
        "classes_strings", "default_float", "default_int64", "default_string", "default_tensor",
        "keys_floats", "keys_int64s", "keys_strings", "keys_tensor",
        "values_floats", "values_int64s", "values_strings", "values_tensor",
    ],
)  # fmt: skip
def _label_encoder(ctx: Context, node: Node, inputs: Inputs) -> Value:
    """``table[x]``, or the default where x is not a key."""
    value = argument(inputs, 0)
    table, default, dtype = _table(node)
    if isinstance(value, Choice):
        labels = tuple(table.get(label, default) for label in value.labels)
        return replace(value, labels=labels, dtype=dtype)
    if not isinstance(value, Columns):
        raise Refusal("encodes computed numbers")
    if dtype == "string":
        raise Refusal("turns columns into text")
    if any(isinstance(key, str) != (value.dtype == "string") for key in table):
        raise Refusal("the keys are of another type than the input")

    def compare(ctx: Context, number: Operand) -> Op:
        result: Operand = Literal(Fraction(default))
        op: Op = ops.Identity(result)
        for key, image in table.items():
            equal = ctx.let(ops.Eq(number, Literal(Fraction(key))))
            op = ops.Select(equal, Literal(Fraction(image)), result)
            result = ctx.let(op)
        return ops.Identity(result)

    parts = encode(ctx, value, lambda cell: [float(table.get(cell, default))], compare)
    images = np.array([default, *table.values()], dtype=np.float64)
    note = Single() if bool((images.astype(np.float32) == images).all()) else None
    rows = [Rows(part, (None, 1), dtype, note) for part in parts]
    whole = joined(ctx, rows, 1)
    return replace(whole, dims=value.dims)


def _table(node: Node) -> tuple[Mapping[Any, Any], Any, DType]:
    """Keys to values, the value of anything else, and the values' element type."""
    if "classes_strings" in node.attributes:
        raise Refusal("attribute 'classes_strings' (opset 1)")
    keys = _one_of(node, "keys_")
    values = _one_of(node, "values_")
    if len(keys) != len(values):
        raise Refusal(f"{len(keys)} keys and {len(values)} values")
    images = plain_labels(values)
    table: dict[Any, Any] = {}
    for key, image in zip(plain_labels(keys), images, strict=True):
        if table.setdefault(key, image) != image:
            raise Refusal(f"key {key!r} is repeated")
    dtype: DType = "float"
    if isinstance(images[0], str):
        dtype = "string"
    elif isinstance(images[0], int):
        dtype = "int"
    tensor = option(node, "default_tensor")
    if tensor is not None:
        return table, plain_label(tensor.ravel()[0]), dtype
    name = {"float": "default_float", "int": "default_int64", "string": "default_string"}[dtype]
    given = {"float": -0.0, "int": -1, "string": "_Unused"}[dtype]
    return table, option(node, name, given), dtype


def _one_of(node: Node, prefix: str) -> Any:
    found = [value for name, value in node.attributes.items() if name.startswith(prefix)]
    if len(found) != 1 or not len(found[0]):
        raise Refusal(f"needs exactly one attribute '{prefix}…'")
    return np.asarray(found[0]).ravel() if not isinstance(found[0], tuple) else found[0]
