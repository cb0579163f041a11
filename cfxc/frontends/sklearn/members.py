"""Ensembles of whole predictors: what they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from ...ir import LabelTuple, Operand, ops
from ..predictor import class_labels
from .lowering import Lowering, tensor
from .registry import MODELS, Estimator, Outputs
from .structure import predict
from .table import Raw, Ref, common_dtype

TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)
MEMBERS = "its estimators"


def like_members(estimator: Estimator) -> Iterator[tuple[str, Estimator]]:
    """The members of an ensemble that trains many of one kind; they share one name."""
    return ((MEMBERS, member) for member in estimator.estimators_)


def all_trees(estimator: Estimator) -> bool:
    """Whether every member is one decision tree, so that one sum of trees says it all."""
    return all(type(member) in TREES for member in estimator.estimators_)


def as_array(refs: Sequence[Ref]) -> tuple[Ref, ...]:
    """The columns of one array made of ``refs``: of one dtype, objects as soon as one is."""
    plain = all(ref.dtype.kind in "biuf" for ref in refs)
    dtype = common_dtype([ref.dtype for ref in refs]) if plain else np.dtype(object)
    return tuple(Raw(ref.column, dtype) if isinstance(ref, Raw) else ref for ref in refs)


def lower_member(
    lowering: Lowering, member: Estimator, refs: tuple[Ref, ...], name: str = MEMBERS
) -> Outputs:
    """The outputs of one member on its own columns."""
    return predict(lowering, name, member, refs)


def vote(lowering: Lowering, member: Estimator, outputs: Outputs, rows: npt.ArrayLike) -> str:
    """The row of ``rows`` (one per class of the member) that belongs to the member's label."""
    labels = LabelTuple(class_labels(classes_of(member)))
    return lowering.let(ops.Lookup(outputs["label"], labels, tensor(rows)))


def classes_of(member: Estimator) -> Sequence[Any]:
    """The labels of a member, or of the classifier at the end of a pipeline."""
    while type(member) not in MODELS:
        member = member.steps[-1][1]
    return MODELS[type(member)].classes(member)


def probability(lowering: Lowering, member: Estimator, outputs: Outputs) -> Operand:
    """The member's class probabilities; a problem if it has some that are not lowered."""
    if "probability" not in outputs:
        lowering.problem(f"the probabilities of {type(member).__name__} are not lowered", REPLACE)
        return lowering.constant(np.zeros(len(classes_of(member))))
    return outputs["probability"]


REPLACE = "replace that estimator, or let the ensemble vote with labels."


def leaf_votes(tree: Any, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """``rows[c]`` at the nodes of a classification tree where its own label is its class c.

    The label of a leaf is its largest class fraction, ties to the first.
    """
    votes: npt.NDArray[np.float64] = rows[tree.value[:, 0, :].argmax(axis=1)]
    return votes


def total(lowering: Lowering, parts: Iterable[Operand]) -> Operand:
    """The sum, from left to right."""
    first, *rest = parts
    for part in rest:
        first = lowering.let(ops.Add(first, part))
    return first
