"""Boosted trees as their libraries walk them, whichever library it is.

A node asks one column a question.  Mostly that is ``x <= bound``; but numbers that stand for
missing values, and sets of category codes, cut the line into more than two pieces.
"""

from __future__ import annotations

import json
import struct
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, Bools, Floats, Ints


class DamagedModelError(Exception):
    """A model is no such file, is truncated, or contradicts itself.

    Whatever reads, checks or rewrites what a library stored may raise it; who opens the model turns
    it into an error that names the file.
    """


@contextmanager
def reading() -> Iterator[None]:
    """What goes wrong with parts that are not as they should be is the model's damage."""
    try:
        yield
    except (
        KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError,
        struct.error,
    ) as error:  # fmt: skip
        raise DamagedModelError(
            f"a part of it is missing or malformed ({type(error).__name__}: {str(error)[:80]})"
        ) from error


def parsed(content: bytes) -> Any:
    """What a file of JSON says."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DamagedModelError(f"it is no JSON: {str(error)[:100]}") from error


@dataclass(frozen=True)
class Question:
    """Which way a node sends the value of its column.

    x in ``(bounds[i-1], bounds[i]]`` goes right iff ``right[i]``, of len(bounds) + 1 entries; a
    missing value goes right iff ``missing``.
    """

    bounds: tuple[float, ...]
    right: tuple[bool, ...]
    missing: bool

    @property
    def is_plain(self) -> bool:
        """It asks ``x <= bounds[0]`` of all numbers."""
        return self.right == (False, True)

    def sends_right(self, value: float) -> bool:
        """The side of one value; NaN is missing."""
        return self.missing if value != value else self.right[bisect_left(self.bounds, value)]

    def but(self, after: float, last: float, right: bool) -> Question:
        """The same question, except that numbers in ``(after, last]`` go to one side."""
        points = sorted({*self.bounds, after, last})
        ends = [*points, np.inf]
        sides = [right if after < end <= last else self.sends_right(end) for end in ends]
        kept = [i for i in range(len(points)) if sides[i] != sides[i + 1]]
        return Question(
            tuple(points[i] for i in kept), (*(sides[i] for i in kept), sides[-1]), self.missing
        )


def at_most(bound: float, missing_right: bool) -> Question:
    """Left iff ``x <= bound``."""
    return Question((bound,), (False, True), missing_right)


def always(right: bool, missing_right: bool) -> Question:
    """All numbers go to one side."""
    return Question((), (right,), missing_right)


@dataclass(frozen=True)
class Tree:
    """One tree, children after their parent, that adds to one output, or to a slice of them.

    Shapes (n,): ``feature``, negative on leaves; ``bound``, left iff ``x <= bound``;
    ``missing_right``; ``left``, ``right``; ``value``, zero on inner nodes, (n, k) for k outputs.
    ``questions`` are those of the nodes that ask something else.
    """

    feature: Ints
    bound: Floats
    missing_right: Bools
    left: Ints
    right: Ints
    value: Floats
    questions: Mapping[int, Question]
    output: int | slice

    def question(self, node: int) -> Question:
        """What an inner node asks."""
        found = self.questions.get(node)
        return found or at_most(float(self.bound[node]), bool(self.missing_right[node]))


def tree_of(
    asked: Sequence[tuple[int, Question] | None], child: tuple[list[int], list[int]], value: Floats
) -> Tree:
    """A tree of nodes that ask a column something, ``None`` for leaves; it adds to all outputs."""
    questions = [at_most(0.0, False) if one is None else one[1] for one in asked]
    return Tree(
        np.array([-1 if one is None else one[0] for one in asked], dtype=np.int64),
        np.array([one.bounds[0] if one.is_plain else 0.0 for one in questions]),
        np.array([one.missing for one in questions]),
        np.array(child[0], dtype=np.int64), np.array(child[1], dtype=np.int64), value,
        {at: one for at, one in enumerate(questions) if not one.is_plain}, slice(None),
    )  # fmt: skip


@dataclass(frozen=True)
class Forest:
    """``base`` (K,) plus the sum of the trees, on ``columns`` columns.

    With ``single`` the trees round what they see to float32.
    """

    trees: tuple[Tree, ...]
    base: Floats
    columns: int
    single: bool


@dataclass(frozen=True)
class Raw:
    """One tree as a file has it: nodes in any order, some perhaps unused; node 0 is the root.

    Shapes as in ``Tree``.  ``leaf`` marks the leaves.
    """

    feature: Array
    bound: Array
    missing_right: Array
    left: Array
    right: Array
    value: Array
    leaf: Bools


def checked(raw: Raw, questions: Mapping[int, Question], output: int, columns: int) -> Tree:
    """The tree in order, if it is one: every walk ends in a leaf and reads existing columns."""
    count = raw.leaf.size
    sizes = {array.size for array in (raw.feature, raw.bound, raw.missing_right)}
    sizes |= {array.size for array in (raw.left, raw.right, raw.value)}
    if sizes != {count} or not count:
        raise DamagedModelError("the arrays of a tree differ in length")
    order = walked(raw.left.astype(np.int64), raw.right.astype(np.int64), raw.leaf)
    leaf, place = raw.leaf[order], np.full(count, -1, dtype=np.int64)
    place[order] = np.arange(order.size)
    feature = raw.feature[order].astype(np.int64)
    if not ((feature >= 0) & (feature < columns))[~leaf].all():
        raise DamagedModelError("a tree splits a column that does not exist")
    bound, value = (part[order].astype(np.float64) for part in (raw.bound, raw.value))
    missing_right = raw.missing_right[order].astype(np.bool_)
    moved = {int(place[node]): asked for node, asked in questions.items() if place[node] >= 0}
    for node, asked in moved.items():
        bound[node] = asked.bounds[0] if asked.is_plain else 0.0
        missing_right[node] = asked.missing
    if np.isnan(bound[~leaf]).any() or not np.isfinite(value[leaf]).all():
        raise DamagedModelError("a tree has thresholds or leaves that are no numbers")
    left, right = (place[_inside(side[order], leaf)] for side in (raw.left, raw.right))
    return Tree(
        np.where(leaf, -1, feature),
        bound,
        missing_right,
        np.where(leaf, 0, left),
        np.where(leaf, 0, right),
        np.where(leaf, value, 0.0),
        {node: asked for node, asked in moved.items() if not asked.is_plain},
        output,
    )


def _inside(children: Array, leaf: Bools) -> Ints:
    return np.where(leaf, 0, children).astype(np.int64)


def walked(left: Ints, right: Ints, leaf: Bools) -> Ints:
    """The nodes from the root on, level by level, each right child after its left one."""
    seen = np.zeros(leaf.size, dtype=np.bool_)
    frontier, levels = np.zeros(1, dtype=np.int64), []
    while frontier.size:
        if ((frontier < 0) | (frontier >= leaf.size)).any():
            raise DamagedModelError("a tree has a child that does not exist")
        if seen[frontier].any() or np.unique(frontier).size < frontier.size:
            raise DamagedModelError("a node of a tree has two parents")
        seen[frontier] = True
        levels.append(frontier)
        inner = frontier[~leaf[frontier]]
        frontier = np.column_stack([left[inner], right[inner]]).ravel()
    return np.concatenate(levels)


def outputs_in_range(outputs: Sequence[int], trees: int, width: int) -> None:
    """Refuse a list of which tree adds to which output that does not fit the trees."""
    if len(outputs) != trees or not all(0 <= output < width for output in outputs):
        raise DamagedModelError("its trees do not fit its classes")


def in_codes(
    codes: Sequence[int], *, right: bool, missing_right: bool, zero_after: float, dtype: type
) -> Question:
    """Whether a number, cut down to a whole one, is among category codes; they go to one side.

    Codes k > 0 hold the numbers in [k, k + 1) of the library's ``dtype``, and code 0 those in
    (``zero_after``, 1); all others go to the other side.
    """
    known = set(codes)
    starts = sorted(code for code in known if code - 1 not in known)
    stops = sorted(code + 1 for code in known if code + 1 not in known)
    bounds: list[float] = []
    for start, stop in zip(starts, stops, strict=True):
        bounds += [below(start, dtype) if start else zero_after, below(stop, dtype)]
    sides = tuple(right == (place % 2 == 1) for place in range(len(bounds) + 1))
    return Question(tuple(bounds), sides, missing_right)


def below(value: float, dtype: type) -> float:
    """The next smaller number of a floating-point type."""
    return float(np.nextafter(dtype(value), dtype(-np.inf)))
