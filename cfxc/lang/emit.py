"""Expressions of the core language to scalar ops of the IR, with their sorts checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from fractions import Fraction
from functools import reduce
from typing import Any, Final

from ..ir import BOOL, INT, REAL, If, Let, Literal, Op, Operand, Sort, ops
from ..ir.ops.smooth import smooth_kinds
from ..ir.sorts import label_key
from .ast import RELATIONS, Binary, Boolean, Call, Expr, Literals, Member, Name, Number, Unary
from .block import ARITHMETIC, Block
from .diagnostics import Fault
from .node import Node
from .values import (
    LooseChoice,
    NoConstant,
    Typed,
    Value,
    has_label,
    is_category,
    known_constant,
    literal_value,
    lookup,
    number_table,
    position,
    wider,
)
from .walk import fold, run, subexpressions

_RELATIONS: Final[dict[str, Callable[[Operand, Operand], Op]]] = {
    "<": ops.Lt, "<=": ops.Le, ">": ops.Gt, ">=": ops.Ge, "==": ops.Eq, "!=": ops.Ne,
}  # fmt: skip
_FUNCTIONS: Final[dict[str, Callable[[Operand], Op]]] = {
    "abs": ops.Abs, "relu": ops.Relu, "round32": ops.RoundFloat32, **smooth_kinds(),
}  # fmt: skip


class Emitter(Block):
    """Appends the ops of expressions to its block.

    Attributes:
        ordered: Names of categories whose labels are in rising order.
        constants: Names that stand for an operand and are never assigned.
    """

    def __init__(
        self,
        sorts: Mapping[str, Sort],
        source: str,
        *,
        ordered: Collection[str] = (),
        spelling: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        super().__init__(sorts, source, spelling or {})
        self.ordered = ordered
        self.constants: dict[str, Operand] = {}
        self._choices = 0

    # -- what a command needs ----------------------------------------------------------------------

    def assign(self, name: str, value: Expr, place: Node) -> None:
        """Append ``name = value``; the outermost op of the value gets the name."""
        self.bind(name, self.value(value, self.sorts[name]), place)

    def bind(self, name: str, operand: Operand, place: Node) -> None:
        """Append ``name = operand``; the op that has just computed the operand gets the name."""
        last = self.block[-1] if self.block else None
        if isinstance(last, Let) and last.name == operand and last.name.startswith("%"):
            self.block[-1] = Let(name, last.op, self._origin(place))
        else:
            self.block.append(Let(name, ops.Identity(operand), self._origin(place)))

    def value(self, expression: Expr, sort: Sort) -> Operand:
        """Return the operand of ``expression``, converted to ``sort``; Fault if it has another."""
        return self._coerce(self._expression(expression), sort)

    def free(self, expression: Expr) -> Typed:
        """Return the value of ``expression`` in its own sort."""
        value = self._expression(expression)
        return value if isinstance(value, Typed) else self._commit(value)

    def guard(self, expression: Expr, what: str = "a guard") -> Operand:
        """Return the Boolean operand of ``expression``; Fault if it is neither true nor false."""
        return self._truth(self._expression(expression), what)

    def _expression(self, expression: Expr) -> Value:
        divided = _divisions(expression)
        if divided:
            return run(self._lazily(expression, divided))
        return fold(expression, self._combine)

    # -- divisions are computed only where they are needed -----------------------------------------

    def _lazily(self, node: Expr, divided: set[int]) -> Generator[Any, Any, Value]:
        """Lower ``node``; what ``ite``, ``&&``, ``||`` and ``->`` may skip stands in an If."""
        operands: list[Value] = []
        lazy = _is_lazy(node) and any(id(each) in divided for each in node.operands[1:])
        for each in node.operands[:1] if lazy else node.operands:
            operands.append((yield self._lazily(each, divided)))
        if not lazy:
            return self._combine(node, tuple(operands))
        what = f"'{node.operator}'" if isinstance(node, Binary) else "the first argument of ite"
        chosen = self._truth(operands[0], what)
        then, orelse = _arms(node)
        if isinstance(chosen, Literal):
            only: Value = yield self._lazily(then if chosen.value else orelse, divided)
            return only
        before, self.block = self.block, []
        x: Value = yield self._lazily(then, divided)
        first, self.block = self.block, []
        y: Value = yield self._lazily(orelse, divided)
        second = self.block
        sort = self._joined(node, x, y)
        self._choices += 1
        name = f"choice.{self._choices}"
        while name in self.sorts:
            name += "_"
        for block, value in ((first, x), (second, y)):
            self.block = block
            operand = self._truth(value, what) if sort == BOOL else self._coerce(value, sort)
            self.bind(name, operand, node)
        self.block = before
        self.block.append(If(chosen, tuple(first), tuple(second)))
        return Typed(name, sort, node)

    def _joined(self, node: Expr, x: Value, y: Value) -> Sort:
        """Return the sort of a choice between two values."""
        if isinstance(node, Binary):
            return BOOL
        for one, other in ((x, y), (y, x)):
            if is_category(one):
                return self._joined_number(one, other) or one.sort
        if isinstance(x, Typed) and isinstance(y, Typed):
            if x.sort.is_numeric and y.sort.is_numeric:
                return wider(x, y)
            if x.sort == y.sort:
                return x.sort
            raise Fault(node, f"ite chooses between {self._what(x)} and {self._what(y)}")
        return self._category(x, y)

    def _joined_number(self, one: Typed, other: Value) -> Sort | None:
        """Return the sort of a choice between a category of numbers and a number not among them."""
        numbers = number_table(one.sort.labels)
        if numbers is None or not isinstance(other, Typed) or one.sort == other.sort:
            return None
        more = number_table(other.sort.labels) if other.sort.labels else None
        constant = known_constant(other)
        if more is None and not other.sort.is_numeric:
            return None
        if not isinstance(constant, NoConstant) and has_label(constant, one.sort.labels):
            return None
        whole = other.sort != REAL and all(isinstance(each, int) for each in numbers + (more or []))
        return INT if whole else REAL

    # -- expressions -------------------------------------------------------------------------------

    def _combine(self, node: Expr, operands: tuple[Value, ...]) -> Value:
        if isinstance(node, Literals):
            return literal_value(node)
        if isinstance(node, Name):
            return self._name(node)
        if isinstance(node, Member):
            parts = [self._equal(operands[0], literal_value(item), node) for item in node.items]
            return Typed(self._or(parts, node), BOOL, node)
        if isinstance(node, Call):
            return self._call(node, operands)
        if isinstance(node, Unary):
            if node.operator == "!":
                return Typed(self._not(self._truth(operands[0], "'!'"), node), BOOL, node)
            x = self._number(operands[0], "'-'")
            return self._typed(ops.Neg(x.operand), x.sort, node)
        assert isinstance(node, Binary)
        return self._binary(node, *operands)

    def _name(self, node: Name) -> Typed:
        name = node.root
        ordered = name in self.ordered
        if name in self.constants:
            operand = self.constants[name]
            sort = operand.sort if isinstance(operand, Literal) else self.sorts[name]
            return Typed(operand, sort, node, ordered)
        return Typed(name, self.sorts[name], node, ordered)

    def _binary(self, node: Binary, left: Value, right: Value) -> Typed:
        operator = node.operator
        what = f"'{operator}'"
        if operator in ARITHMETIC:
            x, y = self._number(left, what), self._number(right, what)
            return self._arithmetic(operator, x, y, node)
        if operator == "==":
            return Typed(self._equal(left, right, node), BOOL, node)
        if operator == "!=":
            return Typed(self._not_equal(left, right, node), BOOL, node)
        if operator in RELATIONS:
            return Typed(self._relation(node, left, right), BOOL, node)
        a, b = self._truth(left, what), self._truth(right, what)
        if operator == "&&":
            return Typed(self._and((a, b), node), BOOL, node)
        if operator == "||":
            return Typed(self._or((a, b), node), BOOL, node)
        if operator == "->":
            return Typed(self._or((self._not(a, node), b), node), BOOL, node)
        return Typed(self._iff(a, b, node), BOOL, node)

    def _call(self, node: Call, operands: tuple[Value, ...]) -> Value:
        function = node.function
        if function == "ite":
            return self._choice(node, *operands)
        if function == "real":
            return self._real(node, operands[0])
        numbers = [self._number(each, function) for each in operands]
        if function in ("max", "min"):
            op = ops.Maximum if function == "max" else ops.Minimum
            return reduce(
                lambda x, y: self._typed(op(x.operand, y.operand), wider(x, y), node), numbers
            )
        sort = numbers[0].sort if function in ("abs", "relu") else REAL
        return self._typed(_FUNCTIONS[function](numbers[0].operand), sort, node)

    def _real(self, node: Call, value: Value) -> Typed:
        if isinstance(value, Typed) and value.sort == BOOL:
            return self._typed(ops.ToReal(value.operand), REAL, node)
        number = self._number(value, "real")
        if isinstance(number.operand, Literal):
            return Typed(Literal(Fraction(number.operand.value)), REAL, node)
        return self._as_real(number, node)

    def _choice(self, node: Call, condition: Value, x: Value, y: Value) -> Value:
        chosen = self._truth(condition, "the first argument of ite")
        if isinstance(chosen, Literal):
            return x if chosen.value else y
        if isinstance(x, Typed) and isinstance(y, Typed) and x.operand == y.operand:
            return x
        for one, other in ((x, y), (y, x)):
            if not isinstance(one, Typed) and (
                not isinstance(other, Typed) or isinstance(other.operand, Literal)
            ):
                return LooseChoice(chosen, x, y, node)
        sort = self._joined(node, x, y)
        arms = self._coerce(x, sort), self._coerce(y, sort)
        return self._typed(ops.Select(chosen, *arms), sort, node)

    # -- comparisons -------------------------------------------------------------------------------

    def _not_equal(self, left: Value, right: Value, node: Binary) -> Operand:
        numbers = [v for v in (left, right) if isinstance(v, Typed) and v.sort.is_numeric]
        if len(numbers) == 2:
            return self._let(ops.Ne(numbers[0].operand, numbers[1].operand), node)
        return self._not(self._equal(left, right, node), node)

    def _equal(self, left: Value, right: Value, node: Expr) -> Operand:
        for one, other in ((left, right), (right, left)):
            if is_category(one):
                return self._same_label(one, other, node)
        if isinstance(left, Typed) and isinstance(right, Typed):
            if left.sort == BOOL and right.sort == BOOL:
                return self._iff(left.operand, right.operand, node)
            if left.sort.is_numeric and right.sort.is_numeric:
                return self._let(ops.Eq(left.operand, right.operand), node)
            raise Fault(node, f"{self._what(left)} is compared with {self._what(right)}")
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Typed) and not (
                isinstance(one.operand, Literal) and isinstance(other, LooseChoice)
            ):
                raise Fault(node, f"{self._what(one)} is compared with {self._what(other)}")
        return self._same_label(self._commit(left, right), right, node)

    def _same_label(self, x: Typed, other: Value, node: Expr) -> Operand:
        """Whether the category ``x`` has the label that ``other`` has."""
        constant = known_constant(other)
        if not isinstance(constant, NoConstant):
            index = position(constant, x.sort, other.node)
            return self._let(ops.IsLabel(x.operand, x.sort.labels[index]), node)
        if isinstance(other, LooseChoice):
            other = Typed(self._coerce(other, x.sort), x.sort, other.node)
        assert isinstance(other, Typed)
        if other.sort.kind == "category":
            if set(map(label_key, x.sort.labels)) == set(map(label_key, other.sort.labels)):
                return self._same_labels(x, other, node)
            if number_table(x.sort.labels) is None or number_table(other.sort.labels) is None:
                raise Fault(
                    node, f"{self._what(x)} is compared with {self._what(other)}: the labels differ"
                )
        elif other.sort == BOOL:
            return self._iff(self._truth(x, "'=='"), other.operand, node)
        numbers = self._number(x, "'=='"), self._number(other, "'=='")
        return self._let(ops.Eq(numbers[0].operand, numbers[1].operand), node)

    def _same_labels(self, x: Typed, y: Typed, node: Expr) -> Operand:
        pairs = []
        for label in x.sort.labels:
            tests = [self._let(ops.IsLabel(each.operand, label), node) for each in (x, y)]
            pairs.append(self._and(tests, node))
        return self._or(pairs, node)

    def _relation(self, node: Binary, left: Value, right: Value) -> Operand:
        """``<``, ``<=``, ``>`` or ``>=``: between numbers, or levels of ordered labels."""
        ordered = next((v for v in (left, right) if isinstance(v, Typed) and v.ordered), None)
        if ordered is not None and number_table(ordered.sort.labels) is None:
            x, y = (self._level(each, ordered.sort) for each in (left, right))
        else:
            what = f"'{node.operator}'"
            x, y = (self._number(each, what).operand for each in (left, right))
        return self._let(_RELATIONS[node.operator](x, y), node)

    def _level(self, value: Value, sort: Sort) -> Operand:
        constant = known_constant(value)
        if not isinstance(constant, NoConstant):
            return Literal(position(constant, sort, value.node))
        if not isinstance(value, Typed) or value.sort != sort:
            raise Fault(value.node, f"a level among {sort} is needed here, not {self._what(value)}")
        return self._let(lookup(value.operand, sort.labels, range(len(sort.labels))), value.node)


def _divisions(expression: Expr) -> set[int]:
    """Return the ids of the subexpressions that divide by what is no constant."""
    if not any(_divides(node) for node in subexpressions(expression)):
        return set()
    found: set[int] = set()

    def mark(node: Expr, operands: tuple[bool, ...]) -> bool:
        divides = _divides(node) or any(operands)
        if divides:
            found.add(id(node))
        return divides

    fold(expression, mark)
    return found


def _divides(node: Expr) -> bool:
    return isinstance(node, Binary) and node.operator == "/" and not isinstance(node.right, Number)


def _is_lazy(node: Expr) -> bool:
    if isinstance(node, Call):
        return node.function == "ite"
    return isinstance(node, Binary) and node.operator in ("&&", "||", "->")


def _arms(node: Expr) -> tuple[Expr, Expr]:
    """Return what a lazy ``node`` is if its first operand is true, and if it is false."""
    if isinstance(node, Call):
        return node.arguments[1], node.arguments[2]
    assert isinstance(node, Binary)
    if node.operator == "||":
        return Boolean(True), node.right
    return node.right, Boolean(node.operator == "->")
