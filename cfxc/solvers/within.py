"""Searching within a hull by an engine that knows none: faces as constraints, one after the other.

Without the hull the nearest point is found fast, where trees decide.  If it lies in the hull, that
is the answer; if not, the face between them becomes a constraint, and the question is asked again.
Every answer bounds the distance from below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ..ir import Literal, Program, ops
from ..question.criteria import Constraint
from ..question.hull import Combining
from ..question.query import Query
from ..stopping import now
from .base import Candidate, Deployed, Outcome, verify
from .hulls import Face, admits, nearest, slack_of

CLOSED = "closed"
ROUNDS = 200
Relaxed = Callable[[Query, float], Outcome]
"""A search of a query without hulls, within some seconds."""


def within(
    query: Query,
    deployed: Deployed,
    epsilon: Fraction,
    seconds: float,
    search: Relaxed,
    best: Candidate | None,
) -> Outcome:
    """The nearest point in the query's only hull, or as far as rounds and time go.

    ``reason`` is ``CLOSED`` where nothing is left to find.
    """
    (hull,) = query.hulls
    deadline = now() + seconds
    found, relaxed = Outcome(best=best), replace(query, hulls=())
    for _ in range(ROUNDS):
        left = deadline - now()
        if left <= 0:
            break
        outcome = search(relaxed, left)
        found.nodes += outcome.nodes
        found.provers = tuple(dict.fromkeys([*found.provers, *outcome.proved_by]))
        if outcome.infeasible:
            if found.best is None:
                found.infeasible, found.reason = True, CLOSED
            break  # with a point of the hull at hand, this is a contradiction, and shows nothing
        found.lower = max(found.lower, outcome.lower)
        if outcome.best is None:
            break
        point, top = outcome.best.point, found.best
        candidate = verify(query, point, deployed)
        if candidate is not None and (top is None or candidate.distance < top.distance):
            found.best = top = candidate
        if top and query.distance.is_enough(found.lower, top.distance, epsilon):
            found.reason = CLOSED
        if found.reason or candidate is not None or admits(query, slack_of(query, point)):
            break  # a point of the hull that the deployed model rejects is not cut off by faces
        z = np.array([float(one) for one in hull.vector(query.space, point)])
        face = _constraint(query, nearest(hull, z).face)
        pairs = (*relaxed.constraints, Constraint(f"a face of {hull.text}", face))
        relaxed = replace(relaxed, constraints=pairs)
    return found


def _constraint(query: Query, face: Face) -> Program:
    """Features → ``holds``: within a face, scaled to a largest entry of 1."""
    (hull,) = query.hulls
    size = float(np.abs(face.normal).max()) or 1.0
    normal = face.normal / size
    most = Fraction(face.support / size) + hull.reach * Fraction(face.dual / size)
    pairs = zip(normal.tolist(), hull.coordinates, strict=True)
    used = [(Fraction(factor), each) for factor, each in pairs if factor]
    builder = Combining("face", query.space, [each for _, each in used])
    total = builder.combined(factor for factor, _ in used)
    return builder.build(holds=builder.let(ops.Le(total, Literal(most))))
