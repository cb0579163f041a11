"""Rejection sampling: rows drawn without learning; those of the other class are kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from cfxc.kernels import harmonic

from .l2c_data import Problem
from .l2c_metrics import Ruler, mean
from .l2c_runs import COUNT, Outcome
from .portable import Array

ROUND = 2_000
"""Rows that the black box is asked about at once."""
SECONDS = 5.0
"""For one person, at most."""
Choose = Callable[[pd.DataFrame, Array, Ruler], Array]
"""Places of rows, given these, how many features each changes, and what measures the set."""


def any_of(found: pd.DataFrame, changes: Array, ruler: Ruler) -> Array:
    """The first that came."""
    return np.arange(min(COUNT, len(found)))


def best_of(found: pd.DataFrame, changes: Array, ruler: Ruler) -> Array:
    """Those that ``diversity="harmonic"`` would choose, by the levels of the measure itself."""
    codes = np.ascontiguousarray(ruler.levels(found).astype(np.int16))
    return np.asarray(harmonic(codes, changes, found.shape[1], COUNT))


def best_unlike(found: pd.DataFrame, changes: Array, ruler: Ruler) -> Array:
    """The same of rows no two of which have all levels in common, as the generator's have not."""
    _, first = np.unique(ruler.levels(found), axis=0, return_index=True)
    return first[best_of(found.iloc[first], changes[first], ruler)]


def reject(
    problem: Problem, pipeline: Any, rows: pd.DataFrame, choose: Choose, wanted: int,
    threshold: float = 1.0,
) -> Outcome:  # fmt: skip
    """A hundred of the distinct rows found for each person, within ``SECONDS``.

    A share of the features changes, uniform in [0, 1], each to the value of a training row.

    Args:
        wanted: How many are found before they are chosen from.
        threshold: The largest share of numbers that change.
    """
    rng, started, sets = np.random.default_rng(0), time.perf_counter(), []
    free = np.array([name not in problem.fixed for name in problem.X])
    own, ruler = pipeline.predict(rows), Ruler(problem, pipeline.predict)
    for i in range(len(rows)):
        end, found = time.perf_counter() + SECONDS, rows.iloc[:0]
        while len(found) < wanted and time.perf_counter() < end:
            drawn = _drawn(problem.X, rows.iloc[[i]], free, rng)
            numbers = [*problem.levels]
            moved = (drawn[numbers] != rows.iloc[i][numbers]).mean(axis=1).to_numpy()
            drawn = drawn[moved <= threshold]
            flips = pipeline.predict(drawn) != own[i]
            found = pd.concat([found, drawn[flips]]).drop_duplicates(ignore_index=True)
        changes = (found != rows.iloc[i]).sum(axis=1).to_numpy(np.int64)
        sets.append(found.iloc[choose(found, changes, ruler)] if len(found) else found)
    spent = time.perf_counter() - started
    return Outcome(mean(ruler.people(rows, sets)), len(rows), spent, 0.0)


def _drawn(X: pd.DataFrame, person: pd.DataFrame, free: Array, rng: Any) -> pd.DataFrame:
    """Copies of a person in which some free features are those of training rows."""
    size = (ROUND, X.shape[1])
    change = (rng.random(size) < rng.random((ROUND, 1))) & free
    others = rng.integers(0, len(X), size)
    columns = {
        name: np.where(change[:, j], X[name].to_numpy()[others[:, j]], person[name].iloc[0])
        for j, name in enumerate(X)
    }
    return pd.DataFrame(columns).astype(X.dtypes)
