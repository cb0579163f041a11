"""The compiled kernel behind the batch evaluation of tree ensembles."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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

    Trees are the outer loop, so that one tree's nodes stay in cache for all rows.
    """
    count, outputs = rows.shape[0], base.size
    total = np.empty((count, outputs))
    for i in range(count):
        for k in range(outputs):
            total[i, k] = base[k]
    for root in roots:
        for i in range(count):
            node = root
            while feature[node] >= 0:
                node = left[node] if rows[i, feature[node]] <= threshold[node] else right[node]
            for k in range(outputs):
                total[i, k] += value[node, k]
    return total
