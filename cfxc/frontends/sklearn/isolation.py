"""Isolation forests: a person is an outlier if the trees part them from the others too soon.

The score is ``-2 ** (-depth / scale)``, the depth a sum over the trees; the label compares it
with ``offset_``.  Both functions are monotone, so the label is ``depth >= least`` for one double
``least``, found with the library's own arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.ensemble._iforest import _average_path_length

from ...ir import Literal, ops
from .lowering import Lowering
from .outputs import binary_label_from
from .registry import Estimator, Outputs, model
from .table import Ref
from .trees import ensemble

OUTLIER, INLIER = -1, 1


def _labels(estimator: Estimator) -> list[int]:
    return [OUTLIER, INLIER]


@model("classifier", IsolationForest, labels=_labels)
def lower_isolation_forest(
    lowering: Lowering, estimator: Estimator, refs: tuple[Ref, ...]
) -> Outputs:
    """Label 1 iff the decision function is at least 0, which is a bound on the depth, else -1."""
    values = [
        (depths + extra - 1.0)[:, None]
        for depths, extra in zip(
            estimator._decision_path_lengths, estimator._average_path_length_per_tree, strict=True
        )
    ]
    subsampled = estimator._max_features != estimator.n_features_in_
    places = estimator.estimators_features_ if subsampled else None
    trees = [member.tree_ for member in estimator.estimators_]
    depth = lowering.let(ops.Item(ensemble(lowering, refs, trees, values, places), 0))
    most = float(sum(leaves.max() for leaves in values))
    least = Literal(Fraction(_least_depth(estimator, most)))
    return {"label": binary_label_from(lowering, _labels(estimator), depth, least)}


def _least_depth(estimator: Estimator, most: float) -> float:
    """The smallest double from 0 to ``2 most + 1`` whose score reaches the offset.

    One beyond ``most`` if none does.
    """
    scale = len(estimator.estimators_) * _average_path_length([estimator._max_samples])

    def is_inlier(depth: float) -> bool:
        depths = np.array([depth])
        ratio = np.divide(depths, scale, out=np.ones_like(depths), where=scale != 0)
        decision = -(2 ** (-ratio)) - estimator.offset_
        return not bool((decision < 0)[0])

    return first_true(is_inlier, 0.0, 2 * most + 1)


def first_true(test: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest double from ``low`` >= 0 on for which a monotone test holds, or ``high``."""
    if test(low):
        return low
    bits = [int(np.float64(end).view(np.int64)) for end in (low, high)]
    while bits[1] - bits[0] > 1:  # doubles from 0 on are in the order of their bits
        middle = (bits[0] + bits[1]) // 2
        bits[test(float(np.int64(middle).view(np.float64)))] = middle
    return float(np.int64(bits[1]).view(np.float64))
