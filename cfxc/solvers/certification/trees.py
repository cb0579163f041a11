"""Tree ensembles as certificates hold them: splits of features, parents before their children."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.splits import RawSplits
from ...frontends.query import Query
from ...ir import ops
from .core import exact


def trees_of(op: ops.TreeEnsemble, splits: RawSplits, query: Query) -> dict[str, Any]:
    """Roots, and nodes: feature, what goes left (a cut or places of labels), links; or values.

    Nodes that send every number the same way are left out.
    """
    roots = [_telling(root, splits) for root in op.roots.array.tolist()]
    order = _order(roots, splits)
    place = {node: i for i, node in enumerate(order)}
    value = op.value.array
    nodes: list[list[Any]] = []
    for node in order:
        j = int(splits.input[node])
        if j < 0:
            nodes.append([exact(v) for v in value[node].tolist()])
            continue
        links = [place[_telling(int(side[node]), splits)] for side in (splits.left, splits.right)]
        cut = float(splits.cut[node])
        if np.isnan(cut):
            bits = [int(word) for word in splits.mask[node]]
            count = len(query.domains[j].feature.labels)
            test: Any = [i for i in range(count) if bits[i // 64] >> (i % 64) & 1]
        else:
            test = exact(cut)
            links = links if splits.below[node] else links[::-1]
        nodes.append([j, test, *links])
    return {"roots": [place[root] for root in roots], "nodes": nodes}


def _telling(node: int, splits: RawSplits) -> int:
    """The first node on the way from a node that is a leaf, or tells some values from others."""
    while splits.input[node] >= 0 and np.isinf(splits.cut[node]):
        goes_left = (splits.cut[node] > 0) == splits.below[node]
        node = int((splits.left if goes_left else splits.right)[node])
    return node


def _order(roots: list[int], splits: RawSplits) -> list[int]:
    """All nodes in reach, parents before their children."""
    done: dict[int, None] = {}
    stack = [(root, False) for root in roots]
    while stack:
        node, left = stack.pop()
        if left:
            done.setdefault(node)
        elif node not in done:
            stack.append((node, True))
            if splits.input[node] >= 0:
                stack += [
                    (_telling(int(s[node]), splits), False) for s in (splits.left, splits.right)
                ]
    return list(done)[::-1]


__all__ = ["trees_of"]
