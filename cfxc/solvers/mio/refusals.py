"""What mixed-integer search does not take of a question, and why."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ...compiler.emit.mip import refused
from ...compiler.pipeline import simplified
from ...compiler.relaxation import CURVES
from ...errors import UnsupportedError
from ...ir import Literal, Program, ops
from ...question.distances import has_extremes
from ...question.query import Query
from .formulation import Formulator
from .regions import LARGEST


def refuses(query: Query) -> str:
    """Why the engine cannot take a query; empty if it can.

    Smooth functions have no exact piecewise-linear form, and products of numbers that both vary,
    which are differences of squares, neither: those with lines around them (``CURVES``) are for the
    search by regions alone.
    """
    if has_extremes(query.distance):
        return "a distance with numbers beyond 1e30 in size, or below 1e-30"
    programs = list(_programs(query))
    curved = any(let.op.name in CURVES for program in programs for let in program.lets())
    alone = query.distance.norms is not None and goes_by_regions(query)
    kept = CURVES if alone else ()
    offences = [offence for program in programs for offence in refused(program, kept)]
    if offences:
        return "; ".join(offences[:3]) + ("; …" if len(offences) > 3 else "")
    if curved and sum(len(domain.labels) or 2 for domain in query.domains) > LARGEST:
        return "smooth functions of so many columns"
    kinds = (ops.Div,) if alone else (ops.Mul, ops.Div)
    if any(_holds(program, kinds) for program in programs):
        radius = Fraction(1) if query.distance.norms is not None else None
        try:
            varies = Formulator(query).multiplies(radius)
        except UnsupportedError as error:
            return str(error)
        if varies and not alone:
            return "a product of two numbers that both vary"
    return ""


def goes_by_regions(query: Query) -> bool:
    """Whether boxes of features can be closed: distances are linear, or all boxes end as points.

    Under l2 costs are known by tangents alone, and only grids make boxes that are points.
    """
    plain = query.distance.whitening is None and not query.hulls
    return plain and (query.is_finite or not query.distance.has_squares)


def _programs(query: Query) -> Iterator[Program]:
    """Everything that becomes rows: target, constraints and a distance that is no norms."""
    yield simplified(query.target_program)
    yield from (each.program for each in query.constraints)
    if query.distance.norms is None and not query.distance.has_squares:
        yield query.distance.program


def _holds(program: Program, kinds: tuple[type[ops.Mul | ops.Div], ...]) -> bool:
    """Whether some product or quotient of these kinds might have two sides that vary."""
    constants = {let.name for let in program.lets() if isinstance(let.op, ops.Constant)}
    return any(
        isinstance(let.op, kinds)
        and not any(isinstance(p, Literal) or p in constants for p in let.op.operands())
        for let in program.lets()
    )
