"""The scikit-learn frontend: fitted estimators and pipelines to programs."""

from __future__ import annotations

from . import (  # registers what they lower
    ada_boost,
    bagging,
    boosting,
    encoders,
    hist_boosting,
    isolation,
    linear,
    neural,
    scalers,
    svm,
    trees,
    voting,
)
from .predictor import SklearnPredictor
from .program import lower
from .registry import MODELS, TRANSFORMERS

__all__ = [
    "MODELS",
    "TRANSFORMERS",
    "SklearnPredictor",
    "ada_boost",
    "bagging",
    "boosting",
    "encoders",
    "hist_boosting",
    "isolation",
    "linear",
    "lower",
    "neural",
    "scalers",
    "svm",
    "trees",
    "voting",
]
