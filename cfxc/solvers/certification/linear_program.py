"""The linear program of a part of the ball, its duals, and where its solution is wrong.

Everything is read from the checker's :class:`Proof`, in doubles; only duals come back.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import highspy
import numpy as np

from ...arrays import Floats
from ...certificates.checker import Proof
from ...certificates.checker.program import CONSTANT, HALF_ULP, LEAST, Form, image
from ...certificates.checker.rules import PLANES, Multipliers
from ...compiler.linear_programs import made_solver
from ...compiler.mixed_integer import Rounded
from ..encoding.squares import Tangents

Key = tuple[Any, ...]  # name and place of an inequality and, of planes, slopes
READ = ("one", "x", "is", "tree")  # what is not made
Cut = tuple[int, Fraction]  # a feature, and the largest value on the left
ZERO = Fraction(0)
PENALTY = 1e3  # what missing a requirement costs, as a distance
WRONG = 1e-9  # by how much a solution may miss what it stands for
SMALLEST = 1e-12  # multipliers below this are left out
TANGENTS = 5  # of a square, at first


class Solution:
    """A solution of a part's linear program, and where it is wrong."""

    def __init__(self, program: LinearProgram, values: Floats, duals: dict[Key, Fraction]) -> None:
        self.program, self.values = program, values
        self.slopes: dict[int, float] = {}  # what a product being larger or smaller adds
        for (name, k, *_), y in duals.items():
            if name in PLANES:
                self.slopes[k] = self.slopes.get(k, 0.0) + float(y)

    def worst_unit(self) -> tuple[int, float]:
        """The open unit that differs most from the maximum that it stands for."""
        best, at = 0.0, -1
        for k, column in self.program.open.items():
            if k in self.program.signs:
                continue
            wrong = abs(self.values[column] - max(self._made(k), 0.0))
            if wrong > best:
                best, at = wrong, k
        return at, best

    def worst_factor(self) -> tuple[int, Fraction, float]:
        """The form whose products are off most, by what that adds to the bound; and where to split
        it: between its value and the middle of its range.
        """
        program, best, found = self.program, 0.0, -1
        for slopes in (self.slopes, program.influence()):
            wrong = dict[int, float]()
            for k, column in program.products.items():
                factors = program.problem.program.factors[k]
                off = abs(self.values[column] - self._made(factors[0]) * self._made(factors[1]))
                for i in set(factors):
                    wrong[i] = wrong.get(i, 0.0) + off * slopes.get(k, 0.0) * self._inside(i)
            found = max(wrong, key=lambda k: wrong[k], default=-1)
            best = wrong.get(found, 0.0)
            if best > WRONG:
                break
        if found < 0:
            return found, ZERO, 0.0
        low, high = program.spans[found]
        value = min(max(Fraction(self._made(found)), low), high)
        return found, value * 3 / 4 + (low + high) / 8, best

    def _inside(self, k: int) -> float:
        """How far inside of its range a form's value is: 1 in the middle, a tenth at the ends."""
        low, high = map(float, self.program.spans[k])
        value = self._made(k)
        return 0.1 + 1.8 * max(min(value - low, high - value), 0.0) / (high - low or 1.0)

    def _made(self, k: int) -> float:
        return float(self.program.z[k] @ self.values + self.program.z0[k])

    def wrong_step(self) -> Cut | None:
        """A cut at a step that the solution takes by halves, or against its number."""
        program, problem = self.program, self.program.problem
        for k, column in program.steps.items():
            low, high = (image("step", end) for end in program.spans[k])
            z, value = self._made(k), self.values[column]
            if low == high or (abs(value - (z >= 0)) <= WRONG and abs(z) > WRONG):
                continue
            form = problem.program.made[k]
            ((source, factor),) = [one for one in form.items() if one[0] != ("one", 0)][:1]
            if source[0] != "x":
                continue
            edge, feature = -form.get(("one", 0), ZERO) / factor, problem.features[source[1]]
            beside = Fraction(nextafter(float(edge), -inf)) if factor > 0 else edge
            cut, (low, high) = feature.near(beside, -1), program.parts[source[1]]
            if cut is not None and low <= cut < high:
                return source[1], cut
        return None

    def worst_label(self) -> tuple[int, int, float]:
        """The label whose share is nearest to one half."""
        best, feature, place = 0.0, -1, -1
        for (j, i), column in self.program.labels.items():
            share = min(self.values[column], 1 - self.values[column])
            if share > best:
                best, feature, place = share, j, i
        return feature, place, best

    def cut(self) -> Cut | None:
        """Where to cut the number whose cost is understated most, or that is off its grid."""
        program, problem = self.program, self.program.problem
        best, found = WRONG, None
        for j, (up, down, _) in program.numbers.items():
            feature, (low, high) = problem.features[j], program.parts[j]
            x = float(program.base[j]) + self.values[up] - self.values[down]
            at = min(max(Fraction(float(x)), low), high)
            wrong = float(problem.cost(j, feature.delta(at))) - program.cost_of(j, self.values)
            below, above = feature.near(at, -1), feature.near(at, 1)
            if feature.step is not None and below is not None and above is not None:
                gap = min(at - below, above - at) / feature.size if below < above else ZERO
                wrong = max(wrong, float(gap))
            if wrong > best and (cut := self._beside(j, at)) is not None:
                best, found = wrong, (j, cut)
        return found

    def _beside(self, j: int, at: Fraction) -> Fraction | None:
        """An admissible value of a number below the end of its range: at the factual's own where
        any change costs, else around a place, or in the middle.
        """
        feature, (low, high) = self.program.problem.features[j], self.program.parts[j]
        own, places = feature.own, [at, (low + high) / 2]
        if self.program.problem.norms[0] and low <= own <= high:
            places = [own, Fraction(nextafter(float(own), -inf)), *places]
        for place in places:
            cut = feature.near(place, -1)
            if cut is not None and low <= cut < high:
                return cut
        return None


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
        self._squares: list[tuple[int, int, int, float, float]] = []
        self.depth = depth
        for k in range(depth):
            self._make(k)
        for j, feature in enumerate(problem.features):
            if feature.labels:
                self._category(j)
            else:
                self._number(j)
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
        (l0, l1, _, l2), share, size = problem.norms, problem.shares[j], feature.size
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

    def cost_of(self, j: int, values: Floats) -> float:
        """What the program thinks that number j costs."""
        start = float(self.problem.cost(j, self.problem.features[j].delta(self.base[j])))
        own = [i for i in self.numbers[j] if i >= 0]
        return start + float(sum(self.cost[i] * values[i] for i in own))

    def form(self, form: Form) -> tuple[Floats, float]:
        """A form over the columns (the last is slack): factors, constant."""
        row: Floats = np.zeros(len(self.cost) + 1)
        shift = 0.0
        for (kind, k, *rest), factor in form.items():
            value = float(factor)
            if kind == "one":
                shift += value
            elif kind == "x":
                up, down, _ = self.numbers[k]
                row[up] += value
                row[down] -= value
                shift += value * float(self.base[k])
            elif kind == "is":
                if (k, rest[0]) in self.labels:
                    row[self.labels[k, rest[0]]] += value
            elif kind in ("step", "product") or k in self.open:
                column = {"step": self.steps, "product": self.products}.get(kind, self.open)[k]
                row[column] += value
            elif kind in ("single", "form") or self.spans[k][0] >= 0:
                row += value * self.z[k]
                shift += value * self.z0[k]
                if kind == "single":
                    row[self.noise[k]] += value
        return row, shift

    # -- solving ----------------------------------------------------------------------------------

    def nearest(self) -> tuple[Multipliers | None, Solution | None]:
        """Multipliers for "all of it is farther than the radius", and the solution."""
        duals, values = self._solve(np.array([*self.cost, PENALTY]), budget=False)
        if duals is None or values is None:
            return None, None
        return self._multipliers(duals, Fraction(1)), Solution(self, values, duals)

    def _multipliers(self, duals: dict[Key, Fraction], budget: Fraction) -> Multipliers:
        """Duals with shares of the largest change that do not exceed it; the planes on one side of
        a product as one, whose slopes are their mean.
        """
        for k in self.products:
            for side in PLANES:
                own = {key: y for key, y in duals.items() if key[:2] == (side, k)}
                if len(own) > 1:
                    every = sum(own.values(), ZERO)
                    mean = (sum(y * key[i] for key, y in own.items()) / every for i in (2, 3))
                    duals = {key: y for key, y in duals.items() if key not in own}
                    duals[side, k, *(Fraction(float(slope)) for slope in mean)] = every
        room = budget * self.problem.norms[2]
        peaks = sum((y for (kind, *_), y in duals.items() if kind == "peak"), ZERO)
        if peaks > room:
            duals = {key: y * room / peaks if key[0] == "peak" else y for key, y in duals.items()}
        return Multipliers(budget, duals, {}, {})

    def largest(self, form: Form) -> Multipliers | None:
        """Multipliers for an upper bound of a form within the budget."""
        row, _ = self.form(form)
        duals, _ = self._solve(-row, budget=True)
        if duals is None:
            return None
        budget = duals.pop(("budget", 0), ZERO)
        return self._multipliers(duals, budget)

    def _inequalities(self) -> tuple[list[Key], list[Floats], list[float]]:
        """Names, rows and right sides of ``row @ x >= side``."""
        names: list[Key] = []
        rows: list[Floats] = []
        sides: list[float] = []

        def add(name: Key, row: Floats, side: float, *, slack: bool) -> None:
            row = row.copy()
            row[-1] = float(slack)
            names.append(name)
            rows.append(row)
            sides.append(side)

        for i, (form, _) in enumerate(self.problem.rows):
            if all(source[0] in READ or source[1] < self.depth for source in form):
                row, shift = self.form(form)
                add(("row", i), row, -shift, slack=True)
        for k, sign in self.signs.items():
            if not isinstance(k, tuple) and k < self.depth:
                add(("sign", k), sign * self.z[k], -sign * self.z0[k], slack=True)
        for k, column in self.open.items():
            low, high = map(float, self.spans[k])
            above = -self.z[k]
            above[column] += 1.0
            add(("above", k), above, self.z0[k], slack=False)
            steep = high / (high - low)
            chord = steep * self.z[k]
            chord[column] -= 1.0
            add(("chord", k), chord, -steep * (self.z0[k] - low), slack=False)
        for k, column in self.products.items():
            for side, p, q in self._planes(k):
                i, m = self.problem.program.factors[k]
                name = "over" if side > 0 else "under"
                row = -side * (float(q) * self.z[i] + float(p) * self.z[m])
                row[column] += side
                least = -self.problem.plane(k, Fraction(side), [p, q], self.spans).get(
                    CONSTANT, ZERO
                )
                shift = side * (float(q) * self.z0[i] + float(p) * self.z0[m])
                add((name, k, p, q), row, float(least) + shift, slack=False)
        for k, name, sign in self._limits():
            end = float(self.spans[k][sign < 0])
            add((name, k), sign * self.z[k], sign * (end - self.z0[k]), slack=True)
        if self.top >= 0:
            for j, (row, start) in enumerate(self._changes()):
                row[self.top] += 1.0
                add(("peak", j), row, start, slack=False)
        return names, rows, sides

    def influence(self) -> dict[int, float]:
        """By how much a product being larger by 1 may change the rows, about, in all."""
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
        return {k: found.get(("product", k), 0.0) for k in self.products}

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

    def _limits(self) -> Iterator[tuple[int, str, int]]:
        """Forms that are known to lie above, or below, an end of their range."""
        for k in range(self.depth):
            if self.problem.program.kinds[k] in ("form", "product") or (k, 1) in self.signs:
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
            size = float(feature.size)
            row[up] = row[down] = -peak / size if size else 0.0
            yield row, peak * float(feature.delta(self.base[j]))

    def _solve(
        self, cost: Floats, *, budget: bool
    ) -> tuple[dict[Key, Fraction] | None, Floats | None]:
        names, rows, sides = self._inequalities()
        count, width = len(names), cost.size
        tops = [np.inf] * count
        if budget:
            names.append(("budget", 0))
            rows.append(np.array([-c for c in self.cost] + [0.0]))
            sides.append(self.shift - float(self.problem.radius))
            tops.append(np.inf)
        for up, down, square, slope, below in self._squares:
            row = np.zeros(width)
            row[square], row[up], row[down] = 1.0, -slope, -slope
            rows.append(row)
            sides.append(below)
            tops.append(np.inf)
        for group in self.groups:
            row = np.zeros(width)
            row[group] = 1.0
            rows.append(row)
            sides.append(1.0)
            tops.append(1.0)
        lower = np.array([*self.lower, 0.0])
        upper = np.array([*self.upper, 0.0 if budget else np.inf])
        answer = _run(cost, lower, upper, np.array(rows), np.array(sides), np.array(tops))
        if answer is None:
            return None, None
        duals, values = answer
        found = {
            name: Fraction(float(dual))
            for name, dual in zip(names, duals, strict=False)
            if dual > SMALLEST
        }
        return found, values


def _run(
    cost: Floats, lower: Floats, upper: Floats, rows: Floats, sides: Floats, tops: Floats
) -> tuple[Floats, Floats] | None:
    """Duals and values of ``min cost @ x``, ``sides <= rows @ x <= tops``; ``None`` if there are
    none.  Columns are scaled to ranges of 1, rows to factors of at most 1.
    """
    wide = upper - lower
    wide = np.where(np.isfinite(wide) & (wide > 0), wide, 1.0)
    matrix = rows.reshape(-1, cost.size) * wide
    size = np.abs(matrix).max(axis=1, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    ends = sides / size, tops / size
    matrix = matrix / size[:, None]
    program = Rounded.of(cost * wide, (lower / wide, upper / wide), matrix, ends)
    solver = made_solver(program, {"output_flag": False, "threads": 1, "presolve": "off"})
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = solver.getSolution()
    return np.array(solution.row_dual) / size, np.array(solution.col_value) * wide


__all__ = ["WRONG", "LinearProgram", "Solution"]
