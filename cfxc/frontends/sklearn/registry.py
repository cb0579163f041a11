"""Which scikit-learn classes are lowered, and by which functions: supported = registered.

Classes are matched exactly: a subclass may override any method, so it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd
from sklearn.pipeline import Pipeline

from ...ir import Operand
from ...space import FeatureSpace
from ..predictor import Task
from .lowering import Lowering, Refs

Estimator = Any  # scikit-learn ships without types
Outputs = dict[str, Operand]
Transform = Callable[[Lowering, Estimator, Refs], Refs]
Predict = Callable[[Lowering, Estimator, Refs], Outputs]
Flaws = Callable[[Estimator], Iterable[str]]
Sparse = Callable[[Estimator, bool], bool]
Parts = Callable[[Estimator], Iterable[tuple[str, Estimator]]]
Classes = Callable[[Estimator], Sequence[Any]]
Names = Callable[[Estimator, FeatureSpace], Sequence[Any] | None]
Tables = Callable[[Estimator, FeatureSpace], Callable[[pd.DataFrame], pd.DataFrame]]


def is_pipeline(estimator: Estimator) -> bool:
    """Whether it is a pipeline of a known class."""
    return type(estimator) in PIPELINES


def no_flaws(estimator: Estimator) -> Iterable[str]:
    """Every fitted estimator of the class is supported."""
    return ()


def no_parts(estimator: Estimator) -> Iterable[tuple[str, Estimator]]:
    """The estimator holds no other ones."""
    return ()


def own_classes(estimator: Estimator) -> Sequence[Any]:
    """The labels of a fitted classifier, in the order of its scores."""
    classes: Sequence[Any] = estimator.classes_
    return classes


def own_names(estimator: Estimator, space: FeatureSpace) -> Sequence[Any] | None:
    """Columns of the DataFrame that it was trained on; ``None`` if it was an array."""
    names: Sequence[Any] | None = getattr(estimator, "feature_names_in_", None)
    return names


def own_tables(estimator: Estimator, space: FeatureSpace) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """It takes tables of any dtype."""
    return _as_it_is


def _as_it_is(table: pd.DataFrame) -> pd.DataFrame:
    return table


def keeps_sparse(estimator: Estimator, sparse: bool) -> bool:
    """It gives a sparse matrix if it says so, or else if it gets one."""
    return bool(getattr(estimator, "sparse_output", sparse))


def dense(estimator: Estimator, sparse: bool) -> bool:
    """It gives no sparse matrix, whatever it gets."""
    return False


@dataclass(frozen=True)
class Transformer:
    """How a transformer is lowered: ``lower`` gives its output columns, as references.

    ``flaws`` states what is unsupported in one fitted instance; nothing if it is fine.  ``sparse``
    tells whether it gives a sparse matrix, by whether it gets one.  ``parts`` are the transformers
    inside, which must be supported too, with their names, and ``models`` the predictors.
    ``note`` says what is enclosed, or what else is to be known.
    """

    lower: Transform
    flaws: Flaws = no_flaws
    sparse: Sparse = keeps_sparse
    parts: Parts = no_parts
    models: Parts = no_parts
    note: str = ""


@dataclass(frozen=True)
class Model:
    """How a predictor is lowered: ``lower`` takes its columns and gives its outputs.

    ``parts`` are the fitted predictors inside, which must be supported too, with their names;
    ``classes`` the labels of a classifier; ``names`` the columns of the space that it was trained
    on, if it knows; ``tables`` what turns tables into those that its library takes.
    ``enclosed``: what decides goes through smooth functions, which engines hold between lines;
    ``note`` says when it does, or what else is to be known.  ``single``: it computes in single
    floats, whatever it is given.
    """

    task: Task
    lower: Predict
    flaws: Flaws = no_flaws
    parts: Parts = no_parts
    classes: Classes = own_classes
    names: Names = own_names
    tables: Tables = own_tables
    enclosed: bool = False
    note: str = ""
    single: bool = False


@dataclass(frozen=True)
class Wrapper:
    """An estimator that answers as the fitted one does that is its ``attribute``.

    ``joins``: it makes one array of its columns first.
    """

    attribute: str
    joins: bool = False

    def inside(self, estimator: Estimator) -> Estimator:
        """The fitted estimator that answers; ``None`` where there is none."""
        return getattr(estimator, self.attribute, None)


@dataclass(frozen=True)
class Refusal:
    """Why a class that users meet is not lowered, and what to do instead."""

    reason: str
    remedy: str = ""


PIPELINES: set[type] = {Pipeline}
"""Classes of pipelines; steps with ``fit_resample`` act in ``fit`` only."""
TRANSFORMERS: dict[type, Transformer] = {}
MODELS: dict[type, Model] = {}
WRAPPERS: dict[type, Wrapper] = {}
RESULTS: dict[type, str] = {}
"""Models of other libraries whose fitted results are lowered though they are no estimators → what
is to be known of them."""
REFUSED: dict[type, Refusal] = {}


def refused(*classes: type, reason: str, remedy: str = "") -> None:
    """Say why exactly these ``classes`` are not lowered, and what to do instead."""
    REFUSED.update(dict.fromkeys(classes, Refusal(reason, remedy)))


def wrapper(*classes: type, attribute: str, joins: bool = False) -> None:
    """Say that estimators of exactly these ``classes`` answer as their ``attribute`` does."""
    WRAPPERS.update(dict.fromkeys(classes, Wrapper(attribute, joins)))


TransformT = TypeVar("TransformT", bound=Transform)
PredictT = TypeVar("PredictT", bound=Predict)


def transformer(
    *classes: type,
    flaws: Flaws = no_flaws,
    sparse: Sparse = keeps_sparse,
    parts: Parts = no_parts,
    models: Parts = no_parts,
    note: str = "",
) -> Callable[[TransformT], TransformT]:
    """Decorator: the function lowers transformers of exactly these ``classes``."""

    def enter(lower: TransformT) -> TransformT:
        entry = Transformer(lower, flaws, sparse, parts, models, note)
        TRANSFORMERS.update(dict.fromkeys(classes, entry))
        return lower

    return enter


def model(
    task: Task,
    *classes: type,
    flaws: Flaws = no_flaws,
    parts: Parts = no_parts,
    labels: Classes = own_classes,
    names: Names = own_names,
    tables: Tables = own_tables,
    enclosed: bool = False,
    note: str = "",
    single: bool = False,
) -> Callable[[PredictT], PredictT]:
    """Decorator: the function lowers predictors of exactly these ``classes``."""

    def enter(lower: PredictT) -> PredictT:
        entry = Model(task, lower, flaws, parts, labels, names, tables, enclosed, note, single)
        MODELS.update(dict.fromkeys(classes, entry))
        return lower

    return enter


def below(step: str, name: str) -> str:
    """What a part is called in messages about what is in a step."""
    return f"{step} > {name}" if step else name
