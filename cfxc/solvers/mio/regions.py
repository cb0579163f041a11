"""Branch and bound over the features themselves: best first by distance, closed by linear bounds.

Few features can move far within a small radius, and splitting *them* makes most phases of a
network known at once.  A box of columns is closed if the budget or some row refutes it under the
linear relaxation, rounded outward (``kernels/regions.cpp``); a box that is one point is decided by
exact evaluation, and one that is too narrow to be split, but no point of a grid, stays open.  So
the bound is proved without any solver's tolerance: the distance of the nearest open box, or the
radius when none is left.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from ...arrays import Bools, Floats, Ints
from ...compiler.emit.rows import LABEL, MAX
from ...compiler.relaxation import dense
from ...ir.interval import ceil_float, floor_float
from ...ir.linear import LinearForm
from ...kernels import region_narrow, region_step
from ...stopping import now, polled
from .formulation import DISTANCE, Formulation

BATCH = 64  # boxes per call of the kernel
LIMIT = 400_000  # open boxes held in memory
LARGEST = 400  # base columns
FINE = 1e-9  # of its range: how narrow a continuous column is split
GLANCE = 16  # open boxes with which a radius is still as good as closed
SHARES = tuple(map(Fraction, ("0.25", "0.5", "0.7", "0.85", "1")))  # of the radius, one by one
TRIES = 2  # points per batch that are verified

Improve = Callable[[dict[str, Any]], Fraction | None]
"""Offers a point; the new radius to look within if it is an improvement, else ``None``."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a search ended: nothing within ``radius`` is left, or nothing nearer than ``lower``."""

    status: Literal["closed", "limit"]
    lower: Fraction
    boxes: int


def applies(formulation: Formulation) -> bool:
    """Whether there is a budget, and columns to split, but not too many."""
    emission, columns = formulation.emission, formulation.emission.model.columns
    units = emission.relaxation.units
    if emission.relaxation.budget is None:
        return False
    cost = emission.relaxation.budget[0]
    if any(cost.terms.get(unit.column, 0) < 0 for unit in units):
        return False  # what is left out of a box's cost must not make it cheaper
    return 0 < len(columns) - len(units) - len(emission.phases) <= LARGEST


class Problem(NamedTuple):
    """What the kernel reads of a formulation with n base columns and K units ``f_k(z_k)``.

    Attributes:
        whole, named: (n,), which columns take whole numbers only, and which determine the point.
        fine: (n,), how narrow each named column has to become to be left to exact arithmetic.
        cost: (n,), of a unit of each column; ``partner`` (n,), up and down of one feature, or -1.
        group: (n,), which group of labels a column is of, or -1; ``members`` (G, L), its columns,
            -1 where there is none.
        z, z0: (K, n + K) and (K,), what each unit is a function of; ``deep`` (K,), whether it reads
            units; ``root`` (2, K), bounds of z everywhere; ``curved`` (K,), the function's place in
            ``CURVES``, -1 for ``max(z, 0)``.
        reach: (K, n), how strongly base columns act on each unit.
        rows, row_low, row_high: (R, n + K) and (R,), rows with units; ``plain``, ``plain_low``,
            ``plain_high``: (P, n) and (P,), those without.
    """

    whole: Bools
    named: Bools
    fine: Floats
    cost: Floats
    partner: Ints
    group: Ints
    members: Ints
    z: Floats
    z0: Floats
    curved: Ints
    deep: Bools
    root: Floats
    reach: Floats
    rows: Floats
    row_low: Floats
    row_high: Floats
    plain: Floats
    plain_low: Floats
    plain_high: Floats


