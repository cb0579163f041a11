"""Small recognisers over a straight-line program's definitions, and what its outputs need of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ..arrays import Array
from . import ops
from .op import Literal, Op, Operand
from .program import Program
from .statements import If, Let, Statement, walk

Definitions = Mapping[str, Op]


def constant_values(operand: Operand, definitions: Definitions) -> Array | None:
    """The exact values of a scalar or vector constant, shape () or (k,), else ``None``."""
    if isinstance(operand, Literal):
        exact = np.empty((), dtype=object)
        exact[()] = Fraction(operand.value)
        return exact
    op = definitions.get(operand)
    if not isinstance(op, ops.Constant) or len(op.value.shape) > 1:
        return None
    return op.value.exact()


def vector_width(name: str, definitions: Definitions) -> int | None:
    """The length of a vector, where the definitions tell it through ensembles and affine maps."""
    factors: list[Array] = []
    while isinstance(op := definitions.get(name), ops.Identity | ops.Div | ops.Mul):
        if not isinstance(op.x, str):
            return None
        if not isinstance(op, ops.Identity):
            factor = constant_values(op.y, definitions)
            if factor is None:
                return None
            factors.append(factor)
        name = op.x
    if not isinstance(op, ops.TreeEnsemble | ops.Affine):
        return None
    width = (op.base if isinstance(op, ops.TreeEnsemble) else op.bias).shape[0]
    fits = all(not factor.shape or factor.size in (1, width) for factor in factors)
    return width if fits else None


def deciding(program: Program) -> ops.Argmax | ops.Gt | ops.Ge | None:
    """What chooses the label of a classifier: the largest score, or one above a bound (1, else 0).

    ``None`` if it is chosen otherwise.
    """
    category = program.definition(program.output("label"))
    chosen = program.definition(category.index) if isinstance(category, ops.Category) else None
    if isinstance(chosen, ops.Select) and [chosen.x, chosen.y] == [Literal(1), Literal(0)]:
        chosen = program.definition(chosen.condition)
        return chosen if isinstance(chosen, ops.Gt | ops.Ge) else None
    return chosen if isinstance(chosen, ops.Argmax) else None


def before_scaling(name: str, definitions: Definitions) -> str:
    """The vector that ``name`` is a positive multiple of, through divisions and products.

    Comparisons between its entries, and their signs, are those of ``name``.
    """
    return scaling(name, definitions)[0]


def scaling(name: str, definitions: Definitions) -> tuple[str, Fraction]:
    """The vector that :func:`before_scaling` gives, and how much larger ``name`` is."""
    times = Fraction(1)
    while True:
        op = definitions.get(name)
        if isinstance(op, ops.Identity) and isinstance(op.x, str):
            name = op.x
            continue
        if not isinstance(op, ops.Div | ops.Mul) or not isinstance(op.x, str):
            return name, times
        factor = constant_values(op.y, definitions)
        if factor is None or len(set(factor.ravel().tolist())) != 1 or factor.flat[0] <= 0:
            return name, times
        if factor.shape and vector_width(name, definitions) is None:
            return name, times  # the factor might be what makes a vector of a scalar
        times *= factor.flat[0] if isinstance(op, ops.Mul) else 1 / Fraction(factor.flat[0])
        name = op.x


def keep_outputs(program: Program, names: Iterable[str]) -> Program:
    """The program restricted to the named outputs, without assignments they do not need."""
    required = set(names)
    outputs = tuple((name, operand) for name, operand in program.outputs if name in required)
    return without_unused(replace(program, outputs=outputs))


def without_unused(program: Program) -> Program:
    """Return ``program`` without the assignments and ifs that no output depends on."""
    needed = {operand for _, operand in program.outputs}
    stack: list[list[Statement]] = [[]]
    for tag, statement in reversed(list(walk(program.body))):
        if isinstance(statement, Let):
            if statement.name in needed:
                needed.update(statement.op.operands())
                stack[-1].append(statement)
        elif tag == "if":
            then, orelse = stack.pop(), stack.pop()
            if then or orelse:
                needed.add(statement.condition)
                body = tuple(reversed(then)), tuple(reversed(orelse))
                stack[-1].append(If(statement.condition, *body))
        else:
            stack.append([])
    return replace(program, body=tuple(reversed(stack.pop())))
