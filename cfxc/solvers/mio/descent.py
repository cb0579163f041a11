"""Descent within a hull: points of few changes near the instance, for any model.

With the features outside of a set S held at the instance's own values, what is left of a hull is a
slice of it, and a linear program finds the point of the slice that is nearest to any other.  From
a counterfactual, one feature after the other leaves S: the nearest point of the smaller slice is
tried, then points on the way to where the model was seen to agree.  At last numbers move home
within the slice, up to the border of the target.  It proves nothing; points are verified
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays import Floats
from ...compiler.mixed_integer import Rounded
from ...errors import SolverError
from ...question.criteria import MaxChanges
from ...question.domain import Domain
from ...question.hull import Coordinate, column_of
from ...question.query import Query
from ...stopping import now
from ..base import Point
from ..baselines import LocalSearch
from ..hulls import HullProgram

STARTS, TRIED = 4, 12  # rows of the hull that a descent may begin at; that are tried for it
RECENT = 200  # points that agreed lately, which alone are looked through
WAYS = 3  # of them, towards which one that does not is moved
STEPS = 17  # points on such a way
HOMEWARD = 8  # rounds of moving home
OUTSIDE = 1e-8  # of the hull: what a program's solution may lie beyond it
SPARSER, SMALL = 3, 0.02  # programs that prefer few changes, each weighed by the one before
LESS = 1e-12  # by how much a distance is less
HELD = 1e-9  # of a range: so near to the instance's own value a number is that
STALE = 25  # descents without an improvement, before it gives up

Offer = Callable[[Point], bool]
"""Offers a point; whether it is an improvement."""


class Slices:
    """``min Σ w_k |z_k - r_k|`` over a hull's points z in a box."""

    def __init__(self, query: Query) -> None:
        (self.hull,) = query.hulls
        size = len(self.hull.coordinates)
        self.size, self.reach = size, float(self.hull.inner)
        one, last = np.eye(size), np.zeros((size, 1))
        lower = np.concatenate([np.full(size, -np.inf), np.zeros(2 * size + 1)])
        upper = np.append(np.full(3 * size, np.inf), self.reach)
        cost = np.concatenate([np.zeros(size), np.ones(2 * size), [0.0]])
        sides = np.zeros(size), np.zeros(size)
        program = Rounded.of(cost, (lower, upper), np.hstack([one, -one, one, last]), sides)
        forms = np.hstack([one, np.zeros((size, 2 * size + 1))])
        self.program = HullProgram(self.hull, program, forms, np.zeros(size), 3 * size)
        self.rows = np.arange(size, dtype=np.int32)
        self.costly = np.arange(size, 3 * size, dtype=np.int32)

    def nearest(
        self, goal: Floats, weights: Floats, lower: Floats, upper: Floats, room: float,
        deadline: float,
    ) -> Floats | None:  # fmt: skip
        """The point nearest to a goal that leaves so much of the hull's ε; ``None`` if none does.

        Args:
            goal, weights, lower, upper: Shape (K,); r, w and the box.
            room: What rounding may then still add to the slack.
        """
        if room >= self.reach:
            return None
        solver, ends = self.program.solver, np.full(2 * self.size, np.inf)
        solver.changeRowsBounds(self.size, self.rows, goal, goal)
        solver.changeColsCost(2 * self.size, self.costly, np.tile(weights, 2))
        self.program.hold(
            np.concatenate([lower, np.zeros(2 * self.size + 1)]),
            np.concatenate([upper, ends, [self.reach - room]]),
        )
        try:
            found = self.program.solve(goal, deadline)
        except SolverError:
            return None
        if found is None or self.program.outside() > OUTSIDE:
            return None
        return found.values[: self.size]


