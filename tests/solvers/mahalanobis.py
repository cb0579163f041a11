"""The Mahalanobis distance by definition: coordinates by hand, W as the distance rounded it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pandas as pd

from cfxc import FeatureSpace, Mahalanobis
from cfxc.question.distances import resolve_distance
from tests.solvers.grids import Metric, Point, root, sampled


def coordinates(space: FeatureSpace, point: Point) -> list[Fraction]:
    """Numbers and orders over their ranges, and an indicator of every label but the first."""
    z = []
    for feature in space:
        value = point[feature.name]
        if feature.kind in ("categorical", "binary"):
            z += [Fraction(value == label) for label in feature.labels[1:]]
        elif feature.labels:
            z.append(Fraction(feature.labels.index(value), len(feature.labels) - 1))
        else:
            assert feature.lower is not None
            assert feature.upper is not None
            z.append(Fraction(value) / (feature.upper - feature.lower))
    return z


def scattered(space: FeatureSpace, seed: int) -> pd.DataFrame:
    """Rows of which the numbers vary together."""
    frame = sampled(space, 60, seed)[1]
    numbers = [f for f in space if not f.is_symbolic and f.encoding == "plain"]
    for feature, stride in zip(numbers, (1, 2, 3), strict=False):
        column = feature.columns[0]
        own = np.sort(frame[column].to_numpy())
        order = np.arange(len(own))
        order[::stride] = order[::stride][::-1] if stride > 1 else order
        frame[column] = own[order]
    return frame


def measured(space: FeatureSpace, data: pd.DataFrame) -> tuple[Mahalanobis, Metric]:
    """The distance to ask for, and what it must be: the root of ``||W (z - ẑ)||²``."""
    spec = Mahalanobis(data)
    whitening = resolve_distance(spec, space).whitening
    assert whitening is not None
    factor = [[Fraction(w) for w in row] for row in whitening.factor.tolist()]

    def metric(_: Sequence[Fraction], x: Point, own: Point) -> Fraction:
        here, there = coordinates(space, x), coordinates(space, own)
        moved = [a - b for a, b in zip(here, there, strict=True)]
        parts = [
            sum((w * v for w, v in zip(row, moved, strict=True)), Fraction(0)) for row in factor
        ]
        return root(sum((part * part for part in parts), Fraction(0)))

    return spec, metric
