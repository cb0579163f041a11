"""Mixed-integer optimisation of a query: one search, or one in each hull of a trust region."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from ...errors import UnsupportedError
from ...question.query import Query
from ...stopping import INTERRUPTED, now, until
from ..base import Candidate, Deployed, Limits, Outcome, Point, Search, searched, verify
from .backends import Backend, backend
from .cutting_planes import first_row
from .descent import Descent
from .refusals import refuses
from .search import MakeBranching, ProgramSearch


def search(
    query: Query, deployed: Deployed, limits: Limits, *, solver: str = "highs",
    regions: bool = True, best: Candidate | None = None, branching: MakeBranching | None = None,
) -> Outcome:  # fmt: skip
    """Find the nearest counterfactual to within a share of ``epsilon``, or as far as the time goes.

    ``solver`` is ``highs``, ``scip`` or ``gurobi``; ``regions`` allows the search by regions where
    it applies; from a ``best`` that is verified a search begins that is not within hulls, else from
    a local search.  A ``pool`` keeps what is met on the way, and has the solver begin far away, so
    that it meets more.  Within hulls, ``branching`` knows the target, so that programs do without.
    Ctrl-C ends the search with what it has.

    Raises:
        UnsupportedError: the query has no mixed-integer program (see :func:`refuses`).
        MissingExtraError: the solver is not installed.
    """
    chosen = backend(solver)
    reason = refuses(query)
    if reason:
        raise UnsupportedError(
            f"no mixed-integer program: {reason}", remedy="ask with method='smt'"
        )
    given = query, deployed, limits, chosen

    def make() -> Search:
        if query.hulls:
            return _InHulls(*given, branching)
        return ProgramSearch(*given, Outcome(best=best), regions=regions)

    return searched(make, limits)


class _InHulls(Search):
    """One hull after the other, the one with the nearest row first."""

    def __init__(
        self, query: Query, deployed: Deployed, limits: Limits, solver: Backend,
        branching: MakeBranching | None,
    ) -> None:  # fmt: skip
        super().__init__(query, deployed, limits)
        self.solver, self.branching = solver, branching

    def run(self, seeds: Sequence[Point]) -> None:
        """The nearest of all hulls."""
        query, total = self.query, self.outcome
        parts = [replace(query, hulls=(hull,)) for hull in query.hulls]
        early = min(self.deadline, now() + (self.deadline - now()) / 4)
        rows = [(first_row(part, self.deployed, early), part) for part in parts]
        rows.sort(key=lambda pair: pair[0].distance if pair[0] else math.inf)
        given = [verify(query, seed, self.deployed) for seed in seeds]
        known = [one for one in [*given, rows[0][0]] if one is not None]
        total.best = min(known, key=lambda one: one.distance, default=None)
        lowers, reasons, infeasible = [], [], True
        for number, (_, part) in enumerate(rows):
            left = (self.deadline - now()) / (len(rows) - number)
            outcome, limits = Outcome(best=total.best), replace(self.limits, seconds=left)
            found = ProgramSearch(
                part, self.deployed, limits, self.solver, outcome, branching=self.branching
            )
            found.begin = None if query.effects else partial(Descent, part, self.rng, seeds)
            found.report = self.report
            with until(found.deadline):
                found.run(())
            total.pool += outcome.pool
            total.best = outcome.best
            total.nodes += outcome.nodes
            infeasible &= outcome.infeasible
            total.provers = tuple(dict.fromkeys([*total.provers, *outcome.provers]))
            if not outcome.infeasible:
                lowers.append(outcome.lower)
            reasons.append(outcome.reason)
            if outcome.reason == INTERRUPTED:
                lowers += [Fraction(0)] * (number + 1 < len(rows))  # of those not begun
                break
        total.infeasible = infeasible and total.best is None
        total.lower = min(lowers, default=Fraction(0))
        total.reason = next((reason for reason in reasons if reason), "")
