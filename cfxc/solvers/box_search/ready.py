"""The kernels, loaded or compiled before any clock starts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...ir import REAL, Builder, Tensor, ops
from ...question.query import Query, make_query
from ...space import Feature, FeatureSpace

STUMPS = ((0, 1.0), (0, -1.0), (1, 1.0), (2, 1.0))
"""Feature and worth of each: a leaf sees one feature, so that boxes must be split."""


def small_query() -> Query:
    """Stumps that sum to 2 where y and z exceed one half, of which x seems to be a part.

    Numba compiles a kernel at its first call, or loads it from its cache; a search of this question
    calls all of them.
    """
    builder, names = Builder("stumps"), ("x", "y", "z")
    row = builder.let(ops.Concat(tuple(builder.input(name, REAL) for name in names)))
    first = 3 * np.arange(len(STUMPS))
    feature, left, right = (np.full(3 * len(STUMPS), value) for value in (-1, 0, 0))
    threshold, value = np.zeros(feature.size), np.zeros((feature.size, 1))
    feature[first] = [j for j, _ in STUMPS]
    threshold[first], left[first], right[first] = 0.5, first + 1, first + 2
    value[first + 2, 0] = [worth for _, worth in STUMPS]
    total = builder.let(
        ops.TreeEnsemble(
            row, Tensor(first), Tensor(feature), Tensor(threshold), Tensor(left), Tensor(right),
            Tensor(value), Tensor(np.zeros(1)),
        )
    )  # fmt: skip
    program = builder.build(value=builder.let(ops.Item(total, 0)))
    low, high = Fraction(0), Fraction(1)
    space = FeatureSpace(tuple(Feature(name, "real", lower=low, upper=high) for name in names))
    mix = {"l0": 0.25, "l1": 0.5, "linf": 0.25}
    factual = dict.fromkeys(names, Fraction(0))
    return make_query(program, space, factual, target=(2, None), distance=mix)


__all__ = ["small_query"]
