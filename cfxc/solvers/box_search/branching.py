"""Which cut to split a box on: strong branching among the weightiest."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from .bounds import best, lowest

CANDIDATES = 16  # cuts that are compared


@numba.njit(nogil=True)
def weigh(tables: Any, state: Any, d: Any) -> Any:
    """Weigh cuts by how much the trees could gain beyond them; returns how many were touched.

    A cut after cell c of a feature has index 2c if the gain lies above it and 2c + 1 if below; a
    category has one, to leave its current label.
    """
    count, reach, first_word, value = 0, state.reach[d], tables.first_word, tables.value
    condition, between, weight = tables.condition, state.between, state.weight
    for k in range(tables.need.size):
        if state.now[k] >= tables.need[k] + tables.slack[k]:
            continue
        for tree in range(tables.first_tree[k], tables.first_tree[k + 1]):
            slot = best(first_word, reach, tree)
            # where the leaf at the point was dropped, the tree gains at least this
            gain = max(state.most[k] - tables.need[k], tables.slack[k])
            if state.current[tree] >= 0:
                gain = value[slot] - value[state.current[tree]]
            if gain <= 0.0:
                continue
            crossed = 0
            for i in range(condition[slot], condition[slot + 1]):
                crossed += between[i] >= 0
            for i in range(condition[slot], condition[slot + 1]):
                index = between[i]
                if index >= 0:
                    if weight[index] == 0.0:
                        state.touched[count] = index
                        count += 1
                    weight[index] += gain / crossed
    return count


@numba.njit(nogil=True)
def forget(state: Any, count: Any) -> None:
    """Clear the weights."""
    for i in range(count):
        state.weight[state.touched[i]] = 0.0


@numba.njit(nogil=True)
def strongest(tables: Any, state: Any, d: Any, count: Any, rest: Any) -> Any:
    """Split on the weightiest cut whose two sides lose most; whether there is one.

    The score multiplies what either side loses, as shares of what the box still has to give.
    """
    reach, weight, touched, point = state.reach[d], state.weight, state.touched, state.point
    first_tree, first_word, value = tables.first_tree, tables.first_word, tables.value
    need, most, start, added = tables.need, state.most, tables.start, tables.added
    top, found = -np.inf, False
    for _ in range(min(CANDIDATES, count)):
        index, largest = -1, 0.0
        for i in range(count):
            if weight[touched[i]] > largest:
                index, largest = touched[i], weight[touched[i]]
        if index < 0:
            break
        weight[index] = -largest
        cell = index // 2
        j = np.searchsorted(start, cell, side="right") - 1
        here = start[j] + point[j]
        if tables.symbolic[j]:
            cost = _other_labels(tables, state, d, j)
            near, there = tables.upto[here], state.holding
        elif index % 2 == 0:
            near, there, cost = tables.upto[cell], tables.since[cell + 1], added[cell + 1]
        else:
            near, there, cost = tables.since[cell + 1], tables.upto[cell], added[cell]
        lost = _lost(reach, near, first_tree, first_word, value, need, most)
        gained = _lost(reach, there, first_tree, first_word, value, need, most)
        if rest > 0:
            gained = min(1.0, gained + float(cost - added[here]) / rest)
        score = max(lost, 1e-3) * max(gained, 1e-3)
        if score > top:
            top, found = score, True
            state.cut[d, 0] = j
            state.cut[d, 1] = point[j] if tables.symbolic[j] else cell - start[j]
    return found


@numba.njit(nogil=True)
def _other_labels(tables: Any, state: Any, d: Any, j: Any) -> Any:
    """The leaves that the other labels of j meet, into ``holding``; the least of their costs."""
    holding, cost = state.holding, np.int64(2**62)
    holding[:] = np.uint64(0)
    for code in range(tables.start[j + 1] - tables.start[j]):
        inside = (state.labels[d, j, code // 64] >> np.uint64(code % 64)) & np.uint64(1)
        if inside and code != state.point[j]:
            row = tables.upto[tables.start[j] + code]
            cost = min(cost, tables.added[tables.start[j] + code])
            for w in range(holding.size):
                holding[w] |= row[w]
    return cost


@numba.njit(nogil=True)
def _lost(
    reach: Any, row: Any, first_tree: Any, first_word: Any, value: Any, need: Any, most: Any
) -> Any:
    """The largest share of its slack that a requirement loses on one side of a cut."""
    largest = 0.0
    for k in range(need.size):
        total = 0.0
        for tree in range(first_tree[k], first_tree[k + 1]):
            slot = -1
            for w in range(first_word[tree], first_word[tree + 1]):
                bits = reach[w] & row[w]
                if bits:
                    slot = 64 * w + lowest(bits)
                    break
            if slot < 0:
                return 1.0
            total += value[slot]
        gap = most[k] - need[k]
        if total < need[k] or gap <= 0.0:
            return 1.0
        largest = max(largest, (most[k] - total) / gap)
    return largest
