"""Tensor level to core level: scalar assignments and nested ifs, as in the paper's Figures 2b, 3b.

A tree becomes nested ifs, a ReLU an if, a matrix product sums.  Temporaries (names starting with
``%``) are the nodes of expressions; every other name is a variable of the core program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

from ..errors import UnsupportedError
from ..ir import (
    REAL,
    Builder,
    If,
    Label,
    LabelTuple,
    Let,
    Literal,
    Op,
    Operand,
    Program,
    Sort,
    Statement,
    evaluate,
    ops,
)
from ..ir.linear import Number
from ..ir.ops.smooth import smooth_kinds
from ..ir.sorts import format_name
from .scalarise import Algebra, decompose, vector

_RELATIONS: dict[str, Callable[[Operand, Operand], Op]] = {
    "le": ops.Le, "lt": ops.Lt, "ge": ops.Ge, "gt": ops.Gt, "eq": ops.Eq, "ne": ops.Ne,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[[Operand], Op]] = {
    **smooth_kinds(),
    "round_float32": ops.RoundFloat32,
}


def expand(program: Program) -> Program:
    """The core-level program equal to a tensor-level one.

    Vector inputs and outputs are split: ``p`` of ``Real[2]`` becomes ``p.0`` and ``p.1`` (primed
    where these names are taken).  A core-level program stays as it is.

    Raises ``UnsupportedError`` for programs with both vectors and ``if``.
    """
    builder = Builder(program.name)
    algebra = CoreAlgebra(builder, {})
    values: dict[str, Any] = {}
    taken = set(program.sorts)
    for name, sort in program.inputs:
        if sort.shape:
            flat = [
                builder.input(_element(name, i, taken), sort.with_shape(()))
                for i in range(prod(sort.shape))
            ]
            values[name] = vector(flat).reshape(sort.shape)
        else:
            values[name] = builder.input(name, sort)
    algebra._sorts.update(builder.inputs)
    _expand_body(program, algebra, values)
    outputs: dict[str, Operand] = {}
    taken = {name for name, _ in program.outputs}
    for name, operand in program.outputs:
        value = _read(operand, values)
        if program.output_sorts[name].shape:
            items = enumerate(value.ravel())
            outputs |= {_element(name, i, taken): item for i, item in items}
        else:
            outputs[name] = value
    return builder.build_with(outputs)


def _element(name: str, index: int, taken: set[str]) -> str:
    element = f"{name}.{index}"
    while element in taken:
        element += "'"
    taken.add(element)
    return element


def _read(operand: Operand, values: dict[str, Any]) -> Any:
    return operand if isinstance(operand, Literal) else values[operand]


def _expand_body(program: Program, algebra: CoreAlgebra, values: dict[str, Any]) -> None:
    if any(isinstance(statement, If) for statement in program.body):
        # already core level: only scalars, so that statements carry over one by one
        vectors = [format_name(name) for name, sort in program.sorts.items() if sort.shape]
        if vectors:
            raise UnsupportedError(
                "a program with 'if' works on scalars; these are vectors",
                vectors,
                "take their elements apart, or use select instead of 'if'",
            )
        algebra.builder.extend(program.body)
        algebra._sorts.update(program.sorts)
        values.update({name: name for name in program.sorts})
        return
    for statement in program.body:
        assert isinstance(statement, Let)
        operands = list(statement.op.operands())
        kinds = [program.sort_of(operand).kind for operand in operands]
        arguments = [_read(operand, values) for operand in operands]
        with algebra.builder.at(statement.origin):
            values[statement.name] = decompose(algebra, statement.op, kinds, arguments)


class CoreAlgebra(Algebra[Operand]):
    """Scalars are operands of the core-level program under construction."""

    def __init__(self, builder: Builder, sorts: dict[str, Sort]) -> None:
        self.builder = builder
        self._sorts = sorts  # of everything defined so far

    def _let(self, op: Op) -> Operand:
        """Append ``op``, or fold it when all its operands are literals."""
        operands = list(op.operands())
        constant = bool(operands) and all(isinstance(operand, Literal) for operand in operands)
        if constant and not isinstance(op, ops.Category):
            fold = Program("fold", (), (Let("v", op),), (("v", "v"),))
            return Literal(evaluate(fold, {})["v"])
        return self._append(op)

    def _append(self, op: Op, name: str = "") -> str:
        name = self.builder.let(op, name)
        self._sorts[name] = op.sort(*map(self._sort, op.operands()))
        return name

    def constant(self, value: Number | bool) -> Operand:
        return Literal(value)

    def linear(
        self, coefficients: Sequence[Number], terms: Sequence[Operand], constant: Number
    ) -> Operand:
        total: Operand | None = None
        rest = Fraction(constant)
        for factor, term in zip(coefficients, terms, strict=True):
            if isinstance(term, Literal):
                rest += factor * term.value
            elif factor:
                total = self._plus(total, Fraction(factor), term)
        if total is None:
            return Literal(rest)
        if rest > 0:
            return self._let(ops.Add(total, _number(rest)))
        return self._let(ops.Sub(total, _number(-rest))) if rest else total

    def _plus(self, total: Operand | None, factor: Fraction, term: Operand) -> Operand:
        if total is None:
            if factor == 1:
                return term
            minus = factor == -1
            return self._let(ops.Neg(term) if minus else ops.Mul(_number(factor), term))
        size = abs(factor)
        scaled = term if size == 1 else self._let(ops.Mul(_number(size), term))
        return self._let((ops.Add if factor > 0 else ops.Sub)(total, scaled))

    def product(self, x: Operand, y: Operand) -> Operand:
        for a, b in ((x, y), (y, x)):
            if isinstance(a, Literal):
                return self.linear((a.value,), (b,), 0)
        return self._let(ops.Mul(x, y))

    def quotient(self, x: Operand, y: Operand) -> Operand:
        return x if y == Literal(1) or y == Literal(Fraction(1)) else self._let(ops.Div(x, y))

    def compare(self, relation: str, x: Operand, y: Operand) -> Operand:
        return self._let(_RELATIONS[relation](x, y))

    def conjunction(self, parts: Sequence[Operand]) -> Operand:
        return self._let(ops.And(tuple(parts)))

    def disjunction(self, parts: Sequence[Operand]) -> Operand:
        return self._let(ops.Or(tuple(parts)))

    def negation(self, x: Operand) -> Operand:
        return self._let(ops.Not(x))

    def choose(
        self,
        condition: Operand,
        then: Callable[[], list[Operand]],
        orelse: Callable[[], list[Operand]],
        hint: str,
    ) -> list[Operand]:
        if isinstance(condition, Literal):
            return then() if condition.value else orelse()
        (xs, first), (ys, second) = self.builder.capture(then), self.builder.capture(orelse)
        names: list[Operand] = []
        for x, y in zip(xs, ys, strict=True):
            sort = self._join(x, y)
            names.append(name := self.builder.fresh(hint))
            self._sorts[name] = sort
            first += self._bind(name, x, sort)
            second += self._bind(name, y, sort)
        self.builder.extend([If(condition, first, second)])
        return names

    def _join(self, x: Operand, y: Operand) -> Sort:
        first, second = self._sort(x), self._sort(y)
        return REAL if {first.kind, second.kind} == {"int", "real"} else first

    def _bind(self, name: str, value: Operand, sort: Sort) -> tuple[Statement, ...]:
        """``name = value``, converted to Real where the other branch is Real."""
        op: Op = ops.Identity(value)
        if sort == REAL and self._sort(value).kind == "int":
            op = (
                ops.Identity(_number(Fraction(value.value)))
                if isinstance(value, Literal)
                else ops.ToReal(value)
            )
        return (Let(name, op, self.builder.origin),)

    def _sort(self, operand: Operand) -> Sort:
        return operand.sort if isinstance(operand, Literal) else self._sorts[operand]

    def maximum(self, terms: Sequence[Operand], hint: str) -> Operand:
        best = terms[0]
        for term in terms[1:]:
            first = best
            wins = self.compare("ge", first, term)
            (best,) = self._either(wins, first, term, hint)
        return best

    def _either(self, condition: Operand, x: Operand, y: Operand, hint: str) -> list[Operand]:
        return self.choose(condition, lambda: [x], lambda: [y], hint)

    def function(self, name: str, x: Operand) -> Operand:
        return self._let(_FUNCTIONS[name](x))

    def to_real(self, x: Operand, kind: str) -> Operand:
        if kind != "bool":
            return self._let(ops.ToReal(x))
        one, zero = Literal(Fraction(1)), Literal(Fraction(0))
        return self.choose(x, lambda: [one], lambda: [zero], "b")[0]

    def is_label(self, x: Operand, label: Label) -> Operand:
        return self._let(ops.IsLabel(x, label))

    def lookup(self, x: Operand, labels: LabelTuple, values: Sequence[Number | bool]) -> Operand:
        groups: dict[Any, list[Label]] = {}
        for label, value in zip(labels, values, strict=True):
            groups.setdefault(value, []).append(label)
        ordered = sorted(groups.items(), key=lambda pair: len(pair[1]))

        def value_from(position: int) -> list[Operand]:
            value, members = ordered[position]
            if position == len(ordered) - 1:
                return [Literal(value)]
            tests = [self.is_label(x, label) for label in members]
            test = tests[0] if len(tests) == 1 else self.disjunction(tests)
            return self.choose(
                test, lambda: [Literal(value)], lambda: value_from(position + 1), "c"
            )

        return value_from(0)[0]

    def category(self, index: Operand, labels: LabelTuple) -> Operand:
        if isinstance(index, Literal):
            return self._append(ops.Category(Literal(int(index.value)), labels))

        def label_from(position: int) -> list[Operand]:
            label = self.category(Literal(position), labels)
            if position == len(labels) - 1:
                return [label]
            test = self.compare("eq", index, Literal(position))
            return self.choose(test, lambda: [label], lambda: label_from(position + 1), "label")

        return label_from(0)[0]

    def name(self, x: Operand, hint: str) -> Operand:
        if isinstance(x, Literal) or not x.startswith("%"):
            return x
        return self._append(ops.Identity(x), self.builder.fresh(hint))

    def tree(self, op: ops.TreeEnsemble, root: int, x: Sequence[Operand]) -> list[Operand]:
        rows = op.value.exact()
        names = [self.builder.fresh("v") for _ in range(op.base.shape[0])]
        self._sorts.update(dict.fromkeys(names, REAL))
        bodies: dict[int, tuple[Statement, ...]] = {}
        stack = [root]
        while stack:
            node = stack[-1]
            column = int(op.feature.array[node])
            if column < 0:
                leaf = zip(names, rows[node].tolist(), strict=True)
                bodies[stack.pop()] = tuple(
                    Let(name, ops.Identity(_number(value)), self.builder.origin)
                    for name, value in leaf
                )
                continue
            children = (int(op.left.array[node]), int(op.right.array[node]))
            waiting = [child for child in children if child not in bodies]
            if waiting:
                stack.extend(waiting)
                continue
            condition = self.builder.fresh()
            test = ops.Le(x[column], _number(Fraction(op.threshold.array[node])))
            split = If(condition, bodies.pop(children[0]), bodies.pop(children[1]))
            bodies[stack.pop()] = (Let(condition, test, self.builder.origin), split)
        self.builder.extend(bodies[root])
        return list(names)


def _number(value: Fraction) -> Literal:
    return Literal(Fraction(value))
