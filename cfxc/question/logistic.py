"""Cuts of logistic functions as cuts of what they are functions of.

``sigmoid(z) >= t`` is ``z >= log(t / (1 - t))``, and an entry of the softmax of two scores is the
sigmoid of their difference.  The logarithm is irrational for all rational t but 1/2: the cut is
moved by less than 1e-39 to the side that admits more, so that nothing is missed.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ..ir import Builder, Literal, Op, Operand, Program, Tensor, ops
from ..ir.linear import LinearForm

DIGITS = Context(prec=50)
ERROR = Fraction(1, 10**40)  # more than what ``DIGITS`` lose
HALF = Fraction(1, 2)
Chances = LinearForm[Any]  # of the ops that give them
Comparison = ops.Le | ops.Lt | ops.Ge | ops.Gt


def logit(chance: Fraction, side: int = 1) -> Fraction:
    """``log(p / (1 - p))`` to 40 digits, rounded upward (``side`` 1) or downward (-1)."""
    if chance == HALF and side < 0:
        return Fraction(0)
    odds = chance / (1 - chance)
    ratio = DIGITS.divide(Decimal(odds.numerator), Decimal(odds.denominator))
    return Fraction(DIGITS.ln(ratio)) + side * ERROR


def logistic_cut(
    builder: Builder, program: Program, relation: type[Comparison], x: Operand, y: Operand,
    margin: Fraction,
) -> Operand | None:  # fmt: skip
    """``relation(x, y + margin)``, where one side is a chance: of what that is a function of.

    ``None`` where neither side is one, or both are.
    """
    left, right = _form(x, program), _form(y, program)
    if left is None or right is None:
        return None
    form = left - right
    if [abs(factor) for factor in form.terms.values()] != [1]:
        return None
    ((chance, sign),) = form.terms.items()
    rises = issubclass(relation, ops.Ge | ops.Gt) == (sign > 0)  # whether p is to be large
    cut = sign * (margin - form.constant)
    if not 0 < cut < 1:
        return Literal(rises == (cut <= 0))
    z = _argument(builder, chance, program)
    if cut == HALF:
        strict = issubclass(relation, ops.Gt | ops.Lt)
        least, most = (ops.Gt, ops.Lt) if strict else (ops.Ge, ops.Le)
        return builder.let((least if rises else most)(z, Literal(Fraction(0))))
    if rises:
        return builder.let(ops.Ge(z, Literal(logit(cut, -1))))
    return builder.let(ops.Le(z, Literal(logit(cut, 1))))


def _form(operand: Operand, program: Program) -> Chances | None:
    """A scalar as a form of chances; ``None`` if it is something else."""
    if isinstance(operand, Literal):
        return LinearForm.of(operand.value)
    op = _definition(operand, program)
    if isinstance(op, ops.Identity):
        return _form(op.x, program)
    if isinstance(op, ops.Sigmoid):
        return LinearForm.one(op)
    if isinstance(op, ops.Item):
        return _entry(op, program)
    if isinstance(op, ops.Neg):
        inner = _form(op.x, program)
        return None if inner is None else -inner
    if isinstance(op, ops.Add | ops.Sub):
        x, y = _form(op.x, program), _form(op.y, program)
        if x is None or y is None:
            return None
        return x + y if isinstance(op, ops.Add) else x - y
    return None


def _definition(name: Operand, program: Program) -> Op | None:
    return next((each.op for each in program.lets() if each.name == name), None)


def _entry(op: ops.Item, program: Program) -> Chances | None:
    """An entry of several chances, or of numbers put side by side."""
    vector = _definition(op.x, program)
    if isinstance(vector, ops.Concat):
        scalars = all(isinstance(p, Literal) or not program.sorts[p].shape for p in vector.parts)
        return _form(vector.parts[op.index], program) if scalars else None
    if not isinstance(vector, ops.Sigmoid | ops.Softmax) or not isinstance(vector.x, str):
        return None
    if isinstance(vector, ops.Softmax) and program.sorts[vector.x].shape != (2,):
        return None
    return LinearForm.one(op)


def _argument(builder: Builder, chance: ops.Sigmoid | ops.Item, program: Program) -> Operand:
    """z, where the chance is its sigmoid."""
    if isinstance(chance, ops.Sigmoid):
        return chance.x
    vector = _definition(chance.x, program)
    assert isinstance(vector, ops.Sigmoid | ops.Softmax)
    if isinstance(vector, ops.Sigmoid):
        return builder.let(ops.Item(vector.x, chance.index))
    signs = Tensor(np.array([[-1.0, 1.0]] if chance.index else [[1.0, -1.0]]))
    lead = builder.let(ops.Affine(vector.x, signs, Tensor(np.zeros(1))))
    return builder.let(ops.Item(lead, 0))


__all__ = ["Comparison", "logistic_cut", "logit"]
