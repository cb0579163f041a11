"""The measures of Table 1 of Vo et al. (2023), as their code takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np
import pandas as pd

from .l2c_data import Problem
from .portable import Array


@dataclass(frozen=True)
class Measures:
    """Of a set C of counterfactuals of one person, or the mean over people.

    Attributes:
        validity: The share of C with another outcome than the person's; 0 of an empty set.
        coverage: 1 if any of C has, else 0.
        valid_cat: The share of categories in C that hold one label of the feature (whose one-hot
            vector sums to 1).
        sparsity: The mean share of features that differ from the person's; lower is better.
        prox_num: The mean |difference| of a number, in standard deviations of the training rows.
        prox_cat: The mean share of categories that differ.
        diversity: The share of features in which two valid members differ, numbers by their level,
            over all pairs; 0 for fewer than two.
        found: How many members.
    """

    validity: float
    coverage: float
    valid_cat: float
    sparsity: float
    prox_num: float
    prox_cat: float
    diversity: float
    found: float

    @property
    def harmonic(self) -> float:
        """The harmonic mean of diversity and 1 - sparsity."""
        both = self.diversity + 1 - self.sparsity
        return 2 * self.diversity * (1 - self.sparsity) / both if both else 0.0


def mean(measures: Sequence[Measures]) -> Measures:
    """Over people; what an empty set has not is left out."""
    columns = np.array([astuple(each) for each in measures])
    present = ~np.isnan(columns)
    sums = np.where(present, columns, 0).sum(axis=0)
    return Measures(*(sums / np.maximum(present.sum(axis=0), 1)).tolist())


NAMES = tuple(field.name for field in fields(Measures))


class Ruler:
    """Measures sets of counterfactuals of a problem: levels by the quantiles of all rows."""

    def __init__(self, problem: Problem, predict: Callable[[pd.DataFrame], Array]) -> None:
        self.predict = predict
        self.numbers = [*problem.levels]
        self.labels = {
            name: set(problem.rows[name]) for name in problem.X if name not in problem.levels
        }
        self.scale = problem.X[self.numbers].std(ddof=0).to_numpy(float)
        self.edges = {
            name: pd.qcut(problem.rows[name], count, retbins=True, duplicates="drop")[1][1:-1]
            for name, count in problem.levels.items()
        }

    def person(self, factual: pd.DataFrame, found: pd.DataFrame, flips: Array) -> Measures:
        """Of one person and the rows found, and which of these have another outcome."""
        if not len(found):
            empty = float("nan")
            return Measures(0.0, 0.0, empty, empty, empty, empty, 0.0, 0.0)
        numbers = found[self.numbers].to_numpy(float)
        away = np.abs(numbers - factual[self.numbers].to_numpy(float))
        others = [*self.labels]
        moved = found[others].to_numpy(object) != factual[others].to_numpy(object)
        known = [found[name].isin(labels).to_numpy() for name, labels in self.labels.items()]
        return Measures(
            float(flips.mean()), float(flips.any()), float(np.mean(known)),
            float(np.concatenate([away > 0, moved], axis=1).mean()),
            float((away / self.scale).mean()), float(moved.mean()),
            _diversity(self.levels(found[flips])), float(len(found)),
        )  # fmt: skip

    def people(self, rows: pd.DataFrame, found: Sequence[pd.DataFrame]) -> list[Measures]:
        """Of every row, its outcomes asked of the black box at once."""
        own = self.predict(rows)
        sizes = [len(each) for each in found]
        outcomes = self.predict(pd.concat(found)[list(rows)]) if sum(sizes) else np.empty(0)
        parts = np.split(outcomes, np.cumsum(sizes)[:-1])
        return [
            self.person(rows.iloc[[i]], each, part != own[i])
            for i, (each, part) in enumerate(zip(found, parts, strict=True))
        ]

    def levels(self, found: pd.DataFrame) -> Array:
        """Codes (n, d) of rows."""
        columns = [np.searchsorted(self.edges[n], found[n], side="left") for n in self.numbers]
        columns += [pd.factorize(found[name])[0] for name in self.labels]
        return np.stack(columns, axis=1)


def _diversity(levels: Array) -> float:
    count = len(levels)
    if count < 2:
        return 0.0
    same = sum(
        float((np.unique(column, return_counts=True)[1].astype(float) ** 2).sum()) - count
        for column in levels.T
    )
    return 1 - same / (count * (count - 1) * levels.shape[1])
