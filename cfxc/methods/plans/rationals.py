"""Small matrices of exact rationals: products of doubles, equations, definiteness."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

Rationals = npt.NDArray[Any]  # of Fractions, dtype object

GRID = 200  # bits of the largest entry that a test of definiteness keeps


def exact(array: Any) -> Rationals:
    """The rationals that the doubles are."""
    floats = np.asarray(array, dtype=np.float64)
    result = np.empty(floats.shape, dtype=object)
    for place in np.ndindex(floats.shape):
        result[place] = Fraction(float(floats[place]))
    return result


def integers(array: Any) -> tuple[Rationals, Fraction]:
    """Integers and a unit with array = integers · unit: their products need no common divisors."""
    floats = np.asarray(array, dtype=np.float64)
    mantissas, exponents = np.frexp(floats)
    used = exponents[floats != 0]
    least = int(used.min()) if used.size else 0
    result = np.empty(floats.shape, dtype=object)
    for place in np.ndindex(floats.shape):
        up = max(int(exponents[place]) - least, 0)
        result[place] = int(mantissas[place] * 2.0**53) << up
    return result, Fraction(2) ** (least - 53)


def doubles(array: Rationals) -> npt.NDArray[np.float64]:
    """The nearest doubles."""
    return np.array(array, dtype=np.float64)


def power_near(value: Fraction) -> Fraction:
    """A power of 2 within a factor of 2 of value > 0."""
    return Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length())


def solve(A: Rationals, B: Rationals) -> Rationals:
    """A⁻¹B by elimination in integers (Bareiss); A is invertible."""
    n = len(A)
    table = np.concatenate([A, B], axis=1)
    for i in range(n):
        table[i] = _whole(table[i])
    before = 1
    for k in range(n):
        pivot = next(i for i in range(k, n) if table[i, k] != 0)
        table[[k, pivot]] = table[[pivot, k]]
        for i in range(n):
            if i != k:
                table[i] = (table[i] * table[k, k] - table[i, k] * table[k]) // before
        before = table[k, k]
    result = np.empty((n, B.shape[1]), dtype=object)
    for place in np.ndindex(result.shape):
        result[place] = Fraction(table[place[0], n + place[1]], before)
    return result


def _whole(entries: Rationals) -> Rationals:
    """Integers in the same ratios."""
    common = lcm(*(Fraction(entry).denominator for entry in entries.flat))
    whole = [int(entry * common) for entry in entries.flat]
    return np.array(whole, dtype=object).reshape(entries.shape)


def independent(C: Rationals) -> list[int] | None:
    """Rows that are a basis of those of a positive semidefinite matrix, largest pivots first.

    ``None`` if a pivot is negative: C is not positive semidefinite.
    """
    rest, basis, before = _whole(C), list[int](), 1
    left = list(range(len(C)))
    while left:
        best = max(left, key=lambda j: rest[j, j])
        pivot = rest[best, best]
        if pivot <= 0:
            zero = all(rest[i, j] == 0 for i in left for j in left)
            return sorted(basis) if zero else None
        left.remove(best)
        basis.append(best)
        rest = (rest * pivot - np.outer(rest[:, best], rest[best])) // before
        before = pivot
    return sorted(basis)


def positive_definite(A: Rationals) -> bool:
    """Whether a symmetric matrix is positive definite; ``True`` is proved.

    A is rounded to a grid of GRID bits of its largest entry, A = unit (M + E) with |E| < 1 in each
    entry, so |E|₂ < n, and all leading minors of M - n·I are shown to be positive, in integers
    (Bareiss).  ``False`` may also mean that the smallest eigenvalue is below the grid.
    """
    n = len(A)
    largest = max(abs(entry) for entry in A.flat)
    if largest == 0:
        return False
    unit = power_near(largest) / 2**GRID
    M = [[int(A[i, j] / unit // 1) for j in range(n)] for i in range(n)]
    for i in range(n):
        M[i][i] -= n
    before = 1
    for k in range(n):
        pivot = M[k][k]
        if pivot <= 0:
            return False
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                M[i][j] = M[j][i] = (M[i][j] * pivot - M[i][k] * M[k][j]) // before
        before = pivot
    return True
