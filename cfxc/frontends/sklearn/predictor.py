"""The fitted scikit-learn model itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import MiniBatchSparsePCA, SparsePCA
from threadpoolctl import ThreadpoolController

from ...arrays import Array
from ...errors import MissingColumnError
from ...ir import Label
from ...space import FeatureSpace
from ...space.names import shown
from ...space.tables import as_tables
from ..predictor import DOUBLE, SINGLE, Task, class_labels
from .program import check_supported, fitted_names, model_columns
from .registry import MODELS, WRAPPERS, Estimator, own_tables
from .structure import last_step

FEW = 100
"""Rows for which no threads are started: where others compute, each waits for a turn."""


@cache
def _threads() -> ThreadpoolController:
    """OpenMP's threads of the libraries that are loaded by now."""
    return ThreadpoolController()


def _parameters(estimator: Estimator, name: str = "") -> Iterator[tuple[str, Any]]:
    """An estimator, and the parameters of it and of all in it, each under its own name.

    Not by ``get_params``, which frozen ones answer for themselves alone, and which fails for a
    model that an older scikit-learn pickled and that so lacks a newer parameter.
    """
    yield name, estimator
    for key, value in vars(estimator).items():
        if not key.startswith("_") and not key.endswith("_"):
            yield from _held(key, value)
    wrapper = WRAPPERS.get(type(estimator))
    if wrapper is not None and (inside := wrapper.inside(estimator)) is not None:
        yield from _parameters(inside)


def _held(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _held(name, each)
    elif hasattr(value, "get_params") and not isinstance(value, type):
        yield from _parameters(value, name)
    else:
        yield name, value


class SklearnPredictor:
    """Runs a fitted estimator on tables with the columns of ``space``; a ``Predictor``.

    It is given what it was trained on: a table with its columns, of the library that the space
    names, or an array.

    Raises:
        UnsupportedError, InvalidInputError, MissingColumnError: as ``lower``.
    """

    def __init__(self, estimator: Estimator, space: FeatureSpace) -> None:
        check_supported(estimator)
        self.estimator = estimator
        self._dtypes = {str(dtype) for feature in space for dtype in feature.dtypes}
        self._columns = [c for c in model_columns(estimator, space) if c in space.columns]
        self._as_array = fitted_names(estimator, space) is None
        entry = MODELS.get(type(estimator))  # none for a pipeline
        self._tables = entry.tables if entry and not self._as_array else own_tables
        self._fitted = self._tables(estimator, space)
        # a library's own classes are given what it makes of pandas' tables
        self._kind = space.tables if self._tables is own_tables else "pandas"

    @property
    def task(self) -> Task:
        """``classifier`` or ``regressor``."""
        return MODELS[type(last_step(self.estimator))].task

    @cached_property
    def unit_roundoff(self) -> Fraction:
        """2⁻⁵³, or 2⁻²⁴ if columns, encoders or members (XGBoost) may be of single floats."""
        narrow = any(dtype.lower().startswith(("float16", "float32")) for dtype in self._dtypes)
        narrow = narrow or self.adds_singles
        members = [MODELS.get(type(value)) for _, value in _parameters(self.estimator)]
        narrow = narrow or any(entry is not None and entry.single for entry in members)
        asked = [v for name, v in _parameters(self.estimator) if name == "dtype"]
        return SINGLE if narrow or any(each not in (None, np.float64) for each in asked) else DOUBLE

    @cached_property
    def adds_singles(self) -> bool:
        """Whether XGBoost is in it: scikit-learn adds up trees in doubles."""
        members = (value for _, value in _parameters(self.estimator))
        return any(type(each).__module__.startswith("xgboost") for each in members)

    @property
    def classes(self) -> tuple[Label, ...] | None:
        """The labels in the order of the program's ``label``; ``None`` for a regressor."""
        if self.task == "regressor":
            return None
        last = last_step(self.estimator)
        return tuple(class_labels(MODELS[type(last)].classes(last)))

    def predict(self, frame: pd.DataFrame) -> Array:
        """``estimator.predict`` on n rows: labels or numbers (n,), or (n, k) for k > 1 targets.

        Raises:
            MissingColumnError: ``frame`` lacks columns of the model.
        """
        answer = self._run(self.estimator.predict, frame)
        return answer[:, 0] if answer.ndim == 2 and answer.shape[1] == 1 else answer

    def probabilities(self, frame: pd.DataFrame) -> Array | None:
        """``estimator.predict_proba``, shape (n, k); ``None`` if it has none."""
        if not hasattr(self.estimator, "predict_proba"):
            return None
        return self._run(self.estimator.predict_proba, frame)

    @cached_property
    def _takes_no_single_row(self) -> bool:
        """Whether a step drops an axis of a table of one row, as sparse PCA does."""
        steps = (type(value) for _, value in _parameters(self.estimator))
        return any(step in (SparsePCA, MiniBatchSparsePCA) for step in steps)

    def _run(self, method: Callable[[Any], Any], frame: pd.DataFrame) -> Array:
        if len(frame) == 1 and self._takes_no_single_row:
            return np.asarray(method(self.table(pd.concat([frame, frame]))))[:1]
        table = self.table(frame)
        with _threads().limit(limits=1 if len(frame) < FEW else None, user_api="openmp"):
            return np.asarray(method(table))

    def table(self, frame: pd.DataFrame) -> Any:
        """The part of ``frame`` that the estimator takes, in the form it was trained on."""
        given = frame.columns.tolist()
        if missing := [column for column in self._columns if column not in given]:
            raise MissingColumnError(f"the table lacks columns of the model: {shown(missing)}")
        chosen = frame if given == self._columns else frame[self._columns]
        if self._as_array:
            return chosen.to_numpy()
        return as_tables(self._fitted(chosen), self._kind)
