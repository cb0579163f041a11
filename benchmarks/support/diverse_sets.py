"""Three answers that differ as much as the paper's do: table 3's diversity, by ``cfxc.Diverse``.

Rules, fixed before the run.  The distance is l1 in the data's own units; a change of a category
counts as a standard deviation of the widest number.  At most two features more change than the
fewest that are enough.  The first answer is the nearest; the others are within (1 + w) of its
distance and differ most, by the same l1, on average.  Of w = 1/2, 2, 8, … 2048 the first is shown
with which everybody has three answers and all three means of diversity, as printed, are at least
the paper's; else the last.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import cfxc
from cfxc import metrics

from .paper_figures import DIVERSITY, PAPER

WITHIN = tuple(4.0**k / 2 for k in range(7))
MORE = 2  # changes beyond the fewest
COUNT = 3
HEAD = ["data", "model", "within", "people", "answers", "valid", "cat. prox.", "cont. prox.",
        "sparsity", "cat. div.", "cont. div.", "sparsity div.", "all three", "nearest proved",
        "s for one", "s for three"]  # fmt: skip


class Person(NamedTuple):
    """Someone to answer: the row, the nearest counterfactual, and how many changes are allowed."""

    row: pd.DataFrame
    nearest: cfxc.Result
    changes: int
    seconds: float


class Sets:
    """One model's questions, in the units of ``X``."""

    def __init__(
        self, model: Any, space: cfxc.FeatureSpace, X: pd.DataFrame, seconds: float
    ) -> None:
        self.model, self.space, self.seconds = model, space, seconds
        self.numbers = [feature.name for feature in space if not feature.is_symbolic]
        widest = float(X[self.numbers].std().max())
        weighted = space
        for feature in space:
            own = widest if feature.is_symbolic else float(feature.range)
            weighted = weighted.replace(feature.name, weight=own)
        self.plain, self.weighted = cfxc.compile(model, space), cfxc.compile(model, weighted)

    def person(self, row: pd.DataFrame) -> Person:
        """The nearest answer of one of the people, with the clock."""
        fewest = self.plain.explain(row, target=1, distance="l0", time_limit=self.seconds)
        changes = len(fewest.changes) + MORE
        started = time.perf_counter()
        return Person(row, self._ask(row, changes), changes, time.perf_counter() - started)

    def _ask(self, row: pd.DataFrame, changes: int, **options: Any) -> cfxc.Result:
        return self.weighted.explain(
            row, target=1, distance="l1", subject_to=[cfxc.MaxChanges(changes)],
            time_limit=self.seconds, **options,
        )  # fmt: skip

    def several(self, person: Person, within: float) -> tuple[list[cfxc.Result], float]:
        """Three answers and the seconds that they took."""
        started = time.perf_counter()
        diversity = cfxc.Diverse(within, aggregate="mean")
        result = self._ask(person.row, person.changes, count=COUNT, diversity=diversity)
        found = [one for one in result.all() if one.counterfactual is not None]
        return found, time.perf_counter() - started

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


def beside_paper(name: str, kind: str, sets: Sets, people: pd.DataFrame) -> list[str]:
    """A row of the table; every figure with the paper's after it."""
    known = [sets.person(people.iloc[[i]]) for i in range(len(people))]
    known = [one for one in known if one.nearest.counterfactual is not None]
    theirs = [1.0, *PAPER[name, kind, COUNT][0], *DIVERSITY[name, kind]]
    cells, told = list[str](), ""
    for within in WITHIN:
        asked = [sets.several(one, within) for one in known]
        rows = [
            sets.figures(one.row, found)
            for one, (found, _) in zip(known, asked, strict=True)
            if len(found) > 1
        ]
        means = np.nanmean(np.array(rows), axis=0) if rows else np.full(7, np.nan)
        reached = [
            paper is None or round(float(ours), 2) >= paper
            for ours, paper in zip(means[-3:], theirs[-3:], strict=True)
        ]
        answers = sum(len(found) for found, _ in asked)
        met = all(reached) and answers == COUNT * len(known)
        told = "yes" if met else f"{sum(reached)} of 3"
        cells = [
            "" if paper is None else f"{ours:,.2f} ({paper:,.2f})"
            for ours, paper in zip(means, theirs, strict=True)
        ]
        spent = np.median([seconds for _, seconds in asked])
        cells = [f"{within:g}", str(len(people)), str(answers), *cells, told]
        if met:
            break
    proved = sum(one.nearest.status == "optimal" for one in known)
    once = np.median([one.seconds for one in known])
    return [name, kind, *cells, str(proved), f"{once:.2f}", f"{spent:.2f}"]
