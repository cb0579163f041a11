"""The leaves that a ball around the factual can reach, and what each asks of the features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...arrays import Bools, Floats, Ints
from ...compiler.passes import Ball, make_walk
from ...kernels import collect_leaves
from ...stopping import poll
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
    whole: Bools

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


def no_leaves(decision: Decision) -> Leaves:
    """None of any tree."""
    none, cuts, words = np.zeros(0, np.int64), np.zeros(0), decision.splits.mask.shape[1]
    labels = np.zeros((0, words), np.uint64)
    whole = np.zeros(decision.roots.size, np.bool_)
    return Leaves(none, none, np.zeros(1, np.int64), none, cuts, cuts, labels, whole)


def reachable_leaves(decision: Decision, ball: Ball) -> tuple[Leaves | None, int]:
    """The leaves whose box meets the ball and that matter; a few beyond it may be among them.

    A leaf matters to a requirement if that can hold with it and the largest leaves elsewhere.
    Where one cannot hold even with the largest leaves everywhere, there is nothing to look at:
    ``None``, and which requirement it is.
    """
    largest = np.full((decision.need.size, decision.roots.size), -np.inf)
    floors = np.full_like(largest, np.inf)
    reached = np.zeros(decision.roots.size, np.int64)
    walk = make_walk(decision.roots, decision.left, decision.right, decision.splits, ball)
    found = collect_leaves(walk, decision.value, floors, largest, reached, ROOM)
    most = largest.sum(axis=1)
    slack = ROUNDING * (np.abs(largest).sum(axis=1) + np.abs(decision.need))
    missed = np.flatnonzero(most < decision.need - slack)
    if missed.size:
        return None, int(missed[0])
    floors = (decision.need - slack - most)[:, None] + largest
    poll()
    if reached.sum() > ROOM:
        found = collect_leaves(walk, decision.value, floors, largest, np.zeros(0, np.int64), 0)
        poll()
    node, tree, start, feature, above, upto, labels = found
    matters = np.any(decision.value[:, node] >= floors[:, tree], axis=0)
    whole = np.bincount(tree[matters], minlength=decision.roots.size) == reached
    leaves = Leaves(node, tree, start, feature, above, upto, labels, whole)
    return (leaves if matters.all() else leaves.only(np.flatnonzero(matters))), -1
