"""One scalar op of the IR as an expression of the core language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, Final, TypeAlias

from ..ir import Label, Literal, Op, Sort, ops
from ..ir.ops.smooth import smooth_kinds
from ..ir.sorts import label_key
from . import ast
from .values import literal_of

LabelKey: TypeAlias = tuple[str, Label]


@dataclass(frozen=True, slots=True)
class Arguments:
    """An op, the expressions and sorts of its operands, and the labels that they may have."""

    op: Any
    values: tuple[ast.Expr, ...]
    sorts: tuple[Sort, ...]
    reach: tuple[frozenset[LabelKey], ...]


Rule: TypeAlias = Callable[[Arguments], ast.Expr]


def literal(operand: Literal) -> ast.Expr:
    """Return the literal of the language; a numeral has no sort of its own."""
    if isinstance(operand.value, bool):
        return ast.Boolean(operand.value)
    return ast.Number(Fraction(operand.value))


def _binary(operator: ast.BinaryOperator) -> Rule:
    return lambda a: ast.binary(operator, *a.values)


def _call(function: str) -> Rule:
    return lambda a: ast.Call(function, a.values)


def _add(a: Arguments) -> ast.Expr:
    return _sum(*a.values, minus=False)


def _sub(a: Arguments) -> ast.Expr:
    return _sum(*a.values, minus=True)


def _sum(x: ast.Expr, y: ast.Expr, *, minus: bool) -> ast.Expr:
    """``x + y`` or ``x - y``, adding no negative number."""
    if isinstance(y, ast.Number) and y.value < 0:
        minus, y = not minus, ast.negate(y)
    return ast.binary("-" if minus else "+", x, y)


def _extreme(function: str) -> Rule:
    """``max(max(a, b), c)`` is ``max(a, b, c)``."""

    def rule(a: Arguments) -> ast.Expr:
        first, *rest = a.values
        inner = isinstance(first, ast.Call) and first.function == function
        start = first.operands if inner else (first,)
        return ast.Call(function, (*start, *rest))

    return rule


def _leaky_relu(a: Arguments) -> ast.Expr:
    (x,) = a.values
    scaled = ast.binary("*", ast.Number(a.op.alpha), x)
    return ast.Call("max", (x, scaled))


def _piecewise_linear(a: Arguments) -> ast.Expr:
    (x,), (constant, slope, turns) = a.values, a.op.hinges()
    found = ast.binary("*", ast.Number(slope), x)
    for place, change in turns:
        beyond = ast.Call("relu", (_sum(x, ast.Number(place), minus=True),))
        found = _sum(found, ast.binary("*", ast.Number(change), beyond), minus=False)
    return _sum(found, ast.Number(constant), minus=False)


def _clip(a: Arguments) -> ast.Expr:
    raised = ast.Call("max", (a.values[0], ast.Number(a.op.lower)))
    return ast.Call("min", (raised, ast.Number(a.op.upper)))


def _not(a: Arguments) -> ast.Expr:
    (x,) = a.values
    if isinstance(x, ast.Binary) and x.operator == "==":
        return ast.binary("!=", x.left, x.right)
    return ast.unary("!", x)


def _and(a: Arguments) -> ast.Expr:
    return reduce(lambda x, y: ast.binary("&&", x, y), a.values)


def _or(a: Arguments) -> ast.Expr:
    if len(a.values) > 1 and (member := _membership(a.values)) is not None:
        return member
    return reduce(lambda x, y: ast.binary("||", x, y), a.values)


def _membership(parts: Sequence[ast.Expr]) -> ast.Member | None:
    """Return ``x in {…}`` if the parts are ``x == …`` for one variable x and several literals."""
    tests = [
        part
        for part in parts
        if isinstance(part, ast.Binary)
        and part.operator == "=="
        and isinstance(part.left, ast.Name)
        and isinstance(part.right, ast.Literals)
    ]
    if len(tests) < len(parts) or any(test.left != tests[0].left for test in tests):
        return None
    return ast.Member(tests[0].left, tuple(test.right for test in tests))


def _is_label(a: Arguments) -> ast.Expr:
    return _test(a.values[0], [a.op.label], a.reach[0])


def _test(x: ast.Expr, labels: Iterable[Label], reach: frozenset[LabelKey]) -> ast.Expr:
    """Whether x has one of the labels."""
    possible = [literal_of(label) for label in labels if label_key(label) in reach]
    if len(possible) > 1 and isinstance(x, ast.Name):
        return ast.Member(x, tuple(possible))
    tests = [ast.binary("==", x, each) for each in possible]
    return reduce(lambda p, q: ast.binary("||", p, q), tests) if tests else ast.Boolean(False)


def _lookup(a: Arguments) -> ast.Expr:
    """Nested choices; the value that most labels have comes last."""
    groups: dict[tuple[type, Any], list[Label]] = {}
    for label, value in zip(a.op.labels, a.op.table.exact().tolist(), strict=True):
        if label_key(label) in a.reach[0]:
            groups.setdefault((type(value), value), []).append(label)
    ordered = sorted(groups.items(), key=lambda group: len(group[1]))
    (_, last), _ = ordered.pop()
    chosen = literal(Literal(last))
    for (_, value), labels in reversed(ordered):
        test = _test(a.values[0], labels, a.reach[0])
        chosen = ast.Call("ite", (test, literal(Literal(value)), chosen))
    return chosen


def _category(a: Arguments) -> ast.Expr:
    (index,), labels = a.values, a.op.labels
    if isinstance(a.op.index, Literal):
        return literal_of(labels[int(a.op.index.value)])
    chosen = literal_of(labels[-1])
    for position in reversed(range(len(labels) - 1)):
        test = ast.binary("==", index, ast.Number(Fraction(position)))
        chosen = ast.Call("ite", (test, literal_of(labels[position]), chosen))
    return chosen


def _to_real(a: Arguments) -> ast.Expr:
    return ast.Call("real", a.values) if a.sorts[0].kind == "bool" else a.values[0]


def _constant(a: Arguments) -> ast.Expr:
    return literal(Literal(a.op.value.exact().item()))


RULES: Final[Mapping[type[Op], Rule]] = {
    ops.Add: _add,
    ops.Sub: _sub,
    ops.Mul: _binary("*"),
    ops.Div: _binary("/"),
    ops.Neg: lambda a: ast.negate(a.values[0]),
    ops.Abs: _call("abs"),
    ops.Relu: _call("relu"),
    ops.PiecewiseLinear: _piecewise_linear,
    ops.LeakyRelu: _leaky_relu,
    ops.Clip: _clip,
    ops.Minimum: _extreme("min"),
    ops.Maximum: _extreme("max"),
    ops.RoundFloat32: _call("round32"),
    **{cls: _call(name) for name, cls in smooth_kinds().items()},
    ops.Le: _binary("<="),
    ops.Lt: _binary("<"),
    ops.Ge: _binary(">="),
    ops.Gt: _binary(">"),
    ops.Eq: _binary("=="),
    ops.Ne: _binary("!="),
    ops.And: _and,
    ops.Or: _or,
    ops.Not: _not,
    ops.Select: _call("ite"),
    ops.IsLabel: _is_label,
    ops.Lookup: _lookup,
    ops.Category: _category,
    ops.ToReal: _to_real,
    ops.Identity: lambda a: a.values[0],
    ops.Constant: _constant,
}


def repeats(op: Op) -> int:
    """Return how often the expression of ``op`` repeats that of an operand, at most."""
    if isinstance(op, ops.Lookup | ops.Category):
        return len(op.labels)
    if isinstance(op, ops.PiecewiseLinear) and type(op) not in RULES:
        return 1 + len(op.hinges().turns)
    return 2 if isinstance(op, ops.LeakyRelu) else 1
