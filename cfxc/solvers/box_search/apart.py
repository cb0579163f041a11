"""The row that differs most from some others, within a radius: box search for a largest difference.

The radius stays, and the least difference that is asked for rises with every row found.  A box is
closed once what its cells, and what is left of the radius beyond its nearest point, allow falls
short: from that point a row differs by no more than its way there (the triangle inequality).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, sqrt
from typing import Any

from ...ir.interval import ceil_float, floor_float
from ...question.distances.distance import mixed
from ...question.diversity import Measured
from ...question.domain import Domain
from ...question.query import Query
from ...stopping import is_over, now
from ..base import Candidate, Limits, Outcome, Point, searched, verify
from .cells import UNIT, Cells
from .climb import make_forest, shrunk
from .engine import BoxSearch
from .logic import make_constraints
from .problem import make_problem, only_trees, refuses
from .state import BY_SOLVER, RADIUS, State
from .thread_pool import Worker

FINEST = Fraction(1, 2**50)
"""Rows that differ by less are not told apart here."""
ROUNDING = 1e-11
"""More than what doubles lose in a sum of shares."""
Changes = list[tuple[Fraction, Fraction]]
"""Weight and change of each feature."""
HALVINGS = 12
"""How finely it is found how far a feature may move."""


@dataclass(frozen=True)
class Farthest:
    """Rows found, with their differences, each more than the one before; what no row exceeds.

    Attributes:
        is_closed: Whether the search came to its end; if not, ``bound`` is 1.
    """

    found: Sequence[tuple[Candidate, Fraction]]
    bound: Fraction
    outcome: Outcome
    is_closed: bool = False


def suits(query: Query) -> bool:
    """Whether :func:`farthest` takes a query."""
    return not query.hulls and not refuses(query) and only_trees(query)


def moved(query: Query, points: Iterable[Point], seconds: float) -> list[Point]:
    """Points moved towards the instance, as near as single moves get them, in so many seconds."""
    decision, cells = make_problem(query).sketch()
    places = (cells.around(query, point) for point in points)
    found = shrunk(make_forest(decision, cells), places, now() + seconds)
    return [cells.values(query, each) for each in found]


def farthest(
    query: Query, measured: Measured, reached: Fraction, tolerance: Fraction, boxes: float,
    limits: Limits,
) -> Farthest:  # fmt: skip
    """The row within ``limits.radius`` that differs most, whatever the deployed model says.

    Args:
        reached: A difference that a known row has.
        tolerance: The share of the bound by which the best row may miss it.
        boxes: How many are looked at, at most.
    """
    begun: list[FarthestSearch] = []

    def make() -> FarthestSearch:
        begun.append(FarthestSearch(query, measured, reached, tolerance, boxes, limits))
        return begun[0]

    outcome = searched(make, limits)
    if not begun or not begun[0].is_closed:
        return Farthest(begun[0].rows if begun else (), Fraction(1), outcome)
    search = begun[0]
    return Farthest(search.rows, max(search.least, search.unsettled), outcome, True)


class FarthestSearch(BoxSearch):
    """One such search.

    Attributes:
        rows: What was found.
        least: What else is asked for: by a share more than the best of them.
        unsettled: What boxes may hold that can be split no further.
    """

    def __init__(
        self, query: Query, measured: Measured, reached: Fraction, tolerance: Fraction,
        boxes: float, limits: Limits,
    ) -> None:  # fmt: skip
        problem = replace(make_problem(query), constraints=make_constraints(query, measured))
        super().__init__(problem, lambda _: True, limits)
        assert limits.radius is not None
        self.measured, self.share, self.within = measured, 1 / (1 - tolerance), limits.radius
        self.rows = list[tuple[Candidate, Fraction]]()
        self.least = self.unsettled = Fraction(0)
        self.is_closed, self.boxes = False, boxes
        self.views = [View(query, measured, j) for j in range(len(query.domains))]
        self._raise(reached)

    def run(self, seeds: Sequence[Point]) -> None:
        """Close the ball."""
        self.is_closed = self._refute(self.within + UNIT, self.boxes)

    def choose(self) -> None:
        """Whoever asked takes what the deployed model accepts."""

    def _raise(self, reached: Fraction) -> None:
        """Ask for more than what was reached."""
        self.reached, self.least = reached, max(reached * self.share, FINEST)
        logic, term = self.problem.constraints.logic, self.problem.constraints.least
        logic.low[term], logic.high[term] = floor_float(self.least), ceil_float(self.least)

    def _take(self, cells: Cells, worker: Worker) -> None:
        """Learn from the points of a box; it is closed if it holds no better ones, else split."""
        if self._may_hold(cells, worker):
            worker.state.forced[worker.depth] = True
        else:
            worker.close(BY_SOLVER)

    def _ask(self, cells: Cells, worker: Worker, provers: set[str]) -> bool:
        """A box that can be split no further is closed; what it may hold stays open."""
        if self._may_hold(cells, worker):
            self.unsettled = max(self.unsettled, Fraction(self._bound(cells, worker)))
        return True

    def _may_hold(self, cells: Cells, worker: Worker) -> bool:
        """Whether a box may hold a better row than the best, which may be one of its own by now."""
        bound = self._bound(cells, worker)
        if bound < self.least:
            return False
        tried = self._points(cells, worker.state, worker.depth)
        return not any(map(self._try, tried)) or bound >= self.least

    def _bound(self, cells: Cells, worker: Worker) -> float:
        """What no row of the box within the radius differs by from all points."""
        state, d, norms = worker.state, worker.depth, self.query.distance.norms
        assert norms is not None
        near = cells.start[:-1] + state.point
        spent = int(cells.added[near].sum() + cells.peak[near].max(initial=0))
        rest, left = max(float((int(state.control[RADIUS]) - spent) * UNIT), 0.0), inf
        if norms.l1:
            left = rest / float(norms.l1)
        elif norms.l2:
            left = sqrt(rest / float(norms.l2))
        ranges = [view.ranges(cells, state, d) for view in self.views]
        bounds = []
        for i in range(len(self.measured.points)):
            own = [(here[i], gain[i], paid) for here, gain, paid in ranges]
            if self.measured.measure == "linf":
                bounds.append(max(here + gain for here, gain, _ in own))
                continue
            free = sum(here + (0.0 if paid else gain) for here, gain, paid in own)
            bounds.append(free + min(sum(gain for _, gain, paid in own if paid), left))
        return self.measured.over(bounds) + ROUNDING

    def _try(self, point: Point) -> bool:
        """Keep a row that differs by more than any before, if it is verified."""
        parts = zip(*(view.away(point[view.domain.name]) for view in self.views), strict=True)
        total = max if self.measured.measure == "linf" else sum
        if self.measured.over(map(total, parts)) + ROUNDING < self.reached:
            return False
        apart = self.measured.of(point)
        if apart <= self.reached:
            return False
        candidate = verify(self.query, point, self.deployed)
        if candidate is None or candidate.distance > self.within:
            return False
        self.rows.append((candidate, apart))
        self._raise(apart)
        return True

    def _points(self, cells: Cells, state: State, d: int) -> Iterator[Point]:
        """As far from the others as box and radius let a row be, and the nearest one of the box."""
        near = cells.values(self.query, state.point)
        far, domains = dict(near), self.query.domains
        changes = [(one.feature.weight, one.delta(near[one.name])) for one in domains]
        for view in self.views:
            if is_over():  # of many features each takes a while
                break
            end = view.farther_end(cells, state, d, near)
            if end is not None:
                self._move(far, view.domain, end, changes, view.j)
        if far != near:
            yield far
        yield near

    def _move(
        self, row: dict[str, Any], domain: Domain, end: float, changes: Changes, j: int
    ) -> None:
        """Move feature j of a row, and its change, towards an end, about as far as the radius lets
        it.
        """
        name, start, short = domain.name, float(row[domain.name]), 0.0
        far, norms = 1.0, self.query.distance.norms
        assert norms is not None
        for halving in range(HALVINGS):
            share = (short + far) / 2 if halving else 1.0
            step = domain.floor if end > start else domain.ceil
            value = step(Fraction(start + share * (end - start)))
            if value is None or not min(start, end) <= value <= max(start, end):
                return
            before, changes[j] = changes[j], (domain.feature.weight, domain.delta(value))
            if mixed(norms, changes) > self.within:
                far, changes[j] = share, before
                continue
            row[name], short = domain.feature.typed(value), share
            if not halving:
                return


class View:
    """How far the values of feature j are from those of the points, in shares of D, as doubles."""

    def __init__(self, query: Query, measured: Measured, j: int) -> None:
        self.j, self.domain, self.measured = j, query.domains[j], measured
        weights = [float(domain.feature.weight) for domain in query.domains]
        self.counts = measured.measure == "l0"
        self.rate = weights[j] / (max(weights) if measured.measure == "linf" else sum(weights))
        self.sides = [side[j] for side in measured.sides]
        self.moves = not self.domain.is_symbolic and not self.domain.feature.missing
        self.size = float(self.domain.feature.range) or inf
        self.there = [float(side.factual) for side in self.sides] if self.moves else []
        self.table = [
            [self._counted(float(side.delta(label))) for label in side.labels]
            for side in self.sides if self.domain.is_symbolic
        ]  # fmt: skip

    def _counted(self, delta: float) -> float:
        return self.rate * (float(delta > 0) if self.counts else delta)

    def away(self, value: Any) -> list[float]:
        """How far a value is from that of each point."""
        if self.moves:
            return [self._counted(abs(float(value) - c) / self.size) for c in self.there]
        if self.domain.is_symbolic:
            code = self.domain.labels.position(value)
            return [table[code] for table in self.table]
        return [self._counted(float(side.delta(value))) for side in self.sides]

    def ranges(self, cells: Cells, state: State, d: int) -> tuple[list[float], list[float], bool]:
        """Per point how far the box's nearest value is from it, and by how much others of the box
        may be farther; whether these take as much of the radius.
        """
        j, begin, at = self.j, int(cells.start[self.j]), int(state.point[self.j])
        if self.domain.is_symbolic:
            words = state.labels[d, j].tolist()
            held = [k for k in range(len(self.domain.labels)) if words[k // 64] >> (k % 64) & 1]
            here = [table[at] for table in self.table]
            most = [max(table[k] for k in held) for table in self.table]
            paid = at == int(cells.home[j]) and not self.counts
        elif self.moves:
            near = float(cells.point[begin + at])
            low = float(cells.least[begin + state.first[d, j]])
            high = float(cells.largest[begin + state.last[d, j]])
            here, first, last = self.away(near), self.away(low), self.away(high)
            most = list(map(max, here, first, last))
            paid = not self.counts
        else:
            here, most, paid = [0.0] * len(self.sides), [self.rate] * len(self.sides), False
        return here, [top - low for top, low in zip(most, here, strict=True)], paid

    def farther_end(self, cells: Cells, state: State, d: int, near: Point) -> float | None:
        """The end of the box's values that is farther from all points, if there is one."""
        if not self.moves or self.counts:
            return None
        begin, value = int(cells.start[self.j]), float(near[self.domain.name])
        low = float(cells.least[begin + state.first[d, self.j]])
        high = float(cells.largest[begin + state.last[d, self.j]])
        here = self.away(value)
        both = [(self.away(end), end) for end in (low, high)]
        ends = [
            (sum(away) - sum(here), end)
            for away, end in both
            if all(there >= own for there, own in zip(away, here, strict=True))
        ]
        gain, end = max(ends, default=(0.0, value))
        return end if gain > 0 else None
