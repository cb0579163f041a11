"""Linear programs in HiGHS, and bounds from them that hold whatever its tolerances.

For a program in doubles (:class:`~cfxc.compiler.mixed_integer.Rounded`) and *any* multipliers y,

    c·x >= sum_i y_i (b_i if y_i > 0 else B_i) + sum_j min over [l_j, u_j] of (c - y A)_j x_j.

A linear-programming solver only supplies y; the right side is computed with a bound on its own
rounding (Neumaier and Shcherbina, 2004).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

from ..arrays import Floats
from ..ir.interval import down
from ..stopping import left, poll
from .mixed_integer import FEASIBILITY, Affine, Rounded

EPS = 2.0**-50  # four units of rounding per operation
TINY = 2.0**-1000
LONGEST = 10.0  # seconds for one linear program


@dataclass(frozen=True)
class LowerBound:
    """``form >= bound`` on all points of a program, by these multipliers of its rows."""

    bound: float
    multipliers: Floats


class Relaxed:
    """The linear relaxation of a program, asked again and again for bounds of forms."""

    def __init__(self, program: Rounded) -> None:
        self.program = program
        self._solver = linear_solver(program)
        self._columns = np.arange(program.lower.size, dtype=np.int32)
        self._rows = np.repeat(np.arange(program.row_lower.size), np.diff(program.start))
        self._size = np.maximum(np.abs(program.lower), np.abs(program.upper))

    def least(self, form: Affine) -> LowerBound:
        """A lower bound of a form; about the best that the relaxation has."""
        cost = np.zeros(self._columns.size)
        for j, factor in form.terms.items():
            cost[j] = float(factor)
        solver = self._solver
        solver.changeColsCost(cost.size, self._columns, cost)
        run_in_time(solver)
        multipliers = np.zeros(self.program.row_lower.size)
        if solver.getModelStatus() == highspy.HighsModelStatus.kOptimal:
            multipliers = np.array(solver.getSolution().row_dual, dtype=np.float64)
        return LowerBound(self.evaluate(cost, float(form.constant), multipliers), multipliers)

    def evaluate(self, cost: Floats, constant: float, multipliers: Floats) -> float:
        """What the multipliers prove of ``cost·x + constant``, rounded downward.

        ``cost`` and ``constant`` may be off by their own rounding.
        """
        program = self.program
        y = usable(program, multipliers)
        ends = np.where(y > 0, program.row_lower, program.row_upper)
        products = np.where(y != 0, y * np.where(y != 0, ends, 0.0), 0.0)
        shares = y[self._rows] * program.value
        rest, weight = cost.copy(), np.abs(cost)
        np.subtract.at(rest, program.index, shares)
        np.add.at(weight, program.index, np.abs(shares))
        corners = np.where(rest > 0, program.lower, program.upper) * rest
        total = constant + float(products.sum()) + float(corners.sum())
        scale = abs(constant) + float(np.abs(products).sum()) + float((weight * self._size).sum())
        operations = program.row_lower.size + program.lower.size + 16
        return float(down(total - operations * EPS * scale - TINY))


def linear_solver(program: Rounded) -> Any:
    """HiGHS with the linear relaxation of a program."""
    return made_solver(program, OPTIONS)


def made_solver(program: Rounded, options: Mapping[str, Any], *, whole: bool = False) -> Any:
    """HiGHS with a program; its columns are integer where they are and that is asked for."""
    make: Any = highspy.Highs
    solver = make()
    for option, value in options.items():
        solver.setOptionValue(option, value)
    solver.passModel(
        program.lower.size, program.row_lower.size, program.value.size,
        int(highspy.MatrixFormat.kRowwise), int(highspy.ObjSense.kMinimize), program.offset,
        program.cost, program.lower, program.upper, program.row_lower, program.row_upper,
        program.start[:-1], program.index, program.value,
        (program.whole if whole else np.zeros(program.lower.size)).astype(np.int32),
    )  # fmt: skip
    return solver


def run_in_time(solver: Any) -> None:
    """Solve a linear program, unless the time is up first.

    Raises:
        TimeUp, Pressed: it is.
    """
    limit = min(LONGEST, max(left(), 0.0))  # on top of what the solver has used up so far
    solver.setOptionValue("time_limit", solver.getRunTime() + limit)
    solver.run()
    poll()


OPTIONS: Mapping[str, Any] = {
    "output_flag": False,
    "threads": 1,
    "parallel": "off",
    "primal_feasibility_tolerance": FEASIBILITY,
    "dual_feasibility_tolerance": FEASIBILITY,
    "small_matrix_value": 1e-12,
}


def usable(program: Rounded, multipliers: Floats) -> Floats:
    """The multipliers without those that lean on a side that a row does not have."""
    missing = np.where(multipliers > 0, program.row_lower, program.row_upper)
    return np.where(np.isfinite(missing), multipliers, 0.0)


def rows(program: Rounded) -> Iterator[tuple[Sequence[tuple[int, float]], float, float]]:
    """Every row: its entries and its two ends."""
    starts = program.start.tolist()
    entries = list(zip(program.index.tolist(), program.value.tolist(), strict=True))
    ends = zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    for i, (low, high) in enumerate(ends):
        yield entries[starts[i] : starts[i + 1]], low, high
