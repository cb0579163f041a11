"""What decides, as integers: the trees behind a target and the sums that must be reached.

Every requirement ``Σ_t v_t(x) >= need`` becomes ``Σ_t n_t(x) >= N`` over whole numbers with
``n_t = ceil(scale · v_t)``: never stronger than the original, and equivalent where ``scale`` makes
all values whole.  Whole numbers are kept in two limbs, ``n = high · 2^shift + low``, so that no sum
over the trees overflows 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, lcm
from typing import NamedTuple

import numpy as np

from ...arrays import Floats, Ints, distinct_values
from ...compiler.linear_reader import requirements
from ...compiler.passes.decide import distinct_rows
from ...compiler.pipeline import simplified
from ...compiler.splits import RawSplits, Unary, splits_of
from ...errors import UnsupportedError
from ...ir import Program, ops
from ...ir.linear import Inequality, power_near
from ...stopping import polled
from .functions import Ramp, table_tree

LIMB = 62  # bits that a sum of limbs may use
ROUNDING = 1e-12  # relative: above what sums of doubles lose
BEYOND = 3 << (LIMB - 2)  # more than any sum of high limbs, which stay within half of LIMB


@dataclass(frozen=True)
class Decision:
    """Trees over raw features, and K requirements on their leaves.

    Nodes of all trees share arrays (N,): ``left``, ``right``, and the splits of ``RawSplits``;
    ``roots`` (T,).  ``high``, ``low`` (K, N) are the limbs of leaf values, ``value`` (K, N) the
    values as doubles; requirement k holds if the sum over the trees is at least ``need_high[k]``,
    ``need_low[k]``, in doubles about ``need[k]``, and for sure if those reach ``clear[k]``;
    ``scale`` (K,) makes values whole.  ``cuts`` holds the distinct cuts of each feature, ``cut_of``
    (N,) a node's place among all of them, -1 if it has none.

    ``alone`` are features that functions of one feature read, as trees after all others.
    ``ramps`` enter the sums too.  They have no trees until ``with_stairs``, which come after all
    others, from ``first_stairs``; -1 if there are none.
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
    clear: Floats
    shift: int
    scale: tuple[Fraction, ...]
    cuts: tuple[Floats, ...]
    cut_of: Ints
    alone: tuple[int, ...] = ()
    ramps: tuple[Ramp, ...] = ()
    first_stairs: int = -1


Ranges = tuple[tuple[Fraction, Fraction], ...]  # of every feature; of a category anything
Worths = Sequence[tuple[Fraction, ...]]  # (K,) for each node


class _Part(NamedTuple):
    """Some trees: splits, roots, and what nodes are worth in each requirement.

    ``values``: the distinct values and which of them each node has; ``None`` if none matters.
    """

    splits: RawSplits
    roots: Ints
    values: Sequence[tuple[list[Fraction], Ints] | None]


@lru_cache(maxsize=32)
def decision_of(target: Program, ranges: Ranges) -> Decision:
    """The decision behind ``in_target`` of a target program over features of these ranges.

    Cached by content.

    Raises:
        UnsupportedError: it is no conjunction of sums over trees and functions of one feature,
            a tree's column mixes features, or there is no tree at all.
    """
    if not any(isinstance(let.op, ops.TreeEnsemble) for let in target.lets()):
        raise UnsupportedError("no tree decides")  # soon told, for it is asked of every model
    program = simplified(target)
    required = requirements(program, "in_target")
    sources = dict.fromkeys(source for each in required for source in each.form.terms)
    used = {source[0] for source in sources if not isinstance(source, Unary)}
    parts: list[_Part] = []
    for statement in program.lets():
        if statement.name in used and isinstance(statement.op, ops.TreeEnsemble):
            parts.append(_of_ensemble(program, statement.name, statement.op, required))
    functions = [source for source in sources if isinstance(source, Unary)]
    if functions and not parts:
        raise UnsupportedError("no tree decides")
    order = {name: j for j, (name, _) in enumerate(program.inputs)}
    words = max([1, *(part.splits.mask.shape[1] for part in parts)])
    worth = {f: tuple(r.form.terms.get(f, Fraction(0)) for r in required) for f in functions}
    tables: dict[tuple[int, bool], list[tuple[Unary, tuple[Fraction, ...]]]] = {}
    ramps: list[Ramp] = []
    for source, factors in worth.items():
        j = order[source.input]
        if source.table is None:
            ramps.append(Ramp(j, source.rounded, factors))
        else:
            tables.setdefault((j, bool(source.steps)), []).append((source, factors))
    for (j, _), terms in tables.items():
        parts.append(_of_tree(*table_tree(j, terms, words)))
    made = _decision(parts, required, tuple(ramps), ranges)
    return replace(made, alone=tuple({j for j, _ in tables}))


