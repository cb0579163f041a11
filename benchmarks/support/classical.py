"""Classical baselines: Growing Spheres, FACE, actionable recourse by LIME, the nearest row.

All work on the columns of a table in [0, 1]: numbers by their ranges, categories of two values as 0
and 1.  Whole numbers are rounded to whole ones before the model is asked; features that a person
cannot change keep their values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import dijkstra
from sklearn.linear_model import Ridge
from sklearn.neighbors import kneighbors_graph

import cfxc

from .carla import Table
from .encodings import Part
from .portable import Array
from .recourse import Recourse

DRAWN, STEP, LAYERS = 1000, 0.2, 200  # rows of a layer, its width at first, how many at most
ROWS, NEIGHBOURS = 3000, 50  # of FACE's graph; CARLA's settings
SAMPLES, WIDTH = 5000, 0.75  # of LIME


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table and its model, as these methods see them.

    Attributes:
        predict: Of a table's rows: 1 is favourable.
        chance: The probability of that.
    """

    data: Table
    predict: Callable[[pd.DataFrame], Array]
    chance: Callable[[pd.DataFrame], Array]

    @cached_property
    def space(self) -> cfxc.FeatureSpace:
        """Whole numbers where the data have them; the fixed ones are fixed."""
        return cfxc.FeatureSpace.infer(self.data.X, fixed=self.data.fixed)

    @cached_property
    def free(self) -> Array:
        """Columns that may change."""
        return np.array([name not in self.data.fixed for name in self.data.X])

    @cached_property
    def _codes(self) -> dict[str, list[Any]]:
        return {name: sorted(self.data.X[name].unique()) for name in self.data.categories}

    @cached_property
    def is_category(self) -> Array:
        """Which columns are of categories."""
        return np.array([name in self._codes for name in self.data.X])

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        numbers = self.data.X.drop(columns=self.data.categories)
        low, span = numbers.min(), numbers.max() - numbers.min()
        return (
            np.array([0.0 if name in self._codes else low[name] for name in self.data.X]),
            np.array([1.0 if name in self._codes else span[name] or 1.0 for name in self.data.X]),
        )

    def encode(self, rows: pd.DataFrame) -> Array:
        """The columns in [0, 1]."""
        found = {
            name: [self._codes[name].index(one) for one in rows[name]] if name in self._codes
            else rows[name].to_numpy(np.float64)
            for name in self.data.X
        }  # fmt: skip
        low, span = self._ends
        return (np.column_stack(list(found.values())) - low) / span

    def decode(self, values: Array) -> pd.DataFrame:
        """The rows of columns, categories and whole numbers rounded."""
        low, span = self._ends
        raw = values * span + low
        columns = {}
        for j, name in enumerate(self.data.X):
            if name in self._codes:
                columns[name] = np.array(self._codes[name], dtype=object)[
                    np.clip(np.rint(raw[:, j]), 0, len(self._codes[name]) - 1).astype(int)
                ]
            elif pd.api.types.is_integer_dtype(self.data.X[name]):
                columns[name] = np.rint(raw[:, j]).astype(self.data.X[name].dtype)
            else:
                columns[name] = raw[:, j]
        return pd.DataFrame(columns)

    def favours(self, values: Array) -> Array:
        """Which rows of columns the model favours, as decoded."""
        return np.asarray(self.predict(self.decode(values)) == 1)

    @cached_property
    def rows(self) -> tuple[Array, Array]:
        """The table, and which of it the model favours."""
        return self.encode(self.data.X), np.asarray(self.predict(self.data.X) == 1)


def nearest_row(where: Encoded, own: Array, rng: np.random.Generator) -> Array | None:
    """The favoured row of the data with the person's fixed values that is nearest under l1."""
    rows, good = where.rows
    near = rows[good & (rows[:, ~where.free] == own[~where.free]).all(axis=1)]
    return near[np.abs(near - own).sum(axis=1).argmin()] if len(near) else None


