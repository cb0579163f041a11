"""What the installed library itself makes of a sum of trees.

The margin that the base score stands for, and where a label changes, are results of float32
arithmetic inside the library.  They are asked of it, on a model with the same objective whose
trees are all zero.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import xgboost

from .document import Document, XgbModel

Singles = npt.NDArray[np.float32]
BRANCHES = 1024  # of the search below, per question to the library
HALF = 0.5


def base_margins(model: XgbModel) -> npt.NDArray[np.float64]:
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


def _singles(order: npt.NDArray[np.int64]) -> Singles:
    made: Singles = np.copysign(np.abs(order).astype(np.int32).view(np.float32), order)
    return made.astype(np.float32)
