"""Values of features as people write them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ..space import Feature, FeatureSpace
from ..space.values import number_text

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


def texts_of(
    space: FeatureSpace, rows: pd.DataFrame
) -> tuple[list[str], list[str], list[list[str]]]:
    """Features, the values of the first row, and those of each other one, as texts."""
    texts = []
    for i in range(len(rows)):
        point = space.encode_row(rows.iloc[[i]], extra="ignore", check_range=False)
        texts.append([value_text(feature, point[feature.name]) for feature in space])
    return list(space.names), texts[0], texts[1:]


__all__ = ["short_pair", "short_value", "texts_of", "value_text"]
