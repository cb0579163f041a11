"""The compiled kernel behind the batch evaluation of tree ensembles."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
BYTES = 1 << 16  # of rows in a block


@numba.njit(cache=True, nogil=True)
def evaluate_trees(
    rows: Floats,
    roots: Ints,
    feature: Ints,
    threshold: Floats,
    left: Ints,
    right: Ints,
    value: Floats,
    base: Floats,
) -> Floats:
    """Leaf values summed tree after tree: rows (n, F) → (n, K), as ``TreeEnsemble`` defines.

    Rows go in blocks that stay in cache for all trees, and in a block one tree's nodes do.
    """
    count, outputs = rows.shape[0], base.size
    total = np.empty((count, outputs))
    for i in range(count):
        for k in range(outputs):
            total[i, k] = base[k]
    block = max(BYTES // (8 * max(rows.shape[1], 1)), 1)
    for start in range(0, count, block):
        stop = min(start + block, count)
        for root in roots:
            for i in range(start, stop):
                node = root
                while feature[node] >= 0:
                    node = left[node] if rows[i, feature[node]] <= threshold[node] else right[node]
                for k in range(outputs):
                    total[i, k] += value[node, k]
    return total
