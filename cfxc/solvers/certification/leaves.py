"""Leaves of trees in the linear program of a part: a column for each that the part meets.

A leaf costs at least what reaching it costs, feature by feature; the multipliers of these rows are
the shares of costs that trees pay (lemma 10 of the format).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...arrays import Floats
from ...certificates.checker import Proof

EDGE = 1e-6  # by how much a test counts as wrong at whose edge a point lies
Test = tuple[Any, Any]  # a feature, or ("form", k), and what goes left


class Leaf(NamedTuple):
    """A leaf's column, place among the nodes, values, and least cost of each feature."""

    column: int
    place: int
    values: list[float]
    costs: list[float]


class Tree(NamedTuple):
    """A tree: of which ensemble, its root, and its leaves in reach."""

    ensemble: int
    root: int
    leaves: list[Leaf]


def trees_in(problem: Proof, parts: list[Any], signs: Any, spans: Any, column: Any) -> list[Tree]:
    """All trees; ``column()`` makes a column."""
    found = []
    for n, (roots, nodes) in enumerate(problem.program.trees):
        places = {id(node): i for i, node in enumerate(nodes)}
        for root in roots:
            met = []
            for node, _, near in problem.leaves(nodes, root, parts, signs, spans):
                costs = [float(problem.cost(j, delta)) for j, delta in enumerate(near)]
                met.append(Leaf(column(), places[id(node)], [*map(float, node)], costs))
            found.append(Tree(n, root, met))
    return found


def paying(trees: list[Tree]) -> Iterator[tuple[int, int]]:
    """Trees and features of which some leaves cost more than others."""
    for t, tree in enumerate(trees):
        for j, costs in enumerate(zip(*(leaf.costs for leaf in tree.leaves), strict=True)):
            if max(costs) > 0:
                yield t, j


def halved(
    problem: Proof, trees: list[Tree], values: Floats, left_of: Callable[[Any, Any], float | None]
) -> list[tuple[float, Test]]:
    """Tests that leaves take both ways, or another way than what is tested: by how much in all
    trees, the most first.  ``left_of``: how much of that goes left; ``None`` if it is at the edge.
    """
    found = dict[Test, float]()
    for tree in trees:
        nodes = problem.program.trees[tree.ensemble][1]
        mass = {leaf.place: float(values[leaf.column]) for leaf in tree.leaves}
        stack, order = [tree.root], list[int]()
        while stack:
            place = stack.pop()
            if isinstance(node := nodes[place], tuple):
                order.append(place)
                stack += node[2:]
        for place in reversed(order):
            j, test, left, right = nodes[place]
            sides = mass.get(left, 0.0), mass.get(right, 0.0)
            mass[place] = sum(sides)
            own = left_of(j, test) if max(sides) > 0 else 0.0
            off = EDGE if own is None else abs(sides[0] - own * sum(sides))
            found[j, test] = found.get((j, test), 0.0) + max(off, min(sides))
    return sorted(((off, test) for test, off in found.items() if off > 0), key=lambda one: -one[0])
