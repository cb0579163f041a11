"""A bound on sums of trees and ramps over a box, with ramps as the linear functions they are.

For a multiplier λ >= 0, all points x of the box within the rest r of the radius have

    Σ_t v_t(x) + Σ_j f_j x_j <= Σ_t max v_t + λ r + Σ_j max (f_j x_j - λ (c_j(x_j) - c_j(p_j)))

with p the box's nearest point and c_j the cost of moving feature j.  The right side is convex in
λ, and where all trees are constant its least value is the optimum of the box's linear program.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from .bounds import best
from .state import DECIDING, KEEP

HALVINGS = 40  # of the interval that holds the best multiplier
LOOSE = 1e-12  # relative: above the rounding of the few operations that make a cost


@numba.njit(nogil=True)
def decides_at_point(tables: Any, state: Any, d: Any) -> Any:
    """Whether the trees that stand for no ramp reach their largest leaves at the nearest point."""
    for tree in range(tables.tree.size):
        if tables.tree[tree] < tables.ramps.first:
            slot = state.current[tree]
            if slot < 0:
                return False
            if tables.value[slot] < tables.value[best(tables.first_word, state.reach[d], tree)]:
                return False
    return True


@numba.njit(nogil=True)
def misses_on_ramps(tables: Any, state: Any, d: Any, radius: Any, spent: Any, top: Any) -> Any:
    """Whether some requirement is out of reach, by the bound above.

    If not, ``state.aim`` is where the last requirement is reached at least cost, if the trees keep
    their largest values.
    """
    for k in range(tables.need.size):
        if _misses(tables, state, d, k, radius, spent, top):
            state.control[DECIDING] = k
            return True
    return False


@numba.njit(nogil=True)
def _misses(tables: Any, state: Any, d: Any, k: Any, radius: Any, spent: Any, top: Any) -> Any:
    rest, need = float(max(radius - spent - top, 0)), tables.need[k]
    fixed, dearest = 0.0, 0.0
    for tree in range(tables.first_tree[k], tables.first_tree[k + 1]):
        ramp = tables.tree[tree] - tables.ramps.first
        if ramp < 0:
            fixed += tables.value[best(tables.first_word, state.reach[d], tree)]
        else:
            j = tables.ramps.feature[ramp]
            cheapest = tables.ramps.slope[j] + tables.ramps.square[j] * 1e-6
            if cheapest > 0.0:
                worth = abs(tables.ramps.factor[ramp, k]) * tables.ramps.size[j] / cheapest
                dearest = max(dearest, worth)
    low, high = 0.0, 4.0 * dearest
    most, least = 0.0, -np.inf  # what is reached at these multipliers
    for step in range(HALVINGS + 2):
        multiplier = 0.0 if step == 0 else high if step == 1 else (low + high) / 2
        bound, reached = _at_multiplier(tables, state, d, k, radius - spent, multiplier)
        if fixed + bound + multiplier * rest * (1 + LOOSE) < need - tables.slack[k]:
            state.multiplier[0] = multiplier
            if state.control[KEEP]:
                _keep(tables, state, k)
            return True
        if step == 0 or fixed + reached >= need:
            low, most = multiplier, fixed + reached
            state.beyond[:] = state.trial
        else:
            high, least = multiplier, fixed + reached
            state.aim[:] = state.trial
    share = 1.0
    if least < need < most:
        share = (need - least) / (most - least)
    if least == -np.inf or most < need:
        state.aim[:] = state.beyond
    else:
        state.aim[:] += share * (state.beyond - state.aim)
    return False


@numba.njit(nogil=True)
def part_from_aim(tables: Any, state: Any, d: Any) -> Any:
    """Split between the point aimed at and the largest leaf of a tree that it misses, if any."""
    largest, chosen = 0.0, -1
    for tree in range(tables.tree.size):
        if tables.tree[tree] >= tables.ramps.first:
            continue
        slot = best(tables.first_word, state.reach[d], tree)
        gain = tables.value[slot] - tables.value[_last_slot(tables, state, d, tree)]
        for i in range(tables.condition[slot], tables.condition[slot + 1]):
            j = tables.feature[i]
            if tables.symbolic[j]:
                continue
            here = _aimed_cell(tables, state, d, j)
            cut = -1
            if here < tables.first[i]:
                cut = tables.first[i] - 1
            elif here > tables.last[i]:
                cut = tables.last[i]
            if cut >= 0 and gain > largest:
                largest, chosen = gain, j
                state.cut[d, 0], state.cut[d, 1] = j, cut
    return chosen >= 0


@numba.njit(nogil=True)
def _last_slot(tables: Any, state: Any, d: Any, tree: Any) -> Any:
    """The slot of the least leaf still reachable in a tree."""
    found = -1
    for w in range(tables.first_word[tree], tables.first_word[tree + 1]):
        for i in range(64):
            if (state.reach[d, w] >> np.uint64(i)) & np.uint64(1):
                found = 64 * w + i
    return found


@numba.njit(nogil=True)
def _aimed_cell(tables: Any, state: Any, d: Any, j: Any) -> Any:
    """The cell of the box that holds feature j of the point aimed at."""
    begin, cell = tables.start[j], state.first[d, j]
    while cell < state.last[d, j] and tables.largest[begin + cell] < state.aim[j]:
        cell += 1
    return cell


@numba.njit(nogil=True)
def _keep(tables: Any, state: Any, k: Any) -> None:
    """Ramps bear the cost of their features, trees none."""
    for tree in range(tables.first_tree[k], tables.first_tree[k + 1]):
        ramp = tables.tree[tree] - tables.ramps.first
        if ramp >= 0:
            j = tables.ramps.feature[ramp]
            state.share[tree, j] = 1.0
            state.shared[j] += 1.0


@numba.njit(nogil=True)
def _at_multiplier(tables: Any, state: Any, d: Any, k: Any, left: Any, multiplier: Any) -> Any:
    """``Σ_j max_{x_j} (f_j x_j - λ excess_j(x_j))``, and ``Σ_j f_j x_j`` there; x in ``trial``.

    ``left``: of the radius, without what the nearest point costs in sum.
    """
    bound, reached, ramps = 0.0, 0.0, tables.ramps
    for j in range(tables.home.size):
        state.trial[j] = tables.point[tables.start[j] + state.point[j]]
    for tree in range(tables.first_tree[k], tables.first_tree[k + 1]):
        ramp = tables.tree[tree] - ramps.first
        if ramp < 0:
            continue
        j, factor = ramps.feature[ramp], ramps.factor[ramp, k]
        begin = tables.start[j]
        low = tables.least[begin + state.first[d, j]]
        high = tables.largest[begin + state.last[d, j]]
        near = tables.point[begin + state.point[j]]
        base = float(tables.added[begin + state.point[j]])
        value, end = factor * near, high if factor > 0.0 else low
        if end != near:
            end = _reachable(tables, j, near, end, left + base)
            for attempt in range(2):
                x = end if attempt == 0 else _vertex(tables, j, factor, multiplier, near, end)
                excess = max(_cost(tables, j, x) - base, 0.0)
                if factor * x - multiplier * excess > value:
                    value = factor * x - multiplier * excess
                    state.trial[j] = x
        widest = max(abs(low), abs(high)) * abs(factor)
        bound += value + widest * (ramps.noise[ramp] + LOOSE)
        reached += factor * state.trial[j]
    return bound, reached


@numba.njit(nogil=True)
def _cost(tables: Any, j: Any, x: Any) -> Any:
    """What moving feature j to x costs in sum, rounded down."""
    ramps = tables.ramps
    if ramps.size[j] == 0.0:
        return 0.0
    delta = abs(x - ramps.center[j]) / ramps.size[j]
    flat = ramps.flat[j] if delta > 0.0 else 0.0
    cost = flat + delta * (ramps.slope[j] + ramps.square[j] * delta)
    return cost * (1 - LOOSE) - 1.0


@numba.njit(nogil=True)
def _reachable(tables: Any, j: Any, near: Any, end: Any, left: Any) -> Any:
    """As far from the nearest point towards an end as the radius goes, rounded outward.

    ``left``: what moving feature j may cost, in sum and in maximum.
    """
    ramps, limit = tables.ramps, np.inf
    steep = ramps.slope[j] + ramps.top[j]
    if steep > 0.0:
        limit = (left + 2.0) / steep
    if ramps.square[j] > 0.0:
        limit = min(limit, np.sqrt((left + 2.0) / ramps.square[j]))
    if not limit < 1e300:
        return end
    away = limit * ramps.size[j] * (1 + 4 * LOOSE)
    here = ramps.center[j]
    away += LOOSE * (abs(here) + away)
    if end > near:
        return max(min(end, here + away), near)
    return min(max(end, here - away), near)


@numba.njit(nogil=True)
def _vertex(tables: Any, j: Any, factor: Any, multiplier: Any, near: Any, end: Any) -> Any:
    """Where ``factor x - λ cost(x)`` is largest between a point and an end, with squares."""
    ramps = tables.ramps
    if ramps.square[j] <= 0.0 or multiplier <= 0.0:
        return end
    delta = (abs(factor) * ramps.size[j] / multiplier - ramps.slope[j]) / (2 * ramps.square[j])
    x = ramps.center[j] + (delta if end > near else -delta) * ramps.size[j]
    return min(max(x, min(near, end)), max(near, end))


__all__ = ["decides_at_point", "misses_on_ramps", "part_from_aim"]
