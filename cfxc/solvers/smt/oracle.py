"""Nearest counterfactuals by a sequence of calls of a satisfiability solver.

After Algorithm 1 of Karimi, Barthe, Balle and Valera, *Model-agnostic counterfactual explanations
for consequential decisions* (AISTATS 2020), which halves an interval of radii.  A *call* asks for
one radius δ whether "in the target, admissible, at distance at most δ" has a solution.  Radii and
distances are those of :class:`Query`: shares of the features' ranges; squared under l2.

The optimum always lies in [lower, distance of the best point]: lower, because the formula within it
was refuted; the other, because that point was verified by exact arithmetic and the deployed model.
Instead of halving,

* the search starts at the best point of a local search, and at every point that a call gives;
* it first calls at (1 - 0.9 ε) times the best distance: one refutation there ends the search; after
  two improvements in a row it halves, and after a call that ran out of time it halves below that;
* each call encodes its own radius anew, so that a smaller ball is a smaller formula;
* under l0 with equal weights, distances are multiples of 1/J, and so are the radii.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from fractions import Fraction

from ...environment import debug
from ...errors import SolverError
from ...question.query import Query
from ...stopping import LIMIT, now
from ..base import Call, Deployed, Limits, Outcome, Point, searched, unverified, verify
from ..encoding.formula import Encoder, Encoding
from ..incumbent import PointSearch
from ..rounding import margins_of
from .backends import Backend

FIRST_GAP = Fraction(9, 10)  # of ε: how far below the best distance the first call is made
EXCLUSIONS = 16  # points that only the formula admits, excluded one by one at a radius
BITS = 16  # of coefficients in the first, weakened formula


class Verdict(Enum):
    """What is known of a radius after the calls that it took."""

    REFUTED = "no point in the target lies within it"
    IMPROVED = "a verified point was found, nearer than the best before"
    UNVERIFIED = "the formula has solutions, and none that the deployed model accepts was found"
    UNKNOWN = "the solver did not know in time"


def search(query: Query, deployed: Deployed, limits: Limits, solver: Backend) -> Outcome:
    """Find the nearest counterfactual to within a share of ``epsilon``, or as far as the time goes.

    ``deployed`` runs the original model on a point; ``limits`` has ε, the seconds and points to
    start from.  The outcome holds the best verified point, the lower bound and all calls; Ctrl-C
    and the end of the time leave in it what is known by then.
    """
    return searched(lambda: _Search(query, deployed, limits, solver), limits)


class _Search(PointSearch):
    """One search: ``run`` is called once, by :func:`searched`, and leaves all in ``outcome``.

    Attributes:
        unverified: The least radius with the verdict UNVERIFIED.
    """

    def __init__(self, query: Query, deployed: Deployed, limits: Limits, solver: Backend) -> None:
        super().__init__(query, deployed, limits)
        self.solver, self.encoder = solver, Encoder(query)
        self.unverified: Fraction | None = None

    def run(self, seeds: Sequence[Point]) -> None:
        """Points to start from, then calls until the bounds meet."""
        self.report(self.outcome.lower, None, 0)
        self.start(seeds)
        if self.outcome.best is not None or self._find_any():
            self._close_gap()
            if self.unverified is not None:
                self._find_clearer()

    def _find_any(self) -> bool:
        """Whether there is a verified point at any distance; a refutation makes it infeasible."""
        farthest = Fraction(1) if self.query.distance.norms is not None else None
        verdict = self._decide(farthest)
        if verdict is Verdict.REFUTED:
            self.outcome.infeasible = True
        elif verdict is Verdict.UNKNOWN:
            self.outcome.reason = self.outcome.reason or "no counterfactual found in time"
        return self.outcome.best is not None

    # -- radii ------------------------------------------------------------------------------------

    @property
    def upper(self) -> Fraction:
        """The least radius at which the formula is known to have a solution."""
        assert self.outcome.best is not None
        best = self.outcome.best.distance
        return best if self.unverified is None else min(best, self.unverified)

    def _close_gap(self) -> None:
        """Decide one radius after the other, until nothing lies between the bounds."""
        improvements, too_hard = 0, None
        while self._is_open(self.upper):
            if now() >= self.deadline:
                self.outcome.reason = LIMIT
                return
            radius = self._next_radius(improvements, too_hard)
            verdict = self._decide(radius)
            if verdict is Verdict.UNKNOWN:
                if too_hard is not None and not self._is_open(radius):
                    return
                too_hard = radius  # until something nearer is decided
            elif verdict is Verdict.REFUTED:
                self.outcome.lower = max(self.outcome.lower, self._proved(radius))
                improvements, too_hard = 0, None
            else:
                improvements, too_hard = improvements + 1, None

    def _is_open(self, upper: Fraction) -> bool:
        """Whether an upper bound is farther than a share of ε from the lower one."""
        return not self.query.distance.is_enough(self.outcome.lower, upper, self.epsilon)

    def _next_radius(self, improvements: int, too_hard: Fraction | None) -> Fraction:
        """Where to call next, after so many improvements in a row; below what was too hard."""
        lower, grid = self.outcome.lower, self.query.spacing
        if too_hard is not None:
            between = too_hard - lower
            return lower + (between / 2 if grid is None else int(between / grid) // 2 * grid)
        if grid is not None:
            below = self.upper - grid
            if improvements < 2:
                return below
            steps = (self.upper - lower) / grid
            return lower + max(1, int(steps) // 2) * grid if steps > 1 else below
        if improvements >= 2:
            return (lower + self.upper) / 2
        goal = self.query.distance.below(self.upper, FIRST_GAP * self.epsilon)
        return max(goal, (lower + self.upper) / 2)

    def _proved(self, radius: Fraction) -> Fraction:
        """The lower bound that a refutation proves: on a grid, the next possible distance."""
        grid = self.query.spacing
        return radius if grid is None else (radius // grid + 1) * grid

    # -- one radius -------------------------------------------------------------------------------

    def _decide(self, radius: Fraction | None) -> Verdict:
        """Call until the radius (``None``: any distance) is decided, or nothing more helps.

        A solution that is no counterfactual makes the formula sharper, and the solver is called
        again: exact coefficients, tangents where the point is, the point itself excluded.
        """
        exclusions = EXCLUSIONS
        status, encoding, point = self._call(radius, bits=BITS)
        while status == "sat":
            if self.improves(point):
                return Verdict.IMPROVED
            if not encoding.coarse and not self._add_tangents(radius, encoding, point):
                if not exclusions or not self._is_spurious(point):
                    return self._decide_with_margin(radius, point)
                self.encoder, exclusions = self.encoder.without(point), exclusions - 1
            status, encoding, point = self._call(radius)
        return Verdict.REFUTED if status == "unsat" else Verdict.UNKNOWN

    def _add_tangents(self, radius: Fraction | None, encoding: Encoding, point: Point) -> bool:
        """Cut off a point beyond the radius that tangents of squares let through.

        Returns whether new tangents were added.
        """
        exact = encoding.cells is not None or not self.query.distance.has_squares
        if radius is None or exact or self.query.distance_to(point) <= radius:
            return False
        return self.encoder.tangents.touch(self.query, point)

    def _is_spurious(self, point: Point) -> bool:
        """Whether only the formula admits a point of a finite grid.

        Formulae leave slack around steps and roundings and enclose smooth functions; the exact
        program rejects the point, so a search that excludes it misses nothing.
        """
        return self.query.is_finite and verify(self.query, point, lambda _: True) is None

    def _decide_with_margin(self, radius: Fraction | None, point: Point) -> Verdict:
        """Look for a point that wins by more than this solution, which is no counterfactual.

        Rounding, enclosures and razor-thin decisions let such solutions through.  A refutation with
        a margin proves nothing, so the verdict is never REFUTED.
        """
        shortfall = -float(self.local.scores(self.local.row(point)[None])[0])
        for margin in margins_of(self.query):
            if margin < shortfall:
                continue
            status, _, clearer = self._call(radius, margin)
            if status == "unknown":
                return Verdict.UNKNOWN
            if status == "unsat":
                break
            if self.improves(clearer):
                return Verdict.IMPROVED
        if radius is not None:
            self.unverified = radius if self.unverified is None else min(radius, self.unverified)
        self.outcome.reason = unverified(self.query.distance, radius)
        return Verdict.UNVERIFIED

    def _find_clearer(self) -> None:
        """Go on below the best point with margins, where bare wins did not verify."""
        for margin in margins_of(self.query):
            improved = True
            while improved:
                assert self.outcome.best is not None
                best = self.outcome.best.distance
                radius = self.query.distance.below(best, FIRST_GAP * self.epsilon)
                status, _, clearer = self._call(radius, margin)
                if status != "sat":
                    return  # what wins by more is farther
                improved = self.improves(clearer)

    def _call(
        self, radius: Fraction | None, margin: Fraction = Fraction(0), bits: int | None = None
    ) -> tuple[str, Encoding, Point]:
        """One call: ``sat`` with a solution, ``unsat``, or ``unknown``; it goes into the outcome.

        A solution wins the deciding score by more than ``margin``; ``bits`` allows a weaker formula
        with shorter coefficients.
        """
        started = now()
        encoding = self.encoder.encode(radius, margin, bits)
        remaining = self.deadline - now()
        by, point = "bounds", {}
        if encoding.is_refuted:
            status = "unsat"
        elif remaining <= 0:
            status, self.outcome.reason = "unknown", LIMIT
        else:
            by = self.solver.name
            seconds = remaining if self.outcome.best is None else max(remaining / 4, 1.0)
            answer = self.solver.check(encoding.pool, encoding.assertions, min(seconds, remaining))
            status, by = answer.status, answer.by or by
            if status == "sat":
                point = encoding.lift(answer.model)
            elif status == "unknown":
                self.outcome.reason = _stop_reason(answer.reason, by)
            elif status != "unsat":
                raise SolverError(f"{self.solver.name} answered '{status}'")
        self._record(radius, status, now() - started, by, margin)
        return status, encoding, point

    def _record(
        self, radius: Fraction | None, status: str, seconds: float, by: str, margin: Fraction
    ) -> None:
        """Keep a call in the outcome, and report where the search stands."""
        delta = float("inf") if radius is None else float(self.query.distance.root(radius, 1))
        self.outcome.calls.append(Call(delta, status, seconds, by, float(margin)))
        best = self.outcome.best
        self.report(
            self.outcome.lower, None if best is None else best.distance, len(self.outcome.calls)
        )
        debug(2, lambda: f"δ = {delta:.6g}: {status} by {by} in {seconds:.3f} s")


def _stop_reason(reason: str, by: str) -> str:
    """Why a solver does not know, without its own words for running out of time."""
    if any(word in reason.lower() for word in ("cancel", "time", "interrupt")):
        return LIMIT
    return f"{by} gave up: {reason or 'no reason given'}"
