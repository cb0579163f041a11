"""Predictors on what other predictors say: stacks, chains, and one model for each target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.multioutput import MultiOutputRegressor, RegressorChain

from ...ir import LabelTuple, Operand, ops
from ..predictor import class_labels
from .ensembles import like_members, named_members
from .lowering import Lowering, Ref, Refs, as_array, cells, tensor
from .members import SMOOTH, classes_of, lower_member, relabelled, response
from .registry import Estimator, Outputs, model

FINAL = "final_estimator"


def _parts(stack: Estimator) -> Iterator[tuple[str, Estimator]]:
    yield from named_members(stack)
    yield FINAL, stack.final_estimator_


def _stack_flaws(stack: Estimator) -> Iterator[str]:
    if isinstance(getattr(stack, "_label_encoder", None), list):
        yield "multi-label classification is not supported; train one model per label"


@model("classifier", StackingClassifier, flaws=_stack_flaws, parts=_parts, note=SMOOTH)
def lower_stacking_classifier(lowering: Lowering, stack: Estimator, refs: Refs) -> Outputs:
    """The final estimator's label; it knows classes by their positions."""
    final = stack.final_estimator_
    outputs = lower_member(lowering, final, _said(lowering, stack, refs), FINAL)
    label = relabelled(lowering, final, outputs, stack.classes_)
    return {"label": label} | {name: held for name, held in outputs.items() if name != "label"}


@model("regressor", StackingRegressor, parts=_parts)
def lower_stacking_regressor(lowering: Lowering, stack: Estimator, refs: Refs) -> Outputs:
    """The final estimator's value."""
    return lower_member(lowering, stack.final_estimator_, _said(lowering, stack, refs), FINAL)


def _said(lowering: Lowering, stack: Estimator, refs: Refs) -> Refs:
    """The columns of the final estimator: what the members say, then the table's own if asked."""
    columns: list[Ref] = []
    two = len(getattr(stack, "classes_", ())) == 2
    for (name, member), method in zip(named_members(stack), stack.stack_method_, strict=True):
        outputs = lower_member(lowering, member, refs, name)
        if method == "predict":
            columns += _columns(lowering, _predicted(lowering, member, outputs))
            continue
        found = response(lowering, member, outputs, (method,))[1]
        if method == "predict_proba" and two:  # the first class's follows from it
            found = lowering.let(ops.Item(found, 1))
        columns += _columns(lowering, found, 1 if two else len(classes_of(member)))
    if stack.passthrough:
        columns += refs
    return as_array(columns)


def _predicted(lowering: Lowering, member: Estimator, outputs: Outputs) -> Operand:
    """A member's value, or its label as a number."""
    if "value" in outputs:
        return outputs["value"]
    classes = np.asarray(classes_of(member))
    if classes.dtype.kind not in "biuf":
        lowering.problem("hands labels that are text to its final estimator", "number the classes.")
        classes = np.zeros(len(classes))
    labels = LabelTuple(class_labels(classes_of(member)))
    return lowering.let(ops.Lookup(outputs["label"], labels, tensor(classes.astype(np.float64))))


def _columns(lowering: Lowering, operand: Operand, width: int = 1) -> Refs:
    """A number, or all of a vector of length ``width``, as columns."""
    vector = operand if width > 1 and isinstance(operand, str) else None
    return cells(vector or lowering.let(ops.Concat((operand,))), width)


@model("regressor", MultiOutputRegressor, parts=like_members)
def lower_several_regressors(lowering: Lowering, estimator: Estimator, refs: Refs) -> Outputs:
    """One model for each target."""
    members = [member for _, member in like_members(estimator)]
    made = [lower_member(lowering, member, refs)["value"] for member in members]
    return {"value": made[0] if len(made) == 1 else lowering.let(ops.Concat(tuple(made)))}


@model("regressor", RegressorChain, parts=like_members)
def lower_regressor_chain(lowering: Lowering, chain: Estimator, refs: Refs) -> Outputs:
    """Each model sees the columns and what the models before it said; targets in their order."""
    columns, made = list(as_array(refs)), []
    for _, member in like_members(chain):
        value: Any = lower_member(lowering, member, tuple(columns))["value"]
        made.append(value)
        columns += _columns(lowering, value)
    ordered = tuple(made[place] for place in np.argsort(chain.order_).tolist())
    return {"value": ordered[0] if len(ordered) == 1 else lowering.let(ops.Concat(ordered))}
