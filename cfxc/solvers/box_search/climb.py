"""First counterfactuals, fast: greedy moves of one feature at a time, then back as far as it goes.

A sweep gives the sums of all trees as a function of one feature, the others held: one walk through
each tree, both ways at splits on that feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Bools, Floats, Ints
from ...kernels import ascend, climb_step, shrink_step
from ...stopping import Pressed, TimeUp, poll, until
from .cells import NEVER, UNIT, Cells
from .decision import Decision

PATIENCE = (1.0, 0.0, 0.5)  # how much a move's cost counts against its gain
RESTARTED, TINY = (0.5, 1.0), 1e-4  # the same, where a climb starts from a point
ATTEMPTS = 60  # to find a nearer point from one that is known
HALVINGS = 12  # of the radius under linf
STUCK, MOVED, REACHED = range(3)  # what came of a greedy move
SMALL = 1e-3  # cost added to every move, as a distance


class Forest(NamedTuple):
    """Trees over cells: left if the feature's cell is at most ``bound[cut_of]`` (``below``), or by
    ``mask``.

    ``value`` (K, N) as in ``Decision``, ``need`` (K,) its ``clear``, the rest as in ``Cells``.
    """

    roots: Ints
    left: Ints
    right: Ints
    feature: Ints
    cut_of: Ints
    bound: Ints
    below: Bools
    mask: npt.NDArray[np.uint64]
    value: Floats
    need: Floats
    start: Ints
    symbolic: Bools
    home: Ints
    added: Ints
    peak: Ints


def make_forest(decision: Decision, cells: Cells) -> Forest:
    """The trees of a decision over one instance's cells."""
    bound = np.concatenate([np.empty(0, np.int64), *(
        np.where(
            cuts >= cells.highest[j], cells.size(j),
            np.searchsorted(cells.cuts[j], cuts, side="right") - 1,
        )
        for j, cuts in enumerate(decision.cuts)
    )]).astype(np.int64)  # fmt: skip
    splits = decision.splits
    return Forest(
        decision.roots, decision.left, decision.right, splits.input, decision.cut_of, bound,
        splits.below, splits.mask, decision.value, decision.clear, cells.start, cells.symbolic,
        cells.home, cells.added, cells.peak,
    )  # fmt: skip


def climb(forest: Forest, linf: bool) -> list[Ints]:
    """Points (J,) as cells that the sums of doubles put in the target, nearest first."""
    found: list[Ints] = []
    with suppress(TimeUp, Pressed):  # what was found counts; the next look ends the search
        for patience in PATIENCE:
            point = forest.home.copy()
            if _reach(forest, point, patience):
                _keep(forest, point, found)
        if linf:
            point = forest.home.copy()
            if _inflate(forest, point):
                _keep(forest, point, found)
    return _in_order(forest, found)


def reclimbed(forest: Forest, point: Ints, rng: np.random.Generator) -> list[Ints]:
    """Points nearer than a given one: some of its changes undone, and a climb from there.

    What is found is where the next attempt starts; nearest first.
    """
    best, cost, found = point, _cost(forest, point), list[Ints]()
    with suppress(TimeUp, Pressed):
        for attempt in range(ATTEMPTS):
            changed = np.flatnonzero(best != forest.home)
            undone = rng.choice(changed, rng.integers(1, changed.size // 2 + 2), replace=False)
            trial = best.copy()
            trial[undone] = forest.home[undone]
            if _reach(forest, trial, RESTARTED[attempt % len(RESTARTED)], TINY, once=False):
                _keep(forest, trial, found)
                if _cost(forest, trial) < cost:
                    best, cost = trial, _cost(forest, trial)
    return _in_order(forest, found)


def shrunk(forest: Forest, points: Iterable[Ints], deadline: float = np.inf) -> list[Ints]:
    """Points (J,) of cells in the target, moved as near as single moves get them, nearest first.

    Only as many of them, and as far, as can be moved until the deadline.
    """
    found = list[Ints]()
    with suppress(TimeUp, Pressed), until(deadline):
        for point in points:
            _keep(forest, point.copy(), found)
    return _in_order(forest, found)


def _reach(
    forest: Forest, point: Ints, patience: float, small: float = SMALL, once: bool = True
) -> bool:
    """Greedy moves of a point until it lies in the target; whether it came there."""
    moved, state = np.zeros(forest.home.size, np.bool_), MOVED
    while state == MOVED:
        poll()
        state = climb_step(forest, point, moved, patience, small / float(UNIT))
        moved[:] &= once
    return state == REACHED


def _keep(forest: Forest, point: Ints, found: list[Ints]) -> None:
    """Keep a point of the target, moved as near as single moves get it in time."""
    found.append(point)
    poll()
    while shrink_step(forest, point):
        poll()


def _in_order(forest: Forest, points: Sequence[Ints]) -> list[Ints]:
    unique = {tuple(point.tolist()): point for point in points}
    return sorted(unique.values(), key=lambda point: _cost(forest, point))


def _cost(forest: Forest, point: Ints) -> int:
    """Of a point, in sum and in maximum."""
    cells = forest.start[:-1] + point
    return int(forest.added[cells].sum() + forest.peak[cells].max(initial=0))


def _inflate(forest: Forest, point: Ints) -> bool:
    """For linf: the smallest maximum at which ascent over all features reaches the target."""
    low, high, reached = 0, int(forest.peak[forest.added < NEVER].max(initial=0)), False
    trial = point.copy()
    for attempt in range(HALVINGS + 1):
        poll()
        middle = high if attempt == 0 else (low + high) // 2
        trial[:] = forest.home
        if ascend(forest, trial, middle):
            point[:] = trial
            reached, high = True, middle
        elif attempt == 0:
            return False
        else:
            low = middle
    return reached
