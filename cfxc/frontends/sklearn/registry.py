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
from .lowering import Lowering, Ref

Estimator = Any  # scikit-learn ships without types
Outputs = dict[str, Operand]
Transform = Callable[[Lowering, Estimator, tuple[Ref, ...]], tuple[Ref, ...]]
Predict = Callable[[Lowering, Estimator, tuple[Ref, ...]], Outputs]
Flaws = Callable[[Estimator], Iterable[str]]
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
    return lambda table: table


@dataclass(frozen=True)
class Transformer:
    """How a transformer is lowered: ``lower`` gives its output columns, as references.

    ``flaws`` states what is unsupported in one fitted instance; nothing if it is fine.
    """

    lower: Transform
    flaws: Flaws = no_flaws


@dataclass(frozen=True)
class Model:
    """How a predictor is lowered: ``lower`` takes its columns and gives its outputs.

    ``parts`` are the fitted predictors inside, which must be supported too, with their names;
    ``classes`` the labels of a classifier; ``names`` the columns of the space that it was trained
    on, if it knows; ``tables`` what turns tables into those that its library takes.
    """

    task: Task
    lower: Predict
    flaws: Flaws = no_flaws
    parts: Parts = no_parts
    classes: Classes = own_classes
    names: Names = own_names
    tables: Tables = own_tables


PIPELINES: set[type] = {Pipeline}
"""Classes of pipelines; steps with ``fit_resample`` act in ``fit`` only."""
TRANSFORMERS: dict[type, Transformer] = {}
MODELS: dict[type, Model] = {}

TransformT = TypeVar("TransformT", bound=Transform)
PredictT = TypeVar("PredictT", bound=Predict)


def transformer(*classes: type, flaws: Flaws = no_flaws) -> Callable[[TransformT], TransformT]:
    """Decorator: the function lowers transformers of exactly these ``classes``."""

    def enter(lower: TransformT) -> TransformT:
        TRANSFORMERS.update(dict.fromkeys(classes, Transformer(lower, flaws)))
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
) -> Callable[[PredictT], PredictT]:
    """Decorator: the function lowers predictors of exactly these ``classes``."""

    def enter(lower: PredictT) -> PredictT:
        entry = Model(task, lower, flaws, parts, labels, names, tables)
        MODELS.update(dict.fromkeys(classes, entry))
        return lower

    return enter
