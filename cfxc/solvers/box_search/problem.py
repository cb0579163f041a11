"""A query as trees, cells and constraints: all that the search and its proof are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ...arrays import Floats
from ...compiler.passes import Ball
from ...errors import UnsupportedError
from ...ir import Program
from ...ir.interval import ceil_float
from ...question.query import Query
from ...space import FeatureSpace
from ...space.names import shown
from ...stopping import poll
from ..encoding.ball import make_ball, reach_of
from .cells import Cells, Costs, make_cells, make_costs
from .decision import Decision, decision_of, with_trees
from .functions import Ramps, make_ramps, stair_cuts, stairs, tree_over_cuts
from .leaves import Leaves, reachable_leaves
from .logic import Constraints, make_constraints
from .tables import Tables, make_tables

BEYOND = 1.05  # times what a ball allows: the last stair must lie outside


def refuses(query: Query) -> str:
    """Why box search cannot take a query; empty if it can."""
    if query.distance.norms is None:
        return f"the distance '{query.distance.name}' is not made of the norms l0, l1, l2 and linf"
    try:
        decision = decision_for(query, query.target_program)
    except UnsupportedError as error:
        return str(error)
    moved = [query.domains[ramp.feature] for ramp in decision.ramps]
    if gaps := [domain.name for domain in moved if domain.first is not None]:
        return f"{shown(gaps)} may be filled in or lost, and is added up beside trees"
    return ""


def only_trees(query: Query) -> bool:
    """Whether trees alone decide a query that is not refused, without terms beside them."""
    return not decision_for(query, query.target_program).ramps


@dataclass(frozen=True)
class Problem:
    """The query, what decides, how far its ball goes, what moving costs, and what must hold."""

    query: Query
    decision: Decision
    ball: Ball
    costs: Costs
    constraints: Constraints

    def sketch(self) -> tuple[Decision, Cells]:
        """Trees to climb on, with ramps as values near the factual, and the cells of their cuts."""
        decision = self._with_stairs(None)
        return decision, make_cells(self.query, self.costs, decision.cuts)

    def _with_stairs(self, ball: Ball | None) -> Decision:
        """The decision with stairs above ramps within a ball, or near them wherever they go."""
        own, trees = self.decision, []
        for ramp in own.ramps:
            domain = self.query.domains[ramp.feature]
            delta = BEYOND * reach_of(ball, ramp.feature) if ball else 1.0
            cuts = stair_cuts(domain, delta, even=ball is not None)
            worths = stairs(ramp, domain, cuts, nearest=ball is None)
            splits, root = tree_over_cuts(ramp.feature, cuts, own.splits.mask.shape[1])
            trees.append((splits, root, [worths[0]] * cuts.size + worths))
        if not trees:
            return own
        made = with_trees(own, trees, len(self.query.domains))
        return replace(made, first_stairs=own.roots.size)

    def _ramps(self, decision: Decision) -> Ramps:
        needs, first = decision.need.size, decision.first_stairs
        return make_ramps(decision.ramps, needs, first, self.query.domains, self.costs)

    def within(self, radius: Fraction) -> tuple[Tables, Cells] | int:
        """What the kernel needs to search a ball; or the requirement that fails all over it."""
        ball = replace(self.ball, radius=ceil_float(radius))
        decision = self._with_stairs(ball)
        leaves, missed = reachable_leaves(decision, ball)
        if leaves is None:
            return missed
        poll()
        cuts = _cuts(leaves, len(self.query.domains))
        cuts = [np.concatenate(both) for both in zip(cuts, self.constraints.cuts, strict=True)]
        cells = make_cells(self.query, self.costs, cuts)
        return make_tables(decision, leaves, cells, self._ramps(decision)), cells


def decision_for(query: Query, target: Program) -> Decision:
    """What decides a target program over the features of a query.

    Raises:
        UnsupportedError: the trees do not decide, alone or beside functions of one feature.
    """
    return _decision_in(query.space, target)


@lru_cache(maxsize=32)
def _decision_in(space: FeatureSpace, target: Program) -> Decision:
    """Known by the space itself, which takes less than comparing what it holds."""
    none = Fraction(0), Fraction(0)
    return decision_of(target, tuple(none if f.is_symbolic else f.extent for f in space))


def make_problem(query: Query) -> Problem:
    """The problem that a query poses.

    Raises:
        UnsupportedError: the trees do not decide alone.
    """
    norms = query.distance.norms
    assert norms is not None  # else the query is refused
    return Problem(
        query,
        decision_for(query, query.target_program),
        make_ball(query, norms, Fraction(1)),
        make_costs(query, norms),
        make_constraints(query),
    )


def _cuts(leaves: Leaves, features: int) -> list[Floats]:
    """Per feature the values between which its conditions tell."""
    found = []
    for j in range(features):
        own = leaves.feature == j
        bounds = np.concatenate([leaves.above[own], leaves.upto[own]])
        found.append(bounds[np.isfinite(bounds)])
    return found
