"""Five functions that any search for an output should manage, and a query on each.

Branin, Hartmann-6 and Ackley-5 as in Surjanovic & Bingham's library of simulation experiments; a
random forest, and a step function, which have no gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

import cfxc

from .portable import Array

A = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14],
              [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]])  # fmt: skip
P = 1e-4 * np.array([
    [1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
    [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381],
])  # fmt: skip
ALPHA = np.array([1.0, 1.2, 3.0, 3.2])


@dataclass(frozen=True)
class Function:
    """A function of n rows, its space, the potential asked for, and the budget."""

    name: str
    call: Callable[[pd.DataFrame], Array]
    space: cfxc.FeatureSpace
    width: float
    budget: int = 80

    def query(self, seed: int) -> pd.DataFrame:
        """A random row."""
        rng = np.random.default_rng(seed)
        values = {f.name: float(rng.uniform(*map(float, f.bounds))) for f in self.space}
        return self.space.decode(values)


@cache
def functions() -> list[Function]:
    """The five; widths are about a third of the range of outputs."""
    cube = _space([(0.0, 1.0)] * 6)
    X, y = make_friedman1(500, n_features=6, random_state=0)
    names = list(cube.names)
    forest = RandomForestRegressor(50, random_state=0, n_jobs=1)
    forest.fit(pd.DataFrame(X, columns=names), y)
    return [
        Function("Branin", _branin, _space([(-5.0, 10.0), (0.0, 15.0)]), 40.0),
        Function("Hartmann-6", _hartmann, cube, 0.5),
        Function("Ackley-5", _ackley, _space([(-32.768, 32.768)] * 5), 3.0),
        Function("random forest", lambda rows: forest.predict(rows), cube, 4.0),
        Function("steps", _steps, _space([(0.0, 1.0)] * 4), 3.0),
    ]


def _space(bounds: list[tuple[float, float]]) -> cfxc.FeatureSpace:
    return cfxc.FeatureSpace(
        [cfxc.Feature(f"x{i}", "real", *ends) for i, ends in enumerate(bounds)]  # type: ignore[arg-type]
    )


def _branin(rows: pd.DataFrame) -> Array:
    x, y = rows.to_numpy(np.float64).T
    bowl = y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6
    return bowl**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10


def _hartmann(rows: pd.DataFrame) -> Array:
    away = rows.to_numpy(np.float64)[:, None, :] - P
    return -np.exp(-(A * away**2).sum(axis=2)) @ ALPHA


def _ackley(rows: pd.DataFrame) -> Array:
    x = rows.to_numpy(np.float64)
    far = -20 * np.exp(-0.2 * np.sqrt((x**2).mean(axis=1)))
    return far - np.exp(np.cos(2 * np.pi * x).mean(axis=1)) + 20 + np.e


def _steps(rows: pd.DataFrame) -> Array:
    """Levels 0 to 16: four steps of each coordinate, added."""
    return np.floor(4 * rows.to_numpy(np.float64)).sum(axis=1)


__all__ = ["Function", "functions"]
