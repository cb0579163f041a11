"""The rows that a question admits: drawn at random, moved a little, and as the surrogate's input.

Rows are doubles and codes (:class:`cfxc.solvers.rows.PointRows`).  All that come from here satisfy
types, ranges, actions, causes, the constraints, and the bound on how many features change.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor

import numpy as np
import numpy.typing as npt
from scipy.stats.qmc import LatinHypercube

from ...arrays import Floats
from ...question.domain import Domain
from ...question.rules import Rules
from ...solvers.rows import PointRows
from ...space import FeatureSpace

Mask = npt.NDArray[np.bool_]
TRIES = 60  # draws of as many rows as are wanted, before there are taken to be no more
SCALES = np.array([0.5, 0.2, 0.1, 0.03, 0.01, 0.003])  # of a range: steps of numbers


class Region(PointRows):
    """The admissible rows of one instance, of which ``max_changes`` features at most may change."""

    def __init__(self, rules: Rules, max_changes: int | None = None) -> None:
        super().__init__(rules)
        led = {effect.mechanism.name for effect in rules.effects}
        self.free = np.array(
            [j for j, d in enumerate(self.domains) if not d.is_fixed and d.name not in led], np.intp
        )
        self.most = min(max_changes or self.free.size, self.free.size)
        self.codes = [_codes(domain) for domain in self.domains]
        self.low, self.high = (
            np.array([float(end) for end in ends])
            for ends in ([d.lower for d in self.domains], [d.upper for d in self.domains])
        )

    def sample(self, count: int, rng: np.random.Generator) -> Floats:
        """Up to ``count`` rows: a random set of changed features, at random values."""
        return self._enough(count, lambda n: self._drawn(n, rng))

    def spread(self, count: int, rng: np.random.Generator) -> Floats:
        """Up to ``count`` rows that fill the region: a Latin hypercube over all that may change.

        Where few features may change at a time, or constraints leave too few, as ``sample``.
        """
        if not self.free.size or self.most < self.free.size:
            return rng.permutation(self.sample(count, rng))
        shares = LatinHypercube(self.free.size, rng=rng).random(count)
        rows = np.repeat(self.start[None], count, axis=0)
        for k, j in enumerate(self.free.tolist()):
            codes = self.codes[j]
            span = self.high[j] - self.low[j]
            rows[:, j] = (
                codes[(shares[:, k] * codes.size).astype(int)]
                if self.domains[j].is_symbolic
                else self.low[j] + span * shares[:, k]
            )
        rows = self._finished(rows, np.ones(rows.shape, bool), rng)
        rows = np.unique(rows[self.admits(rows) & (rows != self.start).any(axis=1)], axis=0)
        missing = count - len(rows)
        if missing:
            rows = np.vstack([rows, self.sample(missing, rng)])
        return rng.permutation(rows)

    def admits(self, rows: Floats) -> Mask:
        """Which rows are admissible, as doubles tell; what is evaluated is checked exactly."""
        inside = self.kept(rows)
        for j, domain in enumerate(self.domains):
            if domain.is_symbolic:
                inside &= np.isin(rows[:, j], self.codes[j])
            else:
                inside &= (rows[:, j] >= self.low[j]) & (rows[:, j] <= self.high[j])
        if self.most < self.free.size:
            inside &= (rows != self.start)[:, self.free].sum(axis=1) <= self.most
        return inside

    def around(self, rows: Floats, count: int, rng: np.random.Generator) -> Floats:
        """Up to ``count`` rows, each one of ``rows`` with one to three features moved."""
        return self._enough(count, lambda n: self._moved(rows, n, rng), tries=3)

    def _enough(self, count: int, draw: Callable[[int], Floats], tries: int = TRIES) -> Floats:
        found = np.empty((0, len(self.domains)))
        if not self.free.size:
            return found
        for _ in range(tries):
            rows = draw(max(count, 16))
            good: Mask = self.kept(rows) & (rows != self.start).any(axis=1)
            rows = rows[good]
            found = np.unique(np.vstack([found, rows]), axis=0) if len(found) else rows
            if len(found) >= count:
                break
        if len(found) > count:  # np.unique sorts: take them evenly
            found = found[np.linspace(0, len(found) - 1, count).astype(int)]
        return found

    def _drawn(self, count: int, rng: np.random.Generator) -> Floats:
        free, most = self.free, self.most
        sizes = np.where(rng.random(count) < 0.5, most, rng.integers(1, most + 1, count))
        ranks = np.argsort(np.argsort(rng.random((count, free.size)), axis=1), axis=1)
        moved = np.zeros((count, len(self.domains)), bool)
        moved[:, free] = ranks < sizes[:, None]
        rows = np.repeat(self.start[None], count, axis=0)
        return self._finished(np.where(moved, self._anywhere(count, rng), rows), moved, rng)

    def _moved(self, bases: Floats, count: int, rng: np.random.Generator) -> Floats:
        rows = bases[rng.integers(0, len(bases), count)]
        chosen = rng.integers(1, min(3, self.free.size) + 1, count)
        ranks = np.argsort(np.argsort(rng.random((count, self.free.size)), axis=1), axis=1)
        moved = np.zeros(rows.shape, bool)
        moved[:, self.free] = ranks < chosen[:, None]
        size = SCALES[rng.integers(0, SCALES.size, rows.shape)] * (self.high - self.low)
        steps = np.array([0 if d.step is None else float(d.step) for d in self.domains])
        noise = rng.standard_normal(rows.shape) * np.maximum(size, steps)
        anywhere = self._anywhere(count, rng)
        symbolic = np.array([d.is_symbolic for d in self.domains])
        values = np.where(symbolic, anywhere, np.clip(rows + noise, self.low, self.high))
        home = moved & (rng.random(rows.shape) < 0.1)  # back to the instance's own value
        values = np.where(home, self.start, values)
        return self._finished(np.where(moved, values, rows), moved & ~home, rng)

    def _anywhere(self, count: int, rng: np.random.Generator) -> Floats:
        shares: Floats = rng.random((count, len(self.domains)))
        values: Floats = self.low + (self.high - self.low) * shares
        for j in self.free.tolist():
            if self.domains[j].is_symbolic:
                values[:, j] = rng.choice(self.codes[j], count)
        return values

    def _finished(self, rows: Floats, moved: Mask, rng: np.random.Generator) -> Floats:
        """The rows on their grids, with too many changes undone, and what follows from them."""
        for j in self.free.tolist():
            if not self.domains[j].is_symbolic:
                rows[:, j] = np.where(moved[:, j], snapped(self.domains[j], rows[:, j]), rows[:, j])
        changed = (rows != self.start)[:, self.free]
        luck = np.where(changed, rng.random(changed.shape), np.inf)
        order = np.argsort(np.argsort(luck, axis=1), axis=1)
        undone = changed & (order >= self.most)
        rows[:, self.free] = np.where(undone, self.start[self.free], rows[:, self.free])
        found: Floats = self.followed(rows)
        return found


class Inputs:
    """Rows of a space as the surrogate takes them: in [0, 1], a category one-hot."""

    def __init__(self, space: FeatureSpace) -> None:
        self.space = space
        self.columns = sum(self._width(feature.name) for feature in space)

    def __call__(self, rows: Floats) -> Floats:
        """Rows (n, J) as an array (n, columns)."""
        parts = []
        for j, feature in enumerate(self.space):
            column = rows[:, j]
            if self._width(feature.name) > 1:
                parts.append((column[:, None] == np.arange(len(feature.labels))).astype(float))
            elif feature.is_symbolic:
                parts.append(column[:, None] / max(len(feature.labels) - 1, 1))
            else:
                lower, size = float(feature.bounds[0]), float(feature.range) or 1.0
                parts.append((column[:, None] - lower) / size)
        return np.hstack(parts)

    def _width(self, name: str) -> int:
        """Columns of a feature: a category of more than two labels has one for each."""
        feature = self.space[name]
        return (
            len(feature.labels) if feature.kind == "categorical" and len(feature.labels) > 2 else 1
        )


def snapped(domain: Domain, values: Floats) -> Floats:
    """The admissible values of a number near these, as its column holds them."""
    low, high = float(domain.lower), float(domain.upper)
    single = domain.feature.storage == np.float32
    if domain.step is None:
        held = values.astype(np.float32).astype(np.float64) if single else values
        return np.clip(held, low, high)
    step: Fraction = domain.step
    first, last = ceil(domain.lower / step), floor(domain.upper / step)
    if first > last:
        return np.full_like(values, float(domain.factual))
    multiples = np.clip(np.rint(values / float(step)), first, last)
    held = multiples * step.numerator / step.denominator
    return held.astype(np.float32).astype(np.float64) if single else held


def _codes(domain: Domain) -> Floats:
    if not domain.is_symbolic:
        return np.empty(0)
    return np.array([domain.labels.position(label) for label in domain.allowed], np.float64)


__all__ = ["Inputs", "Region", "snapped"]
