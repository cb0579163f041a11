"""Mixed-integer linear programs with exact coefficients, whatever solver reads them.

    minimise  c·x + c₀   subject to   b_i ≤ a_i·x ≤ B_i,   l ≤ x ≤ u,   x_j integer for j in J.

All numbers are rationals.  A solver gets doubles from :func:`rounded`, whose program is a
relaxation of the exact one: whatever is feasible here is feasible there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ..arrays import Bools, Floats
from ..ir.interval import ceil_float, floor_float, nearest_float
from ..ir.linear import LinearForm, Number, dot
from ..stopping import poll

Affine = LinearForm[int]  # of columns, by their number

FEASIBILITY = 1e-9  # the tolerance that solvers are asked for
# Rows of inexact coefficients reach a solver wider by this much, at unit scale, than a bound on
# their rounding.  It must stay below the tolerance: a presolver that finds a column to be integer
# and at least 2e-9, by the slack of a row, rounds that up to 1.
ROW_SLACK = 1e-10
# Coefficients below this, in a row of scale one, are left out, their largest effect made slack.
SMALLEST = 1e-11
SPREAD = 2.0**-20  # of the largest cost: what solvers still tell apart from it
_ROUNDING = 2.0**-50  # far above the relative error of a coefficient, and of the slack's own sum


@dataclass(frozen=True, slots=True)
class Column:
    """A variable within [lower, upper], integer if ``whole``."""

    name: str
    lower: Fraction
    upper: Fraction
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """``lower <= sum coefficient * column <= upper`` (``None``: open); ``why`` it is there."""

    terms: Mapping[int, Fraction]
    lower: Fraction | None
    upper: Fraction | None
    why: str = ""

    def holds(self, values: Mapping[int, Fraction] | Sequence[Fraction]) -> bool:
        value = LinearForm(self.terms).at(values)
        above = self.lower is None or value >= self.lower
        return above and (self.upper is None or value <= self.upper)


@dataclass
class Model:
    """A program under construction; ``refuted`` once some row cannot hold."""

    columns: list[Column] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    objective: Affine = field(default_factory=lambda: LinearForm({}))
    refuted: bool = False
    _names: set[str] = field(default_factory=set)

    def column(self, name: str, lower: Number, upper: Number, whole: bool = False) -> Affine:
        """A new column; its name is primed if that is taken."""
        while name in self._names:
            name += "'"
        self._names.add(name)
        self.columns.append(Column(name, Fraction(lower), Fraction(upper), whole))
        return LinearForm({len(self.columns) - 1: Fraction(1)})

    def binary(self, name: str) -> Affine:
        return self.column(name, 0, 1, whole=True)

    def constrain(
        self, body: Affine, lower: Number | None, upper: Number | None, why: str = ""
    ) -> None:
        """``lower <= body <= upper``; left out if the columns' ranges imply it."""
        poll()
        least, most = self.range(body)
        low = None if lower is None or least >= lower else Fraction(lower)
        high = None if upper is None or most <= upper else Fraction(upper)
        if low is None and high is None:
            return
        if (low is not None and most < low) or (high is not None and least > high):
            self.refuted = True
        offset = body.constant
        self.rows.append(
            Row(
                body.terms,
                None if low is None else low - offset,
                None if high is None else high - offset,
                why,
            )
        )

    def range(self, body: Affine) -> tuple[Fraction, Fraction]:
        """Bounds of an affine form from the columns' ranges alone; exact."""
        lower, upper = list[tuple[Fraction, Fraction]](), list[tuple[Fraction, Fraction]]()
        for j, factor in body.terms.items():
            column = self.columns[j]
            least, most = (lower, upper) if factor > 0 else (upper, lower)
            least.append((factor, column.lower))
            most.append((factor, column.upper))
        return dot(lower, body.constant), dot(upper, body.constant)

    def violated(self, values: Sequence[Fraction]) -> list[str]:
        """What a point breaks: names of columns, and why of rows; exact."""
        found = []
        for column, value in zip(self.columns, values, strict=True):
            low, high = column.lower, column.upper
            if not low <= value <= high or (column.whole and value.denominator != 1):
                found.append(column.name)
        found += [row.why or f"row {i}" for i, row in enumerate(self.rows) if not row.holds(values)]
        return found


