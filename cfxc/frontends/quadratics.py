"""Affine and quadratic maps with exact coefficients."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, Protocol, TypeVar

import numpy as np

from ..arrays import Array
from ..ir import Op, Operand, Tensor, ops
from ..stopping import poll

Exact = Array
"""An array of rationals."""
Value = TypeVar("Value", bound=Operand, covariant=True)
Named = TypeVar("Named", bound=Operand)


class Growing(Protocol[Value]):
    """A program that grows, whatever grows it."""

    def let(self, op: Op) -> Value:
        """Append an assignment and return its value's name."""


def exact(values: Any) -> Exact:
    """The rationals that floats are, of sparse matrices too."""
    dense = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    return np.asarray(np.frompyfunc(Fraction, 1, 1)(dense), dtype=object)


def dot(left: Exact, right: Exact) -> Exact:
    """``left @ right``, over one denominator each: sums of fractions are slow.

    Zeros of a matrix on the left cost nothing: rows that compare two scores hold two numbers.
    """
    (first, below), (second, beneath) = over_one(left), over_one(right)
    if first.ndim < 2:
        return divided(first.dot(second), below * beneath)
    made = np.empty((len(first), *second.shape[1:]), dtype=object)
    for number, row in enumerate(first):
        poll()
        held = np.flatnonzero(row)
        made[number] = divided(row[held].dot(second[held]), below * beneath)
    return made


def over_one(values: Exact) -> tuple[Exact, int]:
    """Integers and the denominator that they have in common."""
    over = math.lcm(*{value.denominator for value in values.ravel().tolist()})
    whole = np.frompyfunc(lambda v: v.numerator * (over // v.denominator), 1, 1)(values)
    return np.asarray(whole, dtype=object), over


def divided(whole: Exact, over: int) -> Exact:
    """Integers as fractions over one denominator."""
    made = np.frompyfunc(lambda value: Fraction(value, over), 1, 1)(whole)
    return np.asarray(made, dtype=object)


def affine(x: Operand, weight: Exact, bias: Exact) -> ops.Affine:
    """``W x + b``, shapes (m, n), (n,), (m,)."""
    return ops.Affine(x, Tensor(weight, "rat"), Tensor(bias, "rat"))


def exact_affine(lowering: Growing[Named], x: Operand, weight: Exact, bias: Exact) -> Named:
    """The same, appended."""
    return lowering.let(affine(x, weight, bias))


def quadratic(
    lowering: Growing[Named], x: Operand, squares: Exact, weight: Exact, bias: Exact
) -> ops.Affine:
    """The vector of ``x' Q_r x + w_r x + b_r``; shapes (m, n, n), (m, n), (m,).

    One product for each pair of columns whose coefficient is not zero in all rows.
    """
    both = squares + squares.transpose(0, 2, 1)
    pairs = [
        (i, j)
        for i, j in combinations_with_replacement(range(weight.shape[1]), 2)
        if any(both[:, i, j])
    ]
    if not pairs:
        return affine(x, weight, bias)
    left, right = (lowering.let(ops.Take(x, one)) for one in zip(*pairs, strict=True))
    products = lowering.let(ops.Mul(left, right))
    factors = [both[:, i, j] / (2 if i == j else 1) for i, j in pairs]
    wide = np.concatenate([np.array(factors, dtype=object).T, weight], axis=1)
    return affine(lowering.let(ops.Concat((products, x))), wide, bias)
