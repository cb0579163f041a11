"""Kernels of a row with fixed vectors, and what machines of pairs of classes make of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from ..ir import Operand, Tensor, ops
from .quadratics import Exact, Growing, exact_affine

Named = TypeVar("Named", bound=Operand)


@dataclass(frozen=True)
class Kernel:
    """``<v, x>``, ``(gamma <v, x> + coef0) ** degree``, ``exp(-gamma |v - x|²)`` or the tanh.

    ``kind``: ``linear``, ``poly``, ``rbf`` or ``tanh``.
    """

    kind: str
    gamma: Fraction
    coef0: Fraction
    degree: int


def kernel_values(to: Growing[Named], x: Operand, kernel: Kernel, vectors: Exact) -> Named:
    """``K(vectors[i], x)`` for all i; shape (m, n)."""
    gamma, shift = kernel.gamma, np.full(len(vectors), kernel.coef0, dtype=object)
    if kernel.kind == "linear":
        return exact_affine(to, x, vectors, 0 * shift)
    if kernel.kind == "rbf":
        return to.let(ops.Exp(squares(to, x, -gamma, vectors)))
    if kernel.kind == "poly" and kernel.degree == 0:
        return exact_affine(to, x, 0 * vectors, 0 * shift + 1)
    inner = exact_affine(to, x, gamma * vectors, shift)
    if kernel.kind == "tanh":
        return to.let(ops.Tanh(inner))
    power = inner
    for _ in range(kernel.degree - 1):
        power = to.let(ops.Mul(power, inner))
    return power


def squares(to: Growing[Named], x: Operand, factor: Fraction, vectors: Exact) -> Named:
    """``factor |v_i - x|²`` for all i."""
    norms = (vectors * vectors).sum(axis=1)
    square = to.let(ops.Mul(x, x))
    both = to.let(ops.Concat((square, x)))
    own = np.full(vectors.shape, factor, dtype=object)
    weight = np.concatenate([own, -2 * factor * vectors], 1)
    return exact_affine(to, both, weight, factor * norms)


def pair_weights(dual: Exact, sizes: Any) -> Exact:
    """Weights (p, m) of the vectors in the machines of classes i < j, in order.

    As LIBSVM keeps them: ``sizes`` says how many of the m vectors belong to each of k classes, and
    row j - 1 of ``dual`` (k - 1, m) holds the weights of class i's in the machine of i and j, row i
    those of class j's.
    """
    ends = np.cumsum(sizes)
    own = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    places = list(combinations(range(len(own)), 2))
    rows = np.full((len(places), dual.shape[1]), Fraction(0), dtype=object)
    for row, (i, j) in zip(rows, places, strict=True):
        row[own[i]], row[own[j]] = dual[j - 1, own[i]], dual[i, own[j]]
    return rows


def pair_votes(to: Growing[Named], first: Operand, count: int) -> Named:
    """Votes for each of ``count`` classes; of the pairs i < j in order, where i wins."""
    pairs = list(combinations(range(count), 2))
    spread, start = np.zeros((count, len(pairs))), np.zeros(count)
    for place, (i, j) in enumerate(pairs):
        spread[i, place], spread[j, place] = 1, -1
        start[j] += 1
    won = to.let(ops.ToReal(first))
    return to.let(ops.Affine(won, Tensor(spread), Tensor(start)))
