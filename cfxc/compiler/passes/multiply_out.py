"""Kernels multiplied out: affine maps of affine maps, and of their squares, as one map.

Libraries add up ``Σ_i a_i K(v_i, x)`` vector by vector, and programs say so, since what is lost to
rounding depends on it (:mod:`..rounding_error`).  Over the rationals few coefficients are left of
linear kernels and of polynomials of degree 2.  So this comes after rounding was bounded.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache, partial

import numpy as np

from ...frontends.quadratics import Exact, affine, divided, dot, over_one, quadratic
from ...ir import Builder, Op, Operand, Program, ops
from ...ir.patterns import Definitions
from ...stopping import poll
from .decide import rebuild

FEW = 400  # products that are no matter, as in a certificate's polynomials
LARGEST = 10**8  # multiplications of rationals


@lru_cache(maxsize=32)
def multiply_out(program: Program) -> Program:
    """``W' (W x + b) + b'`` and ``W' (W x + b)² + b'`` as maps of x, where these are smaller.

    Maps that something else reads, too, stay.
    """
    if not any(isinstance(let.op, ops.Affine) for let in program.lets()):
        return program
    read = Counter(operand for let in program.lets() for operand in set(let.op.operands()))
    read.update(operand for _, operand in program.outputs)
    return rebuild(program, partial(_multiplied, read))


def _multiplied(
    read: Counter[Operand], op: Op, definitions: Definitions, builder: Builder
) -> Op:  # fmt: skip
    if not isinstance(op, ops.Affine):
        return op
    inner, squared = _once(op.x, read, definitions), False
    if isinstance(inner, ops.Mul) and inner.x == inner.y:
        inner, squared = _once(inner.x, read, definitions), True
    if not isinstance(inner, ops.Affine) or inner.weight.shape[0] != op.weight.shape[1]:
        return op
    rows, (many, columns) = op.weight.shape[0], inner.weight.shape
    held = sum(int(np.count_nonzero(each.weight.array)) for each in (op, inner))
    made, work = rows * columns, rows * many * columns
    if squared:
        products = columns * (columns + 1) // 2
        made, work = (rows + 1) * products + made, work * columns
        held = held + many if products > FEW else max(held + many, made)
    if made > held or work > LARGEST:
        return op
    poll()
    return (_square if squared else _affine)(op, inner, builder)


def _once(operand: Operand, read: Counter[Operand], definitions: Definitions) -> Op | None:
    """What makes a value that one assignment reads."""
    return definitions.get(operand) if isinstance(operand, str) and read[operand] == 1 else None


def _affine(op: ops.Affine, inner: ops.Affine, _builder: Builder) -> Op:
    outer = op.weight.exact()
    bias = dot(outer, inner.bias.exact()) + op.bias.exact()
    return affine(inner.x, dot(outer, inner.weight.exact()), bias)


def _square(op: ops.Affine, inner: ops.Affine, builder: Builder) -> Op:
    """``Σ_i w_i (v_i x + c_i)² + b``."""
    (outer, under), (vectors, below), (shift, beneath) = (
        over_one(each.exact()) for each in (op.weight, inner.weight, inner.bias)
    )
    squares: list[Exact] = []
    for row in outer:
        poll()
        squares.append(divided((vectors.T * row).dot(vectors), under * below**2))
    weight = divided(2 * (outer * shift).dot(vectors), under * beneath * below)
    bias = divided(outer.dot(shift * shift), under * beneath**2) + op.bias.exact()
    return quadratic(builder, inner.x, np.array(squares, dtype=object), weight, bias)
