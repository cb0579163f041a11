"""Exact rounding to IEEE single precision, and the thresholds it moves.

scikit-learn and ONNX trees compare ``float32(x) <= t``.  Rounding is monotone, so on doubles that
is ``x <= t'`` for one double ``t'``: the largest that still rounds to at most ``t``.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..arrays import Array, Floats
from ..errors import VerificationError

FLOAT32_MAX = float(np.finfo(np.float32).max)
_OVERFLOW = Fraction(FLOAT32_MAX) + 2 ** (127 - 24)  # from here on rounding gives an infinity


def round_to_float32(value: Fraction | int) -> Fraction:
    """The float32 nearest to ``value``, ties to even; ``VerificationError`` on overflow."""
    value = Fraction(value)
    if abs(value) >= _OVERFLOW:
        raise VerificationError("a value overflows float32")
    if value == 0:
        return value
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    quantum = Fraction(2) ** max(exponent - 23, -149)
    return round(value / quantum) * quantum  # round() on Fraction goes half to even


def double_threshold(threshold: Array) -> Floats:
    """The largest doubles x with ``float32(x) <= threshold``, elementwise.

    With a the largest float32 at most the threshold and b the next one, every double below the
    midpoint of a and b rounds down to a, every one above rounds up, and the midpoint itself (a
    double) goes to the one with an even significand.
    """
    threshold = np.asarray(threshold, dtype=np.float64)
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
        beneath = np.nextafter(nearest, np.float32(-np.inf))
        below = np.where(nearest.astype(np.float64) > threshold, beneath, nearest)
        above = np.nextafter(below, np.float32(np.inf))
    if not (np.isfinite(below).all() and np.isfinite(above).all()):
        raise VerificationError("a threshold lies outside the range of float32")
    middle = below.astype(np.float64) / 2 + above.astype(np.float64) / 2
    stays = middle.astype(np.float32) == below
    return np.where(stays, middle, np.nextafter(middle, -np.inf))
