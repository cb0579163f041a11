"""The mixed-integer program of Maragno, Röber & Birbil (2022) for a forest, with its constants.

In the data scaled to [0, 1], x free:

    min  Σ_j |x_j - u_j| + μ Σ_j z_j    |x_j - u_j| <= 10⁴ z_j,  Σ_l l = 1 in every tree,
         x_j <= t + M (1 - l)  or  -x_j <= -t + M (1 - l)  on the way to leaf l,
         mean of the leaves >= 1/2,

with μ = 10⁴ and M = 10⁵, as its authors' repository has them; there the distance is squared, and
the solver Gurobi.  A solver lets a binary be 10⁻⁶ from whole, which M makes 0.1 of every feature's
range: a leaf can be taken whose conditions do not hold.  Both sides of a split hold at its
threshold, too, where the model goes left.  Their evaluation takes validity as given; here the model
is asked, and :meth:`PaperProgram.reaches` tells the second kind of refusal from the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from .authors import Authors
from .highs_rows import INFINITE, Program
from .portable import Array

CHANGE, CHANGED, BIG = 1e4, 1e4, 1e5


def _leaves(tree: Any) -> Iterator[tuple[int, list[tuple[int, float, float]]]]:
    """Leaves, and what holds on the way to each: (k, ±1, limit) is ``± x_k <= limit``."""
    waiting: list[tuple[int, list[tuple[int, float, float]]]] = [(0, [])]
    while waiting:
        node, way = waiting.pop()
        if tree.children_left[node] < 0:
            yield node, way
            continue
        k, t = int(tree.feature[node]), float(tree.threshold[node])
        waiting.append((tree.children_left[node], [*way, (k, 1.0, t)]))
        waiting.append((tree.children_right[node], [*way, (k, -1.0, -t)]))


class PaperProgram:
    """Their program of one data set's forest, over the data's own units."""

    def __init__(self, given: Authors, model: Any) -> None:
        self.given, self.forest = given, model[-1]
        assert isinstance(self.forest, RandomForestClassifier)
        ends = given.columns.named_transformers_["minmaxscaler"]
        self.low, self.size = ends.data_min_, ends.data_range_
        self.columns = [*given.numbers, *given.dummies]

    def answer(self, person: pd.DataFrame, seconds: float) -> pd.DataFrame | None:
        """The row that HiGHS ends with, ``None`` without one."""
        u = self.given.columns.transform(person)[0]
        program, x = Program(), list[int]()
        for name, value in zip(self.columns, u, strict=True):
            dummy, fixed = name in self.given.dummies, name in self.given.table.fixed
            low, high = (0.0, 1.0) if dummy else (-INFINITE, INFINITE)
            x.append(program.variable(*((value, value) if fixed else (low, high)), whole=dummy))
            self._moved(program, x[-1], float(value))
        leaves, values = list[int](), list[float]()
        for tree in self.forest.estimators_:
            own = self._tree(program, x, tree.tree_)
            leaves += own
            values += list(own.values())
        program.row(len(self.forest.estimators_) / 2, INFINITE, leaves, np.array(values))
        program.solve(seconds)
        if not program.found:
            return None
        solution = program.highs.getSolution().col_value
        return self._row(person, np.array([solution[column] for column in x]))

    def reaches(self, answer: pd.DataFrame, within: float) -> bool:
        """Whether leaves that every tree could take ``within`` that share of the ranges have 1/2.

        Trees move on their own, which is more than one step of all numbers can do.
        """
        x = self.given.columns.transform(answer)[0]
        best = [
            max(
                float(tree.value[leaf][0, 1])
                for leaf, way in _leaves(tree)
                if all(sign * x[k] <= limit + within for k, sign, limit in way)
            )
            for tree in (each.tree_ for each in self.forest.estimators_)
        ]
        return sum(best) >= len(best) / 2 - 1e-9

    def _moved(self, program: Program, x: int, value: float) -> None:
        away = program.variable(0, INFINITE, 1.0)
        changed = program.variable(0, 1, CHANGE, whole=True)
        for other, weight in ((away, 1.0), (changed, CHANGED)):
            program.row(-INFINITE, value, [x, other], np.array([1.0, -weight]))
            program.row(-INFINITE, -value, [x, other], np.array([-1.0, -weight]))

    def _tree(self, program: Program, x: list[int], tree: Any) -> dict[int, float]:
        """Its leaves' columns, with the probability that each gives."""
        leaves = dict[int, float]()
        for node, way in _leaves(tree):
            leaf = program.variable(0, 1, whole=True)
            leaves[leaf] = float(tree.value[node][0, 1])
            for k, sign, limit in way:
                program.row(-INFINITE, limit + BIG, [x[k], leaf], np.array([sign, BIG]))
        program.row(1, 1, list(leaves), np.ones(len(leaves)))
        return leaves

    def _row(self, person: pd.DataFrame, x: Array) -> pd.DataFrame:
        numbers = len(self.given.numbers)
        row = dict(zip(self.given.numbers, x[:numbers] * self.size + self.low, strict=True))
        for name, value in zip(self.given.dummies, x[numbers:], strict=True):
            row[name] = str(round(value))
        return pd.DataFrame([row])[list(person)]

    def rounded(self, person: pd.DataFrame, answer: pd.DataFrame) -> pd.DataFrame:
        """The answer as their evaluation takes it: equal where it is to 10⁻⁴ of the range."""
        before, after = (self.given.columns.transform(row)[0].round(4) for row in (person, answer))
        made = answer.copy()
        for name, same in zip(self.columns, before == after, strict=True):
            if same:
                made[name] = person[name].to_numpy()
        return made


__all__ = ["PaperProgram"]
