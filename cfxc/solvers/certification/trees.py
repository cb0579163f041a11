"""Tree ensembles as certificates hold them: splits of features, parents before their children."""

from __future__ import annotations

from math import isinf, isnan
from typing import Any

from ...compiler.splits import RawSplits
from ...errors import UnsupportedError
from ...ir import ops
from ...question.query import Query
from .core import exact

COPIES = 20  # of a node, on average, at most


def trees_of(op: ops.TreeEnsemble, splits: RawSplits, query: Query) -> dict[str, Any]:
    """Roots, and nodes: feature, what goes left (a cut or places of labels), links; or values.

    Nodes that send every number the same way are left out.
    """
    table = Table(splits)
    roots, order, links = _order(op.roots.array.tolist(), table)
    value = op.value.array.tolist()
    return {
        "roots": roots,
        "nodes": [
            [exact(v) for v in value[node]]
            if table.input[node] < 0
            else _split(node, table, query, children)
            for node, children in zip(order, links, strict=True)
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


def _split(node: int, table: Table, query: Query, links: list[int]) -> list[Any]:
    j, cut = table.input[node], table.cut[node]
    if isnan(cut):
        bits = table.mask[node]
        count = len(query.domains[j].feature.labels)
        return [j, [i for i in range(count) if bits[i // 64] >> (i % 64) & 1], *links]
    return [j, exact(cut), *(links if table.below[node] else links[::-1])]


def _order(roots: list[int], table: Table) -> tuple[list[int], list[int], list[list[int]]]:
    """Places of roots; nodes, parents first; places of children.

    What several splits lead to, as where a value is missing, stands once for each of them.
    """
    tops: list[int] = []
    order: list[int] = []
    links: list[list[int]] = []
    stack = [(table.telling(root), -1) for root in roots[::-1]]
    while stack:
        node, parent = stack.pop()
        (tops if parent < 0 else links[parent]).append(len(order))
        if table.input[node] >= 0:
            stack += [(child, len(order)) for child in table.children(node)[::-1]]
        order.append(node)
        links.append([])
        if len(order) > COPIES * len(table.input):
            raise UnsupportedError("a certificate cannot hold trees with so many shared nodes")
    return tops, order, links


__all__ = ["trees_of"]
