"""An XGBoost document once more, made of checked parts only.

The library follows the indices in a file without a check.  It is therefore not given the file, but
this: everything that predictions depend on, every index in its range, and nothing else (gains and
covers of the nodes are zero).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....arrays import Bools, Ints
from ..forest import DamagedModelError, reading, walked
from .document import CATEGORICAL, NO_CHILD, Document, XgbModel, floats, ints
from .ubjson import write_ubjson

ROOT = 2**31 - 1  # the parent of the root
CATEGORY_TYPES = {9: "i1", 10: "u1", 11: "i2", 13: "i4", 15: "i8"}


def rewritten(document: Document, model: XgbModel) -> bytes:
    """UBJSON of the same model; ``model`` is the document as read, without flaws."""
    with reading():
        return write_ubjson(_document(document["learner"], model))


def _document(learner: Document, model: XgbModel) -> Document:
    booster = learner["gradient_booster"]
    if model.weights is not None:
        rounds = int(booster["model"].get("boosted_rounds", 0))
        weights = list(model.weights.ravel())
        written: Document = {"model": {"boosted_rounds": rounds, "weights": weights}}
    elif model.booster == "dart":
        inner = {"model": _trees(booster["gbtree"]["model"], model), "name": "gbtree"}
        drops = floats(booster, "weight_drop", len(model.trees))
        written = {"gbtree": inner, "weight_drop": list(drops)}
    else:
        written = {"model": _trees(booster["model"], model)}
    return {
        "learner": {
            "attributes": _texts(learner.get("attributes", {})),
            "feature_names": list(model.names or ()),
            "feature_types": [str(kind) for kind in learner.get("feature_types") or ()],
            "gradient_booster": {**written, "name": model.booster},
            "learner_model_param": _texts(learner["learner_model_param"]),
            "objective": {
                key: part if isinstance(part, str) else _texts(part)
                for key, part in learner["objective"].items()
            },
        },
        "version": model.document["version"],
    }


def _texts(part: Document) -> dict[str, str]:
    return {str(key): str(value) for key, value in part.items()}


def _trees(part: Document, model: XgbModel) -> Document:
    count = len(model.trees)
    made = {
        "gbtree_model_param": {
            "num_parallel_tree": str(max(int(part["gbtree_model_param"]["num_parallel_tree"]), 1)),
            "num_trees": str(count),
        },
        "iteration_indptr": list(model.layers),
        "tree_info": [tree.output for tree in model.trees],
        "trees": [_tree(one, place, model.columns) for place, one in enumerate(part["trees"])],
    }
    if "weight_drop" in part:
        made["weight_drop"] = list(floats(part, "weight_drop", count))
    return {**made, "cats": _categories(part["cats"])} if model.categories else made


def _tree(tree: Document, place: int, columns: int) -> Document:
    left, right = ints(tree, "left_children"), ints(tree, "right_children")
    order = walked(left, right, left == NO_CHILD)
    to = np.full(left.size, NO_CHILD, dtype=np.int64)
    to[order] = np.arange(order.size)
    leaf = left[order] == NO_CHILD
    left, right = (
        np.where(leaf, NO_CHILD, to[np.where(leaf, 0, side[order])]) for side in (left, right)
    )
    parents = np.full(order.size, ROOT, dtype=np.int64)
    for side in (left, right):
        parents[side[~leaf]] = np.flatnonzero(~leaf)
    none = np.zeros(order.size, dtype=np.float32)
    made = {
        "base_weights": none,
        "default_left": ints(tree, "default_left")[order].astype(np.uint8),
        "id": place,
        "left_children": left.astype(np.int32),
        "loss_changes": none,
        "parents": parents.astype(np.int32),
        "right_children": right.astype(np.int32),
        "split_conditions": floats(tree, "split_conditions", to.size)[order],
        "split_indices": np.where(leaf, 0, ints(tree, "split_indices")[order]).astype(np.int32),
        "sum_hessian": none,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(columns),
            "num_nodes": str(order.size),
            "size_leaf_vector": "1",
        },
    }
    return {**made, **_category_sets(tree, order, leaf)} if "split_type" in tree else made


def _category_sets(tree: Document, order: Ints, leaf: Bools) -> dict[str, Any]:
    """The category sets of the nodes in their new order; a set may be empty in no node."""
    kinds = np.where(leaf, 0, ints(tree, "split_type")[order])
    codes, nodes = ints(tree, "categories"), ints(tree, "categories_nodes").tolist()
    starts, sizes = (ints(tree, f"categories_{part}").tolist() for part in ("segments", "sizes"))
    held = {
        node: codes[start : start + size]
        for node, start, size in zip(nodes, starts, sizes, strict=True)
    }
    asked = np.flatnonzero(kinds == CATEGORICAL)
    sets = [held.get(int(order[node]), codes[:0]) for node in asked.tolist()]
    if not all(part.size for part in sets):
        raise DamagedModelError("a split of it asks for no category at all")
    ends = np.cumsum([0, *(part.size for part in sets)])
    return {
        "categories": np.concatenate([codes[:0], *sets]).astype(np.int32),
        "categories_nodes": asked.astype(np.int32),
        "categories_segments": ends[:-1].astype(np.int64),
        "categories_sizes": np.diff(ends).astype(np.int64),
        "split_type": (kinds == CATEGORICAL).astype(np.uint8),
    }


def _categories(cats: Document) -> Document:
    return {
        "enc": [_encoding(one) for one in cats["enc"]],
        "feature_segments": ints(cats, "feature_segments").astype(np.int32),
        "sorted_idx": ints(cats, "sorted_idx").astype(np.int32),
    }


def _encoding(one: Document) -> Document:
    if "offsets" in one:
        return {
            "offsets": ints(one, "offsets").astype(np.int32),
            "values": ints(one, "values").astype(np.int8),
        }
    kind = int(one["type"])
    values = ints(one, "values")
    stored = values.astype(CATEGORY_TYPES[kind])
    if (stored != values).any():
        raise DamagedModelError("its categories do not fit their type")
    return {"type": kind, "values": stored}
