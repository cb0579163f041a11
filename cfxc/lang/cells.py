"""Numbers that are compared with a column, as the cells of that column hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from .ast import RELATIONS, Binary, Expr, Member, Name, Number
from .walk import rewrite

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
        return Number(Fraction(held), line=number.line, column=number.column)

    def rule(node: Expr) -> Expr:
        if isinstance(node, Member):
            return replace(node, items=tuple(beside(item, node.operand) for item in node.items))
        if isinstance(node, Binary) and node.operator in RELATIONS:
            return node.rebuild((beside(node.left, node.right), beside(node.right, node.left)))
        return node

    return rewrite(expression, rule)


__all__ = ["Cells", "as_cells"]
