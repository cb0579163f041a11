"""A CatBoost document once more, made of checked parts only, for the library to open.

The library follows the indices in a file without a check, so it is not given the file.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ....arrays import Floats
from ..forest import DamagedModelError, reading
from .ctr import MEANS
from .document import (
    BINARY,
    SEVERAL,
    CatModel,
    CatTree,
    Document,
    parameters_of,
    real,
    whole,
)

KEPT_FEATURES = ("float_features", "categorical_features", "ctrs")
KEPT_PARTS = (
    "borders", "ctr_type", "elements", "feature_id", "feature_index", "flat_feature_index",
    "has_nans", "nan_value_treatment", "prior_denomerator", "prior_numerator", "scale", "shift",
    "target_border_idx", "values",
)  # fmt: skip
NOTHING = 2**64 - 1  # the hash of an empty place
MOST_NODES = 2**16 - 1
LABELS: dict[str, tuple[type, ...]] = {
    "Boolean": (bool,),
    "Float": (int, float),
    "Integer": (int,),
    "String": (str,),
}


def rewritten(document: Document, model: CatModel) -> bytes:
    """JSON of the same model; ``model`` is the document as read, without flaws."""
    with reading():
        return _written(_document(document, model)).encode()


def _written(value: Any) -> str:
    """JSON with doubles of 17 digits, as the library writes them: it rounds what it reads.

    Of the digits of the file, it reads the same double here as there.
    """
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{_written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    return f"{value:.17g}" if isinstance(value, float) else json.dumps(value)


def leaves_of(document: Document, model: CatModel) -> Floats:
    """The leaves of all trees in the order in which the library numbers them, (n,)."""
    if "oblivious_trees" in document:
        parts = [np.array(one["leaf_values"]) for one in document["oblivious_trees"] or ()]
    else:
        parts = [tree.value[tree.split < 0].ravel() for tree in model.trees]
    return np.concatenate([np.zeros(0), *parts])


def _document(document: Document, model: CatModel) -> Document:
    told = document["model_info"]
    info: Document = {"params": _parameters(parameters_of(told), model.loss)}
    if model.loss in (*BINARY, *SEVERAL):
        info["class_params"] = _classes(told.get("class_params"), max(model.outputs, 2))
    if model.loss in BINARY:
        info["binclass_probability_threshold"] = repr(model.threshold)
    features = document["features_info"]
    tables = {
        name: _table(json.loads(name)["type"], part)
        for name, part in (document.get("ctr_data") or {}).items()
    }
    if "oblivious_trees" in document:
        trees = {"oblivious_trees": [_oblivious(one) for one in document["oblivious_trees"] or ()]}
    else:
        trees = {"trees": [_asymmetric(tree) for tree in model.trees]}
    return {
        "model_info": info,
        **trees,
        "features_info": {key: _parts(features[key]) for key in KEPT_FEATURES if features.get(key)},
        **({"ctr_data": tables} if tables else {}),
        "scale_and_bias": [model.scale, model.bias.tolist()],
    }


def _parameters(said: Document, loss: str) -> Document:
    """Its loss function, which decides what the library predicts."""
    options = dict(said["loss_function"].get("params") or {})
    if not all(isinstance(part, str | int | float) for part in options.values()):
        raise DamagedModelError("its loss function has options that are none")
    return {
        "loss_function": {"type": loss, "params": {k: str(v) for k, v in options.items()}},
        "flat_params": {"loss_function": loss},
    }


def _classes(part: Any, count: int) -> Document:
    """The labels of the classes, of which the library takes as many as it has outputs."""
    said = dict(json.loads(part) if isinstance(part, str) else part)
    names, kinds = said["class_names"], LABELS[said["class_label_type"]]
    sound = len(names) == count == len(set(names)) and {type(one) for one in names} <= {*kinds}
    places = said.get("class_to_label", list(range(count)))
    if not sound or len(places) != count:
        raise DamagedModelError("its classes do not fit its trees")
    for place in places:
        real(place)
    return {
        "class_label_type": said["class_label_type"],
        "class_names": names,
        "class_to_label": places,
        "classes_count": whole(said.get("classes_count", 0), 0, 2**31),
    }


def _parts(parts: Any) -> list[Document]:
    return [
        {key: part for key, part in one.items() if key in KEPT_PARTS and part != []}
        for one in parts
    ]


def _table(kind: str, part: Document) -> Document:
    """The same rows without empty places."""
    stride, cells = part["hash_stride"], part["hash_map"]
    kept: list[Any] = []
    for at in range(0, len(cells), stride):
        if int(cells[at]) != NOTHING:
            kept += [str(int(cells[at])), *map(int, cells[at + 1 : at + stride])]
    return {
        "hash_map": kept,
        "hash_stride": stride,
        "counter_denominator": part.get("counter_denominator", 0),
    }


def _oblivious(part: Document) -> Document:
    splits = [{"split_index": one["split_index"]} for one in part.get("splits") or ()]
    weights = [1.0] * 2 ** len(splits)
    return {"splits": splits, "leaf_values": part["leaf_values"], "leaf_weights": weights}


def _asymmetric(tree: CatTree) -> Document:
    if tree.split.size > MOST_NODES:
        raise DamagedModelError("a tree in it has more nodes than the library can number")
    made: dict[int, Document] = {}
    for node in reversed(range(tree.split.size)):
        if tree.split[node] < 0:
            held = tree.value[node].tolist()
            made[node] = {"value": held if len(held) > 1 else held[0], "weight": 1.0}
        else:
            left, right = made.pop(int(tree.left[node])), made.pop(int(tree.right[node]))
            made[node] = {
                "split": {"split_index": int(tree.split[node])}, "left": left, "right": right,
            }  # fmt: skip
    return made[0]


def lost_fractions(document: Document) -> bool:
    """Whether the tables of its CTRs hold fractions, of which the library keeps the whole part."""
    for name, part in (document.get("ctr_data") or {}).items():
        if json.loads(name)["type"] in MEANS:
            sums = part["hash_map"][1 :: part["hash_stride"]]
            if any(float(one) != int(one) for one in sums):
                return True
    return False
