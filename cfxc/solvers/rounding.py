"""The slack that deployed floats need: what a lower bound for the model as it runs allows for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ..compiler.passes import multiply_out
from ..compiler.rounding_error import RoundingError, final
from ..errors import UnsupportedError
from ..frontends.predictor import Predictor
from ..ir import Operand, Program, ops
from ..ir.interval import Bounds, Choice, Interval
from ..ir.patterns import before_scaling, deciding
from ..question.query import Query
from ..question.target import Target, compares_logits
from .base import MARGINS


def slack_for(query: Query, semantics: str, predictor: Predictor) -> Fraction:
    """The slack of a question in ``real`` (0), ``float`` or ``auto`` semantics.

    ``auto`` allows for rounding where scores :func:`may_tie`, as far as it has a bound.

    Raises:
        UnsupportedError: ``float`` was asked for, and has no bound.
    """
    if semantics == "real" or (semantics == "auto" and not may_tie(query.program, predictor)):
        return Fraction(0)
    try:
        return deployed_slack(query, predictor.unit_roundoff)
    except UnsupportedError:
        if semantics == "float":
            raise
        return Fraction(0)


def multiplied_out(query: Query) -> Query:
    """The question of the smaller program; rounding stays that of what libraries compute."""
    small = multiply_out(query.program)
    return replace(query, program=small, computed=query.computed or query.program)


def may_tie(program: Program, predictor: Predictor) -> bool:
    """Whether the deployed model adds up several terms of trees in single floats.

    15 of 30 votes of float32(1/30) each are above 1/2 or not, depending on the order of adding.
    """
    if not predictor.adds_singles:
        return False
    forests = [let.op for let in program.lets() if isinstance(let.op, ops.TreeEnsemble)]
    terms = sum(op.roots.array.size + bool(np.any(op.base.array)) for op in forests)
    return terms > 1


def deployed_slack(query: Query, unit: Fraction) -> Fraction:
    """By how much the score that decides may be off, anywhere in the space, at roundoff ``unit``.

    Where the deployed model has the target outcome, the exact program misses it by less than this.

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
        box.append((domain.name, (min(low, own, domain.lower), max(high, own))))
    try:
        return slack_within(query.computed or query.program, query.target, tuple(box), unit)
    except UnsupportedError as error:
        raise UnsupportedError(
            f"semantics='float' is not known for this model: {error}",
            remedy="ask with semantics='real': the bound then is the exact program's",
        ) from None


def margins_of(query: Query, least: Fraction = Fraction(1, 64)) -> Iterator[Fraction]:
    """By how much the deciding score is to be won where bare wins do not verify, growing, in turn.

    The share ``least`` of the deployed slack beyond a bare win, twice as much, and so on: rounding
    alone refuses no win by the whole of it.  Then ``MARGINS``, which are all where it is not known.
    """
    last = Fraction(0)
    with suppress(UnsupportedError):
        slack = query.slack or deployed_slack(query, query.unit)
        if query.slack and least < 1:
            yield query.slack  # the exact program's own target
        share = least
        while share <= 2:
            last = query.slack + share * slack
            yield last
            share *= 2
    yield from (margin for margin in MARGINS if margin > last)


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
    slack = sum((Fraction(final(at, each)) for each in _compared(program)), Fraction(0))
    if target.chance is None:
        return slack
    if compares_logits(program):
        raise UnsupportedError("a probability is compared as a logit; ask for a margin instead")
    return max(slack, Fraction(final(at, program.output("probability"))))


def _compared(program: Program) -> tuple[Operand, Operand]:
    """The two scores that are compared, as ``target_program`` compares them."""
    decision = deciding(program)
    if isinstance(decision, ops.Argmax) and isinstance(decision.x, str):
        score = before_scaling(decision.x, program.definitions)
        return score, score
    if isinstance(decision, ops.Gt | ops.Ge):
        return decision.x, decision.y
    raise UnsupportedError("no score is known to decide")
