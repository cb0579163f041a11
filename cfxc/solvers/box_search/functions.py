"""Functions of one feature as trees: tables of labels and steps exactly, ramps by stairs.

A ramp ``factor · g(x_j)``, with g the identity or rounding to float32, becomes a tree whose leaves
are intervals of x_j.  With the largest value on each interval the stairs are never below the ramp,
so that what they rule out is out of reach of it; with the value nearest to the factual they are a
guess to climb on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...compiler.splits import RawSplits, Unary
from ...ir.float32 import round_to_float32
from ...question.domain import Domain
from .cells import Costs

STAIRS = 32  # on either side of the factual
NOISE = 2.0**-23  # of numbers rounded to float32, relative; twice what it is


@dataclass(frozen=True)
class Ramp:
    """``factors[k] · g(x_j)`` in requirement k; g rounds to float32 if ``rounded``."""

    feature: int
    rounded: bool
    factors: tuple[Fraction, ...]

    def at(self, x: Fraction) -> Fraction:
        """g(x)."""
        return round_to_float32(x) if self.rounded else x


def tree_over_cuts(j: int, cuts: Floats, words: int) -> tuple[RawSplits, int]:
    """A balanced tree over m rising cuts of a number, and its root; leaf i is node m + i."""
    left, right, root = _balanced(cuts.size)
    count = left.size
    feature = np.full(count, -1, dtype=np.int64)
    feature[: cuts.size] = j
    own = np.full(count, np.nan)
    own[: cuts.size] = cuts
    masks = np.zeros((count, words), np.uint64)
    below = np.ones(count, np.bool_)
    return RawSplits(feature, own, below, masks, left.copy(), right.copy()), root


@lru_cache(maxsize=64)
def _balanced(m: int) -> tuple[Ints, Ints, int]:
    left, right = np.zeros(2 * m + 1, np.int64), np.zeros(2 * m + 1, np.int64)

    def build(low: int, high: int) -> int:
        if low == high:
            return m + low
        middle = (low + high) // 2
        left[middle], right[middle] = build(low, middle), build(middle + 1, high)
        return middle

    return left, right, build(0, m)


def tree_over_labels(j: int, groups: Sequence[Sequence[int]], words: int) -> tuple[RawSplits, int]:
    """A chain over m + 1 disjoint groups of label codes, and its root; leaf i is node m + i."""
    m = len(groups) - 1
    feature = np.full(2 * m + 1, -1, dtype=np.int64)
    feature[:m] = j
    masks = np.zeros((2 * m + 1, words), np.uint64)
    for i, group in enumerate(groups[:-1]):
        for code in group:
            masks[i, code // 64] |= np.uint64(1) << np.uint64(code % 64)
    left, right = np.zeros(2 * m + 1, np.int64), np.zeros(2 * m + 1, np.int64)
    left[:m], right[:m] = np.arange(m) + m, np.arange(m) + 1
    if m:
        right[m - 1] = 2 * m
    below = np.ones(2 * m + 1, np.bool_)
    return RawSplits(feature, np.full(2 * m + 1, np.nan), below, masks, left, right), 0


def table_tree(
    j: int, terms: Sequence[tuple[Unary, Sequence[Fraction]]], words: int
) -> tuple[RawSplits, int, list[tuple[Fraction, ...]]]:
    """The sum of tables of one feature, each with its factor in every requirement, as a tree.

    Returns splits, root, and the values (K,) of every node; those that are no leaves have any.
    """
    if terms[0][0].steps:
        cuts = sorted({step for table, _ in terms for step in table.steps})
        ends = [*cuts, np.inf]
        worths = [_worth([(_at(t, end), factors) for t, factors in terms]) for end in ends]
        splits, root = tree_over_cuts(j, np.array(cuts), words)
    else:
        table = terms[0][0].table
        assert table is not None
        groups: dict[tuple[Fraction, ...], list[int]] = {}
        for code in range(len(table)):
            worth = _worth([(t.table[code], factors) for t, factors in terms if t.table])
            groups.setdefault(worth, []).append(code)
        worths = list(groups)
        splits, root = tree_over_labels(j, list(groups.values()), words)
    return splits, root, [worths[0]] * (len(worths) - 1) + worths


def _at(table: Unary, x: float) -> Fraction:
    assert table.table is not None
    return table.table[int(np.searchsorted(table.steps, x, side="left"))]


def _worth(parts: Sequence[tuple[Fraction, Sequence[Fraction]]]) -> tuple[Fraction, ...]:
    """``Σ value · factors``, one per requirement."""
    return tuple(
        sum((value * f for value, f in zip([v for v, _ in parts], each, strict=True)), Fraction(0))
        for each in zip(*(factors for _, factors in parts), strict=True)
    )


def stair_cuts(domain: Domain, delta: float, *, even: bool) -> Floats:
    """Where to cut a number's range within δ <= ``delta`` of the factual, which is a cut itself.

    All whole numbers if they are few; else ``STAIRS`` on either side, evenly, or finer near the
    factual.
    """
    here, size = float(domain.factual), float(domain.feature.range)
    low = max(float(domain.lower), here - delta * size)
    high = min(float(domain.upper), here + delta * size)
    if domain.sort.kind == "int" and high - low <= 2 * STAIRS:
        return np.arange(np.floor(low), np.ceil(high) + 1)
    share = np.linspace(0, 1, STAIRS + 1)
    share = share if even else share**2
    cuts = np.concatenate([here - share * (here - low), here + share * (high - here)])
    return np.unique(cuts)


def stairs(
    ramp: Ramp, domain: Domain, cuts: Floats, *, nearest: bool
) -> list[tuple[Fraction, ...]]:
    """The worth (K,) of each interval ``(cuts[i - 1], cuts[i]]``: its largest, or the nearest."""
    worths = []
    whole = domain.sort.kind == "int"
    bounds = [domain.lower, *map(Fraction, cuts.tolist()), domain.upper]
    for i, (above, upto) in enumerate(pairwise(bounds)):
        low, high = max(above, domain.lower), min(upto, domain.upper)
        if whole:
            low = Fraction(-(-low // 1)) if i == 0 else Fraction(low // 1 + 1)
            high = Fraction(high // 1)
        low = min(low, high)
        near = min(max(Fraction(domain.factual), low), high)
        ends = [near] if nearest else [low, high]  # where a linear function is largest
        values = [ramp.at(end) for end in ends]
        worths.append(tuple(max(factor * v for v in values) for factor in ramp.factors))
    return worths


class Ramps(NamedTuple):
    """The ramps of a decision over one instance's features.

    ``first``: the first of the decision's trees that stand for ramps, -1 if there are none;
    ``feature`` (R,), ``factor`` (R, K), ``noise`` (R,): relative rounding of the number;
    ``center``, ``size`` (J,): the factual and the range; ``flat``, ``slope``, ``square``, ``top``
    (J,): what moving costs, as in ``Costs``.
    """

    first: int
    feature: Ints
    factor: Floats
    noise: Floats
    center: Floats
    size: Floats
    flat: Floats
    slope: Floats
    square: Floats
    top: Floats


def make_ramps(
    ramps: Sequence[Ramp], needs: int, first: int, domains: Sequence[Domain], costs: Costs
) -> Ramps:
    """What the kernel needs of ramps."""
    return Ramps(
        first,
        np.array([ramp.feature for ramp in ramps], dtype=np.int64),
        np.array([[float(f) for f in ramp.factors] for ramp in ramps]).reshape(-1, needs),
        np.array([NOISE if ramp.rounded else 0.0 for ramp in ramps]),
        np.array([0.0 if d.is_symbolic else float(Fraction(d.factual)) for d in domains]),
        np.array(costs.size),
        np.array(costs.flat, dtype=np.float64),
        np.array(costs.slope),
        np.array(costs.square),
        np.array(costs.top),
    )
