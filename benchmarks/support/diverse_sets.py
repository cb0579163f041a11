"""Three answers that differ as much as the paper's do: table 3's diversity, by ``cfxc.Diverse``."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import pandas as pd

import cfxc
from cfxc import metrics

COUNT = 3
LARGEST = 1e6
EPSILON = 1e-9


class Person(NamedTuple):
    """Someone to answer: the row, the nearest counterfactual, and how many changes are allowed."""

    row: pd.DataFrame
    nearest: cfxc.Result
    changes: int
    seconds: float


class Answers(NamedTuple):
    """At most three, the first the nearest; the seconds that they took, from the first on."""

    found: list[cfxc.Result]
    seconds: float


class Sets:
    """One model's questions under l1: of shares of ranges, or in the units of ``X``.

    In the data's units a change of a category counts as a standard deviation of the widest number.
    """

    def __init__(
        self, model: Any, space: cfxc.FeatureSpace, X: pd.DataFrame, seconds: float,
        *, shares: bool,
    ) -> None:  # fmt: skip
        self.model, self.space, self.seconds = model, space, seconds
        self.numbers = [feature.name for feature in space if not feature.is_symbolic]
        widest = float(X[self.numbers].std().max())
        weighted = space
        for feature in space:
            own = widest if feature.is_symbolic else float(feature.range)
            weighted = weighted.replace(feature.name, weight=1.0 if shares else own)
        self.total = float(sum(feature.weight for feature in weighted))
        self.plain, self.weighted = cfxc.compile(model, space), cfxc.compile(model, weighted)

    def person(self, row: pd.DataFrame, more: int) -> Person | None:
        """The nearest answer of one of the people, ``more`` than the fewest changes allowed."""
        fewest = self.plain.explain(row, target=1, distance="l0", time_limit=self.seconds)
        changes = len(fewest.changes) + more
        started = time.perf_counter()
        nearest = self._ask(row, changes)
        if nearest.counterfactual is None:
            return None
        return Person(row, nearest, changes, time.perf_counter() - started)

    def _ask(self, row: pd.DataFrame, changes: int, **options: Any) -> cfxc.Result:
        return self.weighted.explain(
            row, target=1, distance="l1", subject_to=[cfxc.MaxChanges(changes)],
            time_limit=self.seconds, **options,
        )  # fmt: skip

    def several(self, person: Person, within: float) -> Answers:
        """The nearest answer, and two that are the most different within so much more."""
        started = time.perf_counter()
        diversity = cfxc.Diverse(min(within, LARGEST), aggregate="mean")
        result = self._ask(person.row, person.changes, count=COUNT, diversity=diversity)
        found = [one for one in result.all() if one.counterfactual is not None]
        return Answers(found, time.perf_counter() - started)

    def within_of(self, person: Person, proximity: float) -> float:
        """``within`` for two further answers so far that the mean distance of all three is this."""
        nearest = float(person.nearest.distance) * self.total
        return max((COUNT * proximity - nearest) / (COUNT - 1) / max(nearest, EPSILON) - 1, 0.0)

    def figures(self, row: pd.DataFrame, answers: list[cfxc.Result]) -> list[float]:
        """Validity, and the paper's measures of a set; NaN of categories where there are none."""
        found, space, own = pd.concat([one.counterfactual for one in answers]), self.space, "none"
        numbers = len(self.numbers)
        return [
            metrics.validity(self.model.predict, found, 1),
            metrics.categorical_proximity(space, row, found),
            numbers * metrics.continuous_proximity(space, row, found, scale=own),
            metrics.sparsity(space, row, found),
            metrics.categorical_diversity(space, found),
            numbers * metrics.continuous_diversity(space, found, scale=own),
            metrics.sparsity_diversity(space, found),
        ]

    def difference(self, answers: list[cfxc.Result]) -> tuple[float, float]:
        """The mean difference of a set's pairs, and what no three with its first exceed, proved.

        With d(c_1, c) ≤ b for every row c that is allowed, that is (b + b + 2b) / 3.
        """
        second, *others = answers[1:]
        summed = second.apart + sum(2 * one.apart for one in others)  # ``apart``: of two, a mean
        pairs = len(answers) * (len(answers) - 1) / 2
        return summed * self.total / pairs, 4 / 3 * second.apart_bound * self.total


__all__ = ["COUNT", "Answers", "Person", "Sets"]
