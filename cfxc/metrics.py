"""How good a set of counterfactuals is: the measures of the literature, over features.

A one-hot group is one feature.  Numbers are real, integer and unlabelled ordinal features;
categories are all others.  x̂ is the factual, c_1 … c_k the counterfactuals, d the number of
features.  Mothilal, Sharma & Tan (2020), section 4, define all but the distances from the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from .arrays import Bools, Floats, Ints
from .errors import DataTypeError, InvalidInputError
from .space import FeatureSpace
from .space.tables import as_pandas

Scale = Literal["mad", "range", "none"]


def validity(predict: Callable[[Any], Any], counterfactuals: Any, target: Any) -> float:
    """The share of c_1 … c_k that are different and have the target outcome, in [0, 1].

    ``|{c_i : predict(c_i) in target, c_i ≠ c_j for j < i}| / k``.

    Args:
        predict: The original model: n rows → n outcomes.
        counterfactuals: One a row.
        target: A label, or ``(low, high)`` with ``None`` for an open end.
    """
    rows = _check(counterfactuals)
    outcomes = np.asarray(predict(counterfactuals))
    if isinstance(target, tuple):
        low, high = target
        held = np.ones(len(outcomes), np.bool_)
        held &= True if low is None else outcomes >= low
        held &= True if high is None else outcomes <= high
    else:
        held = outcomes == target
    return float(np.mean(held & ~rows.duplicated().to_numpy()))


def sparsity(space: FeatureSpace, factual: Any, counterfactuals: Any) -> float:
    """The share of features left as they are: ``1 - mean_i |{j : c_ij ≠ x̂_j}| / d``, in [0, 1]."""
    changed = _unequal(_values(space, counterfactuals), _values(space, _one(factual)))
    return 1.0 - float(changed.mean())


def categorical_proximity(space: FeatureSpace, factual: Any, counterfactuals: Any) -> float:
    """The share of categories left as they are, in [0, 1]; NaN without categories."""
    categories = _part(space, symbolic=True)
    return float("nan") if categories is None else sparsity(categories, factual, counterfactuals)


def continuous_proximity(
    space: FeatureSpace,
    factual: Any,
    counterfactuals: Any,
    *,
    scale: Scale = "mad",
    data: Any = None,
) -> float:
    """``-mean_i mean_j |c_ij - x̂_j| / s_j`` over the numbers, at most 0; NaN without numbers.

    Args:
        scale: s_j: the median absolute deviation of ``data`` (1 where that is 0), the range of
            the feature (1 where that is 0), or 1.
        data: Rows that the deviations are of; for ``mad``.
    """
    away = _apart(space, _one(factual), counterfactuals, scale, data)
    return -float(away.mean()) if away.size else float("nan")


def sparsity_diversity(space: FeatureSpace, counterfactuals: Any) -> float:
    """The share of features in which two counterfactuals differ, over all pairs, in [0, 1].

    NaN for fewer than two.
    """
    values, (first, second) = _values(space, counterfactuals), _pairs(counterfactuals)
    return float(_unequal(values[:, first], values[:, second]).mean()) if first.size else np.nan


def categorical_diversity(space: FeatureSpace, counterfactuals: Any) -> float:
    """:func:`sparsity_diversity` of the categories; NaN without any."""
    categories = _part(space, symbolic=True)
    return float("nan") if categories is None else sparsity_diversity(categories, counterfactuals)


def continuous_diversity(
    space: FeatureSpace, counterfactuals: Any, *, scale: Scale = "mad", data: Any = None
) -> float:
    """``mean_{i<l} mean_j |c_ij - c_lj| / s_j`` over the numbers, s_j as in
    :func:`continuous_proximity`; NaN without numbers, or for fewer than two.
    """
    rows = _check(counterfactuals)
    first, second = _pairs(rows)
    if not first.size:
        return float("nan")
    away = _apart(space, rows.iloc[first], rows.iloc[second], scale, data)
    return float(away.mean()) if away.size else float("nan")


def nearest_neighbours(
    space: FeatureSpace, counterfactuals: Any, data: Any, *, count: int = 1
) -> float:
    """The mean l1 distance of the counterfactuals to their ``count`` nearest rows of ``data``.

    Distances are cfxc's: the mean over features of ``|difference| / range``, of categories 0 or 1;
    in [0, 1] within the space's ranges.
    """
    _check_count(count, data)
    model = NearestNeighbors(n_neighbors=count, metric="manhattan").fit(_points(space, data))
    away, _ = model.kneighbors(_points(space, _check(counterfactuals)))
    return float(away.mean())


def local_outlier_factor(
    space: FeatureSpace, counterfactuals: Any, data: Any, *, count: int = 20
) -> float:
    """The mean local outlier factor (Breunig et al. 2000) of the counterfactuals among ``data``.

    About 1 where the data are as dense as around their ``count`` neighbours, larger for outliers.
    Distances as in :func:`nearest_neighbours`.
    """
    _check_count(count, data)
    model = LocalOutlierFactor(n_neighbors=count, metric="manhattan", novelty=True)
    model.fit(_points(space, data))
    return -float(model.score_samples(_points(space, _check(counterfactuals))).mean())


def summary(
    model: Any,
    factual: Any,
    counterfactuals: Any,
    target: Any,
    *,
    data: Any = None,
    scale: Scale = "mad",
) -> Mapping[str, float]:
    """All measures by name.

    Args:
        model: A :class:`cfxc.CompiledModel`.
        data: Rows to measure deviations and the distance from the data by; without it, ``scale``
            must not be ``mad`` and the last two are left out.
    """
    space, found = model.space, counterfactuals
    measures = {
        "validity": validity(model.predict, found, target),
        "categorical proximity": categorical_proximity(space, factual, found),
        "continuous proximity": continuous_proximity(space, factual, found, scale=scale, data=data),
        "sparsity": sparsity(space, factual, found),
        "categorical diversity": categorical_diversity(space, found),
        "continuous diversity": continuous_diversity(space, found, scale=scale, data=data),
        "sparsity-based diversity": sparsity_diversity(space, found),
    }
    if data is not None:
        measures["nearest neighbour"] = nearest_neighbours(space, found, data)
        neighbours = min(20, len(data) - 1)
        measures["local outlier factor"] = local_outlier_factor(
            space, found, data, count=neighbours
        )
    return measures


# -- parts ----------------------------------------------------------------------------------------


def _check(rows: Any) -> pd.DataFrame:
    """Rows as a table of pandas."""
    rows = as_pandas(rows)
    if not isinstance(rows, pd.DataFrame):
        raise DataTypeError(f"counterfactuals are rows of a DataFrame, not {type(rows).__name__}")
    if rows.empty:
        raise InvalidInputError("there are no counterfactuals to measure")
    return rows


def _one(factual: Any) -> pd.DataFrame:
    row = _check(factual)
    if len(row) != 1:
        raise InvalidInputError(f"the factual is one row, not {len(row)}")
    return row


def _check_count(count: int, data: Any) -> None:
    if not 1 <= count < len(_check(data)):
        raise InvalidInputError(f"count is from 1 to fewer than the rows of data, not {count}")


def _values(space: FeatureSpace, rows: Any) -> Floats:
    """Numbers and codes (d, n), NaN where missing."""
    found = space.encode_frame(_check(rows), extra="ignore", check_range=False)
    values = np.array([np.asarray(found[feature.name], np.float64) for feature in space])
    for feature, row in zip(space, values, strict=True):
        if feature.absent is not None:
            row[row == float(feature.absent)] = np.nan
    return values


def _unequal(first: Floats, second: Floats) -> Bools:
    different: Bools = first != second
    return different & ~(np.isnan(first) & np.isnan(second))


def _pairs(rows: Any) -> tuple[Ints, Ints]:
    """The places of the first and the second row of each pair."""
    return np.triu_indices(len(_check(rows)), 1)


def _part(space: FeatureSpace, *, symbolic: bool) -> FeatureSpace | None:
    """The space of the categories alone, or of the numbers; ``None`` if there are none."""
    names = [feature.name for feature in space if feature.is_symbolic == symbolic]
    return space.subset(names) if names else None


def _apart(space: FeatureSpace, first: Any, second: Any, scale: Scale, data: Any) -> Floats:
    """|difference| / s_j of the numbers, (numbers, n); one that is missing is a range away."""
    numbers = _part(space, symbolic=False)
    if numbers is None:
        return np.empty(0)
    here, there = _values(numbers, first), _values(numbers, second)
    gone, lost = np.isnan(here), np.isnan(there)
    ranges = np.array([[float(feature.range)] for feature in numbers])
    away: Floats = np.where(gone == lost, np.where(gone, 0.0, np.abs(here - there)), ranges)
    return away / _scales(numbers, scale, data)[:, None]


def _scales(numbers: FeatureSpace, scale: Scale, data: Any) -> Floats:
    if scale == "none":
        return np.ones(len(numbers))
    if scale == "range":
        sizes = np.array([float(feature.range) for feature in numbers])
    elif scale == "mad":
        if data is None:
            raise InvalidInputError("scale='mad' needs data: the rows whose deviations count")
        values = _values(numbers, data)
        middle = np.nanmedian(values, axis=1)[:, None]
        sizes = np.nanmedian(np.abs(values - middle), axis=1)
    else:
        raise InvalidInputError(f"unknown scale {scale!r}: mad, range, none")
    return np.where(sizes > 0, sizes, 1.0)


def _points(space: FeatureSpace, rows: Any) -> Floats:
    """Rows (n, …) whose Manhattan distance is the mean over features of δ_j."""
    parts: list[Floats] = []
    for feature, values in zip(space, _values(space, rows), strict=True):
        size = float(feature.range)
        if feature.kind == "ordinal" or not feature.is_symbolic:
            parts.append((values / size if size else np.zeros_like(values))[:, None])
        else:  # two categories that differ, differ in two columns
            codes = np.arange(len(feature.labels))
            parts.append((values[:, None] == codes) / 2.0)
    joined = np.hstack(parts) / len(space)
    if np.isnan(joined).any():
        raise InvalidInputError("distances from the data need rows without missing numbers")
    return joined
