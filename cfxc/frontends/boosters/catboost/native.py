"""CatBoost's estimators.  Imported once the library is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, CatBoostError, CatBoostRegressor

from ....errors import ModelFileError
from ....space import FeatureSpace
from ...sklearn.lowering import Lowering, Refs
from ...sklearn.registry import Estimator, Outputs, model
from ..forest import DamagedModelError
from .document import CatModel, parse_json, read_model
from .lowering import classifier_flaws, lower_classifier, lower_regressor, regressor_flaws


def stored(estimator: Estimator, *, with_trees: bool = True) -> CatModel:
    """The model inside a fitted estimator."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        estimator.save_model(str(path), format="json")
        content = path.read_bytes()
    try:
        return read_model(parse_json(content), with_trees=with_trees)
    except DamagedModelError as error:
        raise ModelFileError(f"a CatBoost model that is damaged: {error}") from error


def _names(estimator: Estimator, space: FeatureSpace) -> Sequence[Any] | None:
    """The names of its columns; ``None`` if it was trained on an array, which numbers them."""
    names: list[str] = estimator.feature_names_
    numbered = names == [str(place) for place in range(len(names))]
    return None if numbered and not set(names) <= set(space.columns) else names


def _tables(estimator: Estimator, space: FeatureSpace) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """The library takes no numbers of the dtype object."""
    names = estimator.feature_names_
    categories = {names[place] for place in estimator.get_cat_feature_indices()}

    def fit(table: pd.DataFrame) -> pd.DataFrame:
        odd = [c for c in table if c not in categories and table[c].dtype.kind == "O"]
        return table.astype(dict.fromkeys(odd, np.float64)) if odd else table

    return fit


def _unreadable(estimator: Estimator) -> Iterator[str]:
    for kind in ("text", "embedding"):
        if getattr(estimator, f"get_{kind}_feature_indices")():
            yield f"has {kind} features; turn them into numbers before training"


def _regressor_flaws(estimator: Estimator) -> Iterator[str]:
    yield from list(_unreadable(estimator)) or _flaws(estimator, regressor_flaws)


def _classifier_flaws(estimator: Estimator) -> Iterator[str]:
    classes = len(estimator.classes_)
    yield from list(_unreadable(estimator)) or _flaws(
        estimator, lambda found: classifier_flaws(found, classes)
    )


def _flaws(estimator: Estimator, of_model: Callable[[CatModel], Sequence[str]]) -> Sequence[str]:
    try:
        return of_model(stored(estimator))
    except CatBoostError as error:
        return (f"cannot be saved as JSON: {str(error)[:100]}",)


@model("classifier", CatBoostClassifier, flaws=_classifier_flaws, names=_names, tables=_tables)
def lower_cat_classifier(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """Label: the second class iff its probability exceeds the threshold, or the highest sum."""
    return lower_classifier(lowering, refs, stored(estimator), estimator.classes_)


@model("regressor", CatBoostRegressor, flaws=_regressor_flaws, names=_names, tables=_tables)
def lower_cat_regressor(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """``value``: the sum, or for counts (Poisson, Tweedie) its exponential; one per target."""
    exponent = estimator._get_default_prediction_type() == "Exponent"
    return lower_regressor(lowering, refs, stored(estimator), exponent=exponent)
