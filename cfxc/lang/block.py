"""Blocks of scalar ops: constants are folded, values converted to the sort that is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from ..errors import VerificationError
from ..ir import BOOL, INT, REAL, LabelTuple, Let, Literal, Op, Operand, Sort, Statement, ops
from ..ir import Label as LabelValue
from ..ir.sorts import label_key
from .ast import Expr, Name
from .diagnostics import Fault
from .node import Node
from .printer import print_expression
from .values import (
    Loose,
    LooseChoice,
    NoConstant,
    Typed,
    Value,
    is_category,
    known_constant,
    lookup,
    new_label,
    number_literal,
    number_table,
    position,
    sort_name,
    truth_label,
    write_label,
)
from .walk import rewrite

ARITHMETIC: Final[dict[str, Callable[[Operand, Operand], Op]]] = {
    "+": ops.Add, "-": ops.Sub, "*": ops.Mul, "/": ops.Div,
}  # fmt: skip
# Never folded: what they evaluate to is an approximation, or a label, which is no operand.
_UNFOLDED: Final = (ops.Smooth, ops.Category)
# Operators and constants that leave the other operand as it is.
_NEUTRAL_RIGHT: Final = frozenset({("+", 0), ("-", 0), ("*", 1), ("/", 1)})
_NEUTRAL_LEFT: Final = frozenset({("+", 0), ("*", 1)})
#: Widest expression that a message quotes.
_QUOTED: Final = 40


class Block:
    """Appends ops to ``block``; every temporary is the ``%n`` of one subexpression.

    Attributes:
        sorts: Sort of every name.
        spelling: How the text writes a name, where that differs.
        block: The statements so far.
    """

    def __init__(
        self, sorts: Mapping[str, Sort], source: str, spelling: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.sorts, self.source, self.spelling = sorts, source, spelling
        self.block: list[Statement] = []
        self._count = 0

    def _origin(self, place: Node) -> str:
        return f"{self.source}:{place.line}" if place.line else self.source

    def _let(self, op: Op, node: Expr) -> Operand:
        """Append ``op``, or return its value if it is a constant."""
        operands = list(op.operands())
        if all(isinstance(each, Literal) for each in operands) and not isinstance(op, _UNFOLDED):
            try:
                value = op.evaluate(*(each.value for each in operands if isinstance(each, Literal)))
            except VerificationError as error:
                raise Fault(node, error.message) from None
            return Literal(value)
        while (name := f"%{self._count}") in self.sorts:  # what an input may be called
            self._count += 1
        self._count += 1
        self.block.append(Let(name, op, self._origin(node)))
        return name

    def _typed(self, op: Op, sort: Sort, node: Expr) -> Typed:
        operand = self._let(op, node)
        return Typed(operand, operand.sort if isinstance(operand, Literal) else sort, node)

    def _arithmetic(self, operator: str, x: Typed, y: Typed, node: Expr) -> Typed:
        """``x operator y`` of numbers, without what adding 0 and multiplying by 0 and 1 cost."""
        a, b = number_literal(x), number_literal(y)
        if operator == "/" and b == 0:
            raise Fault(node, "division by zero")
        if b is not None and a is None and (operator, b) in _NEUTRAL_RIGHT:
            return self._as_real(x, node) if operator == "/" else x
        if a is not None and b is None and (operator, a) in _NEUTRAL_LEFT:
            return y
        if operator == "*" and 0 in (a, b):
            return Typed(Literal(0), INT, node)
        sort = REAL if operator == "/" or REAL in (x.sort, y.sort) else INT
        return self._typed(ARITHMETIC[operator](x.operand, y.operand), sort, node)

    def _as_real(self, x: Typed, node: Expr) -> Typed:
        return x if x.sort == REAL else self._typed(ops.ToReal(x.operand), REAL, node)

    def _and(self, parts: Sequence[Operand], node: Expr) -> Operand:
        return self._connect(ops.And, parts, True, node)

    def _or(self, parts: Sequence[Operand], node: Expr) -> Operand:
        return self._connect(ops.Or, parts, False, node)

    def _connect(
        self, op: type[ops.And | ops.Or], parts: Sequence[Operand], neutral: bool, node: Expr
    ) -> Operand:
        if Literal(not neutral) in parts:
            return Literal(not neutral)
        left = [part for part in parts if part != Literal(neutral)]
        if len(left) < 2:
            return left[0] if left else Literal(neutral)
        return self._let(op(tuple(left)), node)

    def _not(self, x: Operand, node: Expr) -> Operand:
        return self._let(ops.Not(x), node)

    def _iff(self, x: Operand, y: Operand, node: Expr) -> Operand:
        for one, other in ((x, y), (y, x)):
            if isinstance(one, Literal):
                return other if one.value else self._not(other, node)
        both = self._and((x, y), node)
        neither = self._and((self._not(x, node), self._not(y, node)), node)
        return self._or((both, neither), node)

    # -- conversions -------------------------------------------------------------------------------

    def _number(self, value: Value, what: str) -> Typed:
        """Return a number; a category whose labels are numbers counts as one."""
        known = self._known(value) if isinstance(value, LooseChoice) else value
        if isinstance(known, Typed):
            if known.sort.is_numeric:
                return known
            numbers = number_table(known.sort.labels) if known.sort.labels else None
            if numbers is not None:
                op = lookup(known.operand, known.sort.labels, numbers)
                return self._typed(op, op.sort(known.sort), known.node)
        raise Fault(known.node, f"{what} needs a number, not {self._what(known)}")

    def _truth(self, value: Value, what: str) -> Operand:
        """Return a Boolean; a category with the labels 0 and 1, or false and true, is one."""
        known = self._known(value) if isinstance(value, LooseChoice) else value
        if isinstance(known, Typed):
            if known.sort == BOOL:
                return known.operand
            if known.sort.kind == "category":
                try:
                    label = truth_label(known.sort.labels)
                except KeyError:
                    shown = f"{self._what(known)}: compare it with a label"
                    raise Fault(known.node, f"{what} needs a truth value, not {shown}") from None
                if isinstance(label, Literal):
                    return label
                return self._let(ops.IsLabel(known.operand, label), known.node)
        raise Fault(known.node, f"{what} needs a truth value, not {self._what(known)}")

    def _known(self, value: Value) -> Typed:
        return value if isinstance(value, Typed) else self._commit(value)

    def _commit(self, *values: Value) -> Typed:
        """Return the first value in the category of all labels that occur in the values."""
        sort = self._category(*values)
        return Typed(self._coerce(values[0], sort), sort, values[0].node)

    def _category(self, *values: Value) -> Sort:
        """Return the category of all labels that occur in the values."""
        found: dict[tuple[str, LabelValue], LabelValue] = {}
        stack = list(reversed(values))
        while stack:
            value = stack.pop()
            if isinstance(value, LooseChoice):
                stack += [value.y, value.x]
                continue
            constant = known_constant(value)
            if isinstance(constant, NoConstant):
                raise Fault(value.node, f"a label is needed here, not {self._what(value)}")
            label = new_label(constant)
            found.setdefault(label_key(label), label)
        return Sort("category", (), LabelTuple(found.values()))

    def _coerce(self, value: Value, sort: Sort) -> Operand:
        """Return ``value`` as an operand of ``sort``."""
        done: list[Operand] = []
        stack: list[tuple[Value, bool]] = [(value, False)]
        while stack:
            each, ready = stack.pop()
            if not isinstance(each, LooseChoice):
                done.append(self._coerce_one(each, sort))
            elif ready:
                y, x = done.pop(), done.pop()
                done.append(self._let(ops.Select(each.condition, x, y), each.node))
            else:
                stack += [(each, True), (each.y, False), (each.x, False)]
        return done[0]

    def _coerce_one(self, value: Typed | Loose, sort: Sort) -> Operand:
        if isinstance(value, Typed) and value.sort == sort:
            return value.operand
        constant = known_constant(value)
        if sort.kind == "category" and not isinstance(constant, NoConstant):
            index = position(constant, sort, value.node)
            return self._let(ops.Category(Literal(index), sort.labels), value.node)
        if isinstance(value, Typed) and sort.is_numeric:
            number = self._number(value, sort_name(sort)) if is_category(value) else value
            if number.sort == sort:
                return number.operand
            if sort == REAL and number.sort == INT:
                return self._real_operand(number)
        raise Fault(value.node, f"{self._what(value)} stands where {sort_name(sort)} is needed")

    def _real_operand(self, value: Typed) -> Operand:
        if isinstance(value.operand, Literal):
            return Literal(Fraction(value.operand.value))
        return self._let(ops.ToReal(value.operand), value.node)

    # -- messages ----------------------------------------------------------------------------------

    def _what(self, value: Value) -> str:
        """Return how a message speaks of ``value``."""
        if isinstance(value, Loose):
            return f"the label {write_label(new_label(value.constant))}"
        if isinstance(value, LooseChoice):
            return f"a choice between labels, {self._quoted(value.node)}"
        return f"{self._quoted(value.node)} ({sort_name(value.sort)})"

    def _quoted(self, node: Expr) -> str:
        def spelt(each: Expr) -> Expr:
            if isinstance(each, Name) and each.root in self.spelling:
                return Name(self.spelling[each.root])
            return each

        text = print_expression(rewrite(node, spelt))
        return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
