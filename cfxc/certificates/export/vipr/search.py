"""An exact branch and bound that shows that no point costs less than an aim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction as Q

import numpy as np

from .problem import ZERO, Problem
from .relaxation import MARGIN, TOLERANCE, Bounds, Relaxation, Shown, Solution

WHOLE = 1e-6  # how near to a whole number is taken for one (of a proposal)
TRIALS, STEPS = 6, 60  # columns tried before one is chosen, and steps of the simplex for each
SHORT = 60  # binary places of a bound that falls short of the aim
TIES = 500  # how many parts are looked at more closely, at most
SLACK = Q(1, 2**26)  # how little of the aim may be given up instead of branching on


@dataclass
class Node:
    """A part of the program: closed by multipliers, or split at a column.

    ``column <= at`` below, ``column >= at + 1`` above.
    """

    shown: Shown | None = None
    column: int = -1
    at: int = 0
    below: Node | None = None
    above: Node | None = None
    tied: bool = False  # whether its points are so near to a tie that a margin is asked for


class Search:
    """Branch and bound, depth first.

    Attributes:
        aim: What all nodes show of the objective; None if the program is infeasible.
        nodes: How many there were.
        short: Whether the aim had to be lowered to what is true of the program.
    """

    def __init__(self, problem: Problem, aim: Q | None) -> None:
        self.problem, self.aim = problem, aim
        self.relaxation = Relaxation(problem)
        self.whole = [j for j, column in enumerate(problem.columns) if column.whole]
        self.gains: dict[tuple[int, int], tuple[float, int]] = {}
        self.nodes, self.ties, self.short = 0, 0, False
        lows, highs = (
            [plain(c.low) for c in problem.columns],
            [plain(c.high) for c in problem.columns],
        )
        self.now: Bounds = lows, highs

    def run(self) -> Node:
        """The root; every node below it is closed or split."""
        root = Node()
        stack = [self._trunk(root, self.now)]
        while stack:
            node, bounds = stack.pop()
            self.nodes += 1
            split = self._visit(node, bounds)
            if split is None:
                continue
            node.column, node.at = split
            node.below, node.above = Node(tied=node.tied), Node(tied=node.tied)
            low, high = self._sides(bounds, *split)
            stack += [(node.above, high), (node.below, low)]
        return root

    def _trunk(self, root: Node, bounds: Bounds) -> tuple[Node, Bounds]:
        """Split off what a feature alone takes too far; the node that is left, and its bounds.

        Most binaries are then fixed, and the linear programs below are small.
        """
        if self.aim is None:
            return root, bounds
        near = Relaxation(self.problem.of_features())
        for ends in self.problem.ends:
            column, end, _ = next((e for e in ends if e[2] >= self.aim), (-1, 0, ZERO))
            if column < 0 or bounds[0][column] == bounds[1][column]:
                continue
            sides = self._sides(bounds, column, 0)
            near.bound(column, end, end)
            shown = near.best(near.solve(self.problem.left()).by, sides[end], self.aim, empty=False)
            near.bound(column, 0, 1)
            if shown.value < self.aim:
                continue
            far, rest = Node(shown), Node()
            root.column, root.at = column, 0
            root.below, root.above = (rest, far) if end else (far, rest)
            root, bounds = rest, sides[1 - end]
        return root, bounds

    def _sides(self, bounds: Bounds, column: int, at: int) -> tuple[Bounds, Bounds]:
        lows, highs = bounds
        below, above = highs.copy(), lows.copy()
        below[column], above[column] = at, at + 1
        return (lows, below), (above, highs)

    def _solve(self, bounds: Bounds, iterations: int = 2**30) -> Solution:
        """The linear program within bounds."""
        left = self.problem.left()
        places = enumerate(zip(*bounds, *self.now, strict=True))
        for j in [j for j, (low, high, a, b) in places if low is not a or high is not b]:
            self.relaxation.bound(j, bounds[0][j], bounds[1][j])
        self.now = bounds
        solution = self.relaxation.solve(left, iterations)
        self.problem.left()
        return solution

    # -- closing ----------------------------------------------------------------------------------

    def _visit(self, node: Node, bounds: Bounds) -> tuple[int, int] | None:
        """Close a node, or say where to split it."""
        self.ties += node.tied
        self.relaxation.tighten(MARGIN if node.tied and self.ties < TIES else 0.0)
        solution = self._solve(bounds)
        if solution.state == "infeasible":
            node.shown = self._empty(solution, bounds)
            return None if node.shown else self._any(node, bounds, solution)
        if solution.state == "open":
            return self._any(node, bounds, solution)
        near = self.aim is not None and solution.value >= self.aim - 10 * TOLERANCE
        if near and self._close(node, bounds, solution, SLACK):
            return None
        split = self._fractional(bounds, solution)
        if split is not None:
            return split
        if not self._is_point(bounds, solution):
            return self._any(node, bounds, solution)
        if not node.tied and self._is_tied(bounds, solution):
            node.tied = True
            return self._visit(node, bounds)
        self.relaxation.tighten(0.0)
        self._close(node, bounds, self._solve(bounds), None)
        return None

    def _close(self, node: Node, bounds: Bounds, solution: Solution, slack: Q | None) -> bool:
        """Close a node by what is shown, if it misses the aim by no more than ``slack``.

        The aim is lowered to it: with ``slack`` None, a point of the program costs no more.
        """
        shown = self.relaxation.best(solution.by, bounds, self.aim, empty=False)
        if self.aim is None or shown.value < self.aim:
            missed = self.aim is not None and slack is not None and shown.value < self.aim - slack
            if missed:
                return False
            exact = self.relaxation.exact(solution.by, bounds, empty=False)
            if exact is not None and exact.value > shown.value:
                shown = exact
            if exact is not None and slack is not None and self.aim and exact.value < self.aim:
                self.ties += 1
                if self.ties < TIES:  # a little is truly missing, and parts may have it
                    return False
        if self.aim is None or shown.value < self.aim:
            self.aim, self.short = Q(math.floor(shown.value * 2**SHORT), 2**SHORT), True
        node.shown = shown
        return True

    def _empty(self, solution: Solution, bounds: Bounds) -> Shown | None:
        """Multipliers that show that there is no point, if they are found."""
        largest = float(np.abs(solution.by).max(initial=0.0))
        rays = [solution.by / largest, -solution.by / largest] if largest else []
        for by in rays:
            shown = self.relaxation.best(by, bounds, ZERO, empty=True)
            if shown.value > 0:
                return shown
        for by in rays:
            exact = self.relaxation.exact(by, bounds, empty=True)
            if exact is not None and exact.value > 0:
                return exact
        for i in range(len(self.problem.rows)):
            self.problem.left()
            by = np.zeros(len(self.problem.rows))
            for by[i] in (1.0, -1.0):
                tried = self.relaxation.shown(by, bounds, 0, empty=True)
                if tried.value > 0:
                    return self.relaxation.named(tried, empty=True)
        return None

    def _is_point(self, bounds: Bounds, solution: Solution) -> bool:
        """Whether the whole numbers of a solution, made exact, leave a point below the aim."""
        lows, highs = bounds[0].copy(), bounds[1].copy()
        for j in self.whole:
            lows[j] = highs[j] = round(solution.point[j])
        fixed = self._solve((lows, highs))
        if fixed.state != "optimal" or self.aim is None:
            return fixed.state == "optimal"
        if abs(fixed.value - float(self.aim)) < TOLERANCE and self.ties < TIES:
            self.ties += 1  # doubles cannot tell
            return False
        return fixed.value < self.aim

    def _is_tied(self, bounds: Bounds, solution: Solution) -> bool:
        """Whether such a point is none if a margin is asked for."""
        self.relaxation.tighten(MARGIN)
        return self.ties < TIES and not self._is_point(bounds, solution)

    # -- splitting --------------------------------------------------------------------------------

    def _any(self, node: Node, bounds: Bounds, solution: Solution) -> tuple[int, int] | None:
        """Split at the first column that is not fixed; close the node by any bound if all are."""
        for j in self.whole:
            low, high = bounds[0][j], bounds[1][j]
            if low < high:
                near = round(solution.point[j]) if len(solution.point) > j else int(low)
                return j, min(max(near, int(low)), int(high) - 1)
        self.relaxation.tighten(0.0)
        self._close(node, bounds, self._solve(bounds), None)
        return None

    def _fractional(self, bounds: Bounds, solution: Solution) -> tuple[int, int] | None:
        """The fractional column whose sides gain most, and where it is split."""
        found = []
        for j in self.whole:
            value = float(solution.point[j])
            if bounds[0][j] < bounds[1][j] and abs(value - round(value)) > WHOLE:
                found.append((abs(value - math.floor(value) - 0.5), j, value))
        if not found:
            return None
        found.sort()
        fresh = [each for each in found if min(self._tried(each[1])) == 0][:TRIALS]
        for _, j, value in fresh:
            self._try(bounds, solution, j, value)
        scored = ((self._score(j, value), -middle, j, value) for middle, j, value in found)
        _, _, column, value = max(scored)
        return column, math.floor(value)

    def _tried(self, j: int) -> tuple[int, int]:
        return self.gains.get((j, 0), (0.0, 0))[1], self.gains.get((j, 1), (0.0, 0))[1]

    def _try(self, bounds: Bounds, solution: Solution, j: int, value: float) -> None:
        """How much the objective gains on both sides of a column."""
        room = float(self.aim) - solution.value if self.aim is not None else 1.0
        basis = self.relaxation.solver.getBasis()
        at = math.floor(value)
        for side, half in enumerate(self._sides(bounds, j, at)):
            found = self._solve(half, STEPS)
            self.relaxation.solver.setBasis(basis)
            gain = room if found.state == "infeasible" else found.value - solution.value
            far = value - at if side == 0 else at + 1 - value
            gained, count = self.gains.get((j, side), (0.0, 0))
            self.gains[j, side] = gained + min(max(gain, 0.0), room) / far, count + 1

    def _score(self, j: int, value: float) -> float:
        """The product of what both sides may gain."""
        score, part = 1.0, value - math.floor(value)
        for side, far in ((0, part), (1, 1 - part)):
            gained, count = self.gains.get((j, side), (0.0, 0))
            score *= max(far * gained / count if count else 0.0, 1e-6)
        return score


def plain(value: Q) -> Q | int:
    """A whole number as an ``int``, which is faster."""
    return value.numerator if value.denominator == 1 else value
