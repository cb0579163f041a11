"""Feature spaces: kinds, ranges, categories, actions and encodings of the columns of a table."""

from __future__ import annotations

from .cells import Value
from .feature import ACTIONS, ENCODINGS, KINDS, Action, Encoding, Feature, Kind
from .space import FeatureSpace
from .values import Label, missing_as

__all__ = [
    "ACTIONS",
    "ENCODINGS",
    "KINDS",
    "Action",
    "Encoding",
    "Feature",
    "FeatureSpace",
    "Kind",
    "Label",
    "Value",
    "missing_as",
]
