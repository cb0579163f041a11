"""The scikit-learn frontend: fitted estimators and pipelines to programs."""

from __future__ import annotations

from . import ensembles, hist_boosting, linear, preprocessing, trees  # register what they lower
from .predictor import SklearnPredictor
from .program import lower
from .registry import MODELS, TRANSFORMERS

__all__ = [
    "MODELS",
    "TRANSFORMERS",
    "SklearnPredictor",
    "ensembles",
    "hist_boosting",
    "linear",
    "lower",
    "preprocessing",
    "trees",
]
