"""One question: the admissible rows of a factual, the target of their output, and the best so far.

Rows are doubles and codes (:class:`cfxc.solvers.rows.PointRows`).  All that a region gives satisfy
types, ranges, actions, causes, the constraints, and the bound on how many features change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.stats.qmc import LatinHypercube

from ...arrays import Bools, Floats, Ints
from ...errors import InvalidInputError
from ...question.criteria import MaxChanges
from ...question.rules import Rules
from ...solvers.base import Point
from ...solvers.rows import PointRows
from .potentials import Potential

DRAWS = 60  # of as many rows as are to be found, before there are taken to be no more
SCALES = np.array([0.5, 0.2, 0.1, 0.03, 0.01, 0.003])  # of a range: steps of numbers


class Region(PointRows):
    """The admissible rows of one instance.

    Attributes:
        free: Places of the features that may change and do not follow from others.
        most: How many of them may change at once.
        codes: Of each feature the admissible labels; of a number none.
        low, high: The ends of each feature's range; of labels, of their codes.
    """

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        endogenous = {effect.mechanism.name for effect in rules.effects}
        free = [not d.is_fixed and d.name not in endogenous for d in self.domains]
        self.free = np.flatnonzero(free)
        caps = [each.by.most for each in rules.constraints if isinstance(each.by, MaxChanges)]
        self.most = min([self.free.size, *caps])
        self.symbolic = np.array([d.is_symbolic for d in self.domains])
        self.codes = [
            np.flatnonzero(np.isfinite(d.deltas)) if d.is_symbolic else np.empty(0, np.intp)
            for d in self.domains
        ]
        ends = [
            (0, len(d.feature.labels) - 1) if d.is_symbolic else (d.lower, d.upper)
            for d in self.domains
        ]
        self.low, self.high = np.array(ends, np.float64).T

    def holds(self, point: Point) -> bool:
        """Whether a point is admissible, exactly; doubles may miss a constraint by a rounding."""
        try:
            return not self.rules.violated(point)
        except InvalidInputError:  # a constraint has no value there
            return False

    def admits(self, rows: Floats) -> Bools:
        """Which rows are admissible, as doubles tell."""
        inside: Bools = self.kept(rows) & self.admissible(rows).all(axis=1)
        return inside

    def sample(self, count: int, rng: np.random.Generator) -> Floats:
        """Up to ``count`` rows: a random set of changed features, at random values."""
        return self._enough(count, lambda n: self._drawn(n, rng))

    def around(self, rows: Floats, count: int, rng: np.random.Generator) -> Floats:
        """Up to ``count`` rows, each one of ``rows`` with one to three features moved."""
        return self._enough(count, lambda n: self._moved(rows, n, rng), draws=3)

    def spread(self, count: int, rng: np.random.Generator) -> Floats:
        """Up to ``count`` rows that fill the region: a Latin hypercube over all that may change.

        Where few features may change at a time, or constraints leave too few, as ``sample``.
        """
        if not self.free.size or self.most < self.free.size:
            return rng.permutation(self.sample(count, rng))
        rows = np.repeat(self.start[None], count, axis=0)
        shares = LatinHypercube(self.free.size, rng=rng).random(count)
        rows[:, self.free] = self.low[self.free] + (self.high - self.low)[self.free] * shares
        for share, j in zip(shares.T, self.free.tolist(), strict=True):
            if self.symbolic[j]:
                rows[:, j] = self.codes[j][(share * self.codes[j].size).astype(int)]
        rows = self._finished(rows, np.ones(rows.shape, bool), rng)
        rows = np.unique(rows[self.admits(rows) & (rows != self.start).any(axis=1)], axis=0)
        if missing := count - len(rows):
            rows = np.vstack([rows, self.sample(missing, rng)])
        return rng.permutation(rows)

    def _enough(self, count: int, draw: Callable[[int], Floats], draws: int = DRAWS) -> Floats:
        found = np.empty((0, len(self.domains)))
        if not self.free.size:
            return found
        for _ in range(draws):
            rows = draw(max(count, 16))
            rows = rows[self.kept(rows) & (rows != self.start).any(axis=1)]
            found = np.unique(np.vstack([found, rows]), axis=0) if len(found) else rows
            if len(found) >= count:
                break
        if len(found) > count:  # np.unique sorts: take them evenly
            found = found[np.linspace(0, len(found) - 1, count).astype(int)]
        return found

    def _drawn(self, count: int, rng: np.random.Generator) -> Floats:
        sizes = np.where(rng.random(count) < 0.5, self.most, rng.integers(1, self.most + 1, count))
        moved = self._chosen(sizes, rng)
        rows = np.where(moved, self._anywhere(count, rng), self.start)
        return self._finished(rows, moved, rng)

    def _moved(self, bases: Floats, count: int, rng: np.random.Generator) -> Floats:
        rows = bases[rng.integers(0, len(bases), count)]
        moved = self._chosen(rng.integers(1, min(3, self.free.size) + 1, count), rng)
        size = SCALES[rng.integers(0, SCALES.size, rows.shape)] * (self.high - self.low)
        steps = np.array([0 if d.step is None else float(d.step) for d in self.domains])
        noise = rng.standard_normal(rows.shape) * np.maximum(size, steps)
        anywhere = self._anywhere(count, rng)
        values = np.where(self.symbolic, anywhere, np.clip(rows + noise, self.low, self.high))
        home = moved & (rng.random(rows.shape) < 0.1)  # back to the factual's own value
        values = np.where(home, self.start, values)
        return self._finished(np.where(moved, values, rows), moved & ~home, rng)

    def _chosen(self, sizes: Ints, rng: np.random.Generator) -> Bools:
        """Of each row so many free features, at random; (n, J)."""
        ranks = np.argsort(np.argsort(rng.random((sizes.size, self.free.size)), axis=1), axis=1)
        chosen = np.zeros((sizes.size, len(self.domains)), bool)
        chosen[:, self.free] = ranks < sizes[:, None]
        return chosen

    def _anywhere(self, count: int, rng: np.random.Generator) -> Floats:
        """Values from the whole range of each feature."""
        shares: Floats = rng.random((count, len(self.domains)))
        values: Floats = self.low + (self.high - self.low) * shares
        for j in self.free.tolist():
            if self.symbolic[j]:
                values[:, j] = rng.choice(self.codes[j], count)
        return values

    def _finished(self, rows: Floats, moved: Bools, rng: np.random.Generator) -> Floats:
        """The rows on their grids, with too many changes undone, and what follows from them."""
        for j in self.free[~self.symbolic[self.free]].tolist():
            rows[:, j] = np.where(moved[:, j], self.domains[j].rounded(rows[:, j]), rows[:, j])
        changed = (rows != self.start)[:, self.free]
        luck = np.where(changed, rng.random(changed.shape), np.inf)
        order = np.argsort(np.argsort(luck, axis=1), axis=1)
        undone = changed & (order >= self.most)
        rows[:, self.free] = np.where(undone, self.start[self.free], rows[:, self.free])
        return self.followed(rows)


@dataclass
class Task:
    """One question: a factual q, the target of its output, and what was found so far.

    Attributes:
        epsilon: By what share of the largest potential an answer may be worse.
        center: f(q).
        peak: The largest value of the potential there.
        best, point, output: The best potential so far, of which row and output.
        trace: The best potential after each evaluation of the run, first that of the factual.
        turns: How many proposals were its own.
        exhausted: Whether no other admissible row was found to propose.
        by_proof: Whether the best row is an exact engine's.
    """

    frame: pd.DataFrame
    region: Region
    potential: Potential
    epsilon: float
    center: float = float("nan")
    peak: float = float("nan")
    best: float = 0.0
    point: Point | None = None
    output: float = float("nan")
    trace: list[float] = field(default_factory=list)
    turns: int = 0
    exhausted: bool = False
    by_proof: bool = False

    @property
    def goal(self) -> float:
        """The potential at which it is answered."""
        return (1 - self.epsilon) * self.peak

    @property
    def reached(self) -> bool:
        """Whether the potential is within the tolerance of its largest."""
        return self.best >= self.goal

    def begin(self, center: float) -> None:
        """Set f(q).

        Raises:
            InvalidInputError: the potential is at its largest there.
        """
        self.center, self.peak = center, self.potential.peak(center)
        if float(self.potential(center, center)) >= self.goal > 0:
            raise InvalidInputError(
                f"{self.potential} is at its largest at the factual's own output {center:g}: "
                "it asks for no change"
            )

    def see(self, point: Point, output: float) -> None:
        """Take an admissible row into account, if it is better."""
        value = float(self.potential(output, self.center)) if np.isfinite(output) else 0.0
        if value > self.best:
            self.best, self.point, self.output = value, dict(point), output
