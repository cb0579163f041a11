"""First counterfactuals, fast: greedy moves of one feature at a time, then back as far as it goes.

A sweep gives the sums of all trees as a function of one feature, the others held: one walk through
each tree, both ways at splits on that feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...stopping import Pressed, TimeUp, poll, until
from .cells import NEVER, UNIT, Cells
from .decision import Decision

PATIENCE = (1.0, 0.0, 0.5)  # how much a move's cost counts against its gain
HALVINGS = 12  # of the radius under linf
STUCK, MOVED, REACHED = range(3)  # what came of a greedy move
SMALL = 1e-3  # cost added to every move, as a distance


class Forest(NamedTuple):
    """Trees over cells: left if the feature's cell is at most ``cell`` (``below``), or by ``mask``.

    ``value`` (K, N) and ``need`` (K,) as in ``Decision``, the rest as in ``Cells``.
    """

    roots: Ints
    left: Ints
    right: Ints
    feature: Ints
    cell: Ints
    below: npt.NDArray[np.bool_]
    mask: npt.NDArray[np.uint64]
    value: Floats
    need: Floats
    start: Ints
    symbolic: npt.NDArray[np.bool_]
    home: Ints
    added: Ints
    peak: Ints


def make_forest(decision: Decision, cells: Cells) -> Forest:
    """The trees of a decision over one instance's cells."""
    cell = np.zeros(decision.cut_of.size, np.int64)
    bounds = np.concatenate([np.empty(0, np.int64), *(
        np.where(
            cuts >= cells.highest[j], cells.size(j),
            np.searchsorted(cells.cuts[j], cuts, side="right") - 1,
        )
        for j, cuts in enumerate(decision.cuts)
    )]).astype(np.int64)  # fmt: skip
    inner = decision.cut_of >= 0
    cell[inner] = bounds[decision.cut_of[inner]]
    splits = decision.splits
    return Forest(
        decision.roots, decision.left, decision.right, splits.input, cell, splits.below,
        splits.mask, decision.value, decision.need, cells.start, cells.symbolic, cells.home,
        cells.added, cells.peak,
    )  # fmt: skip


def climb(forest: Forest, linf: bool) -> list[Ints]:
    """Points (J,) as cells that the sums of doubles put in the target, nearest first."""
    size = int((forest.start[1:] - forest.start[:-1]).max())
    scores = np.zeros((forest.need.size, size))
    found: list[Ints] = []
    with suppress(TimeUp, Pressed):  # what was found counts; the next look ends the search
        for patience in PATIENCE:
            point, moved = forest.home.copy(), np.zeros(forest.home.size, np.bool_)
            state = MOVED
            while state == MOVED:
                poll()
                state = _climb(forest, point, moved, scores, patience, SMALL / float(UNIT))
            if state == REACHED:
                _keep(forest, point, scores, found)
        if linf:
            point = forest.home.copy()
            if _inflate(forest, point, scores, HALVINGS):
                _keep(forest, point, scores, found)
    return _in_order(forest, found)


def shrunk(forest: Forest, points: Iterable[Ints], deadline: float = np.inf) -> list[Ints]:
    """Points (J,) of cells in the target, moved as near as single moves get them, nearest first.

    Only as many of them, and as far, as can be moved until the deadline.
    """
    size = int((forest.start[1:] - forest.start[:-1]).max())
    scores, found = np.zeros((forest.need.size, size)), list[Ints]()
    with suppress(TimeUp, Pressed), until(deadline):
        for point in points:
            _keep(forest, point.copy(), scores, found)
    return _in_order(forest, found)


def _keep(forest: Forest, point: Ints, scores: Floats, found: list[Ints]) -> None:
    """Keep a point of the target, moved as near as single moves get it in time."""
    found.append(point)
    poll()
    while _shrink(forest, point, scores):
        poll()


def _in_order(forest: Forest, points: Sequence[Ints]) -> list[Ints]:
    unique = {tuple(point.tolist()): point for point in points}
    return sorted(unique.values(), key=lambda point: int(_distance(forest, point, -1)[0]))


