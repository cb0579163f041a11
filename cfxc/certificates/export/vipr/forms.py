"""Forms as sums of columns: trees by their leaves, units, steps and float32 by big-M rows."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as Q
from typing import Any

from ...checker import HALF_ULP, LEAST, Form, Question, rounded
from .features import Features
from .problem import ONE, REST, ZERO, Affine, Point, Problem, constant, total
from .ranges import Ranges, misses

BIG = "L and U are the ends of z over everything admissible (interval arithmetic, trusted)"


class Forms:
    """Sources of forms, made into columns when they are first read."""

    def __init__(
        self, problem: Problem, question: Question, features: Features, ranges: Ranges
    ) -> None:
        self.problem, self.question, self.program = problem, question, question.program
        self.features, self.ranges = features, ranges
        self.made: dict[tuple[str, int], Affine] = {}
        self.leaves: dict[tuple[int, int], list[tuple[list[Any], Affine]]] = {}

    def affine(self, form: Form) -> dict[int, Q]:
        """A form as a sum of columns."""
        return total(*((f, self._source(source)) for source, f in form.items() if f))

    def _source(self, source: Any) -> Affine:
        kind, k, *rest = source
        if kind == "one":
            return {REST: ONE}
        if kind == "x":
            return self.features.number(k)
        if kind == "is":
            return self.features.labels[k].get(rest[0], {})
        if kind == "tree":
            return self._trees(k, rest[0])
        if (kind, k) not in self.made:
            make = {"unit": self._unit, "step": self._step, "single": self._single}[kind]
            self.made[kind, k] = make(k)
        return self.made[kind, k]

    def _value(self, k: int, then: Callable[[Q], Any]) -> Callable[[Point], Any]:
        """What depends on the value of form k of those made, at a point."""
        form, program = self.program.made[k], self.program
        return lambda point: then(program.at(form, point))

    # -- units and the like -----------------------------------------------------------------------

    def _unit(self, k: int) -> Affine:
        """h = max(z, 0): ``h >= z``, ``h <= z - L (1 - b)``, ``h <= U b``."""
        z, (low, high) = self.affine(self.program.made[k]), self.ranges.span(k)
        if low >= 0 or high <= 0:
            return z if low >= 0 else {}
        problem, why = self.problem, f"h_k = max(z_k, 0); {BIG}"
        h = problem.column(
            f"h_{k}", (0, high), self._value(k, lambda z: max(z, ZERO)), kind="unit", made=k
        )
        on = problem.binary(f"on_{k}", self._value(k, lambda z: z > 0), kind="sign", made=k)
        problem.row("unit", h, "G", z, why)
        problem.row("unit", h, "L", total((1, z), (-low, constant(1)), (low, on)), why)
        problem.row("unit", h, "L", total((high, on)), why)
        return h

    def _step(self, k: int) -> Affine:
        """s = 1 where z >= 0, else 0: ``z >= L (1 - s)``, ``z <= U s``, closed at 0."""
        z, (low, high) = self.affine(self.program.made[k]), self.ranges.span(k)
        if low >= 0 or high < 0:
            return constant(int(low >= 0))
        problem, why = self.problem, f"s_k is 1 where z_k >= 0, else 0; {BIG}"
        s = problem.binary(f"s_{k}", self._value(k, lambda z: z >= 0), kind="step", made=k)
        problem.row("step", z, "G", total((low, constant(1)), (-low, s)), why)
        form = self.program.made[k]
        gap = self.ranges.least_above({source: -factor for source, factor in form.items()})
        if not gap:
            problem.note(f"s_{k}: where z_{k} is 0, it may be 0 or 1")
        below = total((high, s), (-gap, constant(1)), (gap, s))
        problem.row("step", z, "L", below, why)
        return s

    def _single(self, k: int) -> Affine:
        """The float32 nearest to z, as anything within the most that rounding may change."""
        z, (low, high) = self.affine(self.program.made[k]), self.ranges.span(k)
        slack = rounded(HALF_ULP * max(abs(low), abs(high)) + LEAST, 8)
        slack += slack * HALF_ULP
        near = self.problem.column(
            f"r_{k}",
            (low - slack, high + slack),
            self._value(k, lambda z: rounded(z, 4)),
            kind="float32",
            made=k,
        )
        why = "a float32 is within half a place of what it rounds"
        self.problem.row("single", near, "L", total((1, z), (slack, constant(1))), why)
        self.problem.row("single", near, "G", total((1, z), (-slack, constant(1))), why)
        self.problem.note(f"r_{k}: within {float(slack):.1e} of what it rounds")
        return near

    # -- trees ------------------------------------------------------------------------------------

    def _trees(self, n: int, column: int) -> Affine:
        """A column of an ensemble: the values of its leaves times which of them is taken."""
        roots, _ = self.program.trees[n]
        found: list[tuple[Q, Affine]] = []
        for tree in range(len(roots)):
            if (n, tree) not in self.leaves:
                self.leaves[n, tree] = self._leaves(n, tree)
            found += [(leaf[column], taken) for leaf, taken in self.leaves[n, tree]]
        return total(*found)

    def _leaves(self, n: int, tree: int) -> list[tuple[list[Any], Affine]]:
        """A column for each leaf in reach; one is taken, below every node on its side."""
        root = self.program.trees[n][0][tree]
        leaves: list[tuple[list[Any], Affine]] = []
        taken = self._below(n, tree, root, self.ranges.parts, leaves)
        if len(leaves) > 1:
            self.problem.row("tree", taken, "E", constant(1), "one leaf of each tree is taken")
        return leaves

    def _below(self, n: int, tree: int, place: int, parts: list[Any], leaves: list[Any]) -> Affine:
        """The leaves below a node, all added up."""
        node = self.program.trees[n][1][place]
        if not isinstance(node, tuple):
            leaf: Affine = constant(1)
            if len(self.ranges.leaves(n, tree)) > 1:
                leaf = self.problem.column(
                    f"leaf_{n}_{tree}_{len(leaves)}", (0, 1), self._inside(parts),
                    kind="leaf", ensemble=n, tree=tree, node=place,
                )  # fmt: skip
            leaves.append((node, leaf))
            return leaf
        sides = self.ranges.sides(n, place, parts)
        every = [self._below(n, tree, child, part, leaves) for child, part, _ in sides]
        if len(sides) == 2:
            left = self.features.left(node[0], node[1])
            right = total((1, constant(1)), (-1, left))
            why = "a leaf is taken only on the side that the test of each node above it leaves"
            for below, side in zip(every, (left, right), strict=True):
                self.problem.row("node", below, "L", side, why)
        return total(*((1, below) for below in every))

    def _inside(self, parts: list[Any]) -> Callable[[Point], Q]:
        """Whether a point goes to a leaf (nodes may be shared: by one of the ways to it)."""
        requested = [
            (j, feature.labels, part)
            for j, (feature, part) in enumerate(zip(self.question.features, parts, strict=True))
            if part != feature.all
        ]

        def at(point: Point) -> Q:
            return Q(all(
                point[j] in part if labels else part[0] <= point[j] <= part[1]
                for j, labels, part in requested
            ))  # fmt: skip

        return at

    # -- rows -------------------------------------------------------------------------------------

    def require(
        self, form: Form, strict: bool, group: str, why: str, when: Affine | None = None
    ) -> None:
        """``form >= 0`` (strict: above), where ``when`` is 1 if it is given."""
        gap = self.ranges.least_above(form) if strict else ZERO
        if strict and not gap:
            self.problem.note(f"{group}: a form that must be above 0 may be 0")
        right = constant(gap)
        if when is not None:
            low, _ = self.ranges.of(form)
            low = rounded_down(low)
            right = total((1, right), (low - gap, constant(1)), (gap - low, when))
        self.problem.row(group, self.affine(form), "G", right, why)

    def truth(self, truth: Any, positive: bool, when: Affine | None) -> None:
        """What a constraint says (or its opposite), where ``when`` is 1 if it is given."""
        kind, parts = truth
        if kind == "not":
            return self.truth(parts[0], not positive, when)
        why = "constraints; the big-M of a part is its least value (interval arithmetic, trusted)"
        if kind in ("ge", "gt"):
            form, strict = self._atom(kind, parts[0], positive)
            never, always = misses(self.ranges.of(form), strict)
            if never:
                return self.problem.row("constraint", {}, "G", when or constant(1), why)
            return None if always else self.require(form, strict, "constraint", why, when)
        if (kind == "and") == positive:
            for part in parts:
                self.truth(part, positive, when)
            return None
        if len(parts) == 1:
            return self.truth(parts[0], positive, when)
        return self._either(parts, positive, when)

    def _either(self, parts: list[Any], positive: bool, when: Affine | None) -> None:
        """A binary for each part of a disjunction, one of which must be 1."""
        chosen = []
        for part in parts:
            number = sum(column.about["kind"] == "part" for column in self.problem.columns)
            about = f"that part {number} of the constraints holds"
            chosen.append(
                self.problem.binary(
                    f"part_{number}", self._told(part, positive), kind="part", says=about
                )
            )
            self.truth(part, positive, chosen[-1])
        why = "one part of a disjunction holds"
        some = total(*((1, each) for each in chosen))
        self.problem.row("either", some, "G", constant(1) if when is None else when, why)

    def _told(self, part: Any, positive: bool) -> Callable[[Point], bool]:
        return lambda point: self._holds(part, point) == positive

    def _holds(self, truth: Any, point: Point) -> bool:
        """Whether a part of a constraint is true at a point."""
        kind, parts = truth
        if kind in ("ge", "gt"):
            z = self.program.at(parts[0], point)
            return z > 0 or (kind == "ge" and z == 0)
        found = [self._holds(part, point) for part in parts]
        return not found[0] if kind == "not" else all(found) if kind == "and" else any(found)

    @staticmethod
    def _atom(kind: str, form: Form, positive: bool) -> tuple[Form, bool]:
        """A form that must be at least, or above, 0."""
        if positive:
            return form, kind == "gt"
        return {source: -factor for source, factor in form.items()}, kind == "ge"


def rounded_down(value: Q) -> Q:
    """A double at or below a number."""
    return rounded(value, 8, lambda x: x.numerator // x.denominator)
