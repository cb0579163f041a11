"""What Algorithm 1 returns with an absolute ε: the rows that a solver happens to find."""

from __future__ import annotations

import time
from fractions import Fraction

import z3

from cfxc.compiler.emit.smtlib import number
from cfxc.question.query import Query

from .algorithm_1 import ModelFormula, formula_text


def distance_found(
    model: ModelFormula, query: Query, epsilon: Fraction, limit: float, parts: int = 1
) -> Fraction | None:
    """The distance of the last row found; ``None``: z3 ran out of time.

    As the authors' code has it, the upper end goes to the distance of the row found (and ε/100
    beyond), not to the radius asked about.

    Args:
        parts: What distances are divided by: there linf is divided by the number of features.
    """
    text, distance = formula_text(model, query)
    lower, upper, found = Fraction(0), Fraction(1), None
    until = time.perf_counter() + limit
    while upper - lower >= epsilon:
        radius = (lower + upper) / 2
        context = z3.Context()
        solver = z3.Solver(ctx=context)
        within = number(radius * parts, "real")
        solver.from_string(f"{text}(assert (<= {distance} {within}))\n")
        solver.set("timeout", max(1, int(1000 * (until - time.perf_counter()))))
        answer = solver.check()
        if answer == z3.unknown:
            return None
        if answer == z3.unsat:
            lower = radius
            continue
        reached = solver.model().eval(z3.Real(distance.strip("|"), ctx=context), True)
        found = Fraction(reached.as_fraction())
        upper = found / parts + epsilon / 100
    return found
