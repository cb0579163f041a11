"""Compiled loops: drawing levels, and choosing rows that differ."""

from __future__ import annotations

import math

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Small = npt.NDArray[np.int16]
Ints = npt.NDArray[np.int64]

SAME = 1e-9  # of a variance in [0, 1]: what is left by rounding where nothing is


@numba.njit(cache=True, nogil=True)
def draw_levels(law: Floats, uniform: Floats) -> Small:
    """Levels (n, m, K) by their laws (n, K, L), from uniform noise (n, m, K)."""
    n, m, k = uniform.shape
    found = np.zeros((n, m, k), np.int16)
    for i in range(n):
        for j in range(k):
            last = 0
            for level in range(law.shape[2]):
                if law[i, j, level] > 0:
                    last = level
            for r in range(m):
                left, level = uniform[i, r, j], 0
                while level < last:
                    left -= law[i, j, level]
                    if left < 0 and law[i, j, level] > 0:
                        break
                    level += 1
                found[i, r, j] = level
    return found


@numba.njit(cache=True, nogil=True)
def max_min(rows: Small, first: int, count: int) -> Ints:
    """Greedy max-min choice of ``count`` rows (m, K) under the Hamming distance, from ``first``.

    Of rows that are as far from their nearest chosen one, the one that is farthest from all.
    """
    m, k = rows.shape
    nearest, total = np.full(m, k + 1), np.zeros(m, np.int64)
    chosen = np.empty(min(count, m), np.int64)
    pick = first
    for step in range(chosen.size):
        chosen[step] = pick
        nearest[pick] = -1
        best = -1
        for i in range(m):
            if nearest[i] < 0:
                continue
            apart = 0
            for j in range(k):
                apart += rows[i, j] != rows[pick, j]
            nearest[i] = min(nearest[i], apart)
            total[i] += apart
            if (
                best < 0
                or nearest[i] > nearest[best]
                or (nearest[i] == nearest[best] and total[i] > total[best])
            ):
                best = i
        pick = best
    return chosen


@numba.njit(cache=True, nogil=True)
def determinantal(rows: Small, count: int) -> Ints:
    """Greedy maximum of the determinant of ``2^(-Hamming distance)`` over ``count`` rows (m, K).

    The kernel is positive definite on distinct rows, a product of one per feature.  Each step takes
    the row with the largest variance that the chosen ones leave it, by a growing Cholesky factor.
    """
    m, k = rows.shape
    chosen = np.empty(min(count, m), np.int64)
    left, factor = np.ones(m), np.zeros((m, chosen.size))
    for step in range(chosen.size):
        pick = 0
        for i in range(m):
            if left[i] > left[pick]:
                pick = i
        chosen[step] = pick
        scale = math.sqrt(max(left[pick], SAME))
        for i in range(m):
            if left[i] < 0:
                continue
            apart = 0
            for j in range(k):
                apart += rows[i, j] != rows[pick, j]
            value = 2.0**-apart
            for s in range(step):
                value -= factor[i, s] * factor[pick, s]
            factor[i, step] = value / scale
            left[i] = max(left[i] - factor[i, step] ** 2, 0.0)
        left[pick] = -1.0
    return chosen


__all__ = ["determinantal", "draw_levels", "max_min"]
