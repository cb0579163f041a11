"""The scikit-learn frontend: fitted estimators and pipelines to programs."""

from __future__ import annotations

from . import (  # register what they lower
    calibration,
    categories,
    discriminants,
    ensembles,
    hist_boosting,
    linear,
    machines,
    multiclass,
    preprocessing,
    refused_predictors,
    regression,
    stacking,
    thresholds,
    trees,
    wrappers,
)
from .predictor import SklearnPredictor
from .program import lower
from .registry import MODELS, REFUSED, TRANSFORMERS, WRAPPERS

__all__ = [
    "MODELS",
    "REFUSED",
    "TRANSFORMERS",
    "WRAPPERS",
    "SklearnPredictor",
    "calibration",
    "categories",
    "discriminants",
    "ensembles",
    "hist_boosting",
    "linear",
    "lower",
    "machines",
    "multiclass",
    "preprocessing",
    "refused_predictors",
    "regression",
    "stacking",
    "thresholds",
    "trees",
    "wrappers",
]
