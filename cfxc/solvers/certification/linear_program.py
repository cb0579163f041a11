"""The linear program of a part of the ball, its duals, and where its solution is wrong.

Everything is read from the checker's :class:`Proof`, in doubles; only duals come back.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import highspy
import numpy as np

from ...arrays import Floats
from ...certificates.checker import Proof
from ...certificates.checker.layers import payments
from ...certificates.checker.program import CONSTANT, HALF_ULP, LEAST, Form, image, images
from ...certificates.checker.rules import PLANES, Multipliers
from ...certificates.checker.smooth import CURVES
from ...compiler.linear_programs import made_solver, run_in_time
from ...compiler.mixed_integer import Rounded
from ...ir.linear import ZERO
from ..encoding.squares import Tangents
from .curves import lines, touch
from .hull_columns import Arrays, HullColumns
from .leaves import paying, trees_in
from .solution import WRONG, Solution

Key = tuple[Any, ...]  # name and place of an inequality and, of planes, slopes
Inequality = tuple[Key, Floats, float, float]  # row @ x >= side, and how much slack counts in it
SHARES = 2**40  # parts into which shares are rounded down
READ = ("one", "x", "is", "tree")  # what is not made
PENALTY = 1e3  # what missing a requirement costs, as a distance
SMALLEST = 1e-12  # multipliers below this are left out
FLAT = 1e-6  # ranges of columns count as no smaller, as a share of their ends
TANGENTS = 5  # of a square, at first
ROUNDS = 3  # in which smooth functions are touched where the last solution was


class LinearProgram:
    """The linear program of a part, over the first ``depth`` forms that were made."""

    def __init__(
        self, problem: Proof, parts: list[Any], signs: Any, spans: Any, depth: int
    ) -> None:
        self.problem, self.parts, self.signs, self.spans = problem, parts, signs, spans
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.cost: list[float] = []
        self.shift = 0.0
        self.base: dict[int, Fraction] = {}
        self.numbers: dict[int, tuple[int, int, int]] = {}
        self.labels: dict[tuple[int, int], int] = {}
        self.groups: list[list[int]] = []
        self.open: dict[int, int] = {}
        self.steps: dict[int, int] = {}
        self.noise: dict[int, int] = {}
        self.products: dict[int, int] = {}
        self.curves: dict[int, int] = {}
        self._touched: dict[int, list[float]] = {}
        self._squares: list[tuple[int, int, int, float, float]] = []
        self.depth = depth
        for k in range(depth):
            self._make(k)
        for j, feature in enumerate(problem.features):
            if feature.labels:
                self._category(j)
            else:
                self._number(j)
        self.trees = trees_in(problem, parts, signs, spans, lambda: self._column(0.0, 1.0))
        self.groups += [[leaf.column for leaf in tree.leaves] for tree in self.trees]
        self.pairs = list(paying(self.trees))
        self.paid = {j: self._column(0.0, 1.0) for j in {j for _, j in self.pairs}}
        linf = float(problem.norms[2])
        self.top = self._column(0.0, 1.0, linf) if linf else -1
        self.z, self.z0 = np.zeros((depth, len(self.cost) + 1)), np.zeros(depth)
        for k in range(depth):
            self.z[k], self.z0[k] = self.form(problem.program.made[k])

    def _column(self, low: float, high: float, cost: float = 0.0) -> int:
        self.lower.append(low)
        self.upper.append(high)
        self.cost.append(cost)
        return len(self.cost) - 1

    def _make(self, k: int) -> None:
        """Columns of what is made: open units, steps, and by how much roundings may be off."""
        kind, (low, high) = self.problem.program.kinds[k], self.spans[k]
        if kind == "step":
            self.steps[k] = self._column(*(float(image(kind, end)) for end in (low, high)))
        elif kind == "single":
            size = float(HALF_ULP * max(abs(low), abs(high)) + LEAST)
            self.noise[k] = self._column(-size, size)
        elif kind == "product":
            self.products[k] = self._column(float(low), float(high))
        elif kind in CURVES:
            self.curves[k] = self._column(*map(float, images(kind, low, high)))
        elif kind == "unit" and low < 0 < high:
            self.open[k] = self._column(0.0, float(high))

    def _category(self, j: int) -> None:
        feature, group = self.problem.features[j], []
        for i in sorted(self.parts[j]):
            group.append(self._column(0.0, 1.0, float(self.problem.cost(j, feature.delta(i)))))
            self.labels[j, i] = group[-1]
        self.groups.append(group)

    def _number(self, j: int) -> None:
        """``x = base + up - down``, base being the value of the range next to the factual."""
        problem, feature, (low, high) = self.problem, self.problem.features[j], self.parts[j]
        base = self.base[j] = min(max(feature.own, low), high)
        (l0, l1, _, l2), share, size = problem.norms, problem.shares[j], self._size(j)
        start = feature.delta(base)
        self.shift += float(problem.cost(j, start))
        columns = []
        for reach in (high - base, base - low):
            slope = ZERO
            if size:
                slope = share * (l1 + 2 * l2 * start) / size
                if not start and reach and l0:
                    slope += share * l0 / reach
            columns.append(self._column(0.0, float(reach), float(slope)))
        square = -1
        if l2 and size and low < high:
            most = max(high - base, base - low) / size
            square = self._column(0.0, float(most * most), float(share))
            for place in Tangents().of(feature.name, most):
                tangent = float(2 * place / size), -float(place * place)
                self._squares.append((columns[0], columns[1], square, *tangent))
        self.numbers[j] = (columns[0], columns[1], square)

    def _size(self, j: int) -> Fraction:
        """The range over which δ_j grows by 1; 0 if it does not, as where a gap is filled in."""
        feature = self.problem.features[j]
        return ZERO if feature.own == feature.absent else feature.size

    def cost_of(self, j: int, values: Floats) -> float:
        """What the program thinks that number j costs."""
        own = [i for i in self.numbers[j] if i >= 0]
        return self._start(j) + float(sum(self.cost[i] * values[i] for i in own))

    def _start(self, j: int) -> float:
        """What feature j costs at its base."""
        feature = self.problem.features[j]
        return 0.0 if feature.labels else float(self.problem.cost(j, feature.delta(self.base[j])))

    def objective(self) -> tuple[Floats, float]:
        """The distance over the columns (the last is slack) and a constant; of features that trees
        pay of, the column that is at least their cost.
        """
        cost, shift = np.array([*self.cost, 0.0]), self.shift
        for j, column in self.paid.items():
            cost[self._own(j)] = 0.0
            cost[column], shift = 1.0, shift - self._start(j)
        return cost, shift

    def _own(self, j: int) -> list[int]:
        """The columns of a feature."""
        if self.problem.features[j].labels:
            return [self.labels[j, i] for i in self.parts[j]]
        return [i for i in self.numbers[j] if i >= 0]

    def form(self, form: Form) -> tuple[Floats, float]:
        """A form over the columns (the last is slack): factors, constant."""
        row: Floats = np.zeros(len(self.cost) + 1)
        shift = 0.0
        for (kind, k, *rest), factor in form.items():
            value = float(factor)
            if kind == "one":
                shift += value
            elif kind == "tree":
                for leaf in (leaf for t in self.trees if t.ensemble == k for leaf in t.leaves):
                    row[leaf.column] += value * leaf.values[rest[0]]
            elif kind == "x":
                up, down, _ = self.numbers[k]
                row[up] += value
                row[down] -= value
                shift += value * float(self.base[k])
            elif kind == "is":
                if (k, rest[0]) in self.labels:
                    row[self.labels[k, rest[0]]] += value
            elif kind in ("step", "product", *CURVES) or k in self.open:
                own = {"step": self.steps, "product": self.products, "unit": self.open}
                row[own.get(kind, self.curves)[k]] += value
            elif kind in ("single", "form") or self.spans[k][0] >= 0:
                row += value * self.z[k]
                shift += value * self.z0[k]
                if kind == "single":
                    row[self.noise[k]] += value
        return row, shift

    # -- solving ----------------------------------------------------------------------------------

    def nearest(
        self, hull: HullColumns | None = None
    ) -> tuple[Multipliers | None, Solution | None]:
        """Multipliers for "all of it is farther than the radius", and the solution; in a hull."""
        cost, _ = self.objective()
        cost[-1] = PENALTY
        left = ROUNDS if self.curves else 1
        while True:
            duals, values = self._solve(cost, budget=False, hull=hull)
            if duals is None or values is None:
                return None, None
            solution, left = Solution(self, values, duals), left - 1
            if not left or not self._touch(solution):
                return self._multipliers(duals, Fraction(1)), solution

    def _touch(self, solution: Solution) -> bool:
        """Touch smooth functions where a solution misses them; whether there are such."""
        found = False
        for k in self.curves:
            if solution.curve_off(k) > WRONG:
                self._touched.setdefault(k, []).append(solution.made(k))
                found = True
        return found

    def _multipliers(self, duals: dict[Key, Fraction], budget: Fraction) -> Multipliers:
        """Duals with shares of the largest change that do not exceed it; the planes on one side of
        a product, or lines of a function, as one, whose slopes are their mean.
        """
        for k in (*self.products, *self.curves):
            for name, side in PLANES.items():
                own = {key: y for key, y in duals.items() if key[:2] == (name, k)}
                if len(own) > 1:
                    every = sum(own.values(), ZERO)
                    sums = (sum(y * key[i] for key, y in own.items()) for i in (2, 3))
                    p, q = (float(each / every) for each in sums)
                    if k in self.curves:
                        low, high = map(float, self.spans[k])
                        q = touch(self.problem.program.kinds[k], int(side), p, low, high)
                    duals = {key: y for key, y in duals.items() if key not in own}
                    duals[name, k, Fraction(p), Fraction(q)] = every
        room = budget * self.problem.norms[2]
        peaks = sum((y for (kind, *_), y in duals.items() if kind == "peak"), ZERO)
        if peaks > room:
            duals = {key: y * room / peaks if key[0] == "peak" else y for key, y in duals.items()}
        shares = {key[1:]: y for key, y in duals.items() if key[0] == "share"}
        rows = {key: y for key, y in duals.items() if key[0] != "share"}
        return Multipliers(budget, rows, *payments(self._parted(shares, budget), {}))

    def _parted(self, found: dict[Any, Fraction], budget: Fraction) -> dict[Any, Fraction]:
        """Shares of trees and features of what a budget buys: of each feature 1 in all, at most."""
        every = dict[int, Fraction]()
        for (_, j), y in found.items():
            every[j] = every.get(j, ZERO) + y
        shares = {
            (t, j, 0): Fraction(int(y / max(every[j], budget) * SHARES), SHARES)
            for (t, j), y in found.items()
            if budget
        }
        return {at: share for at, share in shares.items() if share}

    def largest(self, form: Form) -> Multipliers | None:
        """Multipliers for an upper bound of a form within the budget."""
        row, _ = self.form(form)
        duals, _ = self._solve(-row, budget=True)
        if duals is None:
            return None
        budget = duals.pop(("budget", 0), ZERO)
        return self._multipliers(duals, budget)

    def _inequalities(self, *, budget: bool) -> Iterator[Inequality]:
        """All rows whose duals are multipliers, with a place for the slack, the last column."""
        yield from self._required()
        yield from self._of_units()
        yield from self._of_products()
        yield from self._of_curves()
        for k, name, sign in self._limits():
            end = float(self.spans[k][sign < 0])
            yield (name, k), sign * self.z[k], sign * (end - self.z0[k]), 1.0
        yield from self._of_costs()
        if budget:
            distance, shift = self.objective()
            yield ("budget", 0), -distance, shift - float(self.problem.radius), 0.0

    def _required(self) -> Iterator[Inequality]:
        """The forms that the target asks for, and the signs that were split by."""
        for i, (form, _) in enumerate(self.problem.rows):
            if all(source[0] in READ or source[1] < self.depth for source in form):
                row, shift = self.form(form)
                yield ("row", i), row, -shift, 1.0
        for i, (h, face) in enumerate(self.problem.faces):
            if ("hull", h) in self.signs:
                row, shift = self.form(face)
                yield ("face", i), row, -shift, 1.0
        for k, sign in self.signs.items():
            if not isinstance(k, tuple) and k < self.depth:
                yield ("sign", k), sign * self.z[k], -sign * self.z0[k], 1.0

    def _of_units(self) -> Iterator[Inequality]:
        """``max(z, 0)`` is at least z, and at most its chord."""
        for k, column in self.open.items():
            low, high = map(float, self.spans[k])
            above = -self.z[k]
            above[column] += 1.0
            yield ("above", k), above, self.z0[k], 0.0
            steep = high / (high - low)
            chord = steep * self.z[k]
            chord[column] -= 1.0
            yield ("chord", k), chord, -steep * (self.z0[k] - low), 0.0

    def _of_products(self) -> Iterator[Inequality]:
        """Planes over and under products."""
        for k, column in self.products.items():
            for side, p, q in self._planes(k):
                i, m = self.problem.program.factors[k]
                name = "over" if side > 0 else "under"
                row = -side * (float(q) * self.z[i] + float(p) * self.z[m])
                row[column] += side
                plane = self.problem.plane(k, Fraction(side), [p, q], self.spans)
                shift = side * (float(q) * self.z0[i] + float(p) * self.z0[m])
                yield (name, k, p, q), row, float(-plane.get(CONSTANT, ZERO)) + shift, 0.0

    def _of_curves(self) -> Iterator[Inequality]:
        """Lines over and under smooth functions."""
        for k, column in self.curves.items():
            for side, slope, place, start in self._lines(k):
                row = -side * slope * self.z[k]
                row[column] += side
                key = "over" if side > 0 else "under", k, Fraction(slope), Fraction(place)
                yield key, row, side * (start + slope * self.z0[k]), 0.0

    def _of_costs(self) -> Iterator[Inequality]:
        """What leaves cost, and what the largest change is at least."""
        for t, j in self.pairs:
            row = np.zeros(len(self.cost) + 1)
            for leaf in self.trees[t].leaves:
                row[leaf.column] = -leaf.costs[j]
            row[self.paid[j]] = 1.0
            yield ("share", t, j), row, 0.0, 0.0
        if self.top >= 0:
            for j, (row, start) in enumerate(self._changes()):
                row[self.top] += 1.0
                yield ("peak", j), row, start, 0.0

    def influence(self) -> dict[int, float]:
        """By how much a product or smooth function being larger by 1 may change the rows, about."""
        problem, found = self.problem, dict[Any, float]()

        def add(form: Form, factor: float) -> None:
            for source, own in form.items():
                found[source] = found.get(source, 0.0) + factor * abs(float(own))

        for form, _ in problem.rows:
            add(form, 1.0)
        for k in reversed(range(self.depth)):
            own = found.get((problem.program.kinds[k], k), 0.0)
            if k in self.products and own:
                i, m = problem.program.factors[k]
                for one, other in ((i, m), (m, i)):
                    found["form", one] = found.get(("form", one), 0.0) + own * max(
                        map(abs, map(float, self.spans[other]))
                    )
            elif own:
                add(problem.program.made[k], own)
        kinds = problem.program.kinds
        return {k: found.get((kinds[k], k), 0.0) for k in (*self.products, *self.curves)}

    def _planes(self, k: int) -> Iterator[tuple[int, Fraction, Fraction]]:
        """Side and slopes of the planes that bound a product: at corners; tangents of a square."""
        i, m = self.problem.program.factors[k]
        (a, b), (c, d) = self.spans[i], self.spans[m]
        if i == m:
            for n in range(TANGENTS):
                place = Fraction(float(a + (b - a) * n / (TANGENTS - 1)))
                yield 1, place, place
            yield -1, a, b
        else:
            yield from ((1, a, c), (1, b, d), (-1, a, d), (-1, b, c))

    def _lines(self, k: int) -> Iterator[tuple[int, float, float, float]]:
        """Lines beside a smooth function, over its range."""
        low, high = map(float, self.spans[k])
        return lines(self.problem.program.kinds[k], low, high, self._touched.get(k, ()))

    def _limits(self) -> Iterator[tuple[int, str, int]]:
        """Forms that are known to lie above, or below, an end of their range."""
        for k in range(self.depth):
            split = (k, 1) in self.signs or (k, -1) in self.signs
            if self.problem.program.kinds[k] in ("form", "product") or split:
                for name, side in (("least", -1), ("most", 1)):
                    if (k, side) in self.signs or (k, side) in self.problem.bounds:
                        yield k, name, -side

    def _changes(self) -> Iterator[tuple[Floats, float]]:
        """``-peak_j δ_j`` over the columns, and what it is at the base, as a positive number."""
        for j, feature in enumerate(self.problem.features):
            row, peak = np.zeros(len(self.cost) + 1), float(self.problem.peaks[j])
            if feature.labels:
                for i in self.parts[j]:
                    row[self.labels[j, i]] = -peak * float(feature.delta(i))
                yield row, 0.0
                continue
            up, down, _ = self.numbers[j]
            size = float(self._size(j))
            row[up] = row[down] = -peak / size if size else 0.0
            yield row, peak * float(feature.delta(self.base[j]))

    def _solve(
        self, cost: Floats, *, budget: bool, hull: HullColumns | None = None
    ) -> tuple[dict[Key, Fraction] | None, Floats | None]:
        names: list[Key] = []
        rows: list[Floats] = []
        sides: list[float] = []
        for name, row, side, slack in self._inequalities(budget=budget):
            row = row.copy()
            row[-1] = slack
            names.append(name)
            rows.append(row)
            sides.append(side)
        for row, side in self._definitions():
            rows.append(row)
            sides.append(side)
        tops = [np.inf] * len(rows)
        for group in self.groups:
            row = np.zeros(cost.size)
            row[group] = 1.0
            rows.append(row)
            sides.append(1.0)
            tops.append(1.0)
        lower = np.array([*self.lower, 0.0])
        upper = np.array([*self.upper, 0.0 if budget else np.inf])
        arrays = cost, lower, upper, np.array(rows), np.array(sides), np.array(tops)
        answer = _run(*arrays) if hull is None else self._within(hull, arrays)
        if answer is None:
            return None, None
        duals, values = answer
        found = {
            name: Fraction(float(dual))
            for name, dual in zip(names, duals, strict=False)
            if dual > SMALLEST
        }
        return found, values

    def _within(self, hull: HullColumns, arrays: Arrays) -> tuple[Floats, Floats] | None:
        """The same within a hull."""
        forms = [self.form(axis) for axis in hull.axes]
        while (answer := _run(*hull.added(arrays, forms))) is not None:
            if not hull.learn(*answer):
                return answer[0], answer[1][: arrays[0].size]
        return None

    def _definitions(self) -> Iterator[tuple[Floats, float]]:
        """Rows and right sides of what squares, and the costs of features, are at least."""
        for up, down, square, slope, below in self._squares:
            row = np.zeros(len(self.cost) + 1)
            row[square], row[up], row[down] = 1.0, -slope, -slope
            yield row, below
        for j, column in self.paid.items():
            row = np.zeros(len(self.cost) + 1)
            own = self._own(j)
            row[own], row[column] = -np.array(self.cost)[own], 1.0
            yield row, self._start(j)


def _run(
    cost: Floats, lower: Floats, upper: Floats, rows: Floats, sides: Floats, tops: Floats
) -> tuple[Floats, Floats] | None:
    """Duals and values of ``min cost @ x``, ``sides <= rows @ x <= tops``; ``None`` if there are
    none.  Columns are scaled to ranges of 1, rows to factors of at most 1.
    """
    wide = np.maximum(upper - lower, FLAT * np.maximum(np.abs(lower), np.abs(upper)))
    wide = np.where(np.isfinite(wide) & (wide > 0), wide, 1.0)
    matrix = rows.reshape(-1, cost.size) * wide
    size = np.abs(matrix).max(axis=1, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    ends = sides / size, tops / size
    matrix = matrix / size[:, None]
    program = Rounded.of(cost * wide, (lower / wide, upper / wide), matrix, ends)
    solver = made_solver(program, {"output_flag": False, "threads": 1, "presolve": "off"})
    run_in_time(solver)
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = solver.getSolution()
    return np.array(solution.row_dual) / size, np.array(solution.col_value) * wide