def _of_tree(splits: RawSplits, root: int, worths: Worths) -> _Part:
    return _Part(splits, np.array([root]), [_distinct(w) for w in zip(*worths, strict=True)])


def _of_ensemble(
    program: Program, name: str, op: ops.TreeEnsemble, required: Sequence[Inequality]
) -> _Part:
    splits = splits_of(program, name)
    if splits is None:
        raise UnsupportedError("a tree splits a column that is no cut or choice of one feature")
    values: list[tuple[list[Fraction], Ints] | None] = []
    for each in required:
        terms = (pair for pair in each.form.terms.items() if not isinstance(pair[0], Unary))
        chosen = {source[1]: f for source, f in terms if source[0] == name}
        values.append(_node_values(op, chosen, splits.input.size) if chosen else None)
    return _Part(splits, op.roots.array, values)


def _decision(
    parts: list[_Part], required: Sequence[Inequality], ramps: tuple[Ramp, ...], ranges: Ranges
) -> Decision:
    starts = np.concatenate([[0], np.cumsum([p.splits.input.size for p in parts])]).astype(np.int64)
    trees = sum(part.roots.size for part in parts) + len(ramps)
    shift = LIMB - max(trees, 1).bit_length()
    limbs, needs, clears, scales = [], [], [], []
    for k, each in enumerate(required):
        every = [v for part in parts if (own := part.values[k]) for v in own[0]]
        widest = [ramp.factors[k] * ramp.at(end) for ramp in ramps for end in ranges[ramp.feature]]
        scale = _scale(every, widest, trees, shift)
        limbs.append(_limbs([part.values[k] for part in parts], starts, scale, shift))
        least = -each.form.constant * scale
        need = floor(least) + 1 if each.strict else ceil(least)
        top = min(max(need >> shift, -BEYOND), BEYOND)  # no sum is as large
        needs.append((top, need & ((1 << shift) - 1), float(-each.form.constant)))
        scales.append(scale)
        widest_sum = float(max([Fraction(0), *map(abs, every)])) * trees
        clears.append(_clear(need, scale, ROUNDING * widest_sum))
    joined = _joined_splits([part.splits for part in parts], starts)
    cuts, cut_of = _cuts(joined, len(ranges))
    high, low, value = (np.stack(each) for each in zip(*limbs, strict=True))
    return Decision(
        _joined([part.roots for part in parts], starts),
        joined.left,
        joined.right,
        joined,
        high,
        low,
        value,
        np.array([high for high, _, _ in needs], dtype=np.int64),
        np.array([low for _, low, _ in needs], dtype=np.int64),
        np.array([need for _, _, need in needs]),
        np.array(clears),
        shift,
        tuple(scales),
        cuts,
        cut_of,
        ramps=ramps,
    )


def _clear(need: int, scale: Fraction, rounding: float) -> float:
    """Between what is needed and the next sum below it, or above by what doubles may lose."""
    between = (need - Fraction(1, 2)) / scale
    return float(between) if Fraction(1, 2) / scale > rounding else float(need / scale) + rounding


