"""The leaves that a ball around the factual can reach, and what each asks of the features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from ...compiler.passes import SLACK, Ball
from .decision import Decision

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Leaves:
    """n leaves and their m conditions, tree by tree.

    ``node``, ``tree`` (n,); leaf i has the conditions ``start[i]`` to ``start[i + 1]``: feature
    ``feature[c]`` lies in ``(above[c], upto[c]]``, or its label is among the bits ``labels[c]``.
    """

    node: Ints
    tree: Ints
    start: Ints
    feature: Ints
    above: Floats
    upto: Floats
    labels: npt.NDArray[np.uint64]


def reachable_leaves(decision: Decision, ball: Ball) -> Leaves:
    """All leaves whose box meets the ball; a few beyond it may be among them."""
    splits = decision.splits
    norm = np.array([ball.l0, ball.l1, ball.linf, ball.radius * (1 + SLACK) + SLACK])
    words = splits.mask.shape[1]
    admissible = np.zeros((ball.center.size, words), dtype=np.uint64)
    for j, code in zip(*np.nonzero(np.isfinite(ball.step)), strict=True):
        admissible[j, code // 64] |= np.uint64(1) << np.uint64(code % 64)
    found = _collect(
        decision.roots, decision.left, decision.right, splits.input, splits.cut, splits.below,
        splits.mask, ball.center, ball.lower, ball.upper, ball.scale, ball.weight, ball.peak,
        ball.step, np.isfinite(ball.step).any(axis=1), admissible, norm,
    )  # fmt: skip
    return Leaves(*found)


@numba.njit(cache=True, nogil=True)
def _collect(
    roots: Any, left: Any, right: Any, feature: Any, cut: Any, below: Any, mask: Any,
    center: Any, lower: Any, upper: Any, scale: Any, weight: Any, peak: Any, step: Any,
    symbolic: Any, admissible: Any, norm: Any,
) -> Any:  # fmt: skip
    """Depth-first walk of every tree with the box of the path; leaves within the ball are kept."""
    features, words = center.size, mask.shape[1]
    low, high, allowed = lower.copy(), upper.copy(), admissible.copy()
    above, upto = np.full(features, -np.inf), np.full(features, np.inf)
    delta = np.zeros(features)
    for j in range(features):
        delta[j] = _delta(j, low, high, allowed, center, scale, step, symbolic)
    size, conditions = 1024, 8192
    node, tree = np.empty(size, np.int64), np.empty(size, np.int64)
    start = np.zeros(size + 1, np.int64)
    which, lows = np.empty(conditions, np.int64), np.empty(conditions)
    highs, sets = np.empty(conditions), np.empty((conditions, words), np.uint64)
    depth = 64
    path, phase = np.empty(depth, np.int64), np.empty(depth, np.int64)
    old = np.empty((depth, 5))
    old_allowed = np.empty((depth, words), np.uint64)
    n, m = 0, 0
    for t in range(roots.size):
        top = 0
        path[0], phase[0] = roots[t], 0
        while top >= 0:
            here = path[top]
            j = feature[here]
            if j < 0:
                if n == size:
                    size *= 2
                    node, tree = _grown(node, size), _grown(tree, size)
                    start = _grown(start, size + 1)
                if m + top >= conditions:
                    conditions = 2 * conditions + top
                    which, lows = _grown(which, conditions), _grown(lows, conditions)
                    highs, sets = _grown(highs, conditions), _grown(sets, conditions)
                m = _conditions(
                    path[:top], feature, cut, above, upto, allowed, admissible, m, which, lows,
                    highs, sets,
                )  # fmt: skip
                node[n], tree[n], start[n + 1] = here, t, m
                n += 1
                top -= 1
                continue
            if phase[top] == 0:
                old[top, 0], old[top, 1], old[top, 2] = low[j], high[j], delta[j]
                old[top, 3], old[top, 4] = above[j], upto[j]
                old_allowed[top] = allowed[j]
            else:  # undo the branch just finished
                low[j], high[j], delta[j] = old[top, 0], old[top, 1], old[top, 2]
                above[j], upto[j] = old[top, 3], old[top, 4]
                allowed[j] = old_allowed[top]
            if phase[top] == 2:
                top -= 1
                continue
            goes_left = phase[top] == 0
            phase[top] += 1
            if _enter(here, j, goes_left, cut, below, mask, low, high, allowed, above, upto):
                delta[j] = _delta(j, low, high, allowed, center, scale, step, symbolic)
                if _distance(norm, weight, peak, delta) <= norm[3]:
                    top += 1
                    if top == depth:
                        depth *= 2
                        path, phase = _grown(path, depth), _grown(phase, depth)
                        old, old_allowed = _grown(old, depth), _grown(old_allowed, depth)
                    path[top], phase[top] = left[here] if goes_left else right[here], 0
    return node[:n], tree[:n], start[: n + 1], which[:m], lows[:m], highs[:m], sets[:m]


@numba.njit(cache=True, nogil=True)
def _grown(array: Any, size: Any) -> Any:
    """A longer array with the same beginning."""
    longer = np.zeros((size, *array.shape[1:]), array.dtype)
    longer[: array.shape[0]] = array
    return longer


@numba.njit(cache=True, nogil=True)
def _enter(
    node: Any, j: Any, goes_left: Any, cut: Any, below: Any, mask: Any, low: Any, high: Any,
    allowed: Any, above: Any, upto: Any,
) -> Any:  # fmt: skip
    """Narrow feature j to one side of a node's split; whether anything is left of it."""
    if not np.isnan(cut[node]):
        if goes_left == below[node]:
            if cut[node] < high[j]:
                high[j] = cut[node]
                upto[j] = cut[node]
        elif cut[node] >= low[j]:
            low[j] = np.nextafter(cut[node], np.inf)
            above[j] = cut[node]
        return bool(low[j] <= high[j])
    nonempty = False
    for word in range(allowed.shape[1]):
        allowed[j, word] &= mask[node, word] if goes_left else ~mask[node, word]
        nonempty = nonempty or allowed[j, word] != 0
    return nonempty


