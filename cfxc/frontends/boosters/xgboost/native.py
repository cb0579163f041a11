"""Native XGBoost boosters.  Imported once the library is."""

from __future__ import annotations

from typing import Any

import pandas as pd
import xgboost

from ....errors import UnsupportedError
from ....space import FeatureSpace
from ...sklearn.program import columns_of
from ..native import Native
from .estimators import stored, tables_of
from .lowering import classifier_flaws, lower_classifier, lower_regressor, regressor_flaws

CLASSIFIES = ("binary:hinge", "binary:logistic", "multi:softmax", "multi:softprob")


def native(booster: Any, space: FeatureSpace) -> Native:
    """A native booster, which predicts with all of its trees.

    Raises:
        ModelFileError, UnsupportedError, MissingColumnError, InvalidInputError: it contradicts
            itself, is a ranker, or does not fit the space.
    """
    found = stored(booster)
    if found.saved_by not in ("", "classifier", "regressor"):
        raise UnsupportedError(f"an XGBoost {found.saved_by} cannot be lowered")
    columns = columns_of(space, found.names, found.columns)
    classes = max(found.outputs, 2) if found.objective in CLASSIFIES else None
    fit = tables_of(found, columns)
    kinds = booster.feature_types if found.coded and not found.categories else None

    def run(table: pd.DataFrame) -> Any:
        fitted = fit(table)
        if found.names is None:
            fitted = fitted.set_axis(range(len(columns)), axis=1)
        matrix = xgboost.DMatrix(fitted, feature_types=kinds, enable_categorical=True)
        return booster.predict(matrix, validate_features=found.names is not None)

    if classes is None:
        return Native(
            "XGBoost", columns, None, regressor_flaws(found),
            lambda lowering, refs: lower_regressor(lowering, refs, found, best=False), run,
        )  # fmt: skip
    labels = range(classes)
    return Native(
        "XGBoost", columns, classes, classifier_flaws(found, classes),
        lambda lowering, refs: lower_classifier(lowering, refs, found, labels, best=False), run,
        gives_labels=found.objective == "multi:softmax",
    )  # fmt: skip
