"""Native LightGBM boosters.  Imported once the library is."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ....space import FeatureSpace
from ...sklearn.program import columns_of
from ..native import Native
from .estimators import stored, tables_of
from .lowering import (
    classifier_flaws,
    lower_classifier,
    lower_regressor,
    regressor_flaws,
    space_names,
)

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
