"""A model that can only be called, questions about its output, and their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ...answers.answer import Answer
from ...answers.cells import one_row
from ...answers.result import Result, Status
from ...errors import DataTypeError, InvalidInputError, UnsupportedError
from ...frontends.called import as_call, outputs_of
from ...frontends.compiled import Compiled
from ...question.checks import proper_share
from ...question.criteria import Causal, Condition, Criterion, MaxChanges, criteria_of
from ...question.rules import make_rules
from ...show.plots import BLUE, INK, VERMILLION, axes_for, saved
from ...space import FeatureSpace
from ...space.names import names_arguments, shown
from ...space.tables import as_pandas
from ...stopping import INTERRUPTED, Span
from .evaluations import Caller, Evaluations
from .potentials import Interval, Potential
from .search import Kernel, Search, Settings, Watch
from .task import Region, Task

BUDGET = 100  # evaluations, by default
COARSE = 0.999  # of exact engines, where only the existence of a row counts
CLOSE = 0.01  # of the largest potential: bounds on the best one that are near enough
LEAST = 1e-3  # of it: lower potentials count as none
SLACK = 1e-9  # widths, and shares of an end, by which intervals are widened for rounding


@dataclass(frozen=True, eq=False, repr=False)
class PotentialResult(Answer):
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
        provers: The engines that proved it; empty if none did.
        evaluations: How many rows the model was evaluated on in this run.
        trace: The best share after each of them, first that of the factual.
        data: All evaluated rows, for later questions.
        failures: On how many of them the model gave no number.
        beyond: How many of them were rows of a proof, which no budget holds.
        reason: Why the search ended.
        by_proof: Whether the row was found by an exact engine, after the search.
    """

    status: Status
    target: str
    factual: Any
    counterfactual: Any
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
    def gap(self) -> float:
        """By how much the share could be larger, for all that is proved."""
        return max(self.bound - self.share, 0.0)

    def _table(self) -> pd.DataFrame:
        if self.counterfactual is None:
            return as_pandas(self.factual).set_axis(["factual"], axis=0)
        both = pd.concat([as_pandas(self.factual), as_pandas(self.counterfactual)])
        return both.set_axis(["factual", "counterfactual"], axis=0)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; rows as column → value."""
        return {
            "status": self.status,
            "target": self.target,
            **self._plain_rows(),
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
        failed = f"; the model gave no number on {self.failures} of {self.evaluations} rows"
        return self._found() + failed * bool(self.failures)

    def _found(self) -> str:
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

    def plot(self, path: str | Path | None = None, *, ax: Any = None) -> Any:
        """The best share against evaluations; returns the axes.

        Args:
            path: A file to write to, such as ``trace.svg``.
            ax: Axes of matplotlib to draw on; by default new ones.

        Raises:
            MissingExtraError: matplotlib is not installed.
            InvalidInputError: the file cannot be written.
        """
        axes = axes_for("plotting a trace", ax, path=path)
        evaluations = range(1, len(self.trace) + 1)
        axes.step(evaluations, self.trace, where="post", color=BLUE, label="best found")
        axes.axhline(1 - self.epsilon, linestyle=":", color=INK, label="asked for")
        if self.provers:
            axes.axhline(self.bound, linestyle="--", color=VERMILLION, label="proved limit")
        axes.set(xlabel="evaluations", ylabel="share of the largest potential", ylim=(0, 1.05))
        axes.legend(loc="lower right", frameon=False)
        return saved(axes, path)


@names_arguments
class BlackBox:
    """Any model that gives a number for each row of a table.

    Args:
        model: A function of a DataFrame in the space's columns, which gives n numbers for n rows;
            a session of onnxruntime (one matrix of the columns, or an input for each); or a
            compiled model: a regressor's output, or a binary classifier's probability of the
            second class.  Of a compiled regressor, exact engines prove how good an answer is.
        space: The features; a compiled model has its own.
        noisy: Whether the model gives another number each time; its outputs are then taken to be
            the surrogate's means.

    Raises:
        DataTypeError, UnsupportedError: no such model; no space.
    """

    def __init__(
        self, model: Any, space: FeatureSpace | None = None, *, noisy: bool = False
    ) -> None:
        self.compiled = isinstance(model, Compiled)
        self.exact: Any = model if self.compiled and model.predictor.task == "regressor" else None
        if isinstance(model, Compiled):
            self.call, self.space = outputs_of(model.predictor), model.space
        else:
            if not isinstance(space, FeatureSpace):
                raise DataTypeError(f"a model to call needs a FeatureSpace, not {space!r}")
            self.call, self.space = as_call(model, space.tables), space
        if not isinstance(noisy, bool):
            raise DataTypeError(f"noisy is True or False, not {noisy!r}")
        self.noisy = noisy

    def explain(self, row: Any, target: Potential, **options: Any) -> PotentialResult:
        """The row whose output is the best answer to one question; see :meth:`explain_all`."""
        return self.explain_all([row], target, **options)[0]

    def explain_all(
        self,
        rows: Any,
        target: Potential | Sequence[Potential],
        *,
        budget: int = BUDGET,
        epsilon: float = 0.01,
        subject_to: str | Criterion | Sequence[str | Criterion] = (),
        initial: int | None = None,
        batch: int = 1,
        kernel: Kernel = "matern",
        data: Evaluations | None = None,
        prove: bool = True,
        time_limit: float = 60.0,
        random_state: int = 0,
        progress: Watch | None = None,
    ) -> list[PotentialResult]:
        """Answer several questions in one run, every evaluation shared.

        ``max ρ(f(x); f(q))  s.t.  x admissible, constraints, few changes``, by Bayesian
        optimisation with the acquisition EI-CFX (Spooner et al. 2021, §3).

        Args:
            rows: A table of n instances, or n rows as ``explain`` takes them.
            target: One potential for all, or one for each row.
            budget: Rows that the model may be evaluated on, those of the instances included.
            epsilon: A question is answered at ``(1 - epsilon)`` of its potential's maximum.
            subject_to: Conditions, :class:`cfxc.MaxChanges` and :class:`cfxc.Causal`.
            initial: Random rows before the surrogate is used; by default 4 and one for each free
                feature, 12 at most.
            batch: Proposals at a time, those that wait believed to be as predicted.
            kernel: ``matern`` (ν = 5/2) or ``rbf``.
            data: Evaluations of the same model from before; new ones are added to it, and none of
                their rows is evaluated again.  Whether they are of this model is only looked at
                where that costs nothing, or where they are known to be another function's.
            prove: Of compiled regressors, decide by an exact engine what was not reached.
            time_limit: Seconds for the search, and again for each proof.
            random_state: Seed.
            progress: Called after evaluations with their number and the worst question's share.

        Raises:
            CfxcError: bad input, before any search; a model that gives no number for an instance.
        """
        settings = Settings(
            budget, initial, batch, kernel, self.noisy, random_state, time_limit, progress
        )
        accuracy = proper_share(epsilon, "epsilon")
        criteria = criteria_of(subject_to, (Condition, MaxChanges, Causal))
        frame = as_pandas(rows)
        tasks = self._tasks(frame, target, criteria, accuracy)
        search = Search(self._caller(data), tasks, settings)
        search.run()
        given = [rows] * len(tasks) if isinstance(frame, pd.DataFrame) else rows
        return [
            self._answer(search, task, criteria if prove else None).in_library_of(one)
            for task, one in zip(tasks, given, strict=True)
        ]

    def _tasks(
        self, rows: Any, target: Any, criteria: Sequence[Criterion], epsilon: float
    ) -> list[Task]:
        """The questions, one for each row."""
        if isinstance(rows, pd.DataFrame):
            rows = [rows.iloc[[i]] for i in range(len(rows))]
        if not isinstance(rows, Sequence) or isinstance(rows, str):
            raise DataTypeError("rows are a table, or a list of rows")
        if not rows:
            raise InvalidInputError("there are no rows to explain")
        targets = [target] * len(rows) if isinstance(target, Potential) else target
        if not isinstance(targets, Sequence) or not all(isinstance(t, Potential) for t in targets):
            raise DataTypeError(f"target is a potential such as cfxc.SEP(width=10), not {target!r}")
        if len(targets) != len(rows):
            raise InvalidInputError(f"{len(targets)} potentials for {len(rows)} rows")
        tasks = []
        for row, potential in zip(rows, targets, strict=True):
            frame = one_row(self.space, row)
            rules = make_rules(self.space, self.space.encode_row(frame), criteria)
            if gaps := [domain.name for domain in rules.domains if domain.first is not None]:
                raise UnsupportedError(
                    f"a surrogate model does not fill in or lose numbers: {shown(gaps)}",
                    remedy="set missing = true for them in the feature space: they are then kept",
                )
            tasks.append(Task(frame, Region(rules), potential, epsilon))
        return tasks

    def _caller(self, data: Evaluations | None) -> Caller:
        """What evaluates the model, and keeps its outputs in ``data``."""
        if data is not None and not isinstance(data, Evaluations):
            raise DataTypeError(f"data are Evaluations, not {type(data).__name__}")
        if data is not None and data.space.names != self.space.names:
            raise InvalidInputError("data are evaluations of other features than the space's")
        caller = Caller(self.call, self.space, data)
        if not self.noisy:
            caller.compare(free=self.compiled)
        return caller

    def _answer(
        self, search: Search, task: Task, criteria: Sequence[Criterion] | None
    ) -> PotentialResult:
        """The answer to one question, proved under ``criteria`` unless that is ``None``."""
        bound, provers = task.peak, tuple[str, ...]()
        if criteria is not None and self.exact is not None and search.reason != INTERRUPTED:
            bound, provers = self._proved(search, task, criteria)
        status: Status = "unknown" if task.point is None else "feasible"
        if task.reached:
            status = "optimal"
        elif bound <= task.goal:
            status = "infeasible"
        return PotentialResult(
            status=status,
            target=str(task.potential),
            factual=task.frame,
            counterfactual=self._row(task),
            outcome_before=task.center,
            outcome_after=None if task.point is None else task.output,
            potential=task.best,
            share=task.best / task.peak,
            epsilon=task.epsilon,
            bound=bound / task.peak,
            provers=provers,
            evaluations=search.caller.calls,
            trace=tuple(value / task.peak for value in task.trace),
            failures=search.caller.failed,
            beyond=search.beyond,
            seconds=search.span.seconds,
            reason="" if status in ("optimal", "infeasible") else search.reason,
            by_proof=task.by_proof,
            data=search.caller.data,
        )

    def _row(self, task: Task) -> pd.DataFrame | None:
        return None if task.point is None else self.space.decode(task.point, like=task.frame)

    def _proved(
        self, search: Search, task: Task, criteria: Sequence[Criterion]
    ) -> tuple[float, tuple[str, ...]]:
        """What an exact engine adds; the model is evaluated on its rows, beyond the budget."""

        def exists(ends: Interval, seconds: float) -> Existence:
            low, high = (end if isfinite(end) else None for end in ends)
            try:
                found: Result = self.exact.explain(
                    task.frame, target=(low, high), epsilon=COARSE, time_limit=max(seconds, 0.01),
                    seeds=self._row(task), subject_to=criteria,
                )  # fmt: skip
            except UnsupportedError:
                return Existence(None, False)
            return Existence(found.counterfactual, found.status == "infeasible", found.provers)

        def learn(row: pd.DataFrame) -> None:
            search.learn(task, self.space.encode_row(row, extra="ignore"), row)

        return bracket(task, exists, learn, search.settings.time_limit)


class Existence(NamedTuple):
    """Whether some row's output lies in an interval: such a row, or the provers that none does."""

    row: pd.DataFrame | None
    refuted: bool
    provers: tuple[str, ...] = ()