def with_trees(
    decision: Decision, trees: Sequence[tuple[RawSplits, int, Worths]], features: int
) -> Decision:
    """A decision with more trees, after its own: splits, root, and every node's worths (K,)."""
    parts = [_of_tree(*tree) for tree in trees]
    sizes = [decision.left.size, *(part.splits.input.size for part in parts)]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    joined = _joined_splits([decision.splits, *(part.splits for part in parts)], starts)
    limbs = [
        _limbs([part.values[k] for part in parts], starts[1:] - starts[1], scale, decision.shift)
        for k, scale in enumerate(decision.scale)
    ]
    high, low, value = (np.stack(each) for each in zip(*limbs, strict=True))
    cuts, cut_of = _cuts(joined, features)
    return replace(
        decision,
        roots=_joined([decision.roots, *(part.roots for part in parts)], starts),
        left=joined.left,
        right=joined.right,
        splits=joined,
        high=np.concatenate([decision.high, high], axis=1),
        low=np.concatenate([decision.low, low], axis=1),
        value=np.concatenate([decision.value, value], axis=1),
        cuts=cuts,
        cut_of=cut_of,
    )


def _limbs(
    values: Sequence[tuple[list[Fraction], Ints] | None], starts: Ints, scale: Fraction, shift: int
) -> tuple[Ints, Ints, Floats]:
    """The limbs of the nodes' values in one requirement, and the values as doubles; (N,) each."""
    nodes = int(starts[-1])
    high, low, value = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64), np.zeros(nodes)
    for own, start in zip(values, starts.tolist(), strict=False):
        if own is not None:
            distinct, inverse = own
            where = slice(start, start + inverse.size)
            whole = [ceil(v * scale) for v in polled(distinct)]
            high[where] = np.array([n >> shift for n in whole], dtype=np.int64)[inverse]
            low[where] = np.array([n & ((1 << shift) - 1) for n in whole], np.int64)[inverse]
            try:
                value[where] = np.array([float(v) for v in distinct])[inverse]
            except OverflowError:
                raise UnsupportedError("its values are larger than doubles") from None
    return high, low, value


def _distinct(values: Sequence[Fraction]) -> tuple[list[Fraction], Ints]:
    index: dict[Fraction, int] = {}
    inverse = np.array([index.setdefault(value, len(index)) for value in values], dtype=np.int64)
    return list(index), inverse


def _cuts(splits: RawSplits, features: int) -> tuple[tuple[Floats, ...], Ints]:
    """The distinct cuts of each feature, and each node's place among all of them."""
    cuts: list[Floats] = []
    cut_of, seen = np.full(splits.cut.size, -1, dtype=np.int64), 0
    for j in range(features):
        own = np.flatnonzero((splits.input == j) & ~np.isnan(splits.cut))
        found, inverse = distinct_values(splits.cut[own])
        cut_of[own] = inverse + seen
        seen += found.size
        cuts.append(found)
    return tuple(cuts), cut_of


def _node_values(
    op: ops.TreeEnsemble, factors: dict[int, Fraction], size: int
) -> tuple[list[Fraction], Ints]:
    """``Σ factor · value[:, column]``: its distinct values, and which of them each node has.

    Nodes up to ``size`` that the ensemble does not have are no leaves, and have any.
    """
    first, inverse = distinct_rows(op.value, list(factors))
    rows = op.value.array[first][:, list(factors)].tolist()
    weights = list(factors.values())
    distinct = [
        sum((f * Fraction(v) for f, v in zip(weights, row, strict=True)), Fraction(0))
        for row in polled(rows)
    ]
    return distinct, np.pad(inverse.astype(np.int64), (0, size - inverse.size))


def _scale(
    values: Sequence[Fraction], widest: Sequence[Fraction], trees: int, shift: int
) -> Fraction:
    """What makes all values whole if their sums still fit, else the largest power of 2 that fits.

    A sum of limbs over the trees stays below 2^62; the ``widest`` values need not be whole.
    """
    largest = max((abs(v) for v in [*values, *widest]), default=Fraction(0))
    room = Fraction(1 << (LIMB - 1 + shift), max(trees, 1))
    common = 1
    for value in polled(values):
        common = lcm(common, value.denominator)
        if largest * common >= room:
            return power_near(room / largest) / 4
    spare = room / largest / common if largest else Fraction(1)
    return Fraction(common) * (power_near(spare) / 4 if widest and spare > 4 else 1)


def _joined(parts: list[Ints], starts: Ints) -> Ints:
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
