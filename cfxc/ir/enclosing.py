"""Bounds of every value of a program, from bounds of its inputs."""

from __future__ import annotations

from collections.abc import Mapping

from .interval import Bounds, Choice, Interval
from .op import Literal, Operand
from .program import Program


def enclose(program: Program, inputs: Mapping[str, Bounds]) -> dict[str, Bounds]:
    """A sound enclosure of every value, by interval arithmetic, for inputs within theirs.

    Both branches of an ``if`` count: a name that both assign gets the hull.
    """
    found = dict(inputs)
    for statement in program.lets():
        operands = (_read(operand, found) for operand in statement.op.operands())
        bounds = statement.op.interval(*operands)
        before = found.get(statement.name)
        found[statement.name] = bounds if before is None else _hull(before, bounds)
    return found


def _read(operand: Operand, found: Mapping[str, Bounds]) -> Bounds:
    if not isinstance(operand, Literal):
        return found[operand]
    value = int(operand.value) if isinstance(operand.value, bool) else operand.value
    return Interval.exact(value, value)


def _hull(first: Bounds, second: Bounds) -> Bounds:
    if isinstance(first, Interval) and isinstance(second, Interval):
        return first.hull(second)
    assert isinstance(first, Choice)
    assert isinstance(second, Choice)
    return Choice(first.labels, first.possible | second.possible)
