"""Selectors of columns: the table's own numbers, those of them that training kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from sklearn.feature_selection import (
    RFE,
    RFECV,
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
)
from sklearn.utils._set_output import _get_output_config

from .lowering import Lowering, Refs
from .registry import Estimator, transformer


def _keeps_nothing(selector: Estimator) -> Iterator[str]:
    if not np.any(selector.get_support()):
        yield "keeps no column, so that the model sees nothing; loosen it and train again"


@transformer(
    GenericUnivariateSelect,
    RFE,
    RFECV,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
    flaws=_keeps_nothing,
)
def lower_selection(lowering: Lowering, selector: Estimator, refs: Refs) -> Refs:
    """The columns of ``get_support()``: an array with the dtype of all, or columns of a table."""
    kept = [ref for ref, keeps in zip(refs, selector.get_support(), strict=True) if keeps]
    if _get_output_config("transform", selector)["dense"] != "default":
        return tuple(kept)
    return tuple(replace(ref, dtype=lowering.dtype(refs)) for ref in kept)
