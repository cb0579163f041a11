"""Exact multipliers from the basis that a linear program ended with.

Rounded multipliers miss a bound by a little; where that matters (two values that tie, or differ by
less than doubles tell), the linear equations of the basis are solved in rational numbers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction as Q
from typing import Any

import highspy
import numpy as np

from ....arrays import Floats
from .problem import ZERO, Problem

LARGEST = 300  # equations; more are left to doubles
Equation = dict[int, Q]  # factors by unknown, and the right side under -1
SIDE = -1


def duals(
    problem: Problem, basics: tuple[list[int], list[int]], cost: dict[int, Q], given: dict[int, Q]
) -> dict[int, Q] | None:
    """Multipliers y of rows with ``Σ y_i a_ij = cost_j`` for all basic columns j.

    ``basics`` are basic columns and the rows that are not basic; ``given`` are known multipliers.
    None if the equations are too many, or have no single solution; refuses at the deadline.
    """
    columns, rows = basics
    if len(columns) > LARGEST:
        return None
    equations: dict[int, Equation] = {j: {SIDE: cost.get(j, ZERO)} for j in columns}
    for i in rows:
        for j, f in problem.rows[i].terms.items():
            if j in equations:
                equations[j][i] = f
    for i, y in given.items():
        for j, f in problem.rows[i].terms.items():
            if j in equations:
                equations[j][SIDE] -= y * f
    found = _solved(problem, list(equations.values()))
    return None if found is None else {**found, **given}


def _solved(problem: Problem, equations: list[Equation]) -> dict[int, Q] | None:
    """Eliminate the unknowns, the shortest equation first, and put in what they are."""
    order: list[tuple[int, Equation]] = []
    while equations:
        equations.sort(key=len, reverse=True)
        one = equations.pop()
        uses = [i for i in one if i != SIDE]
        if not uses:
            if one.get(SIDE, ZERO):
                return None
            continue
        counts = {i: sum(i in other for other in equations) for i in uses}
        pivot = min(uses, key=lambda i: counts[i])
        for other in equations:
            if pivot in other:
                problem.left()
                _reduce(other, one, pivot)
        order.append((pivot, one))
    values: dict[int, Q] = {}
    for pivot, one in reversed(order):
        rest = sum(
            (f * values.get(i, ZERO) for i, f in one.items() if i not in (pivot, SIDE)), ZERO
        )
        values[pivot] = (one.get(SIDE, ZERO) - rest) / one[pivot]
    return {i: y for i, y in values.items() if y}


def _reduce(other: Equation, one: Equation, pivot: int) -> None:
    """Take the pivot out of an equation."""
    factor = other[pivot] / one[pivot]
    for i, f in one.items():
        value = other.get(i, ZERO) - factor * f
        if value:
            other[i] = value
        else:
            other.pop(i, None)


def leaving(problem: Problem, basics: tuple[list[int], list[int]], ray: Sequence[Q]) -> tuple[
    dict[int, Q], dict[int, Q]
]:  # fmt: skip
    """What sets a ray of a basis apart: the product with one basic column, or a basic row."""
    columns, rows = basics
    apart = set(range(len(problem.rows))) - set(rows)
    largest = max(apart, key=lambda i: abs(ray[i]), default=-1)
    if largest >= 0 and abs(ray[largest]) > Q(1, 10**9):
        return {}, {largest: Q(1 if ray[largest] > 0 else -1)}
    products = dict.fromkeys(columns, ZERO)
    for i, row in enumerate(problem.rows):
        for j, f in row.terms.items():
            if ray[i] and j in products:
                products[j] += ray[i] * f
    best = max(products, key=lambda j: abs(products[j]), default=-1)
    return ({best: Q(1 if products[best] > 0 else -1)} if best >= 0 else {}), {}


Bounds = tuple[list[Q | int], list[Q | int]]  # lower and upper ends of all columns
PRECISIONS = (20, 32, 48, 64)  # binary places of multipliers, tried in turn
ODD = 10**6  # the largest odd denominator of the objective that multipliers are given, too
TOLERANCE = 1e-9
MARGIN = 1e-6  # by how much rows that ties hang on are tightened, of proposals alone
TIED = ("target", "constraint")  # the groups of those rows


@dataclass(frozen=True)
class Solution:
    """What a linear program came to.

    Attributes:
        state: ``optimal``, ``infeasible``, or ``open`` if neither was found.
        value: The objective.
        point: Values of the columns.
        by: Multipliers of rows: duals, or a ray of them.
    """

    state: str
    value: float
    point: Floats
    by: Floats


@dataclass(frozen=True)
class Tried:
    """Whole multipliers: of scaled rows over ``per``, and what they leave for the bounds."""

    value: Q
    rows: dict[int, int]
    bounds: dict[int, int]
    per: int


@dataclass(frozen=True)
class Shown:
    """``objective >= value``, or ``0 >= value`` if it is ``empty``, by multipliers.

    ``rows`` are multipliers of rows; ``bounds`` of the lower (positive) or upper (negative) bounds
    of columns.
    """

    value: Q
    empty: bool
    rows: dict[int, Q]
    bounds: dict[int, Q]


class Relaxation:
    """The program without whole numbers; bounds of columns vary."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.row_scales = [_scale(row.terms.values()) for row in problem.rows]
        spans = [(abs(c.low), abs(c.high)) for c in problem.columns]
        self.column_scales = [1 / _scale(span) for span in spans]
        self.widths = np.array([float(scale) for scale in self.column_scales])
        self._to_whole()
        odd = math.lcm(*(value.denominator for value in problem.objective.values()))
        odd //= odd & -odd
        self.odd = odd if odd < ODD else 1
        self.solver, self.margin = self._solver(), 0.0

    def _to_whole(self) -> None:
        """Scaled rows and the objective as whole numbers over one denominator."""
        every = [
            ({**row.terms, SIDE: row.side}, scale)
            for row, scale in zip(self.problem.rows, self.row_scales, strict=True)
        ]
        every.append((self.problem.objective, Q(1)))
        bottoms = {(v.denominator, scale) for row, scale in every for v in row.values()}
        self.unit = math.lcm(*((scale / bottom).denominator for bottom, scale in bottoms))
        self.whole = []
        for row, scale in every:
            self.problem.left()
            most, least = (self.unit * scale).as_integer_ratio()
            self.whole.append(
                {j: v.numerator * most // (v.denominator * least) for j, v in row.items()}
            )

    def _solver(self) -> Any:
        """The program in doubles."""
        problem, infinite = self.problem, highspy.kHighsInf
        make: Any = highspy.Highs
        solver = make()
        for option, value in (
            ("output_flag", False), ("threads", 1), ("presolve", "on"), ("solver", "simplex"),
            ("primal_feasibility_tolerance", TOLERANCE), ("dual_feasibility_tolerance", TOLERANCE),
        ):  # fmt: skip
            solver.setOptionValue(option, value)
        index, factors, starts = [], [], [0]
        sides: list[tuple[float, float]] = []
        for row, scale in zip(problem.rows, self.row_scales, strict=True):
            problem.left()
            index += list(row.terms)
            factors += [float(f * scale * self.column_scales[j]) for j, f in row.terms.items()]
            starts.append(len(index))
            side = float(row.side * scale)
            sides.append((-infinite if row.sense == "L" else side,
                          infinite if row.sense == "G" else side))  # fmt: skip
        cost = np.zeros(len(problem.columns))
        for j, f in problem.objective.items():
            cost[j] = float(f * self.column_scales[j])
        ends = [self._ends(j, c.low, c.high) for j, c in enumerate(problem.columns)]
        lower, upper = np.array(ends, dtype=np.float64).reshape(-1, 2).T.copy()
        low, high = np.array(sides, dtype=np.float64).reshape(-1, 2).T.copy()
        solver.passModel(
            cost.size, len(sides), len(factors), int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMinimize), 0.0, cost, lower, upper, low, high,
            np.array(starts[:-1], dtype=np.int32), np.array(index, dtype=np.int32),
            np.array(factors, dtype=np.float64), np.zeros(cost.size, dtype=np.int32),
        )  # fmt: skip
        return solver

    def _ends(self, j: int, low: Q | int, high: Q | int) -> tuple[float, float]:
        return float(low / self.column_scales[j]), float(high / self.column_scales[j])

    def bound(self, j: int, low: Q | int, high: Q | int) -> None:
        """Set the bounds of a column."""
        self.solver.changeColBounds(j, *self._ends(j, low, high))

    def solve(self, seconds: float, iterations: int = 2**30) -> Solution:
        """Solve with the bounds that were set."""
        self.solver.setOptionValue("time_limit", self.solver.getRunTime() + seconds)
        self.solver.setOptionValue("simplex_iteration_limit", iterations)
        self.solver.run()
        status, found = self.solver.getModelStatus(), self.solver.getSolution()
        point = np.array(found.col_value) * self.widths
        duals, value = np.array(found.row_dual), self.solver.getInfo().objective_function_value
        states = highspy.HighsModelStatus
        if status == states.kInfeasible:
            _, has, ray = self.solver.getDualRay()
            return Solution("infeasible", math.inf, point, np.array(ray) if has else duals * 0)
        state = "optimal" if status == states.kOptimal else "open"
        return Solution(state, float(value), point, duals)

    def shown(self, by: Floats, bounds: Bounds, places: int, *, empty: bool) -> Tried:
        """What multipliers prove, rounded to some binary places, for these bounds of columns."""
        per = self.odd << places
        rest = defaultdict[int, int](int)
        if not empty:
            rest.update((j, f * per) for j, f in self.whole[-1].items())
        factors, senses = dict[int, int](), self.problem.rows
        for i in np.flatnonzero(by).tolist():
            top, bottom = float(by[i]).as_integer_ratio()
            y, sense = (2 * top * per + bottom) // (2 * bottom), senses[i].sense
            if not y or (sense == "G" and y < 0) or (sense == "L" and y > 0):
                continue
            factors[i] = y
            for j, f in self.whole[i].items():
                rest[j] -= y * f
        value: Q | int = -rest.pop(SIDE, 0)
        low, high = bounds
        for j, f in rest.items():
            if f and (end := low[j] if f > 0 else high[j]):
                value += f * end
        return Tried(Q(value) / (self.unit * per), factors, rest, per)

    def named(self, tried: Tried, *, empty: bool) -> Shown:
        """The same with multipliers of the rows and bounds as they stand in the file."""
        unit = self.unit * tried.per
        rows = {i: Q(y, tried.per) * self.row_scales[i] for i, y in tried.rows.items()}
        bounds = {j: Q(f, unit) for j, f in tried.bounds.items() if f}
        return Shown(tried.value, empty, rows, bounds)

    def best(self, by: Floats, bounds: Bounds, aim: Q | None, *, empty: bool) -> Shown:
        """What reaches an aim with the fewest places; the largest bound if none does."""
        found = self.shown(by * 0, bounds, 0, empty=empty)  # bounds alone
        for places in PRECISIONS:
            if aim is not None and (found.value > ZERO if empty else found.value >= aim):
                break
            shown = self.shown(by, bounds, places, empty=empty)
            found = max(found, shown, key=lambda each: each.value)
        return self.named(found, empty=empty)

    def exact(self, by: Floats, bounds: Bounds, *, empty: bool) -> Shown | None:
        """What the basis that the solver ended with proves; None if it has no exact multipliers."""
        basis, basic = self.solver.getBasis(), highspy.HighsBasisStatus.kBasic
        columns = [j for j, status in enumerate(basis.col_status) if status == basic]
        rows = [i for i, status in enumerate(basis.row_status) if status != basic]
        cost, given = self.problem.objective, dict[int, Q]()
        if empty:
            scaled = zip(by, self.row_scales, strict=True)
            ray = [Q(float(y)) * scale for y, scale in scaled]
            cost, given = leaving(self.problem, (columns, rows), ray)
        found = duals(self.problem, (columns, rows), cost, given)
        return None if found is None else self._absorbed(found, bounds, empty=empty)

    def _absorbed(self, by: dict[int, Q], bounds: Bounds, *, empty: bool) -> Shown:
        """What exact multipliers prove."""
        value, rows = ZERO, dict[int, Q]()
        rest = {} if empty else dict(self.problem.objective)
        for i, y in by.items():
            row = self.problem.rows[i]
            if (row.sense == "G" and y < 0) or (row.sense == "L" and y > 0):
                continue
            rows[i], value = y, value + y * row.side
            for j, f in row.terms.items():
                rest[j] = rest.get(j, ZERO) - y * f
        kept = {j: f for j, f in rest.items() if f}
        value += sum((f * bounds[0 if f > 0 else 1][j] for j, f in kept.items()), ZERO)
        return Shown(value, empty, rows, kept)

    def tighten(self, margin: float) -> None:
        """Ask a margin of the rows that ties hang on; what is shown rests on them as they are."""
        if margin == self.margin:
            return
        self.margin = margin
        for i, row in enumerate(self.problem.rows):
            if row.group in TIED and row.terms:
                side = float(row.side * self.row_scales[i]) + margin
                self.solver.changeRowBounds(i, side, highspy.kHighsInf)


def _scale(values: Any) -> Q:
    """A power of 2 that brings the largest of some numbers near 1."""
    largest = max(map(abs, values), default=ZERO)
    if not largest:
        return Q(1)
    return Q(2) ** (largest.denominator.bit_length() - largest.numerator.bit_length())
