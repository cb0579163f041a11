"""An XGBoost model to a program.

The library adds float32 numbers in float32; the program adds the same numbers exactly.  Labels
change where the library's own prediction passes one half (see ``probe``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....ir import ops
from ...sklearn.lowering import Lowering, tensor
from ...sklearn.registry import Outputs
from ...sklearn.table import Raw, Ref
from ..columns import Coding, summed
from ..forest import Floats, Forest
from ..outputs import binary_outputs, class_outputs, value_outputs
from .document import XgbModel
from .probe import base_margins, label_cut

CATEGORY = "category"  # pandas' name of the dtype


def regressor_flaws(model: XgbModel) -> tuple[str, ...]:
    """What is not supported in a model that predicts numbers."""
    if not model.flaws and model.link in ("hinge", "softmax"):
        return (f"its objective {model.objective!r} predicts classes, not numbers",)
    return model.flaws


def classifier_flaws(model: XgbModel, classes: int) -> tuple[str, ...]:
    """What is not supported in a model that predicts one of some classes."""
    if classes < 2:
        return (*model.flaws, "was trained on one class only")
    if model.flaws or (model.outputs == 1 and classes == 2) or model.objective == "multi:softmax":
        return model.flaws
    if model.outputs == classes > 2 and model.link == "softmax":
        return ()
    return (f"predicts {model.outputs} numbers at once, not one of {classes} classes",)


def lower_regressor(
    lowering: Lowering, refs: tuple[Ref, ...], model: XgbModel, *, best: bool
) -> Outputs:
    """``value``: the sums, or what the objective makes of them; one per target."""
    sums = _sums(lowering, refs, model, best)
    return value_outputs(lowering, sums, model.outputs, model.link)


def lower_classifier(
    lowering: Lowering,
    refs: tuple[Ref, ...],
    model: XgbModel,
    classes: Sequence[int],
    *,
    best: bool,
) -> Outputs:
    """``label``, ``score`` and, where the objective has some, ``probability``."""
    sums = _sums(lowering, refs, model, best)
    if model.outputs > 1:
        return class_outputs(lowering, classes, sums, model.link)
    return binary_outputs(lowering, classes, sums, label_cut(model), model.link)


def _sums(lowering: Lowering, refs: tuple[Ref, ...], model: XgbModel, best: bool) -> str:
    base = base_margins(model)
    if model.weights is not None:
        return _linear(lowering, refs, model, base)
    trees = model.best_trees if best else model.trees
    forest = Forest(trees, base, model.columns, single=True)
    _check_codes(lowering, refs, model)
    codings = {
        place: Coding({label: float(code) for code, label in enumerate(labels)}, strict=True)
        for place, labels in model.categories.items()
    }
    return summed(lowering, refs, forest, codings)


def _check_codes(lowering: Lowering, refs: tuple[Ref, ...], model: XgbModel) -> None:
    """Categories whose codes nobody wrote down: the library takes those of each table."""
    for place in sorted(model.coded - set(model.categories)):
        ref = refs[place]
        if isinstance(ref, Raw) and CATEGORY in lowering.source(ref).feature.dtypes:
            lowering.problem(
                f"column {ref.column!r} holds pandas categories, and the model does not say which",
                "Train with XGBoost 3.1 or later, or on columns of codes.",
            )


def _linear(lowering: Lowering, refs: tuple[Ref, ...], model: XgbModel, base: Floats) -> str:
    """A linear booster, on columns rounded to float32."""
    assert model.weights is not None
    slopes, start = model.weights[:-1].T, model.weights[-1] + base.astype(np.float32)
    numbers = lowering.let(ops.RoundFloat32(lowering.vector(refs)))
    return lowering.let(ops.Affine(numbers, tensor(slopes), tensor(start)))
