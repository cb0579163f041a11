"""The answer to a question about an output: its row, and what exact engines prove."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ...answers.result import Status, changes_between, plain_cell, plain_row
from ...errors import MissingExtraError
from ...writing import written_whole
from .model import Evaluations
from .potentials import Interval, Potential


@dataclass(frozen=True, eq=False)
class PotentialResult:
    """The best row found for a potential.

    Attributes:
        status: ``optimal`` (its potential is at least ``(1 - epsilon)`` times the largest there
            is), ``feasible`` (it is lower), ``infeasible`` (no admissible row reaches that, proved;
            the row is the best there is to ``gap``), ``unknown`` (no better row was found).
        counterfactual: One-row table like the factual, or ``None``.
        outcome_before, outcome_after: The model's outputs; of a noisy one, the surrogate's means.
        potential: ρ of the outcome after; 0 without a row.
        share: ρ over its largest value, in [0, 1].
        bound: No admissible row has a larger share, proved by exact engines on the compiled
            program; 1 where nothing was proved.
        provers: Who proved it; empty if none did.
        evaluations: How many rows the model was asked about for this run.
        trace: The best share after each of them, first that of the query.
        data: All evaluated rows, for later questions.
        failures: On how many of them the model gave no number.
        beyond: How many of them were rows of a proof, which no budget holds.
        reason: Why the search ended.
        by_proof: Whether the row was found by an exact engine, after the search.
    """

    status: Status
    target: str
    factual: pd.DataFrame
    counterfactual: pd.DataFrame | None
    outcome_before: float
    outcome_after: float | None
    potential: float
    share: float
    epsilon: float
    bound: float
    provers: tuple[str, ...]
    evaluations: int
    trace: tuple[float, ...]
    failures: int
    seconds: float
    reason: str
    by_proof: bool
    data: Evaluations = field(repr=False, compare=False)
    beyond: int = 0

    @property
    def changes(self) -> dict[str, tuple[Any, Any]]:
        """Changed columns: name → (before, after)."""
        if self.counterfactual is None:
            return {}
        return changes_between(self.factual, self.counterfactual)[0]

    @property
    def gap(self) -> float:
        """By how much the share could be larger, for all that is proved."""
        return max(self.bound - self.share, 0.0)

    def to_frame(self) -> pd.DataFrame:
        """Factual and counterfactual as rows."""
        if self.counterfactual is None:
            return self.factual.set_axis(["factual"], axis=0)
        both = pd.concat([self.factual, self.counterfactual])
        return both.set_axis(["factual", "counterfactual"], axis=0)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; rows as column → value."""
        return {
            "status": self.status,
            "target": self.target,
            "factual": plain_row(self.factual),
            "counterfactual": None
            if self.counterfactual is None
            else plain_row(self.counterfactual),
            "changes": {column: list(pair) for column, pair in self.changes.items()},
            "outcome_before": plain_cell(self.outcome_before),
            "outcome_after": plain_cell(self.outcome_after),
            "potential": self.potential,
            "share": self.share,
            "epsilon": self.epsilon,
            "bound": self.bound,
            "proved_by": ", ".join(self.provers),
            "evaluations": self.evaluations,
            "trace": list(self.trace),
            "failures": self.failures,
            "beyond": self.beyond,
            "seconds": self.seconds,
            "reason": self.reason,
            "by_proof": self.by_proof,
        }

    def summary(self) -> str:
        """One line: what was found and what was proved."""
        count = self.evaluations
        failed = f"; the model gave no number on {self.failures} of {count} rows"
        return self._said() + (failed if self.failures else "")

    def _said(self) -> str:
        by = ", ".join(self.provers)
        limit = "" if not by else f"; none has more than {self.bound:.4g} (proved by {by})"
        if self.counterfactual is None:
            why = f" ({self.reason})" if self.reason else ""
            return f"unknown: no better row in {self.evaluations} evaluations{why}{limit}"
        found = (
            f"output {self.outcome_before:.6g} → {self.outcome_after:.6g}, {self.share:.4g} of the "
            f"largest potential ({self.target})"
        )
        if self.status == "optimal":
            return f"optimal: {found}, {self.evaluations} evaluations"
        if self.status == "infeasible":
            return f"infeasible: the best row has {found}{limit}"
        short = f"no better one found in {self.evaluations} evaluations"
        return f"feasible: {found}; {short}{limit}"

    def plot(self, path: str | Path | None = None) -> Any:
        """The best share against evaluations, as a matplotlib figure; saved if a path is given.

        Raises:
            MissingExtraError: matplotlib is not installed.
            InvalidInputError: the file cannot be written.
        """
        try:
            from matplotlib.figure import Figure
        except ModuleNotFoundError as error:
            raise MissingExtraError("plot", "matplotlib", "plotting a trace") from error
        figure = Figure(figsize=(5, 3), layout="constrained")
        axes = figure.subplots()
        axes.step(range(1, len(self.trace) + 1), self.trace, where="post", label="best found")
        axes.axhline(1 - self.epsilon, linestyle=":", color="gray", label="asked for")
        if self.provers:
            axes.axhline(self.bound, linestyle="--", color="firebrick", label="proved limit")
        axes.set(xlabel="evaluations", ylabel="share of the largest potential", ylim=(0, 1.05))
        axes.legend(loc="lower right", frameon=False)
        if path is not None:
            with written_whole(path) as file:
                figure.savefig(file)
        return figure

    def _repr_html_(self) -> str:
        table: str = self.to_frame().T.to_html()
        return table + f"<p>{self.summary()}</p>"


