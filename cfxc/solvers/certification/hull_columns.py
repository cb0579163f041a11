"""The columns and rows that keep the linear program of a part within a trust region.

Of a point z of the program they ask for shares λ of a hull's rows and a slack s with
``z + s = Σ λ_i z_i``.  The duals y of that give the normal ``-y``, whose face (lemma 16 of the
format) closes whatever all these columns do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Floats
from ...certificates.checker import Proof

BEYOND = 1e5  # what lying beyond the region costs, where nothing lies inside
ROUNDS = 12  # of tangents to the ball of l2
ROOM = 1e-9  # by how much a slack may be beyond them
SHORT = 2.0**40  # entries of a normal are whole numbers over this
Arrays = tuple[Floats, Floats, Floats, Floats, Floats, Floats]
"""Cost, lower and upper ends of columns; rows, and their lower and upper ends."""


class HullColumns:
    """Columns for hull h of a question's region."""

    def __init__(self, problem: Proof, h: int) -> None:
        region = problem.region
        assert region is not None
        self.h, self.axes, self.norm = h, region.axes, region.norm
        self.reach, scale = float(region.reach), region.scale
        rows = region.hulls[h]
        self.points: Floats = np.array(
            [[float(z / scale) for z in region.worths(axis, rows)] for axis in self.axes]
        ).T
        self.tangents: list[Floats] = []
        self.normal: Floats = np.zeros(len(self.axes))

    def added(self, given: Arrays, forms: Sequence[tuple[Floats, float]]) -> Arrays:
        """A program with these columns, ``forms`` being the coordinates over the others."""
        cost, lower, upper, rows, sides, tops = given
        (n, size), columns = self.points.shape, cost.size
        count = n + 2 * size + 1  # shares, the slack's two signs, and how far beyond
        away = self._norms(n, size)
        more = np.zeros((len(away) + 1 + size, columns + count))
        more[: len(away), columns + n : -1] = -away
        more[: len(away), -1] = 1.0
        more[len(away), columns : columns + n] = 1.0
        for k, (form, _) in enumerate(forms, len(away) + 1):
            more[k, :columns] = form
        own = more[len(away) + 1 :, columns:]
        own[:, :n], own[:, n : n + size], own[:, n + size : -1] = (
            -self.points.T, np.eye(size), -np.eye(size),
        )  # fmt: skip
        ends = [*[-self.reach] * len(away), 1.0, *(-shift for _, shift in forms)]
        wide = np.concatenate([rows.reshape(-1, columns), np.zeros((len(rows), count))], axis=1)
        return (
            np.concatenate([cost, np.zeros(count - 1), [BEYOND]]),
            np.concatenate([lower, np.zeros(count)]),
            np.concatenate([upper, np.ones(n), np.full(count - n, np.inf)]),
            np.concatenate([wide, more]),
            np.concatenate([sides, ends]),
            np.concatenate([tops, np.full(len(away), np.inf), ends[len(away) :]]),
        )

    def _norms(self, n: int, size: int) -> Floats:
        """Of the slack's two signs, rows that are at most the reach."""
        both = np.hstack([np.eye(size), np.eye(size)])
        if self.norm == "linf":
            return both
        if self.norm == "l1":
            return np.ones((1, 2 * size))
        return np.vstack([both, np.full(2 * size, 1 / np.sqrt(size)), *self.tangents])

    def learn(self, duals: Floats, values: Floats) -> bool:
        """Keep the normal of a solution; of l2, whether a tangent was added where it is beyond."""
        size = len(self.axes)
        self.normal = -duals[-size:]
        slack, beyond = values[-2 * size - 1 : -1], float(values[-1])
        slack = slack[:size] - slack[size:]
        length = float(np.linalg.norm(slack))
        far = length > (self.reach + beyond) * (1 + ROOM) + ROOM
        if self.norm != "l2" or not far or len(self.tangents) >= ROUNDS:
            return False
        self.tangents.append(np.concatenate([slack, -slack]) / length)
        return True

    def face(self) -> tuple[list[float], float]:
        """The last normal, scaled to a largest entry of 1, and how many times it was larger."""
        size = float(np.abs(self.normal).max(initial=0.0))
        short = np.round(self.normal / (size or 1.0) * SHORT) / SHORT
        return [float(one) for one in short], size
