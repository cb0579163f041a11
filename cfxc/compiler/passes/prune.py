"""Ensembles cut down to what a ball around the factual can reach.

Each node of a tree owns a box of feature values (the splits above it).  If the box lies farther
from the factual than the radius, or outside the admissible ranges, no admissible point of the ball
reaches the node, and it goes; a node with one child left is replaced by that child.  On the ball
the pruned program therefore equals the original.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Bools, Floats, Ints
from ...ir import Let, Program, Tensor, ops, rewrite
from ...kernels import prune
from ..splits import RawSplits, splits_of

# Distances to boxes are computed in doubles; a node is dropped only beyond this relative slack,
# far above the rounding error of a sum of at most 10^6 terms.
SLACK = 1e-9


@dataclass(frozen=True)
class Ball:
    """All admissible points with ``l0 ||δ||₀ + l1 ||δ||₁ + linf ||δ||∞ + l2 ||δ||₂² <= radius``.

    Arrays run over the program's inputs.  ``center``: the factual (codes for categories);
    ``lower``, ``upper``: admissible range of numbers; ``scale``: 1/R_j (0 where R_j = 0), such that
    ``min(1, scale · |x_j - center_j|)`` is at most δ_j; ``weight``, ``peak``: w_j over their sum
    and over the largest; ``step`` (J, L): δ_j per label of category j, infinite for labels that are
    not admissible.  δ_j and weights may be lower bounds.
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


class Walk(NamedTuple):
    """Trees of N nodes and a ball, for the kernels that walk down from the roots.

    ``roots``, ``left``, ``right``, ``feature`` (-1 of leaves); ``cut``, ``below``, ``mask`` as in
    ``RawSplits``; the rest as in ``Ball``, with ``cheapest`` (J, L): the labels of each category in
    the order of their cost; ``symbolic`` (J,); ``admissible`` (J, W): bits of admissible labels.
    """

    roots: Ints
    left: Ints
    right: Ints
    feature: Ints
    cut: Floats
    below: Bools
    mask: npt.NDArray[np.uint64]
    center: Floats
    lower: Floats
    upper: Floats
    scale: Floats
    weight: Floats
    peak: Floats
    step: Floats
    norm: Floats
    cheapest: Ints
    symbolic: Bools
    admissible: npt.NDArray[np.uint64]


def admissible_labels(ball: Ball, words: int) -> npt.NDArray[np.uint64]:
    """Which labels of each input are admissible: bits, 64 to a word; shape (J, words)."""
    bits = np.zeros((ball.center.size, 64 * words), np.bool_)
    bits[:, : ball.step.shape[1]] = np.isfinite(ball.step)
    return np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def make_walk(roots: Ints, left: Ints, right: Ints, splits: RawSplits, ball: Ball) -> Walk:
    """Trees with their splits, and a ball."""
    possible: Bools = np.isfinite(ball.step)
    admissible = admissible_labels(ball, splits.mask.shape[1])
    return Walk(
        roots, left, right, splits.input, splits.cut, splits.below, splits.mask,
        ball.center, ball.lower, ball.upper, ball.scale, ball.weight, ball.peak, ball.step,
        ball.coefficients, np.argsort(ball.step, axis=1, kind="stable"),
        np.any(possible, axis=1), admissible,
    )  # fmt: skip


def prune_ensemble(op: ops.TreeEnsemble, splits: RawSplits, ball: Ball) -> ops.TreeEnsemble:
    """The ensemble without the nodes that ``ball`` cannot reach."""
    links = op.roots.array, op.left.array, op.right.array
    source, left, right, roots = prune(make_walk(*links, splits, ball))
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
