"""Moments of the future parameters of a model: reading them, and the Gelbrich distance."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from ...arrays import Array, Floats
from ...errors import DataTypeError, InvalidInputError

# What np.cov and a product of factors leave: d roundings of the largest eigenvalue, with a margin.
# Eigenvalues down to -d·ROUNDING·λmax are read as zero, entries so far apart as equal.
ROUNDING = 2.0**-50


def gelbrich_distance(mean1: Any, covariance1: Any, mean2: Any, covariance2: Any) -> float:
    """The Gelbrich distance between two pairs of mean and covariance (Definition 2.1).

        G² = |μ₁ - μ₂|² + tr(Σ₁ + Σ₂ - 2 (Σ₂^½ Σ₁ Σ₂^½)^½) ,

    the least root mean square of |θ₁ - θ₂| over all joint laws with these moments, attained by
    normal ones.  Computed as |μ₁ - μ₂|² + min over orthogonal O of |Σ₁^½ - Σ₂^½ O|², which has no
    cancellation where the two are close.

    Args:
        mean1, mean2: Arrays of length d.
        covariance1, covariance2: Symmetric positive semidefinite, d × d.

    Raises:
        InvalidInputError: Shapes that do not fit, no numbers, or not positive semidefinite.
        DataTypeError: Not arrays of real numbers.
    """
    first, second = mean_of(mean1, "mean1"), mean_of(mean2, "mean2")
    if len(first) != len(second):
        raise InvalidInputError(
            f"mean1 has {len(first)} entries and mean2 has {len(second)}: both need the same"
        )
    A, _ = covariance_of(covariance1, len(first), "covariance1")
    B, _ = covariance_of(covariance2, len(first), "covariance2")
    scale = max(float(np.abs(A).max()), float(np.abs(B).max())) or 1.0
    A, B = (square_root((C / scale + C.T / scale) / 2) for C in (A, B))
    left, _, right = np.linalg.svd(B @ A)
    return float(
        np.hypot(
            np.linalg.norm(first - second), np.sqrt(scale) * np.linalg.norm(A - B @ left @ right)
        )
    )


def square_root(A: Floats) -> Floats:
    """A^½ of a symmetric positive semidefinite matrix; negative eigenvalues count as zero."""
    values, vectors = np.linalg.eigh(A)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


def array_of(value: Any, name: str, dimensions: int) -> Floats:
    """The array of finite doubles that the argument ``name`` is."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            if array.dtype.kind != "O":
                raise TypeError(f"its entries are of type {array.dtype}")
            if not all(isinstance(entry, Real) for entry in array.flat):
                raise TypeError("some entries are not numbers")
        array = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataTypeError(
            f"{name} must be an array of real numbers: {error}; encode categories first"
        ) from error
    if array.ndim != dimensions:
        shape = "a vector" if dimensions == 1 else "a matrix"
        hint = " (one row: write [x])" if name == "plan" and array.ndim == 1 else ""
        raise InvalidInputError(f"{name} must be {shape}, not of shape {array.shape}{hint}")
    if not array.size:
        raise InvalidInputError(f"{name} is empty, of shape {array.shape}")
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidInputError(
            f"{name} holds {array[place]} at {list(place)}: impute or leave out what is missing"
        )
    return array


def mean_of(value: Any, name: str = "mean") -> Floats:
    """A mean vector."""
    return array_of(value, name, 1)


def covariance_of(value: Any, size: int, name: str = "covariance") -> tuple[Floats, float]:
    """A matrix whose symmetric part is a covariance, and what rounding took from its eigenvalues.

    The second is 0 if no computed eigenvalue is negative.
    """
    matrix = array_of(value, name, 2)
    if matrix.shape != (size, size):
        raise InvalidInputError(
            f"{name} has the shape {matrix.shape}; the mean has {size} entries, so it must be "
            f"{size} × {size}"
        )
    largest = float(np.abs(matrix).max()) or 1.0
    scaled = matrix / largest
    apart = np.abs(scaled - scaled.T)
    if apart.max() > size * ROUNDING:
        i, j = (int(k) for k in np.unravel_index(int(apart.argmax()), apart.shape))
        raise InvalidInputError(
            f"{name} is not symmetric: {matrix[i, j]:g} at [{i}, {j}], {matrix[j, i]:g} at "
            f"[{j}, {i}]; if that is noise, pass ({name} + {name}.T) / 2"
        )
    scaled = (scaled + scaled.T) / 2
    values = np.linalg.eigvalsh(scaled)
    tolerance = size * ROUNDING * max(float(values[-1]), -float(values[0]))
    if values[0] < -tolerance:
        raise InvalidInputError(_not_semidefinite(values * largest, name))
    return matrix, (tolerance * largest if values[0] < 0 else 0.0)


def _not_semidefinite(values: Array, name: str) -> str:
    least, average = float(values[0]), float(values.mean())
    what = (
        f"{name} is not positive semidefinite: its eigenvalues go from {least:.3g} to "
        f"{values[-1]:.3g} ({int((values < 0).sum())} of {len(values)} are negative)"
    )
    if average <= 0:
        return f"{what}, and their mean is {average:.3g}: no covariance is near it"
    share = np.ceil(1e4 * -least / (average - least)) / 1e4
    return (
        f"{what}.  Shrink it, (1 - a) Σ + a·{average:.3g}·I with a >= {share:.4f}, or estimate it "
        "with sklearn.covariance.LedoitWolf"
    )
