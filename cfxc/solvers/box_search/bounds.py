"""Bounds on the sums over a box, from the leaves that it still meets.

Two are tried, cheapest first:

* ``Σ_t max {v : leaf of tree t that the box meets and the rest of the radius can reach}``;
* its Lagrangian, which lets the trees share the cost of moving: for λ >= 0 and shares a of each
  feature's cost over the trees (a >= 0, ``Σ_t a_tj <= 1``), all points x of the box within the rest
  r of the radius have
  ``Σ_t v_t(x) <= λ r + Σ_t max_l (v_l - λ Σ_j a_tj cost_j(l))``
  with cost_j(l) the least cost of moving feature j into leaf l; λ and a follow subgradients.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from .state import DECIDING, KEEP

ROUNDS = 6  # of subgradient steps
_MAGIC = np.uint64(0x03F79D71B4CB0A89)  # a de Bruijn sequence: every window of 6 bits differs
_PLACE = np.array([((int(_MAGIC) << i) & (2**64 - 1)) >> 58 for i in range(64)]).argsort()


@numba.njit(nogil=True)
def lowest(bits: Any) -> Any:
    """The place of the lowest bit that is set."""
    return _PLACE[((bits & (~bits + np.uint64(1))) * _MAGIC) >> np.uint64(58)]


@numba.njit(nogil=True)
def best(first_word: Any, reach: Any, tree: Any) -> Any:
    """The slot of the largest leaf still reachable in a tree, or -1."""
    for w in range(first_word[tree], first_word[tree + 1]):
        if reach[w]:
            return int(64 * w + lowest(reach[w]))
    return -1


@numba.njit(nogil=True)
def misses(tables: Any, state: Any, reach: Any) -> Any:
    """Whether some requirement is out of reach of the sums of the largest leaves; exact."""
    shift, first_word = np.int64(tables.shift), tables.first_word
    highs, lows, values = tables.high, tables.low, tables.value
    for k in range(tables.need.size):
        high, low, most = np.int64(0), np.int64(0), 0.0
        for tree in range(tables.first_tree[k], tables.first_tree[k + 1]):
            slot = best(first_word, reach, tree)
            if slot < 0:
                state.control[DECIDING] = k
                return True
            high += highs[slot]
            low += lows[slot]
            most += values[slot]
        state.most[k] = most
        high += low >> shift
        low &= (np.int64(1) << shift) - 1
        if high < tables.need_high[k] or (high == tables.need_high[k] and low < tables.need_low[k]):
            state.control[DECIDING] = k
            return True
    return False


@numba.njit(nogil=True)
def drop_leaves(tables: Any, state: Any, d: Any, radius: Any, spent: Any, top: Any) -> None:
    """Price conditions; drop leaves with which a requirement fails, or that lie too far."""
    reach, point, more, between = state.reach[d], state.point, state.more, state.between
    feature, first, last, labels = tables.feature, tables.first, tables.last, tables.labels
    start, added, peak, condition = tables.start, tables.added, tables.peak, tables.condition
    symbolic, cheapest = tables.symbolic, tables.cheapest
    for k in range(tables.need.size):
        goal = tables.need[k] - tables.slack[k] - state.most[k]
        for tree in range(tables.first_tree[k], tables.first_tree[k + 1]):
            floor = goal + tables.value[best(tables.first_word, reach, tree)]
            for w in range(tables.first_word[tree], tables.first_word[tree + 1]):
                bits = reach[w]
                while bits:
                    bit = bits & (~bits + np.uint64(1))
                    slot = 64 * w + lowest(bits)
                    if tables.value[slot] < floor:
                        reach[w] &= ~bits
                        break
                    bits ^= bit
                    total, high = spent, top
                    for i in range(condition[slot], condition[slot + 1]):
                        j = feature[i]
                        begin, here = start[j], point[j]
                        if symbolic[j]:
                            if (labels[i, here // 64] >> np.uint64(here % 64)) & np.uint64(1):
                                more[i], between[i] = 0, -1
                                continue
                            there, cut = cheapest[i], 2 * begin
                        elif here < first[i]:
                            there, cut = begin + first[i], 2 * (begin + first[i] - 1)
                        elif here > last[i]:
                            there, cut = begin + last[i], 2 * (begin + last[i]) + 1
                        else:
                            more[i], between[i] = 0, -1
                            continue
                        more[i] = max(added[there] - added[begin + here], 0)
                        between[i] = cut
                        total += more[i]
                        high = max(high, peak[there])
                    if total + high > radius:
                        reach[w] ^= bit


@numba.njit(nogil=True)
def holds_at_point(tables: Any, state: Any, d: Any) -> Any:
    """Find each tree's leaf at the nearest point, and whether all requirements hold there."""
    holding, reach, first_word = state.holding, state.reach[d], tables.first_word
    holding[:] = reach
    for j in range(tables.home.size):
        cell = tables.start[j] + state.point[j]
        if not tables.symbolic[j] and state.first[d, j] == state.last[d, j]:
            continue
        row = tables.upto[cell]
        for w in range(reach.size):
            holding[w] &= row[w]
        if not tables.symbolic[j]:
            row = tables.since[cell]
            for w in range(reach.size):
                holding[w] &= row[w]
    shift, all_hold = np.int64(tables.shift), True
    for k in range(tables.need.size):
        high, low, now = np.int64(0), np.int64(0), 0.0
        for tree in range(tables.first_tree[k], tables.first_tree[k + 1]):
            slot = best(first_word, holding, tree)
            state.current[tree] = slot
            if slot < 0:  # dropped: with this leaf, the requirement fails
                all_hold = False
                now += tables.value[best(first_word, reach, tree)] - state.most[k] + tables.need[k]
                continue
            high += tables.high[slot]
            low += tables.low[slot]
            now += tables.value[slot]
        state.now[k] = now
        high += low >> shift
        low &= (np.int64(1) << shift) - 1
        if high < tables.need_high[k] or (high == tables.need_high[k] and low < tables.need_low[k]):
            all_hold = False
    return all_hold


