"""Linear programs over the hull of many rows, whose columns are made as they are needed.

Of n rows some K + 1 carry a point.  A program with few of them is solved; its duals y price the
others, and rows with ``y·z_i + y_0 > 0`` enter, until none is left.  Then y is the normal of a
face of the hull, ``y·z <= max_i y·z_i + ||y||_* t``, which holds for all rows and costs the
relaxation as much as all the columns would (Benders' cut).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import highspy
import numpy as np

from ..arrays import Floats
from ..compiler.linear_programs import linear_solver, run_in_time
from ..compiler.mixed_integer import FEASIBILITY, Rounded
from ..errors import SolverError
from ..question.hull import Hull
from ..question.query import Query
from ..stopping import now

ENTERING = 60  # rows at a time
ROUNDS = 100
PRICED = 1e-10  # of a normal's size: what counts as no gain
REMEMBERED = 1000  # faces
LARGEST = 2000  # rows that are remembered from one program to the next
BEYOND = 1e5  # cost of lying outside of the hull by 1, where a program has no point inside
DEARER, LIMIT = 100.0, 1e13  # times as much, where that is too little; and never more
ROOM = 1e-9  # of l2: how far a slack may be beyond its tangents
INFINITY = highspy.kHighsInf
SETTLED = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible)


@dataclass(frozen=True, slots=True)
class Face:
    """``normal·z <= support + dual t``: t >= ||s|| is the slack of a point z of the hull."""

    normal: Floats
    support: float
    dual: float

    @staticmethod
    def of(hull: Hull, normal: Floats, along: Floats | None = None) -> Face:
        """The face of a hull that a direction points to; ``along``: its product with each row."""
        return Face(normal, hull.support(normal, along), hull.dual_norm(normal))


class Pool:
    """The rows of a hull that programs needed, which the next one starts with."""

    def __init__(self, hull: Hull) -> None:
        self.hull = hull
        ends = (hull.points.argmin(axis=0), hull.points.argmax(axis=0))
        self.rows: list[int] = list(dict.fromkeys(np.concatenate(ends).tolist()))

    def start(self, near: Floats) -> list[int]:
        """Rows to start with: those known, and the nearest to a point."""
        away = np.abs(self.hull.points - near).sum(axis=1)
        count = min(ENTERING, len(away) - 1)
        nearest = np.argpartition(away, count)[: count + 1].tolist()
        return list(dict.fromkeys([*nearest, *self.rows]))

    def learn(self, rows: Sequence[int]) -> None:
        """Remember rows that carried a point."""
        self.rows = list(dict.fromkeys([*rows, *self.rows]))[:LARGEST]

    @staticmethod
    def priced(along: Floats, normal: Floats, level: float, known: set[int]) -> list[int]:
        """Rows that gain most beyond a level, and are not in yet."""
        allowed = level + PRICED * (1 + float(np.abs(normal).sum()))
        if along.max() <= allowed:
            return []
        count = min(ENTERING, len(along) - 1)
        best = np.argpartition(-along, count)[: count + 1]
        return [i for i in best.tolist() if along[i] > allowed and i not in known]


@lru_cache(maxsize=8)
def pool_of(hull: Hull) -> Pool:
    """The pool of a hull, one for all instances."""
    return Pool(hull)


@dataclass(frozen=True, slots=True)
class Found:
    """A solution: its columns, the rows that carry it with their shares, and the face it met.

    ``objective`` is a lower bound over all rows where it is ``complete``: none of them gains.
    ``costs``: by how much each of the program's columns costs more than the duals pay for it.
    """

    values: Floats
    rows: tuple[int, ...]
    shares: Floats
    face: Face
    objective: float = 0.0
    complete: bool = True
    costs: Floats = field(default_factory=lambda: np.zeros(0))


class Faces:
    """The latest faces of a hull that programs met."""

    def __init__(self, hull: Hull) -> None:
        self.hull, self.count = hull, 0
        self.normals = np.zeros((REMEMBERED, len(hull.coordinates)))
        self.most = np.full(REMEMBERED, np.inf)

    def learn(self, face: Face) -> None:
        """Remember a face, in place of the oldest."""
        size = float(np.abs(face.normal).max(initial=0.0)) or 1.0
        place = self.count % REMEMBERED
        self.normals[place] = face.normal / size
        self.most[place] = (face.support + face.dual * float(self.hull.reach)) / size
        self.count += 1

    def cut_off(self, z: Floats) -> bool:
        """Whether a point lies clearly beyond one of them."""
        known = slice(0, min(self.count, REMEMBERED))
        beyond = self.normals[known] @ z - self.most[known]
        return bool(beyond.max(initial=-np.inf) > ROOM)


class HullProgram:
    """``min c·x`` over a program's rows, with forms ``A x + b`` of its columns in a hull.

    Args:
        hull: With corners of K coordinates.
        program: Its linear relaxation is taken.
        forms: A, shape (K, number of columns).
        constants: b, shape (K,).
        slack: The column t that is at least ``||s||``.
    """

    def __init__(
        self, hull: Hull, program: Rounded, forms: Floats, constants: Floats, slack: int
    ) -> None:
        self.hull, self.pool, self.forms, self.constants = hull, pool_of(hull), forms, constants
        self.count, self.size = program.lower.size, len(hull.coordinates)
        self.solver, self.slack = linear_solver(program), slack
        self.first = program.row_lower.size  # row of the hull's; the last: shares sum to 1
        self._load(program, forms, constants)
        self.rows: list[int] = []

    def _load(self, program: Rounded, forms: Floats, constants: Floats) -> None:
        solver, n, size = self.solver, self.count, self.size
        for k in range(size):
            used = np.flatnonzero(forms[k]).astype(np.int32)
            solver.addRow(constants[k], constants[k], used.size, used, -forms[k][used])
        solver.addRow(1.0, 1.0, 0, np.zeros(0, dtype=np.int32), np.zeros(0))
        self.over = n + 2 * size
        self._columns(-np.eye(size), np.zeros(size))
        self._columns(np.eye(size), np.zeros(size))
        self.beyond = BEYOND * max(1.0, float(np.abs(program.cost).max(initial=0.0)))
        solver.addCol(self.beyond, 0.0, INFINITY, 0, np.zeros(0, dtype=np.int32), np.zeros(0))
        up, down = np.arange(n, n + size), np.arange(n + size, n + 2 * size)
        limits = np.array([self.slack, self.over], dtype=np.int32)
        if self.hull.norm == "linf":
            for pair in zip(up.tolist(), down.tolist(), strict=True):
                self._at_most(np.array(pair, dtype=np.int32), np.ones(2), limits)
        else:  # l2 is at most l1, and at least it over sqrt(K)
            share = 1.0 if self.hull.norm == "l1" else 1 / np.sqrt(size)
            both = np.concatenate([up, down]).astype(np.int32)
            self._at_most(both, np.full(both.size, share), limits)

    def _at_most(self, index: Any, values: Floats, limits: Any) -> None:
        """A row: some columns, weighed, are at most the sum of others."""
        joined = np.concatenate([index, limits]).astype(np.int32)
        weights = np.concatenate([values, -np.ones(limits.size)])
        self.solver.addRow(-INFINITY, 0.0, joined.size, joined, weights)

    def _columns(self, points: Floats, last: Floats) -> None:
        """Columns with these entries (one a row) in the hull's rows, and >= 0."""
        count, size = points.shape[0], self.size + 1
        entries = np.concatenate([points, last[:, None]], axis=1).ravel()
        index = np.tile(np.arange(self.first, self.first + size, dtype=np.int32), count)
        start = np.arange(0, count * size, size, dtype=np.int32)
        keep = entries != 0
        kept = np.concatenate([[0], np.cumsum(keep)])[start].astype(np.int32)
        self.solver.addCols(
            count, np.zeros(count), np.zeros(count), np.full(count, INFINITY), int(keep.sum()),
            kept, index[keep], entries[keep],
        )  # fmt: skip

    def _enter(self, rows: Sequence[int]) -> None:
        self._columns(self.hull.points[list(rows)], np.ones(len(rows)))
        self.rows += rows

    def hold(self, lower: Floats, upper: Floats) -> None:
        """Other ranges of the program's columns."""
        columns = np.arange(self.count, dtype=np.int32)
        self.solver.changeColsBounds(self.count, columns, lower, upper)

    def outside(self) -> float:
        """How far outside of the hull the last solution lies: 0 where there are points inside."""
        return float(self.solver.getSolution().col_value[self.over])

    def solve(
        self, near: Floats, deadline: float, extend: Callable[[Any, Floats], bool] | None = None,
        enough: float = -INFINITY,
    ) -> Found | None:  # fmt: skip
        """The optimum over all rows, or as near as time and rounds allow; None if there is none.

        ``extend`` may add rows that a solution breaks, and says whether it did.  A solution outside
        of the hull is made to cost ``enough``, if there is none inside.

        Raises:
            SolverError: HiGHS gives up.
        """
        if not self.rows:
            self._enter(self.pool.start(near))
        solver, first, size = self.solver, self.first, self.size
        for _ in range(ROUNDS):
            if not self._run():
                return None
            solution = solver.getSolution()
            values = np.array(solution.col_value, dtype=np.float64)
            duals = np.array(solution.row_dual, dtype=np.float64)[first : first + size + 1]
            objective = float(solver.getInfo().objective_function_value)
            normal, level = duals[:-1], -float(duals[-1])
            along = self.hull.along(normal)
            entering = self.pool.priced(along, normal, level, set(self.rows))
            if entering:
                self._enter(entering)
            added = self.hull.norm == "l2" and self._round(values)
            added |= extend is not None and extend(solver, values)
            added |= objective < enough and self._keep_inside(values)
            if not (entering or added) or now() >= deadline:
                break
        costs = np.array(solution.col_dual, dtype=np.float64)[: self.count]
        face = Face.of(self.hull, normal, along)
        return self._found(values, face, objective, not entering, costs)

    def _keep_inside(self, values: Floats) -> bool:
        """Make it cost more to lie outside of the hull; whether a solution did."""
        if values[self.over] <= ROOM or self.beyond >= LIMIT:
            return False
        self.beyond *= DEARER
        self.solver.changeColCost(self.over, self.beyond)
        return True

    def _run(self) -> bool:
        """Whether the program has an optimum; a basis that HiGHS cannot go on from is given up."""
        solver, status = self.solver, highspy.HighsModelStatus.kNotset
        for _ in range(2):
            run_in_time(solver)
            status = solver.getModelStatus()
            if status in SETTLED:
                return bool(status == highspy.HighsModelStatus.kOptimal)
            solver.clearSolver()
        raise SolverError(f"HiGHS ended with '{solver.modelStatusToString(status)}'")

    def _found(
        self, values: Floats, face: Face, objective: float, complete: bool, costs: Floats
    ) -> Found:
        shares = values[self.over + 1 :]
        carriers = np.flatnonzero(shares > 0)
        rows = tuple(self.rows[i] for i in carriers.tolist())
        self.pool.learn(rows)
        objective -= self._allowance(face.normal)
        return Found(values[: self.count], rows, shares[carriers], face, objective, complete, costs)

    def _allowance(self, normal: Floats) -> float:
        """What rows priced at almost nothing, and dual tolerances on the hull's columns, may add.

        Those of the program's own columns are ``Rounded.allowance``.
        """
        priced = PRICED * (1 + float(np.abs(normal).sum()))
        return priced + 4 * FEASIBILITY * (1 + 2 * self.size * float(self.hull.reach))

    def _round(self, values: Floats) -> bool:
        """A tangent to the ball of l2 where the slack is; whether it lay beyond."""
        n, size = self.count, self.size
        slack = values[n : n + size] - values[n + size : n + 2 * size]
        length = float(np.linalg.norm(slack))
        if length <= (values[self.slack] + values[self.over]) * (1 + ROOM) + ROOM:
            return False
        both = np.concatenate([slack, -slack]) / length
        limits = np.array([self.slack, self.over], dtype=np.int32)
        self._at_most(np.arange(n, n + 2 * size, dtype=np.int32), both, limits)
        return True


