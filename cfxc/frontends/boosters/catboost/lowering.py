"""A CatBoost model to a program: sums of doubles; columns and statistics are float32."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ....ir import Literal, Operand, ops
from ....space import Label
from ...sklearn.encoders import symbol
from ...sklearn.linear import Classes, binary_label, pair, top_label, values
from ...sklearn.lowering import Lowering, Raw, Ref, Refs, tensor
from ...sklearn.registry import Outputs
from ..columns import DECLARE, Coding, summed
from ..forest import Forest
from .document import BINARY, SEVERAL, VALUES, CatModel
from .expansion import Expansion, TooManyNodesError
from .hashes import hashes_of, text_of

WRITE_AS_TEXT = "Write the column as text or whole numbers, missing ones too, and train again."
SIMPLER = (
    "Train it with fewer combinations of categories (max_ctr_complexity=1), or with "
    "one_hot_max_size from the number of categories on."
)


def regressor_flaws(model: CatModel) -> tuple[str, ...]:
    """What is not supported in a model that predicts numbers."""
    if not model.flaws and model.loss not in VALUES:
        return (f"its loss function {model.loss!r} predicts classes, not numbers",)
    return model.flaws


def classifier_flaws(model: CatModel, classes: int) -> tuple[str, ...]:
    """What is not supported in a model that predicts one of some classes."""
    if classes < 2:
        return (*model.flaws, "was trained on one class only")
    if model.flaws:
        return model.flaws
    if model.loss in BINARY and model.outputs == 1 and classes == 2:
        return ()
    if model.loss in SEVERAL and model.outputs == classes:
        return ()
    return (f"predicts {model.outputs} numbers at once, not one of {classes} classes",)


def lower_regressor(lowering: Lowering, refs: Refs, model: CatModel, *, exponent: bool) -> Outputs:
    """``value``: the sum, or with ``exponent`` its exponential; one per target."""
    made: Operand = _sums(lowering, refs, model)
    if exponent:
        made = lowering.let(ops.Exp(made))
    return {"value": values(lowering, made, model.outputs)}


def lower_classifier(lowering: Lowering, refs: Refs, model: CatModel, classes: Classes) -> Outputs:
    """``label``, ``score`` and ``probability``; of two classes the second above the border."""
    sums = _sums(lowering, refs, model)
    if model.loss in BINARY:
        score = lowering.let(ops.Item(sums, 0))
        border = Literal(Fraction(-math.log(1 / model.threshold - 1)))
        label = binary_label(lowering, classes, score, border)
        share = pair(lowering, lowering.let(ops.Sigmoid(score)))
        return {"label": label, "score": score, "probability": share}
    link = ops.Softmax if SEVERAL[model.loss] == "softmax" else ops.Sigmoid
    label = top_label(lowering, classes, sums)
    return {"label": label, "score": sums, "probability": lowering.let(link(sums))}


def _sums(lowering: Lowering, refs: Refs, model: CatModel) -> str:
    labels = {column: _labels(lowering, refs[column]) for column in sorted(model.categories)}
    known = hashes_of([one for own in labels.values() for one in own])
    hashes = {column: [known[text_of(one)] for one in own] for column, own in labels.items()}
    zero = np.zeros(model.outputs)
    if any(not own for own in labels.values()):  # problems that are noted
        return lowering.constant(zero)
    expansion = Expansion(model.splits, hashes)
    try:
        trees = tuple(map(expansion.tree, model.trees))
    except TooManyNodesError:
        lowering.problem(
            "its CTRs of combinations of categories have too many cases to be written one by one",
            SIMPLER,
        )
        return lowering.constant(zero)
    codings = {
        column: Coding({label: float(code) for code, label in enumerate(own)}, strict=True)
        for column, own in labels.items()
    }
    plain = model.scale == 1
    base = model.bias if plain else zero
    sums = summed(lowering, refs, Forest(trees, base, model.columns, single=True), codings)
    if plain:
        return sums
    slopes = np.eye(model.outputs) * model.scale
    return lowering.let(ops.Affine(sums, tensor(slopes), tensor(model.bias)))


def _labels(lowering: Lowering, ref: Ref) -> Sequence[Label]:
    """The categories that a column can hold; empty where that is a problem, which is noted."""
    held = symbol(lowering, ref)
    name = repr(ref.column) if isinstance(ref, Raw) else "made by an earlier step"
    if held is None:
        lowering.problem(
            f"column {name} holds categories of the model, and numbers in the feature space",
            DECLARE,
        )
        return ()
    if any(cell is None or isinstance(cell, float) for cell in held.cells):
        lowering.problem(
            f"column {name} holds categories that are missing or fractions, which the library "
            "refuses",
            WRITE_AS_TEXT,
        )
        return ()
    return list(dict.fromkeys(held.cells))
