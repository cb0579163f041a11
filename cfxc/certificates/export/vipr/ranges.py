"""What forms may be: their ranges, and the grids that they are on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction as Q
from typing import Any, NamedTuple

from ....errors import UnsupportedError
from ...checker import Form, Question, Rejected, rounded
from .problem import ZERO

Range = tuple[Q, Q]


class Lattice(NamedTuple):
    """All values of a feature lie within ``slack`` of ``anchor`` plus multiples of ``step``."""

    anchor: Q
    step: Q
    slack: Q


class Ranges:
    """Ranges of forms over everything admissible, by interval arithmetic.

    ``lattice`` holds the grids of features.
    """

    def __init__(self, question: Question, lattice: dict[int, Lattice]) -> None:
        self.question, self.program, self.lattice = question, question.program, lattice
        self.parts = [feature.all for feature in question.features]
        self.made: dict[int, Range] = {}  # of the forms that units and the like are of
        self.known: dict[tuple[int, int], list[list[Any]]] = {}

    def of(self, form: Form) -> Range:
        """The least and largest value that a form may have, or values beside them."""
        low = high = form.get(("one", 0), ZERO)
        grouped: dict[tuple[str, int], dict[int, Q]] = {}
        for (kind, k, *rest), factor in form.items():
            if kind in ("is", "tree"):
                grouped.setdefault((kind, k), {})[rest[0]] = factor
            elif kind != "one":
                ends = self.parts[k] if kind == "x" else self._image(kind, k)
                both = [factor * end for end in ends]
                low, high = low + min(both), high + max(both)
        for (kind, k), factors in grouped.items():
            for values in self._choices(kind, k, factors):
                low, high = low + min(values), high + max(values)
        return low, high

    def _choices(self, kind: str, k: int, factors: dict[int, Q]) -> Iterator[list[Q]]:
        """What a feature's labels, or each tree of an ensemble, may add."""
        if kind == "is":
            yield [factors.get(i, ZERO) for i in self.parts[k]]
            return
        for tree in range(len(self.program.trees[k][0])):
            leaves = self.leaves(k, tree)
            yield [sum((f * leaf[c] for c, f in factors.items()), ZERO) for leaf in leaves]

    def _image(self, kind: str, k: int) -> Range:
        """The range of a unit, a step or a float32, from that of its form."""
        low, high = self.span(k)
        if kind == "unit":
            return max(low, ZERO), max(high, ZERO)
        if kind == "step":
            return Q(low >= 0), Q(high >= 0)
        try:
            return rounded(low, 4), rounded(high, 4)
        except Rejected as error:
            raise UnsupportedError(f"VIPR: a number of 32 bits: {error}") from None

    def span(self, k: int) -> Range:
        """The range of form k of those made, its ends rounded outward to doubles."""
        if k not in self.made:
            low, high = self.of(self.program.made[k])
            self.made[k] = rounded(low, 8, math.floor), rounded(high, 8, math.ceil)
        return self.made[k]

    def leaves(self, n: int, tree: int) -> list[list[Any]]:
        """The values of the leaves of a tree that admissible points reach."""
        if (n, tree) not in self.known:
            roots, nodes = self.program.trees[n]
            stack, found = [(roots[tree], self.parts)], []
            while stack:
                place, parts = stack.pop()
                if isinstance(nodes[place], tuple):
                    stack += [(child, side) for child, side, _ in self.sides(n, place, parts)]
                else:
                    found.append(nodes[place])
            self.known[n, tree] = found
        return self.known[n, tree]

    def sides(self, n: int, place: int, parts: list[Any]) -> list[tuple[int, list[Any], bool]]:
        """The children of a node that are in reach: place, parts, and whether it is the left."""
        j, test, *children = self.program.trees[n][1][place]
        feature, found = self.question.features[j], []
        for left, part in zip((True, False), feature.sides(parts[j], test), strict=True):
            if feature.nearest(part) is not None:
                found.append((children[not left], [*parts[:j], part, *parts[j + 1 :]], left))
        return found

    def least_above(self, form: Form) -> Q:
        """The least value above 0 that a form may have, or one below it; 0 if none is known."""
        read = {source: factor for source, factor in form.items() if factor}
        offset = read.pop(("one", 0), ZERO)
        for kind, j, *_ in list(read):
            if kind == "x" and self.parts[j][0] == self.parts[j][1]:  # it is fixed
                offset += read.pop((kind, j)) * self.parts[j][0]
        if [source[0] for source in read] == ["x"]:
            ((_, j),) = read
            return self._next(j, read["x", j], offset)
        return self._twins(read, offset) or self._on_lattice(read, offset)

    def _next(self, j: int, factor: Q, offset: Q) -> Q:
        """Of a form of one number: its value at the admissible number next to where it is 0."""
        feature, side, zero = self.question.features[j], 1 if factor > 0 else -1, -offset / factor
        value = feature.near(zero, side)
        if value == zero:
            beside = Q(math.nextafter(float(zero), side * math.inf))
            value = feature.near(beside, side)
        if value is None:  # it is never above 0
            return Q(1)
        return Q(offset + factor * value)

    def _twins(self, read: Form, offset: Q) -> Q:
        """Of a multiple of the difference of two numbers on one grid, which round alike; else 0."""
        if offset or [source[0] for source in read] != ["x", "x"] or sum(read.values()):
            return ZERO
        (one, factor), (other, _) = ((source[1], f) for source, f in read.items())
        grids = [self.lattice.get(j) for j in (one, other)]
        widths = {self.question.features[j].width for j in (one, other)}
        if None in grids or len(widths) > 1 or len({grid.step for grid in grids if grid}) > 1:
            return ZERO
        apart = min(grid.step for grid in grids if grid) - sum(g.slack for g in grids if g)
        return max(abs(factor) * apart, ZERO)

    def _on_lattice(self, read: Form, offset: Q) -> Q:
        """Of a form all whose values lie on a lattice, or so near that none of it is in doubt."""
        step, slack = ZERO, ZERO
        for (kind, k, *rest), factor in read.items():
            if kind == "x" and k in self.lattice:
                offset += factor * self.lattice[k].anchor
                step = divisor(step, factor * self.lattice[k].step)
                slack += abs(factor) * self.lattice[k].slack
            elif kind in ("is", "step"):
                step = divisor(step, factor)
            elif kind == "tree":
                for tree in range(len(self.program.trees[k][0])):
                    for leaf in self.leaves(k, tree):
                        step = divisor(step, factor * leaf[rest[0]])
            else:
                return ZERO
        least = (offset % step or step) if step else ZERO
        certain = not slack or slack < min(least, step - least)
        return least - slack if certain else ZERO


def divisor(one: Q, other: Q) -> Q:
    """The largest rational of which both are whole multiples."""
    common = math.lcm(one.denominator, other.denominator)
    return Q(math.gcd(int(one * common), int(other * common)), common)


def misses(span: Range, strict: bool) -> tuple[bool, bool]:
    """Whether a form in a range is never at least (strict: above) 0, and whether it always is."""
    low, high = span
    return high < 0 or (strict and high == 0), low > 0 or (not strict and low == 0)
