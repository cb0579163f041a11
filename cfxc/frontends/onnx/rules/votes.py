"""Votes of equal weight, added up in single floats in an order that nobody knows.

onnxruntime adds the leaves that a row reaches in float32: tree by tree, or in parts, one for each
thread, depending on its threads and on how many rows it is given.  Of k votes of the same weight c
the sum lies between two floats that all orders share, since rounding is monotone:

    least(k) = min over i of fl(least(i) + least(k - i)),  least(1) = c,

and likewise the largest.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..forest import Floats, Forest
from .arithmetic import HALF

MOST = 4000  # votes; their extremes take quadratic time
NEAR = Fraction(1, 4)  # of a vote: so far from any sum of votes the cut is, at least


def cut_of_votes(forest: Forest) -> Fraction:
    """The cut that the exact sum of a column of votes must exceed for label 1.

    1/2, or, where votes of one weight c come so near to it that rounding decides, and in the same
    way in any order, a cut c/4 away from both sums around it: then exact sums decide as deployed.
    """
    weights = np.unique(forest.value[forest.feature < 0])
    weight, count = float(weights[-1]), int(forest.roots.size)
    if set(weights.tolist()) - {0.0, weight} or not weight > 0 or count > MOST:
        return HALF
    least, most = extremes(weight, count)
    refused, accepted = np.flatnonzero(most <= 0.5)[-1], np.flatnonzero(least > 0.5)
    if not accepted.size or accepted[0] != refused + 1:
        return HALF
    vote = Fraction(weight)
    low, high = int(refused) * vote, (int(refused) + 1) * vote
    return max(min(HALF, high - NEAR * vote), low + NEAR * vote)


def extremes(weight: float, count: int) -> tuple[Floats, Floats]:
    """The least and the largest sum of 0 … ``count`` float32 numbers ``weight``, in any order."""
    least = np.zeros(count + 1, np.float32)
    least[1:2] = weight
    most = least.copy()
    for k in range(2, count + 1):
        half = k // 2
        least[k] = (least[1 : half + 1] + least[k - 1 : k - half - 1 : -1]).min()
        most[k] = (most[1 : half + 1] + most[k - 1 : k - half - 1 : -1]).max()
    return least.astype(np.float64), most.astype(np.float64)
