"""LightGBM's native boosters and scikit-learn estimators.  Imported once the library is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd
from lightgbm import LGBMClassifier, LGBMRegressor

from ....errors import ModelFileError
from ....space import FeatureSpace
from ...sklearn.lowering import Lowering, Refs
from ...sklearn.program import columns_of
from ...sklearn.registry import Estimator, Outputs, model
from ..forest import DamagedModelError
from ..native import Native, fitting
from .lowering import (
    category_columns,
    classifier_flaws,
    lower_classifier,
    lower_regressor,
    regressor_flaws,
    space_names,
)
from .text import LgbModel, read_text

CLASSIFIES = ("binary", "multiclass", "multiclassova")


def native(booster: Any, space: FeatureSpace) -> Native:
    """A native booster, which predicts with its best rounds if training noted them, else with all.

    Raises:
        ModelFileError, MissingColumnError, InvalidInputError: it contradicts itself, or does not
            fit the space.
    """
    found = stored(booster)
    columns = columns_of(space, space_names(found.names, space), found.columns)
    classes = max(found.outputs, 2) if found.objective in CLASSIFIES else None
    fit = tables_of(found, columns, space)

    def run(table: pd.DataFrame) -> Any:
        return booster.predict(fit(table))

    if classes is None:
        return Native(
            "LightGBM", columns, None, regressor_flaws(found),
            lambda lowering, refs: lower_regressor(lowering, refs, found, as_array=False), run,
        )  # fmt: skip
    labels = range(classes)
    return Native(
        "LightGBM", columns, classes, classifier_flaws(found, classes),
        lambda lowering, refs: lower_classifier(lowering, refs, found, labels, as_array=False),
        run,
    )  # fmt: skip


EARLY = ("pred_early_stop", "start_iteration_predict", "num_iteration_predict")


def stored(booster: Any, *, with_trees: bool = True) -> LgbModel:
    """The model inside a native booster, up to the round that it predicts with.

    Without trees it takes less time, and says whether the model is supported.
    """
    try:
        return read_text(booster.model_to_string().encode(), with_trees=with_trees)
    except DamagedModelError as error:
        raise ModelFileError(f"a LightGBM model that is damaged: {error}") from error


def tables_of(
    stored_model: LgbModel, columns: Sequence[str], space: FeatureSpace
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """What makes tables that the model takes: categories with its own codes."""
    found = category_columns(stored_model, columns, space) or ()
    pairs = zip(found, stored_model.categories, strict=False)
    return fitting({columns[place]: known for place, known in pairs})


def _names(estimator: Estimator, space: FeatureSpace) -> Sequence[Any] | None:
    return space_names(estimator.booster_.feature_name(), space)


def _tables(estimator: Estimator, space: FeatureSpace) -> Callable[[pd.DataFrame], pd.DataFrame]:
    names = space_names(estimator.booster_.feature_name(), space)
    found = stored(estimator.booster_, with_trees=False)
    return tables_of(found, names or space.columns, space)


def _regressor_flaws(estimator: Estimator) -> Iterator[str]:
    yield from _options(estimator)
    yield from regressor_flaws(stored(estimator.booster_, with_trees=False))


def _classifier_flaws(estimator: Estimator) -> Iterator[str]:
    yield from _options(estimator)
    if callable(estimator.objective):
        yield "has an objective of one's own: its predict gives sums instead of labels"
    else:
        found = stored(estimator.booster_, with_trees=False)
        yield from classifier_flaws(found, estimator.n_classes_)


def _options(estimator: Estimator) -> Iterator[str]:
    options = estimator.get_params()
    yield from (
        f"predicts with part of its trees ({name}={options[name]!r})"
        for name in EARLY
        if options.get(name)
    )


@model("classifier", LGBMClassifier, flaws=_classifier_flaws, names=_names, tables=_tables)
def lower_lgb_classifier(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """Label: the second class iff its probability is the larger, or the highest sum."""
    as_array = _names(estimator, lowering.space) is None
    found = stored(estimator.booster_)
    return lower_classifier(lowering, refs, found, estimator.classes_, as_array=as_array)


@model("regressor", LGBMRegressor, flaws=_regressor_flaws, names=_names, tables=_tables)
def lower_lgb_regressor(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """``value``: the sum, or what the objective makes of it."""
    as_array = _names(estimator, lowering.space) is None
    return lower_regressor(lowering, refs, stored(estimator.booster_), as_array=as_array)
