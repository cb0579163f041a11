"""Answers along the frontier of how many features change and by how much, in the data's own units.

For each person the fewest changes K are found, then, for K, K + 1 and K + 2 of them, the answers
whose numbers move least; of all these, those that are cheapest where a change costs a tenth of the
largest standard deviation, and one of a category ten of these; or those whose numbers move least in
all where a sparsity is asked for (:func:`nearest`).  Every search is proved on its own.  Within a
trust region more than the fewest changes are allowed only where these are proved to be the fewest:
else the time is too short for it.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

import cfxc
from cfxc import metrics

CHANGE = 0.1  # standard deviations of the widest number that one more change must save
LABEL = 10.0  # of these that a change of a category counts as
MORE = 2  # changes beyond the fewest
EPSILON = 1e-6
PRINTED = 0.005 - 1e-9  # by how much a figure of two digits may be less than it says


class Candidates(NamedTuple):
    """One person's answers, and the changes that each counterfactual has at least, as proved."""

    answers: list[cfxc.Result]
    fewest: int


class Measured(NamedTuple):
    """Means over some answers of one person, larger is better: the measures of the paper."""

    proximity: float
    sparsity: float
    kept: float  # the share of categories, 1 without any


class Frontier:
    """One model's questions: ``X`` has the rows that units are taken from.

    ``beyond``: by how many ranges of the data a number may leave them, on either side.
    """

    def __init__(
        self, model: Any, space: cfxc.FeatureSpace, X: pd.DataFrame,
        region: cfxc.TrustRegion | None = None, beyond: int = 0,
    ) -> None:  # fmt: skip
        self.within = [] if region is None else [region]
        self.numbers = [feature.name for feature in space if not feature.is_symbolic]
        self.ranges = {name: float(space[name].range) for name in self.numbers}
        self.widest = float(X[self.numbers].std().max())
        self.label = LABEL * self.widest
        self.space = space
        for name in self.numbers if beyond else ():
            more, (lower, upper) = beyond * space[name].range, space[name].bounds
            self.space = self.space.replace(name, lower=lower - more, upper=upper + more)
        self.share = 1 / (1 + 2 * beyond)  # of a wider range, what the data's is
        weighted = self.space
        for feature in self.space:
            own = self.label if feature.is_symbolic else float(feature.range)
            weighted = weighted.replace(feature.name, weight=own)
        self.plain, self.weighted = cfxc.compile(model, self.space), cfxc.compile(model, weighted)

    def candidates(self, row: pd.DataFrame, count: int, apart: float, seconds: float) -> Candidates:
        """Answers of the fewest changes, and of a few more: ``count`` of each."""
        fewest = self.plain.explain(
            row, target=1, distance="l0", time_limit=seconds, subject_to=self.within
        )
        bound = math.ceil(fewest.lower_bound * len(list(self.space)) - EPSILON)
        if fewest.counterfactual is None:
            return Candidates([], bound)
        found: list[cfxc.Result] = []
        more = MORE if not self.within or fewest.status == "optimal" else 0
        for most in range(len(fewest.changes), len(fewest.changes) + more + 1):
            result = self.weighted.explain(
                row, target=1, distance="l1", count=count, apart=apart * self.share,
                subject_to=[cfxc.MaxChanges(most), *self.within], epsilon=EPSILON,
                time_limit=seconds, seeds=fewest.counterfactual if self.within else None,
            )  # fmt: skip
            found += [one for one in result.all() if one.counterfactual is not None]
        return Candidates(found or [fewest], bound)

    def cheapest(self, answers: list[cfxc.Result], count: int, apart: float) -> list[cfxc.Result]:
        """At most ``count``, each unlike the others by ``apart`` of some number's range."""
        kept: list[cfxc.Result] = []
        for one in sorted(answers, key=self._price):
            if len(kept) < count and all(self._differ(one, other, apart) for other in kept):
                kept.append(one)
        return kept

    def sets(
        self, answers: list[cfxc.Result], count: int, apart: float
    ) -> list[tuple[cfxc.Result, ...]]:
        """Every set of as many as ``cheapest`` has, each unlike the others."""
        size = len(self.cheapest(answers, count, apart))
        like = {
            pair
            for pair in combinations(range(len(answers)), 2)
            if not self._differ(*(answers[i] for i in pair), apart)
        }
        return [
            tuple(answers[i] for i in chosen)
            for chosen in combinations(range(len(answers)), size)
            if like.isdisjoint(combinations(chosen, 2))
        ]

    def measured(self, row: pd.DataFrame, answers: list[cfxc.Result]) -> list[Measured]:
        """The measures of each answer."""
        found = [one.counterfactual for one in answers]
        return [
            Measured(
                len(self.numbers)
                * metrics.continuous_proximity(self.space, row, one, scale="none"),
                metrics.sparsity(self.space, row, one),
                float(np.nan_to_num(metrics.categorical_proximity(self.space, row, one), nan=1.0)),
            )
            for one in found
        ]

    def _price(self, result: cfxc.Result) -> float:
        moved = sum(
            abs(new - old) if name in self.ranges else self.label
            for name, (old, new) in result.changes.items()
        )
        return moved + CHANGE * self.widest * len(result.changes)

    def _differ(self, one: cfxc.Result, other: cfxc.Result, apart: float) -> bool:
        first, second = one.counterfactual.iloc[0], other.counterfactual.iloc[0]
        return any(
            abs(first[name] - second[name]) >= apart * self.ranges[name] - 1e-9
            if name in self.ranges
            else first[name] != second[name]
            for name in first.index
        )


def nearest(options: list[list[Measured]], asked: Measured) -> list[int]:
    """Which option of each person: of means that are at least what is asked, the nearest.

    That is the largest mean proximity where the means of sparsity and of categories kept print as
    ``asked`` has them; where there is no such choice, of each person's sparsest the nearest.
    """
    flat = np.array([one for own in options for one in own])
    person = np.repeat(np.arange(len(options)), [len(own) for own in options])
    n, own = len(flat), np.arange(len(flat))
    each = coo_array((np.ones(n), (person, own)), shape=(len(options), n)).tocsr()
    least = [
        LinearConstraint(flat[:, i][None] / len(options), lb=asked[i] - PRINTED) for i in (1, 2)
    ]
    solved = milp(
        -flat[:, 0] / max(1.0, np.abs(flat[:, 0]).max()),
        constraints=[LinearConstraint(each, 1, 1), *least],
        bounds=Bounds(0, 1),
        integrality=np.ones(n),
        options={"mip_rel_gap": 0},
    )
    if solved.x is None:
        return [max(range(len(own)), key=lambda i: own[i][1::-1]) for own in options]
    chosen = own[solved.x > 0.5]
    return [int(i) for i in chosen - np.searchsorted(person, person[chosen])]


__all__ = ["Candidates", "Frontier", "Measured", "nearest"]