@numba.njit(nogil=True)
def misses_when_sharing(tables: Any, state: Any, d: Any, rest: Any) -> Any:
    """Whether the Lagrangian bound closes the box, on the requirement that is nearest to fail."""
    k, tightest = -1, np.inf
    for each in range(tables.need.size):
        gap, lead = state.most[each] - tables.need[each], state.most[each] - state.now[each]
        if state.now[each] < tables.need[each] and lead > 0 and gap / lead < tightest:
            k, tightest = each, gap / lead
    if k < 0 or rest <= 0:
        return False
    multiplier = max(state.most[k] - tables.need[k], tables.slack[k]) / rest
    first, last = tables.first_tree[k], tables.first_tree[k + 1]
    goal, closed = tables.need[k] - tables.slack[k], False
    for tree in range(first, last):
        state.chosen[tree] = best(tables.first_word, state.reach[d], tree)
    _reshare(tables, state, first, last, 1.0)
    for _ in range(ROUNDS):
        bound, cost = _share(tables, state, d, first, last, multiplier)
        if bound + multiplier * rest < goal:
            closed = True
            state.control[DECIDING], state.multiplier[0] = k, multiplier
            break
        multiplier *= 1.3 if cost > rest else 0.8
        _reshare(tables, state, first, last, 0.5)
    if not state.control[KEEP]:
        state.share[first:last, :] = 0.0
        state.shared[:] = 0.0
    return closed


@numba.njit(nogil=True)
def _reshare(tables: Any, state: Any, first: Any, last: Any, step: Any) -> None:
    """Let the trees whose chosen leaf lies beyond the nearest point bear more of its cost."""
    feature, condition, more = tables.feature, tables.condition, state.more
    share, shared = state.share, state.shared
    for tree in range(first, last):
        slot = state.chosen[tree]
        for i in range(condition[slot], condition[slot + 1]):
            if more[i] > 0:
                share[tree, feature[i]] += step
                shared[feature[i]] += step


@numba.njit(nogil=True)
def _share(tables: Any, state: Any, d: Any, first: Any, last: Any, multiplier: Any) -> Any:
    """``Σ_t max_l v_l - λ Σ_j a_tj cost_j(l)`` over the reachable leaves, and their total cost."""
    reach, first_word, value = state.reach[d], tables.first_word, tables.value
    feature, condition, more = tables.feature, tables.condition, state.more
    share, shared = state.share, state.shared
    bound, total = 0.0, 0.0
    for tree in range(first, last):
        largest, spent, chosen = -np.inf, 0.0, np.int64(0)
        for w in range(first_word[tree], first_word[tree + 1]):
            bits = reach[w]
            while bits:
                slot = 64 * w + lowest(bits)
                bits &= bits - np.uint64(1)
                if value[slot] <= largest:
                    break
                cost = 0.0
                for i in range(condition[slot], condition[slot + 1]):
                    if more[i] > 0 and share[tree, feature[i]] > 0.0:
                        cost += more[i] * (share[tree, feature[i]] / shared[feature[i]])
                if value[slot] - multiplier * cost > largest:
                    largest, spent, chosen = value[slot] - multiplier * cost, cost, slot
        bound += largest
        total += spent
        state.chosen[tree] = chosen
    return bound, total
