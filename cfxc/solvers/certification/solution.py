"""Where the solution of a part's linear program is wrong, and so where to split the part."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter
from typing import Any

from ...arrays import Floats
from ...certificates.checker.program import KINDS, image
from ...certificates.checker.rules import PLANES
from ...ir.linear import ZERO
from .curves import VALUES
from .leaves import halved

Cut = tuple[int, Fraction]  # a feature, and the largest value on the left
WRONG = 1e-9  # by how much a solution may miss what it stands for


class Solution:
    """A solution of a part's linear program, and where it is wrong."""

    def __init__(self, program: Any, values: Floats, duals: dict[Any, Fraction]) -> None:
        self.program, self.values = program, values
        self.slopes: dict[int, float] = {}  # what a product being larger or smaller adds
        for (name, k, *_), y in duals.items():
            if name in PLANES:
                self.slopes[k] = self.slopes.get(k, 0.0) + float(y)

    def worst_unit(self) -> tuple[int, float]:
        """The open unit that differs most from the maximum that it stands for."""
        best, at = 0.0, -1
        for k, column in self.program.open.items():
            if k in self.program.signs:
                continue
            wrong = abs(self.values[column] - max(self.made(k), 0.0))
            if wrong > best:
                best, at = wrong, k
        return at, best

    def worst_factor(self) -> tuple[int, Fraction, float]:
        """The form whose products, or smooth functions, are off most, by what that adds to the
        bound; and where to split it: between its value and the middle of its range.
        """
        program, best, found = self.program, 0.0, -1
        for slopes in (self.slopes, program.influence()):
            wrong = dict[int, float]()
            for k in program.products:
                off = self._product_off(k)
                for i in set(program.problem.program.factors[k]):
                    wrong[i] = wrong.get(i, 0.0) + off * slopes.get(k, 0.0) * self._inside(i)
            for k in program.curves:
                (kind, i, *_), *more = program.problem.program.made[k] or [("one", 0)]
                if more or kind not in KINDS:
                    continue  # what it is of, numbers are split for
                off = self.curve_off(k) * slopes.get(k, 0.0) * self._inside(i)
                wrong[i] = wrong.get(i, 0.0) + off
            found = max(wrong, key=lambda k: wrong[k], default=-1)
            best = wrong.get(found, 0.0)
            if best > WRONG:
                break
        if found < 0:
            return found, ZERO, 0.0
        low, high = program.spans[found]
        value = min(max(Fraction(self.made(found)), low), high)
        return found, value * 3 / 4 + (low + high) / 8, best

    def bending(self) -> Cut | None:
        """A cut of the number that smooth functions, and products beside them, are off by most, and
        where: between its value and the middle of its range.
        """
        scores = self._spread(self.slopes) or self._spread(self.program.influence())
        for j in sorted(scores, key=lambda j: -scores[j]):
            low, high = self.program.parts[j]
            at = min(max(Fraction(self._number(j)), low), high)
            if (cut := self._beside(j, at * 3 / 4 + (low + high) / 8)) is not None:
                return j, cut
        return None

    def _spread(self, slopes: dict[int, float]) -> dict[int, float]:
        """What is off, by the number that it is off by; empty if nothing is."""
        program, made = self.program, self.program.problem.program
        off = {k: self.curve_off(k) for k in program.curves}
        off |= {k: self._product_off(k) for k in program.products}
        weights = {(made.kinds[k], k): own * slopes.get(k, 0.0) for k, own in off.items()}
        if max(weights.values(), default=0.0) <= WRONG:
            return {}
        for k in reversed(range(program.depth)):
            if weight := weights.get((made.kinds[k], k), 0.0):
                factors = made.factors.get(k, ())
                inner = {("form", i): 1.0 for i in factors} or made.made[k]
                for source, factor in inner.items():
                    weights[source] = weights.get(source, 0.0) + weight * abs(float(factor))
        ends = {j: program.parts[j] for j in program.numbers}
        found = {
            j: weights.get(("x", j), 0.0) * float(high - low) for j, (low, high) in ends.items()
        }
        return {j: score for j, score in found.items() if score > 0}

    def _product_off(self, k: int) -> float:
        i, m = self.program.problem.program.factors[k]
        return abs(float(self.values[self.program.products[k]]) - self.made(i) * self.made(m))

    def curve_off(self, k: int) -> float:
        """How far a smooth function is from what the solution says of it."""
        value = VALUES[self.program.problem.program.kinds[k]](self.made(k))
        return abs(value - float(self.values[self.program.curves[k]]))

    def _inside(self, k: int) -> float:
        """How far inside of its range a form's value is: 1 in the middle, a tenth at the ends."""
        low, high = map(float, self.program.spans[k])
        value = self.made(k)
        return 0.1 + 1.8 * max(min(value - low, high - value), 0.0) / (high - low or 1.0)

    def made(self, k: int) -> float:
        """The value of a form that was made."""
        return float(self.program.z[k] @ self.values + self.program.z0[k])

    def halved(self) -> list[tuple[float, Any]]:
        """Tests of trees that are taken both ways."""
        return halved(self.program.problem, self.program.trees, self.values, self._left_of)

    def _left_of(self, j: Any, test: Any) -> float | None:
        program = self.program
        if isinstance(test, frozenset):
            labels = program.labels.items()
            return float(
                sum(self.values[c] for (i, place), c in labels if i == j and place in test)
            )
        value = self.made(j[1]) if isinstance(j, tuple) else self._number(j)
        low, high = program.spans[j[1]] if isinstance(j, tuple) else program.parts[j]
        off = value - float(test)
        return None if abs(off) <= WRONG * float(high - low) else float(off < 0)

    def _number(self, j: int) -> float:
        up, down, _ = self.program.numbers[j]
        return float(self.program.base[j]) + float(self.values[up] - self.values[down])

    def wrong_step(self) -> Cut | None:
        """A cut at a step that the solution takes by halves, or against its number."""
        program, problem = self.program, self.program.problem
        for k, column in program.steps.items():
            low, high = (image("step", end) for end in program.spans[k])
            z, value = self.made(k), self.values[column]
            if low == high or (abs(value - (z >= 0)) <= WRONG and abs(z) > WRONG):
                continue
            form = problem.program.made[k]
            ((source, factor),) = [one for one in form.items() if one[0] != ("one", 0)][:1]
            if source[0] != "x":
                continue
            edge, feature = -form.get(("one", 0), ZERO) / factor, problem.features[source[1]]
            beside = Fraction(nextafter(float(edge), -inf)) if factor > 0 else edge
            cut, (low, high) = feature.near(beside, -1), program.parts[source[1]]
            if cut is not None and low <= cut < high:
                return source[1], cut
        return None

    def worst_label(self) -> tuple[int, int, float]:
        """The label whose share is nearest to one half."""
        best, feature, place = 0.0, -1, -1
        for (j, i), column in self.program.labels.items():
            share = min(self.values[column], 1 - self.values[column])
            if share > best:
                best, feature, place = share, j, i
        return feature, place, best

    def cut(self) -> Cut | None:
        """Where to cut the number whose cost is understated most, or that is off its grid."""
        program, problem = self.program, self.program.problem
        best, found = WRONG, None
        for j in program.numbers:
            feature, (low, high) = problem.features[j], program.parts[j]
            at = min(max(Fraction(self._number(j)), low), high)
            wrong = float(problem.cost(j, feature.delta(at))) - program.cost_of(j, self.values)
            below, above = feature.near(at, -1), feature.near(at, 1)
            if feature.step is not None and below is not None and above is not None:
                size = feature.size or Fraction(1)
                gap = min(at - below, above - at) / size if below < above else ZERO
                wrong = max(wrong, float(gap))
            if wrong > best and (cut := self._beside(j, at)) is not None:
                best, found = wrong, (j, cut)
        return found

    def _beside(self, j: int, at: Fraction) -> Fraction | None:
        """An admissible value of a number below the end of its range: at the factual's own where
        any change costs, else around a place, or in the middle.
        """
        feature, (low, high) = self.program.problem.features[j], self.program.parts[j]
        own, places = feature.own, [at, (low + high) / 2]
        if self.program.problem.norms[0] and low <= own <= high:
            places = [own, Fraction(nextafter(float(own), -inf)), *places]
        for place in places:
            cut: Fraction | None = feature.near(place, -1)
            if cut is not None and low <= cut < high:
                return cut
        return None
