"""Decisions made smaller, exactly: argmax of two as a sign, linear maps moved into leaf values.

All rewrites are identities of exact arithmetic; none rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ...arrays import Ints, distinct_values
from ...frontends.quadratics import dot, exact
from ...ir import Builder, Let, Literal, Op, Program, Tensor, ops
from ...ir.patterns import Definitions, before_scaling, constant_values, keep_outputs, vector_width
from ...stopping import poll, polled

BLOCK = 2**14
"""Numbers that are multiplied between two looks at the clock."""


def rebuild(program: Program, rule: Callable[[Op, Definitions, Builder], Op]) -> Program:
    """Apply ``rule`` to every top-level assignment, earlier ones already rewritten."""
    builder = Builder(program.name)
    for name, sort in program.inputs:
        builder.input(name, sort)
    builder.reserve(program.sorts)
    definitions: dict[str, Op] = {}
    for statement in program.body:
        if not isinstance(statement, Let):
            builder.extend([statement])
            continue
        with builder.at(statement.origin):
            op = rule(statement.op, definitions, builder)
            builder.let(op, statement.name)
        definitions.update({s.name: s.op for s in builder.recent() if isinstance(s, Let)})
    rebuilt = builder.build_with(dict(program.outputs))
    return keep_outputs(rebuilt, [name for name, _ in program.outputs])


def narrow_argmax(program: Program) -> Program:
    """``argmax`` of two entries as ``x[1] - x[0] > 0``; positive scalings before it dropped."""
    return rebuild(program, _narrow)


def _narrow(op: Op, definitions: Definitions, builder: Builder) -> Op:
    if not isinstance(op, ops.Argmax) or not isinstance(op.x, str):
        return op
    x = before_scaling(op.x, definitions)
    if vector_width(x, definitions) != 2:
        return ops.Argmax(x)
    difference = builder.let(ops.Affine(x, Tensor([[-1.0, 1.0]]), Tensor([0.0])))
    score = builder.let(ops.Item(difference, 0))
    positive = builder.let(ops.Gt(score, Literal(Fraction(0))))
    return ops.Select(positive, Literal(1), Literal(0))


def fold_into_trees(program: Program) -> Program:
    """Affine maps and constant scalings of an ensemble's sum become part of its leaf values.

    ``W (base + sum_t v_t) + b = (W base + b) + sum_t W v_t``; the sum has no other leaf.
    """
    return rebuild(program, _fold)


def _fold(op: Op, definitions: Definitions, builder: Builder) -> Op:
    source = next(iter(op.operands()), None)
    ensemble = definitions.get(source) if isinstance(source, str) else None
    if not isinstance(ensemble, ops.TreeEnsemble):
        return op
    if isinstance(op, ops.Affine):
        return _mapped(ensemble, op.weight.exact(), op.bias.exact())
    if isinstance(op, ops.Div | ops.Mul):
        factor = constant_values(op.y, definitions)
        width = ensemble.base.shape[0]
        if factor is not None and factor.size in (1, width) and all(factor.flat):
            exact = map(Fraction, factor.flat)
            values = [1 / f if isinstance(op, ops.Div) else f for f in exact]
            diagonal = np.full((width, width), Fraction(0), dtype=object)
            for i in range(width):
                diagonal[i, i] = values[i % len(values)]
            return _mapped(ensemble, diagonal, np.full(width, Fraction(0), dtype=object))
    return op


def _mapped(ensemble: ops.TreeEnsemble, weight: Any, bias: Any) -> ops.TreeEnsemble:
    """The ensemble followed by ``W y + b``; works on distinct leaf rows, which are few."""
    first, inverse = distinct_rows(ensemble.value, range(ensemble.value.shape[1]))
    rows, many = ensemble.value.array[first], max(BLOCK // ensemble.value.shape[1], 1)
    blocks = (exact(rows[at : at + many]) for at in range(0, len(rows), many))
    images = np.concatenate([dot(weight, block.T).T for block in polled(blocks, 1)])
    width = images.shape[1]
    value = Tensor(_tensor(images).ravel()).take(inverse[:, None] * width + np.arange(width))
    poll()
    base = weight.dot(ensemble.base.exact()) + bias
    return ops.TreeEnsemble(
        ensemble.x, ensemble.roots, ensemble.feature, ensemble.threshold, ensemble.left,
        ensemble.right, value, Tensor(_tensor(base)),
    )  # fmt: skip


def distinct_rows(matrix: Tensor, columns: Sequence[int]) -> tuple[Ints, Ints]:
    """Where each distinct row of some columns stands first, and which of these every row equals.

    Rationals that are not known to be the same count as different.
    """
    codes = np.zeros(matrix.shape[0], dtype=np.int64)
    for number, column in enumerate(columns):
        poll()
        if matrix.dtype == "rat":
            values, every = matrix.coded
            own = _compact(every.reshape(matrix.shape)[:, column], len(values))
        else:
            own = distinct_values(matrix.array[:, column])[1]
        poll()
        if number:
            own = distinct_values(codes * (own.max(initial=0) + 1) + own)[1]
        codes = own
    first = np.empty(codes.max(initial=-1) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]  # of equals, what is assigned last stays
    return first, codes


def _compact(codes: Ints, count: int) -> Ints:
    """Codes below a count as those from 0 on of which each occurs."""
    occurs = np.bincount(codes, minlength=count) > 0
    compact: Ints = (np.cumsum(occurs) - 1)[codes]
    return compact


def _tensor(exact: Any) -> Any:
    """Doubles if they hold the numbers exactly, else fractions."""
    fractions = np.empty(exact.size, dtype=object)
    fractions[:] = list(map(Fraction, polled(exact.ravel().tolist())))
    fractions = fractions.reshape(exact.shape)
    try:
        floats = fractions.astype(np.float64)
    except OverflowError:  # beyond the largest double
        return fractions
    pairs = zip(floats.ravel().tolist(), fractions.flat, strict=True)
    same = all(Fraction(f) == e for f, e in polled(pairs))
    return floats if same else fractions