@numba.njit(cache=True, nogil=True)
def _sweep(forest: Any, point: Any, j: Any, scores: Any) -> None:
    """``scores[k, c]``: sum k with feature j in cell c and the others as in ``point``."""
    feature, cell, below, mask = forest.feature, forest.cell, forest.below, forest.mask
    left, right, value, symbolic = forest.left, forest.right, forest.value, forest.symbolic
    count, sums = forest.start[j + 1] - forest.start[j], forest.need.size
    scores[:, :count] = 0.0
    stack = np.empty(1024, np.int64)
    lows, highs = np.empty(1024, np.int64), np.empty(1024, np.int64)
    allowed = np.empty((1024, mask.shape[1]), np.uint64)
    for root in forest.roots:
        top = 0
        stack[0], lows[0], highs[0] = root, 0, count - 1
        allowed[0, :] = ~np.uint64(0)
        while top >= 0:
            node, low, high = stack[top], lows[top], highs[top]
            i = feature[node]
            if i < 0:
                if symbolic[j]:
                    for code in range(count):
                        if (allowed[top, code // 64] >> np.uint64(code % 64)) & np.uint64(1):
                            for k in range(sums):
                                scores[k, code] += value[k, node]
                else:
                    for k in range(sums):
                        scores[k, low] += value[k, node]
                        if high + 1 < count:
                            scores[k, high + 1] -= value[k, node]
                top -= 1
                continue
            if i != j:
                if symbolic[i]:
                    code = point[i]
                    to_left = (mask[node, code // 64] >> np.uint64(code % 64)) & np.uint64(1) != 0
                else:
                    to_left = (point[i] <= cell[node]) == below[node]
                stack[top] = left[node] if to_left else right[node]
            elif symbolic[j]:
                stack[top], stack[top + 1] = right[node], left[node]
                for word in range(mask.shape[1]):
                    allowed[top + 1, word] = allowed[top, word] & mask[node, word]
                    allowed[top, word] &= ~mask[node, word]
                top += 1
            else:
                under, over = left[node], right[node]
                if not below[node]:
                    under, over = over, under
                if high <= cell[node]:
                    stack[top] = under
                elif low > cell[node]:
                    stack[top] = over
                else:
                    stack[top], lows[top] = over, cell[node] + 1
                    top += 1
                    stack[top], lows[top], highs[top] = under, low, cell[node]
    if not symbolic[j]:
        for k in range(sums):
            for c in range(1, count):
                scores[k, c] += scores[k, c - 1]


@numba.njit(cache=True, nogil=True)
def _shortfall(forest: Any, scores: Any, c: Any) -> Any:
    """By how much cell c of the feature swept misses what is needed; 0 if it does not."""
    total = 0.0
    for k in range(forest.need.size):
        total += max(0.0, forest.need[k] - scores[k, c])
    return total


@numba.njit(cache=True, nogil=True)
def _distance(forest: Any, point: Any, skipped: Any) -> Any:
    """Cost in sum and in maximum of a point, without one feature: their total, and each."""
    spent, top = np.int64(0), np.int64(0)
    for j in range(point.size):
        if j != skipped:
            spent += forest.added[forest.start[j] + point[j]]
            top = max(top, forest.peak[forest.start[j] + point[j]])
    return spent + top, spent, top


@numba.njit(cache=True, nogil=True)
def _climb(forest: Any, point: Any, moved: Any, scores: Any, patience: Any, small: Any) -> Any:
    """One greedy move of a feature that has not ``moved``; the nearest that reaches the target."""
    best, feature, cell = 0.0, -1, 0
    nearest, hit_feature, hit_cell = np.inf, -1, 0
    here = _distance(forest, point, -1)[0]
    for j in range(point.size):
        begin, count = forest.start[j], forest.start[j + 1] - forest.start[j]
        if moved[j] or count == 1:
            continue
        _sweep(forest, point, j, scores)
        _, spent, top = _distance(forest, point, j)
        lacking = _shortfall(forest, scores, point[j])
        for c in range(count):
            if forest.added[begin + c] >= 2**60:
                continue
            distance = spent + forest.added[begin + c] + max(top, forest.peak[begin + c])
            left = _shortfall(forest, scores, c)
            if left <= 0.0:
                if distance < nearest:
                    nearest, hit_feature, hit_cell = float(distance), j, c
            elif left < lacking:
                worth = (lacking - left) / (max(distance - here, 0) + small) ** patience
                if worth > best:
                    best, feature, cell = worth, j, c
    if hit_feature >= 0:
        point[hit_feature] = hit_cell
        return REACHED
    if feature < 0:
        return STUCK
    point[feature] = cell
    moved[feature] = True
    return MOVED


@numba.njit(cache=True, nogil=True)
def _shrink(forest: Any, point: Any, scores: Any) -> Any:
    """Move one feature nearer where the target holds, by the largest step; whether one moved."""
    nearest, feature, cell = _distance(forest, point, -1)[0], -1, 0
    for j in range(point.size):
        begin = forest.start[j]
        if point[j] == forest.home[j]:
            continue
        _sweep(forest, point, j, scores)
        _, spent, top = _distance(forest, point, j)
        for c in range(forest.start[j + 1] - begin):
            distance = spent + forest.added[begin + c] + max(top, forest.peak[begin + c])
            if distance < nearest and _shortfall(forest, scores, c) <= 0.0:
                nearest, feature, cell = distance, j, c
    if feature >= 0:
        point[feature] = cell
    return feature >= 0


def _inflate(forest: Forest, point: Ints, scores: Floats, halvings: int) -> bool:
    """For linf: the smallest maximum at which ascent over all features reaches the target."""
    low, high, reached = 0, int(forest.peak[forest.added < NEVER].max(initial=0)), False
    trial = point.copy()
    for attempt in range(halvings + 1):
        poll()
        middle = high if attempt == 0 else (low + high) // 2
        trial[:] = forest.home
        if _ascend(forest, trial, scores, middle):
            point[:] = trial
            reached, high = True, middle
        elif attempt == 0:
            return False
        else:
            low = middle
    return reached


@numba.njit(cache=True, nogil=True)
def _ascend(forest: Any, point: Any, scores: Any, limit: Any) -> Any:
    """Coordinate ascent of the sums among cells whose cost in maximum is within the limit."""
    for _ in range(2):
        for j in range(point.size):
            begin = forest.start[j]
            _sweep(forest, point, j, scores)
            best, cell = _shortfall(forest, scores, point[j]), point[j]
            for c in range(forest.start[j + 1] - begin):
                if forest.added[begin + c] < 2**60 and forest.peak[begin + c] <= limit:
                    left = _shortfall(forest, scores, c)
                    if left < best:
                        best, cell = left, c
            point[j] = cell
            if best <= 0.0:
                return True
    return False


__all__ = ["Forest", "climb", "make_forest", "shrunk"]
