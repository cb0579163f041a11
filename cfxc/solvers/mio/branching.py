"""Branch and price: best first over whole numbers, each node a linear program over a hull's rows.

What mixed-integer solvers cannot do is to make columns at every node.  The bound of a node holds
for all rows, and the faces that nodes meet make the program sharper that a solver gets afterwards.
Categories are branched on first, a child for each label: it leaves few of the rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ...arrays import Floats
from ...compiler.mixed_integer import rounded
from ...errors import SolverError
from ...stopping import now
from ..hulls import Found, HullProgram
from .cutting_planes import add_face, more_tangents, program_over, vector_of
from .formulation import Formulation, Formulator
from .regions import Ending

CLEARER = tuple(Fraction(1, 10**k) for k in (8, 6, 4))  # margins, where a bare win is none
EASY = 20  # nodes before the first dive
SHARE, DIVE = 0.5, 0.2  # of the time spent on looking for points; of what is left, on one dive
BRIEF, SLICE = 0.3, 0.5  # seconds before the first descent; of one at a time, at most
LAG = 8.0  # how much a bound counts as larger that is all the way from the target
DEEP = 200  # nodes by which ways down may be ahead of the others
WHOLE = 1e-6  # how far from a whole number counts as one

Ranges = tuple[Floats, Floats]
Offer = Callable[[dict[str, Any]], Fraction | None]
"""Offers a point; the new radius to look within if it is an improvement, else ``None``."""
Descend = Callable[[float], Fraction | None]
"""Looks for points otherwise, until then; the new radius if there was an improvement."""


class OpenNodes:
    """Nodes by their bounds, the least first, of equals the newest, which makes a dive.

    Where it is known how far nodes lag behind the target, every other one is of those that are near
    to both, and up to half are children of the last one, as long as there are some: so points are
    found where bounds alone lead to none.
    """

    def __init__(self) -> None:
        self._ranges = dict[int, tuple[float, Ranges]]()
        self._bounds, self._near = list[tuple[float, int]](), list[tuple[float, int]]()
        self._made, self._turn = 0, False
        self._parent = 0  # ``_made`` before the last one's children
        self._descends, self._down, self._others = False, 0, 0

    @property
    def least(self) -> float:
        """The least bound of all; infinite where none is open."""
        return self._first(self._bounds)[0]

    def push(self, bound: float, ranges: Ranges, lag: float | None = None) -> None:
        """Another node; ``lag``: in what part of the way to the target, from 0."""
        self._made += 1
        self._ranges[-self._made] = bound, ranges
        heapq.heappush(self._bounds, (bound, -self._made))
        if lag is not None:
            heapq.heappush(self._near, (bound * (1 + LAG * lag), -self._made))

    def pop(self) -> tuple[float, Ranges]:
        """The bound and the ranges of the node whose turn it is."""
        below = self._made > self._parent  # the last one's children
        self._parent = self._made
        if self._descends and below and self._down <= self._others + DEEP:
            self._down += 1
            return self._ranges.pop(-self._made)
        self._descends = bool(self._near) and self._down <= self._others
        self._others += 1
        self._turn = not self._turn
        _, number = self._first(self._bounds)
        if self._turn:
            _, near = self._first(self._near)
            number = near or number
        return self._ranges.pop(number)

    def _first(self, heap: list[tuple[float, int]]) -> tuple[float, int]:
        while heap and heap[0][1] not in self._ranges:
            heapq.heappop(heap)
        return heap[0] if heap else (np.inf, 0)


class Branching:
    """The nodes of one formulation within a radius.

    ``offer`` is told every point that a node's whole numbers leave.  Best first meets few of
    them: ``descend`` looks for some; without it there are dives.
    """

    margins: tuple[Fraction, ...] = (Fraction(0), *CLEARER)
    tolerance = WHOLE

    def __init__(
        self,
        formulation: Formulation,
        formulator: Formulator,
        radius: Fraction,
        offer: Offer,
        descend: Descend | None = None,
    ) -> None:
        self.formulation, self.formulator = formulation, formulator
        self.radius, self.offer, self.descend = radius, offer, descend
        self.program, self.solver = rounded(formulation.model), program_over(formulation)
        self.more = more_tangents(formulation, formulator)
        self.inner = float(formulator.query.hulls[0].inner)
        self.near = vector_of(formulator.query, formulator.query.factual)
        self.groups = [
            np.array(group) for group in formulation.emission.relaxation.groups if len(group) > 1
        ]
        self.binary = self.program.whole & (self.program.upper - self.program.lower <= 1)
        self.names = [column.name for column in formulation.model.columns]
        self.clearer: dict[Fraction, tuple[Formulation, HullProgram | None]] = {}
        self.started, self.looking = now(), 0.0
        self.in_vain = 0  # descents since one that led to a point
        self.least = np.inf  # of the bounds of nodes that stay open
        self.queue, self.nodes = OpenNodes(), 0
        self.known = -np.inf  # a bound of the node at hand
        self.lag: float | None = None  # of that node, where it is known

    def run(self, deadline: float) -> Ending:
        """Close every node within the radius, or as many as the time allows."""
        queue = self.queue
        queue.push(-np.inf, self._root())
        while queue.least < self.radius:
            known, ranges = queue.pop()
            self.known = known
            self.nodes += 1
            found = self._solve(ranges, known, deadline)
            if now() >= deadline:
                self.least = self.lower
                break
            if found is None:
                continue
            bound, values, ranges = found
            if self.descend is not None:
                self._descend_now_and_then(self.descend, deadline)
            elif self.nodes > EASY:
                self._dive_now_and_then(values, ranges, deadline)
            for child in self._children(values, ranges, bound, deadline):
                queue.push(bound, child, self.lag)
        if self.least < self.radius:
            return Ending("limit", Fraction(max(self.least, 0.0)), self.nodes)
        return Ending("closed", self.radius, self.nodes)

    @property
    def lower(self) -> float:
        """A bound of all nodes that are open, the one at hand among them."""
        return max(0.0, min(self.least, self.known, self.queue.least))

    def _root(self) -> Ranges:
        """All that there is."""
        return self.program.lower, self.program.upper

    def _solve(
        self, ranges: Ranges, known: float, deadline: float
    ) -> tuple[float, Floats, Ranges] | None:
        """A bound of what a node holds, its solution, and its ranges; ``None`` to leave it."""
        solved = self._bounded(ranges, known, deadline)
        if solved is None:
            return None
        bound, found = solved
        add_face(self.formulator, found.face)
        return bound, found.values, ranges

    def _bounded(self, ranges: Ranges, known: float, deadline: float) -> tuple[float, Found] | None:
        """A node's linear program and the bound that it proves; ``None`` beyond the radius."""
        enough = float(self.radius) * self.program.scale
        for again in (True, False):
            self.solver.hold(*ranges)
            try:
                found = self.solver.solve(self.near, deadline, self.more, enough)
                break
            except SolverError:
                if not again:
                    self.least = min(self.least, known)
                    return None
                self.solver = program_over(self.formulation)  # without the tangents so far
        if found is None:
            return None
        bound = known
        if found.complete:
            program = self.program
            bound = max(known, found.objective / program.scale - program.allowance)
        return None if bound >= self.radius else (bound, found)

    def _children(
        self, values: Floats, ranges: Ranges, bound: float, deadline: float
    ) -> Iterator[Ranges]:
        """What a node is split into; a node of whole numbers is offered, and has none."""
        lower, upper = ranges
        away = np.where(self.program.whole, np.abs(values - np.round(values)), 0.0)
        torn = [(float(away[group].sum()), group) for group in self.groups]
        most, group = max(torn, key=lambda pair: pair[0], default=(0.0, np.zeros(0, np.int64)))
        if most > self.tolerance:
            for j in sorted(group[upper[group] > 0], key=lambda j: values[j]):
                below, above = upper.copy(), lower.copy()
                below[group], below[j], above[j] = 0.0, 1.0, 1.0
                yield above, below
            return
        flags = np.where(self.binary, away, 0.0)
        chosen = flags if flags.max() > self.tolerance else away
        j = int(chosen.argmax())
        if chosen is away and chosen[j] > self.tolerance:  # rounding may do
            self._offer(values)
        if chosen[j] <= self.tolerance:
            whole = self.program.whole
            held = [np.where(whole, np.round(values), ends) for ends in ranges]
            self._settle((held[0], held[1]), bound, deadline)
            return
        below, above = upper.copy(), lower.copy()
        below[j], above[j] = np.floor(values[j]), np.ceil(values[j])
        parts = [(lower, below), (above, upper)]  # the nearer one last
        yield from parts[:: 1 if values[j] - below[j] > above[j] - values[j] else -1]

    def _descend_now_and_then(self, descend: Descend, deadline: float) -> None:
        """Descend, unless that takes its share of the time already: less, each time in vain."""
        begun = now()
        spent = begun - self.started
        if spent > BRIEF and self.looking <= SHARE * spent / (1 + self.in_vain):
            better = descend(min(begun + SLICE, deadline))
            self.in_vain += 1
            if better is not None:
                self.radius, self.in_vain = min(self.radius, better), 0
            self.looking += now() - begun

    def _dive_now_and_then(self, values: Floats, ranges: Ranges, deadline: float) -> None:
        """Dive from a node, both ways, unless that takes its share of the time already."""
        for costly_first in (True, False):
            begun = now()
            if self.looking <= SHARE * (begun - self.started):
                self._dive(values, ranges, costly_first, deadline)
                self.looking += now() - begun

    def _dive(self, values: Floats, ranges: Ranges, costly_first: bool, deadline: float) -> None:
        """Look for a point below a node: changes that cost are undone, while one is left.

        One number is made whole after the other, those that stand for a change first, to 0, the
        least first; what does not go is put the other way round, once.  This proves nothing.
        """
        until = min(deadline, now() + DIVE * (deadline - now()))
        lower, upper = (ends.copy() for ends in ranges)
        costly = self.binary & (self.program.cost > 0)
        while True:
            if costly_first:
                upper[costly & (lower == 0) & (values <= WHOLE)] = 0.0
            chosen = self._torn(values, costly & (lower < upper), costly_first)
            if chosen is None:
                break
            j, goal = chosen
            other = lower[j] + upper[j] - goal
            found = self._fixed(j, goal, lower, upper, until)
            if found is None and self.binary[j]:
                found = self._fixed(j, other, lower, upper, until)
            if found is None:
                return
            values = found
        for j in np.flatnonzero(costly & (lower == 1)).tolist():  # in vain, by what came after it?
            found = self._fixed(j, 0.0, lower, upper, until)
            if found is None:
                lower[j] = upper[j] = 1.0
            else:
                values = found
        held = [np.where(self.program.whole, np.round(values), ends) for ends in (lower, upper)]
        self._place((held[0], held[1]), -np.inf, deadline)

    def _fixed(
        self, j: int, value: float, lower: Floats, upper: Floats, deadline: float
    ) -> Floats | None:
        """The solution with one more number fixed; ``None`` if there is none, or no time."""
        lower[j] = upper[j] = value
        return None if now() >= deadline else self._relaxed((lower, upper), deadline)

    def _torn(self, values: Floats, costly: Any, costly_first: bool) -> tuple[int, float] | None:
        """Which number a dive fixes next, and where."""
        away = np.where(self.program.whole & ~costly, np.abs(values - np.round(values)), 0.0)
        torn = away > WHOLE
        if costly.any() and (costly_first or not torn.any()):
            return int(np.where(costly, values, np.inf).argmin()), 0.0
        if not torn.any():
            return None
        j = int(np.where(torn, away, np.inf).argmin())
        return j, float(np.round(values[j]))

    def _relaxed(self, ranges: Ranges, deadline: float) -> Floats | None:
        """The solution of a linear program; none if there is none, or too far away."""
        self.solver.hold(*ranges)
        try:
            found = self.solver.solve(self.near, deadline, self.more)
        except SolverError:
            return None
        if found is None or found.objective / self.program.scale >= self.radius:
            return None
        return found.values

    def _offer(self, values: Floats) -> None:
        better = self.offer(self.formulation.lift(values))
        if better is not None:
            self.radius = min(self.radius, better)

    def _settle(self, ranges: Ranges, bound: float, deadline: float) -> None:
        """Offer the nearest point of a node, which stays open unless that closes it."""
        self._place(ranges, bound, deadline)
        if bound < self.radius:
            self.least = min(self.least, bound)

    def _place(self, ranges: Ranges, bound: float, deadline: float) -> None:
        """Offer the nearest point of a node that uses up less of the tolerance than bounds do.

        Where it lies on the target's border, and is not accepted, points that win clearly.
        """
        for margin in self.margins:
            found = self._nearest(margin, ranges, deadline)
            better = None if found is None else self.offer(found)
            if better is not None:
                self.radius = min(self.radius, better)
            if found is None or better is not None or bound >= self.radius:
                break
            if now() > deadline:
                break

    def _nearest(self, margin: Fraction, ranges: Ranges, deadline: float) -> Any:
        """The point of a node that is nearest, if the target is won by a margin."""
        if margin not in self.clearer:
            formulation = self.formulation
            if margin:
                formulation = self.formulator.formulate(formulation.writer.radius, margin)
            same = [c.name for c in formulation.model.columns] == self.names
            known = formulation, program_over(formulation) if same else None
            self.clearer[margin] = known
        formulation, solver = self.clearer[margin]
        if solver is None:
            return None
        lower, upper = ranges
        closer = upper.copy()
        closer[solver.slack] = min(self.inner, closer[solver.slack])
        solver.hold(lower, closer)
        try:
            found = solver.solve(self.near, deadline, self.more)
        except SolverError:
            return None
        return None if found is None else formulation.lift(found.values)
