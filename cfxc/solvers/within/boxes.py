"""Trees as leaves, and boxes of features beside the columns of a program that bounds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Bools, Floats, Ints
from ...compiler.functional import Symbolic
from ...compiler.mixed_integer import Affine
from ...compiler.passes import admissible_labels
from ...compiler.terms import Term
from ...ir.interval import ceil_float
from ...question.query import Query
from ..box_search.cells import Cells, make_cells
from ..box_search.leaves import ROUNDING, no_leaves, reachable_leaves
from ..box_search.problem import make_problem
from ..encoding.ball import everywhere
from ..hulls import Found
from ..mio.formulation import Formulation

OUTWARD = 1e-9  # of a number read from columns: more than doubles lose
Words = npt.NDArray[np.uint64]


class Leaves(NamedTuple):
    """What the kernel reads of T trees with n leaves: see ``box_search.leaves``.

    ``least`` and ``most`` of a condition are the ends of the admissible values that meet it;
    ``value`` (K, n), ``need`` (K,): requirements, with room for rounding; ``sure`` (K,): without.
    """

    symbolic: Bools
    first: Ints
    start: Ints
    feature: Ints
    above: Floats
    upto: Floats
    least: Floats
    most: Floats
    labels: Words
    value: Floats
    need: Floats
    sure: Floats


class Box(NamedTuple):
    """A box of J features, a point of it, and what it costs at least to leave that, as doubles.

    ``low``, ``high``, ``point`` (J,); of a category ``allowed`` (J, words), and its label's code.
    ``up``, ``down`` (J,): of a unit; ``worth`` (J, L): of each label; ``budget``: what is left.
    """

    low: Floats
    high: Floats
    allowed: Words
    point: Floats
    up: Floats
    down: Floats
    worth: Floats
    budget: float


class Node(NamedTuple):
    """The ranges of columns, and the box of features."""

    lower: Floats
    upper: Floats
    low: Floats
    high: Floats
    allowed: Words


class Trees:
    """The trees that decide a query, as leaves, and its cells."""

    def __init__(self, query: Query) -> None:
        problem = make_problem(query)
        self.decision = problem.decision
        self.ball = replace(problem.ball, radius=ceil_float(everywhere(query)))
        self.cells = make_cells(query, problem.costs, self.decision.cuts)
        self.domains = query.domains

    def leaves(self) -> Leaves:
        """All leaves that may be part of a sum that suffices: of none, where none does."""
        found, _ = reachable_leaves(self.decision, self.ball)
        if found is None:
            found = no_leaves(self.decision)
        trees, need = self.decision.roots.size, self.decision.need
        value = np.ascontiguousarray(self.decision.value[:, found.node])
        largest = np.zeros((need.size, trees))
        for k in range(need.size):
            np.maximum.at(largest[k], found.tree, np.abs(value[k]))
        slack = ROUNDING * (largest.sum(axis=1) + np.abs(need))
        clear = self.decision.clear
        least, most = found.above.copy(), found.upto.copy()
        for j, domain in enumerate(self.domains):
            own = np.flatnonzero(found.feature == j)
            if not domain.is_symbolic and own.size:
                least[own] = first_above(self.cells, j, found.above[own])
                most[own] = last_upto(self.cells, j, found.upto[own])
        first = np.searchsorted(found.tree, np.arange(trees + 1)).astype(np.int64)
        return Leaves(
            self.cells.symbolic, first, found.start, found.feature, found.above, found.upto,
            least, most, found.labels, value, np.where(self._told_apart(), clear, need - slack),
            clear,
        )  # fmt: skip

    def _told_apart(self) -> Bools:
        """(K,), whether ``clear`` lies between sums that suffice and those that do not."""
        made, shift = self.decision, self.decision.shift
        pairs = zip(made.need_high.tolist(), made.need_low.tolist(), strict=True)
        least = [Fraction((high << shift) + low) for high, low in pairs]
        bounds = zip(least, made.scale, made.clear.tolist(), strict=True)
        return np.array([Fraction(clear) < need / scale for need, scale, clear in bounds])

    def whole(self) -> tuple[Floats, Floats, Words]:
        """The box of all that is admissible."""
        allowed = admissible_labels(self.ball, self.decision.splits.mask.shape[1])
        return self.cells.lowest.copy(), self.cells.highest.copy(), allowed


def last_upto(cells: Cells, j: int, cut: Any) -> Any:
    """The largest admissible values of number j up to cuts; -inf where there is none."""
    ends = np.append(cells.cuts[j], cells.highest[j])
    found = np.concatenate([[-np.inf], ends])[np.searchsorted(ends, cut, side="right")]
    return np.where(np.isinf(cut), np.inf, found)


def first_above(cells: Cells, j: int, cut: Any) -> Any:
    """The least admissible values of number j above cuts; inf where there is none."""
    starts = cells.least[cells.start[j] : cells.start[j + 1]]
    found = np.append(starts, np.inf)[np.searchsorted(starts, cut, side="right")]
    return np.where(np.isinf(cut), -np.inf, found)


class Columns:
    """Which columns of a formulation make up each feature, and how.

    Number j is ``own + steps (up - down)`` (columns -1 where it is constant), up to ``error``; of
    a category ``guards`` has a column for each label, and whether it is 0 that chooses it.
    """

    def __init__(self, formulation: Formulation, trees: Trees) -> None:
        encoding, emission = formulation.encoding, formulation.emission
        count = len(trees.domains)
        self.up, self.down = np.full(count, -1), np.full(count, -1)
        self.own, self.steps = np.zeros(count), np.ones(count)
        self.error = np.zeros(count)
        self.guards = dict[int, list[tuple[int, bool] | None]]()
        self.ruled_out = list[tuple[int, int]]()  # labels beyond the radius
        for j, domain in enumerate(trees.domains):
            value = encoding.inputs[domain.name]
            if isinstance(value, Symbolic):
                self.guards[j] = [_guard(emission.variables, g) for g in value.guards]
                self.ruled_out += [(j, k) for k, g in enumerate(value.guards) if g.is_false]
                continue
            if value.kind == "const":
                self.own[j] = float(value.data)
                continue
            form = emission.variables[value]
            self.own[j] = float(form.constant)
            for column, factor in form.terms.items():
                if column in formulation.writer.roundings:
                    self.error[j] = float(emission.model.columns[column].upper)
                else:
                    (self.up if factor > 0 else self.down)[j] = column
                    self.steps[j] = float(abs(factor))
        flags = formulation.writer.flags
        self.flags = np.array(list(flags), dtype=np.int64)
        self.flagged = np.array(list(flags.values()), dtype=np.int64)
        self.moves = np.flatnonzero((self.up >= 0) & (self.down >= 0))
        columns = emission.model.columns
        self.whole = np.array([columns[j].whole for j in self.up[self.moves]], dtype=np.bool_)

    def held(self, node: Node) -> Node | None:
        """A node whose columns are held to its box, and its box to its columns; None if empty."""
        lower, upper = node.lower.copy(), node.upper.copy()
        low, high, j = node.low.copy(), node.high.copy(), self.moves
        up, down, own, steps = self.up[j], self.down[j], self.own[j], self.steps[j]
        most = own + steps * (upper[up] - lower[down]) + self.error[j]
        least = own + steps * (lower[up] - upper[down]) - self.error[j]
        low[j] = np.maximum(low[j], least - OUTWARD * (1 + np.abs(least)))
        high[j] = np.minimum(high[j], most + OUTWARD * (1 + np.abs(most)))
        rise, fall = (low[j] - own) / steps, (high[j] - own) / steps
        off = self.error[j] / steps + OUTWARD * (1 + np.maximum(np.abs(rise), np.abs(fall)))
        rise, fall = rise - off, fall + off
        rise = np.where(self.whole, np.ceil(rise), rise)
        fall = np.where(self.whole, np.floor(fall), fall)
        lower[up], upper[up] = np.maximum(lower[up], rise), np.minimum(upper[up], fall.clip(0))
        lower[down], upper[down] = (
            np.maximum(lower[down], -fall),
            np.minimum(upper[down], (-rise).clip(0)),
        )
        for category, guards in self.guards.items():
            if not self._choose(category, guards, node.allowed, lower, upper):
                return None
        if self.flags.size:
            moved = lower[self.flagged] > 0
            lower[self.flags[moved]] = 1.0
            upper[self.flags[upper[self.flagged] <= 0]] = 0.0
            upper[self.flagged[upper[self.flags] < 1]] = 0.0
        if (lower > upper).any() or (low > high).any():
            return None
        return Node(lower, upper, low, high, node.allowed)

    def _choose(
        self, category: int, guards: Sequence[tuple[int, bool] | None], allowed: Words,
        lower: Floats, upper: Floats,
    ) -> bool:  # fmt: skip
        """Hold the columns of a category to labels, and these to the columns; whether one is."""
        left = 0
        for code, guard in enumerate(guards):
            word, bit = code // 64, np.uint64(1 << code % 64)
            if guard is None:
                left += bool(allowed[category, word] & bit)
                continue
            column, negated = guard
            possible = lower[column] <= 0 if negated else upper[column] >= 1
            if allowed[category, word] & bit and possible:
                left += 1
                continue
            if negated:
                lower[column] = 1.0
            else:
                upper[column] = 0.0
            allowed[category, word] &= ~bit
        return left > 0

    def box(self, node: Node, found: Found, scale: float, budget: float) -> Box:
        """The box with the linear solution, and what it costs to leave it."""
        values, costs, j = found.values, found.costs / scale, self.moves
        point, size = np.clip(self.own, node.low, node.high), len(self.own)
        up, down = np.zeros(size), np.zeros(size)
        moved = self.own[j] + self.steps[j] * (values[self.up[j]] - values[self.down[j]])
        point[j] = np.clip(moved, node.low[j], node.high[j])
        rise, fall = costs[self.up[j]], costs[self.down[j]]
        up[j] = np.where(values[self.down[j]] > node.lower[self.down[j]], 0.0, rise)
        down[j] = np.where(values[self.up[j]] > node.lower[self.up[j]], 0.0, fall)
        up[j], down[j] = up[j].clip(0) / self.steps[j], down[j].clip(0) / self.steps[j]
        up[self.error > 0] = down[self.error > 0] = 0.0
        worth = np.zeros((size, 64 * node.allowed.shape[1]))
        for category, guards in self.guards.items():
            own = 0.0
            for code, guard in enumerate(guards):
                if guard is None:
                    if has(node.allowed[category], code):
                        point[category] = code
                    continue
                column, negated = guard
                share = 1 - values[column] if negated else values[column]
                rate = -costs[column] if negated else costs[column]
                worth[category, code] = max(rate, 0.0) * (1 - share)
                if share > own:
                    own, point[category] = share, code
        return Box(node.low, node.high, node.allowed, point, up, down, worth, budget)

    def rounded(self, point: Floats, node: Node) -> Floats:
        """About the admissible values next to a point, within a node's box."""
        near, j = point.copy(), self.moves[self.whole]
        own, steps = self.own[j], self.steps[j]
        near[j] = own + steps * np.round((point[j] - own) / steps)
        numbers = self.moves
        near[numbers] = np.clip(near[numbers], node.low[numbers], node.high[numbers])
        return near


def _guard(variables: dict[Term, Affine], guard: Term) -> tuple[int, bool] | None:
    """The column that chooses a label, and whether it does so by being 0; None: there is none."""
    negated = guard.kind == "not"
    form = variables.get(guard.args[0] if negated else guard)
    if form is None or len(form.terms) != 1:
        return None
    ((column, factor),) = form.terms.items()
    return (column, negated) if factor == 1 and not form.constant else None


def has(allowed: Words, code: int) -> bool:
    """Whether a label is among those allowed."""
    return bool(allowed[code // 64] >> np.uint64(code % 64) & np.uint64(1))


def alone(allowed: Words, j: int, code: int) -> Words:
    """The same, with one label of category j."""
    found = allowed.copy()
    found[j] = 0
    found[j, code // 64] = np.uint64(1 << code % 64)
    return found


def count_of(allowed: Words) -> int:
    """How many labels are allowed."""
    return sum(int(word).bit_count() for word in allowed)
