"""Columns that hold one of a few known values: functions of one category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir import LabelTuple, Operand, ops
from ...space import Label
from .lowering import Lowering
from .table import Raw, Ref


@dataclass(frozen=True)
class Symbol:
    """A column that is a function of one category: what it holds at each of the labels."""

    category: Operand
    labels: LabelTuple
    cells: tuple[Label, ...]


def symbol(lowering: Lowering, ref: Ref) -> Symbol | None:
    """The column as a table over a category; ``None`` if it is a number of another kind."""
    if isinstance(ref, Raw):
        source = lowering.source(ref)
        if source.cells is None:
            return None
        return Symbol(source.feature.name, LabelTuple(source.feature.labels), source.cells)
    op = lowering.definitions.get(ref.vector)
    if not isinstance(op, ops.Lookup) or op.table.dtype != "f64":
        return None
    held = op.table.array.reshape(len(op.labels), -1)[:, ref.index]
    return Symbol(op.x, op.labels, tuple(held.tolist()))


def has_gap(cells: Sequence[Label]) -> bool:
    """Whether numbers may be missing; text is no gap, but a problem of its own."""
    return None in cells and not any(isinstance(cell, str) for cell in cells)
