"""Boxes: their nearest point, what the radius leaves of them, and how they are halved."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


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
