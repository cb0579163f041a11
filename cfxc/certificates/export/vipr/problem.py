"""A mixed-integer linear program in rational numbers, and the values of its columns at a point."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction as Q
from typing import Any

from ....errors import OutOfTimeError

ZERO, ONE = Q(0), Q(1)
REST = -1  # the place of the constant in an affine sum
Point = list[Any]  # numbers, and places of labels, by feature
Affine = Mapping[int, Q]  # factors by column, and the constant under REST


def total(*parts: tuple[Q | int, Affine]) -> dict[int, Q]:
    """The sum of multiples of affine sums, without zeros."""
    found: dict[int, Q] = {}
    for factor, part in parts:
        for column, value in part.items():
            more = value if factor == 1 else factor * value
            found[column] = found[column] + more if column in found else more
    return {column: value for column, value in found.items() if value}


def constant(value: Q | int) -> dict[int, Q]:
    """A number as an affine sum."""
    return {REST: Q(value)} if value else {}


@dataclass(frozen=True)
class Column:
    """A variable between two bounds.

    Attributes:
        name: Without blanks; what it stands for is said by ``about``.
        whole: Whether it must be a whole number.
        about: What the manifest says of it.
        at: Its value at a point of the feature space.
    """

    name: str
    low: Q
    high: Q
    whole: bool
    about: dict[str, Any]
    at: Callable[[Point], Q]


@dataclass(frozen=True)
class Row:
    """``Σ terms`` is at least (G), at most (L) or exactly (E) ``side``."""

    name: str
    terms: dict[int, Q]
    sense: str
    side: Q
    group: str

    def holds(self, values: list[Q]) -> bool:
        """Whether it holds of these values of the columns."""
        met = ((f, values[column]) for column, f in self.terms.items() if values[column])
        gap = sum((f * value for f, value in met), ZERO) - self.side
        return gap == 0 if self.sense == "E" else gap >= 0 if self.sense == "G" else gap <= 0


@dataclass
class Problem:
    """Minimise ``objective`` subject to the bounds of columns and to rows.

    Attributes:
        groups: Why the rows of a group are there.
        notes: What is relaxed.
        ends: Binaries at 0 or 1, and the least distance there, by feature and side, nearest first.
        first: How many rows come from features alone; these show such distances.
        deadline: When making it, or a proof about it, is given up (``time.monotonic``).
    """

    columns: list[Column] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    objective: dict[int, Q] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    ends: list[list[tuple[int, int, Q]]] = field(default_factory=list)
    first: int = 0
    deadline: float = math.inf

    def left(self) -> float:
        """Seconds that are left; refuses if there are none."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise OutOfTimeError(
                f"VIPR: no proof within the time limit: {sum(c.whole for c in self.columns)} whole "
                f"columns of {len(self.columns)}, {len(self.rows)} rows",
                remedy="allow more time (time_limit; --time-limit)",
            )
        return left

    def column(
        self,
        name: str,
        span: tuple[Q | int, Q | int],
        at: Callable[[Point], Q],
        *,
        whole: bool = False,
        **about: Any,
    ) -> dict[int, Q]:
        """A new variable, as an affine sum; a number if its bounds are one."""
        self.left()
        low, high = Q(span[0]), Q(span[1])
        if low == high:
            return constant(low)
        self.columns.append(Column(name, low, high, whole, about, at))
        return {len(self.columns) - 1: ONE}

    def binary(self, name: str, at: Callable[[Point], bool], **about: Any) -> dict[int, Q]:
        """A new variable that is 0 or 1."""
        return self.column(name, (0, 1), lambda point: Q(at(point)), whole=True, **about)

    def row(self, group: str, left: Affine, sense: str, right: Affine, why: str) -> None:
        """``left >= right`` (or <=, =); left out if it is true of all numbers."""
        self.left()
        terms = total((1, left), (-1, right))
        side = -terms.pop(REST, ZERO)
        row = Row(f"{group}_{len(self.rows)}", terms, sense, side, group)
        if terms or not row.holds([]):
            self.groups.setdefault(group, why)
            self.rows.append(row)

    def of_features(self) -> Problem:
        """The same without the rows of forms."""
        rows = self.rows[: self.first]
        return Problem(self.columns, rows, self.objective, deadline=self.deadline)

    def note(self, text: str) -> None:
        """Something that the program relaxes, said once."""
        if text not in self.notes:
            self.notes.append(text)

    def cost(self, factor: Q, terms: Affine) -> None:
        """Add to the objective, which has no constant."""
        self.objective = total((1, self.objective), (factor, terms))

    def end(self, binary: Affine, at: int, least: Q) -> list[tuple[int, int, Q]]:
        """That where a binary is 0 or 1 the objective is at least this; nothing of a number."""
        return [(column, at, least) for column in binary if column != REST]

    def close(self) -> None:
        """Put what the objective has of a constant on a column that is 1."""
        rest = self.objective.pop(REST, ZERO)
        if rest:
            self.columns.append(Column("one", ONE, ONE, False, {"kind": "one"}, lambda _: ONE))
            self.objective[len(self.columns) - 1] = rest

    def values(self, point: Point) -> list[Q]:
        """What all columns are at a point of the feature space."""
        return [column.at(point) for column in self.columns]