def growing_spheres(where: Encoded, own: Array, rng: np.random.Generator) -> Array | None:
    """Laugel et al. 2018: rows drawn in layers around the person, then as few changes as hold.

    Numbers are uniform in a layer of the ball (l2) and cut to the range, categories are drawn
    evenly (as in CARLA).  The first ball is halved while it holds a favoured row.  Of the first
    layer that holds some the nearest is kept, and its changes are taken back, the smallest first.
    """
    inner, outer = 0.0, STEP
    found = _layer(where, own, inner, outer, rng)
    while len(found) and outer > STEP / 2**10:
        nearer = _layer(where, own, inner, outer / 2, rng)
        if not len(nearer):
            break
        found, outer = nearer, outer / 2
    width = outer
    for _ in range(LAYERS):
        if len(found):
            break
        inner, outer = outer, outer + width
        found = _layer(where, own, inner, outer, rng)
    if not len(found):
        return None
    best = found[((found - own) ** 2).sum(axis=1).argmin()]
    for j in np.argsort(np.abs(best - own)):
        kept = best.copy()
        kept[j] = own[j]
        if kept[j] != best[j] and where.favours(kept[None])[0]:
            best = kept
    return np.asarray(best)


def _layer(
    where: Encoded, own: Array, inner: float, outer: float, rng: np.random.Generator
) -> Array:
    """Favoured rows of a layer."""
    numbers = where.free & ~where.is_category
    several = int(numbers.sum())
    drawn = np.tile(own, (DRAWN, 1))
    toward = rng.normal(size=(DRAWN, several))
    toward /= np.linalg.norm(toward, axis=1, keepdims=True)
    far = rng.uniform(inner**several, outer**several, DRAWN) ** (1 / several)
    drawn[:, numbers] = np.clip(own[numbers] + toward * far[:, None], 0, 1)
    categories = where.free & where.is_category
    drawn[:, categories] = rng.integers(0, 2, (DRAWN, int(categories.sum())))
    return drawn[where.favours(drawn)]


def face(where: Encoded, own: Array, rng: np.random.Generator) -> Array | None:
    """Poyiadzi et al. 2020: the favoured row with the shortest path through the data's neighbours.

    Nodes are rows of the data with the person's fixed values, ``ROWS`` of them at most; edges join
    the ``NEIGHBOURS`` nearest and are as long as these are apart (l2).
    """
    rows, good = where.rows
    alike = np.flatnonzero((rows[:, ~where.free] == own[~where.free]).all(axis=1))
    if not len(alike):
        return None
    chosen = rng.choice(alike, min(ROWS, len(alike)), replace=False)
    nodes = np.concatenate([own[None], rows[chosen]])
    several = min(NEIGHBOURS, len(nodes) - 1)
    edges = kneighbors_graph(nodes, several, mode="distance")
    far = dijkstra(edges, directed=False, indices=0)[1:]
    far = np.where(good[chosen], far, np.inf)
    return nodes[1 + far.argmin()] if np.isfinite(far.min()) else None


def recourse(where: Encoded, own: Array, rng: np.random.Generator) -> Array | None:
    """Ustun et al. 2019 on a model that is not linear, as in CARLA: on LIME's coefficients."""
    rows, _ = where.rows
    center, spread = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-3)
    z = rng.normal(size=(SAMPLES, len(own)))
    z[0] = (own - center) / spread
    score = where.chance(where.decode(np.clip(center + z * spread, 0, 1))) - 0.5
    away = ((z - z[0]) ** 2).sum(axis=1)
    weights = np.exp(-away / (2 * WIDTH**2 * len(own)))
    fitted = Ridge(alpha=1.0).fit(z, score, sample_weight=weights)
    slope = fitted.coef_ / spread
    linear = SimpleNamespace(
        classes_=[0, 1], coef_=[np.where(where.free, slope, 0.0)],
        intercept_=[fitted.intercept_ - slope @ center + slope[~where.free] @ own[~where.free]],
    )  # fmt: skip
    return Recourse(linear, _parts(where), 1, rows, coarse=True).nearest(own, "l1")


def _parts(where: Encoded) -> list[Part]:
    low, span = where._ends
    return [
        Part(feature, "code", j, j + 1, (0, 1)) if category
        else Part(feature, "scaled", j, j + 1, (), low[j], span[j])
        for j, (feature, category) in enumerate(zip(where.space, where.is_category, strict=True))
    ]  # fmt: skip


METHODS: dict[str, Callable[[Encoded, Array, np.random.Generator], Array | None]] = {
    "Actionable Recourse": recourse,
    "Growing Spheres": growing_spheres,
    "FACE": face,
    "the nearest row": nearest_row,
}

__all__ = ["METHODS", "Encoded"]
