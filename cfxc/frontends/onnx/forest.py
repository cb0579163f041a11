"""The trees of an ONNX node as the arrays of ``tree_ensemble``.

The IR asks ``x <= t``; the other comparisons of ONNX become it by swapping the branches and, for
the strict ones, by moving the threshold to the next smaller double.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import Bools, Floats, Ints
from .values import Refusal

LEAF = "LEAF"
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
MEMBER = "BRANCH_MEMBER"


@dataclass(frozen=True)
class Forest:
    """Trees in the layout of ``tree_ensemble``: children after parents, tree by tree.

    ``strict`` marks nodes whose threshold the input must be below; ``missing_right`` those that
    send a missing number to the right; ``ids`` (W,) and ``weights``
    (W,) are the classes or targets that leaves name, and ``named`` (N, K) tells which leaf names
    which.
    """

    roots: Ints
    feature: Ints
    threshold: Floats
    strict: Bools
    left: Ints
    right: Ints
    missing_right: Bools
    value: Floats
    named: Bools
    ids: Ints
    weights: Floats

    @property
    def cuts(self) -> Floats:
        """t such that the node asks ``x <= t`` of any double x, float32 numbers included."""
        return np.where(self.strict, np.nextafter(self.threshold, -np.inf), self.threshold)

    @property
    def nonnegative(self) -> bool:
        """No weight is negative: the leaves hold votes."""
        return bool((self.weights >= 0).all())

    def names_all_classes(self) -> bool:
        """Every class is named by every leaf of some tree, so that no score is ever absent."""
        return bool(self._in_every_leaf(self.named).any(axis=0).all())

    def always_positive(self) -> bool:
        """No weight is negative, and some tree's leaves all hold a positive one.

        Then the largest score is positive, and absent scores cannot be it.
        """
        positive = np.any(self.value > 0, axis=1)[:, None]
        return self.nonnegative and bool(self._in_every_leaf(positive).any())

    def _in_every_leaf(self, flags: Bools) -> Bools:
        """Per tree: whether the flag holds at all of its leaves."""
        inner = self.feature >= 0
        return np.logical_and.reduceat(flags | inner[:, None], self.roots, axis=0)

    def only(self, own: int) -> Forest:
        """The forest that sums the weights of one class alone."""
        return replace(self, value=self.value[:, own : own + 1])


@dataclass(frozen=True)
class _Nodes:
    """Nodes in the order of the file; ``true`` and ``false`` are positions (own ones at leaves)."""

    feature: Ints
    threshold: Floats
    mode: npt.NDArray[np.str_]
    true: Ints
    false: Ints
    tracks: Bools
    roots: Ints


def from_tables(attributes: Mapping[str, Any], prefix: str, count: int) -> Forest:
    """The trees of a TreeEnsembleClassifier (``class``) or TreeEnsembleRegressor (``target``).

    Raises:
        Refusal: modes other than comparisons by size, tables that differ in length, node lists
            that are no trees, weights of unknown leaves or classes.
    """
    nodes, keys = _read_nodes(attributes)
    tables = [_table(attributes, f"{prefix}_{name}") for name in ("treeids", "nodeids", "ids")]
    weights = _values(attributes, f"{prefix}_weights")
    if len({table.size for table in (*tables, weights)}) > 1:
        raise Refusal(f"the '{prefix}_…' attributes differ in length")
    trees, numbers, ids = tables
    at = _positions(keys, trees, numbers)
    kept = nodes.mode[at] == LEAF  # the runtime passes over weights of inner nodes
    return _forest(nodes, at[kept], ids[kept], weights[kept], count, (ids, weights))


def from_tensors(attributes: Mapping[str, Any], count: int) -> Forest:
    """The trees of a TreeEnsemble (``ai.onnx.ml`` 5), whose leaves are listed apart.

    Raises:
        Refusal: as :func:`from_tables`.
    """
    feature = _table(attributes, "nodes_featureids")
    names = np.array([*MODES, MEMBER])
    codes = np.asarray(attributes["nodes_modes"]).astype(np.int64)
    splits = np.asarray(attributes["nodes_splits"]).astype(np.float64)
    ids = _table(attributes, "leaf_targetids")
    weights = np.asarray(attributes["leaf_weights"]).astype(np.float64)
    if not splits.size == codes.size == feature.size or weights.size != ids.size:
        raise Refusal("the 'nodes_…' or 'leaf_…' attributes differ in length")
    if bool((codes >= names.size).any()):
        raise Refusal("attribute 'nodes_modes' has unknown codes")
    # one leaf of ours per branch that ends in a leaf: branches may share one in the file
    children: list[Ints] = []
    sources: list[Ints] = []
    for side in ("true", "false"):
        child, ends = _branch(attributes, side, feature.size, ids.size)
        first = feature.size + sum(source.size for source in sources)
        children.append(np.where(ends, first + np.cumsum(ends) - 1, child))
        sources.append(child[ends])
    leaves = np.concatenate(sources)
    own = np.arange(feature.size, feature.size + leaves.size)
    nodes = _Nodes(
        np.concatenate([feature, np.zeros(leaves.size, dtype=np.int64)]),
        np.concatenate([splits, np.zeros(leaves.size)]),
        np.concatenate([names[codes], np.full(leaves.size, LEAF)]),
        np.concatenate([children[0], own]),
        np.concatenate([children[1], own]),
        np.concatenate([_tracks(attributes, feature.size), np.zeros(leaves.size, np.bool_)]),
        _table(attributes, "tree_roots"),
    )
    return _forest(nodes, own, ids[leaves], weights[leaves], count, (ids, weights))


def _branch(
    attributes: Mapping[str, Any], side: str, inner: int, leaves: int
) -> tuple[Ints, Bools]:
    """Where the branches of one side lead, and which of them end in a leaf."""
    child = _table(attributes, f"nodes_{side}nodeids")
    ends = _table(attributes, f"nodes_{side}leafs") != 0
    if not child.size == ends.size == inner:
        raise Refusal("the 'nodes_…' attributes differ in length")
    if bool(((child < 0) | (child >= np.where(ends, leaves, inner))).any()):
        raise Refusal(f"attribute 'nodes_{side}nodeids' points outside of the trees")
    return child, ends


def _read_nodes(attributes: Mapping[str, Any]) -> tuple[_Nodes, Ints]:
    """The nodes of the older ops, and (N, 2) their tree and node numbers."""
    names = ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids")
    tree, number, feature, true, false = (_table(attributes, f"nodes_{name}") for name in names)
    mode = np.array(attributes.get("nodes_modes", ()), dtype=np.str_)
    threshold = _values(attributes, "nodes_values")
    if not tree.size or len({a.size for a in (tree, number, feature, true, false, mode)}) > 1:
        raise Refusal("the 'nodes_…' attributes are empty or differ in length")
    if threshold.size != tree.size:
        raise Refusal("attribute 'nodes_values' differs in length from the others")
    starts = np.flatnonzero(np.diff(tree, prepend=tree[0] - 1))
    if len(set(tree[starts].tolist())) < starts.size:
        raise Refusal("the nodes of a tree are not listed together")
    keys = np.stack([tree, number], axis=1)
    own, leaf = np.arange(tree.size), mode == LEAF
    children = [own.copy(), own.copy()]
    for child, target in zip(children, (true, false), strict=True):
        child[~leaf] = _positions(keys, tree[~leaf], target[~leaf])
    tracks = _tracks(attributes, tree.size)
    return _Nodes(feature, threshold, mode, children[0], children[1], tracks, starts), keys


def _tracks(attributes: Mapping[str, Any], count: int) -> Bools:
    """Which nodes send a missing number to their true branch; the others to the false one."""
    given = _table(attributes, "nodes_missing_value_tracks_true")
    if given.size not in (0, count):
        raise Refusal("attribute 'nodes_missing_value_tracks_true' differs in length")
    return given != 0 if given.size else np.zeros(count, dtype=np.bool_)


def _positions(keys: Ints, trees: Ints, numbers: Ints) -> Ints:
    """Where the nodes (tree, number) are listed; ``Refusal`` if one is not, or is twice."""
    known_trees, tree_rank = np.unique(keys[:, 0], return_inverse=True)
    known_numbers, number_rank = np.unique(keys[:, 1], return_inverse=True)
    listed = tree_rank * known_numbers.size + number_rank
    order = np.argsort(listed)
    if bool((np.diff(listed[order]) == 0).any()):
        raise Refusal("lists a node twice")
    tree_at, tree_found = _ranks(known_trees, trees)
    number_at, number_found = _ranks(known_numbers, numbers)
    at, found = _ranks(listed[order], tree_at * known_numbers.size + number_at)
    missing = np.flatnonzero(~(tree_found & number_found & found))
    if missing.size:
        raise Refusal(f"tree {trees[missing[0]]} has no node {numbers[missing[0]]}")
    return order[at]


def _ranks(known: Ints, wanted: Ints) -> tuple[Ints, Bools]:
    """Where values stand in a sorted array without repetitions, and whether they do at all."""
    at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return at, known[at] == wanted


def _forest(
    nodes: _Nodes, leaves: Ints, ids: Ints, weights: Floats, count: int,
    listed: tuple[Ints, Floats],
) -> Forest:  # fmt: skip
    inner = nodes.mode != LEAF
    known = np.isin(nodes.mode, MODES[:4])
    if bool((inner & ~known).any()):
        odd = sorted(set(nodes.mode[inner & ~known].tolist()))
        raise Refusal(f"attribute 'nodes_modes' has {', '.join(odd)}")
    if count < 1 or bool(((ids < 0) | (ids >= count)).any()):
        raise Refusal(f"leaves name classes or targets outside of {count}")
    if bool((nodes.feature < 0).any()):
        raise Refusal("attribute 'nodes_featureids' has negative numbers")
    order, roots = _in_tree_order(nodes, inner)
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    value = np.zeros((order.size, count))
    named = np.zeros((order.size, count), dtype=np.bool_)
    if np.unique(leaves * count + ids).size < ids.size:
        raise Refusal("a leaf names a class or target twice")
    value[place[leaves], ids] = weights
    named[place[leaves], ids] = True
    mode, swapped = nodes.mode[order], np.isin(nodes.mode[order], ("BRANCH_GTE", "BRANCH_GT"))
    true, false = place[nodes.true[order]], place[nodes.false[order]]
    return Forest(
        place[roots],
        np.where(mode == LEAF, -1, nodes.feature[order]),
        np.where(mode == LEAF, 0.0, nodes.threshold[order]),
        np.isin(mode, ("BRANCH_LT", "BRANCH_GTE")),
        np.where(swapped, false, true),
        np.where(swapped, true, false),
        nodes.tracks[order] == swapped,
        value,
        named,
        *listed,
    )


def _in_tree_order(nodes: _Nodes, inner: Bools) -> tuple[Ints, Ints]:
    """The nodes tree by tree, parents before children; ``Refusal`` unless they form trees.

    Every node but the roots has exactly one parent, and is reached from its root.
    """
    children = np.concatenate([nodes.true[inner], nodes.false[inner]])
    parents = np.bincount(children, minlength=inner.size)
    parents[nodes.roots] += 1
    if bool((parents != 1).any()):
        raise Refusal("the nodes form no trees")
    tree = np.full(inner.size, -1, dtype=np.int64)
    tree[nodes.roots] = np.arange(nodes.roots.size)
    levels, level = [nodes.roots], nodes.roots
    while level.size:
        splits = level[inner[level]]
        level = np.concatenate([nodes.true[splits], nodes.false[splits]])
        tree[level] = np.tile(tree[splits], 2)
        levels.append(level)
    order = np.concatenate(levels)
    if order.size < inner.size:
        raise Refusal("the nodes form no trees")
    return order[np.argsort(tree[order], kind="stable")], nodes.roots


def _table(attributes: Mapping[str, Any], name: str) -> Ints:
    return np.asarray(attributes.get(name, ()), dtype=np.int64)


def _values(attributes: Mapping[str, Any], name: str) -> Floats:
    given = attributes.get(name, attributes.get(f"{name}_as_tensor", ()))
    return np.asarray(given).astype(np.float64).ravel()
