"""Trust regions: counterfactuals within the convex hull of rows that have the target outcome.

The union of the ε-hulls of clusters of rows; see :mod:`.hull`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from ...arrays import Array, Floats
from ...errors import DataTypeError, InvalidInputError, UnsupportedError
from ...frontends.predictor import plain_item
from ...frontends.row_files import read_rows
from ...space import FeatureSpace
from ...space.names import names_arguments
from ...space.tables import as_pandas
from ...space.values import as_written
from ..hull import NORMS, Coordinate, Hull, Norm, column_of, coordinates_of
from ..target import Target
from .criterion import Criterion, settings_of


class TrustRegion(Criterion):
    """Where a model and its advice can be trusted: near data that have the target outcome.

    Args:
        X: A table of rows with the space's columns, complete; or a CSV file of them.
        y: Their labels (or values); by default what the model says of them.  Rows outside of the
            target are left out.
        epsilon: ε >= 0, in coordinates, where every feature's range is 1; ``inf`` for no limit.
        norm: Of the slack s: ``l1``, ``l2`` or ``linf``.
        clusters: A number of clusters (k-means on the coordinates), or any clusterer with
            ``fit_predict``; rows that it labels -1 are noise and left out.
        weight: β >= 0: minimised is ``d + β ||s||``, and distance and bounds are of that; of l2 it
            is ``d² + β ||s||``, whose root is reported.

    Points count as inside up to 1e-6 beyond ε, which exact arithmetic checks with the λ found; a
    lower bound holds for all of them.

    Raises:
        DataTypeError, InvalidInputError: no table, or an argument that is none of these.
    """

    name = "trust_region"
    flag = "--trust-region"
    flag_type = str
    metavar = "ROWS"
    help = "Stay near rows: data.csv, or data.csv,epsilon=0.1,clusters=3."

    @names_arguments
    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        epsilon: float = 0.0,
        norm: Norm = "l1",
        clusters: Any = 1,
        weight: float = 0.0,
    ) -> None:
        X, file = as_pandas(X), isinstance(X, str | Path)
        if not file and not (isinstance(X, pd.DataFrame) and len(X)):
            raise DataTypeError("TrustRegion takes a DataFrame with a row at least, or a CSV file")
        if y is not None and isinstance(X, str | Path):
            raise InvalidInputError("TrustRegion: labels go with a DataFrame, not with a file")
        if isinstance(X, pd.DataFrame) and y is not None and len(y) != len(X):
            raise InvalidInputError(f"TrustRegion: {len(X)} rows, and {len(y)} labels")
        if norm not in NORMS:
            raise InvalidInputError(f"TrustRegion: norm is one of {', '.join(NORMS)}, not {norm!r}")
        whole = isinstance(clusters, Integral) and not isinstance(clusters, bool)
        if (whole and clusters < 1) or not (whole or hasattr(clusters, "fit_predict")):
            raise InvalidInputError(
                f"TrustRegion: clusters is a number from 1 or a clusterer, not {clusters!r}"
            )
        self.X, self.y, self.norm, self.clusters = X, y, norm, clusters
        self.epsilon = _limit(epsilon)
        self.weight = as_written(weight, "TrustRegion: weight")
        if self.weight < 0:
            raise InvalidInputError(f"TrustRegion: weight is at least 0, not {weight}")
        self._known: dict[tuple[int, str], tuple[Any, tuple[Hull, ...]]] = {}

    def __repr__(self) -> str:
        reach = "" if self.epsilon == 0 else f", epsilon={_shown(self.epsilon)}, norm={self.norm!r}"
        parts = "" if self.clusters == 1 else f", clusters={self.clusters}"
        rows = f"{len(self.X)} rows" if isinstance(self.X, pd.DataFrame) else str(self.X)
        return f"TrustRegion({rows}{reach}{parts})"

    def to_toml(self) -> dict[str, Any]:
        if isinstance(self.X, pd.DataFrame) or not isinstance(self.clusters, Integral):
            raise UnsupportedError(
                f"{self}: a question can be written with a file of rows and a number of clusters"
            )
        reach = float("inf") if self.epsilon is None else float(self.epsilon)
        return {
            "rows": str(self.X), "epsilon": reach, "norm": self.norm,
            "clusters": int(self.clusters), "weight": float(self.weight),
        }  # fmt: skip

    @classmethod
    def from_toml(cls, value: Any) -> Self:
        names = ("epsilon", "norm", "clusters", "weight")
        file, settings = settings_of(value, cls.name, "rows", names)
        return cls(file, **settings)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": {}}

    def hulls(
        self,
        space: FeatureSpace,
        target: Target,
        predict: Callable[[pd.DataFrame], Any],
        owner: object,
    ) -> tuple[Hull, ...]:
        """The ε-hulls of the rows in a target, one per cluster; kept for the same ``owner``.

        ``predict``: what the owner, a model over ``space``, says of rows.

        Raises:
            CfxcError: the rows do not fit the space, miss values, or none has the outcome.
        """
        key = id(owner), str(target)
        if key not in self._known:  # the owner is kept too, so that no other gets its id
            self._known[key] = owner, self._hulls(space, target, predict)
        return self._known[key][1]

    def _hulls(
        self, space: FeatureSpace, target: Target, predict: Callable[[pd.DataFrame], Any]
    ) -> tuple[Hull, ...]:
        space.refuse_missing("a trust region")
        table = self.X if isinstance(self.X, pd.DataFrame) else read_rows(Path(self.X), space)
        codes = space.encode_frame(table, extra="ignore", check_range=False)
        message = predict(table[list(space.columns)]) if self.y is None else self.y
        outcomes = [plain_item(one) for one in message]
        inside = np.array([target.holds(one) for one in outcomes], dtype=np.bool_)
        if not (inside.any() or target.is_range):  # y may say 1 where the model says 1.0
            inside = np.array([one == target.label for one in outcomes], dtype=np.bool_)
        if not inside.any():
            raise InvalidInputError(f"TrustRegion: no row of {len(table)} is in {target}")
        known, columns = list[Coordinate](), list[Floats]()
        for feature in space:
            several = feature.is_symbolic and len(feature.labels) > 2
            for name, coordinate in coordinates_of(feature, first=0 if several else 1):
                if coordinate.table is None:  # far from 0, doubles tell few numbers apart
                    low = Fraction(float(feature.bounds[0]))
                    coordinate = replace(coordinate, offset=low)
                column = column_of(coordinate, codes[feature.name][inside])
                if np.isnan(column).any():
                    raise InvalidInputError(f"TrustRegion: the rows miss values of {name}")
                known.append(coordinate)
                columns.append(column)
        if not columns:
            raise InvalidInputError("TrustRegion: no feature varies")
        points, rows = np.column_stack(columns), np.flatnonzero(inside)
        made = []
        for chosen in self._clusters(points):
            inner, first = np.unique(points[chosen], axis=0, return_index=True)
            inside_rows = table.iloc[rows[chosen][first]]
            made.append(
                Hull(
                    tuple(known),
                    np.asfortranarray(inner),
                    self.epsilon,
                    self.norm,
                    self.weight,
                    inside_rows,
                    repr(self),
                )
            )
        return tuple(made)

    def _clusters(self, points: Floats) -> list[Array]:
        """Which rows belong to each cluster."""
        if isinstance(self.clusters, Integral):
            count = min(int(self.clusters), len(np.unique(points, axis=0)))
            if count == 1:
                return [np.arange(len(points))]
            from sklearn.cluster import KMeans

            clusterer: Any = KMeans(count, n_init=10, random_state=0)
        else:
            from sklearn.base import clone

            clusterer = clone(self.clusters)
        labels = np.asarray(clusterer.fit_predict(points))
        found = [np.flatnonzero(labels == one) for one in np.unique(labels[labels != -1])]
        if not found:
            raise InvalidInputError("TrustRegion: the clusterer finds noise alone")
        return found


def _limit(epsilon: Any) -> Fraction | None:
    if isinstance(epsilon, Real) and float(epsilon) == np.inf:
        return None
    limit = as_written(epsilon, "TrustRegion: epsilon")
    if limit < 0:
        raise InvalidInputError(f"TrustRegion: epsilon is at least 0, not {epsilon}")
    return limit


def _shown(limit: Fraction | None) -> str:
    return "inf" if limit is None else f"{float(limit):g}"
