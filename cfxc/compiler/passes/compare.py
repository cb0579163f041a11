"""Trees that compare the features themselves, not what the model makes of them first.

Imputers, and trees that send a missing number to a side, read ``x`` or a constant, whichever there
is.  Splits know what that asks of ``x``, so that nothing has to be computed before it is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...arrays import Floats, Ints
from ...ir import Let, Operand, Program, Tensor, ops, rewrite
from ..splits import RawSplits, splits_of

LARGEST = np.finfo(np.float64).max


def compare_features(program: Program) -> Program:
    """A straight-line program whose tree ensembles compare numbers of its inputs, where they can.

    Equal for all inputs that are doubles.  Columns that are made of categories stay as they are.
    """

    def let(statement: Let) -> tuple[Let, ...]:
        op = statement.op
        if not isinstance(op, ops.TreeEnsemble):
            return (statement,)
        splits = splits_of(program, statement.name)
        if splits is None or splits.input.size == 0:
            return (statement,)
        numeric = (splits.input >= 0) & ~np.isnan(splits.cut)
        read = np.unique(splits.input[numeric])
        names = [program.inputs[j][0] for j in read.tolist()]
        columns: tuple[Operand, ...] = tuple(names)
        made = f"{statement.name} compared"
        if np.any((splits.input >= 0) & ~numeric) or not columns:
            columns = (op.x, *columns)
        width = 0 if columns[:1] != (op.x,) else _width(program, op)
        kept = _columns(op, splits, numeric, read, width)
        if kept is None:
            return (statement,)
        return (
            Let(made, ops.Concat(columns)),
            replace(statement, op=_ensemble(replace(op, x=made), splits, *kept)),
        )

    return replace(program, body=rewrite(program.body, let))


def _width(program: Program, op: ops.TreeEnsemble) -> int:
    return program.sort_of(op.x).shape[0]


def _columns(
    op: ops.TreeEnsemble, splits: RawSplits, numeric: np.ndarray, read: Ints, width: int
) -> tuple[Ints, Floats] | None:
    """What each node compares, and with what; ``None`` if a category's column has no doubles."""
    size, own = splits.input.size, op.feature.array.size
    feature, threshold = np.full(size, -1, dtype=np.int64), np.zeros(size)
    feature[:own] = op.feature.array
    cuts = np.clip(splits.cut[numeric], -LARGEST, LARGEST)
    feature[numeric] = width + np.searchsorted(read, splits.input[numeric])
    threshold[numeric] = cuts
    others = np.flatnonzero((splits.input >= 0) & ~numeric)
    given = op.threshold.array[others].tolist()
    doubles = np.array([float(value) for value in given])
    if any(value != near for value, near in zip(given, doubles.tolist(), strict=True)):
        return None
    threshold[others] = doubles
    return feature, threshold


def _ensemble(
    op: ops.TreeEnsemble, splits: RawSplits, feature: Ints, threshold: Floats
) -> ops.TreeEnsemble:
    """The ensemble over other columns, parents before children."""
    left = np.where(splits.below, splits.left, splits.right)
    right = np.where(splits.below, splits.right, splits.left)
    order = _in_order(op.roots.array.tolist(), feature, left, right)
    place = np.full(feature.size, -1, dtype=np.int64)
    place[order] = np.arange(order.size)
    rows = op.value.array
    none = np.zeros((feature.size - rows.shape[0], rows.shape[1]), dtype=rows.dtype)
    inner = feature[order] >= 0
    links = [Tensor(np.where(inner, place[side[order]], 0)) for side in (left, right)]
    return ops.TreeEnsemble(
        op.x,
        Tensor(place[op.roots.array]),
        Tensor(feature[order]),
        Tensor(threshold[order]),
        links[0],
        links[1],
        Tensor(np.concatenate([rows, none])[order], op.value.dtype),
        op.base,
    )


def _in_order(roots: Sequence[int], feature: Ints, left: Ints, right: Ints) -> Ints:
    """The nodes below the roots, each after all of its parents."""
    seen, order, stack = set[int](), list[int](), [(root, False) for root in roots]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            if feature[node] >= 0:
                stack += [(int(left[node]), False), (int(right[node]), False)]
    return np.array(order[::-1], dtype=np.int64)
