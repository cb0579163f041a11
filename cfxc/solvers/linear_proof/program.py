"""The linear program of a part of the ball, its duals, and where its solution is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt

from ...compiler.additive import Additive
from ...frontends.domain import Domain
from ..tangents import Tangents
from .parts import Ball, Key, Multipliers, Part, Spans

Floats = npt.NDArray[np.float64]
ZERO = Fraction(0)
PENALTY = 1e3  # what missing a requirement costs, as a distance
WRONG = 1e-9  # by how much a solution may miss what it stands for
SMALLEST = 1e-12  # multipliers below this are left out


class Solution:
    """A solution of a part's linear program, and where it is wrong."""

    def __init__(self, program: Program, values: Floats) -> None:
        self.program, self.values = program, values

    def worst_unit(self) -> tuple[int, float]:
        """The open unit that differs most from the maximum that it stands for."""
        best, at = 0.0, -1
        for k, column in self.program.open.items():
            if k in self.program.part.signs:
                continue
            z = float(self.program.z[k] @ self.values) + self.program.z0[k]
            wrong = abs(self.values[column] - max(z, 0.0))
            if wrong > best:
                best, at = wrong, k
        return at, best

    def wrong_step(self) -> tuple[str, Fraction, Fraction] | None:
        """A cut at a step that the solution takes by halves, or against its number."""
        program = self.program
        domains = {domain.name: domain for domain in program.ball.query.domains}
        for k, (least, most) in enumerate(program.spans.steps):
            if least == most:
                continue
            step = program.ball.units.steps[k]
            row, shift = program.form(step.form)
            z, value = float(row @ self.values) + shift, self.values[program.steps[k]]
            if abs(value - (z >= 0)) <= WRONG and abs(z) > WRONG:
                continue
            ((_, name), factor), *_ = step.form.terms.items()
            edge, domain = -step.form.constant / factor, domains[name]
            low, high = program.part.ranges[name]
            upward = (factor > 0) != step.strict  # whether the edge itself lies above the cut
            beside = Fraction(float(np.nextafter(float(edge), -np.inf if upward else np.inf)))
            cut, after = (
                domain.floor(beside if upward else edge),
                domain.ceil(edge if upward else beside),
            )
            if cut is not None and after is not None and low <= cut < after <= high:
                return name, cut, after
        return None

    def worst_label(self) -> tuple[str, int, float]:
        """The label whose share is nearest to one half."""
        best, name, place = 0.0, "", -1
        for (each, i), column in self.program.labels.items():
            share = min(self.values[column], 1 - self.values[column])
            if share > best:
                best, name, place = share, each, i
        return name, place, best

    def cut(self) -> tuple[str, Fraction, Fraction] | None:
        """Where to cut the number whose cost is understated most, or that is off its grid."""
        ball, program = self.program.ball, self.program
        best, found = WRONG, None
        for j, domain in enumerate(ball.query.domains):
            if domain.is_symbolic:
                continue
            up, down, _ = program.numbers[domain.name]
            low, high = program.part.ranges[domain.name]
            x = float(program.base[domain.name]) + self.values[up] - self.values[down]
            at = min(max(Fraction(float(x)), low), high)
            wrong = float(ball.cost(j, domain.delta(at))) - program.paid(j, self.values)
            below, above = domain.floor(at), domain.ceil(at)
            if domain.step is not None and below is not None and above is not None:
                gap = min(at - below, above - at) / domain.feature.range if below < above else ZERO
                wrong = max(wrong, float(gap))
            if wrong > best:
                pair = self._beside(domain, at)
                best, found = (wrong, (domain.name, *pair)) if pair else (best, found)
        return found

    def _beside(self, domain: Domain, at: Fraction) -> tuple[Fraction, Fraction] | None:
        """Two admissible values, one after the other, of a number's range: at the factual's own
        where any change costs, else around a place, or in the middle.
        """
        low, high = self.program.part.ranges[domain.name]
        own, places = Fraction(domain.factual), [at, (low + high) / 2]
        if self.program.ball.norms.l0 and low <= own <= high:
            before = Fraction(float(np.nextafter(float(own), -np.inf)))
            places = [own, before, *places]
        for place in places:
            cut = domain.floor(place)
            if cut is not None and low <= cut < high:
                after = domain.ceil(float(np.nextafter(float(cut), np.inf)))
                if after is not None and after <= high:
                    return cut, after
        return None


