"""How much farther fewer changes are: the nearest counterfactual for every number of changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import pandas as pd

from ..answers.explaining import Explainer
from ..answers.pictures import exact_changes
from ..answers.result import Result
from ..errors import InvalidInputError
from ..frontends.compiled import Compiled
from ..markup import card, table
from ..question.criteria import MaxChanges
from ..question.question import Question
from ..show.charts import Step, draw_frontier
from ..show.progress import begin
from ..stopping import INTERRUPTED


@dataclass(frozen=True)
class Point:
    """The nearest counterfactual with at most so many changes.

    Attributes:
        changes: k >= 1, features that may change at most.
        status: ``optimal``, ``feasible``, ``infeasible`` (none exists, proved) or ``unknown``.
        distance: Of the nearest that was found, rounded up, or ``None``.
        lower_bound: None with so many changes is nearer, proved; rounded down, infinite if there is
            none at all.
        answer: What was found, or why there is nothing.
    """

    changes: int
    status: str
    distance: float | None
    lower_bound: float
    answer: Result = field(repr=False)


@dataclass(frozen=True)
class Frontier:
    """Distance against the number of changes; each point is proved, or says that it is not.

    Attributes:
        points: For k = 1, 2, …; with the last number more changes bring nothing nearer.
        distance_name: The distance.
        epsilon: ε of every ``optimal``.
    """

    points: tuple[Point, ...]
    distance_name: str
    epsilon: float

    def to_frame(self) -> pd.DataFrame:
        """A row a point: ``changes``, ``status``, ``distance``, ``lower_bound``, ``features``."""
        rows = [
            (p.changes, p.status, p.distance, p.lower_bound, ", ".join(p.answer.changes))
            for p in self.points
        ]
        names = ["changes", "status", "distance", "lower_bound", "features"]
        return pd.DataFrame(rows, columns=names).astype({"distance": float})

    def summary(self) -> str:
        """A line for each point."""
        return "\n".join(
            f"at most {p.changes} change{'s' * (p.changes > 1)}: {p.answer.summary()}"
            for p in self.points
        )

    def plot(self, path: str | Path | None = None, *, ax: Any = None) -> Any:
        """Distance against the number of changes; returns the axes.

        Args:
            path: A file to write to, such as ``frontier.svg``.
            ax: Axes of matplotlib to draw on; by default new ones.

        Raises:
            MissingExtraError: matplotlib is not installed.
            InvalidInputError: no point has a counterfactual, or the file cannot be written.
        """
        if all(point.distance is None for point in self.points):
            raise InvalidInputError(
                f"there is no counterfactual to draw: {self.points[-1].answer.summary()}"
            )
        steps = [
            Step(p.changes, p.distance, p.lower_bound, p.status in ("optimal", "infeasible"))
            for p in self.points
        ]
        return draw_frontier(steps, self.distance_name, ax, path)

    def __repr__(self) -> str:
        return f"Frontier({self.distance_name} distance)\n{self.summary()}"

    def _repr_html_(self) -> str:
        rows = [
            [str(p.changes), p.answer.summary(), ", ".join(p.answer.changes)] for p in self.points
        ]
        header = ["changes, at most", "nearest", "features"]
        return card(f"Frontier of {self.distance_name} distance", table(header, rows))


def frontier_of(
    model: Compiled, question: Question, row: pd.DataFrame, watch: Callable[..., None] | None
) -> Frontier:
    """See :meth:`cfxc.CompiledModel.frontier`.

    It goes down from the nearest of all: what changes m features is the nearest for all numbers
    from m to the one that was allowed, so that one question answers them together.
    """
    others = [each for each in question.subject_to if not isinstance(each, MaxChanges)]
    cap = min((each.most for each in question.of(MaxChanges)), default=None)
    found: dict[int, Result] = {}
    while cap is None or cap >= 1:
        begin(watch, "searching" if cap is None else f"searching, at most {cap} changes")
        limits = [] if cap is None else [MaxChanges(cap)]
        asked = question.with_(subject_to=[*others, *limits])
        answer = Explainer.of(model, asked, watch).answer(row)
        if answer.unchanged:
            raise InvalidInputError(f"there is no frontier: {answer.summary()}")
        if not found and answer.distance is None:
            return _frontier({cap or len(model.space): answer})
        used = len(exact_changes(answer)) or cap or 1
        numbers = range(1 if answer.status == "infeasible" else used, (cap or used) + 1)
        found |= dict.fromkeys(numbers, answer)
        if answer.reason == INTERRUPTED:
            break
        cap = min(numbers) - 1
    return _frontier(found)


def _frontier(answers: Mapping[int, Result]) -> Frontier:
    """The points of answers by the number of changes: fewer changes are never nearer.

    What is proved of k changes holds for fewer, and what was found with fewer is there for k.
    """
    lower, bounds = 0.0, dict[int, float]()
    for number in sorted(answers, reverse=True):
        lower = bounds[number] = max(lower, answers[number].lower_bound)
    points, best, nearest = list[Point](), None, inf
    for number in sorted(answers):
        answer = answers[number]
        if answer.distance is not None and answer.distance <= nearest:
            best, nearest = answer, answer.distance
        if best is None:
            bound = inf if answer.status == "infeasible" else bounds[number]
            points.append(Point(number, answer.status, None, bound, answer))
            continue
        bound = min(bounds[number], nearest)
        proved = bound >= (1 - best.epsilon) * nearest
        proved |= best is answer and answer.status == "optimal"
        status = "optimal" if proved else "feasible"
        points.append(Point(number, status, nearest, bound, best))
    return Frontier(tuple(points), answer.distance_name, answer.epsilon)
