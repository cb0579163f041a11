"""Actionable recourse (Ustun et al. 2019): one mixed-integer program over a grid of actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, vstack

from .encodings import Part
from .portable import Array

STEPS = 100  # of a real feature's range
TIE = 1e-4  # weight of the sum where the largest cost counts
MARGIN = 1e-7  # of the score: what the solver may miss
SECONDS = 20.0


@dataclass(frozen=True)
class Action:
    """One column's possible new values, and what each costs; the first is its own."""

    column: int
    values: Array
    costs: Array


@dataclass(frozen=True, eq=False)
class Recourse:
    """Least costly actions that a logistic regression accepts; every column acts on its own.

    Attributes:
        model: A fitted logistic regression.
        rows: The encoded rows it was fitted on: their shares are the costs.
        cost: ``percentile``: changes in log-percentile, added up, or the largest change in
            percentile; ``distance``: the distance of the question.
        coarse: Whole numbers, too, move in ``STEPS`` steps where they have more values.
    """

    model: Any
    layout: Sequence[Part]
    favourable: int
    rows: Array
    cost: Literal["percentile", "distance"] = "percentile"
    coarse: bool = False

    @cached_property
    def _sorted(self) -> Array:
        return np.sort(self.rows, axis=0)

    @cached_property
    def weights(self) -> tuple[Array, float]:
        """Of the score that is positive where the model is favourable."""
        sign = 1.0 if self.model.classes_[1] == self.favourable else -1.0
        return sign * self.model.coef_[0], sign * float(self.model.intercept_[0])

    def actions(self, own: Array, distance: str) -> list[Action]:
        """The grid of every column."""
        found = []
        for part in self.layout:
            for column in range(part.start, part.stop):
                values = self._grid(part, own[column])
                shares = self._shares(part, column, values)
                costs = np.abs(shares - shares[0])
                found.append(Action(column, values, self._scaled(costs, shares, distance)))
        return found

    def _grid(self, part: Part, own: float) -> Array:
        if not part.is_number:
            top = len(part.levels) - 1 if part.kind == "code" else 1
            values = np.arange(top + 1.0)
        else:
            low, high = (float(end) for end in part.feature.bounds)
            whole = part.feature.kind != "real"
            raw = np.linspace(low, high, STEPS + 1)
            if whole:
                many = self.coarse and high - low > STEPS
                raw = np.rint(raw) if many else np.arange(low, high + 1)
            if not whole and part.feature.resolution is not None:
                raw = np.rint(raw)
            values = (raw - part.mean) / part.scale
        others = values[~np.isclose(values, own, rtol=0, atol=1e-12)]
        return np.concatenate([[own], others])

    def _shares(self, part: Part, column: int, values: Array) -> Array:
        """Percentiles of values, or the values as shares of the range."""
        if self.cost == "percentile":
            below = np.searchsorted(self._sorted[:, column], values, side="right")
            return below / (len(self.rows) + 1)
        if part.is_number:
            low, high = part.feature.bounds
            return values * part.scale / (float(high - low) or 1.0)
        return values / (part.stop - part.start if part.feature.kind == "ordinal" else 1)

    def _scaled(self, costs: Array, shares: Array, distance: str) -> Array:
        if self.cost == "percentile" and distance == "l1":
            logs = np.log1p(-shares)
            return np.abs(logs - logs[0])
        return costs

    def nearest(self, own: Array, distance: str) -> Array | None:
        """The cheapest actions, added up (l1) or by the largest (linf); ``None``: none suffice."""
        weights, intercept = self.weights
        actions = self.actions(own, distance)
        sizes = [len(action.values) for action in actions]
        gains = np.concatenate([weights[a.column] * (a.values - own[a.column]) for a in actions])
        costs = np.concatenate([action.costs for action in actions])
        n, owner = len(costs), np.repeat(np.arange(len(actions)), sizes)
        largest = distance == "linf"
        at = np.arange(n)
        one = coo_array((np.ones(n), (owner, at)), shape=(len(actions), n + 1))
        flip = coo_array((gains, (np.zeros(n, int), at)), shape=(1, n + 1))
        rows, low, high = [one, flip], [1.0] * len(actions), [1.0] * len(actions)
        low.append(MARGIN - intercept - float(weights @ own))
        high.append(np.inf)
        if largest:
            every = np.arange(len(actions))
            entries = np.concatenate([costs, np.full(len(actions), -1.0)])
            places = np.concatenate([owner, every]), np.concatenate([at, np.full_like(every, n)])
            rows.append(coo_array((entries, places), shape=(len(actions), n + 1)))
            low += [-np.inf] * len(actions)
            high += [0.0] * len(actions)
        solved = milp(
            np.append(costs * (TIE if largest else 1.0), 1.0 if largest else 0.0),
            integrality=np.append(np.ones(n), 0),
            bounds=Bounds(0, np.append(np.ones(n), np.inf)),
            constraints=LinearConstraint(vstack(rows), low, high),
            options={"time_limit": SECONDS},
        )
        if solved.x is None:
            return None
        taken = np.flatnonzero(solved.x[:n] > 0.5)
        found = own.copy()
        found[[actions[k].column for k in owner[taken]]] = np.concatenate(
            [action.values for action in actions]
        )[taken]
        return found
