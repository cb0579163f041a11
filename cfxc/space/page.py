"""A feature space as lines, and as a table in a notebook."""

from __future__ import annotations

from collections.abc import Sequence

from ..markup import table
from .feature import Feature
from .values import number_text

LABELS = 6  # labels of a feature that are written out
LINES = 30  # features that have a line each
MOVES = {
    "free": "free", "fixed": "fixed", "increase": "only up", "decrease": "only down",
    "conditional": "if",
}  # fmt: skip


def feature_line(feature: Feature) -> str:
    """Name, kind, values, how it may change, and its weight if that is not 1."""
    moves = f"{MOVES[feature.action]} {feature.condition}".strip()
    weight = "" if feature.weight == 1 else f"; weight {number_text(feature.weight)}"
    return f"{feature.name}: {feature.kind}, {values_of(feature)}; {moves}{weight}"


def feature_lines(features: Sequence[Feature]) -> str:
    """A first line with how many there are, and one for each of the first."""
    lines = [f"FeatureSpace of {len(features)} feature{'s' * (len(features) > 1)}"]
    lines += [f"  {feature_line(feature)}" for feature in features[:LINES]]
    more = len(features) - LINES
    return "\n".join([*lines, *([f"  … and {more} more"] if more > 0 else [])])


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
