"""Ops taken apart into scalar operations, once, for every back end that works on scalars.

An :class:`Algebra` says what a scalar is and how scalars combine.  ``RULES`` maps each op to its
decomposition over any algebra; arrays are numpy object arrays of scalars.  The core-level
expansion (``expand``) and the functional formula (``functional``) are two algebras.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from ..errors import UnsupportedError
from ..ir import Label, LabelTuple, Op, ops
from ..ir.linear import Number
from ..ir.op import entering, rule_of
from ..stopping import polled

Scalar = TypeVar("Scalar")


class Algebra(ABC, Generic[Scalar]):
    """What a scalar back end must offer."""

    @abstractmethod
    def constant(self, value: Number | bool) -> Scalar: ...

    @abstractmethod
    def linear(
        self, coefficients: Sequence[Number], terms: Sequence[Scalar], constant: Number
    ) -> Scalar:
        """``sum coefficient * term + constant``."""

    @abstractmethod
    def product(self, x: Scalar, y: Scalar) -> Scalar: ...

    @abstractmethod
    def quotient(self, x: Scalar, y: Scalar) -> Scalar: ...

    @abstractmethod
    def compare(self, relation: str, x: Scalar, y: Scalar) -> Scalar:
        """``relation`` is one of le, lt, ge, gt, eq, ne."""

    @abstractmethod
    def conjunction(self, parts: Sequence[Scalar]) -> Scalar: ...

    @abstractmethod
    def disjunction(self, parts: Sequence[Scalar]) -> Scalar: ...

    @abstractmethod
    def negation(self, x: Scalar) -> Scalar: ...

    @abstractmethod
    def choose(
        self,
        condition: Scalar,
        then: Callable[[], list[Scalar]],
        orelse: Callable[[], list[Scalar]],
        hint: str,
    ) -> list[Scalar]:
        """Several values at once, by a Boolean; the branches are only built on demand."""

    @abstractmethod
    def maximum(self, terms: Sequence[Scalar], hint: str) -> Scalar: ...

    @abstractmethod
    def function(self, name: str, x: Scalar) -> Scalar:
        """A smooth function, by the name of its op, or round_float32."""

    @abstractmethod
    def to_real(self, x: Scalar, kind: str) -> Scalar: ...

    @abstractmethod
    def is_label(self, x: Scalar, label: Label) -> Scalar: ...

    @abstractmethod
    def lookup(self, x: Scalar, labels: LabelTuple, values: Sequence[Number | bool]) -> Scalar:
        """The value belonging to the label of x."""

    @abstractmethod
    def category(self, index: Scalar, labels: LabelTuple) -> Scalar:
        """The label at an index, as a category."""

    @abstractmethod
    def name(self, x: Scalar, hint: str) -> Scalar:
        """Give an intermediate result a name, where the algebra has names."""

    @abstractmethod
    def tree(self, op: ops.TreeEnsemble, root: int, x: Sequence[Scalar]) -> list[Scalar]:
        """The K values of one tree at x (without the base)."""


Rule = Callable[..., Any]  # rule(algebra, op, operand_sorts, *operands)
RULES: dict[type[Op], Rule] = {}


def decompose(algebra: Algebra[Any], op: Op, kinds: Sequence[str], operands: Sequence[Any]) -> Any:
    """The value of ``op`` in ``algebra``; ``kinds`` are the operands' element kinds."""
    rule = rule_of(RULES, op)
    assert rule is not None  # every op has one
    return rule(algebra, op, kinds, *operands)


rule = entering(RULES)


def mapped(function: Callable[..., Any], *operands: Any) -> Any:
    """Apply a scalar function over scalars and broadcast arrays."""
    if not any(isinstance(operand, np.ndarray) for operand in operands):
        return function(*operands)
    arrays = np.broadcast_arrays(*(_boxed(operand) for operand in operands))
    out = np.empty(arrays[0].size, dtype=object)
    out[:] = [function(*items) for items in zip(*(a.ravel() for a in arrays), strict=True)]
    return out.reshape(arrays[0].shape)


def _boxed(operand: Any) -> np.ndarray[Any, Any]:
    if isinstance(operand, np.ndarray):
        return operand
    box = np.empty((), dtype=object)
    box[()] = operand
    return box


def vector(items: Sequence[Any]) -> np.ndarray[Any, Any]:
    """A one-dimensional object array of the items."""
    out = np.empty(len(items), dtype=object)
    out[:] = list(items)
    return out


@rule(ops.Identity)
def _identity(a: Algebra[Any], op: ops.Identity, kinds: Sequence[str], x: Any) -> Any:
    return x


@rule(ops.Constant)
def _constant(a: Algebra[Any], op: ops.Constant, kinds: Sequence[str]) -> Any:
    exact = op.value.exact()
    return mapped(a.constant, exact) if exact.shape else a.constant(exact.item())


