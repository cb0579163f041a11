"""What an XGBoost model says, in JSON or UBJSON: read and checked without the library.

Thresholds and leaves are float32.  A node sends x left iff ``float32(x) < threshold``, strictly:
that is ``float32(x) <= t`` with t the next smaller float32.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ....arrays import Bools, Ints
from ....space import Label
from ..forest import (
    DamagedModelError,
    Question,
    Raw,
    Tree,
    always,
    at_most,
    below,
    checked,
    in_codes,
    outputs_in_range,
    parsed,
    reading,
    walked,
)
from .ubjson import parse_ubjson

Document = dict[str, Any]
NO_CHILD = -1
CATEGORICAL = 1
LARGEST_CODE = 2**24
SOUND_NAMES = [3, 4]  # the first version that stores names of categories in UTF-8 correctly
LINKS = {
    "binary:hinge": "hinge",
    "binary:logistic": "sigmoid",
    "binary:logitraw": "identity",
    "count:poisson": "exp",
    "multi:softmax": "softmax",
    "multi:softprob": "softmax",
    "reg:absoluteerror": "identity",
    "reg:gamma": "exp",
    "reg:linear": "identity",
    "reg:logistic": "sigmoid",
    "reg:pseudohubererror": "identity",
    "reg:quantileerror": "identity",
    "reg:squarederror": "identity",
    "reg:squaredlogerror": "identity",
    "reg:tweedie": "exp",
}
"""Objective → what its prediction makes of the sum of the trees."""


@dataclass(frozen=True)
class XgbModel:
    """A model as stored.

    Attributes:
        document: Its parts other than trees and columns.
        booster: ``gbtree``, ``dart`` or ``gblinear``.
        outputs: How many sums there are: one per class or target.
        columns: Number of columns; ``names`` are theirs, if known.
        coded: Columns that hold category codes; ``categories`` are those whose codes the model
            itself assigns, with the categories in the order of their codes.
        trees: All of them, in order; the first ``layers[i]`` are those of i rounds.
        weights: Of a linear booster: (columns + 1, outputs), the last row added to the base.
        flaws: What in it is not supported.
    """

    document: Document
    objective: str
    booster: str
    outputs: int
    columns: int
    names: tuple[str, ...] | None
    coded: frozenset[int]
    categories: Mapping[int, tuple[Label, ...]]
    trees: tuple[Tree, ...]
    layers: tuple[int, ...]
    weights: npt.NDArray[np.float32] | None
    flaws: tuple[str, ...]

    @property
    def link(self) -> str:
        """What becomes of the sums: an entry of ``LINKS``."""
        return LINKS[self.objective]

    @property
    def saved_by(self) -> str:
        """``classifier``, … if an estimator saved it; empty if it was a native booster."""
        text = self.document["attributes"].get("scikit_learn")
        return str(json.loads(text).get("_estimator_type", "")) if text else ""

    @property
    def best_trees(self) -> tuple[Tree, ...]:
        """The trees up to the best round, if training noted one: estimators predict with these."""
        noted = self.document["attributes"].get("best_iteration")
        if noted is None or not self.layers:
            return self.trees
        if not 0 <= int(noted) < len(self.layers) - 1:
            raise DamagedModelError("its best round is none that it has")
        return self.trees[: self.layers[int(noted) + 1]]


def parse_document(content: bytes, binary: bool) -> Document:
    """The JSON or UBJSON of a model."""
    document = parse_ubjson(content) if binary else parsed(content)
    if not (isinstance(document, dict) and isinstance(document.get("learner"), dict)):
        raise DamagedModelError("it is no XGBoost model (it has no 'learner')")
    return document


def read_model(document: Document, missing: float = np.nan, *, with_trees: bool = True) -> XgbModel:
    """A document as a model.

    Args:
        document: As parsed.
        missing: The number that counts as missing, beside NaN.
        with_trees: Read the trees too, and not only what is said of them all.
    """
    with reading():
        version = [int(part) for part in document["version"]]
        model = _model(document["learner"], version, missing, with_trees)
        _ = model.best_trees, model.saved_by  # they read attributes that may be malformed, too
        return model


def _model(learner: Document, version: list[int], missing: float, with_trees: bool) -> XgbModel:
    numbers = learner["learner_model_param"]
    outputs = max(int(numbers.get("num_class", 0)), int(numbers.get("num_target", 1)), 1)
    columns = int(numbers["num_feature"])
    booster = learner["gradient_booster"]
    name, objective = str(booster["name"]), str(learner["objective"]["name"])
    several = learner["objective"].get("softmax_multiclass_param", {})
    if int(several.get("num_class", outputs)) != outputs:
        raise DamagedModelError("its classes do not fit its objective")
    flaws = [] if objective in LINKS else [f"its objective {objective!r} is not supported"]
    document = {
        "attributes": dict(learner.get("attributes", {})),
        "learner_model_param": numbers,
        "objective": learner["objective"],
        "version": version,
    }
    kinds = [str(kind) for kind in learner.get("feature_types") or ()]
    names = tuple(str(one) for one in learner.get("feature_names") or ())
    if columns < 1 or {len(names), len(kinds)} - {0, columns}:
        raise DamagedModelError("its feature names do not fit its number of features")
    trees: tuple[Tree, ...] = ()
    layers: tuple[int, ...] = ()
    weights, categories = None, {}
    if name == "gblinear":
        weights = floats(booster["model"], "weights", (columns + 1) * outputs)
        weights = weights.reshape(columns + 1, outputs)
        if np.isfinite(missing):
            flaws.append(f"its linear booster takes {missing} for a missing value")
    elif name in ("gbtree", "dart"):
        model = booster["gbtree"]["model"] if name == "dart" else booster["model"]
        drops = booster.get("weight_drop", model.get("weight_drop"))
        try:
            categories = _categories(model.get("cats"), columns, version >= SOUND_NAMES)
        except _WrongNamesError:
            flaws.append("has categories with other than ASCII names: before 3.4 it garbles them")
        if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in model["trees"]):
            flaws.append("its leaves are vectors (multi_strategy='multi_output_tree')")
        elif with_trees:
            trees = tuple(_trees(model, drops, outputs, columns, np.float32(missing)))
            layers = _layers(model, outputs)
    else:
        flaws.append(f"its booster {name!r} is not supported")
    coded = frozenset(place for place, kind in enumerate(kinds) if kind == "c")
    return XgbModel(
        document, objective, name, outputs, columns, names or None,
        coded, categories, trees, layers, weights, tuple(flaws),
    )  # fmt: skip


def _layers(model: Document, outputs: int) -> tuple[int, ...]:
    """How many trees there are after 0, 1, … rounds."""
    count = len(model["trees"])
    if "iteration_indptr" in model:
        layers = tuple(map(int, model["iteration_indptr"]))
    else:
        size = max(int(model["gbtree_model_param"].get("num_parallel_tree", 1)), 1) * outputs
        layers = tuple(range(0, count + 1, size))
    if list(layers) != sorted(layers) or layers[:1] != (0,) or layers[-1] != count:
        raise DamagedModelError("its rounds do not fit its trees")
    return layers


def _trees(
    model: Document, drops: Any, outputs: int, columns: int, missing: np.float32
) -> Iterator[Tree]:
    found, info = model["trees"], [int(one) for one in model["tree_info"]]
    outputs_in_range(info, len(found), outputs)
    weights = np.ones(len(found), dtype=np.float32)
    if drops is not None and len(drops):
        weights = floats({"weight_drop": drops}, "weight_drop", len(found))
    for place, tree in enumerate(found):
        if int(tree.get("id", place)) != place:
            raise DamagedModelError("its trees are out of order")
        yield _tree(tree, info[place], columns, weights[place], missing)


def _tree(
    tree: Document, output: int, columns: int, weight: np.float32, missing: np.float32
) -> Tree:
    count = int(tree["tree_param"]["num_nodes"])
    left, right = ints(tree, "left_children", count), ints(tree, "right_children", count)
    limit = floats(tree, "split_conditions", count)
    missing_right = ints(tree, "default_left", count) == 0
    leaf = left == NO_CHILD
    nodes = walked(left, right, leaf)
    if (right - left != 1)[nodes[~leaf[nodes]]].any():  # some versions go to left + 1 unseen
        raise DamagedModelError("a right child does not follow its left one")
    with np.errstate(over="ignore", under="ignore"):
        bound = np.nextafter(limit, np.float32(-np.inf))
        value = limit * weight
    raw = Raw(ints(tree, "split_indices", count), bound, missing_right, left, right, value, leaf)
    questions = dict(_category_questions(tree, count, missing_right))
    for node in np.flatnonzero(~leaf & np.isneginf(bound)).tolist():
        questions.setdefault(node, always(True, bool(missing_right[node])))
    if np.isfinite(missing):
        _set_missing(raw, questions, missing)
    return checked(raw, questions, output, columns)


def _category_questions(
    tree: Document, count: int, missing_right: Bools
) -> Iterator[tuple[int, Question]]:
    """Nodes that send a set of category codes to the right, and everything else to the left."""
    if "split_type" not in tree:
        return
    kinds = ints(tree, "split_type", count)
    codes, nodes = ints(tree, "categories"), ints(tree, "categories_nodes")
    starts = ints(tree, "categories_segments", nodes.size)
    sizes = ints(tree, "categories_sizes", nodes.size)
    inside = (starts >= 0) & (sizes >= 0) & (starts + sizes <= codes.size)
    if not inside.all() or ((codes < 0) | (codes >= LARGEST_CODE)).any():
        raise DamagedModelError("its category sets are inconsistent")
    if (np.diff(nodes) <= 0).any() or not ((nodes >= 0) & (nodes < count)).all():
        raise DamagedModelError("its category sets do not fit its splits")
    place = dict(zip(nodes.tolist(), range(nodes.size), strict=True))
    zero = below(0.0, np.float32)
    for node in np.flatnonzero(kinds == CATEGORICAL).tolist():
        at = place.get(node)
        held = [] if at is None else codes[starts[at] : starts[at] + sizes[at]].tolist()
        yield (
            node,
            in_codes(
                held,
                right=True,
                missing_right=bool(missing_right[node]),
                zero_after=zero,
                dtype=np.float32,
            ),
        )


def _set_missing(raw: Raw, questions: dict[int, Question], missing: np.float32) -> None:
    """Let one number go where missing values go."""
    after, last = below(float(missing), np.float32), float(missing)
    usual = (missing > raw.bound) == raw.missing_right
    for node in np.flatnonzero(~raw.leaf).tolist():
        if node in questions or not usual[node]:
            side = bool(raw.missing_right[node])
            asked = questions.get(node) or at_most(float(raw.bound[node]), side)
            questions[node] = asked.but(after, last, side)


class _WrongNamesError(Exception):
    """Names of categories that the library stored wrongly."""


def _categories(cats: Any, columns: int, sound: bool) -> dict[int, tuple[Label, ...]]:
    """The categories that the model itself numbers, by column."""
    found = list(cats["enc"]) if cats else []
    if len(found) not in (0, columns):
        raise DamagedModelError("its categories do not fit its number of features")
    made: dict[int, tuple[Label, ...]] = {}
    for place, one in enumerate(found):
        if "offsets" in one:
            ends = ints(one, "offsets").tolist()
            text = bytes(ints(one, "values").astype(np.int64).astype(np.uint8))
            if ends and (ends != sorted(ends) or ends[0] != 0 or ends[-1] != len(text)):
                raise DamagedModelError("the names of its categories are inconsistent")
            if not (text.isascii() or sound):
                raise _WrongNamesError
            cells = pairwise(ends)
            labels: tuple[Label, ...] = tuple(text[a:b].decode("utf-8") for a, b in cells)
        else:
            labels = tuple(ints(one, "values").tolist())
        if len(set(labels)) < len(labels):
            raise DamagedModelError("a category of it occurs twice")
        if labels:
            made[place] = labels
    if found:
        _check_order(cats, [len(made.get(place, ())) for place in range(columns)])
    return made


def _check_order(cats: Document, sizes: list[int]) -> None:
    """The library looks categories up through these indices."""
    ends = np.cumsum([0, *sizes]).tolist()
    order = ints(cats, "sorted_idx").tolist()
    each = [sorted(order[a:b]) for a, b in pairwise(ends)]
    fits = len(order) == ends[-1] and each == [list(range(size)) for size in sizes]
    if not fits or (order and ints(cats, "feature_segments").tolist() != ends):
        raise DamagedModelError("the order of its categories is inconsistent")


def ints(part: Document, key: str, count: int | None = None) -> Ints:
    """A list of whole numbers, of this length if one is given."""
    array = np.asarray(part[key])
    if array.size == 0 and array.ndim == 1:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iub" or count not in (None, array.size):
        raise DamagedModelError(f"its {key!r} are no whole numbers, or too few or many")
    return array.astype(np.int64)


def floats(part: Document, key: str, count: int) -> npt.NDArray[np.float32]:
    """A list of so many float32 numbers."""
    array = np.asarray(part[key])
    if array.ndim != 1 or array.dtype.kind not in "iuf" or array.size != count:
        raise DamagedModelError(f"its {key!r} are no numbers, or too few or many")
    with np.errstate(over="ignore"):
        return array.astype(np.float32)
