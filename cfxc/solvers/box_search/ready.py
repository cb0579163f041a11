"""The kernels, loaded or compiled before any clock starts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...frontends.query import Query, make_query
from ...frontends.space import Feature, FeatureSpace
from ...ir import REAL, Builder, Tensor, ops


def smallest_query() -> Query:
    """A stump on one feature, which must say 1 and says 0: one box, split once.

    Numba compiles a kernel at its first call, or loads it from its cache; a search of this question
    calls all of them.
    """
    builder = Builder("stump")
    x = builder.input("x", REAL)
    row = builder.let(ops.Concat((x,)))
    inner, leaf = np.array([0, -1, -1]), np.array([1, 0, 0])
    tree = ops.TreeEnsemble(
        row, Tensor(np.array([0])), Tensor(inner), Tensor(np.array([0.5, 0.0, 0.0])), Tensor(leaf),
        Tensor(2 * leaf), Tensor(np.array([[0.0], [0.0], [1.0]])), Tensor(np.array([0.0])),
    )  # fmt: skip
    total = builder.let(tree)
    program = builder.build(value=builder.let(ops.Item(total, 0)))
    space = FeatureSpace((Feature("x", "real", lower=Fraction(0), upper=Fraction(1)),))
    return make_query(program, space, {"x": Fraction(0)}, target=(1, None))


__all__ = ["smallest_query"]
