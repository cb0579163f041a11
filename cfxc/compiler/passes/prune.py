"""Ensembles cut down to what a ball around the factual can reach.

Each node of a tree owns a box of feature values (the splits above it).  If the box lies farther
from the factual than the radius, or outside the admissible ranges, no admissible point of the ball
reaches the node, and it goes; a node with one child left is replaced by that child.  On the ball
the pruned program therefore equals the original.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from ...ir import Let, Program, Tensor, ops, rewrite
from ..splits import RawSplits, raw_splits

Floats = npt.NDArray[np.float64]

# Distances to boxes are computed in doubles; a node is dropped only beyond this relative slack,
# far above the rounding error of a sum of at most 10^6 terms.
SLACK = 1e-9


@dataclass(frozen=True)
class Ball:
    """All admissible points with ``l0 * ||δ||₀ + l1 * ||δ||₁ + linf * ||δ||∞ <= radius``.

    Arrays run over the program's inputs.  ``center``: the factual (codes for categories);
    ``lower``, ``upper``: admissible range of numbers; ``scale``: 1/R_j (0 where R_j = 0);
    ``weight``, ``peak``: w_j over their sum and over the largest; ``step`` (J, L): δ_j per label of
    category j, infinite for labels that are not admissible.  δ_j and weights may be lower bounds.
    """

    center: Floats
    lower: Floats
    upper: Floats
    scale: Floats
    weight: Floats
    peak: Floats
    step: Floats
    l0: float
    l1: float
    linf: float
    radius: float


def prune_trees(program: Program, ball: Ball, splits: dict[str, RawSplits | None]) -> Program:
    """Every ``tree_ensemble`` of a straight-line program restricted to ``ball``.

    ``splits`` caches ``raw_splits`` by the value's name, over calls on the same program.
    """

    def let(statement: Let) -> tuple[Let, ...]:
        op = statement.op
        if not isinstance(op, ops.TreeEnsemble):
            return (statement,)
        if statement.name not in splits:
            splits[statement.name] = raw_splits(program, op)
        found = splits[statement.name]
        if found is None or _shares_nodes(op):
            return (statement,)
        return (replace(statement, op=prune_ensemble(op, found, ball)),)

    return replace(program, body=rewrite(program.body, let))


def _shares_nodes(op: ops.TreeEnsemble) -> bool:
    """Whether some node has two parents, so that no single box belongs to it."""
    inner = op.feature.array >= 0
    children = np.concatenate([op.left.array[inner], op.right.array[inner], op.roots.array])
    return bool(np.bincount(children).max(initial=0) > 1)


def prune_ensemble(op: ops.TreeEnsemble, splits: RawSplits, ball: Ball) -> ops.TreeEnsemble:
    """The ensemble without the nodes that ``ball`` cannot reach."""
    norm = np.array([ball.l0, ball.l1, ball.linf, ball.radius * (1 + SLACK) + SLACK])
    source, left, right, roots = _prune(
        op.roots.array, op.left.array, op.right.array, splits.input, splits.cut, splits.below,
        splits.mask, ball.center, ball.lower, ball.upper, ball.scale, ball.weight, ball.peak,
        ball.step, norm,
    )  # fmt: skip
    return ops.TreeEnsemble(
        op.x,
        Tensor(roots),
        Tensor(op.feature.array[source]),
        Tensor(op.threshold.array[source]),
        Tensor(left),
        Tensor(right),
        Tensor(op.value.array[source]),
        op.base,
    )


@numba.njit(cache=True)
def _distance(norm: Any, weight: Any, peak: Any, delta: Any) -> float:
    total, count, largest = 0.0, 0.0, 0.0
    for j in range(delta.size):
        if delta[j] > 0:
            total += weight[j] * delta[j]
            count += weight[j]
            largest = max(largest, peak[j] * delta[j])
    result: float = norm[0] * count + norm[1] * total + norm[2] * largest
    return result


@numba.njit(cache=True)
def _prune(
    roots: Any, left: Any, right: Any, feature: Any, cut: Any, below: Any, mask: Any,
    center: Any, lower: Any, upper: Any, scale: Any, weight: Any, peak: Any, step: Any,
    norm: Any,
) -> Any:  # fmt: skip
    """Depth-first walk that carries each node's box; returns kept nodes, children first to last.

    The box is undone on the way up: ``trail`` holds what each open split overwrote.
    """
    features, labels = center.size, step.shape[1]
    low, high = lower.copy(), upper.copy()
    allowed = np.isfinite(step)
    delta = np.zeros(features)
    for j in range(features):
        delta[j] = _delta(j, low, high, allowed, center, scale, step)
    kept_source = np.empty(left.size, dtype=np.int64)
    kept_left = np.zeros(left.size, dtype=np.int64)
    kept_right = np.zeros(left.size, dtype=np.int64)
    image = np.full(left.size, -1, dtype=np.int64)  # node -> its replacement (a node), -1 if gone
    new_roots = np.empty(roots.size, dtype=np.int64)
    depth_limit = left.size + 1
    node_stack = np.empty(depth_limit, dtype=np.int64)
    phase = np.empty(depth_limit, dtype=np.int64)
    old_low, old_high = np.empty(depth_limit), np.empty(depth_limit)
    old_delta = np.empty(depth_limit)
    old_allowed = np.empty((64, labels), dtype=np.bool_)
    total = 0
    for r in range(roots.size):
        top = 0
        node_stack[0], phase[0] = roots[r], 0
        while top >= 0:
            node = node_stack[top]
            if feature[node] < 0:
                image[node] = node
                top -= 1
                continue
            j = feature[node]
            if phase[top] == 0:
                if top >= old_allowed.shape[0]:
                    grown = np.empty((2 * top, labels), dtype=np.bool_)
                    grown[: old_allowed.shape[0]] = old_allowed
                    old_allowed = grown
                old_low[top], old_high[top], old_delta[top] = low[j], high[j], delta[j]
                old_allowed[top] = allowed[j]
            if phase[top] > 0:  # undo the branch just finished
                low[j], high[j], delta[j] = old_low[top], old_high[top], old_delta[top]
                allowed[j] = old_allowed[top]
            if phase[top] == 2:
                a, b = image[left[node]], image[right[node]]
                image[node] = node if a >= 0 and b >= 0 else max(a, b)
                top -= 1
                continue
            goes_left = phase[top] == 0
            phase[top] += 1
            child = left[node] if goes_left else right[node]
            if np.isnan(cut[node]):
                nonempty = False
                for code in range(labels):
                    bit = (mask[node, code // 64] >> np.uint64(code % 64)) & np.uint64(1)
                    allowed[j, code] = allowed[j, code] and ((bit == 1) == goes_left)
                    nonempty = nonempty or allowed[j, code]
            else:
                if goes_left == below[node]:
                    high[j] = min(high[j], cut[node])
                else:
                    low[j] = max(low[j], np.nextafter(cut[node], np.inf))
                nonempty = low[j] <= high[j]
            image[child] = -1
            if nonempty:
                delta[j] = _delta(j, low, high, allowed, center, scale, step)
                if _distance(norm, weight, peak, delta) <= norm[3]:
                    top += 1
                    node_stack[top], phase[top] = child, 0
        new_roots[r] = image[roots[r]]
    # renumber: parents before children, tree by tree
    position = np.full(left.size, -1, dtype=np.int64)
    out_roots = np.empty(roots.size, dtype=np.int64)
    for r in range(roots.size):
        if new_roots[r] < 0:  # the ball is empty: keep one arbitrary leaf
            leaf = roots[r]
            while feature[leaf] >= 0:
                leaf = left[leaf]
            new_roots[r] = leaf
        top = 0
        node_stack[0] = new_roots[r]
        out_roots[r] = total
        while top >= 0:
            node = node_stack[top]
            top -= 1
            position[node] = total
            kept_source[total] = node
            total += 1
            if feature[node] >= 0:
                top += 1
                node_stack[top] = image[right[node]]
                top += 1
                node_stack[top] = image[left[node]]
    for i in range(total):
        node = kept_source[i]
        if feature[node] >= 0:
            kept_left[i] = position[image[left[node]]]
            kept_right[i] = position[image[right[node]]]
    return kept_source[:total], kept_left[:total], kept_right[:total], out_roots


@numba.njit(cache=True)
def _delta(j: int, low: Any, high: Any, allowed: Any, center: Any, scale: Any, step: Any) -> Any:
    """Lower bound of δ_j over the box: 0 inside, else the distance to its near end."""
    if np.isfinite(step[j]).any():
        best = np.inf
        for code in range(step.shape[1]):
            if allowed[j, code]:
                best = min(best, step[j, code])
        return best
    return max(0.0, max(low[j] - center[j], center[j] - high[j])) * scale[j]
