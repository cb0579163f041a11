"""What ``robust`` answers: rows that enough models accept, and what is proved of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pandas as pd

from ...answers.result import Semantics, Status, changes_between, shown
from .parts import Part


@dataclass(frozen=True, eq=False)
class Member:
    """One row of a plan; the optimum lies in [``lower_bound``, ``distance``].

    Attributes:
        status: ``optimal`` (``lower_bound >= (1 - epsilon) * distance``) or ``feasible``.
        row: One-row table like the factual.
        distance: Its distance from the factual, rounded up.
        lower_bound: No row that enough models accept lies nearer, but for earlier members; rounded
            down.
        exact_distance, exact_lower_bound: The same as exact numbers; of l2 the doubles around it.
        valid: Whether each of the other models, re-run on the row, accepts it, and its exact
            program does.
        outcomes: What the model and then each of the others say of the row.
        provers: Who showed the lower bound.
        parts: What it rests on: see :mod:`cfxc.methods.plans.parts`.
        seconds: Of the search for it.
    """

    status: Status
    row: pd.DataFrame
    distance: float
    lower_bound: float
    exact_distance: Fraction
    exact_lower_bound: Fraction
    valid: tuple[bool, ...]
    outcomes: tuple[Any, ...]
    provers: tuple[str, ...]
    parts: tuple[Part, ...] = field(repr=False)
    seconds: float

    @property
    def share(self) -> float:
        """Which share of the other models accepts it."""
        return sum(self.valid) / len(self.valid)


@dataclass(frozen=True, eq=False)
class RobustPlan:
    """Counterfactuals that a model and enough of others accept, nearest first within ``epsilon``.

    Attributes:
        status: Of the whole: ``optimal`` if every member is and none is missing, or there are no
            more (``rest``); ``feasible``; without any member ``infeasible`` (none exists, proved)
            or ``unknown``.
        factual: The row asked about.
        members: In the order in which they were found.
        needed: How many of the other models must accept a member, of ``count``.
        lower_bound: No such row lies nearer than this; the first member's, or all that is known.
        provers: Who showed it, or that there is none.
        rest: Why there are fewer than asked for: no other one exists (``infeasible``, proved), or
            none was found in time (``unknown``); empty if none is missing.
        conflict: If none exists and all models must accept it: models, numbered from 0, that leave
            none together with the model itself; empty if that leaves none alone.  Each is needed,
            unless time was too short to show that one is not.
        reason: Why the last search ended early.
        semantics: What bounds speak of, as in :class:`cfxc.Result`.
    """

    status: Status
    factual: pd.DataFrame
    members: tuple[Member, ...]
    needed: int
    count: int
    lower_bound: float
    exact_lower_bound: Fraction
    provers: tuple[str, ...]
    epsilon: float
    distance_name: str
    semantics: Semantics
    rest: str
    conflict: tuple[int, ...]
    reason: str
    seconds: float

    @property
    def rows(self) -> pd.DataFrame:
        """The members as a table with the factual's columns and types; without rows if none is."""
        if not self.members:
            return self.factual.iloc[:0]
        return pd.concat([member.row for member in self.members], ignore_index=True)

    @property
    def validity(self) -> pd.DataFrame:
        """Whether each other model (a column) accepts each member (a row)."""
        return pd.DataFrame(
            [member.valid for member in self.members], columns=range(self.count), dtype=bool
        )

    @property
    def changes(self) -> list[dict[str, tuple[Any, Any]]]:
        """What each member changes: column → (before, after)."""
        return [changes_between(self.factual, member.row)[0] for member in self.members]

    def to_frame(self) -> pd.DataFrame:
        """Members with ``status``, ``distance``, ``lower_bound``, ``valid``, and their columns."""
        facts = pd.DataFrame(
            {
                "status": pd.Series([m.status for m in self.members], dtype=object),
                "distance": pd.Series([m.distance for m in self.members], dtype=float),
                "lower_bound": pd.Series([m.lower_bound for m in self.members], dtype=float),
                "valid": pd.Series([sum(m.valid) for m in self.members], dtype=int),
            }
        )
        return pd.concat([facts, self.rows.add_prefix("counterfactual.")], axis=1)

    def summary(self) -> str:
        """A line for each member, or why there is none."""
        asked = f"at least {self.needed} of {self.count} other models"
        if self.status == "infeasible":
            why = ""
            if self.conflict:
                why = f": others {', '.join(map(str, self.conflict))} leave none"
            by = ", ".join(self.provers)
            return f"no counterfactual is valid for {asked} (proved by {by}){why}"
        lower = shown(self.exact_lower_bound, -1)
        if not self.members:
            return f"unknown: {self.reason}; none is nearer than {lower}"
        lines = [
            f"{m.status}: {self.distance_name} distance {shown(m.exact_distance, 1)}, valid for "
            f"{sum(m.valid)} of {self.count} other models; nothing nearer than "
            f"{shown(m.exact_lower_bound, -1)} is valid for {self.needed}"
            for m in self.members
        ]
        if self.rest:
            more = "no other exists" if self.rest == "infeasible" else f"no other: {self.reason}"
            lines.append(more)
        return "\n".join(lines)


__all__ = ["Member", "RobustPlan"]
