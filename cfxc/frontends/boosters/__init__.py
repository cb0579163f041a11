"""The frontend for XGBoost, LightGBM and CatBoost: estimators, native boosters, model files.

The libraries are extras; a file imports its own where it is opened.
"""

from __future__ import annotations

import sys
from typing import Any

LIBRARIES = ("xgboost", "lightgbm")  # that have native boosters


def library_of(model: Any) -> str:
    """The library of a native booster; empty for any other object."""
    for library in LIBRARIES:
        loaded = sys.modules.get(library)
        if loaded is not None and isinstance(model, loaded.Booster):
            return library
    return ""


__all__ = ["LIBRARIES", "library_of"]
