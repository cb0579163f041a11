"""Points as rows of doubles, many at once: numbers as they are, categories as codes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, Bools, Floats
from ..ir import BatchEvaluator
from ..ir.batch import all_hold
from ..question.domain import Domain
from ..question.rules import Rules
from ..space import Feature, Value
from .base import Point


class PointRows:
    """Rows (n, J) of the points of one instance, a column per feature."""

    def __init__(self, rules: Rules) -> None:
        self.rules, self.domains = rules, rules.domains
        self.start = np.array([_code(d, d.factual) for d in self.domains])

    @cached_property
    def constraints(self) -> list[BatchEvaluator]:
        """What tells whether rows satisfy the constraints."""
        return [BatchEvaluator(each.program) for each in self.rules.constraints]

    def row(self, point: Point) -> Floats:
        """A point as a row of doubles and codes."""
        return np.array([_code(d, point[d.name]) for d in self.domains])

    def point(self, row: Floats) -> dict[str, Any]:
        """A row of doubles and codes as exact values."""
        return {d.name: exact_value(d.feature, v) for d, v in zip(self.domains, row, strict=True)}

    def columns(self, rows: Floats) -> dict[str, Array]:
        """Rows as the batch evaluator takes them."""
        return {
            d.name: rows[:, j].astype(np.int64) if d.is_symbolic else rows[:, j]
            for j, d in enumerate(self.domains)
        }

    def factual(self, count: int) -> dict[str, Array]:
        """The instance's own row, so many times, as ``factual.…``."""
        repeated = np.repeat(self.start[None], count, axis=0)
        return {f"factual.{name}": column for name, column in self.columns(repeated).items()}

    def followed(self, rows: Floats) -> Floats:
        """The rows with every feature that follows from others where it then is."""
        for effect in self.rules.effects:
            j = self.rules.space.names.index(effect.mechanism.name)
            rows = rows.copy()
            rows[:, j] = effect.follow(self.columns(rows))
        return rows

    def admissible(self, rows: Floats) -> Bools:
        """Which cells (n, J) hold a value that the feature may take for this instance."""
        good = np.zeros(rows.shape, dtype=bool)
        for j, domain in enumerate(self.domains):
            if domain.is_symbolic:
                good[:, j] = np.isfinite(domain.deltas[rows[:, j].astype(np.int64)])
            else:
                held = domain.nearest(np.nan_to_num(rows[:, j], nan=np.inf), -1)
                good[:, j] = held == rows[:, j]
        return good

    def kept(self, rows: Floats) -> Bools:
        """Which rows satisfy the constraints."""
        scope = {**self.columns(rows), **self.factual(rows.shape[0])} if self.constraints else {}
        return all_hold(self.constraints, scope, rows.shape[0])


def _code(domain: Domain, value: Any) -> float:
    if domain.is_symbolic:
        return float(domain.labels.position(value))
    return float(value)


def leads(scores: Floats, place: int) -> Floats:
    """By how much the score of a label leads that of its strongest rival, of rows (n, classes).

    Of two classes there may be the score of the second alone, shape (n,).
    """
    if scores.ndim == 1:
        return scores if place else -scores
    return np.asarray(scores[:, place] - np.delete(scores, place, axis=1).max(axis=1))


def exact_value(feature: Feature, code: float) -> Value:
    """The exact value that a number of the batch evaluator stands for; NaN is a missing one."""
    if feature.is_symbolic:
        return feature.labels[int(code)]
    if np.isnan(code):
        return None
    return feature.typed(code)
