"""What a lowered model gives: labels from scores without transcendental functions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy.typing as npt

from ...ir import Literal, Operand, ops
from ..predictor import class_labels
from .lowering import Lowering

Classes = Sequence[Any] | npt.NDArray[Any]
ZERO, ONE = Literal(Fraction(0)), Literal(Fraction(1))


def binary_label(lowering: Lowering, classes: Classes, score: Operand) -> Operand:
    """The second class iff ``score > 0``: a tie is the first class, as deployed."""
    second = lowering.let(ops.Gt(score, ZERO))
    index = lowering.let(ops.Select(second, Literal(1), Literal(0)))
    return lowering.let(ops.Category(index, class_labels(classes)))


def binary_label_from(lowering: Lowering, classes: Classes, score: Operand, least: Operand) -> str:
    """The second class iff ``score >= least``: a tie is the second class, where deployed so."""
    second = lowering.let(ops.Ge(score, least))
    index = lowering.let(ops.Select(second, Literal(1), Literal(0)))
    return lowering.let(ops.Category(index, class_labels(classes)))


def top_label(lowering: Lowering, classes: Classes, scores: Operand) -> Operand:
    """The class of the highest score; ties go to the first one."""
    index = lowering.let(ops.Argmax(scores))
    return lowering.let(ops.Category(index, class_labels(classes)))


def pair(lowering: Lowering, probability: Operand) -> Operand:
    """``(1 - p, p)``."""
    rest = lowering.let(ops.Sub(ONE, probability))
    return lowering.let(ops.Concat((rest, probability)))


def normalised(lowering: Lowering, shares: Operand) -> Operand:
    """Shares over their sum."""
    return lowering.let(ops.Div(shares, lowering.let(ops.ReduceSum(shares))))


def values(lowering: Lowering, vector: Operand, width: int) -> Operand:
    """A regressor's targets: the number itself if there is only one."""
    return lowering.let(ops.Item(vector, 0)) if width == 1 else vector
