"""Mixed-integer optimisation of a query: one search, or one in each hull of a trust region."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from ...errors import UnsupportedError
from ...question.distances import resolve_distance
from ...question.query import Query
from ...stopping import INTERRUPTED, LIMIT, STOPS, now, reason_of, until
from ..base import Candidate, Deployed, Limits, Outcome, Point, Search, searched, verify
from .backends import Backend, backend
from .cutting_planes import first_row
from .descent import Descent
from .refusals import refuses
from .search import MakeBranching, ProgramSearch

BRIEF = 0.5  # seconds in which easy questions of l0 end
SHARE = 0.8  # of the time left, for fewer changes under l1
SPARSER, SMALL = 5, 0.02  # searches under l1; a change that is hardly one
FINE = 1000  # of a weight's denominator


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
            end = now() + (self.deadline - now()) / (len(rows) - number)
            outcome, norms = Outcome(best=total.best), query.distance.norms
            few = norms is not None and norms.l0 == 1 and part.hulls[0].epsilon == 0
            few &= not self.limits.pool
            self._search(part, min(end, now() + BRIEF) if few else end, outcome, seeds)
            if few and outcome.reason == LIMIT and now() < end:
                self._sparser(part, now() + SHARE * (end - now()), outcome)
                if outcome.reason != INTERRUPTED and now() < end:
                    outcome.reason = ""
                    self._search(part, end, outcome, seeds)
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

    def _search(self, part: Query, end: float, outcome: Outcome, seeds: Sequence[Point]) -> None:
        """Search one hull until then, from what is known of it."""
        with _kept(outcome, end):
            found = self._program(part, end, outcome)
            found.begin = None if part.effects else partial(Descent, part, self.rng, seeds)
            found.report = self.report
            found.run(())

    def _program(self, part: Query, end: float, outcome: Outcome) -> ProgramSearch:
        """A search until then that goes on from ``outcome``, and tells nobody where it stands."""
        limits = replace(self.limits, seconds=max(end - now(), 0.0), watch=None)
        return ProgramSearch(
            part, self.deployed, limits, self.solver, outcome, branching=self.branching
        )

    def _sparser(self, part: Query, end: float, outcome: Outcome) -> None:
        """Look for fewer changes under l1, whose programs say more, where descents have no room.

        Each search weighs a feature by 1 / (δ + SMALL), with δ its change in the one before
        (Candès, Wakin & Boyd 2008).
        """
        weights, distance = np.ones(len(part.domains)), resolve_distance("l1", part.space)
        with _kept(outcome, end):
            for _ in range(SPARSER):
                shares = [Fraction(weight).limit_denominator(FINE) for weight in weights.tolist()]
                domains = tuple(
                    replace(each, feature=replace(each.feature, weight=each.feature.weight * share))
                    for each, share in zip(part.domains, shares, strict=True)
                )
                asked = replace(part, distance=distance, domains=domains)
                start = None if outcome.best is None else _asked_by(asked, part, outcome.best)
                found = self._program(asked, now() + (end - now()) / 2, Outcome(best=start))
                with until(found.deadline):
                    found.run(())
                outcome.nodes += found.outcome.nodes
                if found.outcome.best is None:
                    return
                met = _asked_by(part, asked, found.outcome.best)
                if outcome.best is None or met.distance < outcome.best.distance:
                    outcome.best = met
                    if met.distance < part.distance.below(outcome.lower, self.epsilon):
                        outcome.lower, outcome.provers = Fraction(0), ()  # the solver erred
                if found.outcome.reason == INTERRUPTED:
                    outcome.reason = INTERRUPTED
                    return
                moved = [float(each.delta(met.point[each.name])) for each in part.domains]
                weights = SMALL / (np.array(moved) + SMALL)


def _asked_by(query: Query, other: Query, found: Candidate) -> Candidate:
    """A candidate of a query that differs from another one in its distance alone."""
    slack = found.distance - other.distance_to(found.point)
    return Candidate(found.point, query.distance_to(found.point) + slack)


@contextmanager
def _kept(outcome: Outcome, end: float) -> Iterator[None]:
    """Work until then (of ``now``); what ends it early is the outcome's reason."""
    try:
        with until(end):
            yield
    except STOPS as stop:
        outcome.reason = reason_of(stop)
