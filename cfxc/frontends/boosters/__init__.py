"""The frontend for XGBoost, LightGBM and CatBoost: estimators, native boosters, model files.

The libraries are an extra.  A fitted object exists only once its library is imported, so the
classes to lower are entered in the registry only then; a file imports it where it is opened.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

LIBRARIES = ("xgboost", "lightgbm", "catboost")
SUFFIXES = (".json", ".ubj", ".txt", ".cbm")


def register_loaded() -> None:
    """Enter the estimators of those libraries that the process has imported already."""
    for library in LIBRARIES:
        if sys.modules.get(library) is not None:
            import_module(f".{library}.native", __name__)


def library_of(model: Any) -> str:
    """The library of a native booster; empty for any other object."""
    for library in LIBRARIES:
        loaded = sys.modules.get(library)
        if loaded is not None and isinstance(model, getattr(loaded, "Booster", ())):
            return library
    return ""


__all__ = ["LIBRARIES", "SUFFIXES", "library_of", "register_loaded"]
