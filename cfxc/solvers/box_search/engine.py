"""Box search: the nearest counterfactual of tree ensembles, by branch and bound over boxes.

The radius grows until it holds a point: a radius that is refuted is a proved lower bound, and
small radii are refuted fast.  Every point found shrinks the radius to just below its distance, so
the last refutation closes the gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import floor

from ...environment import debug
from ...errors import UnsupportedError
from ...frontends.predictor import DOUBLE
from ...ir import LabelTuple
from ...question.domain import Domain
from ...question.query import Query
from ...stopping import FINE, GRACE, LIMIT, TimeUp, left, now, poll, reason_of, until
from ..base import Candidate, Deployed, Limits, Outcome, Point, Search, searched, verify
from ..baselines import LocalSearch
from ..rounding import margins_of
from .cells import UNIT, Cells
from .climb import climb, make_forest, reclimbed, shrunk
from .problem import Problem, decision_for, make_problem, refuses
from .proof import SplitTree
from .state import (
    AIM,
    ALONE,
    BY_DISTANCE,
    BY_SOLVER,
    DEPTH,
    FULL,
    PAUSE,
    POINT,
    RADIUS,
    State,
)  # fmt: skip
from .thread_pool import ALONE_UNTIL, ThreadPool, Worker

NAME = "box search"
OPEN = "a constraint was not settled"
REFUSED = "the deployed model refuses what the exact program accepts"
CLOSE = Fraction(9, 10)  # share of ε below the best distance at which optimality is asked for
EASY = 200  # boxes that the optimum itself may take to prove, before anything else is tried
NEAR, NEAREST = Fraction(1, 64), Fraction(1, 4096)  # of the best distance, or of the largest
FIRST = Fraction(1, 4)  # of either: up to here radii are cheap, and grow in leaps
LEAP, GROWTH = 8, Fraction(3, 2)
SURE = Fraction(18, 5)  # growth where the best of many seeds, moved, may well be the nearest
MANY = 10  # seeds that are many
MOVED, SEEDING = 64, 0.2  # seeds that are moved, the nearest; of the time left, at most
DOUBT = 20_000  # boxes at which that is given up
SLICE = 0.05  # seconds between looks at the clock
QUICKER = 16  # times as many boxes between them, at most, as before
NUDGES = (1e-7, 1e-9, 0.0)  # beyond a point aimed at, where the deployed model agrees
AFTERWARDS = 1000  # boxes to look at for what ε leaves open, beside as many as were needed so far


def search(query: Query, deployed: Deployed, limits: Limits) -> Outcome:
    """Find the nearest counterfactual to within a share of ``epsilon``, or as far as the time goes.

    Hard questions are searched by ``n_jobs`` threads.  Ctrl-C ends the search with what it has.

    Raises:
        UnsupportedError: box search ``refuses`` the query.
    """
    _require_taken(query)
    return searched(lambda: BoxSearch(make_problem(query), deployed, limits), limits)


def refute(query: Query, radius: Fraction, seconds: float) -> SplitTree | None:
    """A proof that nothing lies within a radius, if there is one and the time allows.

    Raises:
        UnsupportedError: box search ``refuses`` the query.
    """
    _require_taken(query)
    limits = Limits(Fraction(1, 10**9), seconds)
    with until(now() + seconds), suppress(TimeUp):
        found = BoxSearch(make_problem(query), lambda _: True, limits)
        if found._refute(radius) and not found.found:
            proof: SplitTree = found.outcome.proof
            return proof
    return None


def _require_taken(query: Query) -> None:
    if reason := refuses(query):
        raise UnsupportedError(f"box search does not take this question: {reason}")


class BoxSearch(Search):
    """One question; ``run`` answers it.

    The exact program decides while the search goes on, and ``found`` holds its points, each nearer
    than the one before.  The deployed model is asked at the end: calling it takes as long as the
    search of an easy question.
    """

    def __init__(self, problem: Problem, deployed: Deployed, limits: Limits) -> None:
        super().__init__(problem.query, deployed, limits)
        self.problem = problem
        self.sure = False  # whether the best of many points is likely to be the nearest
        self.tight = False  # whether to prove the optimum itself, not just up to ε
        self.found: list[Candidate] = []
        self.enough: Fraction | None = None  # a distance at which a point ends the search
        self.n_jobs, self.alone = limits.n_jobs, ALONE_UNTIL

    def run(self, seeds: Sequence[Point]) -> None:
        """Points to start from, then refutations of growing radii until they meet the best."""
        self.report(self.outcome.lower, None, 0)
        if self.limits.radius is not None:
            self._look_within(seeds, self.limits.radius + UNIT)
            return
        self._start(seeds)
        if not self._tighten(EASY):
            if self.found and self.query.unit > DOUBLE:
                self._secure()
            self._climb_again()
            self._close()
            self._tighten(self.outcome.nodes + AFTERWARDS)
        self.choose()
        best = self.outcome.best
        below = self.query.distance.below
        is_open = best is None or self.outcome.lower < below(best.distance, self.epsilon)
        if is_open and self.found and best is not self.found[-1]:
            self._secure()
            self._settle(self.found[-1].distance)
        best = self.outcome.best
        if best and self.outcome.lower < below(best.distance, self.epsilon):
            self.outcome.reason = self.outcome.reason or FINE  # than ``UNIT``

    def _look_within(self, seeds: Sequence[Point], radius: Fraction) -> None:
        """A point in a ball that the deployed model accepts, or a proof that there is none."""
        self.enough = radius
        self._use(seeds)
        closed = self._goal() < 0 or self._refute(radius)
        self.choose()
        if closed and self.found and self.outcome.best is None:
            self.outcome.reason = REFUSED

    def choose(self) -> None:
        """Take the nearest point found that the deployed model accepts too."""
        self._choose(self.found)

    def stopped(self, stop: BaseException) -> None:
        """Ask the deployed model; say why the search ended, unless it knows better."""
        with suppress(KeyboardInterrupt):  # pressed again, while the model is asked
            self.choose()
        if isinstance(stop, KeyboardInterrupt) or not self.outcome.reason:
            self.outcome.reason = reason_of(stop)

    def _choose(self, found: Sequence[Candidate]) -> None:
        accepted = (each for each in self._in_time(found) if self.deployed(each.point))
        nearest, best = next(accepted, None), self.outcome.best
        if nearest and (best is None or nearest.distance < best.distance):
            self.outcome.best = nearest

    def _in_time(self, found: Sequence[Candidate]) -> Iterator[Candidate]:
        """Candidates, the nearest first; the time that is left for all but one may be up."""
        for number, each in enumerate(reversed(found)):
            if number and now() > self.deadline + GRACE:
                return
            yield each

    # -- upper bounds -----------------------------------------------------------------------------

    def _start(self, seeds: Sequence[Point]) -> None:
        if self._use(seeds):
            self.sure = self._shrink_all(seeds) and len(seeds) >= MANY
        if not self._climb() and (self.query.constraints or self.query.excluded):
            self._use(LocalSearch(self.query, self.rng).candidates(seeds))
        if not self.found and self._use(points := self.known()):
            self._shrink_all(points)

    def _shrink_all(self, seeds: Sequence[Point]) -> bool:
        """Move seeds towards the instance, over cells; whether a verified point came of it."""
        decision, cells = self.problem.sketch()
        points = (cells.around(self.query, point) for point in seeds[:MOVED])
        found = shrunk(make_forest(decision, cells), points, now() + SEEDING * left())
        return self._use(cells.values(self.query, point) for point in found)

    def _climb(self) -> bool:
        """Greedy moves over all cells; whether a verified point came of it."""
        (decision, cells), norms = self.problem.sketch(), self.query.distance.norms
        found = climb(make_forest(decision, cells), bool(norms and norms.linf))
        return self._use(cells.values(self.query, point) for point in found)

    def _climb_again(self) -> None:
        """Look for nearer points around the best one; those of a hard question pay for it."""
        if self.found:
            decision, cells = self.problem.sketch()
            point = cells.around(self.query, self.found[-1].point)
            found = reclimbed(make_forest(decision, cells), point, self.rng)
            self._use(cells.values(self.query, point) for point in found)

    def _use(self, points: Iterable[Point]) -> bool:
        """Keep the first that is verified, of points in order of distance."""
        return any(self._accept(point) is not None for point in points)

    def _accept(self, point: Point) -> Fraction | None:
        """Keep a point if it is verified and the nearest; its distance if it is verified."""
        candidate = verify(self.query, point, lambda _: True)
        if candidate and (not self.found or candidate.distance < self.found[-1].distance):
            self.found.append(candidate)
        return candidate.distance if candidate else None

    def _secure(self) -> None:
        """A point that the deployed model accepts, before the time runs out: one that wins clearly.

        However late it is, one margin is tried.
        """
        self.choose()
        for margin in margins_of(self.query, Fraction(1)):
            clearer = None if self.outcome.best else self._clearer(margin)
            if clearer is None:
                return
            clearer._climb()
            self._choose(clearer.found)
            if now() > self.deadline:
                return

    def _settle(self, ideal: Fraction) -> None:
        """The nearest usable point where the deployed model refuses the one at ``ideal``.

        Points must win by growing margins, until the nearest that does is accepted.  Searches with
        a margin prove nothing of the question itself.
        """
        shown = self.query.distance.shown(ideal)
        self.outcome.reason = (
            f"a row at {shown} is within rounding of the target, and the deployed model refuses "
            "it; ask with semantics='real' for a bound without rounding"
            if self.query.slack
            else f"the exact program has a counterfactual at {shown} that the deployed model "
            "refuses"
        )
        for margin in margins_of(self.query):
            clearer = self._clearer(margin)
            if clearer is None or now() > self.deadline:
                return
            clearer._climb()
            clearer._close()
            self._choose(clearer.found)
            if not clearer.found or self.deployed(clearer.found[-1].point):
                return  # what wins by more is farther

    def _clearer(self, margin: Fraction) -> BoxSearch | None:
        """The search for what is nearer than the best and wins by a margin, if it can be asked."""
        program = self.query.target_with_margin(margin)
        if program == self.query.target_program:
            return None  # no score is known to decide
        problem = replace(self.problem, decision=decision_for(self.query, program))
        quiet = replace(self.limits, seconds=self.deadline - now(), watch=None)
        clearer = BoxSearch(problem, self.deployed, quiet)
        clearer.outcome.lower = self.outcome.lower
        clearer.found = [] if self.outcome.best is None else [self.outcome.best]
        return clearer

    # -- lower bounds -----------------------------------------------------------------------------

    def _goal(self) -> Fraction:
        """The radius whose refutation ends the search; 1 covers everything."""
        if self.enough is not None:
            is_there = self.found and self.found[-1].distance <= self.enough
            return Fraction(-1) if is_there else self.enough
        if not self.found:
            return Fraction(1)
        best = self.found[-1].distance
        if self.tight:
            return best - UNIT
        return self.query.distance.below(best, CLOSE * self.epsilon)

    def _close(self) -> None:
        goal = self._goal()
        radius = max(goal * (NEAR if self.found else NEAREST), self.outcome.lower)
        while goal >= 0:
            radius = min(radius, goal)
            leaps = self.sure and radius > FIRST * goal
            if not self._refute(radius, DOUBT if leaps else float("inf")):
                if not leaps or self.outcome.reason:
                    return
                self.sure, radius = False, self.outcome.lower  # it was not that easy
            goal = self._goal()
            if self.outcome.lower >= goal - UNIT:
                break
            low = radius < FIRST * goal
            growth = SURE if self.sure else GROWTH
            radius = min(radius * LEAP, FIRST * goal) if low else radius * growth
        self.outcome.infeasible = not self.found

    def _tighten(self, boxes: int) -> bool:
        """Look for what is nearer by less than ε, at so many boxes; whether nothing is left.

        Most questions need few boxes to prove the optimum itself.
        """
        if not self.found or self.outcome.reason:
            return False
        self.tight = True
        closed = self._goal() < 0 or self._refute(self._goal(), boxes)
        self.tight = False
        return closed

    def _refute(self, radius: Fraction, boxes: float = float("inf")) -> bool:
        """Search the ball, which shrinks with every point found; whether all of it is closed.

        It ends early when the time is up, or after looking at so many ``boxes``.
        """
        started, logic = now(), self.problem.constraints.logic
        if started > self.deadline:
            self.outcome.reason = LIMIT
            return False
        built = self.problem.within(radius)
        if isinstance(built, int):
            self._note(radius, {NAME}, SplitTree.of_one(self.problem, radius, built))
            return True
        tables, cells = built
        threads = ThreadPool(tables, logic, floor(radius / UNIT), self.n_jobs, self.alone)
        provers = {NAME}
        while not threads.is_done and self._round(threads, cells, boxes, provers):
            pass
        self.outcome.nodes += threads.looks
        proved = threads.radius * UNIT
        spent, how = now() - started, "refuted" if threads.is_done else "open"
        size = f"{threads.looks} boxes in {spent:.3f} s"
        debug(2, lambda: f"radius {float(proved):.6g}: {how}, {size}")
        if threads.is_done:
            log, count = threads.log()
            self._note(proved, provers, SplitTree(self.problem, proved, log, count, radius))
        return threads.is_done

    def _round(self, threads: ThreadPool, cells: Cells, boxes: float, provers: set[str]) -> bool:
        """Let the threads work for a while, and see to what it found; whether it may go on."""
        poll()
        before = now()
        if before > self.deadline:
            self.outcome.reason = LIMIT
        if before > self.deadline or threads.looks >= boxes:
            return False
        for worker in threads.round(boxes):
            if worker.code == POINT:
                self._take(cells, worker)
            elif worker.code == AIM:
                self._aim(cells, worker)
            elif worker.code == ALONE:
                if not self._ask(cells, worker, provers):
                    return False
                worker.close(BY_SOLVER)
            elif worker.code == FULL:
                worker.grow()
            elif worker.code == PAUSE:
                required = worker.step * SLICE / max(now() - before, 1e-4)
                worker.step = max(1, int(min(required, worker.step * QUICKER)))
        threads.agree()
        nearest = self.found[-1].distance if self.found else None
        self.report(self.outcome.lower, nearest, self.outcome.nodes + threads.looks)
        return True

    def _note(self, proved: Fraction, provers: set[str], proof: SplitTree) -> None:
        """Keep what a refutation shows."""
        self.outcome.nodes += proof.is_single
        self.outcome.lower = max(self.outcome.lower, proved)
        self.outcome.provers = tuple(sorted({*self.outcome.provers, *provers}))
        self.outcome.proof = proof

    def _take(self, cells: Cells, worker: Worker) -> None:
        """Verify the point found: it shrinks the radius, or closes its box, or does not count."""
        state = worker.state
        distance = self._accept(cells.values(self.query, state.point))
        if distance is None:
            state.forced[worker.depth] = True
        elif distance > int(state.control[RADIUS]) * UNIT:
            worker.close(BY_DISTANCE)  # its cost was rounded down; it is the nearest of its box
        else:
            self._shrink(state)

    def _aim(self, cells: Cells, worker: Worker) -> None:
        """Verify the point where ramps are thought to reach what is needed, or one just beyond."""
        state, d = worker.state, worker.depth
        point, before = cells.values(self.query, state.point), int(state.control[RADIUS])
        for nudge in NUDGES:
            for j, domain in enumerate(self.query.domains):
                near = cells.point[cells.start[j] + state.point[j]]
                away = float(state.aim[j] - near)
                if not domain.is_symbolic and away:
                    step = domain.ceil if away > 0 else domain.floor
                    value = step(float(state.aim[j]) + nudge * away)
                    if value is not None:
                        point[domain.name] = domain.feature.typed(value)
            if self._accept(point) is not None:
                self._shrink(state)
            if int(state.control[RADIUS]) < before:
                return
        state.forced[d] = True

    def _shrink(self, state: State) -> None:
        """Search no farther than the nearest point found asks for."""
        goal = max(floor(self._goal() / UNIT), -1)
        state.control[RADIUS] = min(int(state.control[RADIUS]), goal)

    def _ask(self, cells: Cells, worker: Worker, provers: set[str]) -> bool:
        """Settle a box whose trees are decided, but not its constraints, by another engine."""
        state, settle = worker.state, self.limits.settle
        if settle is None:
            self.outcome.reason = OPEN
            return False
        radius = int(state.control[RADIUS]) * UNIT
        boxed = replace(self.query, domains=_within(self.query, cells, state))
        left = max(self.deadline - now(), 0.01)
        limits = Limits(self.epsilon / 2, left, rng=self.rng)
        answer = settle(boxed, limits)
        provers.update(answer.proved_by)
        if answer.best is not None:
            self._accept(answer.best.point)
            self._shrink(state)
            radius = int(state.control[RADIUS]) * UNIT
        if answer.infeasible or answer.lower >= radius:
            return True
        if not self.tight:  # else the solver was asked for more than ε needs
            self.outcome.reason = answer.reason or OPEN
        return False


def _within(query: Query, cells: Cells, state: State) -> tuple[Domain, ...]:
    """The domains narrowed to the open box."""
    d = state.control[DEPTH]
    narrowed = []
    for j, domain in enumerate(query.domains):
        if domain.is_symbolic:
            names = domain.labels
            words = state.labels[d, j]
            codes = (names.position(label) for label in domain.allowed)
            kept = [c for c in codes if int(words[c // 64]) >> (c % 64) & 1]
            narrowed.append(replace(domain, allowed=LabelTuple(names[c] for c in kept)))
        else:
            begin = cells.start[j]
            low = Fraction(float(cells.least[begin + state.first[d, j]]))
            high = Fraction(float(cells.largest[begin + state.last[d, j]]))
            narrowed.append(replace(domain, lower=low, upper=high))
    return tuple(narrowed)
