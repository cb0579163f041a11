"""Distances between a counterfactual and the factual, as programs of the core language."""

from __future__ import annotations

from .delta import delta_name, delta_program
from .distance import (
    FINEST,
    RESULT,
    Distance,
    DistanceLike,
    Norms,
    mixed,
    penalised,
    resolve_distance,
    root_above,
    root_below,
)
from .mahalanobis import Mahalanobis, Whitening
from .separable import has_extremes, is_extreme, recognised
from .written import EUCLIDEAN, MAHALANOBIS, NORMS, SPARSE

__all__ = [
    "EUCLIDEAN",
    "FINEST",
    "MAHALANOBIS",
    "NORMS",
    "RESULT",
    "SPARSE",
    "Distance",
    "DistanceLike",
    "Mahalanobis",
    "Norms",
    "Whitening",
    "delta_name",
    "delta_program",
    "has_extremes",
    "is_extreme",
    "mixed",
    "penalised",
    "recognised",
    "resolve_distance",
    "root_above",
    "root_below",
]
