"""Which parts of the frontend lower estimators of libraries that few people have.

A fitted object exists only once its library is imported, so the classes to lower are entered in
the registry only then.
"""

from __future__ import annotations

import sys
from importlib import import_module

PARTS = {
    "catboost": ".boosters.catboost.native",
    "category_encoders": ".libraries.encoders",
    "imblearn": ".libraries.imbalanced",
    "interpret.glassbox": ".libraries.additive",
    "lightgbm": ".boosters.lightgbm.native",
    "lineartree": ".libraries.linear_trees",
    "statsmodels": ".libraries.statistical",
    "xgboost": ".boosters.xgboost.native",
}
"""A module of a library → what lowers its estimators."""


def register_loaded() -> None:
    """Enter the estimators of those libraries that the process has imported already."""
    for library, part in PARTS.items():
        if sys.modules.get(library) is not None:
            import_module(part, __package__)
