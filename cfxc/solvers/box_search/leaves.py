"""The leaves that a ball around the factual can reach, and what each asks of the features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...compiler.passes import Ball
from .decision import Decision

ROOM = 4096  # leaves that the walk that counts may collect, to save a second one
ROUNDING = 1e-9  # relative: far above what sums of doubles lose


@dataclass(frozen=True)
class Leaves:
    """n leaves and their m conditions, tree by tree.

    ``node``, ``tree`` (n,); leaf i has the conditions ``start[i]`` to ``start[i + 1]``: feature
    ``feature[c]`` lies in ``(above[c], upto[c]]``, or its label is among the bits ``labels[c]``.
    ``whole`` (T,): whether these are all leaves of a tree that the ball meets.
    """

    node: Ints
    tree: Ints
    start: Ints
    feature: Ints
    above: Floats
    upto: Floats
    labels: npt.NDArray[np.uint64]
    whole: npt.NDArray[np.bool_]

    def conditions(self, order: Ints) -> Ints:
        """The conditions of the leaves in ``order``, one leaf after the other."""
        counts = self.start[order + 1] - self.start[order]
        offsets: Ints = np.repeat(self.start[order] - (np.cumsum(counts) - counts), counts)
        return np.arange(counts.sum(), dtype=np.int64) + offsets

    def only(self, kept: Ints) -> Leaves:
        """Some of the leaves, in order."""
        taken = self.conditions(kept)
        start = np.concatenate([[0], np.cumsum(self.start[kept + 1] - self.start[kept])])
        return Leaves(
            self.node[kept], self.tree[kept], start, self.feature[taken], self.above[taken],
            self.upto[taken], self.labels[taken], self.whole,
        )  # fmt: skip


def reachable_leaves(decision: Decision, ball: Ball) -> tuple[Leaves | None, int]:
    """The leaves whose box meets the ball and that matter; a few beyond it may be among them.

    A leaf matters to a requirement if that can hold with it and the largest leaves elsewhere.
    Where one cannot hold even with the largest leaves everywhere, there is nothing to look at:
    ``None``, and which requirement it is.
    """
    largest = np.full((decision.need.size, decision.roots.size), -np.inf)
    floors = np.full_like(largest, np.inf)
    reached = np.zeros(decision.roots.size, np.int64)
    walk = _make_walk(decision, ball)
    found = _collect(walk, floors, largest, reached, ROOM)
    most = largest.sum(axis=1)
    slack = ROUNDING * (np.abs(largest).sum(axis=1) + np.abs(decision.need))
    missed = np.flatnonzero(most < decision.need - slack)
    if missed.size:
        return None, int(missed[0])
    floors = (decision.need - slack - most)[:, None] + largest
    if reached.sum() > ROOM:
        found = _collect(walk, floors, largest, np.zeros(0, np.int64), 0)
    node, tree, start, feature, above, upto, labels = found
    matters = np.any(decision.value[:, node] >= floors[:, tree], axis=0)
    whole = np.bincount(tree[matters], minlength=decision.roots.size) == reached
    leaves = Leaves(node, tree, start, feature, above, upto, labels, whole)
    return (leaves if matters.all() else leaves.only(np.flatnonzero(matters))), -1


class _Walk(NamedTuple):
    """Trees as in ``Decision``, and a ball as in ``Ball``, for compiled code.

    ``cheapest`` (J, L): the labels of each category in the order of their cost; ``symbolic`` (J,);
    ``admissible`` (J, W): bits of the admissible labels; ``depth``: of the deepest tree.
    """

    roots: Ints
    left: Ints
    right: Ints
    feature: Ints
    cut: Floats
    below: npt.NDArray[np.bool_]
    mask: npt.NDArray[np.uint64]
    value: Floats
    depth: int
    center: Floats
    lower: Floats
    upper: Floats
    scale: Floats
    weight: Floats
    peak: Floats
    step: Floats
    norm: Floats
    cheapest: Ints
    symbolic: npt.NDArray[np.bool_]
    admissible: npt.NDArray[np.uint64]


def _make_walk(decision: Decision, ball: Ball) -> _Walk:
    splits = decision.splits
    possible: npt.NDArray[np.bool_] = np.isfinite(ball.step)
    bits = np.zeros((ball.center.size, 64 * splits.mask.shape[1]), np.bool_)
    bits[:, : possible.shape[1]] = possible
    admissible = np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    return _Walk(
        decision.roots, decision.left, decision.right, splits.input, splits.cut, splits.below,
        splits.mask, decision.value, decision.depth, ball.center, ball.lower, ball.upper,
        ball.scale, ball.weight, ball.peak, ball.step, ball.coefficients,
        np.argsort(ball.step, axis=1, kind="stable"), np.any(possible, axis=1), admissible,
    )  # fmt: skip


@numba.njit(cache=True, nogil=True)
def _collect(walk: Any, floors: Any, largest: Any, reached: Any, room: Any) -> Any:
    """Depth-first walk of every tree with the box of the path, as far as it meets the ball.

    Fills ``largest``, counts the leaves ``reached`` (T,) and collects the first ``room`` of them;
    or, given no place to count, collects the leaves of at least their floor.
    """
    left, right, feature, value = walk.left, walk.right, walk.feature, walk.value
    cut, below, mask, center, scale = walk.cut, walk.below, walk.mask, walk.center, walk.scale
    step, cheapest, symbolic, norm = walk.step, walk.cheapest, walk.symbolic, walk.norm
    weight, peak = walk.weight, walk.peak
    features, words, depth = center.size, mask.shape[1], walk.depth
    low, high, allowed = walk.lower.copy(), walk.upper.copy(), walk.admissible.copy()
    above, upto = np.full(features, -np.inf), np.full(features, np.inf)
    narrowed, order, count = np.zeros(features, np.int64), np.zeros(features, np.int64), 0
    delta = np.zeros(features)
    for j in range(features):
        delta[j] = _delta(j, low, high, allowed, center, scale, step, cheapest, symbolic)
    size, conditions = 1024, 8192
    node, tree = np.empty(size, np.int64), np.empty(size, np.int64)
    start = np.zeros(size + 1, np.int64)
    which, lows = np.empty(conditions, np.int64), np.empty(conditions)
    highs, sets = np.empty(conditions), np.empty((conditions, words), np.uint64)
    path, phase = np.empty(depth, np.int64), np.empty(depth, np.int64)
    old, old_allowed = np.empty((depth, 6)), np.empty((depth, words), np.uint64)
    n, m = 0, 0
    total = 0.0
    for j in range(features):
        total += _added(norm, weight[j], delta[j])
    for t in range(walk.roots.size):
        top = 0
        path[0], phase[0] = walk.roots[t], 0
        while top >= 0:
            here = path[top]
            j = feature[here]
            if j < 0:
                top -= 1
                matters = _matters(value, floors, largest, here, t)
                if reached.size:
                    reached[t] += 1
                if (n == room) if reached.size else not matters:
                    continue
                if n == size:
                    size *= 2
                    node, tree = _grown(node, size), _grown(tree, size)
                    start = _grown(start, size + 1)
                if m + count >= conditions:
                    conditions = 2 * conditions + count
                    which, lows = _grown(which, conditions), _grown(lows, conditions)
                    highs, sets = _grown(highs, conditions), _grown(sets, conditions)
                for i in range(count):
                    f = order[i]
                    which[m + i], lows[m + i], highs[m + i] = f, above[f], upto[f]
                    sets[m + i] = allowed[f]
                m += count
                node[n], tree[n], start[n + 1] = here, t, m
                n += 1
                continue
            if phase[top] == 0:
                old[top, 0], old[top, 1], old[top, 2] = low[j], high[j], delta[j]
                old[top, 3], old[top, 4], old[top, 5] = above[j], upto[j], total
                old_allowed[top] = allowed[j]
            else:  # undo the branch just finished
                low[j], high[j], delta[j] = old[top, 0], old[top, 1], old[top, 2]
                above[j], upto[j], total = old[top, 3], old[top, 4], old[top, 5]
                allowed[j] = old_allowed[top]
                if narrowed[j] == top + 1:
                    narrowed[j] = 0
                    count -= 1
            if phase[top] == 2:
                top -= 1
                continue
            goes_left = phase[top] == 0
            phase[top] += 1
            inside = _enter(here, j, goes_left, cut, below, mask, low, high, allowed, above, upto)
            if inside == 0:
                continue
            if inside == 2 and narrowed[j] == 0:
                narrowed[j] = top + 1
                order[count] = j
                count += 1
            before = delta[j]
            delta[j] = _delta(j, low, high, allowed, center, scale, step, cheapest, symbolic)
            if delta[j] > before:
                total += _added(norm, weight[j], delta[j]) - _added(norm, walk.weight[j], before)
            distance = total
            if norm[2] > 0.0:
                distance += norm[2] * (peak * delta).max()
            if distance <= norm[4]:
                top += 1
                path[top], phase[top] = left[here] if goes_left else right[here], 0
    return node[:n], tree[:n], start[: n + 1], which[:m], lows[:m], highs[:m], sets[:m]


@numba.njit(cache=True, nogil=True)
def _matters(value: Any, floors: Any, largest: Any, node: Any, tree: Any) -> Any:
    """Note a leaf's values; whether some requirement can hold with it."""
    matters = False
    for k in range(value.shape[0]):
        largest[k, tree] = max(largest[k, tree], value[k, node])
        matters = matters or value[k, node] >= floors[k, tree]
    return matters


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
    """Narrow feature j to one side of a split: 0 nothing is left of it, 1 all of it, 2 a part."""
    if not np.isnan(cut[node]):
        reported = False
        if goes_left == below[node]:
            if cut[node] < high[j]:
                high[j], upto[j], reported = cut[node], cut[node], True
        elif cut[node] >= low[j]:
            low[j], above[j], reported = np.nextafter(cut[node], np.inf), cut[node], True
        return 0 if low[j] > high[j] else 2 if reported else 1
    nonempty, reported = False, False
    for word in range(allowed.shape[1]):
        kept = allowed[j, word] & (mask[node, word] if goes_left else ~mask[node, word])
        reported = reported or kept != allowed[j, word]
        allowed[j, word] = kept
        nonempty = nonempty or kept != 0
    return 0 if not nonempty else 2 if reported else 1


@numba.njit(cache=True, nogil=True)
def _delta(
    j: Any,
    low: Any,
    high: Any,
    allowed: Any,
    center: Any,
    scale: Any,
    step: Any,
    cheapest: Any,
    symbolic: Any,
) -> Any:
    """Lower bound of δ_j over the box: 0 inside, else the distance to its near end."""
    if symbolic[j]:
        for rank in range(step.shape[1]):
            code = cheapest[j, rank]
            if (allowed[j, code >> 6] >> np.uint64(code & 63)) & np.uint64(1):
                return step[j, code]
        return np.inf
    return max(0.0, max(low[j] - center[j], center[j] - high[j])) * scale[j]


@numba.njit(cache=True, nogil=True)
def _added(norm: Any, weight: Any, delta: Any) -> Any:
    """What a change of δ adds to the parts of the distance in sum."""
    return weight * (norm[0] + delta * (norm[1] + norm[3] * delta)) if delta > 0.0 else 0.0


__all__ = ["ROUNDING", "Leaves", "reachable_leaves"]
