"""What every engine shares: what a search may use, what it knows, and how it is broken off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ..ir.interval import ceil_float, floor_float
from ..question.distances import Distance
from ..question.query import Query
from ..stopping import STOPS, at_least, now, reason_of, until
from .candidates import Deployed, Known, Point, nothing
from .outcome import Outcome, Progress, Report, Watch, silent

PAUSE = 0.1  # seconds between two reports


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
    """

    epsilon: Fraction
    seconds: float
    seeds: Sequence[Point] = ()
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    watch: Watch | None = None
    n_jobs: int = 1
    known: Known = nothing
    pool: bool = False


class Search:
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

    def run(self, seeds: Sequence[Point]) -> None:
        """Search, and leave what is known in ``outcome``.

        Raises:
            BaseException: one of ``STOPS``, when the time is up or Ctrl-C was pressed.
        """
        raise NotImplementedError

    def stopped(self, stop: BaseException) -> None:
        """What is left to do after the search was broken off."""
        self.outcome.reason = reason_of(stop)


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
    return search.outcome


def reporter(distance: Distance, watch: Watch) -> Report:
    """What tells ``watch`` of an engine's bounds as distances, not too often.

    The clock starts at the first report: by then compiled code is loaded.
    """
    started, told = 0.0, float("-inf")

    def report(lower: Fraction, upper: Fraction | None, nodes: int) -> None:
        nonlocal started, told
        time = now()
        if time - told < PAUSE:
            return
        started, told = started or time, time
        above = None if upper is None else ceil_float(distance.root(upper, 1))
        watch(Progress(time - started, floor_float(distance.root(lower, -1)), above, nodes))

    return report


__all__ = ["Limits", "Search", "reporter", "searched"]
