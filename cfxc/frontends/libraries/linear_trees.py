"""Trees of ``linear-tree`` whose leaves hold linear models; what they see is rounded to float32.

A leaf is reached where ``float32(x) <= t`` holds or not along its branch; its model then predicts
from the rounded columns, in single floats.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from lineartree import LinearTreeClassifier, LinearTreeRegressor

from ...ir import Literal, Operand, ops
from ..boosters.columns import summed
from ..boosters.forest import Forest, Tree
from ..sklearn.linear import ZERO, binary_label, top_label
from ..sklearn.lowering import Lowering, Refs, cells
from ..sklearn.members import classes_of, lower_member, total, vote
from ..sklearn.registry import Estimator, Outputs, model

LEAVES = "its leaves"


def _models(tree: Estimator) -> Iterator[tuple[str, Estimator]]:
    return ((LEAVES, leaf.model) for leaf in tree._leaves.values())


def _several(tree: Estimator) -> Iterator[str]:
    if tree.n_targets_ > 1:
        yield "predicts several numbers; train one tree for each"


@model("regressor", LinearTreeRegressor, flaws=_several, parts=_models, single=True)
def lower_linear_tree(lowering: Lowering, tree: Estimator, refs: Refs) -> Outputs:
    """``value``: that of the model in the leaf of a row."""
    values = [outputs["value"] for outputs in _said(lowering, tree, refs)]
    return {"value": _chosen(lowering, _reached(lowering, tree, refs), values)}


@model("classifier", LinearTreeClassifier, parts=_models, single=True, note="without probabilities")
def lower_linear_tree_classifier(lowering: Lowering, tree: Estimator, refs: Refs) -> Outputs:
    """The label that the model in the leaf of a row gives; it may not know all classes."""
    classes = tree.classes_.tolist()
    members = [leaf.model for leaf in tree._leaves.values()]
    made = list(_said(lowering, tree, refs))
    reached = _reached(lowering, tree, refs)
    if len(classes) == 2:
        pairs = zip(members, made, strict=True)
        leads = [_lead(member, outputs, classes) for member, outputs in pairs]
        score = _chosen(lowering, reached, leads)
        return {"label": binary_label(lowering, classes, score)}
    parts = []
    for place, (member, outputs) in enumerate(zip(members, made, strict=True)):
        own = list(classes_of(member))
        rows = np.array([[float(each == one) for each in classes] for one in own])
        scores = outputs["score"] if own == classes else vote(lowering, member, outputs, rows)
        here = lowering.let(ops.Gt(lowering.let(ops.Item(reached, place)), HALF))
        parts.append(lowering.let(ops.Select(here, scores, ZERO)))
    return {"label": top_label(lowering, classes, total(lowering, parts))}


HALF = Literal(Fraction(1, 2))


def _lead(member: Estimator, outputs: Outputs, classes: list[Any]) -> Operand:
    """What is positive where a leaf's model answers with the second of two classes."""
    own = list(classes_of(member))
    if own == classes:
        return outputs["score"]
    return Literal(Fraction(1 if own == classes[1:] else -1))


def _chosen(lowering: Lowering, reached: str, parts: list[Operand]) -> Operand:
    """The number that belongs to the leaf of a row."""
    here = lowering.let(ops.Gt(reached, HALF))
    said = lowering.let(ops.Concat(tuple(parts)))
    return lowering.let(ops.ReduceSum(lowering.let(ops.Select(here, said, ZERO))))


def _said(lowering: Lowering, tree: Estimator, refs: Refs) -> Iterator[Outputs]:
    """What the model of each leaf makes of the rounded columns."""
    used = [refs[place] for place in np.asarray(tree._linear_features, dtype=int).tolist()]
    x = lowering.let(ops.RoundFloat32(lowering.vector(used)))
    for _, member in _models(tree):
        yield lower_member(lowering, member, cells(x, len(used)), LEAVES)


def _reached(lowering: Lowering, tree: Estimator, refs: Refs) -> str:
    """1 for the leaf that a row reaches, 0 for the others, a vector."""
    count = len(tree._leaves)
    forest = Forest((_nodes(tree),), np.zeros(count), len(refs), single=True)
    return summed(lowering, refs, forest, {})


def _nodes(tree: Estimator) -> Tree:
    """The tree; leaf i, in the library's order, adds 1 to output i."""
    leaves = {key: place for place, key in enumerate(tree._leaves)}
    keys, asked = [""], list[tuple[int, float]]()
    for key in keys:  # it grows
        if key in leaves:
            asked.append((-1, 0.0))
            continue
        child = key + "L"
        column, _, split = (tree._leaves.get(child) or tree._nodes[child]).threshold[-1]
        asked.append((int(column), _last_single(split)))
        keys += [child, key + "R"]
    places = {key: place for place, key in enumerate(keys)}
    value = np.zeros((len(keys), len(leaves)))
    for key, leaf in leaves.items():
        value[places[key], leaf] = 1.0
    left, right = (
        np.array([0 if key in leaves else places[key + side] for key in keys], dtype=np.int64)
        for side in "LR"
    )
    return Tree(
        np.array([column for column, _ in asked], dtype=np.int64),
        np.array([bound for _, bound in asked]),
        np.zeros(len(keys), dtype=np.bool_),
        left,
        right,
        value,
        {},
        slice(None),
    )


def _last_single(split: Any) -> float:
    """The largest float32 that goes left, as arrays of them are compared with the split."""
    number = np.array([split], dtype=np.float32)
    if not (number <= split)[0]:
        number = np.nextafter(number, np.float32(-np.inf))
    return float(number[0])
