"""The scikit-learn frontend: fitted estimators and pipelines to programs."""

from __future__ import annotations

from . import encoders, linear, neural, scalers, trees  # registers what they lower
from .predictor import SklearnPredictor
from .program import lower
from .registry import MODELS, TRANSFORMERS

__all__ = [
    "MODELS",
    "TRANSFORMERS",
    "SklearnPredictor",
    "encoders",
    "linear",
    "lower",
    "neural",
    "scalers",
    "trees",
]
