"""The columns of features: numbers, labels, the sides of tests, and the distance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction as Q
from itertools import pairwise
from typing import Any

from ....errors import UnsupportedError
from ...auditing.report import quoted
from ...checker import Question
from .problem import ZERO, Affine, Point, Problem, constant, total
from .ranges import Lattice


def _equal(j: int, label: int) -> Callable[[Point], bool]:
    return lambda point: bool(point[j] == label)


def _at_most(j: int, end: Q) -> Callable[[Point], bool]:
    return lambda point: bool(point[j] <= end)


class Features:
    """The features of a question as columns of a program; each says what it costs.

    ``tests`` are the tests of trees by feature; ``read`` the numbers that forms read.
    """

    def __init__(
        self, problem: Problem, question: Question, tests: dict[int, set[Any]], read: set[int]
    ) -> None:
        self.problem, self.question = problem, question
        self.numbers: dict[int, dict[int, Q]] = {}
        self.labels: dict[int, dict[int, dict[int, Q]]] = {}
        self.lefts: dict[tuple[int, Any], dict[int, Q]] = {}
        self.lattice: dict[int, Lattice] = {}
        moves: dict[int, dict[int, Q]] = {}
        for j, feature in enumerate(question.features):
            if feature.absent is not None:
                raise UnsupportedError(
                    f"VIPR: feature {feature.name!r} may be filled in or lost",
                    remedy="export as smt2 or cpc",
                )
            if feature.nearest(feature.all) is None:
                raise UnsupportedError(f"VIPR: feature {feature.name!r} has no admissible value")
            if feature.labels:
                moves[j] = self._label(j)
            else:
                moves[j] = _Number(self, j).build(tests.get(j, set()), j in read)
        self._largest(moves)
        problem.first = len(problem.rows)

    def number(self, j: int) -> Affine:
        """A feature's number."""
        return self.numbers[j]

    def left(self, j: int, test: Any) -> Affine:
        """1 where a value goes left at a test, else 0."""
        if j in self.labels:
            return total(*((1, self.labels[j][i]) for i in sorted(test) if i in self.labels[j]))
        return self.lefts[j, test]

    def least(self, j: int, value: Any) -> Q:
        """The distance of what differs from the factual in one feature alone."""
        delta = self.question.features[j].delta(value)
        return self.question.cost(j, delta) + self.question.tops[j] * delta

    def _label(self, j: int) -> dict[int, Q]:
        """One binary for each admissible label; what δ is."""
        feature, problem, question = self.question.features[j], self.problem, self.question
        places = sorted(feature.all)
        if len(places) == 1:
            self.labels[j] = {places[0]: constant(1)}
        else:
            self.labels[j] = {
                i: problem.binary(
                    f"is_{j}_{i}",
                    _equal(j, i),
                    kind="label",
                    feature=feature.name,
                    label=quoted(feature.labels[i][1]),
                )
                for i in places
            }
            every = total(*((1, each) for each in self.labels[j].values()))
            problem.row("label", every, "E", constant(1), "a feature has exactly one label")
        for i, each in self.labels[j].items():
            problem.cost(question.cost(j, feature.delta(i)), each)
            problem.ends.append(problem.end(each, 1, self.least(j, i)))
        return total(*((feature.delta(i), each) for i, each in self.labels[j].items()))

    def _largest(self, moves: dict[int, dict[int, Q]]) -> None:
        """The part of the distance that is the largest weighted change."""
        question, factor = self.question, self.question.norms[2]
        felt = {j: move for j, move in moves.items() if question.peaks[j] and move}
        if not factor or not felt:
            return

        def at(point: Point) -> Q:
            deltas = [f.delta(v) for f, v in zip(question.features, point, strict=True)]
            return max(p * d for p, d in zip(question.peaks, deltas, strict=True))

        ends = [peak * max(map(f.delta, f.all)) for f, peak in self._peaks()]
        largest = self.problem.column("largest", (0, max(ends)), at, kind="largest change")
        for j, move in felt.items():
            change = total((question.peaks[j], move))
            why = "largest is at least the weighted change of each feature (linf)"
            self.problem.row("largest", largest, "G", change, why)
        self.problem.cost(factor, largest)

    def _peaks(self) -> Iterable[tuple[Any, Q]]:
        return zip(self.question.features, self.question.peaks, strict=True)


