"""What every engine shares: points, what a search may use and knows, how it is broken off."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..ir.interval import ceil_float, floor_float
from ..question.distances import Distance
from ..question.query import Query
from ..stopping import STOPS, at_least, now, reason_of, until
from .hulls import admits, slack_of

Point = Mapping[str, Any]
MARGINS = tuple(Fraction(1, 10**k) for k in (12, 9, 7, 5, 4, 3, 2, 1))
"""By how much to win the deciding score where it is not known what rounding may do, in turn."""
Known = Callable[[], Sequence[Point]]
"""Gives points to start from where a search finds none by itself, the nearest first."""
Deployed = Callable[[Point], bool]  # whether the original model puts a point in the target


def nothing() -> Sequence[Point]:
    """No point is known."""
    return ()


@dataclass(frozen=True)
class Candidate:
    """A point that is in the target, admissible, and flips the original model."""

    point: Point
    distance: Fraction


def verify(query: Query, point: Point, deployed: Deployed) -> Candidate | None:
    """The point as a candidate if it is one: exact program, constraints, hulls, original model."""
    if query.violated(point) or not query.in_target(point):
        return None
    slack = slack_of(query, point)
    if not admits(query, slack) or not deployed(point):
        return None
    extra = slack * query.hulls[0].weight if query.hulls else Fraction(0)
    return Candidate(dict(point), query.distance_to(point) + extra)


def unverified(distance: Distance, radius: Fraction | None) -> str:
    """Why a search ended at a radius (``None``: anywhere) where nothing was shown either way."""
    within = "" if radius is None else f" within {distance.shown(radius)}"
    return f"no row that the deployed model accepts was found{within}, and none was ruled out"


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a search stands: the optimum lies between two distances.

    Attributes:
        seconds: Since the search began.
        lower: Nothing in the target lies nearer, proved.
        upper: The distance of the nearest point so far; ``None`` before there is one.
        nodes: Boxes or nodes looked at; of SMT, solver calls.
    """

    seconds: float
    lower: float
    upper: float | None
    nodes: int


Watch = Callable[[Progress], None]
"""Is told from time to time where a search stands."""


class Counting:
    """A watch of searches in turn, one an answer, that tells which of them it is, from 1."""

    def __init__(self, tell: Callable[[int, Progress], None]) -> None:
        self.tell, self.number = tell, 0

    def begin(self) -> None:
        """Another search begins."""
        self.number += 1

    def __call__(self, stands: Progress) -> None:
        self.tell(self.number, stands)


Report = Callable[[Fraction, Fraction | None, int], None]
"""What engines call: the lower bound, the best distance, and how many nodes, in their own terms."""


