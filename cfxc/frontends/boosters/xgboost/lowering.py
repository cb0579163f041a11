"""An XGBoost model to a program.

The library adds float32 numbers in float32; the program adds the same numbers exactly.  Labels
change where the library's own prediction passes one half (see ``probe``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xgboost

from ....arrays import Floats, Ints
from ....ir import ops
from ...sklearn.lowering import Lowering, Raw, Refs, tensor
from ...sklearn.registry import Outputs
from ..columns import Coding, binary_outputs, class_outputs, summed, value_outputs
from ..forest import Forest
from .document import Document, XgbModel

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


def lower_regressor(lowering: Lowering, refs: Refs, model: XgbModel, *, best: bool) -> Outputs:
    """``value``: the sums, or what the objective makes of them; one per target."""
    sums = _sums(lowering, refs, model, best)
    return value_outputs(lowering, sums, model.outputs, model.link)


def lower_classifier(
    lowering: Lowering, refs: Refs, model: XgbModel, classes: Sequence[int], *, best: bool
) -> Outputs:
    """``label``, ``score`` and, where the objective has some, ``probability``."""
    sums = _sums(lowering, refs, model, best)
    if model.outputs > 1:
        return class_outputs(lowering, classes, sums, model.link)
    return binary_outputs(lowering, classes, sums, label_cut(model), model.link)


def _sums(lowering: Lowering, refs: Refs, model: XgbModel, best: bool) -> str:
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


def _check_codes(lowering: Lowering, refs: Refs, model: XgbModel) -> None:
    """Categories whose codes are not in the file: the library takes those of each table."""
    for place in sorted(model.coded - set(model.categories)):
        ref = refs[place]
        if isinstance(ref, Raw) and CATEGORY in lowering.source(ref).feature.dtypes:
            lowering.problem(
                f"column {ref.column!r} holds pandas categories, and the model does not say which",
                "Train with XGBoost 3.1 or later, or on columns of codes.",
            )


def _linear(lowering: Lowering, refs: Refs, model: XgbModel, base: Floats) -> str:
    """A linear booster, on columns rounded to float32."""
    assert model.weights is not None
    slopes, start = model.weights[:-1].T, model.weights[-1] + base.astype(np.float32)
    numbers = lowering.let(ops.RoundFloat32(lowering.vector(refs)))
    return lowering.let(ops.Affine(numbers, tensor(slopes), tensor(start)))


Singles = npt.NDArray[np.float32]
BRANCHES = 1024  # of the search below, per question to the library
HALF = 0.5


def base_margins(model: XgbModel) -> Floats:
    """What the sums (K,) start from."""
    made: Singles = np.ravel(_empty(model).predict(_rows(1), output_margin=True))
    start = np.resize(made[:1], made.size) if model.booster == "gblinear" else made
    return start.astype(np.float64)  # a linear booster starts all sums from the first one


def label_cut(model: XgbModel) -> float:
    """The smallest float32 sum whose prediction exceeds one half: the second class from there on.

    Predictions rise with the sum, but in steps: ``sigmoid(1e-9)`` is 0.5 in float32.
    """
    booster = _empty(model)
    low, high = (_order(np.float32(sign * np.finfo(np.float32).max)) for sign in (-1, 1))
    while high - low > 1:
        tried = np.unique(np.linspace(low, high, BRANCHES).astype(np.int64))
        above = np.ravel(booster.predict(_rows(tried.size, _singles(tried)))) > HALF
        first = int(np.argmax(above)) if above.any() else tried.size - 1
        low, high = int(tried[max(first - 1, 0)]), int(tried[first])
    return float(_singles(np.array([high]))[0])


def _rows(count: int, margins: Singles | None = None) -> Any:
    return xgboost.DMatrix(np.zeros((count, 1), dtype=np.float32), base_margin=margins)


def _empty(model: XgbModel) -> Any:
    """A booster with the same objective and base, and one leaf of zero per sum."""
    outputs = model.outputs
    trees = {
        "gbtree_model_param": {"num_trees": str(outputs), "num_parallel_tree": "1"},
        "iteration_indptr": [0, outputs],
        "tree_info": list(range(outputs)),
        "trees": [_leaf(place) for place in range(outputs)],
    }
    learner = {
        "attributes": {},
        "feature_names": [],
        "feature_types": [],
        "gradient_booster": {"model": trees, "name": "gbtree"},
        "learner_model_param": {**model.document["learner_model_param"], "num_feature": "1"},
        "objective": model.document["objective"],
    }
    text = json.dumps({"learner": learner, "version": model.document["version"]})
    booster = xgboost.Booster()
    booster.load_model(bytearray(text.encode()))
    return booster


def _leaf(place: int) -> Document:
    empty = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
    reals = ("base_weights", "loss_changes", "split_conditions", "sum_hessian")
    return {
        **{key: [] for key in empty},
        **{key: [0.0] for key in reals},
        **{key: [0] for key in ("default_left", "split_indices", "split_type")},
        "id": place,
        "left_children": [-1],
        "right_children": [-1],
        "parents": [2**31 - 1],
        "tree_param": {
            "num_deleted": "0", "num_feature": "1", "num_nodes": "1", "size_leaf_vector": "1",
        },
    }  # fmt: skip


def _order(value: np.float32) -> int:
    """The place of a float32 among all of them, 0 for zero."""
    bits = int(np.abs(value).view(np.int32))
    return -bits if value < 0 else bits


def _singles(order: Ints) -> Singles:
    made: Singles = np.copysign(np.abs(order).astype(np.int32).view(np.float32), order)
    return made.astype(np.float32)
