"""CatBoost's trees as trees that ask one column at a time, without answers that are known.

A split of several columns (a CTR) becomes splits of each; the trees of the library ask the same
again and again, so what is known on the way down is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ....arrays import Bools
from ..forest import Question, Tree, at_most, in_codes, tree_of
from .ctr import CategorySplit, Ctr, CtrSplit, FloatSplit, Split
from .document import CatTree

MOST_NODES = 2_000_000
MOST_CELLS = 1_000_000  # combinations of categories in one table


class TooManyNodesError(Exception):
    """The trees, or a CTR of them, have too many cases to be written one by one."""


@dataclass(frozen=True)
class Known:
    """What the way down to a node says.

    Float columns lie within ``(low, high]``; of a column of categories, ``possible`` has a bit for
    each that is left.
    """

    ranges: Mapping[int, tuple[float, float]]
    possible: Mapping[int, int]

    def narrowed(self, asked: FloatSplit | Group, right: bool) -> Known:
        """What is known after one more answer."""
        if isinstance(asked, FloatSplit):
            low, high = self.ranges.get(asked.column, (-np.inf, np.inf))
            ends = (asked.bound, high) if right else (low, asked.bound)
            return Known({**self.ranges, asked.column: ends}, self.possible)
        before = self.possible[asked.column]
        now = before & asked.members if right else before & ~asked.members
        return Known(self.ranges, {**self.possible, asked.column: now})


@dataclass(frozen=True)
class Group:
    """Right iff the category is among ``members``, as bits."""

    column: int
    members: int


class Expansion:
    """Expands the trees of one model; ``hashes`` are those of each column's categories."""

    def __init__(self, splits: Sequence[Split], hashes: Mapping[int, Sequence[int]]) -> None:
        self.splits, self.hashes = splits, hashes
        self.nodes = 0
        self._tables: dict[tuple[Ctr, tuple[bool, ...]], npt.NDArray[np.float32]] = {}
        self._answers: dict[tuple[Any, ...], bool | Group] = {}
        self._start = Known({}, {column: (1 << len(own)) - 1 for column, own in hashes.items()})

    def tree(self, tree: CatTree) -> Tree:
        """The same tree; it adds to all outputs."""
        asked: list[FloatSplit | Group | None] = []
        values: list[int] = []
        child: tuple[list[int], list[int]] = ([], [])
        pending = [(0, self._start, -1, 0)]
        while pending:
            node, known, parent, side = pending.pop()
            if parent >= 0:
                child[side][parent] = len(asked)
            found, node = self._next(tree, node, known)
            here = len(asked)
            asked.append(found)
            values.append(node)
            child[0].append(0)
            child[1].append(0)
            if found is not None:
                pending += [
                    (node, known.narrowed(found, right), here, int(right))
                    for right in (True, False)
                ]
            if self.nodes + len(asked) > MOST_NODES:
                raise TooManyNodesError
        self.nodes += len(asked)
        leaf = np.array([one is None for one in asked])
        made = [None if one is None else (one.column, _question(one)) for one in asked]
        value = np.where(leaf[:, None], tree.value[np.array(values)], 0.0)
        return tree_of(made, child, value)

    def _next(
        self, tree: CatTree, node: int, known: Known
    ) -> tuple[FloatSplit | Group | None, int]:
        """The first question from ``node`` on whose answer is open, and its node; or a leaf."""
        while tree.split[node] >= 0:
            split = self.splits[tree.split[node]]
            answer = self._answer(split, known)
            if not isinstance(answer, bool):
                return answer, node
            node = int((tree.right if answer else tree.left)[node])
        return None, node

    def _answer(self, split: Split, known: Known) -> bool | FloatSplit | Group:
        """Which way all rows go that are left; else what to ask first."""
        if isinstance(split, FloatSplit):
            low, high = known.ranges.get(split.column, (-np.inf, np.inf))
            return split if low < split.bound < high else split.bound <= low
        if isinstance(split, CategorySplit):
            members = self._members(split)
            return self._within(Group(split.column, members), known)
        ctr = split.ctr
        for each in ctr.above:
            answer = self._answer(each, known)
            if not isinstance(answer, bool):
                return answer
        return self._ctr_answer(split, known)

    def _within(self, group: Group, known: Known) -> bool | Group:
        before = known.possible[group.column]
        now = before & group.members
        return Group(group.column, now) if now not in (0, before) else now != 0

    def _members(self, split: CategorySplit) -> int:
        own = self.hashes[split.column]
        return sum(1 << place for place, one in enumerate(own) if one == split.value)

    def _ctr_answer(self, split: CtrSplit, known: Known) -> bool | Group:
        above = tuple(self._answer(each, known) is True for each in split.ctr.above)
        columns = split.ctr.columns
        masks = tuple(known.possible[column] for column in columns)
        key = (split, above, masks)
        if key not in self._answers:
            table = self._table(split.ctr, above) > np.float32(split.bound)
            left = [_places(mask) for mask in masks]
            self._answers[key] = _first_that_matters(columns, left, table[np.ix_(*left)])
        return self._answers[key]

    def _table(self, ctr: Ctr, above: tuple[bool, ...]) -> npt.NDArray[np.float32]:
        """The statistic for each combination of the categories of its columns."""
        key = (ctr, above)
        if key not in self._tables:
            shape = tuple(len(self.hashes[column]) for column in ctr.columns)
            if math.prod(shape) > MOST_CELLS:
                raise TooManyNodesError
            made = np.zeros(shape, dtype=np.float32)
            for cells in np.ndindex(shape):
                found = {
                    column: self.hashes[column][cell]
                    for column, cell in zip(ctr.columns, cells, strict=True)
                }
                equal = (found[one.column] == one.value for one in ctr.equal)
                hashes = tuple(found[column] for column in ctr.categories)
                made[cells] = ctr.value(ctr.key(hashes, (*above, *equal)))
            self._tables[key] = made
        return self._tables[key]


def _first_that_matters(
    columns: Sequence[int], left: Sequence[Sequence[int]], table: Bools
) -> bool | Group:
    """The answer if it is the same for all; else half of the categories of some column."""
    if table.all() or not table.any():
        return bool(table.flat[0])
    for at, column in enumerate(columns):
        rows = np.moveaxis(table, at, 0).reshape(len(left[at]), -1)
        _, group = np.unique(rows, axis=0, return_inverse=True)
        count = int(group.max()) + 1
        if count > 1:
            chosen = np.flatnonzero(np.ravel(group) >= count // 2).tolist()
            return Group(column, sum(1 << left[at][place] for place in chosen))
    raise AssertionError("a table that varies does so along one of its columns")


def _places(mask: int) -> list[int]:
    return [place for place in range(mask.bit_length()) if mask >> place & 1]


def _question(asked: FloatSplit | Group) -> Question:
    if isinstance(asked, FloatSplit):
        return at_most(asked.bound, asked.missing_right)
    codes = _places(asked.members)
    return in_codes(codes, right=True, missing_right=False, zero_after=-1.0, dtype=np.float64)
