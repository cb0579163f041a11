"""A model that can only be called, and questions about its output."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...answers.explaining import one_row
from ...answers.result import Result, Status
from ...errors import DataTypeError, InvalidInputError, UnsupportedError
from ...frontends.predictor import Predictor
from ...question.checks import positive_number, proper_share, whole_number
from ...question.criteria import Causal, Condition, Criterion, MaxChanges, criteria_of
from ...question.rules import make_rules
from ...space import FeatureSpace
from .answer import Bracket, Existence, PotentialResult, bracket
from .loop import Search, Settings, Task
from .model import Call, Caller, Evaluations, onnx_session
from .potentials import Potential
from .region import Region
from .surrogate import KERNELS, Kernel

BUDGET = 100  # evaluations, if nothing is said
INITIAL = 4  # random rows beside one for each free feature
MOST_INITIAL = 12
COARSE = 0.999  # of exact engines, where only the existence of a row counts
Watch = Callable[[int, float], None]


class Compiled(Protocol):
    """A compiled model: what :func:`cfxc.compile` gives."""

    space: FeatureSpace
    predictor: Predictor

    def explain(self, row: Any, **options: Any) -> Any:
        """An exact engine's answer."""


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
        self.exact: Compiled | None = None
        self.compiled = False
        if hasattr(model, "predictor") and hasattr(model, "space"):
            self.call, self.space = _outputs_of(model.predictor), model.space
            self.compiled = True
            self.exact = model if model.predictor.task == "regressor" else None
        else:
            if not isinstance(space, FeatureSpace):
                raise DataTypeError(f"a model to call needs a FeatureSpace, not {space!r}")
            self.call, self.space = _as_call(model), space
        if not isinstance(noisy, bool):
            raise DataTypeError(f"noisy is True or False, not {noisy!r}")
        self.noisy = noisy

    def explain(self, row: Any, target: Potential, **options: Any) -> PotentialResult:
        """The row whose output is the best answer to one question; see :meth:`explain_all`."""
        return self.explain_all([row], target, **options)[0]

    def explain_all(
        self,
        rows: pd.DataFrame | Sequence[Any],
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
            budget: Rows that the model may be asked about, those of the instances included.
            epsilon: A question is answered at ``(1 - epsilon)`` of its potential's maximum.
            subject_to: Conditions, :class:`cfxc.MaxChanges` and :class:`cfxc.Causal`.
            initial: Random rows before the surrogate is asked; by default 4 and one for each free
                feature, 12 at most.
            batch: Proposals at a time, those that wait believed to be as predicted.
            kernel: ``matern`` (ν = 5/2) or ``rbf``.
            data: Evaluations of the same model from before; new ones are added to it, and none of
                their rows is asked about again.  Whether they are of this model is only looked at
                where that costs nothing, or where they are known to be another function's.
            prove: Of compiled regressors, decide by an exact engine what was not reached.
            time_limit: Seconds for the search, and again for each proof.
            random_state: Seed.
            progress: Called after evaluations with their number and the worst question's share.

        Raises:
            CfxcError: bad input, before any search; a model that gives no number for an instance.
        """
        started = time.monotonic()
        frames = _frames(self.space, rows)
        targets = _targets(target, len(frames))
        accuracy = proper_share(epsilon, "epsilon")
        settings = Settings(
            budget=whole_number(budget, "budget", 1), initial=0,
            batch=whole_number(batch, "batch", 1), kernel=_kernel(kernel), noisy=self.noisy,
            random_state=whole_number(random_state, "random_state", 0),
            seconds=positive_number(time_limit, "time_limit"), progress=progress,
        )  # fmt: skip
        criteria = criteria_of(subject_to, (Condition, MaxChanges, Causal))
        most = next((each.most for each in criteria if isinstance(each, MaxChanges)), None)
        tasks = []
        for frame, potential in zip(frames, targets, strict=True):
            factual = self.space.encode_row(frame)
            rules = make_rules(self.space, factual, criteria)
            tasks.append(Task(frame, Region(rules, most), potential, 1 - accuracy))
        settings.initial = _initial(initial, tasks, settings.budget, data)
        seen = Evaluations(self.space) if data is None else _same_space(data, self.space)
        caller = Caller(self.call, self.space, seen)
        if not self.noisy:
            caller.compare(free=self.compiled)
        search = Search(caller, tasks, settings)
        search.run()
        answers = []
        for task in tasks:
            proved = Bracket(task.best, None, task.peak)
            if prove and self.exact is not None and search.reason != "interrupted":
                proved = self._proved(search, task, criteria, settings.seconds)
            answers.append(_answer(task, search, proved, accuracy, time.monotonic() - started))
        return answers

    def _proved(self, search: Search, task: Task, asked: Any, seconds: float) -> Bracket:
        """What an exact engine adds; the model is asked about its rows too, beyond the budget."""
        model = self.exact
        assert model is not None

        def exists(ends: tuple[float, float], left: float, seed: pd.DataFrame | None) -> Existence:
            low, high = (end if isfinite(end) else None for end in ends)
            try:
                found: Result = model.explain(
                    task.frame, target=(low, high), epsilon=COARSE, time_limit=max(left, 0.01),
                    seeds=seed, subject_to=asked,
                )  # fmt: skip
            except UnsupportedError:
                return Existence(None, False)
            return Existence(found.counterfactual, found.status == "infeasible", found.provers)

        def judge(row: pd.DataFrame) -> float:
            before = task.best
            search.learn(task, self.space.encode_row(row, extra="ignore"), row)
            task.by_proof = task.by_proof or task.best > before
            return task.best

        row = None
        if task.point is not None:
            row = self.space.decode(task.point, like=task.frame)
        return bracket(
            exists, judge, task.potential, task.center, task.goal, task.best, row, seconds
        )


def _answer(
    task: Task, search: Search, proved: Bracket, epsilon: float, seconds: float
) -> PotentialResult:
    maximum = task.peak
    row = None
    if task.point is not None:
        row = search.caller.space.decode(task.point, like=task.frame)
    status: Status = "unknown" if row is None else "feasible"
    if task.reached:
        status = "optimal"
    elif proved.bound <= task.goal:
        status = "infeasible"
    data = search.caller.data
    return PotentialResult(
        status=status,
        target=str(task.potential),
        factual=task.frame,
        counterfactual=row,
        outcome_before=task.center,
        outcome_after=None if row is None else task.output,
        potential=task.best,
        share=task.best / maximum,
        epsilon=epsilon,
        bound=proved.bound / maximum,
        provers=proved.provers,
        evaluations=search.caller.calls,
        trace=tuple(value / maximum for value in task.trace),
        failures=search.caller.failed,
        beyond=search.beyond,
        seconds=seconds,
        reason="" if status in ("optimal", "infeasible") else search.reason,
        by_proof=task.by_proof,
        data=data,
    )


def _outputs_of(predictor: Predictor) -> Call:
    """The numbers of a compiled model.

    Raises:
        UnsupportedError: more than two classes, or no probabilities.
    """
    if predictor.task == "regressor":
        return predictor.predict
    if predictor.classes is None or len(predictor.classes) != 2:
        raise UnsupportedError(
            "a potential is of one number",
            [f"a classifier of {len(predictor.classes or ())} classes"],
            "give a function that returns the number meant: cfxc.BlackBox(function, space)",
        )

    def chance(rows: pd.DataFrame) -> npt.NDArray[Any]:
        found = predictor.probabilities(rows)
        if found is None:
            raise UnsupportedError("a potential of a classifier is of its probability; it has none")
        return np.asarray(found[:, 1])

    return chance


def _as_call(model: Any) -> Call:
    if hasattr(model, "get_inputs") and hasattr(model, "run"):
        return onnx_session(model)
    if not callable(model):
        hint = "; give model.predict" if hasattr(model, "predict") else ""
        raise DataTypeError(f"a model to call is a function, not {type(model).__name__}{hint}")
    call: Call = model
    return call


def _frames(space: FeatureSpace, rows: Any) -> list[pd.DataFrame]:
    if isinstance(rows, pd.DataFrame):
        rows = [rows.iloc[[i]] for i in range(len(rows))]
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise DataTypeError("rows are a table, or a list of rows")
    frames = []
    for row in rows:
        if isinstance(row, pd.DataFrame) and len(row) != 1:
            raise InvalidInputError(f"expected one row, got {len(row)}; select one: X.iloc[[0]]")
        frames.append(one_row(space, row))
    if not frames:
        raise InvalidInputError("there are no rows to explain")
    return frames


def _targets(target: Any, count: int) -> list[Potential]:
    given = [target] * count if isinstance(target, Potential) else target
    if not isinstance(given, Sequence) or not all(isinstance(one, Potential) for one in given):
        raise DataTypeError(f"target is a potential such as cfxc.SEP(width=10), not {target!r}")
    if len(given) != count:
        raise InvalidInputError(f"{len(given)} potentials for {count} rows")
    return list(given)


def _initial(given: Any, tasks: Sequence[Task], budget: int, data: Evaluations | None) -> int:
    """How many evaluations come before the surrogate: instances and random rows."""
    instances = len(tasks)
    if given is not None:
        wanted = instances + whole_number(given, "initial", 0)
        if budget < wanted:
            raise InvalidInputError(
                f"a budget of {budget} is less than {instances} for the row{'s' * (instances > 1)} "
                f"to explain and {given} for the initial design; raise budget or lower initial"
            )
        return wanted
    if budget < instances + 1:
        raise InvalidInputError(
            f"a budget of {budget} is used up by the row{'s' * (instances > 1)} to explain; "
            f"give at least {instances + 1}"
        )
    if data is not None and len(data) > MOST_INITIAL:
        return instances
    free = max(task.region.free.size for task in tasks)
    return min(instances + min(INITIAL + free, MOST_INITIAL), budget)


def _same_space(data: Any, space: FeatureSpace) -> Evaluations:
    if not isinstance(data, Evaluations):
        raise DataTypeError(f"data are Evaluations, not {type(data).__name__}")
    if data.space.names != space.names:
        raise InvalidInputError("data are evaluations of other features than the space's")
    return data


def _kernel(kernel: Any) -> Kernel:
    if kernel not in KERNELS:
        raise InvalidInputError(f"unknown kernel {kernel!r}: {', '.join(KERNELS)}")
    found: Kernel = kernel
    return found


__all__ = ["BlackBox"]
