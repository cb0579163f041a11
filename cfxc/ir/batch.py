"""The vectorised evaluator: many rows at once, in double precision.

Arrays carry rows on axis 0.  Arithmetic is done in the order the deployed models use, so results
differ from the reference evaluator only by rounding.  Categories travel as integer codes, in the
order of their labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..arrays import Array
from ..errors import InvalidInputError
from . import ops
from .interval import nearest_float
from .op import Literal, Op, Operand, entering, rule_of
from .ops import arithmetic, logic
from .program import Program
from .sorts import Sort, format_name
from .statements import Let, run_merging, walk
from .tensor import Tensor

Rule = Callable[..., Array]  # rule(op, operand_sorts, *arrays) with operands already aligned
RULES: dict[type[Op], Rule] = {}


class BatchEvaluator:
    """Evaluates a program on columns of n rows: ``evaluator(columns) -> {output: array}``.

    ``columns`` maps input names to arrays of shape (n, *sort.shape): float64 for numbers, bool,
    int64 codes for categories.  Output categories are codes too (see ``labels``).
    """

    def __init__(self, program: Program) -> None:
        program.sorts  # noqa: B018  # verifies on first use
        self.program = program

    def __call__(self, columns: Mapping[str, Array]) -> dict[str, Array]:
        names = {name for name, _ in self.program.inputs}
        if names != set(columns):
            odd = sorted(map(format_name, names ^ set(columns)))
            raise InvalidInputError(f"columns missing or unknown: {odd[:7]}")
        values = {name: _column(name, sort, columns[name]) for name, sort in self.program.inputs}
        lengths = {array.shape[0] for array in values.values()}
        if len(lengths) > 1:
            raise InvalidInputError(f"columns differ in length: {sorted(lengths)}")
        rows = lengths.pop() if lengths else 1
        with np.errstate(all="ignore"):
            run_merging(
                walk(self.program.body), values, partial(self._let, values),
                lambda _, c, x, y: _merge(self._read(values, c), x, y),
            )  # fmt: skip
        found = {name: self._read(values, operand) for name, operand in self.program.outputs}
        return {name: np.broadcast_to(a, (rows, *a.shape[1:])) for name, a in found.items()}

    def _let(self, values: Mapping[str, Array], statement: Let) -> Array:
        op = statement.op
        operands = list(op.operands())
        sorts = [self.program.sort_of(operand) for operand in operands]
        arrays = [self._read(values, operand) for operand in operands]
        if isinstance(op, ALIGNED):
            rank = max(array.ndim for array in arrays)
            arrays = [_align(array, rank) for array in arrays]
        rule = rule_of(RULES, op)
        assert rule is not None  # every op has one
        return rule(op, sorts, *arrays)

    def _read(self, values: Mapping[str, Array], operand: Operand) -> Array:
        if isinstance(operand, Literal):
            value = operand.value  # one row, like every constant: it broadcasts
            return np.array([value if isinstance(value, bool) else nearest_float(value)])
        return values[operand]


def all_hold(
    evaluators: Iterable[BatchEvaluator], columns: Mapping[str, Array], rows: int
) -> Array:
    """Of which rows every program says that it ``holds``; it gets the columns that it takes."""
    good = np.ones(rows, dtype=bool)
    for evaluator in evaluators:
        held = evaluator(evaluator.program.arguments(columns))
        good &= np.broadcast_to(held["holds"], good.shape).astype(bool)
    return good


def _column(name: str, sort: Sort, column: Array) -> Array:
    """A column as the rules take it; ``InvalidInputError`` if it is not of the input's sort."""
    array = np.asarray(column)
    if array.ndim == 0 or array.shape[1:] != sort.shape:
        raise InvalidInputError(
            f"column {format_name(name)}: shape {array.shape} where (n, *{sort.shape}) is expected"
        )
    kinds = {"bool": "b", "category": "iu"}.get(sort.kind, "iuf")
    if array.dtype.kind not in kinds:
        raise InvalidInputError(
            f"column {format_name(name)}: {array.dtype} where {sort.kind} values are expected"
            " (categories travel as integer codes)"
        )
    if sort.kind == "category" and not ((array >= 0) & (array < len(sort.labels))).all():
        raise InvalidInputError(
            f"column {format_name(name)}: a code is outside 0..{len(sort.labels) - 1}"
        )
    if not sort.is_numeric:
        return array
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all() or (sort.kind == "int" and (array != np.rint(array)).any()):
        raise InvalidInputError(f"column {format_name(name)}: a value is not of sort {sort}")
    return array


def _merge(condition: Array, then: Array, orelse: Array) -> Array:
    return np.where(_align(condition, then.ndim), then, orelse)


def _align(array: Array, rank: int) -> Array:
    """Insert axes after the row axis, so that shapes broadcast as the ops' shapes do."""
    missing = rank - array.ndim
    return array.reshape(array.shape[0], *([1] * missing), *array.shape[1:]) if missing else array


ALIGNED = (
    arithmetic.Binary,
    logic.Comparison,
    logic.Connective,
    ops.Select,
)  # elementwise ops of several operands


rule = entering(RULES)


def _elementwise(function: Callable[..., Array]) -> Rule:
    return lambda op, sorts, *arrays: function(*arrays)