@numba.njit(cache=True, nogil=True)
def _conditions(
    path: Any, feature: Any, cut: Any, above: Any, upto: Any, allowed: Any, admissible: Any,
    m: Any, which: Any, lows: Any, highs: Any, sets: Any,
) -> Any:  # fmt: skip
    """Write down what the path asks of each feature, once per feature."""
    first = m
    for i in range(path.size):
        j = feature[path[i]]
        seen = False
        for k in range(first, m):
            seen = seen or which[k] == j
        if seen:
            continue
        if np.isnan(cut[path[i]]):
            narrowed = False
            for word in range(allowed.shape[1]):
                narrowed = narrowed or allowed[j, word] != admissible[j, word]
        else:
            narrowed = above[j] > -np.inf or upto[j] < np.inf
        if narrowed:
            which[m], lows[m], highs[m] = j, above[j], upto[j]
            sets[m] = allowed[j]
            m += 1
    return m


@numba.njit(cache=True, nogil=True)
def _delta(
    j: Any, low: Any, high: Any, allowed: Any, center: Any, scale: Any, step: Any,
    symbolic: Any,
) -> Any:  # fmt: skip
    """Lower bound of δ_j over the box: 0 inside, else the distance to its near end."""
    if symbolic[j]:
        best = np.inf
        for code in range(step.shape[1]):
            if (allowed[j, code // 64] >> np.uint64(code % 64)) & np.uint64(1):
                best = min(best, step[j, code])
        return best
    return float(max(0.0, max(low[j] - center[j], center[j] - high[j])) * scale[j])


@numba.njit(cache=True, nogil=True)
def _distance(norm: Any, weight: Any, peak: Any, delta: Any) -> float:
    total, count, largest = 0.0, 0.0, 0.0
    for j in range(delta.size):
        if delta[j] > 0:
            total += weight[j] * delta[j]
            count += weight[j]
            largest = max(largest, peak[j] * delta[j])
    return float(norm[0] * count + norm[1] * total + norm[2] * largest)


__all__ = ["Leaves", "reachable_leaves"]
