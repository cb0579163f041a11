"""The kernels of the search by regions, loaded or compiled before any clock starts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...ir import INT, Builder, Tensor, ops
from ...question.query import Query, make_query
from ...space import Feature, FeatureSpace

UNITS = 8
TARGET = 12


def small_query() -> Query:
    """A network of few units that bounds alone do not settle: a search of it calls all kernels."""
    weights = np.random.default_rng(0).normal(size=(UNITS + 1, 3)).round(3)
    builder = Builder("network")
    names = ("x", "y", "z")
    row = builder.let(ops.Concat(tuple(builder.input(name, INT) for name in names)))
    hidden = ops.Affine(row, Tensor(weights[:UNITS]), Tensor(weights[:UNITS, 0]))
    units = builder.let(ops.Relu(builder.let(hidden)))
    signs = np.resize([1.0, -1.0], (1, UNITS))
    total = builder.let(ops.Affine(units, Tensor(signs), Tensor(np.zeros(1))))
    program = builder.build(value=builder.let(ops.Item(total, 0)))
    space = FeatureSpace(
        tuple(Feature(name, "integer", lower=Fraction(-9), upper=Fraction(9)) for name in names)
    )
    return make_query(program, space, dict.fromkeys(names, 0), target=(TARGET, None))


__all__ = ["small_query"]
