"""Nearest counterfactuals by a sequence of satisfiability queries (Algorithm 1, improved).

The interval [δ_min, δ_max] always holds the optimum: δ_min because the formula within it was
refuted, δ_max because it is the true distance of a verified point.  Instead of halving blindly,

* δ_max starts at the best point of a local search and falls to the distance of every point found;
* the first question is the last one, δ = (1 - 0.9 ε) δ_max: one refutation there ends the search;
  after two points in a row, or a call out of time, it halves;
* each call encodes its own radius anew, so a smaller ball is a smaller formula;
* under l0 with equal weights, distances are multiples of 1/J, and δ moves on that grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain

import numpy as np

from ...compiler.pipeline import debug
from ...errors import SolverError
from ...question.query import Query
from ...stopping import LIMIT, now
from ..base import Call, Deployed, Limits, Outcome, Point, Search, searched, verify
from ..baselines import LocalSearch
from ..baselines.local_search import known_candidate, tidied
from ..encoding.formula import Encoder, Encoding
from ..rounding import margins_of
from .backends import Backend

CLOSE = Fraction(9, 10)  # share of ε below δ_max at which optimality is asked for
EXCLUSIONS = 16  # points that only the formula admits, excluded one by one in a query
BITS = 16  # of coefficients in the first, weakened formula


def search(query: Query, deployed: Deployed, limits: Limits, solver: Backend) -> Outcome:
    """Find the nearest counterfactual to within a share of ``epsilon``, or as far as the time goes.

    Ctrl-C ends the search with what it has.
    """
    return searched(lambda: _Search(query, deployed, limits, solver), limits)


class _Search(Search):
    def __init__(self, query: Query, deployed: Deployed, limits: Limits, solver: Backend) -> None:
        super().__init__(query, deployed, limits)
        self.solver, self.encoder = solver, Encoder(query)
        self.local = LocalSearch(query, self.rng)
        self.ideal: Fraction | None = None  # distance of a point only the exact program accepts

    def run(self, seeds: Sequence[Point]) -> None:
        """Points to start from, then queries until both bounds meet."""
        self.report(self.outcome.lower, None, 0)
        self._seed(seeds)
        if self.outcome.best is None:
            self.outcome.best = known_candidate(self.local, self.deployed, self.known())
        if self.outcome.best is not None or self._first_point():
            self._close()
            if self.ideal is not None:
                self._settle()
            self.outcome.best = tidied(self.local, self.outcome.best, self.deployed)

    # -- upper bounds -----------------------------------------------------------------------------

    def _seed(self, seeds: Sequence[Point]) -> None:
        """The nearest verified point of a local search; of clearer wins if no other verifies."""
        plain = self.query.target_program
        for margin in chain([Fraction(0)], margins_of(self.query)):
            if margin and self.query.target_with_margin(margin) == plain:
                return  # no score is known to decide
            local = LocalSearch(self.query, self.rng, margin) if margin else self.local
            points = local.candidates(seeds)
            if any(self._accept(point) for point in points):
                return
            if not points or now() >= self.deadline:
                return

    def _accept(self, point: Point) -> bool:
        """Verify a point; keep it if it is nearer than the best so far."""
        candidate = verify(self.query, point, self.deployed)
        if candidate is None:
            return False
        best = self.outcome.best
        if best is None or candidate.distance < best.distance:
            self.outcome.best = candidate
        return True

    def _first_point(self) -> bool:
        """Any counterfactual at all: δ = 1, or no limit if the distance may exceed 1.

        Returns whether there is one; a refutation makes the outcome infeasible.
        """
        status = self._ask(self._widest())
        if status == "unsat":
            self.outcome.infeasible = True
        elif status == "unknown":
            self.outcome.reason = self.outcome.reason or "no counterfactual found in time"
        return self.outcome.best is not None

    def _widest(self) -> Fraction | None:
        return Fraction(1) if self.query.distance.norms is not None else None

    # -- closing the gap --------------------------------------------------------------------------

    @property
    def upper(self) -> Fraction:
        assert self.outcome.best is not None
        upper = self.outcome.best.distance
        return upper if self.ideal is None else min(upper, self.ideal)

    def _close(self) -> None:
        hits, ceiling = 0, None
        while self._is_open(self.upper):
            if now() >= self.deadline:
                self.outcome.reason = LIMIT
                return
            delta = self._next(hits, ceiling)
            status = self._ask(delta)
            if status == "unsat":
                self.outcome.lower = max(self.outcome.lower, self._proved(delta))
                hits, ceiling = 0, None
            elif status == "sat":
                hits, ceiling = hits + 1, None
            else:
                if ceiling is not None and not self._is_open(delta):
                    return
                ceiling = delta  # too hard in this time: raise the lower bound nearer by first

    def _is_open(self, upper: Fraction) -> bool:
        """Whether an upper bound is farther than a share of ε from the lower one."""
        return not self.query.distance.is_enough(self.outcome.lower, upper, self.epsilon)

    def _next(self, hits: int, ceiling: Fraction | None) -> Fraction:
        lower = self.outcome.lower
        if ceiling is not None:
            return (lower + ceiling) / 2
        grid = self.query.spacing
        if grid is not None:
            below = self.upper - grid
            if hits < 2:
                return below
            steps = (self.upper - lower) / grid
            return lower + max(1, int(steps) // 2) * grid if steps > 1 else below
        if hits >= 2:
            return (lower + self.upper) / 2
        goal = self.query.distance.below(self.upper, CLOSE * self.epsilon)
        return max(goal, (lower + self.upper) / 2)

    def _proved(self, delta: Fraction) -> Fraction:
        """What a refutation at ``delta`` proves: on a grid, the next possible distance."""
        grid = self.query.spacing
        return delta if grid is None else (delta // grid + 1) * grid

    # -- one query --------------------------------------------------------------------------------

    def _ask(self, delta: Fraction | None) -> str:
        """Ask at one radius: a refutation, a verified point, or neither in time."""
        status, encoding, point = self._call(delta, Fraction(0), bits=BITS)
        if status != "sat":
            return status
        if self._use(point):
            return "sat"
        if encoding.coarse:  # the shortened coefficients may have let the point through
            status, encoding, point = self._call(delta, Fraction(0))
            if status != "sat":
                return status
            if self._use(point):
                return "sat"
        while self._is_too_far(delta, encoding, point):
            status, encoding, point = self._call(delta, Fraction(0))
            if status != "sat":
                return status
            if self._use(point):
                return "sat"
        for _ in range(EXCLUSIONS):
            if not self._is_spurious(point):
                break
            self.encoder = self.encoder.without(point)
            status, encoding, point = self._call(delta, Fraction(0))
            if status != "sat":
                return status
            if self._use(point):
                return "sat"
        return self._ask_with_margin(delta, point)

    def _is_too_far(self, delta: Fraction | None, encoding: Encoding, point: Point) -> bool:
        """Whether tangents let a point through that lies beyond the radius, and get new ones."""
        if delta is None or encoding.cells is not None or not self.query.distance.has_squares:
            return False
        beyond = self.query.distance_to(point) > delta
        return beyond and self.encoder.tangents.touch(self.query, point)

    def _is_spurious(self, point: Point) -> bool:
        """Whether only the formula admits a point of a finite grid.

        Formulae leave slack around steps and roundings and enclose smooth functions; the exact
        program rejects the point, so a search that excludes it misses nothing.
        """
        finite = all(domain.is_symbolic or domain.step for domain in self.query.domains)
        return finite and verify(self.query, point, lambda _: True) is None

    def _ask_with_margin(self, delta: Fraction | None, point: Point) -> str:
        """The formula admits a point that is no counterfactual: ask for a clearer one.

        Rounding, enclosures and razor-thin decisions let such points through.  The margin starts
        beyond what the point falls short by; a refutation with a margin proves nothing.
        """
        shortfall = -float(self.local.scores(self.local.row(point)[None])[0])
        for margin in margins_of(self.query):
            if margin < shortfall:
                continue
            status, _, found = self._call(delta, margin)
            if status == "unknown":
                return status
            if status == "unsat":
                break
            if self._use(found):
                return "sat"
        # nothing usable at this radius: the deployed model has no such point, the exact program may
        if delta is not None:
            self.ideal = delta if self.ideal is None else min(delta, self.ideal)
        within = "" if delta is None else f" within {self.query.distance.shown(delta)}"
        self.outcome.reason = (
            f"the exact program has a counterfactual{within}, the deployed model has none there"
        )
        return "sat"

    def _settle(self) -> None:
        """The nearest point that the deployed model accepts, where it refuses nearer ones."""
        for margin in margins_of(self.query):
            used = True
            while used:
                assert self.outcome.best is not None
                goal = self.outcome.best.distance
                delta = self.query.distance.below(goal, CLOSE * self.epsilon)
                status, _, found = self._call(delta, margin)
                if status != "sat":
                    return  # what wins by more is farther
                used = self._use(found)

    def _use(self, point: Point) -> bool:
        """Whether a model's point, or one found around it, is a verified improvement."""
        before = self.outcome.best.distance if self.outcome.best else None
        for candidate in self._around(point):
            if self._accept(candidate):
                break
        best = self.outcome.best
        return best is not None and (before is None or best.distance < before)

    def _around(self, point: Point) -> list[Point]:
        """The point, points slightly farther along its direction, and what shrinking makes."""
        search, found = self.local, [point]
        row = search.row(point)
        for power in (1e-12, 1e-9, 1e-7, 1e-5):
            moved = row.copy()
            for j, domain in enumerate(self.query.domains):
                if not domain.is_symbolic and row[j] != search.start[j]:
                    away = row[j] + (row[j] - search.start[j]) * power
                    landed = (domain.ceil if row[j] > search.start[j] else domain.floor)(
                        Fraction(float(np.clip(away, float(domain.lower), float(domain.upper))))
                    )
                    moved[j] = row[j] if landed is None else float(landed)
            found.append(search.point(moved))
        hits = search.hits(np.array([search.row(p) for p in found]))
        if hits.any():
            base = search.row(found[int(hits.argmax())])
            found.insert(0, search.point(search.shrink(base)))
        return found

    def _call(
        self, delta: Fraction | None, margin: Fraction, bits: int | None = None
    ) -> tuple[str, Encoding, Point]:
        started = now()
        encoding = self.encoder.encode(delta, margin, bits)
        remaining = self.deadline - now()
        by, point = "bounds", {}
        if encoding.is_refuted:
            status = "unsat"
        elif remaining <= 0:
            status, self.outcome.reason = "unknown", LIMIT
        else:
            by = self.solver.name
            share = remaining if self.outcome.best is None else max(remaining / 4, 1.0)
            answer = self.solver.check(encoding.pool, encoding.assertions, min(share, remaining))
            status, by = answer.status, answer.by or by
            if status == "sat":
                point = encoding.lift(answer.model)
            elif status == "unknown":
                self.outcome.reason = _plain(answer.reason, by)
            elif status != "unsat":
                raise SolverError(f"{self.solver.name} answered '{status}'")
        seconds = now() - started
        radius = float("inf") if delta is None else float(self.query.distance.root(delta, 1))
        self.outcome.calls.append(Call(radius, status, seconds, by, float(margin)))
        best = self.outcome.best
        self.report(
            self.outcome.lower, None if best is None else best.distance, len(self.outcome.calls)
        )
        debug(2, lambda: f"δ = {radius:.6g}: {status} by {by} in {seconds:.3f} s")
        return status, encoding, point


def _plain(reason: str, by: str) -> str:
    """Why a solver does not know, without its own words for running out of time."""
    if any(word in reason.lower() for word in ("cancel", "time", "interrupt")):
        return LIMIT
    return f"{by} gave up: {reason or 'no reason given'}"


__all__ = ["search"]
