"""Searching within a hull where trees decide: branch and price whose programs know no trees.

Written out, hundreds of trees make linear programs that are slow and say little.  Here a node's
program is of the distance and the hull alone.  Its reduced costs say what a point at least costs
beyond the node's bound: a leaf that costs more than the radius allows is none, a box of features
shrinks to the leaves that may be part of a sum that suffices (``kernels/leaves.cpp``), and it is
empty where no such sum is left.  Where the linear solution falls short, a box is split at the cut
that lies between it and most of what leaves would add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ...arrays import Floats
from ...compiler.mixed_integer import FEASIBILITY
from ...kernels import cut_leaves, look_at_leaves
from ...question.query import Query
from ..box_search.problem import only_trees, refuses
from ..hulls import Faces, Found
from ..mio.branching import Branching, Descend, Offer, Ranges
from ..mio.cutting_planes import is_beyond
from ..mio.formulation import Formulation, Formulator
from .boxes import OUTWARD, Box, Columns, Node, Trees, alone, count_of, first_above, has, last_upto

AGAIN = 2  # linear programs of a node whose solution trees cut off


class TreeBranching(Branching):
    """The nodes of one formulation without its target, and the trees that decide."""

    tolerance = 2 * FEASIBILITY  # a change by 1 in 10^6 makes a binary as small as 10^-6
    margins = (Fraction(0),)  # borders are those of cells, whose ends are admissible values

    def __init__(
        self,
        trees: Trees,
        formulation: Formulation,
        formulator: Formulator,
        radius: Fraction,
        offer: Offer,
        descend: Descend | None,
    ) -> None:
        super().__init__(formulation, formulator, radius, offer, descend)
        self.trees, self.leaves = trees, trees.leaves()
        self.columns = Columns(formulation, trees)
        self.box: Box  # of the node at hand
        self.value = 0.0  # of that node's program, where the bound is less by what may be off
        self.open = False  # whether that node's point left it open
        self.cell: tuple[Floats, Floats] | None = None  # that a solution lies in
        self.tried = set[bytes]()  # the whole numbers of solutions that were rounded
        self.faces = Faces(self.solver.hull)
        self.farthest = 0.0  # from the target, of all nodes so far

    def _root(self) -> Any:
        low, high, allowed = self.trees.whole()
        constant = ~self.leaves.symbolic & (self.columns.up < 0) & (self.columns.down < 0)
        low[constant] = high[constant] = self.columns.own[constant]
        for j, code in self.columns.ruled_out:
            allowed[j, code // 64] &= ~np.uint64(1 << code % 64)
        return Node(self.program.lower, self.program.upper, low, high, allowed)

    def _solve(
        self, ranges: Any, known: float, deadline: float
    ) -> tuple[float, Floats, Any] | None:
        node = self.columns.held(ranges)
        if node is None:
            return None
        for _ in range(AGAIN):
            solved = self._bounded((node.lower, node.upper), known, deadline)
            if solved is None:
                return None
            known, found = solved
            self.value = found.objective / self.program.scale
            self.faces.learn(found.face)
            self.box = box = self._box(node, found)
            narrowed = self._narrowed(node, box)
            if narrowed is None:
                return None
            node = narrowed
            if not self._is_outside(box, node):
                break
        return known, found.values, node

    def _box(self, node: Node, found: Found) -> Box:
        """The node's box, with the budget that its program leaves."""
        budget = np.inf
        if found.complete:
            bound = found.objective / self.program.scale - self.program.allowance
            budget = (float(self.radius) - bound) * (1 + OUTWARD)
        copied = node._replace(
            low=node.low.copy(), high=node.high.copy(), allowed=node.allowed.copy()
        )
        return self.columns.box(copied, found, self.program.scale, budget)

    def _narrowed(self, node: Node, box: Box) -> Node | None:
        """What trees leave of a node, given a box that is its own; ``None`` for nothing."""
        if not cut_leaves(self.leaves, box):
            return None
        low, high = box.low, box.high
        if box.budget < np.inf:
            with np.errstate(divide="ignore"):
                room = box.budget * (1 + OUTWARD)
                high = np.minimum(high, box.point + room / box.up + OUTWARD * (1 + abs(box.point)))
                low = np.maximum(low, box.point - room / box.down - OUTWARD * (1 + abs(box.point)))
        return self.columns.held(Node(node.lower, node.upper, low, high, box.allowed))

    def _is_outside(self, box: Box, node: Node) -> bool:
        """Whether the solution does not lie in what is left of the node."""
        numbers = ~self.leaves.symbolic
        away = (box.point < node.low - OUTWARD) | (box.point > node.high + OUTWARD)
        return bool((away & numbers).any()) or not all(
            has(node.allowed[j], int(box.point[j])) for j in self.columns.guards
        )

    def _dive_now_and_then(self, *_: Any) -> None:
        """Open nodes are gone down by themselves."""

    def _children(
        self, values: Floats, ranges: Any, bound: float, deadline: float
    ) -> Iterator[Any]:
        node, box = ranges, self.box
        if self._is_outside(box, node):
            yield node
            return
        point = self.columns.rounded(box.point, node)
        looked = box._replace(low=node.low, high=node.high, allowed=node.allowed, point=point)
        sums, least, most, feature, cut = look_at_leaves(self.leaves, looked)
        short = float((self.leaves.need - sums).clip(0).max(initial=0.0))
        if np.isfinite(short):
            self.farthest = max(self.farthest, short)
            self.lag = short / self.farthest if short else 0.0
        else:
            self.lag = 1.0
        if feature < 0 and (sums < self.leaves.sure).any() and not self._in_target(point):
            feature, cut = self._border(node, least, most, point)
            if feature < 0:
                return  # all of it is one cell
        if feature >= 0:
            yield from self._left_of(self._parts(node, feature, cut, point))
        else:
            parts = self._within_target(values, node, point, (least, most), bound, deadline)
            yield from self._left_of(parts)

    def _left_of(self, parts: Iterable[Node]) -> Iterator[Node]:
        """What trees leave of parts of the node at hand, by its reduced costs."""
        for part in parts:
            held = self.columns.held(part._replace(allowed=part.allowed.copy()))
            if held is None:
                continue
            own = self.box._replace(low=held.low, high=held.high, allowed=held.allowed)
            narrowed = self._narrowed(held, own)
            if narrowed is not None:
                yield narrowed

    def _within_target(
        self, values: Floats, node: Node, point: Floats, cell: tuple[Floats, Floats],
        bound: float, deadline: float,
    ) -> Iterator[Node]:  # fmt: skip
        """What a node is split into whose solution is in the target, in this cell."""
        away = np.where(self.program.whole, np.abs(values - np.round(values)), 0.0)
        self.cell, held, self.open = cell, node, False
        if away.max(initial=0.0) <= self.tolerance:
            held = self._in_cell(node, *cell, point) or node
        for lower, upper in super()._children(values, (held.lower, held.upper), bound, deadline):
            yield node._replace(lower=lower, upper=upper)
        if not self.open:
            return
        near = self.formulation.lift(values)  # it may lie within the hull's tolerance
        better = self.offer(near)
        if better is not None:
            self.radius = min(self.radius, better)
        told_apart = bound < self.radius and self.value < self.radius
        parts = self._beside(node, point) if told_apart else []
        yield from parts
        if bound < self.radius and not parts and not self._is_nowhere(node, near):
            self.least = min(self.least, bound)

    def _is_nowhere(self, node: Node, point: dict[str, Any]) -> bool:
        """Whether a node is but a point, which breaks a constraint or lies beyond a face."""
        query = self.formulator.query
        if not query.is_finite or self._beside(node, self.columns.own):
            return False
        return bool(query.violated(point)) or is_beyond(query, point)

    def _settle(self, ranges: Ranges, bound: float, deadline: float) -> None:
        self._place(ranges, bound, deadline)
        self.open = bound < self.radius

    def _beside(self, node: Node, point: Floats) -> list[Node]:
        """A node split at a point that tolerances alone admit, features that it changes first.

        None where numbers have no grid, or the point is all that there is.
        """
        changed, grids = point != self.columns.own, set(self.columns.moves[self.columns.whole])
        for j in np.argsort(~changed, kind="stable").tolist():
            if self.leaves.symbolic[j]:
                if count_of(node.allowed[j]) > 1:
                    return self._parts(node, j, 0.0, point)
            elif j in grids and node.low[j] < node.high[j]:
                home, parts = self.columns.own[j], []
                value = home if node.low[j] <= home <= node.high[j] else point[j]
                below, above = value - self.columns.steps[j] / 2, value + self.columns.steps[j] / 2
                for low, high in ((value, value), (node.low[j], below), (above, node.high[j])):
                    lows, highs = node.low.copy(), node.high.copy()
                    lows[j], highs[j] = low, high
                    parts.append(node._replace(low=lows, high=highs))
                return parts
        return []

    def _in_target(self, point: Floats) -> bool:
        """Whether exact arithmetic has the target at a point, and so all over its cell."""
        values = {
            domain.name: domain.labels[int(value)]
            if domain.is_symbolic
            else domain.feature.typed(value)
            for domain, value in zip(self.trees.domains, point.tolist(), strict=True)
        }
        return self.formulator.query.in_target(values)

    def _border(self, node: Node, least: Floats, most: Floats, point: Floats) -> tuple[int, float]:
        """A cut between a cell and the rest of a node; feature -1 where there is no rest."""
        for j in self.columns.guards:
            if count_of(node.allowed[j]) > 1:
                return j, 0.0
        for j in np.flatnonzero(~self.leaves.symbolic).tolist():
            if most[j] < node.high[j]:
                return j, float(most[j])
            if node.low[j] < least[j]:
                return j, float(last_upto(self.trees.cells, j, np.nextafter(least[j], -np.inf)))
        return -1, 0.0

    def _parts(self, node: Node, feature: int, cut: float, point: Floats) -> list[Node]:
        """A node split at a cut; or, at a category, into the point's label and the others."""
        if self.leaves.symbolic[feature]:
            code = int(point[feature])
            own = alone(node.allowed, feature, code)
            others = node.allowed.copy()
            others[feature] &= ~own[feature]
            return [node._replace(allowed=own), node._replace(allowed=others)]
        low, high = node.low.copy(), node.high.copy()
        high[feature] = min(high[feature], last_upto(self.trees.cells, feature, cut))
        low[feature] = max(low[feature], first_above(self.trees.cells, feature, cut))
        return [node._replace(high=high), node._replace(low=low)]

    def _in_cell(self, node: Node, least: Floats, most: Floats, point: Floats) -> Node | None:
        """What of a node lies in the cell of a point, with its labels."""
        allowed = node.allowed
        for j in self.columns.guards:
            allowed = alone(allowed, j, int(point[j]))
        low, high = np.maximum(node.low, least), np.minimum(node.high, most)
        return self.columns.held(Node(node.lower, node.upper, low, high, allowed))

    def _offer(self, values: Floats) -> None:
        """Offer what rounding makes of a solution, if a linear program has it in the hull."""
        whole = self.program.whole
        rounded = np.where(whole, np.round(values), values)
        key = rounded[whole].tobytes()
        costly = self.program.cost > 0
        least = float(self.program.cost[costly & whole] @ rounded[costly & whole])
        if key in self.tried or least >= float(self.radius) * self.program.scale:
            return
        self.tried.add(key)
        if self.faces.cut_off(self.solver.forms @ rounded + self.solver.constants):
            return
        ends = self.program.lower, self.program.upper
        held = [np.where(whole, rounded, each) for each in ends]
        relaxed = self._relaxed((held[0], held[1]), np.inf)
        if relaxed is not None:
            super()._offer(relaxed)

    def _nearest(self, margin: Fraction, ranges: Ranges, deadline: float) -> Any:
        """The nearest point of a cell; numbers that tolerances put beyond it are put back."""
        point = super()._nearest(margin, ranges, deadline)
        if point is None or self.cell is None:
            return point
        for j, domain in enumerate(self.trees.domains):
            if not domain.is_symbolic:
                least, most = (float(ends[j]) for ends in self.cell)
                if not least <= point[domain.name] <= most:
                    point[domain.name] = domain.feature.typed(
                        least if point[domain.name] < least else most
                    )
        return point


def branching_of(query: Query) -> Callable[..., Branching] | None:
    """What makes branchings within the hulls of a query where trees alone decide, else ``None``."""
    whole = replace(query, hulls=())
    if not query.hulls or query.effects or refuses(whole) or not only_trees(whole):
        return None
    return partial(TreeBranching, Trees(whole))