def silent(lower: Fraction, upper: Fraction | None, nodes: int) -> None:
    """No progress is reported."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """Nothing is nearer than ``radius``, by the word of a solver; a proof is made on demand."""

    query: Query
    radius: Fraction


@dataclass(frozen=True, slots=True)
class Call:
    """One satisfiability query: its radius, answer and time; ``by`` is ``bounds`` or a solver.

    With a ``margin``, points had to win by more than that: a refutation then proves nothing.
    """

    delta: float
    status: str
    seconds: float
    by: str
    margin: float = 0.0

    @property
    def refutes(self) -> bool:
        """Whether it proves that nothing in the target lies within ``delta``."""
        return self.status == "unsat" and not self.margin


@dataclass
class Outcome:
    """What the search knows at its end; the optimum lies in [``lower``, distance of ``best``].

    Attributes:
        best: The nearest verified point, or ``None``.
        lower: Nothing in the target lies nearer than this; exact.
        infeasible: Whether no point qualifies at all, proved.
        provers: Who showed the lower bound, or that no point qualifies.
        calls: Satisfiability queries, for engines that ask some.
        nodes: Boxes or branch-and-bound nodes looked at, for engines that branch.
        proof: What shows the lower bound, of engines that keep a record.
        reason: Why the search ended early.
        pool: Verified points met on the way, for searches that were asked to keep them.
        trace: Both bounds as they moved.
    """

    best: Candidate | None = None
    lower: Fraction = Fraction(0)
    infeasible: bool = False
    provers: tuple[str, ...] = ()
    calls: list[Call] = field(default_factory=list)
    nodes: int = 0
    proof: Any = None
    reason: str = ""
    pool: list[Candidate] = field(default_factory=list)
    trace: tuple[Progress, ...] = ()

    @property
    def proved_by(self) -> tuple[str, ...]:
        """Everyone behind the lower bound: engines, solvers, ``bounds`` (exact arithmetic)."""
        return tuple(sorted({*self.provers, *(call.by for call in self.calls if call.refutes)}))


PAUSE = 0.1  # seconds between two reports
PACE = 0.02  # of the time gone by: reports of a young search come sooner


class Trace:
    """Keeps what a search reports of its bounds, and passes it on to who watches it.

    Attributes:
        kept: Where the search stood, at most one for each share ``PACE`` of its time.
    """

    def __init__(self, watch: Watch | None) -> None:
        self.watch, self.kept = watch, list[Progress]()
        self.started, self.told = now(), float("-inf")
        if isinstance(watch, Counting):
            watch.begin()

    def __call__(self, stands: Progress) -> None:
        self._keep(stands)
        if self.watch is not None and now() - self.told >= PAUSE:
            self.told = now()
            self.watch(stands)

    def _keep(self, stands: Progress) -> None:
        """Of searches in turn, what an earlier one knew holds on."""
        lower, upper = stands.lower, stands.upper
        if self.kept:
            last = self.kept[-1]
            lower = max(lower, last.lower)
            upper = min((u for u in (upper, last.upper) if u is not None), default=None)
        self.kept.append(replace(stands, seconds=now() - self.started, lower=lower, upper=upper))

    def closed(self, distance: Distance, outcome: Outcome) -> tuple[Progress, ...]:
        """All of it, with what is known at the end."""
        best = outcome.best
        upper = None if best is None else ceil_float(distance.root(best.distance, 1))
        lower = floor_float(distance.root(outcome.lower, -1))
        self.kept.append(Progress(now() - self.started, lower, upper, outcome.nodes))
        return tuple(self.kept)


@dataclass(frozen=True)
class Limits:
    """What a search may use.

    Attributes:
        epsilon: ε, a share of the distance.
        seconds: > 0.
        seeds: Points to start from.
        rng: Of whatever is drawn.
        watch: Is told where the search stands.
        n_jobs: Threads, for engines that share a search.
        known: Gives points where a search finds none to start from.
        pool: Whether to keep what is met on the way, for engines that can.
        radius: Ends a search, for engines that can, at a point no farther than this, or once none
            is: then ``lower`` lies above it.  Nothing else is asked of them.
        settle: Answers a part of a query that an engine cannot: of box search, where the trees are
            decided and the constraints are not.  Without it such parts stay open.
    """

    epsilon: Fraction
    seconds: float
    seeds: Sequence[Point] = ()
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    watch: Watch | None = None
    n_jobs: int = 1
    known: Known = nothing
    pool: bool = False
    radius: Fraction | None = None
    settle: Callable[[Query, Limits], Outcome] | None = None


class Search(ABC):
    """A query in the hands of an engine; ``run`` answers it, and may be broken off anywhere.

    Attributes:
        deadline: On the clock that stands still while code is compiled.
        outcome: What is known so far.
    """

    def __init__(
        self, query: Query, deployed: Deployed, limits: Limits, outcome: Outcome | None = None
    ) -> None:
        self.query, self.deployed, self.limits = query, deployed, limits
        self.epsilon, self.rng, self.known = limits.epsilon, limits.rng, limits.known
        self.deadline = now() + limits.seconds
        self.outcome = Outcome() if outcome is None else outcome
        watch = limits.watch
        self.report: Report = silent if watch is None else reporter(query.distance, watch)

    @abstractmethod
    def run(self, seeds: Sequence[Point]) -> None:
        """Search, and leave what is known in ``outcome``.

        Raises:
            BaseException: one of ``STOPS``, when the time is up or Ctrl-C was pressed.
        """

    def stopped(self, stop: BaseException) -> None:
        """What is left to do after the search was broken off."""
        self.outcome.reason = reason_of(stop)

    def ended(self) -> Outcome:
        """What is known, after what is left to do however the search ended."""
        return self.outcome


def searched(make: Callable[[], Search], limits: Limits) -> Outcome:
    """What a search knows at its end, however that came; ``make`` counts as a part of it."""
    search, deadline = None, now() + limits.seconds
    try:
        with until(at_least(deadline)):
            search = make()
            search.deadline = deadline
            search.run(limits.seeds)
    except STOPS as stop:
        if search is None:
            return Outcome(reason=reason_of(stop))
        search.stopped(stop)
    return search.ended()


def reporter(distance: Distance, watch: Watch) -> Report:
    """What tells ``watch`` of an engine's bounds as distances, not too often.

    The clock starts at the first report: by then compiled code is loaded.
    """
    started, reported = 0.0, float("-inf")

    def report(lower: Fraction, upper: Fraction | None, nodes: int) -> None:
        nonlocal started, reported
        time = now()
        if time - reported < min(PAUSE, PACE * (time - started)):
            return
        started, reported = started or time, time
        above = None if upper is None else ceil_float(distance.root(upper, 1))
        watch(Progress(time - started, floor_float(distance.root(lower, -1)), above, nodes))

    return report