@dataclass(frozen=True, slots=True)
class Rounded:
    """A model in doubles: a relaxation of the exact one, its objective times ``scale``.

    Rows in compressed form: entries ``start[i]:start[i + 1]`` of ``index`` and ``value``.
    ``allowance`` (at the objective's own scale) bounds what the rounding of the objective's
    coefficients, a dual tolerance of ``FEASIBILITY`` on every column, and whole columns off by as
    much can add to a dual bound.
    """

    lower: Floats
    upper: Floats
    whole: Bools
    start: npt.NDArray[np.int32]
    index: npt.NDArray[np.int32]
    value: Floats
    row_lower: Floats
    row_upper: Floats
    cost: Floats
    offset: float = 0.0
    scale: float = 1.0
    allowance: float = 0.0

    @classmethod
    def of(
        cls, cost: Floats, ends: tuple[Floats, Floats], matrix: Floats,
        sides: tuple[Floats, Floats],
    ) -> Rounded:  # fmt: skip
        """``min cost·x`` over ``sides[0] <= matrix x <= sides[1]`` and columns within their ends.

        ``matrix`` has shape (m, n), ``sides`` (m,) each, ``cost`` and ``ends`` (n,).
        """
        row, index = np.nonzero(matrix)
        start = np.searchsorted(row, np.arange(matrix.shape[0] + 1)).astype(np.int32)
        whole = np.zeros(cost.size, dtype=np.bool_)
        return cls(*ends, whole, start, index.astype(np.int32), matrix[row, index], *sides, cost)


def rounded(model: Model) -> Rounded:
    """The model in doubles, relaxed by at least what rounding and tolerances could cut off.

    A row is scaled by a power of two to a largest coefficient of about one and widened by
    ``ROW_SLACK`` plus a bound on the rounding of its coefficients; rows of small integers are
    exact and stay as they are.  Columns' ends are rounded outward.
    """
    columns = model.columns
    lower = np.array([floor_float(c.lower) for c in columns], dtype=np.float64)
    upper = np.array([ceil_float(c.upper) for c in columns], dtype=np.float64)
    size = np.maximum(np.abs(lower), np.abs(upper))
    start, index, value = [0], list[int](), list[float]()
    bounds: list[tuple[float, float]] = []
    for row in model.rows:
        poll()
        entries, held = _rounded_row(row, size)
        index += [j for j, _ in entries]
        value += [v for _, v in entries]
        start.append(len(index))
        bounds.append(held)
    cost = np.zeros(len(columns))
    for j, coefficient in model.objective.terms.items():
        cost[j] = float(coefficient)
    scale = _objective_scale(cost)
    costly, whole = cost != 0, np.array([c.whole for c in columns], dtype=np.bool_)
    effect = float(np.sum(np.abs(cost[costly]) * size[costly])) + abs(
        float(model.objective.constant)
    )
    allowance = _ROUNDING * effect + 4 * FEASIBILITY * float((upper - lower).sum()) / scale
    allowance += FEASIBILITY * float(np.abs(cost[whole]).sum())
    ends = np.array(bounds, dtype=np.float64).reshape(-1, 2)
    return Rounded(
        lower, upper, whole,
        np.array(start, dtype=np.int32), np.array(index, dtype=np.int32), np.array(value),
        ends[:, 0], ends[:, 1], cost * scale, nearest_float(model.objective.constant) * scale,
        scale, allowance,
    )  # fmt: skip


def _objective_scale(cost: Floats) -> float:
    """A power of two that brings the smallest cost of a whole unit to about one.

    Costs far below the largest, as of a step to the next double, do not count.
    """
    used = np.abs(cost[cost != 0])
    if not used.size:
        return 1.0
    return float(2.0 ** -np.floor(np.log2(max(used.min(), used.max() * SPREAD))))


def _rounded_row(row: Row, size: Floats) -> tuple[list[tuple[int, float]], tuple[float, float]]:
    """Entries of one row, and its ends; see :func:`rounded`."""
    inf = float("inf")
    if _is_exact(row):
        entries = [(j, float(c)) for j, c in row.terms.items()]
        return entries, (
            -inf if row.lower is None else float(row.lower),
            inf if row.upper is None else float(row.upper),
        )
    largest = max((abs(nearest_float(c)) for c in row.terms.values()), default=1.0) or 1.0
    scale = 2.0 ** -float(np.clip(np.floor(np.log2(largest)), -200, 200))  # powers cannot overflow
    entries, slack = [], ROW_SLACK
    for j, coefficient in row.terms.items():
        number = float(coefficient) * scale
        effect = abs(number) * size[j]
        if abs(number) < SMALLEST:
            slack += effect
        else:
            slack += _ROUNDING * effect
            entries.append((j, number))
    low = -inf if row.lower is None else float(row.lower) * scale
    high = inf if row.upper is None else float(row.upper) * scale
    slack *= 1 + 2.0**-20
    return entries, (low - slack - _ROUNDING * abs(low), high + slack + _ROUNDING * abs(high))


def _is_exact(row: Row) -> bool:
    """Whether a row consists of small integers: doubles hold it, and solvers see it right."""
    numbers = [*row.terms.values(), *(e for e in (row.lower, row.upper) if e is not None)]
    return all(n.denominator == 1 and abs(n) <= 2**20 for n in numbers)
