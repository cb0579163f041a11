"""Batch evaluation of tree ensembles: all rows of a block go down a tree together.

A leaf is its own child, so that rows already at one wait there without a branch, and steps of
different rows overlap in the processor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, Floats
from ..kernels import add_values
from .interval import Interval

if TYPE_CHECKING:
    from .ops import TreeEnsemble

BYTES, MOST = 1 << 16, 256  # of rows in a block, which is to stay in cache, and their number


@dataclass(frozen=True)
class TreeTables:
    """The arrays of an ensemble of N nodes and T trees as the kernel reads them.

    ``child`` (2N,) has both children of each node, itself of a leaf; ``feature`` is 0 of a leaf.
    """

    roots: Array
    feature: Array
    threshold: Floats
    child: Array
    value: Floats
    base: Floats

    @staticmethod
    def of(trees: TreeEnsemble) -> TreeTables:
        """The tables of an op; thresholds that are no doubles are rounded down.

        x <= t holds for the same doubles x when t is rounded down, and only then.
        """
        feature, own = trees.feature.array, np.arange(trees.feature.array.size)
        index = np.uint32 if 2 * own.size < 2**32 else np.uint64
        child, leaf = np.empty((own.size, 2), dtype=index), feature < 0
        for side, ends in enumerate((trees.left, trees.right)):
            child[:, side] = np.where(leaf, own, ends.array)
        return TreeTables(
            trees.roots.array.astype(index),
            np.maximum(feature, 0).astype(index),
            Interval.constant(trees.threshold.array).lower,
            child.ravel(),
            trees.value.floats(),
            trees.base.floats(),
        )

    def __call__(self, rows: Floats) -> Floats:
        """Leaf values summed tree after tree: rows (n, F) → (n, K), as ``TreeEnsemble`` defines."""
        if not rows.shape[1]:  # then all trees are leaves, and a leaf reads feature 0
            rows = np.zeros((len(rows), 1))
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        block = min(max(BYTES // (8 * rows.shape[1]), 1), MOST)
        total: Floats = np.tile(self.base, (len(rows), 1))
        add_values(
            rows, block, self.roots, self.feature, self.threshold, self.child, self.value, total
        )
        return total