@rule(ops.Concat)
def _concat(a: Algebra[Any], op: ops.Concat, kinds: Sequence[str], *parts: Any) -> Any:
    return np.concatenate([np.atleast_1d(_boxed(part)) for part in parts])


@rule(ops.Take)
def _take(a: Algebra[Any], op: ops.Take, kinds: Sequence[str], x: Any) -> Any:
    return x[list(op.indices)]


@rule(ops.Item)
def _item(a: Algebra[Any], op: ops.Item, kinds: Sequence[str], x: Any) -> Any:
    return x[op.index]


@rule(ops.Reshape)
def _reshape(a: Algebra[Any], op: ops.Reshape, kinds: Sequence[str], x: Any) -> Any:
    reshaped = _boxed(x).reshape(op.shape)
    return reshaped if op.shape else reshaped.item()


@rule(ops.Lookup)
def _lookup(a: Algebra[Any], op: ops.Lookup, kinds: Sequence[str], x: Any) -> Any:
    table = op.table.exact()
    if table.ndim == 1:
        return a.lookup(x, op.labels, table.tolist())
    return vector([a.lookup(x, op.labels, column) for column in table.T.tolist()])


@rule(ops.Category)
def _category(a: Algebra[Any], op: ops.Category, kinds: Sequence[str], index: Any) -> Any:
    return a.category(index, op.labels)


@rule(ops.IsLabel)
def _is_label(a: Algebra[Any], op: ops.IsLabel, kinds: Sequence[str], x: Any) -> Any:
    return a.is_label(x, op.label)


@rule(ops.ToReal)
def _to_real(a: Algebra[Any], op: ops.ToReal, kinds: Sequence[str], x: Any) -> Any:
    return mapped(lambda item: a.to_real(item, kinds[0]), x)


@rule(ops.Add)
def _add(a: Algebra[Any], op: ops.Add, kinds: Sequence[str], x: Any, y: Any) -> Any:
    return mapped(lambda p, q: a.linear((1, 1), (p, q), 0), x, y)


@rule(ops.Sub)
def _sub(a: Algebra[Any], op: ops.Sub, kinds: Sequence[str], x: Any, y: Any) -> Any:
    return mapped(lambda p, q: a.linear((1, -1), (p, q), 0), x, y)


@rule(ops.Neg)
def _neg(a: Algebra[Any], op: ops.Neg, kinds: Sequence[str], x: Any) -> Any:
    return mapped(lambda p: a.linear((-1,), (p,), 0), x)


@rule(ops.Mul)
def _mul(a: Algebra[Any], op: ops.Mul, kinds: Sequence[str], x: Any, y: Any) -> Any:
    return mapped(a.product, x, y)


@rule(ops.Div)
def _div(a: Algebra[Any], op: ops.Div, kinds: Sequence[str], x: Any, y: Any) -> Any:
    return mapped(a.quotient, x, y)


@rule(ops.Minimum)
def _minimum(a: Algebra[Any], op: ops.Minimum, kinds: Sequence[str], x: Any, y: Any) -> Any:
    return mapped(lambda p, q: _min(a, (p, q)), x, y)


@rule(ops.Maximum)
def _maximum(a: Algebra[Any], op: ops.Maximum, kinds: Sequence[str], x: Any, y: Any) -> Any:
    return mapped(lambda p, q: a.maximum((p, q), "max"), x, y)


def _min(a: Algebra[Any], items: Sequence[Any]) -> Any:
    return _negated(a, a.maximum([_negated(a, item) for item in items], "max"))


def _negated(a: Algebra[Any], x: Any) -> Any:
    return a.linear((-1,), (x,), 0)


@rule(ops.Abs)
def _abs(a: Algebra[Any], op: ops.Abs, kinds: Sequence[str], x: Any) -> Any:
    return mapped(lambda p: a.maximum((p, _negated(a, p)), "abs"), x)


@rule(ops.Relu)
def _relu(a: Algebra[Any], op: ops.Relu, kinds: Sequence[str], x: Any) -> Any:
    return mapped(lambda p: a.maximum((p, a.constant(0)), "h"), x)


@rule(ops.PiecewiseLinear)
def _piecewise_linear(
    a: Algebra[Any], op: ops.PiecewiseLinear, kinds: Sequence[str], x: Any
) -> Any:
    constant, slope, turns = op.hinges()

    def bend(p: Any) -> Any:
        beyond = [a.maximum((a.linear((1,), (p,), -at), a.constant(0)), "h") for at, _ in turns]
        return a.linear((slope, *(change for _, change in turns)), (p, *beyond), constant)

    return mapped(bend, x)


