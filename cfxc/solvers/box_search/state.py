"""What the search keeps: the stack of open boxes, scratch space, and a log of all boxes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Array, Bools, Floats, Ints
from .logic import Logic
from .tables import Tables

DONE, POINT, PAUSE, FULL, ALONE, AIM = range(6)  # why the kernel returns
OPEN, NEARER, FARTHER, CLOSED = range(4)  # what to do next at a level
SPLIT, BY_DISTANCE, BY_SUM, BY_SHARING, BY_CONSTRAINT, BY_SOLVER = range(6)  # what became of a box

DEPTH, LOOKS, RADIUS, LIMIT, BOXES, DECIDING, CLOSED_BY = range(7)


class State(NamedTuple):
    """The stack of open boxes, level by level, and scratch space.

    Of the box at level d: ``first``, ``last`` (D, J), cells of numbers; ``labels`` (D, J, L) of
    categories; ``reach`` (D, W), leaves; ``phase`` (D,), what is next; ``forced`` (D,), whether its
    nearest point holds but does not count; ``box`` (D,), its number in the log; ``cut`` (D, 2), the
    split's feature and the last cell of its lower side, or its label.

    Of the Lagrangian bound (see ``kernels/box_search/ladders.hpp``): row d + 1 of ``weights``
    (D + 1, R) of rungs, of ``multiplier`` and of ``tightest``, the requirement that they are of, as
    the box at level d left them, if ``heir[d + 1]`` says d + 1; else it says which row that box and
    those below start from.  Row 0 is of the box that a handed-over stack was split off.

    Of the box looked at: ``point`` (J,), its nearest cells; ``current`` (V,), the leaves there;
    ``most``, ``now`` (K,), the sums of the largest leaves and at the point; ``more`` (M,), what a
    condition costs beyond the point; ``between`` (M,), the cut between it and the point, or -1;
    ``weight`` of cuts, ``touched`` those that have one; ``chosen`` (V,) leaves and ``top`` (V,),
    what each adds less what it pays, at ``last_multiplier`` (1,), and by how much the bound
    misses closing the box, ``excess`` (1,); ``density`` (C,) of cells, ``price`` (R,) of rungs,
    ``within`` (Q, 2), the first and the end of each ladder's rungs in the box; ``single`` (J, L),
    the point's labels; ``lower``, ``upper``, the terms of the constraints; ``aim`` (J,), numbers at
    which ramps reach what is needed, ``beyond`` and ``trial`` (J,) on the way there.  ``control``:
    see the names above.
    """

    control: Ints
    first: Ints
    last: Ints
    labels: npt.NDArray[np.uint64]
    reach: npt.NDArray[np.uint64]
    phase: Ints
    forced: Bools
    box: Ints
    cut: Ints
    point: Ints
    holding: npt.NDArray[np.uint64]
    side: npt.NDArray[np.uint64]
    current: Ints
    most: Floats
    now: Floats
    weight: Floats
    touched: Ints
    chosen: Ints
    single: npt.NDArray[np.uint64]
    lower: Floats
    upper: Floats
    more: Ints
    between: Ints
    weights: Floats
    heir: Ints
    tightest: Ints
    multiplier: Floats
    density: Floats
    price: Floats
    top: Floats
    excess: Floats
    last_multiplier: Floats
    within: Ints
    aim: Floats
    beyond: Floats
    trial: Floats


def make_state(
    tables: Tables, logic: Logic, labels: npt.NDArray[np.uint64], depth: int = 256
) -> State:
    """A stack with one open box: all cells, and of categories the given labels (J, L)."""
    features, words = tables.home.size, tables.full.size
    trees, cells = tables.first_word.size - 1, int(tables.start[-1])
    needs, rungs = tables.need.size, tables.rung_cell.size
    state = State(
        np.zeros(7, np.int64),
        np.zeros((depth, features), np.int64), np.zeros((depth, features), np.int64),
        np.zeros((depth, *labels.shape), np.uint64), np.zeros((depth, words), np.uint64),
        np.zeros(depth, np.int64), np.zeros(depth, np.bool_), np.zeros(depth, np.int64),
        np.zeros((depth, 2), np.int64), np.zeros(features, np.int64), np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        np.zeros(trees, np.int64),
        np.zeros(needs), np.zeros(needs), np.zeros(2 * cells), np.zeros(2 * cells, np.int64),
        np.zeros(trees, np.int64), np.zeros(labels.shape, np.uint64), np.zeros(logic.kind.size),
        np.zeros(logic.kind.size),
        np.zeros(tables.feature.size, np.int64), np.zeros(tables.feature.size, np.int64),
        np.zeros((depth + 1, rungs)), np.zeros(depth + 1, np.int64),
        np.zeros(depth + 1, np.int64), np.zeros(depth + 1), np.zeros(cells), np.zeros(rungs),
        np.zeros(trees), np.zeros(1), np.zeros(1), np.zeros((tables.ladder_of.size, 2), np.int64),
        np.zeros(features), np.zeros(features), np.zeros(features),
    )  # fmt: skip
    state.last[0] = tables.start[1:] - tables.start[:-1] - 1
    state.labels[0] = labels
    state.reach[0] = tables.full
    state.control[BOXES] = 1
    return state


def all_labels(tables: Tables) -> npt.NDArray[np.uint64]:
    """Every label of every category (J, L); what is not admissible costs more than any radius."""
    labels = np.zeros((tables.home.size, tables.labels.shape[1]), np.uint64)
    for j in np.flatnonzero(tables.symbolic).tolist():
        size = int(tables.start[j + 1] - tables.start[j])
        labels[j, : size // 64] = ~np.uint64(0)
        if size % 64:
            labels[j, size // 64] = np.uint64((1 << size % 64) - 1)
    return labels


class Log(NamedTuple):
    """What became of every box, by number (N,): its parent, and which side of its split it is.

    ``side``: 0 for the lower cells, or the label; 1 for the upper cells, or the other labels.
    ``fate``: ``SPLIT`` or what closed it; ``what``, ``where`` (N,): the feature and cell of the
    split, or the requirement that fails; ``radius``: the one in force.
    """

    parent: npt.NDArray[np.int32]
    side: npt.NDArray[np.int8]
    fate: npt.NDArray[np.int8]
    what: npt.NDArray[np.int32]
    where: npt.NDArray[np.int32]
    radius: Ints

    def first(self, size: int) -> Log:
        """A copy of the first boxes."""
        return Log(
            self.parent[:size].copy(), self.side[:size].copy(), self.fate[:size].copy(),
            self.what[:size].copy(), self.where[:size].copy(), self.radius[:size].copy(),
        )  # fmt: skip


def make_log(size: int = 4096) -> Log:
    """Room for ``size`` boxes; the first is the root."""
    small, tiny = np.zeros(size, np.int32), np.zeros(size, np.int8)
    return Log(small - 1, tiny, tiny.copy(), small.copy(), small.copy(), np.zeros(size, np.int64))


def roomier(state: State, log: Log) -> tuple[State, Log]:
    """The same stack and log with room for twice as much, where they are nearly full."""
    if state.control[DEPTH] + 2 >= state.phase.size:
        names = (
            "first", "last", "labels", "reach", "phase", "forced", "box", "cut", "weights", "heir",
            "tightest", "multiplier",
        )  # fmt: skip
        state = state._replace(**{name: _doubled(getattr(state, name)) for name in names})
    if state.control[BOXES] + 2 >= log.parent.size:
        log = Log(*(_doubled(array) for array in log))
    return state, log


def _doubled(array: Array) -> Array:
    return np.concatenate([array, np.zeros_like(array)])
