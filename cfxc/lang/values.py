"""Values of expressions while they are lowered: operands of known sort, and labels of none yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, TypeGuard

import numpy as np

from ..ir import BOOL, INT, REAL, LabelTuple, Literal, Operand, Sort, Tensor, ops
from ..ir.tensor import fractions
from .ast import Expr
from .labels import Constant, constant_of, write_label

#: Widest sort that a message names.
_SORT_WIDTH: Final = 80


@dataclass(frozen=True, slots=True)
class Typed:
    """A value of known sort; ``node`` is where it is written."""

    operand: Operand
    sort: Sort
    node: Expr
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Loose:
    """The literal ``node``, a label of whatever category it meets."""

    constant: Constant
    node: Expr


@dataclass(frozen=True, slots=True)
class LooseChoice:
    """``ite(condition, x, y)`` between labels of whatever category it meets."""

    condition: Operand
    x: Value
    y: Value
    node: Expr


Value: TypeAlias = Typed | Loose | LooseChoice


class NoConstant:
    """What :func:`known_constant` returns for what is no constant (``None`` is a label)."""


def known_constant(value: Value) -> Constant | NoConstant:
    """Return the constant that a literal or folded value is."""
    if isinstance(value, Loose):
        return value.constant
    if isinstance(value, Typed) and isinstance(value.operand, Literal):
        return value.operand.value
    return NoConstant()


def number_literal(value: Typed) -> Fraction | int | None:
    """Return the number that ``value`` is, None if it is no constant."""
    return value.operand.value if isinstance(value.operand, Literal) else None


def literal_value(node: Expr) -> Value:
    """Return the value of a literal; a numeral is Int if it is whole."""
    constant = constant_of(node)
    if isinstance(constant, bool):
        return Typed(Literal(constant), BOOL, node)
    if isinstance(constant, Fraction):
        whole = constant.denominator == 1
        literal = Literal(int(constant) if whole else constant)
        return Typed(literal, literal.sort, node)
    return Loose(constant, node)


def wider(x: Typed, y: Typed) -> Sort:
    """Return Real if one of two numbers is, else Int."""
    return REAL if REAL in (x.sort, y.sort) else INT


def is_category(value: Value) -> TypeGuard[Typed]:
    """Return whether ``value`` is known to be of some category."""
    return isinstance(value, Typed) and value.sort.kind == "category"


def lookup(operand: Operand, labels: LabelTuple, values: Sequence[Fraction | int]) -> ops.Lookup:
    """Return the op that maps each label to its value."""
    small = all(isinstance(value, int) and abs(value) < 2**63 for value in values)
    tensor = Tensor(np.array(values, dtype=np.int64)) if small else Tensor(fractions(values), "rat")
    return ops.Lookup(operand, labels, tensor)


def sort_name(sort: Sort) -> str:
    """Return the sort as messages write it, not too long."""
    text = f"Category{{{', '.join(map(write_label, sort.labels))}}}" if sort.labels else str(sort)
    return text if len(text) <= _SORT_WIDTH else f"{text[:_SORT_WIDTH]}…"