def nearest(hull: Hull, z: Floats) -> Found:
    """The rows and shares of the point of a hull that is nearest to z, and the face between."""
    if hull.norm == "l2":
        return _nearest_square(hull, z)
    ends, sides = (np.zeros(1), np.full(1, INFINITY)), (np.zeros(0), np.zeros(0))
    program = Rounded.of(np.ones(1), ends, np.zeros((0, 1)), sides)
    found = HullProgram(hull, program, np.zeros((z.size, 1)), z, 0).solve(z, np.inf)
    # every point is at some distance, but within 1e-10 of a corner HiGHS may find none
    return _nearest_square(hull, z) if found is None else found


def _nearest_square(hull: Hull, z: Floats) -> Found:
    """The same under l2: the least norm of Σ λ_i (z_i - z) is that of nonnegative least squares,

    min ||Σ μ_i (z_i - z)||² + (Σ μ_i - 1)², scaled to Σ μ_i = 1.
    """
    pool = pool_of(hull)
    rows = pool.start(z)
    for _ in range(ROUNDS):
        moved = (hull.points[rows] - z).T
        system = np.vstack([moved, np.ones(len(rows))])
        from scipy.optimize import nnls

        shares, _ = nnls(system, np.append(np.zeros(z.size), 1.0))
        shares = shares / shares.sum()
        normal = -(moved @ shares)
        along = hull.along(normal)
        entering = pool.priced(along, normal, float(normal @ (z - normal)), set(rows))
        kept = np.flatnonzero(shares > 0)
        if not entering:
            break
        rows = [*(rows[i] for i in kept.tolist()), *entering]
    carriers = tuple(rows[i] for i in kept.tolist())
    pool.learn(carriers)
    return Found(z, carriers, shares[kept], Face.of(hull, normal, along))


def slack_of(query: Query, point: Mapping[str, Any]) -> Fraction:
    """``||s||`` of a point, rounded upward, for the best shares that were found.

    Of several hulls, the least; 0 if there is none.
    """
    found = []
    for hull in query.hulls:
        z = hull.vector(query.space, point)
        best = nearest(hull, np.array([float(one) for one in z]))
        found.append(hull.slack(z, best.rows, best.shares))
    return min(found, default=Fraction(0))


def admits(query: Query, slack: Fraction) -> bool:
    """Whether so much slack is allowed."""
    return not query.hulls or slack <= max(hull.reach for hull in query.hulls)
