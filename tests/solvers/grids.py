"""Brute force: every point of a small feature space, with its outcome and distance by definition.

Nothing here asks cfxc for a distance, an admissible value or an encoding: those are what it checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import ceil, floor, inf, nextafter
from typing import Any

import numpy as np
import pandas as pd

from cfxc import FeatureSpace
from cfxc.space import Feature

Point = dict[str, Any]
Metric = Callable[[Sequence[Fraction], Point, Point], Fraction]
Condition = Callable[[Point, Point], bool]  # of x and the factual
Predict = Callable[[pd.DataFrame], Any]
NORMS = {"l0": (1, 0, 0), "l1": (0, 1, 0), "l2": (0, 0, 0, 1), "linf": (0, 0, 1)}


def cell(feature: Feature, value: Fraction) -> Fraction:
    """What a column of the feature's width holds for a number."""
    held = np.float32(float(value)) if feature.dtype == "float32" else float(value)
    return Fraction(float(held))


def all_values(feature: Feature, own: Any) -> list[Any]:
    """Every value of the kind and range: labels, whole numbers, multiples of the resolution."""
    if feature.labels:
        return list(feature.labels)
    assert feature.lower is not None
    assert feature.upper is not None
    if feature.kind != "real":
        return list(range(int(feature.lower), int(feature.upper) + 1))
    step = feature.resolution
    assert step is not None, f"{feature.name} has infinitely many values"
    numbers = range(floor(feature.lower / step) - 1, ceil(feature.upper / step) + 2)
    cells = {cell(feature, k * step) for k in numbers}
    return sorted({c for c in cells if feature.lower <= c <= feature.upper} | {own})


def allowed_values(feature: Feature, own: Any) -> list[Any]:
    """The values that the feature's action leaves."""
    values = all_values(feature, own)
    here = values.index(own)
    return {
        "fixed": [own],
        "increase": values[here:],
        "decrease": values[: here + 1],
    }.get(feature.action, values)


def delta(feature: Feature, value: Any, own: Any) -> Fraction:
    """δ_j of section 4.2: |x - x̂| / R, or whether the categories differ."""
    if feature.kind in ("categorical", "binary"):
        return Fraction(value != own)
    if feature.labels:
        steps = abs(feature.labels.index(value) - feature.labels.index(own))
        return Fraction(steps, len(feature.labels) - 1) if steps else Fraction(0)
    assert feature.lower is not None
    assert feature.upper is not None
    width = feature.upper - feature.lower
    return abs(Fraction(value) - Fraction(own)) / width if width else Fraction(0)


def root(value: Fraction) -> Fraction:
    """The smallest double that is at least the square root of a number."""
    with localcontext() as context:
        context.prec = 60
        near = float((Decimal(value.numerator) / Decimal(value.denominator)).sqrt())
    return Fraction(near if Fraction(near) ** 2 >= value else nextafter(near, inf))


def norm(space: FeatureSpace, alpha: Any, beta: Any, gamma: Any, euclidean: Any = 0) -> Metric:
    """alpha l0 + beta l1 + gamma linf, weighted; or l2, the root of the mean square."""
    weights = [Fraction(feature.weight) for feature in space]
    total, top = sum(weights, Fraction(0)), max(weights)

    def metric(deltas: Sequence[Fraction], x: Point, own: Point) -> Fraction:
        l0 = sum((w for w, d in zip(weights, deltas, strict=True) if d), Fraction(0)) / total
        l1 = sum((w * d for w, d in zip(weights, deltas, strict=True)), Fraction(0)) / total
        linf = max(w * d for w, d in zip(weights, deltas, strict=True)) / top
        if euclidean:
            squares = [w * d * d for w, d in zip(weights, deltas, strict=True)]
            return root(sum(squares, Fraction(0)) / total)
        return alpha * l0 + beta * l1 + gamma * linf

    return metric


def frame_of(space: FeatureSpace, points: Sequence[Point]) -> pd.DataFrame:
    """Points as rows of the original table."""
    columns: dict[str, Any] = {}
    for feature in space:
        values = [point[feature.name] for point in points]
        for position, (column, dtype) in enumerate(
            zip(feature.columns, feature.dtypes, strict=True)
        ):
            if feature.encoding == "one_hot":
                held = [int(value == feature.labels[position]) for value in values]
            elif feature.encoding == "thermometer":
                held = [int(value > position) for value in values]
            elif feature.kind == "real":
                held = [float(value) for value in values]
            else:
                held = values
            columns[column] = pd.Series(held, dtype=dtype)
    return pd.DataFrame(columns)[list(space.columns)]


@dataclass(frozen=True)
class Found:
    """A counterfactual by enumeration."""

    distance: Fraction
    point: Point


def brute_force(
    space: FeatureSpace,
    own: Point,
    predict: Predict,
    wanted: Callable[[Any], bool],
    metric: Metric,
    conditions: Sequence[Condition] = (),
) -> list[Found]:
    """All admissible points with a target outcome, nearest first."""
    domains = [allowed_values(feature, own[feature.name]) for feature in space]
    deltas = [
        [delta(feature, value, own[feature.name]) for value in domain]
        for feature, domain in zip(space, domains, strict=True)
    ]
    points, steps = [], []
    for index in product(*map(range, map(len, domains))):
        point = {f.name: d[i] for f, d, i in zip(space, domains, index, strict=True)}
        if all(condition(point, own) for condition in conditions):
            points.append(point)
            steps.append([d[i] for d, i in zip(deltas, index, strict=True)])
    if not points:
        return []
    outcomes = predict(frame_of(space, points))
    found = [
        Found(metric(step, point, own), point)
        for point, step, outcome in zip(points, steps, outcomes, strict=True)
        if wanted(outcome)
    ]
    return sorted(found, key=lambda each: each.distance)


def exactly(space: FeatureSpace, row: pd.DataFrame) -> Point:
    """The exact values of a row with plain columns and groups, read by hand."""
    point: Point = {}
    for feature in space:
        cells = [row[column].iloc[0] for column in feature.columns]
        if feature.encoding == "one_hot":
            assert sum(cells) == 1
            point[feature.name] = feature.labels[cells.index(1)]
        elif feature.encoding == "thermometer":
            assert cells == sorted(cells, reverse=True)
            point[feature.name] = int(sum(cells))
        elif feature.kind == "real":
            point[feature.name] = Fraction(float(cells[0]))
        else:
            value = cells[0]
            point[feature.name] = value.item() if hasattr(value, "item") else value
    return point


def distance_of(space: FeatureSpace, row: pd.DataFrame, own: Point, metric: Metric) -> Fraction:
    """The distance of one row from the factual, by definition."""
    x = exactly(space, row)
    steps = [delta(feature, x[feature.name], own[feature.name]) for feature in space]
    return metric(steps, x, own)


def is_allowed(
    space: FeatureSpace, row: pd.DataFrame, own: Point, conditions: Sequence[Condition] = ()
) -> bool:
    """Whether ranges, resolutions, actions and conditions admit a row."""
    x = exactly(space, row)
    inside = all(x[f.name] in allowed_values(f, own[f.name]) for f in space)
    return inside and all(condition(x, own) for condition in conditions)


def sampled(space: FeatureSpace, count: int, seed: int) -> tuple[list[Point], pd.DataFrame]:
    """Random points of the whole space, as points and as a table."""
    rng = np.random.default_rng(seed)
    values = {f.name: all_values(f, f.labels[0] if f.labels else f.lower) for f in space}
    points = [{n: v[int(rng.integers(len(v)))] for n, v in values.items()} for _ in range(count)]
    return points, frame_of(space, points)
