"""Which queries the mixed-integer engine takes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ...compiler.emit.mip import refused
from ...compiler.pipeline import simplified
from ...errors import UnsupportedError
from ...ir import Literal, Program, ops
from ...question.query import Query
from .formulation import Formulator


def refuses(query: Query) -> str:
    """Why the engine cannot take a query; empty if it can.

    Smooth functions have no exact piecewise-linear form, and neither has a product of numbers that
    both vary; what the decision does not depend on may be either.
    """
    programs = list(_programs(query))
    offences = [offence for program in programs for offence in refused(program)]
    if offences:
        return "; ".join(offences[:3]) + ("; …" if len(offences) > 3 else "")
    if any(_multiplies(program) for program in programs):
        radius = Fraction(1) if query.distance.norms is not None else None
        try:
            Formulator(query).formulate(radius)
        except UnsupportedError as error:
            return str(error)
    return ""


def _programs(query: Query) -> Iterator[Program]:
    """Everything that becomes rows: target, constraints and distance."""
    yield simplified(query.target_program)[0]
    yield from (each.program for each in query.constraints)
    if not query.distance.has_squares:
        yield query.distance.program


def _multiplies(program: Program) -> bool:
    """Whether some product or quotient might have two sides that vary."""
    constants = {let.name for let in program.lets() if isinstance(let.op, ops.Constant)}
    return any(
        isinstance(let.op, ops.Mul | ops.Div)
        and not any(isinstance(p, Literal) or p in constants for p in let.op.operands())
        for let in program.lets()
    )


__all__ = ["refuses"]