class Program:
    """The linear program of a part in doubles; only its duals are used."""

    def __init__(self, ball: Ball, part: Part, spans: Spans, depth: int) -> None:
        self.ball, self.part, self.spans = ball, part, spans
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.cost: list[float] = []
        self.shift = 0.0
        self.base: dict[str, Fraction] = {}
        self.numbers: dict[str, tuple[int, int, int]] = {}
        self.labels: dict[tuple[str, int], int] = {}
        self.noise = [self._column(-float(size), float(size)) for size in spans.noise]
        self.steps = [self._column(*map(float, ends)) for ends in spans.steps]
        self.groups: list[list[int]] = []
        self._squares: list[tuple[int, int, int, float, float]] = []
        for j, domain in enumerate(ball.query.domains):
            if domain.is_symbolic:
                self._category(j)
            else:
                self._number(j)
        self.open = {
            k: self._column(0.0, float(high))
            for k, (low, high) in enumerate(spans.units[:depth])
            if low < 0 < high
        }
        self.depth = depth
        self.top = self._column(0.0, 1.0, float(ball.norms.linf)) if ball.norms.linf else -1
        self._read_units()

    def _column(self, low: float, high: float, cost: float = 0.0) -> int:
        self.lower.append(low)
        self.upper.append(high)
        self.cost.append(cost)
        return len(self.cost) - 1

    def _category(self, j: int) -> None:
        domain = self.ball.query.domains[j]
        group = []
        for i in sorted(self.part.labels[domain.name]):
            cost = float(self.ball.cost(j, domain.delta(domain.labels[i])))
            group.append(self._column(0.0, 1.0, cost))
            self.labels[domain.name, i] = group[-1]
        self.groups.append(group)

    def _number(self, j: int) -> None:
        """``x = base + up - down``, base being the value of the range next to the factual."""
        ball, domain = self.ball, self.ball.query.domains[j]
        low, high = self.part.ranges[domain.name]
        base = min(max(Fraction(domain.factual), low), high)
        self.base[domain.name] = base
        size, norms, share = domain.feature.range, ball.norms, ball.shares[j]
        start = domain.delta(base)
        self.shift += float(ball.cost(j, start))
        columns = []
        for reach in (high - base, base - low):
            slope = ZERO
            if size:
                slope = share * (norms.l1 + 2 * norms.l2 * start) / size
                if not start and reach and norms.l0:
                    slope += share * norms.l0 / reach
            columns.append(self._column(0.0, float(reach), float(slope)))
        square = -1
        if norms.l2 and size and low < high:
            most = max(high - base, base - low) / size
            square = self._column(0.0, float(most * most), float(share))
            for place in Tangents().of(domain.name, most):
                tangent = float(2 * place / size), -float(place * place)
                self._squares.append((columns[0], columns[1], square, *tangent))
        self.numbers[domain.name] = (columns[0], columns[1], square)

    def paid(self, j: int, values: Floats) -> float:
        """What the program thinks that number j costs."""
        domain = self.ball.query.domains[j]
        start = float(self.ball.cost(j, domain.delta(self.base[domain.name])))
        own = [i for i in self.numbers[domain.name] if i >= 0]
        return start + float(sum(self.cost[i] * values[i] for i in own))

    def _read_units(self) -> None:
        width = len(self.cost)
        self.z, self.z0 = np.zeros((self.depth, width + 1)), np.zeros(self.depth)
        for k in range(self.depth):
            self.z[k], self.z0[k] = self.form(self.ball.units.forms[k])

    def form(self, form: Additive) -> tuple[Floats, float]:
        """A form over the columns (the last is slack): factors, constant."""
        row: Floats = np.zeros(len(self.cost) + 1)
        shift = float(form.constant)
        for key, factor in form.terms.items():
            value = float(factor)
            if key[0] == "x":
                up, down, _ = self.numbers[key[1]]
                row[up] += value
                row[down] -= value
                shift += value * float(self.base[key[1]])
            elif key[0] == "is":
                column = self.labels.get((key[1], key[2]))
                if column is not None:
                    row[column] += value
            elif key[0] in ("noise", "step"):
                row[(self.noise if key[0] == "noise" else self.steps)[key[1]]] += value
            elif key[1] in self.open:
                row[self.open[key[1]]] += value
            elif self.spans.units[key[1]][0] >= 0:
                row += value * self.z[key[1]]
                shift += value * float(self.z0[key[1]])
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
        room = budget * self.ball.norms.linf
        peaks = sum((y for (kind, _), y in duals.items() if kind == "peak"), ZERO)
        if peaks > room:
            duals = {key: y * room / peaks if key[0] == "peak" else y for key, y in duals.items()}
        return Multipliers(duals, budget)

    def largest(self, form: Additive) -> Multipliers | None:
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

        usable = range(self.depth)
        for i, required in enumerate(self.ball.rows):
            if all(key[0] != "unit" or key[1] in usable for key in required.form.terms):
                row, shift = self.form(required.form)
                add(("row", i), row, -shift, slack=True)
        for k, sign in self.part.signs.items():
            if k in usable:
                add(("sign", k), sign * self.z[k], -sign * self.z0[k], slack=True)
        for k, column in self.open.items():
            low, high = map(float, self.spans.units[k])
            if k in self.part.signs:
                continue
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
        for j, domain in enumerate(self.ball.query.domains):
            row, peak = np.zeros(len(self.cost) + 1), float(self.ball.peaks[j])
            if domain.is_symbolic:
                for i in self.part.labels[domain.name]:
                    row[self.labels[domain.name, i]] = -peak * float(domain.delta(domain.labels[i]))
                yield row, 0.0
                continue
            up, down, _ = self.numbers[domain.name]
            size = float(domain.feature.range)
            row[up] = row[down] = -peak / size if size else 0.0
            yield row, peak * float(domain.delta(self.base[domain.name]))

    def _solve(
        self, cost: Floats, *, budget: bool
    ) -> tuple[dict[Key, Fraction] | None, Floats | None]:
        names, rows, sides = self._inequalities()
        count, width = len(names), cost.size
        tops = [np.inf] * count
        if budget:
            names.append(("budget", 0))
            rows.append(np.array([-c for c in self.cost] + [0.0]))
            sides.append(self.shift - float(self.ball.radius))
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
    make: Any = highspy.Highs
    solver = make()
    for option, value in (("output_flag", False), ("threads", 1), ("presolve", "off")):
        solver.setOptionValue(option, value)
    if not rows.size:
        rows = np.zeros((0, cost.size))
    places = [np.flatnonzero(each) for each in rows]
    start = np.concatenate([[0], np.cumsum([p.size for p in places])]).astype(np.int32)
    index = np.concatenate([np.empty(0, np.int64), *places]).astype(np.int32)
    held = [each[place] for each, place in zip(rows, places, strict=True)]
    factors = np.concatenate([np.empty(0), *held])
    solver.passModel(
        cost.size, rows.shape[0], factors.size, int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize), 0.0, cost, lower, upper, sides, tops, start[:-1], index,
        factors, np.zeros(cost.size, dtype=np.int32),
    )  # fmt: skip
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = solver.getSolution()
    return np.array(solution.row_dual), np.array(solution.col_value)


__all__ = ["Program", "Solution"]
