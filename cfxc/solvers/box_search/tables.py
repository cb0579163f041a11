"""Leaves as bits: for every cell, which leaves of which trees a box that ends there still meets.

Each requirement has its own copy of the trees that matter to it, its leaves in descending order of
value, so that the largest value still reachable in a tree is its lowest bit that is set.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Bools, Floats, Ints
from ...kernels import cell_rows, ladders
from ...stopping import poll, polled
from .cells import Cells
from .decision import Decision
from .functions import Ramps
from .leaves import Leaves

Words = npt.NDArray[np.uint64]


ROOM = 1 << 19  # words of rows, about: 4 MB, to stay in the processor's cache


class Tables(NamedTuple):
    """Everything the search kernel reads; a slot is a leaf's bit, 64 to a word.

    Attributes:
        start, symbolic, home, added, peak, point, least, largest: The cells.
        first_word: (V + 1,), the words of tree v of all requirements' trees together.
        first_tree: (K + 1,), the trees of each requirement; ``tree`` (V,), which of the decision's.
        high, low, value: (S,), the leaves' values as limbs and doubles.
        need_high, need_low, need: (K,), what the sums must reach; ``slack`` (K,) bounds the
            rounding of sums of doubles.
        shift: Bits of the lower limb.
        ramps: What the last trees stand for.
        condition: (S + 1,), the conditions of each leaf: ``feature``, ``first`` and ``last`` cell;
            ``labels`` (M, L) and the cell of the cheapest of them, ``cheapest``.
        stride, block, begins, beginning, ends, ending, upto, since: Which leaves a box meets that
            ends or starts at a cell; see ``kernels/box_search/rows.hpp``.  Feature j has the rows
            from ``block[j]`` on, one for ``stride`` cells, or of a category one for each label:
            ``upto`` (R, W), leaves met by a box whose last cell is c, or that has label c;
            ``since`` (R, W), leaves met by a box whose first cell is c.  The leaves that begin
            (end) in cell c are ``beginning[begins[c] : begins[c + 1]]``.
        full: (W,), all leaves.
        whole: (J,), whether the cost of a feature is one layer; what follows is of
            ``kernels/box_search/ladders.hpp``.
        rung: (M,), of each condition, or -1: the place among ``rung_cell`` (R,), cells as in
            ``start``.
        ladder: (Q + 1,), the rungs of each ladder, ``ladder_of`` (Q,), which is twice its feature,
            and 1 more if it leads down; ``first_ladder`` (V + 1,), those of each tree.
    """

    start: Ints
    symbolic: Bools
    home: Ints
    added: Ints
    peak: Ints
    point: Floats
    least: Floats
    largest: Floats
    first_word: Ints
    first_tree: Ints
    tree: Ints
    high: Ints
    low: Ints
    value: Floats
    need_high: Ints
    need_low: Ints
    need: Floats
    slack: Floats
    shift: int
    ramps: Ramps
    condition: Ints
    feature: Ints
    first: Ints
    last: Ints
    labels: Words
    cheapest: Ints
    stride: int
    block: Ints
    begins: Ints
    beginning: Ints
    ends: Ints
    ending: Ints
    upto: Words
    since: Words
    full: Words
    whole: Bools
    rung: Ints
    rung_cell: Ints
    ladder: Ints
    ladder_of: Ints
    first_ladder: Ints


def make_tables(decision: Decision, leaves: Leaves, cells: Cells, ramps: Ramps) -> Tables:
    """The tables of a decision restricted to ``leaves``, over ``cells``."""
    first, last, possible = _in_cells(leaves, cells)
    parts = [_ordered(decision, leaves, possible, k) for k in polled(range(decision.need.size), 1)]
    poll()
    order = np.concatenate([np.empty(0, np.int64), *(part.leaf for part in parts)])
    of_part = np.repeat(np.arange(len(parts)), [part.leaf.size for part in parts])
    sizes = np.concatenate([np.empty(0, np.int64), *(part.sizes for part in parts)])
    words = -(-sizes // 64)
    first_word = np.concatenate([[0], np.cumsum(words)]).astype(np.int64)
    within = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    slot = np.repeat(64 * first_word[:-1], sizes) + within
    slots = 64 * int(first_word[-1])
    node = leaves.node[order]
    high, low, value = np.zeros(slots, np.int64), np.zeros(slots, np.int64), np.zeros(slots)
    high[slot], low[slot] = decision.high[of_part, node], decision.low[of_part, node]
    value[slot] = decision.value[of_part, node]
    counts = np.zeros(slots + 1, np.int64)
    counts[slot + 1] = (leaves.start[1:] - leaves.start[:-1])[order]
    condition = np.cumsum(counts)
    taken = leaves.conditions(order)
    feature, labels = leaves.feature[taken], leaves.labels[taken]
    full = np.zeros(int(first_word[-1]), np.uint64)
    np.bitwise_or.at(full, slot // 64, np.uint64(1) << (slot % 64).astype(np.uint64))
    poll()
    rows = cell_rows(
        cells.start, cells.symbolic, slot, condition, feature, first[taken], last[taken], labels,
        full, ROOM,
    )  # fmt: skip
    poll()
    whole = cells.symbolic.copy()
    whole[[*ramps.feature, *decision.alone]] = True
    totals = np.array([part.magnitude for part in parts])
    return Tables(
        cells.start, cells.symbolic, cells.home, cells.added, cells.peak, cells.point,
        cells.least, cells.largest,
        first_word,
        np.concatenate([[0], np.cumsum([part.sizes.size for part in parts])]).astype(np.int64),
        np.concatenate([np.empty(0, np.int64), *(part.tree for part in parts)]),
        high, low, value,
        np.array([part.need[0] for part in parts], dtype=np.int64),
        np.array([part.need[1] for part in parts], dtype=np.int64),
        np.array([part.need[2] for part in parts]),
        1e-9 * (totals + np.abs(decision.need)),
        decision.shift, ramps, condition, feature, first[taken], last[taken], labels,
        _cheapest(cells, feature, labels), *rows, full,
        whole,
        *ladders(
            cells.start, whole, cells.home, first_word, condition, feature, first[taken],
            last[taken],
        ),
    )  # fmt: skip


OUT_OF_REACH = (1, 0, 1.0)  # what no tree at all cannot sum up to


class _Part(NamedTuple):
    """The trees of one requirement: leaves in order, leaves per tree, and what they must reach."""

    leaf: Ints
    sizes: Ints
    tree: Ints
    need: tuple[int, int, float]
    magnitude: float


def _ordered(decision: Decision, leaves: Leaves, possible: Bools, k: int) -> _Part:
    """Trees with more than one value, leaves in descending order; the rest becomes a constant."""
    high, low = decision.high[k, leaves.node], decision.low[k, leaves.node]
    order = np.lexsort((-low, -high, leaves.tree))
    order = order[possible[order]]
    tree = leaves.tree[order]
    starts = np.flatnonzero(np.diff(tree, prepend=-1))
    if starts.size < decision.roots.size:  # no admissible value is left for some tree's leaves
        none = np.empty(0, np.int64)
        return _Part(none, none, none, OUT_OF_REACH, 0.0)
    ends = np.append(starts[1:], order.size)[: starts.size]  # of no tree, none
    largest, least = order[starts], order[ends - 1]
    constant = (high[largest] == high[least]) & (low[largest] == low[least])
    constant &= leaves.whole[tree[starts]]  # else a leaf that was left out may be where a point is
    fixed = largest[constant]
    value = decision.value[k, leaves.node]
    need_low = int(decision.need_low[k]) - int(low[fixed].sum())
    need_high = int(decision.need_high[k]) - int(high[fixed].sum()) + (need_low >> decision.shift)
    need_low &= (1 << decision.shift) - 1
    need = float(decision.need[k]) - float(value[fixed].sum())
    kept = np.repeat(~constant, ends - starts)
    magnitude = float(np.abs(value[order]).max(initial=0.0)) * starts.size
    return _Part(
        order[kept],
        (ends - starts)[~constant],
        tree[starts][~constant],
        (need_high, need_low, need),
        magnitude,
    )


def _in_cells(leaves: Leaves, cells: Cells) -> tuple[Ints, Ints, Bools]:
    """First and last cell of every condition, and which leaves hold an admissible value."""
    first, last = np.zeros(leaves.feature.size, np.int64), np.zeros(leaves.feature.size, np.int64)
    for j, cuts in polled(enumerate(cells.cuts), 1):
        own = np.flatnonzero(leaves.feature == j)
        if own.size and not cells.symbolic[j]:
            # a cell ends at the largest admissible value that is at most some cut
            above, upto = leaves.above[own], leaves.upto[own]
            first[own] = np.searchsorted(cuts, above, side="right")
            last[own] = np.where(
                upto >= cells.highest[j], cuts.size, np.searchsorted(cuts, upto, side="right") - 1
            )
            none = (above >= cells.highest[j]) | (upto < cells.lowest[j])
            last[own[none]] = -1
    empty = first > last
    possible = np.ones(leaves.node.size, dtype=np.bool_)
    possible[np.searchsorted(leaves.start, np.flatnonzero(empty), side="right") - 1] = False
    return first, last, possible


def _cheapest(cells: Cells, feature: Ints, labels: Words) -> Ints:
    """The cell of the cheapest label of each condition on a category; 0 for numbers."""
    cheapest = np.zeros(feature.size, np.int64)
    for j in np.flatnonzero(cells.symbolic).tolist():
        own = np.flatnonzero(feature == j)
        if own.size:
            here = slice(cells.start[j], cells.start[j + 1])
            costs = cells.added[here].astype(np.float64) + cells.peak[here]
            order = np.argsort(costs, kind="stable")
            octets = labels[own].astype("<u8", copy=False).view(np.uint8)
            bits = np.unpackbits(octets, axis=1, bitorder="little", count=order.size)[:, order]
            cheapest[own] = cells.start[j] + np.where(
                bits.any(axis=1), order[bits.argmax(axis=1)], 0
            )
    return cheapest
