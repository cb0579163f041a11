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

from ...arrays import Floats
from ...ir import Let, Program, Tensor, ops, rewrite
from ...stopping import spared
from ..splits import RawSplits, splits_of

# Distances to boxes are computed in doubles; a node is dropped only beyond this relative slack,
# far above the rounding error of a sum of at most 10^6 terms.
SLACK = 1e-9


@dataclass(frozen=True)
class Ball:
    """All admissible points with ``l0 ||δ||₀ + l1 ||δ||₁ + linf ||δ||∞ + l2 ||δ||₂² <= radius``.

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
    l2: float
    radius: float

    @property
    def coefficients(self) -> Floats:
        """Of the norms (4,), and the radius with some slack for rounding."""
        radius = self.radius * (1 + SLACK) + SLACK
        return np.array([self.l0, self.l1, self.linf, self.l2, radius])


def prune_trees(program: Program, ball: Ball) -> Program:
    """Every ``tree_ensemble`` of a straight-line program restricted to ``ball``."""

    def let(statement: Let) -> tuple[Let, ...]:
        op = statement.op
        if not isinstance(op, ops.TreeEnsemble):
            return (statement,)
        found = splits_of(program, statement.name)
        if found is None or found.input.size > op.feature.array.size or _shares_nodes(op):
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
    norm = ball.coefficients
    links = op.roots.array, op.left.array, op.right.array, splits.input
    image = _prune(
        *links, splits.cut, splits.below, splits.mask, ball.center, ball.lower, ball.upper,
        ball.scale, ball.weight, ball.peak, ball.step, norm,
    )  # fmt: skip
    source, left, right, roots = _renumber(*links, image)
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
    total, largest = 0.0, 0.0
    for j in range(delta.size):
        if delta[j] > 0:
            total += weight[j] * (norm[0] + delta[j] * (norm[1] + norm[3] * delta[j]))
            largest = max(largest, peak[j] * delta[j])
    result: float = total + norm[2] * largest
    return result


@spared
@numba.njit(cache=True)
def _prune(
    roots: Any, left: Any, right: Any, feature: Any, cut: Any, below: Any, mask: Any,
    center: Any, lower: Any, upper: Any, scale: Any, weight: Any, peak: Any, step: Any,
    norm: Any,
) -> Any:  # fmt: skip
    """What takes the place of each node: itself, its only child that is left, or nothing (-1).

    Depth-first walk that carries each node's box; the box is undone on the way up, from what each
    open split overwrote.
    """
    features, labels = center.size, step.shape[1]
    low, high = lower.copy(), upper.copy()
    allowed = np.isfinite(step)
    delta = np.zeros(features)
    for j in range(features):
        delta[j] = _delta(j, low, high, allowed, center, scale, step)
    image = np.full(left.size, -1, dtype=np.int64)
    depth_limit = left.size + 1
    node_stack = np.empty(depth_limit, dtype=np.int64)
    phase = np.empty(depth_limit, dtype=np.int64)
    old_low, old_high = np.empty(depth_limit), np.empty(depth_limit)
    old_delta = np.empty(depth_limit)
    old_allowed = np.empty((64, labels), dtype=np.bool_)
    for root in roots:
        top = 0
        node_stack[0], phase[0] = root, 0
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
            else:  # undo the branch just finished
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
            image[child] = -1
            if _enter(node, j, goes_left, cut, below, mask, low, high, allowed):
                delta[j] = _delta(j, low, high, allowed, center, scale, step)
                if _distance(norm, weight, peak, delta) <= norm[4]:
                    top += 1
                    node_stack[top], phase[top] = child, 0
    return image


@numba.njit(cache=True)
def _enter(
    node: int, j: int, goes_left: bool, cut: Any, below: Any, mask: Any, low: Any, high: Any,
    allowed: Any,
) -> bool:  # fmt: skip
    """Narrow feature j to one side of a node's split; whether anything is left of it."""
    if not np.isnan(cut[node]):
        if goes_left == below[node]:
            high[j] = min(high[j], cut[node])
        else:
            low[j] = max(low[j], np.nextafter(cut[node], np.inf))
        return bool(low[j] <= high[j])
    nonempty = False
    for code in range(allowed.shape[1]):
        bit = (mask[node, code // 64] >> np.uint64(code % 64)) & np.uint64(1)
        allowed[j, code] = allowed[j, code] and ((bit == 1) == goes_left)
        nonempty = nonempty or allowed[j, code]
    return nonempty


@spared
@numba.njit(cache=True)
def _renumber(roots: Any, left: Any, right: Any, feature: Any, image: Any) -> Any:
    """The kept nodes, parents before children and tree by tree, and their links."""
    position = np.full(left.size, -1, dtype=np.int64)
    source = np.empty(left.size, dtype=np.int64)
    stack = np.empty(left.size + 1, dtype=np.int64)
    new_roots = np.empty(roots.size, dtype=np.int64)
    total = 0
    for r in range(roots.size):
        root = roots[r]
        if image[root] < 0:  # the ball is empty: keep one arbitrary leaf
            while feature[root] >= 0:
                root = left[root]
            image[root] = root
        top = 0
        stack[0] = image[root]
        new_roots[r] = total
        while top >= 0:
            node = stack[top]
            top -= 1
            position[node] = total
            source[total] = node
            total += 1
            if feature[node] >= 0:
                stack[top + 1], stack[top + 2] = image[right[node]], image[left[node]]
                top += 2
    source = source[:total]
    new_left, new_right = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
    for i in range(total):
        if feature[source[i]] >= 0:
            new_left[i] = position[image[left[source[i]]]]
            new_right[i] = position[image[right[source[i]]]]
    return source, new_left, new_right, new_roots


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
