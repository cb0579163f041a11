"""The answer to the question for a plan: its rows, and how likely they stay valid."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...answers.result import changes_between, plain_cell, plain_row
from ...errors import InvalidInputError, MissingExtraError
from ...writing import written_whole
from .bounds import validity_bounds
from .futures import Moments
from .moments import Floats

Status = Literal["feasible", "infeasible", "unknown"]
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


@dataclass(frozen=True, eq=False)
class PlanResult:
    """A plan of several counterfactuals, and bounds on how likely all of them stay valid.

    Attributes:
        status: ``feasible`` (a plan), ``infeasible`` (not even one row qualifies, proved), or
            ``unknown`` (the time was up; ``plan`` has the rows found by then).
        target: The wanted label.
        plan: J rows like the factual, distinct, or ``None``.
        lower, upper: L* and U*: whatever law the future parameters have with moments within
            ``radius`` of ``moments``, the chance that *all* rows are valid lies between them.
            Proved in exact arithmetic, of ``vectors`` as they are.
        radius: ρ, of the Gelbrich ball.
        valid: Whether the original model gives each row the wanted outcome, asked row by row.
        outcomes, outcome_before: What it says.
        margins: μ̂ᵀx_j, at least ``epsilon`` each.
        radii: r(x_j): the least is what COPA makes large.
        proximity: Mean Euclidean distance of the vectors from the factual's.
        diversity: det K of the vectors, in [0, 1].
        vectors: The rows as the bounds see them (:class:`Encoding`), shape (J, d).
        trace: The steps that led here.
        reason: ``time limit`` if the time was up: of a plan, before all rows asked for could be
            improved; of an infeasible one, who proved it.
    """

    status: Status
    target: Any
    factual: pd.DataFrame
    plan: pd.DataFrame | None
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

    @property
    def changes(self) -> tuple[dict[str, tuple[Any, Any]], ...]:
        """Of each row the changed columns: name → (before, after)."""
        if self.plan is None:
            return ()
        before = pd.concat([self.factual] * len(self.plan))
        return tuple(changes_between(before, self.plan))

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

    def to_frame(self) -> pd.DataFrame:
        """Factual and plan as rows, indexed ``factual``, ``plan 1`` …"""
        if self.plan is None:
            return self.factual.set_axis(["factual"], axis=0)
        names = ["factual", *(f"plan {i}" for i in range(1, len(self.plan) + 1))]
        return pd.concat([self.factual, self.plan]).set_axis(names, axis=0)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; rows as column → value."""
        count = 0 if self.plan is None else len(self.plan)
        rows = [] if self.plan is None else [self.plan.iloc[[i]] for i in range(count)]
        return {
            "status": self.status,
            "target": plain_cell(self.target),
            "factual": plain_row(self.factual),
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
        }

    def summary(self) -> str:
        """One line: what was found and what was proved."""
        if self.status == "infeasible":
            why = "no admissible row has the wanted outcome and epsilon"
            return f"infeasible: {why} ({self.reason})"
        if self.plan is None:
            return f"unknown: {self.reason}"
        found = f"{self.status}: {len(self.plan)} rows, {sum(self.valid)} valid now"
        return (
            f"{found}; all stay valid with a chance of at least {self.lower:.4g}, at most "
            f"{self.upper:.4g} (proved, for moments within {self.radius:g})"
        )

    def plot(self, path: str | Path | None = None, largest: float | None = None) -> Any:
        """L* and U* against the radius ρ, as a matplotlib figure; saved if a path is given.

        Args:
            largest: The largest radius; by default far enough to see the bound fall.

        Raises:
            MissingExtraError: matplotlib is not installed.
            InvalidInputError: there is no plan.
        """
        try:
            from matplotlib.figure import Figure
        except ModuleNotFoundError as error:
            raise MissingExtraError("plot", "matplotlib", "plotting bounds") from error
        if self.plan is None:
            raise InvalidInputError("there is no plan to plot")
        # at |θ - μ̂| = μ̂ᵀx/|x| some law puts its mean on the border, and L* is 0
        norms = np.linalg.norm(self.vectors, axis=1)
        edge = float(np.min(np.array(self.margins) / norms))
        end = max(edge, 2 * self.radius) if largest is None else largest
        radii = np.linspace(0, end, CURVE).tolist()
        pairs = [self.bounds(radius) for radius in radii]
        figure = Figure(figsize=(5, 3), layout="constrained")
        axes = figure.subplots()
        axes.plot(radii, [low for low, _ in pairs], marker=".", label="L*: at least")
        axes.plot(radii, [high for _, high in pairs], marker=".", label="U*: at most")
        axes.axvline(self.radius, linestyle=":", color="gray", label="asked for")
        axes.set(xlabel="radius ρ", ylabel="chance that all rows stay valid", ylim=(-0.05, 1.05))
        axes.legend(frameon=False)
        if path is not None:
            with written_whole(path) as file:
                figure.savefig(file)
        return figure

    def _repr_html_(self) -> str:
        table: str = self.to_frame().T.to_html()
        return table + f"<p>{self.summary()}</p>"


__all__ = ["PlanResult", "Step"]
