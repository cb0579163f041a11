"""Answers along the frontier of how many features change and by how much, in the data's own units.

For each person the fewest changes K are found, then, for K, K + 1 and K + 2 of them, the answers
whose numbers move least; of all these, those that are cheapest where a change costs a tenth of the
largest standard deviation, and one of a category ten of these.  Every search is proved on its own.
Within a trust region more than the fewest changes are allowed only where these are proved to be the
fewest: else the time is too short for it.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

import cfxc

CHANGE = 0.1  # standard deviations of the widest number that one more change must save
LABEL = 10.0  # of these that a change of a category counts as
MORE = 2  # changes beyond the fewest
EPSILON = 1e-6


class Frontier:
    """One model's questions: ``X`` has the rows that units are taken from.

    ``beyond``: by how many ranges of the data a number may leave them, on either side.
    """

    def __init__(
        self, model: Any, space: cfxc.FeatureSpace, X: pd.DataFrame,
        region: cfxc.TrustRegion | None = None, beyond: int = 0,
    ) -> None:  # fmt: skip
        self.region = region
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

    def candidates(
        self, row: pd.DataFrame, count: int, apart: float, seconds: float
    ) -> list[cfxc.Result]:
        """Answers of the fewest changes, and of a few more: ``count`` of each."""
        fewest = self.plain.explain(
            row, target=1, distance="l0", time_limit=seconds, trust_region=self.region
        )
        if fewest.counterfactual is None:
            return []
        found: list[cfxc.Result] = []
        more = MORE if self.region is None or fewest.status == "optimal" else 0
        for most in range(len(fewest.changes), len(fewest.changes) + more + 1):
            result = self.weighted.explain(
                row, target=1, distance="l1", max_changes=most, count=count,
                apart=apart * self.share,
                epsilon=EPSILON, time_limit=seconds, trust_region=self.region,
                seeds=None if self.region is None else fewest.counterfactual,
            )  # fmt: skip
            found += [one for one in result.all() if one.counterfactual is not None]
        return found or [fewest]

    def cheapest(
        self, candidates: list[cfxc.Result], count: int, apart: float, change: float = CHANGE
    ) -> list[cfxc.Result]:
        """At most ``count``, each unlike the others by ``apart`` of some number's range.

        ``change``: standard deviations of the widest number that one more change costs.
        """
        kept: list[cfxc.Result] = []
        for one in sorted(candidates, key=lambda one: self._price(one, change)):
            if len(kept) < count and all(self._differ(one, other, apart) for other in kept):
                kept.append(one)
        return kept

    def _price(self, result: cfxc.Result, change: float) -> float:
        moved = sum(
            abs(new - old) if name in self.ranges else self.label
            for name, (old, new) in result.changes.items()
        )
        return moved + change * self.widest * len(result.changes)

    def _differ(self, one: cfxc.Result, other: cfxc.Result, apart: float) -> bool:
        first, second = one.counterfactual.iloc[0], other.counterfactual.iloc[0]
        return any(
            abs(first[name] - second[name]) >= apart * self.ranges[name] - 1e-9
            if name in self.ranges
            else first[name] != second[name]
            for name in first.index
        )


__all__ = ["Frontier"]
