"""Tree ensembles as certificates hold them: splits of features, parents before their children."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ...compiler.splits import RawSplits
from ...frontends.query import Query
from ...ir import ops
from .core import exact

LARGEST = Fraction(float(np.finfo(np.float64).max))


def trees_of(op: ops.TreeEnsemble, splits: RawSplits, query: Query) -> dict[str, Any]:
    """Roots, and nodes: feature, what goes left (a cut or places of labels), links; or values."""
    roots = op.roots.array.tolist()
    order = _order(roots, splits)
    place = {node: i for i, node in enumerate(order)}
    value = op.value.array
    nodes: list[list[Any]] = []
    for node in order:
        j = int(splits.input[node])
        if j < 0:
            nodes.append([exact(v) for v in value[node].tolist()])
            continue
        links = [place[int(splits.left[node])], place[int(splits.right[node])]]
        cut = float(splits.cut[node])
        if np.isnan(cut):
            bits = [int(word) for word in splits.mask[node]]
            count = len(query.domains[j].feature.labels)
            test: Any = [i for i in range(count) if bits[i // 64] >> (i % 64) & 1]
        else:
            finite = Fraction(cut) if np.isfinite(cut) else LARGEST * (1 if cut > 0 else -1)
            test = exact(finite)
            links = links if splits.below[node] else links[::-1]
        nodes.append([j, test, *links])
    return {"roots": [place[root] for root in roots], "nodes": nodes}


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
                stack += [(int(splits.left[node]), False), (int(splits.right[node]), False)]
    return list(done)[::-1]


__all__ = ["trees_of"]
