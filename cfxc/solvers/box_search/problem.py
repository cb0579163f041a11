"""A query as trees, cells and constraints: all that the search and its proof are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ...compiler.passes import Ball
from ...errors import UnsupportedError
from ...frontends.query import Query
from ...ir.interval import ceil_float
from ..ball import make_ball
from .cells import Cells, Prices, make_cells, make_prices
from .decision import Decision, decision_of
from .leaves import Leaves, reachable_leaves
from .logic import Constraints, make_constraints
from .tables import Tables, make_tables


def refuses(query: Query) -> str:
    """Why box search cannot take a query; empty if it can."""
    if query.distance.norms is None:
        return f"the distance '{query.distance.name}' is not made of the norms l0, l1, l2 and linf"
    try:
        decision_of(query.target_program)
    except UnsupportedError as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class Problem:
    """The query, what decides, how far its ball goes, what moving costs, and what must hold."""

    query: Query
    decision: Decision
    ball: Ball
    prices: Prices
    constraints: Constraints

    @property
    def cells(self) -> Cells:
        """The cells between all cuts of the trees."""
        return make_cells(self.query, self.prices, self.decision.cuts)

    def within(self, radius: Fraction) -> tuple[Tables, Cells] | int:
        """What the kernel needs to search a ball; or the requirement that fails all over it."""
        ball = replace(self.ball, radius=ceil_float(radius))
        leaves, missed = reachable_leaves(self.decision, ball)
        if leaves is None:
            return missed
        cuts = _cuts(leaves, len(self.query.domains))
        cuts = [np.concatenate(both) for both in zip(cuts, self.constraints.cuts, strict=True)]
        cells = make_cells(self.query, self.prices, cuts)
        return make_tables(self.decision, leaves, cells), cells


def make_problem(query: Query) -> Problem:
    """The problem that a query poses.

    Raises:
        UnsupportedError: the trees do not decide alone.
    """
    norms = query.distance.norms
    assert norms is not None  # else the query is refused
    return Problem(
        query,
        decision_of(query.target_program),
        make_ball(query, norms, Fraction(1)),
        make_prices(query, norms),
        make_constraints(query),
    )


def _cuts(leaves: Leaves, features: int) -> list[npt.NDArray[np.float64]]:
    """Per feature the values between which its conditions tell."""
    found = []
    for j in range(features):
        own = leaves.feature == j
        bounds = np.concatenate([leaves.above[own], leaves.upto[own]])
        found.append(bounds[np.isfinite(bounds)])
    return found


__all__ = ["Problem", "make_problem", "refuses"]
