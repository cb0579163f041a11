"""Values of features as people write them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ..space import Feature, FeatureSpace
from ..space.values import number_text
from .numbers import share_text

SIGNIFICANT = 6
LONGEST = 9  # letters of a number that is written as it is


def value_text(feature: Feature, value: Any) -> str:
    """A value as it stands in a table, ``missing`` where there is none."""
    if value is None or feature.is_absent(value):
        return "missing"
    if feature.is_symbolic:
        return str(value)
    if feature.storage == np.float32:
        return str(np.float32(value))
    return number_text(Fraction(value))


def short_value(feature: Feature, value: Any, digits: int = SIGNIFICANT) -> str:
    """The same for a picture: a long number is rounded, and says so (``≈``)."""
    text = value_text(feature, value)
    if feature.is_symbolic or text == "missing" or len(text) <= LONGEST:
        return text
    number = float(value)
    if number.is_integer() and abs(number) < 10**15:
        return f"{int(number):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return f"≈{number:.{digits}g}"


def short_pair(feature: Feature, before: Any, after: Any) -> tuple[str, str]:
    """Both, with as many digits as it takes to tell them apart."""
    for digits in range(SIGNIFICANT, 18):
        pair = short_value(feature, before, digits), short_value(feature, after, digits)
        if before == after or pair[0] != pair[1]:
            break
    return pair


def share_of(feature: Feature, before: Any, after: Any) -> Fraction | None:
    """A change as a share of the feature's range; ``None`` if it is none between two numbers."""
    if feature.is_symbolic or not feature.range or before == after:
        return None
    if feature.is_absent(before) or feature.is_absent(after):
        return None
    return (Fraction(after) - Fraction(before)) / feature.range


def shares_of(space: FeatureSpace, before: pd.DataFrame, after: pd.DataFrame) -> dict[str, float]:
    """Numbers that change: feature → the change as a share of its range."""
    first, last = (space.encode_row(x, extra="ignore", check_range=False) for x in (before, after))
    found = {f.name: share_of(f, first[f.name], last[f.name]) for f in space}
    return {name: float(share) for name, share in found.items() if share is not None}


def texts_of(
    space: FeatureSpace, rows: pd.DataFrame
) -> tuple[list[str], list[str], list[list[str]]]:
    """Features, the values of the first row, and those of each other one, as texts.

    Behind a number that another row changes stands which share of its range the change is.
    """
    points = [
        space.encode_row(rows.iloc[[i]], extra="ignore", check_range=False)
        for i in range(len(rows))
    ]
    first, *others = ([value_text(f, point[f.name]) for f in space] for point in points)
    for point, texts in zip(points[1:], others, strict=True):
        for j, feature in enumerate(space):
            share = share_of(feature, points[0][feature.name], point[feature.name])
            if share is not None:
                texts[j] += f" ({share_text(share)} of the range)"
    return list(space.names), first, others
