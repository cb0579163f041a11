"""What decides, as integers: the trees behind a target and the sums that must be reached.

Every requirement ``Σ_t v_t(x) >= need`` becomes ``Σ_t n_t(x) >= N`` over whole numbers with
``n_t = ceil(scale · v_t)``: never stronger than the original, and equivalent where ``scale`` makes
all values whole.  Whole numbers are kept in two limbs, ``n = high · 2^shift + low``, so that no sum
over the trees overflows 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from ...compiler.additive import Requirement, requirements
from ...compiler.pipeline import simplified
from ...compiler.splits import RawSplits, raw_splits
from ...errors import UnsupportedError
from ...ir import Program, ops

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LIMB = 62  # bits that a sum of limbs may use


@dataclass(frozen=True)
class Decision:
    """Trees over raw features, and K requirements on their leaves.

    Nodes of all trees share arrays (N,): ``left``, ``right``, and the splits of ``RawSplits``;
    ``roots`` (T,).  ``high``, ``low`` (K, N) are the limbs of leaf values, ``value`` (K, N) the
    values as doubles; requirement k holds if the sum over the trees is at least ``need_high[k]``,
    ``need_low[k]``, in doubles about ``need[k]``.  ``cuts`` holds the distinct cuts of each
    feature, ``cut_of`` (N,) a node's place among all of them, -1 if it has none.
    """

    roots: Ints
    left: Ints
    right: Ints
    splits: RawSplits
    high: Ints
    low: Ints
    value: Floats
    need_high: Ints
    need_low: Ints
    need: Floats
    shift: int
    cuts: tuple[Floats, ...]
    cut_of: Ints


@lru_cache(maxsize=32)
def decision_of(target: Program) -> Decision:
    """The decision behind ``in_target`` of a target program; cached by content.

    Raises:
        UnsupportedError: it is no conjunction of sums over trees, or a tree's column mixes
            features.
    """
    program, cache = simplified(target)
    required = requirements(program, "in_target")
    used = dict.fromkeys(name for each in required for name, _ in each.form.terms)
    ensembles: dict[str, ops.TreeEnsemble] = {}
    for statement in program.lets():
        if statement.name in used and isinstance(statement.op, ops.TreeEnsemble):
            ensembles[statement.name] = statement.op
    splits: list[RawSplits] = []
    for name, op in ensembles.items():
        if name not in cache:
            cache[name] = raw_splits(program, op)
        found = cache[name]
        if found is None:
            raise UnsupportedError("a tree splits a column that is no cut or choice of one feature")
        splits.append(found)
    features = len(program.inputs)
    return _decision(list(ensembles), list(ensembles.values()), splits, required, features)


def _decision(
    names: list[str],
    ensembles: list[ops.TreeEnsemble],
    splits: list[RawSplits],
    required: Sequence[Requirement],
    features: int,
) -> Decision:
    sizes = [each.input.size for each in splits]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    nodes, trees = int(starts[-1]), sum(op.roots.array.size for op in ensembles)
    shift = LIMB - max(trees, 1).bit_length()
    shape = (len(required), nodes)
    high, low, value = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape)
    needs: list[tuple[int, int, float]] = []
    for k, each in enumerate(required):
        columns: list[tuple[slice, list[Fraction], Ints]] = []
        for name, op, start, size in zip(names, ensembles, starts, sizes, strict=False):
            chosen = {column: f for (own, column), f in each.form.terms.items() if own == name}
            if chosen:
                distinct, inverse = _node_values(op, chosen, int(size))
                columns.append((slice(int(start), int(start) + size), distinct, inverse))
        every = [v for _, distinct, _ in columns for v in distinct]
        scale = _scale(every, trees, shift)
        for where, distinct, inverse in columns:
            whole = [ceil(v * scale) for v in distinct]
            high[k, where] = np.array([n >> shift for n in whole], dtype=np.int64)[inverse]
            low[k, where] = np.array([n & ((1 << shift) - 1) for n in whole], np.int64)[inverse]
            value[k, where] = np.array([float(v) for v in distinct])[inverse]
        least = -each.form.constant * scale
        need = floor(least) + 1 if each.strict else ceil(least)
        needs.append((need >> shift, need & ((1 << shift) - 1), float(-each.form.constant)))
    joined = _joined_splits(splits, starts)
    cuts, cut_of = _cuts(joined, features)
    return Decision(
        _joined([op.roots.array for op in ensembles], starts),
        joined.left,
        joined.right,
        joined,
        high,
        low,
        value,
        np.array([high for high, _, _ in needs], dtype=np.int64),
        np.array([low for _, low, _ in needs], dtype=np.int64),
        np.array([need for _, _, need in needs]),
        shift,
        cuts,
        cut_of,
    )


def _cuts(splits: RawSplits, features: int) -> tuple[tuple[Floats, ...], Ints]:
    """The distinct cuts of each feature, and each node's place among all of them."""
    cuts: list[Floats] = []
    cut_of, seen = np.full(splits.cut.size, -1, dtype=np.int64), 0
    for j in range(features):
        own = np.flatnonzero((splits.input == j) & ~np.isnan(splits.cut))
        distinct, inverse = np.unique(splits.cut[own], return_inverse=True)
        cut_of[own] = inverse + seen
        seen += distinct.size
        cuts.append(distinct)
    return tuple(cuts), cut_of


