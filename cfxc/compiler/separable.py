"""Targets whose sums have, beside trees, terms that read one feature each.

A regression beside a forest, or a one-hot column with a weight: what ``splits`` knows of columns
that depend on one raw feature becomes a source of its own.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ..errors import UnsupportedError
from ..ir import Operand, Program
from .additive import Additive, Entries, Reader, Requirement, constant
from .splits import Column, resolve_columns


class SeparableReader(Reader):
    """Reads sums over trees and over functions of one feature; their sources are ``Unary``."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.columns = resolve_columns(program)

    def entries(self, operand: Operand) -> Entries:
        """A number or vector as one form per entry."""
        columns = self.columns.get(operand) if isinstance(operand, str) else None
        if columns and all(column is not None for column in columns):
            return [_form(column) for column in columns]
        return super().entries(operand)


def _form(column: Column) -> Additive:
    """A function of one feature as a source, its factor and its constant apart."""
    if column is None:
        raise UnsupportedError("a column mixes several features")
    if isinstance(column, Fraction):
        return constant(column)
    if column.table is not None:
        return Additive(Fraction(0), {column: Fraction(1)} if any(column.table) else {})
    plain = replace(column, factor=Fraction(1), shift=Fraction(0))
    return Additive(column.shift, {plain: column.factor} if column.factor else {})


def requirements(program: Program, output: str) -> list[Requirement]:
    """The conjunction that a Boolean output of a straight-line program stands for.

    A constant output gives one requirement on a constant.  Sources are ``(name, column)`` of an
    ensemble, or a ``Unary``.

    Raises:
        UnsupportedError: something other than trees and functions of one feature decides.
    """
    reader = SeparableReader(program)
    return reader.conjunction(program.output(output))


__all__ = ["requirements"]