class Regions:
    """The search over one formulation."""

    def __init__(self, formulation: Formulation) -> None:
        self.formulation = formulation
        emission = formulation.emission
        model, relaxation = emission.model, emission.relaxation
        units = {unit.column for unit in relaxation.units}
        hidden = units | emission.phases
        self.base = [j for j in range(len(model.columns)) if j not in hidden]
        self.count = len(self.base)
        self.place = {
            j: i for i, j in enumerate([*self.base, *(u.column for u in relaxation.units)])
        }
        held = [model.columns[j] for j in self.base]
        self.low = np.array([floor_float(c.lower) for c in held], dtype=np.float64)
        self.high = np.array([ceil_float(c.upper) for c in held], dtype=np.float64)
        named = {j for form in emission.variables.values() for j in form.terms}
        z, z0 = dense(self.place, [unit.z for unit in relaxation.units])
        curved = np.array([unit.curve for unit in relaxation.units], dtype=np.int64)
        root = np.array(
            [
                [floor_float(unit.lower) for unit in relaxation.units],
                [ceil_float(unit.upper) for unit in relaxation.units],
            ]
        )
        distance, self.radius = relaxation.budget or (LinearForm({}), Fraction(0))
        self.partly = not units.isdisjoint(distance.terms)  # the distance has maxima of its own
        group, members = self._groups()
        self.shift = distance.constant
        cost = dense(self.place, [distance])[0][0, : self.count].copy()
        partner = np.full(self.count, -1, dtype=np.int64)
        for pair in formulation.writer.pairs:
            up, down = (self.place[j] for j in pair)
            partner[up], partner[down] = down, up
        whole = np.array([c.whole for c in held], dtype=np.bool_)
        width = self.high - self.low
        named -= formulation.writer.roundings  # the nearest admissible value takes their place
        naming = np.array([j in named for j in self.base], dtype=np.bool_)
        naming &= whole | (width > 0)
        fine = np.where(whole, 0.0, FINE * width)
        self.finite = bool(whole[naming].all())
        deep = (z[:, self.count :] != 0).any(axis=1)
        reach = np.abs(z[:, : self.count])
        for k in polled(np.flatnonzero(deep).tolist(), 64):
            reach[k] += np.abs(z[k, self.count : self.count + k]) @ reach[:k]
        self.problem = Problem(
            whole, naming, fine, cost, partner, group, members, z, z0, curved, deep, root,
            reach, *self._rows(),
        )  # fmt: skip

    def _rows(self) -> tuple[Floats, ...]:
        """Rows that the relaxation does not know of by itself, with units and without."""
        known = {MAX, LABEL} | (set() if self.partly else {DISTANCE})
        rows = [row for row in self.formulation.emission.model.rows if row.why not in known]
        matrix, _ = dense(self.place, [LinearForm(row.terms) for row in rows])
        ends = [
            (
                -np.inf if row.lower is None else floor_float(row.lower),
                np.inf if row.upper is None else ceil_float(row.upper),
            )
            for row in rows
        ]
        bounds = np.array(ends, dtype=np.float64).reshape(-1, 2)
        deep = (matrix[:, self.count :] != 0).any(axis=1)
        plain = _part(matrix[:, : self.count], bounds, ~deep)
        joint = deep | (len(self.place) == self.count)  # without units all rows meet the budget
        return (*_part(matrix, bounds, joint), *plain)

    def _groups(self) -> tuple[Ints, Ints]:
        """Of which group each column is, and the columns of each."""
        groups = self.formulation.emission.relaxation.groups
        width = max(map(len, groups), default=1)
        members = np.full((len(groups), width), -1, dtype=np.int64)
        group = np.full(self.count, -1, dtype=np.int64)
        for g, columns in enumerate(groups):
            for i, j in enumerate(columns):
                members[g, i] = self.place[j]
                group[self.place[j]] = g
        return group, members

    def run(self, improve: Improve, deadline: float) -> Ending:
        """Close every box within the radius, or as many as the time allows.

        Unless few are enough, within growing radii: what lies near is found by few boxes, and the
        radius shrinks to it.
        """
        ending, top = self._within(self.radius, self.radius, improve, deadline, GLANCE)
        boxes, lower = ending.boxes, ending.lower
        for share in SHARES if ending.status == "limit" else ():
            radius = self.shift + share * (top - self.shift)
            ending, top = self._within(radius, top, improve, deadline, LIMIT)
            boxes += ending.boxes
            lower = max(lower, ending.lower)
            if ending.status == "limit":
                return Ending("limit", min(lower, top), boxes)
            if ending.lower >= top:
                break
        return Ending("closed", top, boxes)

    def _within(
        self, radius: Fraction, top: Fraction, improve: Improve, deadline: float, most: int
    ) -> tuple[Ending, Fraction]:
        """Close every box within a radius that is at most the one of interest; the latter then.

        Stops where more than ``most`` boxes are open.
        """
        made, boxes, least = 1, 0, np.inf
        low, high = self.low.copy(), self.high.copy()
        first = region_narrow(self.problem, ceil_float(radius - self.shift), low, high)
        queue = [(first, 0, low, high)] if first < np.inf else []
        while queue:
            if now() >= deadline or len(queue) > most:
                lower = Fraction(min(queue[0][0], least)) + self.shift
                return Ending("limit", min(lower, radius), boxes), top
            batch = [heapq.heappop(queue) for _ in range(min(BATCH, len(queue)))]
            boxes += len(batch)
            lows = np.array([box[2] for box in batch])
            highs = np.array([box[3] for box in batch])
            child_low, child_high, keys, tries, decided, costs = region_step(
                self.problem, ceil_float(radius - self.shift), lows, highs
            )
            for i, key in enumerate(keys.tolist()):
                heapq.heappush(queue, (key, made, child_low[i], child_high[i]))
                made += 1
            if not self.finite:
                least = min([least, *costs.tolist()])
            order = np.argsort(tries @ self.problem.cost, kind="stable")[:TRIES]
            for point in [*(decided if self.finite else decided[:TRIES]), *tries[order]]:
                if now() >= deadline:  # of what was decided, too, some was not offered
                    lower = Fraction(min(batch[0][0], least)) + self.shift
                    return Ending("limit", min(lower, radius), boxes), top
                found = improve(self._lift(point))
                top = top if found is None else min(top, found)
            radius = min(radius, top)
        if least < np.inf and Fraction(least) + self.shift < radius:
            return Ending("limit", Fraction(least) + self.shift, boxes), top
        return Ending("closed", radius, boxes), top

    def _lift(self, point: Floats) -> dict[str, Any]:
        values = np.zeros(len(self.formulation.emission.model.columns))
        values[self.base] = point
        return self.formulation.lift(values)


def _part(matrix: Floats, ends: Floats, chosen: Any) -> tuple[Floats, Floats, Floats]:
    """Some rows of a matrix, and their ends."""
    parts = (matrix[chosen], ends[chosen, 0], ends[chosen, 1])
    body, low, high = (np.ascontiguousarray(part) for part in parts)
    return body, low, high
