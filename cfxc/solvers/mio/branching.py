"""Branch and price: best first over whole numbers, each node a linear program over a hull's rows.

What mixed-integer solvers cannot do is to make columns at every node.  The bound of a node holds
for all rows, and the faces that nodes meet make the program sharper that a solver gets afterwards.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ...compiler.mixed_integer import rounded
from ...errors import SolverError
from ..hulls import HullProgram
from .backends import Floats
from .enclose import add_face, more_tangents, program_over, vector_of
from .formulation import Formulation, Formulator
from .regions import Ending

WHOLE = 1e-6  # how far from a whole number counts as one

Offer = Callable[[dict[str, Any]], Fraction | None]
"""Offers a point; the new radius to look within if it is an improvement, else ``None``."""


def branch(
    formulation: Formulation,
    formulator: Formulator,
    radius: Fraction,
    offer: Offer,
    deadline: float,
) -> Ending:
    """Close every node within the radius, or as many as the time allows."""
    program, solver = rounded(formulation.model), program_over(formulation)
    more = more_tangents(formulation, formulator)
    inner = float(formulator.query.hulls[0].inner)
    near = vector_of(formulator.query, formulator.query.factual)
    queue: list[tuple[float, int, Floats, Floats]] = [(-np.inf, 0, program.lower, program.upper)]
    least, nodes, made = np.inf, 0, 1
    while queue and queue[0][0] < radius:
        known, _, lower, upper = heapq.heappop(queue)
        solver.hold(lower, upper)
        nodes += 1
        try:
            found = solver.solve(near, deadline, more)
        except SolverError:
            least = min(least, known)
            continue
        if time.monotonic() >= deadline:
            least = min([least, known, *(node[0] for node in queue[:1])])
            return Ending("limit", _bound(least, radius), nodes)
        if found is None:
            continue
        add_face(formulator, found.face)
        bound = known
        if found.complete:
            bound = max(known, found.objective / program.scale - program.allowance)
        if bound >= radius:
            continue
        away = np.where(program.whole, np.abs(found.values - np.round(found.values)), 0.0)
        j = int(away.argmax())
        if away[j] <= WHOLE:
            inside = _inside(solver, inner, lower, upper, near, deadline, more)
            better = None if inside is None else offer(formulation.lift(inside))
            radius = radius if better is None else min(radius, better)
            least = min(least, bound) if bound < radius else least
            continue
        below, above = upper.copy(), lower.copy()
        below[j], above[j] = np.floor(found.values[j]), np.ceil(found.values[j])
        heapq.heappush(queue, (bound, made, lower, below))
        heapq.heappush(queue, (bound, made + 1, above, upper))
        made += 2
    if least < radius:
        return Ending("limit", _bound(least, radius), nodes)
    return Ending("closed", radius, nodes)


def _inside(
    solver: HullProgram, inner: float, lower: Floats, upper: Floats, near: Floats,
    deadline: float, more: Any,
) -> Floats | None:  # fmt: skip
    """The nearest point of a node that uses up less of the tolerance than bounds allow for."""
    closer = upper.copy()
    closer[solver.slack] = min(inner, closer[solver.slack])
    solver.hold(lower, closer)
    try:
        found = solver.solve(near, deadline, more)
    except SolverError:
        return None
    return None if found is None else found.values


def _bound(least: float, radius: Fraction) -> Fraction:
    return min(Fraction(max(least, 0.0)), radius) if least < np.inf else radius


__all__ = ["branch"]
