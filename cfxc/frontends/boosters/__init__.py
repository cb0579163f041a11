"""The frontend for XGBoost and LightGBM: fitted estimators, native boosters and model files.

The libraries are an extra.  Whoever holds a fitted object has imported its library, so the classes
to lower are entered in the registry only then; a file imports it where it is opened.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..space import FeatureSpace
    from .native import NativePredictor

LIBRARIES = ("xgboost", "lightgbm")


def register_loaded() -> None:
    """Enter the estimators of those libraries that the process has imported already."""
    for library in LIBRARIES:
        if sys.modules.get(library) is not None:
            import_module(f".{library}.estimators", __name__)


def library_of(model: Any) -> str:
    """The library of a native booster; empty for any other object."""
    for library in LIBRARIES:
        loaded = sys.modules.get(library)
        if loaded is not None and isinstance(model, loaded.Booster):
            return library
    return ""


def native_predictor(model: Any, space: FeatureSpace) -> NativePredictor:
    """A native booster with its program, on the columns of a feature space.

    Raises:
        UnsupportedError, ModelFileError, InvalidInputError, MissingColumnError: it cannot be
            lowered, contradicts itself, or does not fit the space.
    """
    from .native import NativePredictor

    library = library_of(model)
    native = import_module(f".{library}.native", __name__).native(model, space)
    return NativePredictor(native, space, f"{native.library}Booster")


__all__ = ["LIBRARIES", "library_of", "native_predictor", "register_loaded"]
