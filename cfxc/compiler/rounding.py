"""Rounding to float32 absorbed by the constants that it is compared with."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..errors import VerificationError
from ..ir.float32 import round_to_float32
from .terms import Pool, Term


def is_rounding(term: Term) -> bool:
    """Whether a term is some other one, rounded to float32."""
    return term.kind == "apply" and term.data == "round_float32"


class AbsorbingPool(Pool):
    """A pool in which ``round_float32(x) <= c`` becomes a comparison of x itself.

    Rounding is monotone: with a the largest float32 that is at most c (below c for ``<``) and b
    the next one, ``round_float32(x) <= c`` iff x is below their midpoint, or equal to it if the
    midpoint rounds to a.  Exact over the reals.  Constants at the ends of the float32 range, and
    roundings inside sums, stay.
    """

    def _compare(self, body: Term, bound: Fraction, strict: bool) -> Term:
        found = _midpoint(bound, strict) if is_rounding(body) else None
        if found is None:
            return super()._compare(body, bound, strict)
        middle, stays = found
        return self.at_most(body.args[0], middle, strict=not stays)


def _midpoint(bound: Fraction, strict: bool) -> tuple[Fraction, bool] | None:
    """Where rounding passes ``bound``, and whether that point itself still rounds below it."""
    try:
        nearest = round_to_float32(bound)
    except VerificationError:  # beyond all float32 numbers
        return None
    beyond = nearest >= bound if strict else nearest > bound
    single = np.float32(float(nearest))
    with np.errstate(over="ignore", under="ignore"):
        below = np.nextafter(single, np.float32(-np.inf)) if beyond else single
        above = np.nextafter(below, np.float32(np.inf))
    if not (np.isfinite(below) and np.isfinite(above)):
        return None
    middle = (Fraction(float(below)) + Fraction(float(above))) / 2
    return middle, round_to_float32(middle) == Fraction(float(below))