_ELEMENTWISE: dict[type[Op], Callable[..., Array]] = {
    ops.Add: np.add,
    ops.Sub: np.subtract,
    ops.Mul: np.multiply,
    ops.Div: np.divide,
    ops.Minimum: np.minimum,
    ops.Maximum: np.maximum,
    ops.Neg: np.negative,
    ops.Abs: np.abs,
    ops.Relu: lambda x: np.maximum(x, 0),
    ops.Le: np.less_equal,
    ops.Lt: np.less,
    ops.Ge: np.greater_equal,
    ops.Gt: np.greater,
    ops.Eq: np.equal,
    ops.Ne: np.not_equal,
    ops.Not: np.logical_not,
    ops.Select: np.where,
    ops.Exp: np.exp,
    ops.Tanh: np.tanh,
    ops.Erf: np.vectorize(math.erf, otypes=[np.float64]),
    ops.Softplus: lambda x: np.logaddexp(x, 0.0),
    ops.Softsign: lambda x: x / (1 + np.abs(x)),
    ops.Elu: lambda x: np.maximum(x, 0) + np.expm1(np.minimum(x, 0)),
    ops.Silu: lambda x: x * _share(x),
    ops.Gelu: lambda x: x * np.vectorize(math.erfc, otypes=[np.float64])(-x * math.sqrt(0.5)) / 2,
    ops.GeluTanh: lambda x: x * _share(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
    ops.Mish: lambda x: x * np.tanh(np.logaddexp(x, 0.0)),
    ops.Identity: lambda x: x,
    ops.ToReal: lambda x: x.astype(np.float64),
    ops.RoundFloat32: lambda x: x.astype(np.float32).astype(np.float64),
    ops.ReduceSum: lambda x: x.sum(axis=1),
    ops.ReduceMax: lambda x: x.max(axis=1),
    ops.ReduceMin: lambda x: x.min(axis=1),
    ops.Argmax: lambda x: x.argmax(axis=1),
    ops.And: lambda *parts: np.logical_and.reduce(np.broadcast_arrays(*parts)),
    ops.Or: lambda *parts: np.logical_or.reduce(np.broadcast_arrays(*parts)),
}
RULES.update({cls: _elementwise(function) for cls, function in _ELEMENTWISE.items()})


@rule(ops.Sigmoid)
def _sigmoid(op: Op, sorts: list[Sort], x: Array) -> Array:
    return _share(x)


def _share(x: Array) -> Array:
    """The logistic function without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


@rule(ops.Softmax)
def _softmax(op: Op, sorts: list[Sort], x: Array) -> Array:
    raised = np.exp(x - x.max(axis=1, keepdims=True))
    shares: Array = raised / raised.sum(axis=1, keepdims=True)
    return shares


@rule(ops.PiecewiseLinear)
def _piecewise_linear(op: ops.PiecewiseLinear, sorts: list[Sort], x: Array) -> Array:
    lines = op.hinges().lines
    places, slopes, intercepts = (np.array(part, dtype=np.float64) for part in lines)
    piece = np.searchsorted(places, x)
    found: Array = slopes[piece] * x + intercepts[piece]
    return found


@rule(ops.LeakyRelu)
def _leaky_relu(op: ops.LeakyRelu, sorts: list[Sort], x: Array) -> Array:
    return np.where(x > 0, x, x * float(op.alpha))


@rule(ops.Clip)
def _clip(op: ops.Clip, sorts: list[Sort], x: Array) -> Array:
    return np.clip(x, float(op.lower), float(op.upper))


@rule(ops.Constant)
def _constant(op: ops.Constant, sorts: list[Sort]) -> Array:
    return _numbers(op.value)[None]


def _numbers(tensor: Tensor) -> Array:
    return tensor.array if tensor.dtype == "bool" else tensor.floats()


@rule(ops.Concat)
def _concat(op: Op, sorts: list[Sort], *parts: Array) -> Array:
    rows = max(part.shape[0] for part in parts)
    columns = [part if part.ndim == 2 else part[:, None] for part in parts]
    spread = [np.broadcast_to(c, (rows, c.shape[1])) for c in columns]
    return np.concatenate(spread, axis=1)


@rule(ops.Take)
def _take(op: ops.Take, sorts: list[Sort], x: Array) -> Array:
    return x[:, list(op.indices)]


@rule(ops.Item)
def _item(op: ops.Item, sorts: list[Sort], x: Array) -> Array:
    return x[:, op.index]


@rule(ops.Reshape)
def _reshape(op: ops.Reshape, sorts: list[Sort], x: Array) -> Array:
    return x.reshape(x.shape[0], *op.shape)


@rule(ops.Lookup)
def _lookup(op: ops.Lookup, sorts: list[Sort], x: Array) -> Array:
    # a code out of range stems from a branch not taken in this row: any value will do
    rows: Array = _numbers(op.table).take(x, axis=0, mode="clip")
    return rows


@rule(ops.IsLabel)
def _is_label(op: ops.IsLabel, sorts: list[Sort], x: Array) -> Array:
    return np.equal(x, sorts[0].index(op.label))


@rule(ops.Category)
def _category(op: Op, sorts: list[Sort], index: Array) -> Array:
    return index.astype(np.int64)


@rule(ops.Affine)
def _affine(op: ops.Affine, sorts: list[Sort], x: Array) -> Array:
    weight: Array = op.weight.floats()
    return np.asarray(x, dtype=np.float64) @ weight.T + op.bias.floats()


_TABLES: WeakKeyDictionary[ops.TreeEnsemble, Any] = WeakKeyDictionary()


@rule(ops.TreeEnsemble)
def _tree_ensemble(op: ops.TreeEnsemble, sorts: list[Sort], x: Array) -> Array:
    from .tree_kernel import TreeTables

    tables = _TABLES.get(op)
    if tables is None:
        tables = _TABLES[op] = TreeTables.of(op)
    total: Array = tables(x)
    return total
