"""Boxes: their nearest point, what the radius leaves of them, and how they are halved."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

LAST = 2  # moves before the cap at which a split says whether there is another


@numba.njit(nogil=True)
def nearest(tables: Any, state: Any, d: Any) -> Any:
    """The box's nearest point: cost in sum, the two largest in maximum, and whose is the first."""
    spent, top, second, which = 0, 0, 0, -1
    for j in range(tables.home.size):
        begin = tables.start[j]
        if tables.symbolic[j]:
            cell, least = -1, np.int64(2**62)
            for code in range(tables.start[j + 1] - begin):
                if (state.labels[d, j, code // 64] >> np.uint64(code % 64)) & np.uint64(1):
                    cost = tables.added[begin + code] + tables.peak[begin + code]
                    if cost < least or (cost == least and code == tables.home[j]):
                        cell, least = code, cost
        else:
            cell = min(max(tables.home[j], state.first[d, j]), state.last[d, j])
        state.point[j] = cell
        spent += tables.added[begin + cell]
        peak = tables.peak[begin + cell]
        if peak > top:
            top, second, which = peak, top, j
        elif peak > second:
            second = peak
    return spent, top, second, which


@numba.njit(nogil=True)
def narrow(
    tables: Any, state: Any, d: Any, radius: Any, spent: Any, top: Any, second: Any, which: Any
) -> None:
    """Take away the cells that the rest of the radius cannot reach."""
    reach = state.reach[d]
    for j in range(tables.home.size):
        begin = tables.start[j]
        rest = radius - spent + tables.added[begin + state.point[j]]
        others = second if j == which else top
        if tables.symbolic[j]:
            _narrow_labels(tables, state, d, j, rest, others)
            continue
        first, last = state.first[d, j], state.last[d, j]
        while _beyond(tables, begin + first, rest, others):
            first += 1
        while _beyond(tables, begin + last, rest, others):
            last -= 1
        if first != state.first[d, j]:
            state.first[d, j] = first
            row = tables.since[begin + first]
            for w in range(reach.size):
                reach[w] &= row[w]
        if last != state.last[d, j]:
            state.last[d, j] = last
            row = tables.upto[begin + last]
            for w in range(reach.size):
                reach[w] &= row[w]


@numba.njit(nogil=True)
def _beyond(tables: Any, cell: Any, rest: Any, others: Any) -> Any:
    return bool(tables.added[cell] + max(tables.peak[cell], others) > rest)


@numba.njit(nogil=True)
def _narrow_labels(tables: Any, state: Any, d: Any, j: Any, rest: Any, others: Any) -> None:
    changed = False
    for code in range(tables.start[j + 1] - tables.start[j]):
        bit = np.uint64(1) << np.uint64(code % 64)
        if state.labels[d, j, code // 64] & bit and _beyond(
            tables, tables.start[j] + code, rest, others
        ):
            state.labels[d, j, code // 64] &= ~bit
            changed = True
    if changed:
        meet_labels(tables, state, d, j)


@numba.njit(nogil=True)
def meet_labels(tables: Any, state: Any, d: Any, j: Any) -> None:
    """Drop the leaves that none of the remaining labels of j reaches."""
    reach = state.reach[d]
    state.holding[:] = np.uint64(0)
    for code in range(tables.start[j + 1] - tables.start[j]):
        if (state.labels[d, j, code // 64] >> np.uint64(code % 64)) & np.uint64(1):
            row = tables.upto[tables.start[j] + code]
            for w in range(reach.size):
                state.holding[w] |= row[w]
    for w in range(reach.size):
        reach[w] &= state.holding[w]


@numba.njit(nogil=True)
def halve(tables: Any, logic: Any, state: Any, d: Any, admitted: Any) -> Any:
    """Halve the feature with the most cells, of those that the constraints read if they matter."""
    most, feature = 1, -1
    for j in range(tables.home.size):
        if admitted == 1 and not logic.used[j]:
            continue
        count = state.last[d, j] - state.first[d, j] + 1
        if tables.symbolic[j]:
            count = 0
            for code in range(tables.start[j + 1] - tables.start[j]):
                count += (state.labels[d, j, code // 64] >> np.uint64(code % 64)) & np.uint64(1)
        if count > most:
            most, feature = count, j
    if feature < 0:
        return False
    state.cut[d, 0] = feature
    if tables.symbolic[feature]:
        state.cut[d, 1] = state.point[feature]
    else:
        state.cut[d, 1] = (state.first[d, feature] + state.last[d, feature]) // 2
    return True


@numba.njit(nogil=True)
def confine(tables: Any, logic: Any, state: Any, d: Any) -> Any:
    """Where as many features have moved as may, split off what another one could move to.

    Whether there is such a one: the part split off breaks the cap, and the rest is smaller.
    """
    moved, feature = 0, -1
    for j in range(tables.home.size):
        if not logic.counted[j]:
            continue
        if state.point[j] != tables.home[j]:
            moved += 1
        elif feature < 0 and _goes_on(tables, state, d, j):
            feature = j
    if moved < logic.cap or feature < 0:
        return False
    home = tables.home[feature]
    below = not tables.symbolic[feature] and state.first[d, feature] < home
    state.cut[d, 0], state.cut[d, 1] = feature, home - 1 if below else home
    return True


@numba.njit(nogil=True)
def _goes_on(tables: Any, state: Any, d: Any, j: Any) -> Any:
    """Whether a box has more of feature j than the cell of its nearest point."""
    if not tables.symbolic[j]:
        return state.first[d, j] != state.last[d, j]
    for code in range(tables.start[j + 1] - tables.start[j]):
        inside = (state.labels[d, j, code // 64] >> np.uint64(code % 64)) & np.uint64(1)
        if inside and code != state.point[j]:
            return True
    return False


@numba.njit(nogil=True)
def edge(tables: Any, logic: Any, state: Any, d: Any) -> None:
    """Where one more feature may move, let the split say whether it does: at the factual's edge."""
    feature, moved = state.cut[d, 0], 0
    for j in range(tables.home.size):
        moved += logic.counted[j] and state.point[j] != tables.home[j]
    home = tables.home[feature]
    if moved + LAST < logic.cap or tables.symbolic[feature] or state.point[feature] != home:
        return
    state.cut[d, 1] = home if state.cut[d, 1] >= home else home - 1
