"""Values of expressions while they are lowered: operands, labels of no sort yet, cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from typing import Final, TypeAlias, TypeGuard

import numpy as np

from ..ir import BOOL, INT, REAL, LabelTuple, Literal, Operand, Sort, Tensor, ops
from ..ir import Label as LabelValue
from ..ir.tensor import fractions
from .ast import RELATIONS, Binary, Boolean, Expr, Label, Member, Missing, Name, Number
from .diagnostics import Fault
from .literals import write_name
from .printer import print_expression
from .walk import rewrite

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


#: Labels that one message lists.
SHOWN = 7

Constant: TypeAlias = Fraction | int | bool | str | None


def constant_of(literal: Expr) -> Constant:
    """Return the value of a literal node: number, Boolean, text, or None for ``none``."""
    if isinstance(literal, Number | Boolean | Label):
        return literal.value
    assert isinstance(literal, Missing)
    return None


def new_label(constant: Constant) -> LabelValue:
    """Return ``constant`` as a label of a category that the program itself makes up."""
    if isinstance(constant, Fraction):
        return int(constant) if constant.denominator == 1 else float(constant)
    return constant


def number_of(label: LabelValue) -> Fraction | int | None:
    """Return what a numeric or Boolean label counts as; a float is the decimal it prints as."""
    if isinstance(label, float):
        return Fraction(label) if label.is_integer() else Fraction(repr(label))
    return int(label) if isinstance(label, int) else None


def find_label(constant: Constant, labels: LabelTuple) -> LabelValue:
    """Return the label that ``constant`` denotes: of the same type (number, Boolean, text), equal.

    Raises:
        KeyError: there is none.
    """
    for label in labels:
        if _denotes(constant, label):
            return label
    raise KeyError(constant)


def has_label(constant: Constant, labels: LabelTuple) -> bool:
    """Return whether ``constant`` denotes one of the labels."""
    return any(_denotes(constant, label) for label in labels)


def _denotes(constant: Constant, label: LabelValue) -> bool:
    if isinstance(constant, bool) or isinstance(label, bool):
        return constant is label
    if isinstance(constant, Fraction | int) and isinstance(label, int | float):
        return constant in (number_of(label), Fraction(label))
    return type(constant) is type(label) and constant == label


def position(constant: Constant, sort: Sort, place: Expr) -> int:
    """Return the position of the label that ``constant`` denotes; Fault at ``place`` if none."""
    try:
        return sort.labels.position(find_label(constant, sort.labels))
    except KeyError:
        raise Fault(place, unknown_label(constant, sort.labels)) from None


def unknown_label(constant: Constant, labels: LabelTuple) -> str:
    """Say that no label equals ``constant``, which ones there are, and which was meant."""
    known = [write_label(label) for label in labels]
    if constant is None:
        return f"the value is never missing; its labels are {listed(known)}"
    written = write_label(new_label(constant))
    bare = {text.strip('"').casefold(): text for text in known}
    close = get_close_matches(written.strip('"').casefold(), list(bare), n=3)
    meant = [bare[each] for each in close]
    hint = f"; did you mean {' or '.join(meant)}?" if meant else ""
    return f"no label equals {written}: the labels are {listed(known)}{hint}"


def write_label(label: LabelValue) -> str:
    """Return the text of the literal that denotes ``label``."""
    return print_expression(literal_of(label))


def literal_of(label: LabelValue) -> Expr:
    """Return the literal that denotes ``label``; a float is the decimal it prints as."""
    if label is None:
        return Missing()
    if isinstance(label, bool):
        return Boolean(label)
    return Label(label) if isinstance(label, str) else Number(Fraction(number_of(label) or 0))


def listed(texts: Iterable[str]) -> str:
    """Return the texts, comma-separated, the first :data:`SHOWN` of them."""
    all_texts = list(texts)
    more = len(all_texts) - SHOWN
    return ", ".join(all_texts[:SHOWN]) + (f", … and {more} more" if more > 0 else "")


def write_path(name: str) -> str:
    """Return how a program writes an input: ``age``, ``factual.age``, in back-quotes if needed."""
    root, _, rest = name.partition(".")
    if rest and root in ("x", "factual"):
        return f"{root}.{write_name(rest)}"
    return name if name.endswith("]") else write_name(name)


def nearest_names(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean age or wage?"``, or the names there are, or nothing."""
    by_text = {each.casefold(): each for each in known}
    close = get_close_matches(name.casefold(), list(by_text), n=3)
    longer = [each for each in by_text if re.match(re.escape(name.casefold()) + r"\W", each)]
    if close or longer:
        meant = dict.fromkeys([*close, *longer])
        return f"; did you mean {' or '.join(write_path(by_text[each]) for each in meant)}?"
    plain = [write_path(each) for each in by_text.values() if not each.startswith("factual.")]
    return f"; there are {listed(plain)}" if plain else ""


def number_table(labels: LabelTuple) -> list[Fraction | int] | None:
    """Return the number of every label, or None if one is a text or missing."""
    numbers = [number_of(label) for label in labels]
    known = [number for number in numbers if number is not None]
    return known if len(known) == len(numbers) else None


def truth_label(labels: LabelTuple) -> LabelValue | Literal:
    """Return the label that makes a binary category true; ``Literal(False)`` if none does.

    Raises:
        KeyError: the labels are not among 0 and 1, nor among false and true.
    """
    numbers = number_table(labels)
    if numbers is None or not set(numbers) <= {0, 1}:
        raise KeyError(labels)
    for label, number in zip(labels, numbers, strict=True):
        if number == 1:
            return label
    return Literal(False)


Cells: TypeAlias = Mapping[str, Callable[[Fraction], float | int]]
"""What a cell holds for a number, by column; infinite beyond the largest."""


def as_cells(expression: Expr, cells: Cells) -> Expr:
    """Round each number that stands beside a column in a comparison to what its cells can hold.

    A column of floats holds 0.7 as the double nearest to it, which is a little less: read exactly,
    ``x >= 0.7`` would rule out a row whose cell says 0.7, and ``x == 0.7`` every row.

    Args:
        expression: A constraint; columns are written ``age``, ``x.age`` or ``factual.age``.
        cells: The columns whose numbers are rounded.
    """
    known = {
        spelling: cell
        for name, cell in cells.items()
        for spelling in (name, f"x.{name}", f"factual.{name}")
    }

    def beside(number: Expr, column: Expr) -> Expr:
        if not isinstance(number, Number) or not isinstance(column, Name):
            return number
        cell = known.get(".".join(column.parts))
        held = number.value if cell is None else cell(number.value)
        if isinstance(held, float) and abs(held) == float("inf"):
            return number
        return Number(Fraction(held), **number.place)

    def rule(node: Expr) -> Expr:
        if isinstance(node, Member):
            return replace(node, items=tuple(beside(item, node.operand) for item in node.items))
        if isinstance(node, Binary) and node.operator in RELATIONS:
            return node.rebuild((beside(node.left, node.right), beside(node.right, node.left)))
        return node

    return rewrite(expression, rule)
