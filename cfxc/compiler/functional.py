"""Programs as terms: the functional characteristic formula.

Where the path and compact transformers (``transform``) relate inputs, intermediate variables and
result, this one eliminates the intermediate variables: each output becomes one term over the
inputs, with ``ite`` and ``max`` for the conditionals.  The three are proved equivalent in the
tests; the oracle uses this one, because sharing and exact simplification shrink it most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ..errors import UnsupportedError, VerificationError
from ..ir import Label, LabelTuple, Let, Literal, Operand, Program, Sort, ops, walk
from ..ir.float32 import round_to_float32
from ..ir.linear import Number
from ..ir.ops.smooth import smooth_kinds
from ..ir.statements import run_merging
from .scalarise import Algebra, decompose, vector
from .terms import Pool, Term


@dataclass(frozen=True, slots=True)
class Symbolic:
    """A category: ``guards[i]`` says that the label is ``labels[i]``; exactly one holds."""

    labels: LabelTuple
    guards: tuple[Term, ...]


Scalar = Term | Symbolic

_SMOOTH = smooth_kinds()


def _image(name: str, x: Term) -> tuple[Fraction | None, Fraction | None]:
    """Bounds of a function on the range of a term."""
    if name in _SMOOTH:
        return _SMOOTH[name].image(x.lower, x.upper)
    low, high = (_rounded(end) for end in (x.lower, x.upper))
    return low, high


def _rounded(end: Fraction | None) -> Fraction | None:
    if end is None:
        return None
    try:
        return round_to_float32(end)
    except VerificationError:  # it overflows there
        return None


def _is_float32(x: Term) -> bool:
    """Whether all values are whole numbers up to 2**24, which float32 holds."""
    if x.sort != "int" or x.lower is None or x.upper is None:
        return False
    return max(-x.lower, x.upper) <= 2**24


class TermAlgebra(Algebra[Any]):
    """Scalars are terms (or guards of a category)."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def constant(self, value: Number | bool) -> Term:
        return self.pool.truth(value) if isinstance(value, bool) else self.pool.const(value)

    def linear(
        self, coefficients: Sequence[Number], terms: Sequence[Term], constant: Number
    ) -> Term:
        return self.pool.linear(zip(coefficients, terms, strict=True), constant)

    def product(self, x: Term, y: Term) -> Term:
        return self.pool.mul(x, y)

    def quotient(self, x: Term, y: Term) -> Term:
        if y.value is None or y.value == 0:
            raise UnsupportedError(
                "division by something other than a nonzero constant has no formula",
                remedy="keep the divisor constant; let an ensemble vote with labels "
                "(voting='hard'), or train one member for all classes",
            )
        return self.pool.scale(1 / y.value, x)

    def compare(self, relation: str, x: Term, y: Term) -> Term:
        pool = self.pool
        table: dict[str, Callable[[Term, Term], Term]] = {
            "le": pool.le,
            "lt": pool.lt,
            "ge": pool.ge,
            "gt": pool.gt,
            "eq": pool.eq,
            "ne": lambda p, q: pool.not_(pool.eq(p, q)),
        }
        return table[relation](x, y)

    def conjunction(self, parts: Sequence[Term]) -> Term:
        return self.pool.and_(*parts)

    def disjunction(self, parts: Sequence[Term]) -> Term:
        return self.pool.or_(*parts)

    def negation(self, x: Term) -> Term:
        return self.pool.not_(x)

    def choose(
        self,
        condition: Term,
        then: Callable[[], list[Any]],
        orelse: Callable[[], list[Any]],
        hint: str,
    ) -> list[Any]:
        if condition.is_true:
            return then()
        if condition.is_false:
            return orelse()
        return [self.merge(condition, x, y) for x, y in zip(then(), orelse(), strict=True)]

    def merge(self, condition: Term, x: Any, y: Any) -> Any:
        """``x`` if ``condition`` else ``y``, for scalars, categories and arrays."""
        if isinstance(x, np.ndarray):
            items = zip(x.ravel(), y.ravel(), strict=True)
            return vector([self.merge(condition, p, q) for p, q in items]).reshape(x.shape)
        if isinstance(x, Symbolic):
            pairs = zip(x.guards, y.guards, strict=True)
            return Symbolic(x.labels, tuple(self.pool.ite(condition, p, q) for p, q in pairs))
        return self.pool.ite(condition, x, y)

    def maximum(self, terms: Sequence[Term], hint: str) -> Term:
        return self.pool.max(*terms)

    def function(self, name: str, x: Term) -> Term:
        """Smooth functions and rounding stay opaque, with their range."""
        if x.value is not None and name == "round_float32":
            return self.pool.const(round_to_float32(x.value))
        if name == "round_float32" and _is_float32(x):
            return x
        return self.pool.apply(name, x, *_image(name, x))

    def to_real(self, x: Term, kind: str) -> Term:
        return self.pool.indicator(x) if kind == "bool" else x

    def is_label(self, x: Symbolic, label: Label) -> Term:
        return x.guards[x.labels.position(label)]

    def lookup(self, x: Symbolic, labels: LabelTuple, values: Sequence[Number | bool]) -> Term:
        groups: dict[Any, list[Term]] = {}
        for guard, value in zip(x.guards, values, strict=True):
            if not guard.is_false:
                groups.setdefault(value, []).append(guard)
        if not groups:  # no label is left, which the category's own facts refute
            return self.constant(values[0])
        ordered = sorted(groups.items(), key=lambda pair: len(pair[1]))
        result = self.constant(ordered[-1][0])  # the largest group needs no test
        for value, guards in reversed(ordered[:-1]):
            result = self.pool.ite(self.pool.or_(*guards), self.constant(value), result)
        return result

    def category(self, index: Term, labels: LabelTuple) -> Symbolic:
        guards = [self.pool.eq(index, self.pool.const(i)) for i in range(len(labels))]
        return Symbolic(labels, tuple(guards))

    def name(self, x: Term, hint: str) -> Term:
        return x

    def tree(self, op: ops.TreeEnsemble, root: int, x: Sequence[Term]) -> list[Term]:
        rows = op.value.exact()
        done: dict[int, list[Term]] = {}
        stack = [root]
        while stack:
            node = stack[-1]
            column = int(op.feature.array[node])
            if column < 0:
                done[stack.pop()] = [self.pool.const(value) for value in rows[node].tolist()]
                continue
            children = (int(op.left.array[node]), int(op.right.array[node]))
            threshold = Fraction(op.threshold.array[node])
            goes_left = self.pool.at_most(x[column], threshold)
            needed = [
                child
                for child, dead in zip(
                    children, (goes_left.is_false, goes_left.is_true), strict=True
                )
                if not dead
            ]
            waiting = [child for child in needed if child not in done]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if len(needed) == 1:
                done[node] = done[needed[0]]
            else:
                pairs = zip(done[children[0]], done[children[1]], strict=True)
                done[node] = [self.pool.ite(goes_left, p, q) for p, q in pairs]
        return done[root]


