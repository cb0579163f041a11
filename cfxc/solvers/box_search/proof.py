"""Why nothing lies within a radius: the boxes that cover the ball, and what closed each of them.

The log of a search is a tree of splits.  How a box was closed follows from its path: multipliers of
Lagrangian bounds are made again on demand, as the search made them, and are plain numbers that
can be checked in exact arithmetic.  In a box, a leaf counts only if the requirement can hold
with it and the largest leaves of the other trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...ir import Label
from ...kernels import retrace
from ...question.query import Query
from .cells import UNIT, Cells
from .problem import Problem
from .state import (
    BY_CONSTRAINT,
    BY_DISTANCE,
    BY_SHARING,
    BY_SOLVER,
    BY_SUM,
    SPLIT,
    Log,
    State,
    all_labels,
    make_log,
    make_state,
)  # fmt: skip
from .tables import Tables

REASONS = {
    BY_DISTANCE: "distance", BY_SUM: "sum", BY_SHARING: "sharing", BY_CONSTRAINT: "constraint",
    BY_SOLVER: "solver",
}  # fmt: skip


At = tuple[int, str]  # a tree and a feature


@dataclass(frozen=True)
class Split:
    """A box in two: ``feature <= cut`` and ``> cut``, or ``feature == label`` and ``!= label``."""

    feature: str
    cut: Fraction | None
    label: Label
    children: tuple[int, int]


@dataclass(frozen=True)
class Sharing:
    """Multipliers of a Lagrangian bound.

    ``multiplier``: λ, per ``UNIT`` of distance; ``shares``: of each feature's cost that each tree
    bears, by (tree, feature); those of a feature sum to 1.  ``weights``: by (tree, feature), of
    costs up to some, below 0 where the feature moves down; a tree's share of a layer is its weight
    there and beyond over that of all.
    """

    multiplier: Fraction
    shares: Mapping[At, Fraction]
    weights: Mapping[At, Mapping[Fraction, Fraction]]


@dataclass(frozen=True)
class Closing:
    """Why a box holds no counterfactual within the radius.

    ``reason``: ``distance`` (its nearest point lies beyond), ``sum`` (the requirement is out of
    reach of the largest leaves), ``sharing`` (of the Lagrangian bound with these multipliers),
    ``constraint`` (no admissible point), ``solver`` (an SMT solver said so).
    """

    reason: str
    requirement: int | None = None
    sharing: Sharing | None = None


class SplitTree:
    """A proof that no counterfactual lies within ``radius``: box 0 is all admissible points."""

    def __init__(
        self, problem: Problem, radius: Fraction, log: Log, size: int, built: Fraction | None
    ) -> None:
        """``built``: the radius of the ball whose tables were searched; ``None`` if none were."""
        self.problem, self.radius = problem, radius
        self._log, self._built = log.first(size), built

    @classmethod
    def of_one(cls, problem: Problem, radius: Fraction, requirement: int) -> SplitTree:
        """All admissible points within the radius miss one requirement, by its largest leaves."""
        log = make_log(1)
        log.fate[0], log.what[0] = BY_SUM, requirement
        return cls(problem, radius, log, 1, None)

    @property
    def query(self) -> Query:
        """The question that it answers."""
        return self.problem.query

    @property
    def is_single(self) -> bool:
        """Whether nothing had to be split, nor any table to be built."""
        return self._built is None

    def __len__(self) -> int:
        return int(self._log.parent.size)

    def __getitem__(self, box: int) -> Split | Closing:
        """How a box is split, or why it is closed."""
        log = self._log
        fate, what = int(log.fate[box]), int(log.what[box])
        if fate != SPLIT:
            decided = what if fate in (BY_SUM, BY_SHARING) else None
            sharing = self._sharing(box) if fate == BY_SHARING else None
            return Closing(REASONS[fate], decided, sharing)
        _, cells = self._parts
        domain, cell = self.query.domains[what], int(log.where[box])
        pair = (int(self._children[box, 0]), int(self._children[box, 1]))
        if domain.is_symbolic:
            return Split(domain.name, None, domain.feature.labels[cell], pair)
        cut = Fraction(float(cells.largest[cells.start[what] + cell]))
        return Split(domain.name, cut, None, pair)

    def __iter__(self) -> Iterator[Split | Closing]:
        return (self[box] for box in range(len(self)))

    @property
    def reasons(self) -> dict[str, int]:
        """How many boxes were closed for which reason."""
        fates = self._log.fate.tolist()
        return {name: fates.count(fate) for fate, name in REASONS.items() if fate in fates}

    @cached_property
    def _parts(self) -> tuple[Tables, Cells]:
        assert self._built is not None  # a proof by splits
        parts = self.problem.within(self._built)
        assert not isinstance(parts, int)  # the search has seen them
        return parts

    @cached_property
    def _children(self) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        children = np.full((len(self), 2), -1, dtype=np.int64)
        own = np.arange(1, len(self))
        children[self._log.parent[1:], self._log.side[1:]] = own
        return children

    def _sharing(self, box: int) -> Sharing:
        """The multipliers that closed a box, by looking at its path again."""
        tables, _ = self._parts
        logic = self.problem.constraints.logic
        log, path = self._log, [box]
        while path[-1]:
            path.append(int(log.parent[path[-1]]))
        path.reverse()
        state = make_state(tables, logic, all_labels(tables), len(path) + 2)
        above = np.array(path[:-1], dtype=np.int64)
        cuts = np.stack([log.what[above], log.where[above]], axis=1).astype(np.int64)
        sides = log.side[np.array(path[1:], dtype=np.int64)]
        retrace(tables, logic, state, cuts, sides, log.radius[np.array(path)])
        return self._shared(state, len(path), int(log.what[box]))

    def _shared(self, state: State, row: int, k: int) -> Sharing:
        """The multipliers of requirement k that a look at a box left in a ``row`` of the state.

        Where no trees share costs, ramps bear those of the features that they read.
        """
        tables, ramps = self._parts[0], self._parts[0].ramps
        names = [domain.name for domain in self.query.domains]
        shares, weights = dict[At, Fraction](), dict[At, dict[Fraction, Fraction]]()
        for tree in range(int(tables.first_tree[k]), int(tables.first_tree[k + 1])):
            number = int(tables.tree[tree])
            if state.heir[row] != row:
                if 0 <= ramps.first <= number:
                    shares[number, names[ramps.feature[number - ramps.first]]] = Fraction(1)
                continue
            for q in range(int(tables.first_ladder[tree]), int(tables.first_ladder[tree + 1])):
                j, way = divmod(int(tables.ladder_of[q]), 2)
                for r in range(*state.within[q].tolist()):
                    weight = Fraction(float(state.weights[row, r]))
                    cost = int(tables.added[tables.rung_cell[r]]) * UNIT
                    if weight and tables.whole[j]:
                        shares[number, names[j]] = weight
                    elif weight:
                        own = weights.setdefault((number, names[j]), {})
                        at = -cost if way else cost  # cells may cost the same
                        own[at] = own.get(at, Fraction(0)) + weight
        totals = dict[str, Fraction]()
        for (_, name), share in shares.items():
            totals[name] = totals.get(name, Fraction(0)) + share
        parted = {at: share / totals[at[1]] for at, share in shares.items()}
        return Sharing(Fraction(float(state.multiplier[row])), parted, weights)
