"""Tree ensembles as certificates hold them: splits of features, parents before their children."""

from __future__ import annotations

from math import isinf, isnan
from typing import Any

from ...compiler.splits import RawSplits
from ...frontends.query import Query
from ...ir import ops
from .core import exact


def trees_of(op: ops.TreeEnsemble, splits: RawSplits, query: Query) -> dict[str, Any]:
    """Roots, and nodes: feature, what goes left (a cut or places of labels), links; or values.

    Nodes that send every number the same way are left out.
    """
    table = Table(splits)
    roots = [table.telling(root) for root in op.roots.array.tolist()]
    order = _order(roots, table)
    place = {node: i for i, node in enumerate(order)}
    value = op.value.array.tolist()
    return {
        "roots": [place[root] for root in roots],
        "nodes": [
            [exact(v) for v in value[node]]
            if table.input[node] < 0
            else _split(node, table, query, place)
            for node in order
        ],
    }


class Table:
    """Splits as lists: nodes are read one by one."""

    def __init__(self, splits: RawSplits) -> None:
        self.input, self.cut = splits.input.tolist(), splits.cut.tolist()
        self.below, self.mask = splits.below.tolist(), splits.mask.tolist()
        self.left, self.right = splits.left.tolist(), splits.right.tolist()

    def telling(self, node: int) -> int:
        """The first node on the way that is a leaf, or tells some values from others."""
        while self.input[node] >= 0 and isinf(self.cut[node]):
            goes_left = (self.cut[node] > 0) == self.below[node]
            node = (self.left if goes_left else self.right)[node]
        return node

    def children(self, node: int) -> list[int]:
        """Where both sides of a split lead."""
        return [self.telling(self.left[node]), self.telling(self.right[node])]


def _split(node: int, table: Table, query: Query, place: dict[int, int]) -> list[Any]:
    j, cut = table.input[node], table.cut[node]
    links = [place[child] for child in table.children(node)]
    if isnan(cut):
        bits = table.mask[node]
        count = len(query.domains[j].feature.labels)
        return [j, [i for i in range(count) if bits[i // 64] >> (i % 64) & 1], *links]
    return [j, exact(cut), *(links if table.below[node] else links[::-1])]


def _order(roots: list[int], table: Table) -> list[int]:
    """All nodes in reach, parents before their children."""
    done: dict[int, None] = {}
    stack = [(root, False) for root in roots]
    while stack:
        node, left = stack.pop()
        if left:
            done.setdefault(node)
        elif node not in done:
            stack.append((node, True))
            if table.input[node] >= 0:
                stack += [(child, False) for child in table.children(node)]
    return list(done)[::-1]


__all__ = ["trees_of"]