def functional(program: Program, inputs: Mapping[str, Scalar], pool: Pool) -> dict[str, Any]:
    """Terms of the outputs of a program (either level) over terms of its inputs."""
    return Interpreter(program, TermAlgebra(pool)).run(inputs)


class Interpreter:
    """Runs a program in an algebra whose ``choose`` can merge values after an ``if``."""

    def __init__(self, program: Program, algebra: Any) -> None:
        self.program, self.algebra = program, algebra

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = dict(inputs)
        run_merging(
            walk(self.program.body), values, partial(self._let, values),
            lambda _, c, x, y: self.algebra.merge(self._read(c, values), x, y),
        )  # fmt: skip
        return {name: self._read(operand, values) for name, operand in self.program.outputs}

    def _let(self, values: Mapping[str, Any], statement: Let) -> Any:
        operands = list(statement.op.operands())
        kinds = [self._sort(operand).kind for operand in operands]
        arguments = [self._read(operand, values) for operand in operands]
        try:
            return decompose(self.algebra, statement.op, kinds, arguments)
        except UnsupportedError as error:
            if not statement.origin or error.offences:
                raise
            raise UnsupportedError(f"{statement.origin}: {error}") from error

    def _sort(self, operand: Operand) -> Sort:
        return operand.sort if isinstance(operand, Literal) else self.program.sorts[operand]

    def _read(self, operand: Operand, values: Mapping[str, Any]) -> Any:
        if isinstance(operand, Literal):
            return self.algebra.constant(operand.value)
        return values[operand]
