"""Elementwise arithmetic, comparisons and connectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from ....ir import Literal, Op, Operand, Tensor, ops
from ..context import Context, exact, fractions, literal, option
from ..graph import Dims, DType, Node
from ..values import (
    Choice,
    Columns,
    Complement,
    Linear,
    Monotone,
    OneMore,
    Refusal,
    Rows,
    Size,
    Total,
    Value,
    broadcast,
    dims_of,
    one_row,
    plain_labels,
    scalar,
    size_of,
)
from .registry import RULES, Inputs, argument, rule

HALF = Fraction(1, 2)


def present(inputs: Inputs) -> list[Value]:
    """The inputs, none of which may be absent."""
    if any(value is None for value in inputs):
        raise Refusal("an input is absent")
    return [value for value in inputs if value is not None]


def computed(ctx: Context, inputs: Inputs) -> tuple[list[Value], DType]:
    """The inputs with everything computed as numbers, and their element type."""
    values: list[Value] = [
        value if isinstance(value, np.ndarray) else ctx.numeric(value) for value in present(inputs)
    ]
    dtypes = [value.dtype for value in values if isinstance(value, Rows)]
    return values, dtypes[0]


@rule("ai.onnx.Add")
def _add(ctx: Context, node: Node, inputs: Inputs) -> Value:
    values, dtype = computed(ctx, inputs)
    for value, other in (values, values[::-1]):
        if isinstance(value, Rows) and isinstance(other, np.ndarray):
            fused = with_bias(ctx, value, other)
            if fused is not None:
                return fused
    result = ctx.elementwise(ops.Add, values, dtype)
    for value, other in (values, values[::-1]):
        if isinstance(value, Rows) and _is_one(other):
            return replace(result, note=OneMore(value))
    return result


def _is_one(value: Value) -> bool:
    return isinstance(value, np.ndarray) and value.size == 1 and bool(value.ravel()[0] == 1)


def with_bias(ctx: Context, rows: Rows, bias: np.ndarray[Any, Any]) -> Rows | None:
    """``W x + b`` as one op, where ``rows`` is a matrix product without bias."""
    note = rows.note
    if not isinstance(note, Linear) or not note.open or not _fits(bias, rows.dims):
        return None
    flat = np.broadcast_to(bias, one_row(rows.dims)).ravel()
    return affine(ctx, note.x, note.weight, exact(flat), rows.dims, rows.dtype)


def _fits(array: np.ndarray[Any, Any], dims: Dims) -> bool:
    try:
        return np.broadcast_shapes(array.shape, one_row(dims)) == one_row(dims)
    except ValueError:
        return False


def affine(
    ctx: Context,
    x: Operand,
    weight: Tensor,
    bias: Tensor,
    dims: Dims,
    dtype: DType,
    *,
    open_: bool = False,
) -> Rows:
    """``weight @ x + bias``, remembered as such."""
    note = Linear(x, weight, bias, open_)
    return ctx.rows(ops.Affine(x, weight, bias), dims, dtype, note)


@rule("ai.onnx.Sub")
def _sub(ctx: Context, node: Node, inputs: Inputs) -> Value:
    values, dtype = computed(ctx, inputs)
    result = ctx.elementwise(ops.Sub, values, dtype)
    first, second = values
    if (
        isinstance(first, np.ndarray)
        and isinstance(second, Rows)
        and bool((first == 1).all())
        and size_of(result.dims) == size_of(second.dims)
    ):
        return replace(result, note=Complement(second), chance=second.chance)
    return result


@rule("ai.onnx.Mul")
def _mul(ctx: Context, node: Node, inputs: Inputs) -> Value:
    values, dtype = computed(ctx, inputs)
    return ctx.elementwise(ops.Mul, values, dtype)


@rule("ai.onnx.Div")
def _div(ctx: Context, node: Node, inputs: Inputs) -> Value:
    values, dtype = computed(ctx, inputs)
    first, second = values
    if dtype == "int":
        raise Refusal("divides integers")
    if isinstance(second, np.ndarray):
        if bool((second == 0).any()):
            raise Refusal("divides by zero")
        return ctx.elementwise(ops.Div, values, dtype)
    assert isinstance(second, Rows)  # the only other kind of number
    if isinstance(first, Rows) and _is_total(second, first):
        if not first.chance:
            raise Refusal("divides by a sum that may be zero")
        return share(ctx, first, second)
    if isinstance(second.note, OneMore) and (found := _logistic(ctx, first, second.note.of)):
        return found
    raise Refusal("divides by a computed number, which no engine takes")


def _logistic(ctx: Context, first: Value, more: Rows) -> Rows | None:
    """``1 / (1 + exp(-z))``, the logistic function, or ``z / (1 + |z|)``, softsign."""
    note = more.note
    if isinstance(first, Rows) and note == Size(first):
        return Rows(ctx.let(ops.Softsign(first.operand)), first.dims, first.dtype)
    if _is_one(first) and isinstance(note, Monotone) and note.kind == "exp":
        z = replace(note.of, operand=ctx.let(ops.Neg(note.of.operand)), note=None)
        sigmoid = ctx.let(ops.Sigmoid(z.operand))
        return Rows(sigmoid, z.dims, z.dtype, Monotone("sigmoid", z), chance=True)
    return None


def _is_total(total: Rows, rows: Rows) -> bool:
    return isinstance(total.note, Total) and total.note.of == rows


def share(ctx: Context, rows: Rows, total: Rows) -> Rows:
    """``rows / total``, where ``total`` is their positive sum."""
    result = ctx.elementwise(ops.Div, [rows, total], rows.dtype)
    return replace(result, note=Monotone("share", rows), chance=True)


def unary(kind: str, make: Callable[[Operand], Op]) -> None:
    """Enter an op of one input into the table."""

    @rule(kind)
    def lower(ctx: Context, node: Node, inputs: Inputs) -> Value:
        values, dtype = computed(ctx, inputs)
        return ctx.elementwise(make, values, dtype)


unary("ai.onnx.Neg", ops.Neg)
unary("ai.onnx.Relu", ops.Relu)
unary("ai.onnx.Not", ops.Not)


@rule("ai.onnx.Abs")
def _absolute(ctx: Context, node: Node, inputs: Inputs) -> Value:
    values, dtype = computed(ctx, inputs)
    first = values[0]
    if isinstance(first, Rows) and first.chance:
        return first
    result = ctx.elementwise(ops.Abs, values, dtype)
    return replace(result, note=Size(first)) if isinstance(first, Rows) else result


@rule("ai.onnx.Clip", attributes=["min", "max"])
def _clip(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows = ctx.numeric(argument(inputs, 0))
    bounds: list[Fraction | None] = []
    for index, name in ((1, "min"), (2, "max")):
        value = argument(inputs, index)
        number = option(node, name) if value is None else scalar(value, name)
        infinite = number is None or abs(number) == float("inf")
        bounds.append(None if infinite else Fraction(number))
    lower, upper = bounds
    if lower is not None and upper is not None and lower > upper:
        raise Refusal("min exceeds max")
    return clipped(ctx, rows, lower, upper)


def clipped(ctx: Context, rows: Rows, lower: Fraction | None, upper: Fraction | None) -> Rows:
    """``min(max(x, lower), upper)``; a bound that is ``None`` is absent."""
    if lower is not None and upper is not None:
        return Rows(ctx.let(ops.Clip(rows.operand, lower, upper)), rows.dims, rows.dtype)
    operand = rows.operand
    if lower is not None:
        operand = ctx.let(ops.Maximum(operand, Literal(lower)))
    if upper is not None:
        operand = ctx.let(ops.Minimum(operand, Literal(upper)))
    return replace(rows, operand=operand, note=None, chance=False)


@rule("ai.onnx.HardSigmoid", attributes=["alpha", "beta"])
def _hard_sigmoid(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows = ctx.numeric(argument(inputs, 0))
    alpha = Literal(Fraction(option(node, "alpha", float(np.float32(0.2)))))
    beta = Literal(Fraction(option(node, "beta", 0.5)))
    line = ctx.let(ops.Add(ctx.let(ops.Mul(rows.operand, alpha)), beta))
    return clipped(ctx, Rows(line, rows.dims, rows.dtype), Fraction(0), Fraction(1))


def variadic(kind: str, make: Callable[[Operand, Operand], Op]) -> None:
    """Enter an op that folds a function of two over its inputs into the table."""

    @rule(kind)
    def lower(ctx: Context, node: Node, inputs: Inputs) -> Value:
        values, dtype = computed(ctx, inputs)
        return reduce(lambda x, y: ctx.elementwise(make, [x, y], dtype), _constants_last(values))


def _constants_last(values: Sequence[Value]) -> list[Value]:
    return sorted(values, key=lambda value: isinstance(value, np.ndarray))


variadic("ai.onnx.Min", ops.Minimum)
variadic("ai.onnx.Max", ops.Maximum)
variadic("ai.onnx.Sum", ops.Add)


@rule("ai.onnx.Mean")
def _mean(ctx: Context, node: Node, inputs: Inputs) -> Value:
    total = RULES["ai.onnx.Sum"].rule(ctx, node, inputs)
    assert isinstance(total, Rows)
    share = Literal(Fraction(len(inputs)))
    return replace(total, operand=ctx.let(ops.Div(total.operand, share)), note=None)


@rule("ai.onnx.Xor")
def _xor(ctx: Context, node: Node, inputs: Inputs) -> Value:
    values, dtype = computed(ctx, inputs)
    either = ctx.elementwise(lambda *parts: ops.Or(tuple(parts)), values, dtype)
    both = ctx.elementwise(lambda *parts: ops.And(tuple(parts)), values, dtype)
    return ctx.elementwise(lambda x, y: ops.And((x, ctx.let(ops.Not(y)))), [either, both], dtype)


@rule("ai.onnx.And", "ai.onnx.Or")
def _connect(ctx: Context, node: Node, inputs: Inputs) -> Value:
    values, dtype = computed(ctx, inputs)
    op = ops.And if node.op == "And" else ops.Or
    return ctx.elementwise(lambda *parts: op(tuple(parts)), values, dtype)


COMPARISONS: dict[str, Callable[[Operand, Operand], Op]] = {
    "Less": lambda x, y: ops.Gt(y, x),  # so that one way round decides labels
    "LessOrEqual": lambda x, y: ops.Ge(y, x),
    "Greater": ops.Gt,
    "GreaterOrEqual": ops.Ge,
    "Equal": ops.Eq,
}


@rule(*(f"ai.onnx.{name}" for name in COMPARISONS))
def _compare(ctx: Context, node: Node, inputs: Inputs) -> Value:
    if node.op == "Equal" and (text := _equal_text(ctx, inputs)) is not None:
        return text
    values, dtype = computed(ctx, inputs)
    if dtype == "bool":
        raise Refusal("compares booleans")
    first, second = values
    if at_half(first, second) or at_half(second, first):
        # sigmoid(z) and 1/2 compare as z and 0 do: the sigmoid is increasing, and 1/2 at 0
        first, second = (_before(value) for value in (first, second))
    return ctx.elementwise(COMPARISONS[node.op], [first, second], "bool")


def at_half(value: Value, other: Value) -> bool:
    """Whether a sigmoid is compared with 1/2."""
    return (
        isinstance(value, Rows)
        and isinstance(value.note, Monotone)
        and value.note.kind == "sigmoid"
        and isinstance(other, np.ndarray)
        and bool((other == 0.5).all())
    )


def _before(value: Value) -> Value:
    if isinstance(value, Rows) and isinstance(value.note, Monotone):
        return value.note.of
    sizes = [size for size in dims_of(value) if size is not None]  # a constant has no batch axis
    return np.zeros(sizes)


def _equal_text(ctx: Context, inputs: Inputs) -> Rows | None:
    """Whether a column of text holds one given text."""
    cells = [value for value in inputs if isinstance(value, Columns)]
    texts = [value for value in inputs if isinstance(value, np.ndarray)]
    if not (cells and texts and cells[0].dtype == "string"):
        return None
    if len(cells[0].names) > 1 or texts[0].size > 1:
        raise Refusal("compares several texts at once")
    feature, _ = ctx.space.column_source(cells[0].names[0])
    (label,) = plain_labels(texts[0].ravel())
    if label not in feature.labels:
        raise Refusal(f"compares column {cells[0].names[0]!r} with {label!r}, not a label of it")
    return Rows(ctx.let(ops.IsLabel(feature.name, label)), cells[0].dims, "bool")


@rule("ai.onnx.Where")
def _where(ctx: Context, node: Node, inputs: Inputs) -> Value:
    condition, x, y = present(inputs)
    if isinstance(condition, np.ndarray):
        return _merged(ctx, condition, x, y)
    chosen = ctx.numeric(condition, "bool")
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and x.size == y.size == 1:
        labels = plain_labels([y.ravel()[0], x.ravel()[0]])
        if size_of(chosen.dims) == 1 and labels[0] != labels[1] and x.dtype.kind not in "fb":
            return choice_of(ctx, chosen, labels, "string" if isinstance(labels[0], str) else "int")
    numbers = [v for v in (x, y) if not isinstance(v, np.ndarray)]
    dtype = ctx.numeric(numbers[0]).dtype if numbers else _dtype(x)
    return ctx.elementwise(ops.Select, [chosen, x, y], dtype)


def _merged(ctx: Context, condition: np.ndarray[Any, Any], x: Value, y: Value) -> Rows:
    """Elements of x where a constant holds, else of y."""
    values, dtype = computed(ctx, [x, y])
    dims = broadcast(condition.shape, *map(dims_of, values))
    size, holds = size_of(dims), np.broadcast_to(condition, one_row(dims)).ravel()
    operands = ctx.operands(values, dims)
    if size == 1:
        return Rows(operands[0] if holds[0] else operands[1], dims, dtype)
    parts: list[Operand] = []
    for value, operand in zip(values, operands, strict=True):
        single = isinstance(operand, Literal) or size_of(dims_of(value)) == 1
        parts += [operand] * size if single else [operand]
    joined = ctx.let(ops.Concat(tuple(parts)))
    places = np.where(holds, np.arange(size), size + np.arange(size))
    return Rows(ctx.let(ops.Take(joined, tuple(places.tolist()))), dims, dtype)


def _dtype(value: Value) -> DType:
    if not isinstance(value, np.ndarray):
        return value.dtype
    if value.dtype.kind == "f":
        return "float" if value.dtype == np.float32 else "double"
    return "bool" if value.dtype.kind == "b" else "int"


def choice_of(
    ctx: Context, condition: Rows, labels: tuple[Any, ...], dtype: DType, score: Any = None
) -> Choice:
    """``labels[1]`` where the condition holds, else ``labels[0]``."""
    index = ctx.let(ops.Select(condition.operand, Literal(1), Literal(0)))
    return Choice(index, labels, condition.dims, dtype, score)


@rule("ai.onnx.ml.Binarizer", attributes=["threshold"])
def _binarizer(ctx: Context, node: Node, inputs: Inputs) -> Value:
    rows = ctx.numeric(argument(inputs, 0))
    threshold = literal(np.float32(option(node, "threshold", 0.0)))
    above = ctx.let(ops.Gt(rows.operand, threshold))
    return Rows(ctx.let(ops.ToReal(above)), rows.dims, rows.dtype)


@rule("ai.onnx.ml.Scaler", attributes=["offset", "scale"])
def _scaler(ctx: Context, node: Node, inputs: Inputs) -> Value:
    value = argument(inputs, 0)
    if isinstance(value, Columns | Choice) and value.dtype == "int":
        value = ctx.numeric(value, "float")
    rows = ctx.numeric(value)
    offset, scale = (option(node, name) for name in ("offset", "scale"))
    if offset is None or scale is None or offset.size != scale.size:
        raise Refusal("offset and scale differ in length")
    if len(rows.dims) != 2 or offset.size not in (1, size_of(rows.dims)):
        raise Refusal(f"{offset.size} offsets for {size_of(rows.dims)} columns")
    moved = ctx.elementwise(ops.Sub, [rows, offset], rows.dtype)
    if bool((fractions(scale) == 1).all()):
        return replace(moved, dtype="float")
    return ctx.elementwise(ops.Mul, [moved, scale], "float")