CLOSE = 0.01  # of the largest potential: a bracket that is narrow enough
LEAST = 1e-3  # of it: lower potentials are not told from none
SLACK = 1e-9  # widths, and shares of an end, by which intervals are widened for rounding


@dataclass(frozen=True)
class Existence:
    """Whether some row's output lies in an interval: such a row, or who proved that none does."""

    row: pd.DataFrame | None
    refuted: bool
    provers: tuple[str, ...] = ()


Exists = Callable[[Interval, float, pd.DataFrame | None], Existence]
"""Decides it, in so many seconds, given the best row so far."""


@dataclass
class Bracket:
    """The best possible potential lies in [``best``, ``bound``]."""

    best: float
    row: pd.DataFrame | None
    bound: float
    provers: tuple[str, ...] = ()


def bracket(
    exists: Exists,
    judge: Callable[[pd.DataFrame], float],
    potential: Potential,
    center: float,
    goal: float,
    best: float,
    row: pd.DataFrame | None,
    seconds: float,
) -> Bracket:
    """Improve on a row, or prove that it cannot be, as far as the time goes.

    Args:
        exists: The exact engine.
        judge: The potential of a row, as the original model has it.
        goal: The potential asked for: the first level that is decided.
        best, row: The potential that was found, and its row.
    """
    deadline = time.monotonic() + seconds
    peak = potential.peak(center)
    found = Bracket(best, row, peak)
    level = goal
    while found.best < goal and (left := deadline - time.monotonic()) > 0:
        higher, provers, refuted = None, found.provers, True
        intervals = potential.superlevel(level, center)
        for interval in intervals:
            wider = _widened(interval, potential.width)
            answer = exists(wider, left / len(intervals), found.row)
            refuted = refuted and answer.refuted and potential.known
            provers = tuple(sorted({*provers, *answer.provers}))
            if answer.row is not None:
                higher = answer.row
                break
        if higher is not None:
            value = judge(higher)
            if value <= found.best:
                break  # exact program and original model differ there: nothing to gain
            found.best, found.row = value, higher
        elif refuted:
            found.bound, found.provers = level, provers
        else:
            break
        low = max(found.best, LEAST * peak)
        if found.bound - low <= CLOSE * peak:
            break
        level = (low + found.bound) / 2
    return found


def _widened(interval: Interval, width: float) -> Interval:
    """An interval that holds the true one, whose ends were rounded when they were computed."""
    low, high = interval
    return low - SLACK * (width + abs(low)), high + SLACK * (width + abs(high))


__all__ = ["Bracket", "Existence", "Exists", "PotentialResult", "bracket"]
