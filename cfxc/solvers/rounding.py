"""The slack that deployed floats need: what a lower bound for the model as it runs allows for."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from ..compiler.rounding_error import RoundingError, final
from ..errors import UnsupportedError
from ..frontends.query import Query
from ..frontends.target import Target
from ..ir import Op, Operand, Program, ops
from ..ir.interval import Bounds, Choice, Interval
from ..ir.patterns import before_scaling, deciding


def deployed_slack(query: Query, unit: Fraction) -> Fraction:
    """By how much the score that decides may be off, anywhere in the space, at roundoff ``unit``.

    Where the deployed model has the wanted outcome, the exact program misses it by less than this.

    Raises:
        UnsupportedError: it has no bound, or no score is known to decide.
    """
    box: list[tuple[str, tuple[Fraction, Fraction] | None]] = []
    for domain in query.domains:
        if domain.is_symbolic:
            box.append((domain.name, None))
            continue
        low, high = domain.feature.bounds
        own = Fraction(domain.factual)
        box.append((domain.name, (min(low, own), max(high, own))))
    try:
        return slack_within(query.program, query.target, tuple(box), unit)
    except UnsupportedError as error:
        raise UnsupportedError(
            f"semantics='float' is not known for this model: {error}",
            remedy="ask with semantics='real': the bound then is the exact program's",
        ) from None


@lru_cache(maxsize=16)
def slack_within(
    program: Program,
    target: Target,
    box: tuple[tuple[str, tuple[Fraction, Fraction] | None], ...],
    unit: Fraction,
) -> Fraction:
    """The same within a box: of each input the ends of its range, or ``None`` for categories.

    Raises:
        UnsupportedError: it has no bound, or no score is known to decide.
    """
    sorts, bounds = dict(program.inputs), dict[str, Bounds]()
    for name, ends in box:
        labels = sorts[name].labels
        bounds[name] = Choice.among(labels, labels) if ends is None else Interval.exact(*ends)
    at = RoundingError(program, bounds, unit)
    if target.is_range:
        return Fraction(final(at, program.output("value")))
    definitions = {statement.name: statement.op for statement in program.lets()}
    return sum((Fraction(final(at, each)) for each in _compared(program, definitions)), Fraction(0))


def _compared(program: Program, definitions: dict[str, Op]) -> tuple[Operand, Operand]:
    """The two scores that are compared, as ``target_program`` compares them."""
    decision = deciding(program)
    if isinstance(decision, ops.Argmax) and isinstance(decision.x, str):
        score = before_scaling(decision.x, definitions)
        return score, score
    if isinstance(decision, ops.Gt | ops.Ge):
        return decision.x, decision.y
    raise UnsupportedError("no score is known to decide")


__all__ = ["deployed_slack", "slack_within"]
