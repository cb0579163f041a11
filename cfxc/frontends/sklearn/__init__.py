"""The scikit-learn frontend: fitted estimators and pipelines to programs."""

from __future__ import annotations

from . import (  # register what they lower, and what they refuse
    discretising,
    distributions,
    encoders,
    ensembles,
    functions,
    hist_boosting,
    imputation,
    linear,
    polynomials,
    projection,
    refusals,
    scalers,
    selection,
    trees,
)
from .predictor import SklearnPredictor
from .program import lower
from .registry import MODELS, REFUSED, TRANSFORMERS

__all__ = [
    "MODELS",
    "REFUSED",
    "TRANSFORMERS",
    "SklearnPredictor",
    "discretising",
    "distributions",
    "encoders",
    "ensembles",
    "functions",
    "hist_boosting",
    "imputation",
    "linear",
    "lower",
    "polynomials",
    "projection",
    "refusals",
    "scalers",
    "selection",
    "trees",
]