class Descent:
    """Descents for one question in one hull, as long as they find something.

    The first ones begin at ``seeds``, points of the hull, or next to them.
    """

    def __init__(self, query: Query, rng: np.random.Generator, seeds: Sequence[Point] = ()) -> None:
        uncapped = [each for each in query.constraints if not isinstance(each.by, MaxChanges)]
        self.query, self.rng, self.seeds = query, rng, seeds
        self.most = len(query.domains) if query.cap is None else query.cap[0]
        self.local = LocalSearch(replace(query, constraints=tuple(uncapped)), rng)
        self.slices, self.domains = Slices(query), self.local.domains
        places = {domain.name: j for j, domain in enumerate(self.domains)}
        self.coordinates = [(places[c.feature], c) for c in query.hulls[0].coordinates]
        self.of = np.array([j for j, _ in self.coordinates])  # each coordinate's feature
        self.free = np.array([not domain.is_fixed for domain in self.domains])
        self.half = np.array([_half_step(self.domains[j], c) for j, c in self.coordinates])
        self.goal = self.z(self.local.start[None])[0]
        weights = np.array([float(domain.feature.weight) for domain in self.domains])
        self.weights = np.maximum(weights / (weights.max() or 1.0), 1e-6)[self.of]
        norms = query.distance.norms
        self.graded = norms is None or norms.l0 != 1  # whether it matters how far a number moves
        self.known: list[Floats] = []  # rows that the model agrees with
        self.best = np.inf
        self.nearest: tuple[float, Floats] | None = None  # of the known rows
        self.stale = 0
        self.deadline = -np.inf  # of the run that is under way
        self._begun = self._starts()

    @property
    def is_over(self) -> bool:
        """Whether more descents are in vain, as it seems."""
        return self.stale >= STALE

    def learn(self, point: Point) -> None:
        """A counterfactual that was found elsewhere."""
        row = self.local.row(point)
        distance = float(self.local.distances(row[None])[0])
        if distance < self.best - LESS:
            self._know(row)
            self.best, self.stale = distance, 0

    def run(self, offer: Offer, deadline: float) -> None:
        """Descend from one start after the other, then from where the best one ended."""
        self.deadline = deadline
        while not (self.is_over or self._late()):
            start = next(self._begun, None)
            if start is None:
                start = self._shaken()
            if start is None:
                self.stale += not self._late()
                continue
            before = self.best
            self._down(start, offer)
            if not self._late():
                self.stale = 0 if self.best < before else self.stale + 1

    def _late(self) -> bool:
        return now() >= self.deadline

    # -- where to begin ---------------------------------------------------------------------------

    def _starts(self) -> Iterator[Floats | None]:
        """Rows that the model agrees with: by the seeds, then the hull's own that are nearest."""
        space, hull = self.query.space, self.query.hulls[0]
        codes = space.encode_frame(hull.table, extra="ignore", check_range=False)
        rows = np.column_stack([codes[domain.name] for domain in self.domains]).astype(np.float64)
        rows = np.where(self.free, rows, self.local.start)
        for j, domain in enumerate(self.domains):
            if domain.is_symbolic:
                barred = ~np.isfinite(domain.deltas[rows[:, j].astype(np.int64)])
                rows[barred, j] = self.local.start[j]
        agreed = rows[self.local.hits(rows)]
        away = np.abs(self.z(agreed) - self.goal) @ self.weights
        nearest, found = np.argsort(away, kind="stable")[:TRIED].tolist(), 0
        for i in nearest:
            self._know(agreed[i])
        for seed in map(self.local.row, self.seeds):
            start = self._agreeing(seed, seed, seed != self.local.start)
            if start is not None:
                yield start
        for i in nearest:
            if found >= STARTS:
                return
            if self._late():
                yield None  # goes on in the next run
            start = self._in_slice(agreed[i], self.free)
            if start is not None and self._agrees(start):
                found += 1
                yield start

    def _shaken(self) -> Floats | None:
        """The nearest known row with one or two changes undone, and as few others as that takes.

        Also from rows that were refused: what is next to them may be accepted.
        """
        if self.nearest is None:
            return None
        _, best = self.nearest
        changed = np.flatnonzero(best != self.local.start)
        if not changed.size:
            return None
        allowed, kept = self.free.copy(), best != self.local.start
        count = min(changed.size, int(self.rng.integers(1, 3)))
        out = self.rng.choice(changed, count, replace=False)
        allowed[out] = kept[out] = False
        row = np.where(allowed, best, self.local.start)
        inner, near = kept[self.of], self.z(row[None])[0]
        z, weights = near, np.where(inner, 1e-3, self.rng.uniform(0.5, 1.5, inner.size))
        for _ in range(SPARSER):
            found = self._nearest(near, weights, row, allowed)
            if found is None:
                return None
            z = found
            weights = np.where(inner, 1e-3, 1 / (np.abs(z - near) + SMALL))
            weights /= weights.max()
        return self._agreeing(self._landed(z[None], row)[0], row, allowed)

    # -- fewer changes ----------------------------------------------------------------------------

    def _down(self, row: Floats, offer: Offer) -> None:
        """Undo changes until none goes; offer what is left, also with its numbers moved home."""
        needed = np.zeros(len(self.domains), dtype=np.bool_)  # no slice of the hull is without
        undone = True
        while undone and not self._late():
            undone = False
            for j in self._order(row, needed):
                allowed = row != self.local.start
                allowed[j] = False
                fewer, empty = self._without(row, j, allowed)
                needed[j] = empty
                if fewer is not None:
                    row, undone = fewer, True
                    self._finish(row, offer, graded=self.graded)
                    break
                if self._late():
                    break
        self._finish(row, offer)

    def _finish(self, row: Floats, offer: Offer, *, graded: bool = True) -> None:
        """Offer a row that changes few enough; ``graded``: with its numbers moved home."""
        if (row != self.local.start).sum() <= self.most:
            if graded:
                self._offered(self._homeward(row), offer)
            self._offered(row, offer)

    def _order(self, row: Floats, needed: Any) -> list[int]:
        """Features that changed, those that moved least first, with some noise."""
        changed = np.flatnonzero((row != self.local.start) & ~needed)
        moved = np.abs(self.z(row[None])[0] - self.goal)
        size = np.bincount(self.of, weights=moved, minlength=len(self.domains))[changed]
        order: list[int] = changed[
            np.argsort(size * self.rng.uniform(0.5, 1.5, size.size))
        ].tolist()
        return order

    def _without(self, row: Floats, j: int, allowed: Any) -> tuple[Floats | None, bool]:
        """A row that keeps feature j, and whether the hull has none."""
        kept = row.copy()
        kept[j] = self.local.start[j]
        z = self._nearest(self.z(row[None])[0], self.weights, kept, allowed)
        if z is None:
            return None, not self._late()
        return self._agreeing(self._landed(z[None], kept)[0], kept, allowed), False

    def _agreeing(self, row: Floats | None, labels: Floats, allowed: Any) -> Floats | None:
        """The row if the model agrees, or one on the way to where it does, within its slice."""
        if row is None or self._agrees(row):
            return row
        own = self.z(row[None])[0]
        near = self.known[-RECENT:]
        far = np.abs(self.z(np.array(near)) - own) @ self.weights if near else np.zeros(0)
        for i in np.argsort(far)[:WAYS].tolist():
            if self._late():
                return None
            z = self._nearest(self.z(near[i][None])[0], self.weights, labels, allowed)
            if z is None:
                continue
            shares = np.linspace(0.0, 1.0, STEPS)[1:, None]
            agreed = self._first((1 - shares) * own + shares * z, labels)
            if agreed is not None:
                return agreed
        return None

    # -- nearer -----------------------------------------------------------------------------------

    def _homeward(self, row: Floats) -> Floats:
        """The row with its numbers moved home within its slice, as far as the model agrees."""
        allowed, here = row != self.local.start, self._far(row)
        weights = self.weights
        for _ in range(HOMEWARD):
            if self._late():
                break
            goal = self._nearest(self.goal, weights, row, allowed)
            if goal is None:
                break
            shares = np.linspace(0.0, 1.0, 4 * STEPS)[:, None]
            own = self.z(row[None])[0]
            nearer = self._first((1 - shares) * goal + shares * own, row)
            if nearer is not None and self._far(nearer) < here - 1e-9:
                row, here, weights = nearer, self._far(nearer), self.weights
            else:  # other ways home
                weights = self.weights * self.rng.uniform(0.1, 1.0, weights.size)
        return row

    def _far(self, row: Floats) -> float:
        return float(np.abs(self.z(row[None])[0] - self.goal) @ self.weights)

    # -- rows and coordinates ---------------------------------------------------------------------

    def z(self, rows: Floats) -> Floats:
        """Coordinates (n, K) of rows (n, J)."""
        found = np.empty((len(rows), len(self.coordinates)))
        for k, (j, each) in enumerate(self.coordinates):
            found[:, k] = column_of(each, rows[:, j])
        return found

    def _box(self, row: Floats, allowed: Any) -> tuple[Floats, Floats]:
        """What coordinates may be: labels stay, numbers that may not change are the instance's."""
        lower = self.z(row[None])[0]
        upper = lower.copy()
        for k, (j, each) in enumerate(self.coordinates):
            domain = self.domains[j]
            if domain.is_symbolic:
                continue
            if allowed[j]:
                lower[k] = float(each.of(domain.lower, domain.feature))
                upper[k] = float(each.of(domain.upper, domain.feature))
            else:
                lower[k] = upper[k] = self.goal[k]
        return lower, upper

    def _nearest(self, goal: Floats, weights: Floats, row: Floats, allowed: Any) -> Floats | None:
        """The nearest point of a slice that may be rounded; of a narrow one, rounded one by one."""
        lower, upper = self._box(row, allowed)
        room = float(self.half[lower < upper].sum())
        z = self.slices.nearest(goal, weights, lower, upper, room, self.deadline)
        if z is not None or not room:
            return z
        for _ in range(len(self.coordinates)):
            z = self.slices.nearest(goal, weights, lower, upper, 0.0, self.deadline)
            if z is None:
                return None
            loose = np.flatnonzero((lower < upper) & (self.half > 0))
            if not loose.size:
                return z
            landed = self.z(self._landed(z[None], row))[0]
            k = loose[int(np.abs(landed - z)[loose].argmin())]
            lower[k] = upper[k] = landed[k]
        return None

    def _landed(self, points: Floats, labels: Floats) -> Floats:
        """The admissible rows (n, J) nearest to coordinates (n, K); categories as in ``labels``."""
        rows = np.repeat(labels[None], len(points), axis=0)
        for k, (j, each) in enumerate(self.coordinates):
            domain = self.domains[j]
            if not domain.is_symbolic:
                held = np.abs(points[:, k] - self.goal[k]) <= HELD
                moved = domain.rounded(each.back(points[:, k]))
                rows[:, j] = np.where(held, self.local.start[j], moved)
        return rows

    def _in_slice(self, row: Floats, allowed: Any) -> Floats | None:
        """A row, or the nearest one of the hull that is admissible."""
        z = self._nearest(self.z(row[None])[0], self.weights, row, allowed)
        return None if z is None else self._landed(z[None], row)[0]

    def _first(self, points: Floats, labels: Floats) -> Floats | None:
        """The first of some coordinates whose row the model agrees with."""
        rows = self._landed(points, labels)
        hits = self.local.hits(self.local.followed(rows))
        if not hits.any():
            return None
        found: Floats = rows[int(hits.argmax())]
        self._know(found)
        return found

    def _know(self, row: Floats) -> None:
        distance = float(self.local.distances(row[None])[0])
        self.known.append(row)
        if self.nearest is None or distance < self.nearest[0]:
            self.nearest = distance, row

    def _agrees(self, row: Floats) -> bool:
        agreed = bool(self.local.hits(row[None])[0])
        if agreed:
            self._know(row)
        return agreed

    def _offered(self, row: Floats, offer: Offer) -> None:
        distance = float(self.local.distances(row[None])[0])
        if distance < self.best - LESS and offer(self.local.point(row)):
            self.best = distance


def _half_step(domain: Domain, coordinate: Coordinate) -> float:
    """Half of the grid's step in a coordinate: what rounding may add to the slack."""
    if domain.is_symbolic or domain.step is None:
        return 0.0
    return float(domain.step * coordinate.scale) / 2
