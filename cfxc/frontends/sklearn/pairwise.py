"""Machines for pairs of classes: their votes, and the confidences that break ties among votes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from ...ir import Literal, Operand, ops
from .linear import ONE, top_label
from .lowering import Lowering, tensor

THREE = Literal(Fraction(3))


def tally(lowering: Lowering, second: Operand, confidences: Operand, count: int) -> tuple[str, str]:
    """Votes for each of ``count`` classes, and sums of confidences.

    Of the pairs i < j in order, ``second`` says where j wins, and a confidence speaks for j and
    against i.
    """
    pairs = list(combinations(range(count), 2))
    spread, start = np.zeros((count, len(pairs))), np.zeros(count)
    for place, (i, j) in enumerate(pairs):
        spread[i, place], spread[j, place] = -1, 1
        start[i] += 1
    won = lowering.let(ops.ToReal(second))
    votes = lowering.let(ops.Affine(won, tensor(spread), tensor(start)))
    none = tensor(np.zeros(count))
    return votes, lowering.let(ops.Affine(confidences, tensor(spread), none))


def most_votes(lowering: Lowering, classes: Sequence[Any], votes: Operand, sums: Operand) -> str:
    """Most votes win; among those the highest sum, then the first class.

    The library adds ``s / (3 (|s| + 1))`` to the votes, which rises with the sum s and is less
    than a third.  Here classes with fewer votes come below the lowest sum.
    """
    most = lowering.let(ops.Ge(votes, lowering.let(ops.ReduceMax(votes))))
    below = lowering.let(ops.Sub(lowering.let(ops.ReduceMin(sums)), ONE))
    return top_label(lowering, classes, lowering.let(ops.Select(most, sums, below)))


def pair_scores(lowering: Lowering, votes: Operand, sums: Operand) -> str:
    """``votes + s / (3 (|s| + 1))``, which decision functions give."""
    size = lowering.let(ops.Add(lowering.let(ops.Abs(sums)), ONE))
    part = lowering.let(ops.Div(sums, lowering.let(ops.Mul(size, THREE))))
    return lowering.let(ops.Add(votes, part))
