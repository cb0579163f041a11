"""Tree splits as conditions on raw features.

A column of an ensemble's input usually depends on one raw feature: the feature itself, an affine
map of it, its float32 rounding, or a lookup in a category.  ``resolve_columns`` finds that
dependence; ``raw_splits`` pulls every threshold back through it, so that a node asks
``x_j <= cut`` (cut a double; all admissible values are doubles) or ``label in set``.  Where a
column is a step function with several steps, a node may ask several such questions in turn.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Array, Bools, Floats, Ints
from ..errors import VerificationError
from ..ir import Let, Literal, Op, Operand, Program, Sort, ops
from ..ir.float32 import FLOAT32_MAX, double_threshold, round_to_float32
from ..ir.interval import floor_float


@dataclass(frozen=True, slots=True)
class Unary:
    """A scalar that depends on one input: ``factor * g(x) + shift`` or a table of values.

    ``rounded`` says that g rounds to float32 (else g is the identity).  ``table`` holds the value
    per label of a category, or, of a number with rising ``steps``, the values up to the first,
    between each two and above the last; then the other fields are unused.  ``below``: a place, and
    the factor and shift of all numbers up to it.
    """

    input: str
    factor: Fraction = Fraction(1)
    shift: Fraction = Fraction(0)
    rounded: bool = False
    table: tuple[Fraction, ...] | None = None
    steps: tuple[float, ...] = ()
    below: tuple[float, Fraction, Fraction] | None = None

    def affine(self, factor: Fraction, shift: Fraction) -> Unary:
        if self.table is not None:
            return replace(self, table=tuple(factor * value + shift for value in self.table))
        below = self.below
        if below is not None:
            below = (below[0], factor * below[1], factor * below[2] + shift)
        own = factor * self.factor, factor * self.shift + shift
        return replace(self, factor=own[0], shift=own[1], below=below)

    @property
    def pieces(self) -> tuple[Unary, Unary]:
        """What it is up to the place, and beyond."""
        assert self.below is not None
        _, factor, shift = self.below
        return replace(self, factor=factor, shift=shift, below=None), replace(self, below=None)


Column = Unary | Fraction | None  # None: depends on several inputs, or not in a known way


def resolve_columns(program: Program) -> Mapping[str, list[Column]]:
    """For every scalar or vector value of a straight-line program, what its entries depend on."""
    found: dict[str, list[Column]] = {}
    for name, sort in program.inputs:
        if not sort.shape:
            found[name] = [Unary(name)]
    for statement in program.body:
        if isinstance(statement, Let):
            sort = program.sorts[statement.name]
            found[statement.name] = _resolve(statement.op, sort, found)
    return found


def _resolve(op: Op, sort: Sort, found: Mapping[str, list[Column]]) -> list[Column]:
    size = int(np.prod(sort.shape)) if sort.shape else 1
    parts = [_columns(operand, found) for operand in op.operands()]
    if isinstance(op, ops.Constant):
        return [Fraction(value) for value in op.value.exact().ravel().tolist()]
    if isinstance(op, ops.Identity | ops.Reshape | ops.ToReal):
        return parts[0]
    if isinstance(op, ops.Affine):
        return _combinations(op, parts[0])
    if isinstance(op, ops.Le | ops.Lt | ops.Ge | ops.Gt | ops.Eq | ops.Ne):
        x, y = (_spread(part, size) for part in parts)
        return [_compared(op, p, q) for p, q in zip(x, y, strict=True)]
    if isinstance(op, ops.Select):
        return _selected(op, found, size)
    if isinstance(op, ops.Concat):
        return [column for part in parts for column in part]
    if isinstance(op, ops.Take):
        return [parts[0][i] for i in op.indices]
    if isinstance(op, ops.Item):
        return [parts[0][op.index]]
    if isinstance(op, ops.Lookup) and isinstance(op.x, str) and found[op.x] == [Unary(op.x)]:
        table = op.table.exact().reshape(len(op.labels), -1)
        return [Unary(op.x, table=tuple(map(Fraction, column))) for column in table.T.tolist()]
    if isinstance(op, ops.RoundFloat32):
        return [_rounded(column) for column in parts[0]]
    if isinstance(op, ops.Add | ops.Sub | ops.Mul | ops.Div):
        x, y = (_spread(part, size) for part in parts)
        return [_combine(op, p, q) for p, q in zip(x, y, strict=True)]
    return [None] * size


def _columns(operand: Operand, found: Mapping[str, list[Column]]) -> list[Column]:
    if isinstance(operand, Literal):
        return [Fraction(operand.value)]
    return found.get(operand, [None])


def _spread(part: list[Column], size: int) -> list[Column]:
    return part * size if len(part) == 1 else part if len(part) == size else [None] * size


def _rounded(column: Column) -> Column:
    if isinstance(column, Unary) and column.below is None:
        if column.table is None and column.factor == 1 and not column.shift:
            return Unary(column.input, rounded=True)
        if column.table is not None:
            try:
                return replace(column, table=tuple(map(round_to_float32, column.table)))
            except VerificationError:  # it overflows float32
                return None
    return None


def _combine(op: Op, x: Column, y: Column) -> Column:
    """Arithmetic of one dependent and one constant entry, or of two constants."""
    if isinstance(x, Unary) and isinstance(y, Fraction):
        if isinstance(op, ops.Div):
            return x.affine(1 / y, Fraction(0)) if y else None
        if isinstance(op, ops.Mul):
            return x.affine(y, Fraction(0))
        return x.affine(Fraction(1), y if isinstance(op, ops.Add) else -y)
    if isinstance(x, Fraction) and isinstance(y, Unary):
        if isinstance(op, ops.Mul):
            return y.affine(x, Fraction(0))
        if isinstance(op, ops.Add | ops.Sub):
            return y.affine(Fraction(1 if isinstance(op, ops.Add) else -1), x)
    if isinstance(op, ops.Add | ops.Sub) and isinstance(x, Unary) and isinstance(y, Unary):
        sign = Fraction(1 if isinstance(op, ops.Add) else -1)
        return _sum_of_two(x, y.affine(sign, Fraction(0)))
    return None


def _sum_of_two(x: Unary, y: Unary) -> Column:
    """Of functions of the same input: two tables, or an affine one, in two pieces, and a step."""
    if x.input != y.input:
        return None
    if x.table is not None and y.table is not None:
        return _added(x, y)
    plain, step = (x, y) if x.table is None else (y, x)
    if step.table is None or len(step.steps) != 1:
        return None
    if plain.below is not None and plain.below[0] != step.steps[0]:
        return None
    pieces = (plain, plain) if plain.below is None else plain.pieces
    low, high = (
        piece.affine(Fraction(1), value) for piece, value in zip(pieces, step.table, strict=True)
    )
    return replace(high, below=(step.steps[0], low.factor, low.shift))


def _selected(op: ops.Select, found: Mapping[str, list[Column]], size: int) -> list[Column]:
    """Where a step of one input chooses between a constant and an affine function of it."""
    (condition,) = _columns(op.condition, found)[:1]
    then, orelse = (_spread(_columns(each, found), size) for each in (op.x, op.y))
    if not isinstance(condition, Unary) or len(condition.steps) != 1:
        return [None] * size
    assert condition.table is not None
    if not condition.table[0]:
        then, orelse = orelse, then
    place = condition.steps[0]
    return [_pieced(condition.input, place, *both) for both in zip(then, orelse, strict=True)]


def _pieced(name: str, place: float, low: Column, high: Column) -> Column:
    """``low`` up to a place and ``high`` beyond, both affine in the input of this name."""
    first, second = (_piece(name, place, each, i) for i, each in enumerate((low, high)))
    if first is None or second is None:
        return None
    if first.rounded != second.rounded and first.factor and second.factor:
        return None
    rounded = first.rounded or second.rounded
    return replace(second, rounded=rounded, below=(place, first.factor, first.shift))


def _piece(name: str, place: float, column: Column, side: int) -> Unary | None:
    """An affine function of an input, on one side of a place; ``None`` if it is something else."""
    if isinstance(column, Fraction):
        return Unary(name, factor=Fraction(0), shift=column)
    if column is None or column.input != name or column.table is not None:
        return None
    if column.below is None:
        return column
    return column.pieces[side] if column.below[0] == place else None


_RELATIONS: Mapping[type[Op], str] = {
    ops.Le: "le", ops.Lt: "lt", ops.Ge: "ge", ops.Gt: "gt", ops.Eq: "eq", ops.Ne: "ne",
}  # fmt: skip
_TURNED = {"le": "ge", "lt": "gt", "ge": "le", "gt": "lt", "eq": "eq", "ne": "ne"}


def _compared(op: Op, x: Column, y: Column) -> Column:
    """One dependent entry beside a constant: 1 where the comparison holds, else 0."""
    relation = _RELATIONS[type(op)]
    if isinstance(x, Fraction):
        x, y, relation = y, x, _TURNED[relation]
    if not isinstance(x, Unary) or not isinstance(y, Fraction):
        return None
    return _holds(relation, x, y)


def _holds(relation: str, x: Unary, y: Fraction) -> Column:
    """1 where a function of one input stands in a relation to a constant, else 0."""
    if x.table is not None:
        return replace(x, table=tuple(Fraction(_stands(relation, v, y)) for v in x.table))
    if x.below is not None:
        return _holds_in_pieces(relation, x, y)
    if not x.factor:
        return Fraction(_stands(relation, x.shift, y))
    bound = (y - x.shift) / x.factor
    if relation in ("eq", "ne"):
        steps = tuple(last_double(bound, x.rounded, strict) for strict in (True, False))
        here, elsewhere = Fraction(relation == "eq"), Fraction(relation == "ne")
        if steps[0] == steps[1]:  # no double is that
            return elsewhere
        return Unary(x.input, table=(elsewhere, here, elsewhere), steps=steps)
    up, less, strict = x.factor > 0, relation in ("le", "lt"), relation in ("lt", "gt")
    strictly = strict if less == up else not strict  # whether the cut itself lies above
    step = last_double(bound, x.rounded, strictly)
    low = Fraction(int(less == up))
    return Unary(x.input, table=(low, 1 - low), steps=(step,))


def _stands(relation: str, value: Fraction, y: Fraction) -> bool:
    """Whether ``value`` stands in the relation to ``y``."""
    if relation in ("eq", "ne"):
        return (value == y) == (relation == "eq")
    return relation in ("le", "ge") if value == y else (value < y) == (relation in ("le", "lt"))


def _holds_in_pieces(relation: str, x: Unary, y: Fraction) -> Unary:
    """The same of a function in two pieces: a step function."""
    assert x.below is not None
    place, parts = x.below[0], [_steps_of(_holds(relation, each, y)) for each in x.pieces]
    (lower, low), (higher, high) = parts
    first = [step for step in lower if -np.inf < step < place]
    last = [step for step in higher if step > place]
    begun = len(lower) - sum(step > -np.inf for step in lower)  # pieces that hold no number
    table = (*low[begun : begun + len(first) + 1], *high[len(higher) - len(last) :])
    return Unary(x.input, table=table, steps=(*first, place, *last))


def _steps_of(column: Column) -> tuple[tuple[float, ...], tuple[Fraction, ...]]:
    """Steps and table of a truth value."""
    if isinstance(column, Fraction):
        return (), (column,)
    assert column is not None
    assert column.table is not None
    return column.steps, column.table


def _combinations(op: ops.Affine, x: list[Column]) -> list[Column]:
    """Every row of ``W x + b`` of step functions, or tables, of one input."""
    if not all(isinstance(c, Fraction) or (c is not None and c.table is not None) for c in x):
        return [None] * op.bias.shape[0]
    rows, shifts = op.weight.exact().tolist(), op.bias.exact().tolist()
    return [_combination(row, x, Fraction(shift)) for row, shift in zip(rows, shifts, strict=True)]


def _combination(row: list[Any], x: list[Column], shift: Fraction) -> Column:
    """One row: a constant plus factors of constants and tables."""
    total: Unary | None = None
    for factor, column in zip(row, x, strict=True):
        if isinstance(column, Fraction):
            shift += factor * column
        elif factor and isinstance(column, Unary):
            scaled = column.affine(Fraction(factor), Fraction(0))
            total = scaled if total is None else _added(total, scaled)
            if total is None:
                return None
    return shift if total is None else total.affine(Fraction(1), shift)


def _added(x: Unary, y: Unary) -> Unary | None:
    """The sum of two tables; ``None`` if they depend on different inputs."""
    assert x.table is not None
    assert y.table is not None
    if x.input != y.input:
        return None
    if not x.steps and not y.steps:
        return replace(x, table=tuple(a + b for a, b in zip(x.table, y.table, strict=True)))
    steps = tuple(sorted({*x.steps, *y.steps}))
    ends = [*steps, np.inf]
    table = [
        x.table[bisect_left(x.steps, end)] + y.table[bisect_left(y.steps, end)] for end in ends
    ]
    return Unary(x.input, table=tuple(table), steps=steps)


@dataclass(frozen=True, slots=True)
class RawSplits:
    """Per node (N,): the input it asks about, the cut and its sense, or the labels going left.

    ``input`` indexes the program's inputs (-1 on leaves).  Numeric node: left iff
    ``x <= cut`` (``below`` true) or ``x > cut`` (``below`` false).  Category node: left iff bit
    ``code`` of ``mask`` (N, words) is set; its ``cut`` is NaN.  ``left``, ``right``: the links;
    nodes beyond those of the ensemble ask the rest of a question with several cuts, so that a child
    may have several parents.
    """

    input: Ints
    cut: Floats
    below: Bools
    mask: npt.NDArray[np.uint64]
    left: Ints
    right: Ints


@lru_cache(maxsize=32)
def splits_of(program: Program, name: str) -> RawSplits | None:
    """:func:`raw_splits` of the ensemble that a program calls ``name``, computed once."""
    op = next(each.op for each in program.lets() if each.name == name)
    assert isinstance(op, ops.TreeEnsemble)
    return raw_splits(program, op)


def raw_splits(program: Program, op: ops.TreeEnsemble) -> RawSplits | None:
    """The ensemble's splits on raw inputs, or ``None`` if a used column mixes inputs."""
    columns = _columns(op.x, resolve_columns(program))
    feature, threshold = op.feature.array, op.threshold.array
    order = {name: i for i, (name, _) in enumerate(program.inputs)}
    words = max([1, *(-(-len(sort.labels) // 64) for _, sort in program.inputs)])
    count = feature.size
    result = RawSplits(
        np.full(count, -1, dtype=np.int64),
        np.full(count, np.nan),
        np.ones(count, dtype=np.bool_),
        np.zeros((count, words), dtype=np.uint64),
        op.left.array.copy(),  # compiled code tells writable arrays from others
        op.right.array.copy(),
    )
    several: dict[int, tuple[float, ...]] = {}  # the other cuts of nodes that have some
    for column in np.unique(feature[feature >= 0]).tolist():
        source = columns[column] if column < len(columns) else None
        if not isinstance(source, Unary):
            return None
        nodes = np.flatnonzero(feature == column)
        result.input[nodes] = order[source.input]
        if source == Unary(source.input):  # the feature itself
            result.cut[nodes] = _floor_floats(threshold[nodes])
            continue
        values, inverse = np.unique(threshold[nodes], return_inverse=True)
        if source.steps or source.below:
            bounds = [Fraction(value) for value in values.tolist()]
            cuts = [_step_cuts(source, bound) for bound in bounds]
            result.cut[nodes] = np.array([cut[0] for cut, _ in cuts])[inverse]
            result.below[nodes] = np.array([below for _, below in cuts])[inverse]
            others = zip(nodes.tolist(), inverse.tolist(), strict=True)
            several |= {node: cuts[i][0][1:] for node, i in others if len(cuts[i][0]) > 1}
        elif source.table is not None:
            bounds = [Fraction(value) for value in values.tolist()]
            result.mask[nodes] = np.array([_mask(source.table, t, words) for t in bounds])[inverse]
        else:
            result.cut[nodes] = _cuts_of(source, values)[inverse]
            result.below[nodes] = source.factor >= 0
    return _chained(result, several) if several else result


def _step_cuts(source: Unary, threshold: Fraction) -> tuple[tuple[float, ...], bool]:
    """Where a step function starts or ceases to be at most the threshold; whether it starts so."""
    if source.below is not None:
        source, threshold = _holds_in_pieces("gt", source, threshold), Fraction(0)
    assert source.table is not None
    holds = [value <= threshold for value in source.table]
    cuts = tuple(s for s, a, b in zip(source.steps, holds, holds[1:], strict=False) if a != b)
    return cuts or ((np.inf if holds[0] else -np.inf),), holds[0] or not cuts


def _chained(splits: RawSplits, several: Mapping[int, tuple[float, ...]]) -> RawSplits:
    """Nodes with several cuts as chains of nodes with one: ``x <= c_1``, else ``x <= c_2`` …"""
    source = [node for node, cuts in several.items() for _ in cuts]
    count = splits.input.size
    chained = RawSplits(
        np.concatenate([splits.input, splits.input[source]]),
        np.concatenate([splits.cut, *several.values()]),
        np.concatenate([splits.below, np.ones(len(source), dtype=np.bool_)]),
        np.concatenate([splits.mask, splits.mask[source]]),
        np.concatenate([splits.left, splits.left[source]]),
        np.concatenate([splits.right, splits.right[source]]),
    )
    for node, cuts in several.items():
        pair = (splits.left[node], splits.right[node])
        inside = bool(splits.below[node])  # whether the part below the next cut goes left
        here, chained.below[node] = node, True
        for _ in cuts:
            chained.left[here], chained.right[here] = pair[not inside], count
            here, inside, count = count, not inside, count + 1
        chained.left[here], chained.right[here] = pair[not inside], pair[inside]
    return chained


def _mask(table: Sequence[Fraction], threshold: Fraction, words: int) -> npt.NDArray[np.uint64]:
    """The labels whose value is at most the threshold, as bits."""
    mask = np.zeros(words, dtype=np.uint64)
    for code, value in enumerate(table):
        if value <= threshold:
            mask[code // 64] |= np.uint64(1) << np.uint64(code % 64)
    return mask


def _cuts_of(source: Unary, thresholds: Array) -> Floats:
    """Where ``factor * g(x) + shift <= threshold`` changes, for each threshold."""
    if source.factor == 1 and source.shift == 0 and thresholds.dtype.kind == "f":
        return _last_doubles(thresholds.astype(np.float64), None, source.rounded)
    bounds = [Fraction(value) for value in thresholds.tolist()]
    if source.factor == 0:
        return np.array([np.inf if source.shift <= bound else -np.inf for bound in bounds])
    bounds = [(bound - source.shift) / source.factor for bound in bounds]
    cuts = np.array([floor_float(bound) for bound in bounds])
    return _last_doubles(cuts, bounds if source.factor < 0 else None, source.rounded)


def last_double(bound: Fraction, rounded: bool, strict: bool) -> float:
    """The largest double x with ``g(x) <= bound`` (or ``< bound``); g may round to float32.

    Infinite if all x, or none, satisfy it.
    """
    found = _last_doubles(np.array([floor_float(bound)]), [bound] if strict else None, rounded)
    return float(found[0])


def _last_doubles(cuts: Floats, strict: Sequence[Fraction] | None, rounded: bool) -> Floats:
    """:func:`last_double` of bounds whose largest doubles are ``cuts``; strictly below ``strict``.

    A tie is a bound that is its own cut; a strict one moves to the number before it.
    """
    ties = np.zeros(cuts.size, dtype=np.bool_)
    if strict is not None:
        pairs = zip(cuts.tolist(), strict, strict=True)
        ties = np.array([isfinite(cut) and Fraction(cut) == bound for cut, bound in pairs])
    if not rounded:
        return np.where(ties, np.nextafter(cuts, -np.inf), cuts)
    found = np.where(cuts > 0, np.inf, -np.inf)
    inside = (np.abs(cuts) < FLOAT32_MAX) | (cuts == -FLOAT32_MAX)
    inside |= ties & (cuts == FLOAT32_MAX)
    with np.errstate(over="ignore"):
        narrow = cuts.astype(np.float32)
        before = np.nextafter(narrow, np.float32(-np.inf)).astype(np.float64)
    cuts = np.where(ties & (narrow == cuts), before, cuts)
    inside &= np.isfinite(cuts)
    found[inside] = double_threshold(cuts[inside])
    return found


def _floor_floats(values: Array) -> Floats:
    """The largest doubles at most the values: ``x <= t`` holds for the same doubles x."""
    if values.dtype == np.float64:
        return values
    return np.array([floor_float(value) for value in values.tolist()], dtype=np.float64)