def bracket(
    task: Task,
    exists: Callable[[Interval, float], Existence],
    learn: Callable[[pd.DataFrame], None],
    seconds: float,
) -> tuple[float, tuple[str, ...]]:
    """Find better rows, or prove that there are none, as far as the time goes.

    Bisection over the potential's level, from the goal on: of each, an exact engine finds a row
    that reaches it, or proves that none has an output in the superlevel set.

    Args:
        exists: The engine: an interval of outputs, and seconds.
        learn: Evaluates a row with the original model, and shows it to the task.

    Returns:
        A bound on the best possible potential, and its provers.
    """
    span, potential, peak = Span(seconds), task.potential, task.peak
    bound, provers, level = peak, set[str](), task.goal
    while not task.reached and (left := span.left):
        answers = list[Existence]()
        intervals = potential.superlevel(level, task.center)
        for interval in intervals:
            answers.append(exists(_widened(interval, potential.width), left / len(intervals)))
            if answers[-1].row is not None:
                break
        better = next((each.row for each in answers if each.row is not None), None)
        if better is not None:
            before = task.best
            learn(better)
            if task.best <= before:
                break  # exact program and original model differ there: nothing to gain
        elif potential.known and all(each.refuted for each in answers):
            bound = level
            provers |= {name for each in answers for name in each.provers}
        else:
            break
        low = max(task.best, LEAST * peak)
        if bound - low <= CLOSE * peak:
            break
        level = (low + bound) / 2
    return bound, tuple(sorted(provers))


def _widened(interval: Interval, width: float) -> Interval:
    """An interval that holds the true one, whose ends were rounded when they were computed."""
    low, high = interval
    return low - SLACK * (width + abs(low)), high + SLACK * (width + abs(high))