@rule(ops.LeakyRelu)
def _leaky_relu(a: Algebra[Any], op: ops.LeakyRelu, kinds: Sequence[str], x: Any) -> Any:
    return mapped(lambda p: a.maximum((p, a.linear((op.alpha,), (p,), 0)), "h"), x)


@rule(ops.Clip)
def _clip(a: Algebra[Any], op: ops.Clip, kinds: Sequence[str], x: Any) -> Any:
    def clip(item: Any) -> Any:
        raised = a.maximum((item, a.constant(op.lower)), "max")
        return _min(a, (raised, a.constant(op.upper)))

    return mapped(clip, x)


@rule(ops.RoundFloat32, ops.Smooth)
def _function(a: Algebra[Any], op: Op, kinds: Sequence[str], x: Any) -> Any:
    return mapped(lambda item: a.function(op.name, item), x)


@rule(ops.Softmax)
def _softmax(a: Algebra[Any], op: ops.Softmax, kinds: Sequence[str], x: Any) -> Any:
    raised = [a.function("exp", item) for item in x]
    total = a.linear([1] * len(raised), raised, 0)
    try:
        return vector([a.quotient(item, total) for item in raised])
    except UnsupportedError:
        raise UnsupportedError(
            f"what the softmax of {len(x)} scores gives has no formula, except where one of two is "
            "compared with a constant",
            remedy="ask for the label (the largest score wins), with cfxc.Margin for a clear one",
        ) from None


@rule(ops.Affine)
def _affine(a: Algebra[Any], op: ops.Affine, kinds: Sequence[str], x: Any) -> Any:
    weight, bias, terms = op.weight.exact(), op.bias.exact().tolist(), x.tolist()
    pairs = zip(weight.tolist(), bias, strict=True)
    rows = [a.linear(row, terms, constant) for row, constant in polled(pairs, 32)]
    return vector([a.name(row, "z") for row in polled(rows, 32)])


@rule(ops.ReduceSum)
def _reduce_sum(a: Algebra[Any], op: ops.ReduceSum, kinds: Sequence[str], x: Any) -> Any:
    return a.linear([1] * x.size, x.tolist(), 0)


@rule(ops.ReduceMax)
def _reduce_max(a: Algebra[Any], op: ops.ReduceMax, kinds: Sequence[str], x: Any) -> Any:
    return a.maximum(x.tolist(), "max")


@rule(ops.ReduceMin)
def _reduce_min(a: Algebra[Any], op: ops.ReduceMin, kinds: Sequence[str], x: Any) -> Any:
    return _min(a, x.tolist())


@rule(ops.Argmax)
def _argmax(a: Algebra[Any], op: ops.Argmax, kinds: Sequence[str], x: Any) -> Any:
    # from the last candidate down: i wins if no earlier entry reaches it and no later one beats it
    entries = x.tolist()
    best, top = a.constant(0), entries[0]
    for index, entry in enumerate(entries[1:], start=1):
        wins = a.compare("gt", entry, top)
        best, top = _either(a, wins, [a.constant(index), entry], [best, top])
    return best


def _either(a: Algebra[Any], condition: Any, x: list[Any], y: list[Any]) -> list[Any]:
    return a.choose(condition, lambda: x, lambda: y, "best")


@rule(ops.Le, ops.Lt, ops.Ge, ops.Gt, ops.Eq, ops.Ne)
def _comparison(a: Algebra[Any], op: Op, kinds: Sequence[str], x: Any, y: Any) -> Any:
    return mapped(lambda p, q: a.compare(op.name, p, q), x, y)


@rule(ops.And)
def _and(a: Algebra[Any], op: ops.And, kinds: Sequence[str], *parts: Any) -> Any:
    return mapped(lambda *items: a.conjunction(items), *parts)


@rule(ops.Or)
def _or(a: Algebra[Any], op: ops.Or, kinds: Sequence[str], *parts: Any) -> Any:
    return mapped(lambda *items: a.disjunction(items), *parts)


@rule(ops.Not)
def _not(a: Algebra[Any], op: ops.Not, kinds: Sequence[str], x: Any) -> Any:
    return mapped(a.negation, x)


@rule(ops.Select)
def _select(
    a: Algebra[Any], op: ops.Select, kinds: Sequence[str], condition: Any, x: Any, y: Any
) -> Any:
    return mapped(lambda c, p, q: a.choose(c, lambda: [p], lambda: [q], "s")[0], condition, x, y)


@rule(ops.TreeEnsemble)
def _tree_ensemble(a: Algebra[Any], op: ops.TreeEnsemble, kinds: Sequence[str], x: Any) -> Any:
    trees = [a.tree(op, root, x.tolist()) for root in op.roots.array.tolist()]
    base = op.base.exact().tolist()
    return vector(
        [
            a.linear([1] * len(trees), [tree[k] for tree in trees], constant)
            for k, constant in enumerate(base)
        ]
    )
