"""XGBoost's native boosters and scikit-learn estimators.  Imported once the library is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd
import xgboost
from xgboost import XGBClassifier, XGBRegressor, XGBRFClassifier, XGBRFRegressor

from ....errors import ModelFileError, UnsupportedError
from ....space import FeatureSpace
from ...sklearn.lowering import Lowering, Refs
from ...sklearn.program import columns_of
from ...sklearn.registry import Estimator, Outputs, model
from ..forest import DamagedModelError
from ..native import Native, fitting
from .document import XgbModel, parse_document, read_model
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
        raise UnsupportedError(f"an XGBoost {found.saved_by} cannot be compiled")
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


def stored(booster: Any, missing: float = float("nan"), *, with_trees: bool = True) -> XgbModel:
    """The model inside a native booster.

    Without trees it takes less time, and says whether the model is supported.
    """
    try:
        document = parse_document(bytes(booster.save_raw("ubj")), binary=True)
        return read_model(document, missing, with_trees=with_trees)
    except DamagedModelError as error:
        raise ModelFileError(f"an XGBoost model that is damaged: {error}") from error


def _model(estimator: Estimator, *, with_trees: bool = True, sparse: bool = False) -> XgbModel:
    """The model; of a sparse matrix, the library takes what is not stored, zeros, as missing."""
    missing = float("nan") if estimator.missing is None else float(estimator.missing)
    if sparse:
        if missing == missing and missing != 0.0:
            raise UnsupportedError(
                f"XGBoost with missing={missing:g} on a sparse matrix, whose zeros are missing too",
                remedy="use sparse_threshold=0 in the ColumnTransformer, and train again",
            )
        missing = 0.0
    return stored(estimator.get_booster(), missing, with_trees=with_trees)


def _tables(estimator: Estimator, space: FeatureSpace) -> Callable[[pd.DataFrame], pd.DataFrame]:
    found = _model(estimator, with_trees=False)
    return tables_of(found, found.names or ())


def tables_of(
    stored_model: XgbModel, columns: Sequence[str]
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """What makes tables that the model takes: categories with its own codes."""
    known = {columns[place]: labels for place, labels in stored_model.categories.items()}
    return fitting(known, {columns[place] for place in stored_model.coded} - set(known))


def _regressor_flaws(estimator: Estimator) -> Iterator[str]:
    yield from regressor_flaws(_model(estimator, with_trees=False))


def _classifier_flaws(estimator: Estimator) -> Iterator[str]:
    yield from classifier_flaws(_model(estimator, with_trees=False), estimator.n_classes_)


@model("classifier", XGBClassifier, XGBRFClassifier, flaws=_classifier_flaws, tables=_tables)
def lower_xgb_classifier(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """Label: the second class iff the prediction exceeds one half, or the highest sum."""
    classes = estimator.classes_.tolist()
    found = _model(estimator, sparse=lowering.sparse)
    return lower_classifier(lowering, refs, found, classes, best=True)


@model("regressor", XGBRegressor, XGBRFRegressor, flaws=_regressor_flaws, tables=_tables)
def lower_xgb_regressor(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """``value``: the sum, or what the objective makes of it; one per target."""
    return lower_regressor(lowering, refs, _model(estimator, sparse=lowering.sparse), best=True)
