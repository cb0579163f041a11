"""A feature space as a table in a notebook."""

from __future__ import annotations

from collections.abc import Sequence

from ..markup import table
from .feature import Feature
from .values import number_text

LABELS = 6  # labels of a feature that are written out
MOVES = {
    "free": "free", "fixed": "fixed", "increase": "only up", "decrease": "only down",
    "conditional": "if",
}  # fmt: skip


def features_table(features: Sequence[Feature]) -> str:
    """HTML: of each feature its kind, values, how it may change, and its weight if any has one."""
    weighted = any(feature.weight != 1 for feature in features)
    rows = [
        [f.name, f.kind, values_of(f), f"{MOVES[f.action]} {f.condition}".strip()]
        + [number_text(f.weight)] * weighted
        for f in features
    ]
    return table(["feature", "kind", "values", "may change", *["weight"] * weighted], rows)


def values_of(feature: Feature) -> str:
    """Its range or its labels."""
    if feature.is_symbolic:
        labels = ["missing" if label is None else str(label) for label in feature.labels]
        more = f", … {len(labels) - LABELS} more" if len(labels) > LABELS else ""
        between = " < " if feature.kind == "ordinal" else ", "
        return between.join(labels[:LABELS]) + more
    lower, upper = map(number_text, feature.bounds)
    step = "" if feature.resolution is None else f" in steps of {number_text(feature.resolution)}"
    return f"{lower} to {upper}{step}{' or missing' if feature.missing else ''}"


__all__ = ["features_table", "values_of"]
