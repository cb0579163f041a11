"""What plans answer: rows, and how likely they stay valid; or rows that enough models accept."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...answers.answer import from_to
from ...answers.cells import changes_between, plain_cell, plain_row
from ...answers.parts import PREFIX
from ...answers.result import Semantics, Status
from ...arrays import Floats
from ...errors import InvalidInputError
from ...markup import card
from ...markup import changes as changes_html
from ...show.numbers import shown
from ...show.plots import BLUE, INK, VERMILLION, axes_for, saved
from ...space.tables import as_given, as_pandas, indexed
from .bounds import validity_bounds
from .futures import Moments
from .parts import Part

PlanStatus = Literal["feasible", "infeasible", "unknown"]
CURVE = 12  # radii at which a plot asks for the bounds


@dataclass(frozen=True)
class Step:
    """Where a plan stood on its way.

    Attributes:
        name: ``gradient`` (COPA's points), ``given`` (the plan to correct), ``rows`` (the nearest
            rows that a plan may hold), ``improvement`` (Mahalanobis).
        lower, upper: L* and U* then.
        moved: Which rows the step moved, from 0.
    """

    name: str
    lower: float
    upper: float
    moved: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class PlanResult:
    """A plan of several counterfactuals, and bounds on how likely all of them stay valid.

    Attributes:
        status: ``feasible`` (a plan), ``infeasible`` (not even one row qualifies, proved), or
            ``unknown`` (the time was up; ``plan`` has the rows found by then).
        target: The target label.
        plan: J rows like the factual, distinct, or ``None``.
        lower, upper: L* and U*: whatever law the future parameters have with moments within
            ``radius`` of ``moments``, the chance that *all* rows are valid lies between them.
            Proved in exact arithmetic, of ``vectors`` as they are.
        radius: ρ, of the Gelbrich ball.
        valid: Whether the original model gives each row the target outcome, asked row by row.
        outcomes, outcome_before: What it says.
        margins: μ̂ᵀx_j, at least ``epsilon`` each.
        radii: r(x_j): the least is what COPA makes large.
        proximity: Mean Euclidean distance of the vectors from the factual's.
        diversity: det K of the vectors, in [0, 1].
        vectors: The rows as the bounds see them (:class:`Encoding`), shape (J, d).
        trace: The steps that led here.
        reason: ``time limit`` if the time was up: of a plan, before all rows asked for could be
            improved; of an infeasible one, who proved it.
        by_default: Whether the target was not named: it is the other label of two.
    """

    status: PlanStatus
    target: Any
    factual: Any
    plan: Any
    lower: float
    upper: float
    radius: float
    epsilon: float
    outcome_before: Any
    outcomes: tuple[Any, ...]
    valid: tuple[bool, ...]
    margins: tuple[float, ...]
    radii: tuple[float, ...]
    proximity: float
    diversity: float
    method: str
    trace: tuple[Step, ...]
    seconds: float
    reason: str
    vectors: Floats = field(repr=False, compare=False)
    moments: Moments = field(repr=False, compare=False)
    by_default: bool = False

    @property
    def asked(self) -> str:
        """Which outcome was had and which was asked for, and whether nobody named it."""
        return from_to(self.outcome_before, self.target, self.by_default)

    @property
    def changes(self) -> tuple[dict[str, tuple[Any, Any]], ...]:
        """Of each row the changed columns: name → (before, after)."""
        if self.plan is None:
            return ()
        before = pd.concat([as_pandas(self.factual)] * len(self.plan))
        return tuple(changes_between(before, as_pandas(self.plan)))

    def in_library_of(self, given: Any) -> PlanResult:
        """The same with rows in the library and dtypes of a table that was given."""
        plan = None if self.plan is None else as_given(self.plan, given)
        return replace(self, factual=as_given(self.factual, given), plan=plan)

    @property
    def share(self) -> float | None:
        """Under which share of the models that the moments come from all rows are valid."""
        if self.plan is None or self.moments.samples is None:
            return None
        return self.moments.validity(self.vectors)

    def bounds(self, radius: float) -> tuple[float, float]:
        """L* and U* at another radius.

        Raises:
            InvalidInputError: there is no plan, or no such radius.
        """
        if self.plan is None:
            raise InvalidInputError("there is no plan to bound")
        return validity_bounds(self.vectors, self.moments.mean, self.moments.covariance, radius)

    def to_frame(self) -> Any:
        """Factual and plan as rows, indexed ``factual``, ``plan 1`` …

        Tables without an index have these names in a first column, ``row``.
        """
        return indexed(self._table(), self.factual)

    def _table(self) -> pd.DataFrame:
        if self.plan is None:
            return as_pandas(self.factual).set_axis(["factual"], axis=0)
        names = ["factual", *(f"plan {i}" for i in range(1, len(self.plan) + 1))]
        return pd.concat([as_pandas(self.factual), as_pandas(self.plan)]).set_axis(names, axis=0)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; rows as column → value."""
        count = 0 if self.plan is None else len(self.plan)
        plan = as_pandas(self.plan)
        rows = [plan.iloc[[i]] for i in range(count)]
        return {
            "status": self.status,
            "target": plain_cell(self.target),
            "factual": plain_row(as_pandas(self.factual)),
            "plan": [plain_row(row) for row in rows],
            "changes": [{c: list(pair) for c, pair in each.items()} for each in self.changes],
            "lower": self.lower,
            "upper": self.upper,
            "radius": self.radius,
            "epsilon": self.epsilon,
            "outcome_before": plain_cell(self.outcome_before),
            "outcomes": [plain_cell(outcome) for outcome in self.outcomes],
            "valid": list(self.valid),
            "margins": list(self.margins),
            "radii": list(self.radii),
            "share_of_models": self.share,
            "models": 0 if self.moments.samples is None else len(self.moments.samples),
            "shrinkage": self.moments.shrinkage,
            "proximity": self.proximity,
            "diversity": self.diversity,
            "method": self.method,
            "trace": [
                {"step": s.name, "lower": s.lower, "upper": s.upper, "moved": list(s.moved)}
                for s in self.trace
            ],
            "seconds": self.seconds,
            "reason": self.reason,
            "by_default": self.by_default,
        }

    def summary(self) -> str:
        """One line: what was found and what was proved."""
        return f"{self._found()}; {self.asked}"

    def _found(self) -> str:
        if self.status == "infeasible":
            why = "no admissible row has the target outcome and epsilon"
            return f"infeasible: {why} ({self.reason})"
        if self.plan is None:
            return f"unknown: {self.reason}; raise time_limit"
        late = f" ({self.reason}; raise time_limit)" if self.reason else ""
        found = f"{self.status}{late}: {len(self.plan)} rows, {sum(self.valid)} valid now"
        return (
            f"{found}; all stay valid with a chance of at least {self.lower:.4g}, at most "
            f"{self.upper:.4g} (proved, for moments within {self.radius:g})"
        )

    def plot(
        self, path: str | Path | None = None, *, largest: float | None = None, ax: Any = None
    ) -> Any:
        """L* and U* against the radius ρ; returns the axes.

        Args:
            path: A file to write to, such as ``bounds.svg``.
            largest: The largest radius; by default far enough to see the bound fall.
            ax: Axes of matplotlib to draw on; by default new ones.

        Raises:
            MissingExtraError: matplotlib is not installed.
            InvalidInputError: there is no plan.
        """
        if self.plan is None:
            raise InvalidInputError("there is no plan to plot")
        # at |θ - μ̂| = μ̂ᵀx/|x| some law puts its mean on the border, and L* is 0
        norms = np.linalg.norm(self.vectors, axis=1)
        edge = float(np.min(np.array(self.margins) / norms))
        end = max(edge, 2 * self.radius) if largest is None else largest
        radii = np.linspace(0, end, CURVE).tolist()
        pairs = [self.bounds(radius) for radius in radii]
        axes = axes_for("plotting bounds", ax, path=path)
        axes.plot(radii, [b for b, _ in pairs], "--^", ms=4, color=VERMILLION, label="L*: at least")
        axes.plot(radii, [b for _, b in pairs], "-o", ms=4, color=BLUE, label="U*: at most")
        axes.axvline(self.radius, linestyle=":", color=INK, label="asked for")
        axes.set(xlabel="radius ρ", ylabel="chance that all rows stay valid", ylim=(-0.05, 1.05))
        axes.legend(frameon=False)
        return saved(axes, path)

    def _repr_html_(self) -> str:
        table = self._table()
        before, *after = (
            [str(cell) for cell in plain_row(table.iloc[[i]]).values()] for i in range(len(table))
        )
        titles = [f"plan {i}" for i in range(1, len(after) + 1)]
        names = list(map(str, table.columns))
        return card(self.summary(), changes_html(names, before, after, titles))

    def __repr__(self) -> str:
        return f"PlanResult({self.summary()})"


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
    row: Any
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
            more (``stop_reason``); ``feasible``; without any member ``infeasible`` (none exists,
            proved) or ``unknown``.
        factual: The row asked about.
        members: In the order in which they were found.
        needed: How many of the other models must accept a member, of ``count``.
        lower_bound: No such row lies nearer than this; the first member's, or all that is known.
        provers: Who showed it, or that there is none.
        stop_reason: Why there are fewer than asked for: no other one exists (``infeasible``,
            proved), or none was found in time (``unknown``); empty if none is missing.
        conflict: If none exists and all models must accept it: models, numbered from 0, that leave
            none together with the model itself; empty if that leaves none alone.  Each is needed,
            unless time was too short to show that one is not.
        reason: Why the last search ended early.
        semantics: What bounds speak of, as in :class:`cfxc.Result`.
    """

    status: Status
    factual: Any
    members: tuple[Member, ...]
    needed: int
    count: int
    lower_bound: float
    exact_lower_bound: Fraction
    provers: tuple[str, ...]
    epsilon: float
    distance_name: str
    semantics: Semantics
    stop_reason: str
    conflict: tuple[int, ...]
    reason: str
    seconds: float

    def in_library_of(self, given: Any) -> RobustPlan:
        """The same with rows in the library and dtypes of a table that was given."""
        members = tuple(replace(one, row=as_given(one.row, given)) for one in self.members)
        return replace(self, factual=as_given(self.factual, given), members=members)

    @property
    def rows(self) -> Any:
        """The members as a table with the factual's columns and types; without rows if none is."""
        return as_given(self._table(), self.factual)

    def _table(self) -> pd.DataFrame:
        if not self.members:
            return as_pandas(self.factual).iloc[:0]
        rows = [as_pandas(member.row) for member in self.members]
        return pd.concat(rows, ignore_index=True)

    @property
    def validity(self) -> pd.DataFrame:
        """Whether each other model (a column) accepts each member (a row)."""
        return pd.DataFrame(
            [member.valid for member in self.members], columns=range(self.count), dtype=bool
        )

    @property
    def changes(self) -> list[dict[str, tuple[Any, Any]]]:
        """What each member changes: column → (before, after)."""
        rows = [as_pandas(member.row) for member in self.members]
        return [changes_between(as_pandas(self.factual), row)[0] for row in rows]

    def to_frame(self) -> Any:
        """Members with ``status``, ``distance``, ``lower_bound``, ``valid``, and their columns."""
        facts = pd.DataFrame(
            {
                "status": pd.Series([m.status for m in self.members], dtype=object),
                "distance": pd.Series([m.distance for m in self.members], dtype=float),
                "lower_bound": pd.Series([m.lower_bound for m in self.members], dtype=float),
                "valid": pd.Series([sum(m.valid) for m in self.members], dtype=int),
            }
        )
        table = pd.concat([facts, self._table().add_prefix(PREFIX)], axis=1)
        return as_given(table, self.factual, PREFIX)

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
        if self.stop_reason:
            more = (
                "no other exists"
                if self.stop_reason == "infeasible"
                else f"no other: {self.reason}"
            )
            lines.append(more)
        return "\n".join(lines)
