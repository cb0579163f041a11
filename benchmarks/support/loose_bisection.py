"""What Algorithm 1 returns with an absolute ε: the rows that a solver happens to find."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import z3

from cfxc.compiler.emit.smtlib import number
from cfxc.question.query import Query

from .algorithm_1 import ModelFormula, formula_text


@dataclass(frozen=True)
class Step:
    """A call of the solver: the distance of the last row found by then, seconds since the start.

    Not ``answered`` where z3 ran out of time.
    """

    found: Fraction | None
    seconds: float
    answered: bool


def steps(
    model: ModelFormula, query: Query, epsilon: Fraction, limit: float, parts: int = 1
) -> Iterator[Step]:
    """The calls of Algorithm 1, until its bracket is narrower than ε or the time is up.

    As the authors' code has it, the upper end goes to the distance of the row found (and ε/100
    beyond), not to the radius asked about.

    Args:
        parts: What distances are divided by: there linf is divided by the number of features.
    """
    text, distance = formula_text(model, query)
    lower, upper, found = Fraction(0), Fraction(1), None
    started = time.perf_counter()
    while upper - lower >= epsilon:
        radius = (lower + upper) / 2
        context = z3.Context()
        solver = z3.Solver(ctx=context)
        within = number(radius * parts, "real")
        solver.from_string(f"{text}(assert (<= {distance} {within}))\n")
        left = limit - (time.perf_counter() - started)
        solver.set("timeout", max(1, int(1000 * left)))
        answer = solver.check()
        if answer == z3.unsat:
            lower = radius
        elif answer == z3.sat:
            reached = solver.model().eval(z3.Real(distance.strip("|"), ctx=context), True)
            found = Fraction(reached.as_fraction())
            upper = found / parts + epsilon / 100
        yield Step(found, time.perf_counter() - started, answer != z3.unknown)
        if answer == z3.unknown:
            return


def distance_found(
    model: ModelFormula, query: Query, epsilon: Fraction, limit: float, parts: int = 1
) -> Fraction | None:
    """The distance of the last row found; ``None``: z3 ran out of time.  See :func:`steps`."""
    *_, last = steps(model, query, epsilon, limit, parts)
    return last.found if last.answered else None
