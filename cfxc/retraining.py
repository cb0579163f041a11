"""Retrained copies of a model: what the model might have been, had the data been drawn anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier

from .arrays import Array, Ints
from .errors import DataTypeError, InvalidInputError
from .model import CompiledModel, compile
from .question.checks import whole_number
from .space import FeatureSpace
from .space.names import names_arguments
from .space.tables import as_given, as_pandas
from .space.values import as_written
from .stopping import polled

DRAWS = 100
"""How often rows are drawn until they have every class."""


@names_arguments
def retrained(
    estimator: Any,
    X: Any,
    y: Any,
    n: int,
    *,
    space: FeatureSpace,
    share: float = 1.0,
    random_state: int = 0,
    n_jobs: int = 1,
) -> list[CompiledModel]:
    """Fit ``n`` bootstrap copies of an estimator, and compile them.

    Copy i is fitted to ``ceil(share · len(X))`` rows drawn with replacement, and gets a seed of its
    own if it, or a step of it, has a ``random_state``.  Of a classifier's draws, those that lack a
    class are drawn again, so that all copies know the same ones.

    Args:
        estimator: Anything with ``fit`` that :func:`cfxc.compile` takes: of scikit-learn, XGBoost's
            or LightGBM's classes for it, or a pipeline.  It is cloned, and stays as it is.
        X, y: The training data, N rows; X has the space's columns.
        n: How many copies, ≥ 1.
        space: Over which they are compiled: that of the model they are copies of.
        share: How many rows are drawn, as a share of N, > 0.
        random_state: Seed of the draws and of the copies' seeds; the same models come out whatever
            ``n_jobs`` is.
        n_jobs: Processes; -1 for all processors.

    Raises:
        DataTypeError: no estimator, or ``X`` is no table.
        InvalidInputError: numbers out of range, lengths that differ, or a class so rare that draws
            lack it.
        CfxcError: the estimator cannot be compiled over the space.
    """
    kind = type(estimator).__name__
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise DataTypeError(f"{kind} is no estimator that can be cloned")
    try:
        clone(estimator)
    except AttributeError as error:  # pickled by an older version
        raise DataTypeError(f"this {kind} cannot be cloned: {error}") from error
    if not isinstance(as_pandas(X), pd.DataFrame):
        raise DataTypeError(f"X is a DataFrame with the space's columns, not {type(X).__name__}")
    if not isinstance(space, FeatureSpace):
        raise DataTypeError(f"space is a FeatureSpace, not {type(space).__name__}")
    labels = np.asarray(y)
    if labels.shape != (len(X),) or not len(X):
        raise InvalidInputError(f"X has {len(X)} rows, and y the shape {labels.shape}")
    count, seed = whole_number(n, "n", 1), whole_number(random_state, "random_state", 0)
    part = as_written(share, "share")
    if part <= 0:
        raise InvalidInputError(f"share must be a positive number, not {share}")
    if n_jobs != -1:
        whole_number(n_jobs, "n_jobs", 1)
    size = -int(-part * len(X) // 1)
    rngs = np.random.default_rng(seed).spawn(count)
    jobs = (delayed(_copy)(estimator, X, labels, size, rng) for rng in polled(rngs, 1))
    fitted = Parallel(n_jobs=n_jobs)(jobs)

    return [compile(each, space) for each in polled(fitted, 1)]


def _copy(estimator: Any, X: Any, y: Array, size: int, rng: np.random.Generator) -> Any:
    chosen = _draw(y if is_classifier(estimator) else None, len(y), size, rng)
    copy = clone(estimator)
    seeds = [name for name in copy.get_params() if name.split("__")[-1] == "random_state"]
    copy.set_params(**{name: int(rng.integers(2**31)) for name in sorted(seeds)})
    return copy.fit(as_given(as_pandas(X).iloc[chosen], X), y[chosen])


def _draw(y: Array | None, count: int, size: int, rng: np.random.Generator) -> Ints:
    classes = None if y is None else len(np.unique(y))
    for _ in range(DRAWS):
        chosen = rng.integers(count, size=size)
        if y is None or len(np.unique(y[chosen])) == classes:
            return chosen
    raise InvalidInputError(
        f"{DRAWS} draws of {size} rows lack one of {classes} classes: give more data, or a larger "
        "share"
    )
