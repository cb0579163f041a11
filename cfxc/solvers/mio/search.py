"""Nearest counterfactuals by mixed-integer optimisation.

A local search gives the incumbent.  The program asks for all that is nearer than (1 - 0.9 ε) of it,
so that its ball is small and most phases are known; one proof that it is empty ends the search.
A search by regions of the features comes first (``regions``); what it leaves open is the solver's;
smooth functions are left to it alone.
What holds of an answer:

* **Upper bound**: points count once exact arithmetic and the original model verified them.  Where
  strictness or rounding put a solution on the wrong side, points around it are tried; then it is
  excluded, on a finite grid, or a clearer win is asked for.
* **Lower bound**, by ``bounds`` and ``regions``: sound under outward rounding.  By a solver: its
  program in doubles is a relaxation of the exact one, its rows wider than the feasibility tolerance
  (``ROW_SLACK``); from the dual bound, ``Rounded.allowance`` is taken off for the dual tolerance
  and the rounding of costs.  Beyond that it is the solver's word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from ...arrays import Floats
from ...compiler.mixed_integer import rounded
from ...environment import debug
from ...ir import ops
from ...question.query import Query
from ...stopping import INTERRUPTED, LIMIT, STOPS, now, reason_of
from ..base import Candidate, Deployed, Limits, Outcome, Point, Refuted, unverified, verify
from ..encoding.ball import everywhere
from ..incumbent import PointSearch
from ..rounding import margins_of
from .backends import Answer, Backend, solve_constants
from .branching import Branching
from .cutting_planes import enclose, is_cut_off, separate, sharpen, simplified
from .descent import Descent
from .formulation import Formulation, Formulator
from .refusals import goes_by_regions
from .regions import Ending, Regions, applies

FIRST_GAP = Fraction(9, 10)  # of ε: how far below the incumbent nothing may be left
SHARE = Fraction(1, 4)  # of ε: the gap that the solver may leave
EXCLUSIONS = 64  # solutions that only tolerances and closed borders admit
FIRST = 0.5  # seconds of the first solve; its bounds are tightened if that is not enough
PRICING = 4.0  # times as long: branching over the rows of a hull, before a solver does
PATIENCE = 1.0  # seconds of the first search by regions; half of it where numbers are continuous
GLIMPSE = 0.3  # seconds of a search by regions where all is linear, which solvers do well
ATTEMPTS = 9  # searches by regions that may run out of time
LOST = 4  # solves in which the solver may give up
GROWTH = 2.0  # of the time for a search or a solve, each time that one runs out of it
NARROW = "boxes are left that are too many or too narrow to be split"
NEAR = Fraction(1, 8)  # of the gap: so near to what was too hard, try that again


MakeBranching = Callable[..., Branching]


class ProgramSearch(PointSearch):
    """A question as a program for ``solver``; ``regions``: by regions too, where they apply.

    ``branching`` knows the target, and programs do without as long as it comes on.
    """

    def __init__(
        self,
        query: Query,
        deployed: Deployed,
        limits: Limits,
        solver: Backend,
        outcome: Outcome | None = None,
        *,
        regions: bool = True,
        branching: MakeBranching | None = None,
    ) -> None:
        super().__init__(query, deployed, limits, outcome)
        self.solver, self.branching = solver, branching
        self.formulator = Formulator(query, targets=branching is None)
        self.begin: Callable[[], Descent] | None = None  # makes one when it is needed
        self.descent: Descent | None = None
        self.share, self.excluded = FIRST, 0
        self.regions = regions and goes_by_regions(query)
        self.glimpse = True  # whether regions may search what is linear
        self.patience, self.failures, self.lost = PATIENCE, 0, 0
        self.simple: Candidate | None = None  # the point that was simplified last
        self.ideal: Fraction | None = None  # distance of a point only the exact program accepts
        self.ceiling: Fraction | None = None  # a radius that was too hard in the time given

    def run(self, seeds: Sequence[Point]) -> None:
        """The search, which leaves what it knows in its outcome if it is broken off."""
        try:
            self._run(seeds)
        except STOPS as stop:
            self.outcome.reason = reason_of(stop)
        if self.query.distance.norms is not None and not self.query.hulls:
            if self.outcome.infeasible:
                self.outcome.proof = Refuted(self.query, everywhere(self.query))
            elif self.outcome.lower:
                self.outcome.proof = Refuted(self.query, self.outcome.lower)

    def _run(self, seeds: Sequence[Point]) -> None:
        self.start(seeds)
        if self.limits.pool:
            self._fill()
        trees = any(isinstance(let.op, ops.TreeEnsemble) for let in self.query.program.lets())
        if trees and self.branching is None:
            self._descend(now() + FIRST)  # programs of trees are slow
        while self._is_open() and self._step():
            pass

    def _fill(self) -> None:
        """One solve without any incumbent, for what it meets on its way."""
        radius = self._largest() if self.query.distance.norms is not None else None
        if self.outcome.best is not None:
            self.outcome.pool.append(self.outcome.best)
        formulation = self.formulator.formulate(radius)
        if formulation.is_refuted:
            return
        formulation, answer = self._solve(self._sharpened(formulation))
        for values in answer.pool:
            self.improves(formulation.lift(values))

    def _is_open(self) -> bool:
        best = self.outcome.best
        if self.outcome.infeasible:
            return False
        measure, lower = self.query.distance, self.outcome.lower
        if best is not None and measure.is_enough(lower, best.distance, self.epsilon):
            return False
        if now() >= self.deadline:
            self.outcome.reason = LIMIT
            return False
        return True

    def _step(self) -> bool:
        """One search of a ball; whether another one makes sense."""
        best = self.outcome.best
        self.report(self.outcome.lower, None if best is None else best.distance, self.outcome.nodes)
        radius = self._radius()
        formulation = self.formulator.formulate(radius)
        if formulation.is_refuted:
            self._empty(radius, "bounds")
            return self.outcome.best is not None
        if self.branching is not None and radius is not None:
            if self._branch(formulation, radius):
                return self.ideal is None
            if now() < self.deadline:  # what it left open, the whole program may close
                self.branching, self.formulator = None, Formulator(self.query)
            return True
        if formulation.is_curved:
            return self._explore_alone(formulation, radius)
        before = self.outcome.lower
        if self._goes_by_regions(formulation):
            if self._explore(formulation, radius):
                return self.ideal is None
            if radius is not None and self.outcome.lower - before >= NEAR * (radius - before):
                self.ceiling = radius  # it comes on by itself
                return True
        if self.query.hulls and radius is not None and self._branch(formulation, radius):
            return True
        return self._is_open() and self._solve_once(formulation, radius)

    def _solve_once(self, formulation: Formulation, radius: Fraction | None) -> bool:
        """One solve by the solver; whether another step makes sense."""
        formulation, answer = self._solve(self._sharpened(formulation))
        if answer.status == "infeasible":
            self._empty(radius, self.solver.name)
            return self.outcome.best is not None
        if math.isfinite(answer.bound):
            bound = Fraction(answer.bound)
            self._raise(bound if radius is None else min(radius, bound), self.solver.name)
        if answer.status == "interrupted":
            self.outcome.reason = INTERRUPTED
            return False
        known = self.formulator.tangents.count
        used = answer.values is not None and self._use_solution(formulation, answer.values)
        if answer.status == "lost":
            self.lost += 1
            self.outcome.reason = f"{self.solver.name} lost its way in rounding"
            self.ceiling = None if used else radius
            return self.lost < LOST
        if answer.status == "limit":
            self.share *= GROWTH
            self.ceiling = None if used else radius
            return True
        self.ceiling = None
        if used or answer.values is None:
            return True
        sharper = self.formulator.tangents.count > known
        return self._go_on(radius, formulation, answer.values, sharper)

    def _radius(self) -> Fraction | None:
        """Where to look: nearer than the incumbent by a share of 0.9 ε, or by a step of l0.

        Small balls are refuted much faster than large ones: where that was too hard, half as far
        from the lower bound, and then there again, with more time.
        """
        best, norms = self.outcome.best, self.query.distance.norms
        if best is None:
            return self._largest() if norms is not None else None
        lower, grid = self.outcome.lower, self.query.spacing
        if grid is not None:
            return best.distance - grid
        top = self.query.distance.below(best.distance, FIRST_GAP * self.epsilon)
        if self.ceiling is None or self.ceiling - lower <= NEAR * (top - lower):
            self.ceiling = None
            return top
        return (lower + min(self.ceiling, top)) / 2

    def _largest(self) -> Fraction:
        """A radius with everything in it."""
        return 1 + sum((hull.weight * hull.reach for hull in self.query.hulls), Fraction(0))

    # -- lower bounds -----------------------------------------------------------------------------

    def _empty(self, radius: Fraction | None, prover: str) -> None:
        """Nothing in the target lies within the radius; under l0, nor before the next distance."""
        if self.outcome.best is None:
            self.outcome.infeasible = self.ideal is None
            self._credit(prover)
        elif radius is not None:
            self.ceiling, grid = None, self.query.spacing
            self._raise(radius if grid is None else (radius // grid + 1) * grid, prover)

    def _raise(self, proved: Fraction, prover: str) -> None:
        """Nothing in the target is nearer than ``proved``.

        A point that only the exact program accepts keeps the bound at its own distance.
        """
        if self.ideal is not None:
            proved = min(proved, self.ideal)
        if proved > self.outcome.lower:
            self.outcome.lower = proved
            self._credit(prover)

    def _goes_by_regions(self, formulation: Formulation) -> bool:
        linear = not formulation.emission.relaxation.units
        return self.regions and (self.glimpse or not linear) and applies(formulation)

    def _explore(self, formulation: Formulation, radius: Fraction | None) -> bool:
        """A search by regions; whether it closed the ball or found something nearer."""
        before, started = self.outcome.best, now()
        patience = self.patience if self.query.is_finite else self.patience / 2
        linear = not formulation.emission.relaxation.units
        end = min(self.deadline, started + (GLIMPSE if linear else patience))
        ending = Regions(formulation).run(self._offer, end)
        self.outcome.nodes += ending.boxes
        debug(2, partial(_explored, radius, ending, now() - started))
        if ending.status == "closed":
            self._empty(ending.lower, "regions")
        else:
            self._raise(ending.lower, "regions")
        if ending.status == "closed" or self.outcome.best is not before:
            return True
        if linear:  # in this ball, that is: a network need not be in a larger one
            self.glimpse = False
            return False
        self.patience *= GROWTH
        self.failures += 1
        self.regions = self.failures < ATTEMPTS
        return False

    def _explore_alone(self, formulation: Formulation, radius: Fraction | None) -> bool:
        """A search by regions where no solver can help; whether another one makes sense."""
        end = min(self.deadline, now() + self.patience / 2)
        if applies(formulation) and self._explore(formulation, radius):
            return self.ideal is None
        if now() < end:
            self.outcome.reason = NARROW
        return now() >= end

    def _branch(self, formulation: Formulation, radius: Fraction) -> bool:
        """Branch and price; whether it closed the ball or found something nearer."""
        before, started = self.outcome.best, now()
        end = self.deadline
        if self.branching is None:
            end = min(end, started + PRICING * self.patience)
        descend = None if self.begin is None else self._descend
        make = self.branching or Branching
        branching = make(formulation, self.formulator, radius, self._improve, descend)
        try:
            ending = branching.run(end)
        except STOPS:
            self.outcome.nodes += branching.nodes
            self._raise(min(Fraction(branching.lower), radius), "HiGHS")
            raise
        self.outcome.nodes += ending.boxes
        debug(2, partial(_explored, radius, ending, now() - started))
        if ending.status == "closed":
            self._empty(ending.lower, "HiGHS")
        else:
            self._raise(ending.lower, "HiGHS")
            self.patience *= GROWTH
            self._simplify()
        return ending.status == "closed" or self.outcome.best is not before

    def _descend(self, until: float) -> Fraction | None:
        """Look for points of few changes; the radius that is left if there are some."""
        if self.begin is None:
            return None
        descent, before = self.descent or self.begin(), self.outcome.best
        self.descent = descent
        if descent.is_over:
            return None
        if before is not None:
            descent.learn(before.point)
        descent.run(self.improves, until)
        return None if self.outcome.best is before else self._radius()

    def _simplify(self) -> None:
        """Put back what the best point changes in vain, where it was not found so by branching."""
        best, end = self.outcome.best, min(self.deadline, now() + PATIENCE)
        if best is not None and best is not self.simple:
            self.accept(simplified(self.query, best, self.deployed, end))
            self.simple = self.outcome.best

    def _improve(self, point: Point) -> Fraction | None:
        """The radius that a point leaves which is, or is near, an improvement."""
        return self._radius() if self.improves(point) else None

    def _offer(self, point: Point) -> Fraction | None:
        """The radius left by a point of a region, if it is an improvement."""
        best = self.outcome.best
        farther = best is not None and self.query.distance_to(point) >= best.distance
        if farther and not self.limits.pool:
            return None
        candidate = verify(self.query, point, self.deployed)
        if candidate is None:
            if verify(self.query, point, lambda _: True) is None:
                return None
            distance = self.query.distance_to(point)
            self.ideal = distance if self.ideal is None else min(self.ideal, distance)
            self.outcome.reason = unverified(self.query.distance, distance)
            return self._improve(point)  # what lies slightly beyond
        if not self.accept(candidate):
            return None
        nearer = self.local.point(self.local.nearer(self.local.row(point)))
        self.accept(verify(self.query, nearer, self.deployed))
        return self._radius()

    def _solve(self, formulation: Formulation) -> tuple[Formulation, Answer]:
        """Solve; the answer's bound has its allowance taken off."""
        started = now()
        program = rounded(formulation.model)
        if self.share > FIRST and formulation.emission.gaps:
            formulation = formulation.tightened(program, self.deadline)
            if formulation.is_refuted:
                return formulation, Answer("infeasible")
            program = rounded(formulation.model)
        encoded = now()
        left = self.deadline - encoded
        hurried = self.outcome.best is not None and not self.limits.pool
        share = min(left, self.share) if hurried else left / (1 + self.limits.pool)
        gap = float(self._gap())
        if program.lower.size:
            answer = self.solver.solve(program, seconds=share, gap=gap)
        else:
            answer = solve_constants(program)
        self.outcome.nodes += answer.nodes
        spent = now() - encoded
        size = program.lower.size
        debug(2, partial(_report, size, answer, encoded - started, spent))
        bound = answer.bound - program.allowance
        return formulation, Answer(answer.status, bound, answer.values, answer.nodes)

    def _gap(self) -> Fraction:
        """By how much a bound of the solver may fall short; of no distance yet, of 1."""
        best, allowed = self.outcome.best, SHARE * self.epsilon
        whole = Fraction(1) if best is None else best.distance
        return whole - max(self.query.distance.below(whole, allowed), Fraction(0))

    def _credit(self, prover: str) -> None:
        if prover not in self.outcome.provers:
            self.outcome.provers = (*self.outcome.provers, prover)

    def _sharpened(self, formulation: Formulation) -> Formulation:
        """With the tangents and the faces that its linear relaxation needs."""
        if formulation.writer.squares:
            sharpen(formulation, self.formulator.tangents, self.deadline)
            formulation = formulation.rewritten()
        return formulation.rewritten() if self.query.hulls else formulation

    # -- upper bounds -----------------------------------------------------------------------------

    def _use_solution(self, formulation: Formulation, values: Floats) -> bool:
        """Whether a solution is an improvement, or the nearest that its whole numbers leave."""
        used = False
        if formulation.writer.squares:
            nearest = sharpen(formulation, self.formulator.tangents, self.deadline, values)
            used = nearest is not None and self.improves(formulation.lift(nearest))
        if self.query.hulls:
            inside = enclose(formulation, self.formulator, self.deadline, values)
            used |= inside is not None and self.improves(formulation.lift(inside))
        return used or self.improves(formulation.lift(values))

    def accept(self, candidate: Candidate | None) -> bool:
        """Whether a candidate is nearer than the best so far, which it then is.

        One clearly nearer than what was proved shows that the solver erred: nothing is proved then.
        """
        outcome, below = self.outcome, self.query.distance.below
        if candidate is not None and candidate.distance < below(outcome.lower, self.epsilon):
            outcome.lower, outcome.provers = Fraction(0), ()
        return super().accept(candidate)

    def is_ruled_out(self, point: Point) -> bool:
        """Whether a face of a hull that is known already cuts a point off."""
        return bool(self.query.hulls) and is_cut_off(self.formulator, point)

    def _go_on(
        self, radius: Fraction | None, formulation: Formulation, values: Floats, sharper: bool
    ) -> bool:
        """A solution that is no improvement: too near for its squares, or to be separated.

        ``sharper``: whether there are new tangents since it was found.
        """
        if self.query.distance.has_squares:
            point = formulation.lift(values)
            sharper |= self.formulator.tangents.touch(self.query, point)
            if sharper and (radius is None or self.query.distance_to(point) > radius):
                return True
        if self.query.hulls and separate(self.formulator, formulation.lift(values)):
            return True
        return self._separate(radius, formulation, values)

    def _separate(self, radius: Fraction | None, formulation: Formulation, values: Floats) -> bool:
        """A solution that is no counterfactual: exclude it, or ask for a clearer win.

        Points of a finite grid that the exact program rejects can go for good.  A solve with a
        margin proves nothing, and only looks for points.
        """
        point = formulation.lift(values)
        found, best = verify(self.query, point, lambda _: True), self.outcome.best
        known = found is not None and best is not None and found.distance >= best.distance
        if self.query.is_finite and (found is None or known):
            self.excluded += 1
            if self.excluded <= EXCLUSIONS:
                self.formulator = self.formulator.without(point)
                return True
        for margin in margins_of(self.query):
            clearer = self.formulator.formulate(radius, margin)
            if clearer.is_refuted:
                break
            clearer, answer = self._solve(clearer)
            if answer.values is None:
                break
            if self.improves(clearer.lift(answer.values)):
                return True
        if found is not None and radius is not None and found.distance > radius:
            self.outcome.reason = f"epsilon is finer than the tolerance of {self.solver.name}"
        elif found is not None:
            self.outcome.reason = unverified(self.query.distance, radius)
        else:
            within = "" if radius is None else f" within {self.query.distance.shown(radius)}"
            self.outcome.reason = (
                f"{self.solver.name} cannot tell the target's border{within} from its inside"
            )
        return False


def _report(size: int, answer: Answer, encoding: float, solving: float) -> str:
    return (
        f"{size} columns in {encoding:.3f} s, {answer.status} in {solving:.3f} s, "
        f"{answer.nodes} nodes"
    )


def _explored(radius: Fraction | None, ending: Ending, seconds: float) -> str:
    within = "anywhere" if radius is None else f"within {float(radius):.6g}"
    return (
        f"{within}: {ending.boxes} boxes, {ending.status} at {float(ending.lower):.6g} "
        f"in {seconds:.3f} s"
    )
