"""Predictors inside of other predictors: their outputs, responses and labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...ir import LabelTuple, Literal, Op, Operand, Tensor, ops
from ..predictor import class_labels
from .linear import ONE
from .lowering import Lowering, Refs, tensor
from .registry import MODELS, Estimator, Outputs
from .structure import last_step, predict

MEMBERS = "its estimators"
OUTPUTS = {"predict_proba": "probability", "decision_function": "score"}
"""Methods of a deployed classifier, and what programs call what they give."""
SMOOTH = (
    "smooth probabilities of members are enclosed; not answered where a member divides shares that "
    "are not logistic by their sum (OneVsRestClassifier of trees, three classes)"
)
REPLACE = "replace that estimator, or let the ensemble vote with labels."


def lower_member(lowering: Lowering, member: Estimator, refs: Refs, name: str = MEMBERS) -> Outputs:
    """The outputs of one member on its own columns."""
    return predict(lowering, name, member, refs)


def classes_of(member: Estimator) -> Sequence[Any]:
    """The labels of a classifier, or of the one inside of pipelines and wrappers."""
    member = last_step(member)
    return MODELS[type(member)].classes(member)


def vote(lowering: Lowering, member: Estimator, outputs: Outputs, rows: npt.ArrayLike) -> str:
    """The row of ``rows`` (one per class of the member) that belongs to the member's label."""
    labels = LabelTuple(class_labels(classes_of(member)))
    return lowering.let(ops.Lookup(outputs["label"], labels, tensor(rows)))


def probability(lowering: Lowering, member: Estimator, outputs: Outputs) -> Operand:
    """The member's class probabilities; a problem if it has some that are not lowered."""
    return response(lowering, member, outputs, ("predict_proba",))[1]


def response(
    lowering: Lowering, member: Estimator, outputs: Outputs, methods: Sequence[str]
) -> tuple[str, Operand]:
    """The first of ``methods`` that the deployed member has, and what it gives.

    A number for the decision function of two classes, else one per class.  A problem if that is
    not lowered.
    """
    method = next((each for each in methods if hasattr(member, each)), methods[0])
    if (found := outputs.get(OUTPUTS[method])) is not None:
        return method, _enclosed(lowering, found, len(classes_of(member)))
    what = "probabilities" if method == "predict_proba" else "decision function"
    lowering.problem(f"the {what} of {type(member).__name__} are not compiled", REPLACE)
    width = len(classes_of(member))
    if method == "decision_function" and width == 2:
        return method, Literal(Fraction(0))
    return method, lowering.constant(np.zeros(width))


def _enclosed(lowering: Lowering, found: Operand, width: int) -> Operand:
    """A member's output; one that is a softmax by functions that engines enclose.

    So are logistic shares over their sum: ``σ(z_k) / Σ_j σ(z_j)`` is the softmax of the
    ``log σ(z_k) = -softplus(-z_k)``.
    """
    op = lowering.definitions.get(found) if isinstance(found, str) else None
    if isinstance(op, ops.Softmax):
        return _softmax(lowering, [lowering.let(ops.Item(op.x, at)) for at in range(width)])
    logits = _logits(lowering, op)
    if logits is None:
        return found
    signed = [lowering.let(ops.Neg(z)) for z in logits]
    return _softmax(
        lowering, [lowering.let(ops.Neg(lowering.let(ops.Softplus(z)))) for z in signed]
    )


def _softmax(lowering: Lowering, scores: Sequence[str]) -> str:
    """``p_k = σ(z_k - log Σ_{j≠k} exp z_j)``, and ``log(exp a + exp b) = b + softplus(a - b)``."""
    shares = []
    for place, own in enumerate(scores):
        most, *others = (each for at, each in enumerate(scores) if at != place)
        for other in others:
            ahead = lowering.let(ops.Sub(other, most))
            most = lowering.let(ops.Add(most, lowering.let(ops.Softplus(ahead))))
        shares.append(lowering.let(ops.Sigmoid(lowering.let(ops.Sub(own, most)))))
    return lowering.let(ops.Concat(tuple(shares)))


def _logits(lowering: Lowering, op: Op | None) -> list[Operand] | None:
    """The z of logistic shares ``σ(z)`` over their sum; ``None`` of anything else."""
    if not isinstance(op, ops.Div):
        return None
    shares, over = _known(lowering, op.x), _known(lowering, op.y)
    if isinstance(over, ops.Select):  # 1 where the sum is 0, which such shares have nowhere
        over = _known(lowering, over.y)
    if not (isinstance(shares, ops.Concat) and isinstance(over, ops.ReduceSum) and over.x == op.x):
        return None
    found: list[Operand] = []
    for share in shares.parts:
        item = _known(lowering, share)
        pair = _known(lowering, item.x) if isinstance(item, ops.Item) and item.index == 1 else None
        logistic = _known(lowering, pair.parts[1]) if isinstance(pair, ops.Concat) else None
        if not isinstance(pair, ops.Concat) or not isinstance(logistic, ops.Sigmoid):
            return None
        rest = _known(lowering, pair.parts[0])
        if len(pair.parts) != 2 or rest != ops.Sub(ONE, pair.parts[1]):
            return None
        found.append(logistic.x)
    return found


def _known(lowering: Lowering, operand: Operand) -> Op | None:
    return lowering.definitions.get(operand) if isinstance(operand, str) else None


def chance(
    lowering: Lowering, member: Estimator, outputs: Outputs, methods: Sequence[str]
) -> tuple[str, Operand]:
    """As :func:`response` of two classes: the decision function, or the second probability."""
    method, found = response(lowering, member, outputs, methods)
    if method == "predict_proba":
        found = lowering.let(ops.Item(found, 1))
    return method, found


def relabelled(
    lowering: Lowering, member: Estimator, outputs: Outputs, classes: Sequence[Any]
) -> Operand:
    """The label of a member that knows the positions in ``classes`` as its own labels."""
    own = [int(each) for each in classes_of(member)]
    label = outputs["label"]
    op = lowering.definitions.get(label) if isinstance(label, str) else None
    if isinstance(op, ops.Category) and own == list(range(len(classes))):
        return lowering.let(ops.Category(op.index, class_labels(classes)))
    index = lowering.let(ops.Lookup(label, class_labels(own), Tensor(np.array(own))))
    return lowering.let(ops.Category(index, class_labels(classes)))


def total(lowering: Lowering, parts: Iterable[Operand]) -> Operand:
    """The sum, from left to right."""
    first, *rest = parts
    for part in rest:
        first = lowering.let(ops.Add(first, part))
    return first