def _node_values(
    op: ops.TreeEnsemble, factors: dict[int, Fraction], size: int
) -> tuple[list[Fraction], Ints]:
    """``Σ factor · value[:, column]``: its distinct values, and which of them each node has.

    Nodes up to ``size`` that the ensemble does not have are no leaves, and have any.
    """
    rows = op.value.array[:, list(factors)]
    index: dict[tuple[Any, ...], int] = {}
    inverse = np.array([index.setdefault(tuple(row), len(index)) for row in rows.tolist()])
    weights = list(factors.values())
    distinct = [
        sum((f * Fraction(v) for f, v in zip(weights, row, strict=True)), Fraction(0))
        for row in index
    ]
    return distinct, np.pad(inverse.astype(np.int64), (0, size - inverse.size))


def _scale(values: Sequence[Fraction], trees: int, shift: int) -> Fraction:
    """What makes all values whole if their sums still fit, else the largest power of 2 that fits.

    A sum of limbs over the trees stays below 2^62.
    """
    largest = max((abs(v) for v in values), default=Fraction(0))
    room = Fraction(1 << (LIMB - 1 + shift), max(trees, 1))
    common = 1
    for value in values:
        common = lcm(common, value.denominator)
        if largest * common >= room:
            break
    else:
        return Fraction(common)
    exponent = (room / largest).numerator.bit_length() - (room / largest).denominator.bit_length()
    return Fraction(2) ** (exponent - 2)


def _joined(parts: list[npt.NDArray[np.int64]], starts: Ints) -> Ints:
    shifted = [part + start for part, start in zip(parts, starts, strict=False)]
    return np.concatenate([np.empty(0, np.int64), *shifted]).astype(np.int64)


def _joined_splits(splits: list[RawSplits], starts: Ints) -> RawSplits:
    if len(splits) == 1:
        return splits[0]
    none = np.empty(0, np.int64)
    empty = RawSplits(
        none, np.empty(0), np.empty(0, np.bool_), np.empty((0, 1), np.uint64), none, none
    )
    words = max([1, *(each.mask.shape[1] for each in splits)])
    masks = [np.pad(each.mask, ((0, 0), (0, words - each.mask.shape[1]))) for each in splits]
    return RawSplits(
        np.concatenate([empty.input, *(each.input for each in splits)]),
        np.concatenate([empty.cut, *(each.cut for each in splits)]),
        np.concatenate([empty.below, *(each.below for each in splits)]),
        np.concatenate(masks) if masks else empty.mask,
        _joined([each.left for each in splits], starts),
        _joined([each.right for each in splits], starts),
    )


__all__ = ["Decision", "decision_of"]