class _Number:
    """The columns of one number: how far it moves up and down, its cuts and its grid."""

    def __init__(self, features: Features, j: int) -> None:
        self.features, self.problem, self.j = features, features.problem, j
        self.feature = features.question.features[j]
        self.own: Q = self.feature.own
        self.low: Q = self.feature.all[0]
        self.high: Q = self.feature.all[1]
        self.up = self._move("up", 1)
        self.down = self._move("down", -1)
        self.value = total((1, constant(self.own)), (1, self.up), (-1, self.down))
        self.changed: dict[int, Q] | None = None
        features.numbers[j] = self.value

    def _move(self, name: str, side: int) -> dict[int, Q]:
        """How far the number lies above (or below) the factual's."""
        j, own, feature = self.j, self.own, self.feature
        ends = sorted(max((end - own) * side, ZERO) for end in (self.low, self.high))
        return self.problem.column(
            f"{name}_{j}",
            (ends[0], ends[1]),
            lambda point: max((point[j] - own) * side, ZERO),
            kind=f"how far the number moves {name}",
            feature=feature.name,
            factual=str(own),
        )

    def build(self, tests: set[Any], read: bool) -> dict[int, Q]:
        """Add everything; what δ is."""
        question, feature = self.features.question, self.feature
        moved = total((1, self.up), (1, self.down))
        delta = total((1 / feature.size, moved)) if feature.size else {}
        share = question.shares[self.j]
        self.problem.cost(share * question.norms[1], delta)
        self._cuts(tests)
        if question.norms[0] * share and delta:
            self.problem.cost(question.norms[0] * share, self._changed())
            self._changed_by_cuts()
        if feature.step is not None and self.low != self.high:
            if read and feature.step > Q(1, 2**90):  # else rounding may not be relative
                self._grid()
            else:
                self.problem.note(
                    f"{feature.name}: no form reads it; the tests of trees part it at exact values "
                    "of its grid, and between them it may be any number"
                )
        elif self.low != self.high:
            self.problem.note(
                f"{feature.name}: any real number of its range, not only those a float can hold"
            )
        return delta

    def _changed(self) -> dict[int, Q]:
        """1 where the number is not the factual's, else 0."""
        if self.changed is None:
            j, own, why = self.j, self.own, "a number that moves has changed"
            name = self.feature.name
            self.changed = self.problem.binary(
                f"changed_{j}", lambda p: bool(p[j] != own), kind="changed", feature=name
            )
            for move, end in ((self.up, self.high - own), (self.down, own - self.low)):
                self.problem.row("changed", move, "L", total((max(end, ZERO), self.changed)), why)
        return self.changed

    def _sides(self, tests: set[Any]) -> dict[tuple[Q, Q], list[Any]]:
        """The tests that part the range, by the last value to the left and the first right."""
        found: dict[tuple[Q, Q], list[Any]] = {}
        for test in sorted(tests):
            left, right = (side for side in self.feature.sides(self.feature.all, test))
            empty = [self.feature.nearest(side) is None for side in (left, right)]
            if any(empty):
                self.features.lefts[self.j, test] = constant(int(empty[1]))
            else:
                found.setdefault((left[1], right[0]), []).append(test)
        return dict(sorted(found.items()))

    def _cuts(self, tests: set[Any]) -> None:
        """A binary for each cut, in order, and where the number is by them."""
        j, problem, binaries = self.j, self.problem, list[dict[int, Q]]()
        self.pairs = self._sides(tests)
        for place, ((before, after), same) in enumerate(self.pairs.items()):
            left = problem.binary(
                f"cut_{j}_{place}",
                _at_most(j, before),
                kind="test",
                feature=self.feature.name,
                cuts=[str(test) for test in same],
                at_most=str(before),
                else_at_least=str(after),
            )
            binaries.append(left)
            self.features.lefts.update({(j, test): left for test in same})
        for left, right in pairwise(binaries):
            problem.row("order", left, "L", right, "below a cut is below a higher one")
        self.binaries = binaries
        self._ends()
        if binaries:
            self._between(self.up, "up", 1)
            self._between(self.down, "down", -1)

    def _ends(self) -> None:
        """How far the number is at least beyond each cut."""
        over, under = list[tuple[int, int, Q]](), list[tuple[int, int, Q]]()
        least, end = self.features.least, self.problem.end
        for left, (before, after) in zip(self.binaries, self.pairs, strict=True):
            if after > self.own:
                over += end(left, 0, least(self.j, after))
            if before < self.own:
                under += end(left, 1, least(self.j, before))
        self.problem.ends += [over, under[::-1]]

    def _between(self, move: Affine, name: str, side: int) -> None:
        """``low + Σ (1 - b_i) (a_i - a_{i-1})`` and ``high - Σ b_i (c_{i+1} - c_i)``.

        b_i is 1 at or below cut i, which lies between the values c_i and a_i; the values right
        of cuts are a prefix, so that the sums are the ends of the interval that the number is in.
        ``side``: 1 for what lies above the factual's, -1 for what lies below.
        """

        def far(x: Q) -> Q:
            return max(side * (x - self.own), ZERO)

        firsts = [self.low, *(after for _, after in self.pairs)]
        lasts = [*(before for before, _ in self.pairs), self.high]
        rises = [far(firsts[i + 1]) - far(firsts[i]) for i in range(len(self.binaries))]
        drops = [far(lasts[i]) - far(lasts[i + 1]) for i in range(len(self.binaries))]
        most = constant(far(self.low) + sum(rises))
        starts = total((1, most), *((-r, b) for r, b in zip(rises, self.binaries, strict=True)))
        ends = constant(far(self.high))
        ends = total((1, ends), *((d, b) for d, b in zip(drops, self.binaries, strict=True)))
        senses = "GL" if name == "up" else "LG"
        why = "a number lies between the ends that its cuts leave (exact next admissible values)"
        self.problem.row(f"between_{name}", move, senses[0], starts, why)
        self.problem.row(f"between_{name}", move, senses[1], ends, why)

    def _changed_by_cuts(self) -> None:
        """Beyond the cut next to the factual's, the number has changed."""
        changed, why = self._changed(), "beyond a cut next to the factual's, a number has changed"
        over = [i for i, (before, _) in enumerate(self.pairs) if before >= self.own]
        under = [i for i, (before, _) in enumerate(self.pairs) if before < self.own]
        if over:
            stays = total((1, constant(1)), (-1, self.binaries[over[0]]))
            self.problem.row("changed_by", changed, "G", stays, why)
        if under:
            self.problem.row("changed_by", changed, "G", self.binaries[under[-1]], why)

    def _grid(self) -> None:
        """Whole multiples of the step, but for rounding and for a factual beside them."""
        step: Q = self.feature.step or ZERO
        own, j, name = self.own, self.j, self.feature.name
        first = round(own / step)
        anchor, slack, beside = first * step, self._rounding(), ZERO
        if abs(own - anchor) > slack:
            beside = step
            self.problem.note(f"{name}: the factual lies beside the grid, and may stay there")
        low = math.ceil((self.low - anchor - slack) / step)
        high = math.floor((self.high - anchor + slack) / step)
        span = (min(low, 0), max(high, 0)) if beside else (low, high)

        def at(point: Point) -> Q:
            return ZERO if point[j] == own else Q(round(point[j] / step) - first)

        k = self.problem.column(
            f"steps_{j}", span, at, whole=True,
            kind="steps of the grid", feature=name, step=str(step), counted_from=str(anchor),
        )  # fmt: skip
        apart = total((1, self.value), (-1, constant(anchor)), (-step, k))
        if not beside:
            self.features.lattice[j] = Lattice(anchor, step, slack)
        if slack == beside == 0:
            self.problem.row("grid", apart, "E", {}, "a number is a multiple of its step")
            return
        if slack:
            self.problem.note(f"{name}: within {float(slack):.1e} of its grid (rounding)")
        room = constant(slack)
        if beside:
            stays = total((1, constant(1)), (-1, self._changed()))
            room = total((1, room), (beside, stays))
        why = "a number is a multiple of its step, rounded, or the factual's"
        self.problem.row("grid", apart, "L", room, why)
        self.problem.row("grid", apart, "G", total((-1, room)), why)

    def _rounding(self) -> Q:
        """How far the floats of a grid may lie from its multiples; 0 if all are multiples."""
        step: Q = self.feature.step or ZERO
        width = self.feature.width
        largest = max(abs(self.low), abs(self.high))
        bits, finest = (24, 140) if width == 4 else (53, 1000)
        dyadic = step.denominator & (step.denominator - 1) == 0
        digits = (math.ceil(largest / step) + 1) * step.numerator
        exact = dyadic and step.denominator <= 2**finest and digits <= 2**bits
        if width == 0 or exact:
            return ZERO
        return Q(1, 2**52) * largest + (Q(1, 2**23) * largest if width == 4 else ZERO)
