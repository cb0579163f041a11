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
from ...certificates.checker.program import HALF_ULP, LEAST, Form, image
from ...certificates.checker.rules import Multipliers
from ...compiler.linear_programs import made_solver
from ...compiler.mixed_integer import Rounded
from ..encoding.squares import Tangents

Key = tuple[str, int]
Cut = tuple[int, Fraction]  # a feature, and the largest value on the left
ZERO = Fraction(0)
PENALTY = 1e3  # what missing a requirement costs, as a distance
WRONG = 1e-9  # by how much a solution may miss what it stands for
SMALLEST = 1e-12  # multipliers below this are left out


class Solution:
    """A solution of a part's linear program, and where it is wrong."""

    def __init__(self, program: LinearProgram, values: Floats) -> None:
        self.program, self.values = program, values

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
                size = feature.size or Fraction(1)
                gap = min(at - below, above - at) / size if below < above else ZERO
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
        elif low < 0 < high:
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
            elif kind == "step" or k in self.open:
                row[self.steps[k] if kind == "step" else self.open[k]] += value
            elif kind == "single" or self.spans[k][0] >= 0:
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
        return self._multipliers(duals, Fraction(1)), Solution(self, values)

    def _multipliers(self, duals: dict[Key, Fraction], budget: Fraction) -> Multipliers:
        """Duals with shares of the largest change that do not exceed it."""
        room = budget * self.problem.norms[2]
        peaks = sum((y for (kind, _), y in duals.items() if kind == "peak"), ZERO)
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
            if all(source[0] in ("one", "x", "is") or source[1] < self.depth for source in form):
                row, shift = self.form(form)
                add(("row", i), row, -shift, slack=True)
        for k, sign in self.signs.items():
            if k < self.depth:
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
        if self.top >= 0:
            for j, (row, start) in enumerate(self._changes()):
                row[self.top] += 1.0
                add(("peak", j), row, start, slack=False)
        return names, rows, sides

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
    none.
    """
    matrix = rows.reshape(-1, cost.size)
    program = Rounded.of(cost, (lower, upper), matrix, (sides, tops))
    solver = made_solver(program, {"output_flag": False, "threads": 1, "presolve": "off"})
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = solver.getSolution()
    return np.array(solution.row_dual), np.array(solution.col_value)


__all__ = ["WRONG", "LinearProgram", "Solution"]
