"""The question: what may change and how far that is, the target, and what must hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction as Q
from typing import Any

from .program import CONSTANT, ONE, ZERO, Form, Point, Program, plus, rounded
from .reader import (
    DEPTH,
    KEPT,
    MEMORY,
    Clock,
    Rejected,
    distinct,
    key,
    listed,
    members,
    need,
    number,
    size,
    small,
    total,
    whole,
)
from .region import Region

Row = tuple[Form, bool]  # a form that is at least 0 or, if True, above 0
Part = Any  # of a number the least and the largest value, (None, None) if none; places of labels
ACTIONS = ("free", "fixed", "increase", "decrease", "conditional")
KINDS = ("real", "integer", "ordinal", "categorical", "binary")
NUMBERS = KINDS[:3]  # kinds that need no labels


class Feature:
    """One feature for this factual: its admissible values, and how far each is.

    A number is admissible where it lies in its range and on its grid (multiples of its step, or all
    numbers, as floats of ``width`` bytes), or is the factual's own.  All of them are doubles.
    ``gap``: the factual's is missing and stays so; a number below the range stands for it.
    ``absent``: what stands for a missing number that is admissible beside those from ``first`` on.
    """

    def __init__(self, given: Any, factual: Any, where: str, clock: Clock | None = None) -> None:
        self.clock = clock or Clock(math.inf)
        names = "name kind action labels weight float lower upper step"
        self.gap = isinstance(given, dict) and given.get("missing") is True
        opens = isinstance(given, dict) and "absent" in given
        given = members(given, names + " missing" * self.gap + " absent" * opens, where)
        self.absent = number(given[-1]) if opens else None
        self.name, self.kind, self.action, labels, weight, self.width, *range_ = given[:9]
        need(type(self.name) is str and self.kind in KINDS, f"{where}: name or kind")
        self.labels, self.weight = distinct(labels, f"{where}.labels"), number(weight)
        need(self.action in ACTIONS and self.weight >= 0, f"{where}: action or weight")
        self.known, self.away, self.kept = dict[Q, Any](), dict[Any, Q](), KEPT
        self.low, self.high, self.step = (None if end is None else number(end) for end in range_)
        plain = self.kind in KINDS[2:] and range_ == [None, None, None] and self.width == 0
        fits = plain and not (self.gap or opens) if self.labels else self.kind in NUMBERS
        need(fits, f"{where}: labels or numbers")
        if not self.labels:
            self._range(number(factual), where)
            return
        self.own: Any = self.labels.index(key(factual))
        first = self.own if self.action in ("fixed", "increase") else 0
        last = self.own + 1 if self.action in ("fixed", "decrease") else len(self.labels)
        self.all: Part = frozenset(range(first, last))
        steps = len(self.labels) - 1
        self.size = Q(steps if self.kind == "ordinal" else min(1, steps))

    def _range(self, own: Q, where: str) -> None:
        low, high, step, whole_numbers = self.low, self.high, self.step, self.kind != "real"
        absent, held = self.absent, self.gap or self.action == "fixed"
        gone, inside = self.gap or own == absent, False
        if low is not None and high is not None:
            inside = low <= max(own, low) <= high and (own < low) == gone
        need(inside, f"{where}: range, or the factual lies outside of it")
        assert low is not None
        assert high is not None
        need(absent is None or (absent < low and not held), f"{where}: absent, but fixed or there")
        need(step == 1 if whole_numbers else step is None or step > 0, f"{where}: step")
        need(self.width in ((0, 4, 8) if whole_numbers else (4, 8)), f"{where}: float")
        ends = (own, own if absent is None else absent, low, high)
        doubles = all(Q(float(x)) == x for x in ends[:2])
        doubles = doubles and (self.width or max(map(abs, ends)) <= 2**53)
        need(doubles, f"{where}: numbers that are no doubles")
        self.own, self.size = own, high - low
        self.first = own if held or (self.action == "increase" and not gone) else low
        self.upper = own if held or (self.action == "decrease" and not gone) else high
        self.lower = self.first if absent is None else absent
        self.all = (self.near(self.lower, 1), self.near(self.upper, -1))

    def near(self, value: Q, side: int) -> Q | None:
        """Lemma 1: the least admissible number from a value on, or (side -1) the largest up to it.

        ``None`` if there is none.
        """
        value = max(value, self.lower) if side > 0 else min(value, self.upper)
        grid = self.on_grid(max(value, self.first) if side > 0 else value, side)
        inside = [x for x in (grid, self.own) if self.first <= x <= self.upper]
        inside += [] if self.absent is None else [self.absent]
        beyond = [(x - value) * side for x in inside if (x - value) * side >= 0]
        return value + side * min(beyond) if beyond else None

    def on_grid(self, value: Q, side: int) -> Q:
        """The same of the whole grid, without a range: by bisection, as rounding is monotone."""
        toward, step = math.ceil if side > 0 else math.floor, self.step
        beside = rounded(value, self.width, toward) if self.width else value
        if step is None:
            return beside

        def cell(k: int) -> Q:
            x = side * k * step
            return rounded(rounded(x, 8), self.width) if self.width else x

        first = side * toward(value / step)  # multiples from here on reach it unrounded
        least, most = first - 2, max(first, side * toward(beside / step))
        if (cell(least) - value) * side >= 0:
            return cell(least)
        while most - least > 1:  # cell(least) falls short, cell(most) does not
            self.clock.tick()
            middle = (least + most) // 2
            reaches = (cell(middle) - value) * side >= 0
            least, most = (least, middle) if reaches else (middle, most)
        return cell(most)

    def test(self, cut: Any) -> Any:
        """What goes left of a split: some labels, or numbers up to a double."""
        if not self.labels:
            return number(cut, True)
        places = frozenset(map(whole, listed(cut, "a split by labels")))
        if len(places) < len(cut) or max(places, default=0) >= len(self.labels):
            raise Rejected(f"{self.name!a}: a split by a label twice, or by none")
        return places

    def delta(self, value: Any) -> Q:
        """δ_j: how far a value is from the factual's, over its range; 1 of a gap that changes."""
        if (known := self.away.get(value)) is None:
            counts = self.kind == "ordinal" or not self.labels
            away = abs(value - self.own) if counts else Q(value != self.own)
            known = Q(away) / self.size if self.size else ZERO
            known = ONE if (value == self.absent) != (self.own == self.absent) else known
            if len(self.away) < self.kept and known.denominator.bit_length() < 4000:
                self.away[value] = known
        return known

    def nearest(self, part: Part) -> Q | None:
        """The least δ_j in a part; None if it is empty."""
        if self.labels:
            return min(map(self.delta, part), default=None)
        low, high = part
        return None if None in part or low > high else self.delta(min(max(self.own, low), high))

    def way(self, part: Part) -> int:
        """On which side of the factual all of a part lies: 1 above, -1 below, 0 if neither."""
        return 0 if self.labels else (part[0] > self.own) - (part[1] < self.own)

    def sides(self, part: Part, test: Any) -> tuple[Part, Part]:
        """Lemma 2: what of a part goes left, and what right."""
        if self.labels:
            return part & test, part - test
        if None in part or part[1] <= test:
            return part, (None, None)
        if part[0] > test:
            return (None, None), part
        if test not in self.known:
            after = Q(math.nextafter(float(test), math.inf))
            self.known[test] = self.near(test, -1), self.near(after, 1)
        before, above = self.known[test]
        return (part[0], before), (above, part[1])


class Question:
    """Factual, target, distance and constraints; what they ask of forms.

    Attributes:
        target_rows: Rows that hold exactly where the outcome is the target, with the slack allowed
            for.
        truths: Constraints, as ``(kind, parts)``.
        rows: All rows that hold at every counterfactual.
        region: Where counterfactuals must lie, or ``None``.
    """

    def __init__(self, features: Any, program: Any, given: Any, clock: Clock | None = None) -> None:
        names, limited = "factual target slack norms constraints", "region" in given
        own, target, slack, norms, rules, *region = members(
            given, names + " region" * limited, "question"
        )
        pairs = zip(listed(features, "features"), listed(own, "question.factual"), strict=True)
        self.clock = clock or Clock(math.inf)
        self.features = [
            Feature(f, v, f"features[{j}]", self.clock) for j, (f, v) in enumerate(pairs)
        ]
        need(len({f.name for f in self.features}) == len(self.features), "features: a name twice")
        for feature in self.features:
            feature.kept = KEPT // len(self.features)
        self.program = Program(program, self.features, self.clock)
        self.norms = n = [number(part) for part in members(norms, "l0 l1 linf l2", "norms")]
        mixed = n[3] == 0 or (n[1] == n[2] == 0)
        need(min(n) >= 0 and sum(n) == 1 and mixed, "question.norms: no distance")
        self.squared = n[3] == 1
        weights = [feature.weight for feature in self.features]
        every, heaviest = total(weights), max(weights)
        need(every > 0, "features: all weights are 0")
        self.shares = [weight / every for weight in weights]
        self.peaks = [weight / heaviest for weight in weights]
        self.tops = [n[2] * peak for peak in self.peaks]
        self.slack = number(slack)
        self.stated = self.rows_of_target(target)
        sizes = [sum(map(size, form.values())) for form in self.program.outputs]
        copied = sum(sizes[r] for row in self.stated for r in row[0])
        need(copied <= MEMORY // 8, "limits: too many labels of too many terms")
        self.target_rows = [
            (plus(self._score(*row), {CONSTANT: self.slack}), row[2]) for row in self.stated
        ]
        given = enumerate(listed(rules, "question.constraints"))
        self.truths = [self._truth(one, DEPTH, f"question.constraints[{i}]") for i, one in given]
        self.rows = self.target_rows + [row for truth in self.truths for row in rows_of(truth)]
        self.region = Region(region[0], self, features) if limited else None

    def point(self, given: Any, where: str = "witness") -> Point:
        """A point as it is written: numbers, and places of labels."""
        pairs = zip(self.features, listed(given, where), strict=True)
        return [f.labels.index(key(v)) if f.labels else number(v) for f, v in pairs]

    def rows_of_target(self, target: Any) -> list[tuple[dict[int, Q], Q, bool]]:
        """Of each row of a target: factors of outputs, a constant, and whether it is strict."""
        labels, count = self.program.labels, len(self.program.outputs)
        if labels is None:
            ends = members(target, "lower upper", "question.target")
            low, high = (None if end is None else number(end) for end in ends)
            found = [] if low is None else [({0: ONE}, -low, False)]
            found += [] if high is None else [({0: -ONE}, high, False)]
            both = low is None or high is None or low <= high
            need(found and both, "question.target: everything, or nothing, is the target")
            return found
        plain = isinstance(target, dict) and set(target) == {"label"}
        names = "label" if plain else "label margin least"
        label, margin, least = [*members(target, names, "question.target"), "0", None][:3]
        need(key(label) in labels, "question.target: no label of the program")
        self.place = own = labels.index(key(label))
        self.margin, self.least = number(margin), None if least is None else number(least)
        need(self.margin >= 0, "question.target: margin")
        rows = [({own: ONE, r: -ONE}, -self.margin, r < own) for r in range(count) if r != own]
        return rows if self.least is None else [*rows, ({own: ONE}, -self.least, False)]

    def _score(self, factors: dict[int, Q], constant: Q, strict: bool = False) -> Form:
        score = {CONSTANT: constant}
        for r, factor in factors.items():
            score = plus(score, self.program.outputs[r], factor)
        return score

    def _truth(self, given: Any, depth: int, where: str) -> Any:
        """``(kind, parts)``: forms that are at least (ge) or above (gt) 0, and what joins them."""
        kind, *parts = listed(given, where)
        one = kind in ("not", "ge", "gt") and len(parts) == 1
        need(depth and (one or kind in ("and", "or")), f"{where}: no condition, or too deep")
        if kind in ("ge", "gt"):
            return kind, [self.program.form(parts[0], where)]
        return kind, [self._truth(part, depth - 1, where) for part in parts]

    def verdict(self, truth: Any, span: Callable[[Form], tuple[Q, Q]]) -> tuple[bool, bool]:
        """Lemma 5: whether a condition is true all over a part, and whether it may be anywhere."""
        kind, of = truth
        if kind in ("ge", "gt"):
            low, high = span(of[0])
            return not misses(low, kind == "gt"), not misses(high, kind == "gt")
        found = [self.verdict(part, span) for part in of]
        if kind == "not":
            return not found[0][1], not found[0][0]
        over = all if kind == "and" else any
        return over(sure for sure, _ in found), over(perhaps for _, perhaps in found)

    # -- distance ---------------------------------------------------------------------------------

    def cost(self, j: int, d: Q) -> Q:
        """What a change d of feature j adds to the distance, without linf."""
        l0, l1, linf, l2 = self.norms
        return ZERO if linf == 1 else self.shares[j] * (l0 * (d > 0) + d * (l1 + l2 * d))

    def distance(self, deltas: Sequence[Q]) -> Q:
        """The distance for changes δ_j; of l2, its square."""
        top = max(map(Q.__mul__, self.tops, deltas)) if self.norms[2] else ZERO
        return top + total(map(self.cost, range(len(deltas)), deltas))

    def reach(self, j: int, radius: Q) -> Q | None:
        """Lemma 3: no δ_j within a radius is larger than this; None if there is no limit."""
        l0, l1, _, l2 = self.norms
        left = radius - l0 * self.shares[j]
        if left < 0:
            return ZERO
        slope = l1 * self.shares[j] + self.tops[j]
        if l2 and self.shares[j]:
            return Q(math.isqrt(math.ceil(left / self.shares[j] / l2 * 2**200)) + 1, 2**100)
        return left / slope if slope else None

    def check(self, point: Point) -> tuple[Q, bool]:
        """A counterfactual's distance, and whether it needs the slack; rejects what is none."""
        for feature, value in zip(self.features, point, strict=True):
            fits = value in feature.all if feature.labels else feature.near(value, 1) == value
            need(fits, f"witness: {feature.name!a} may not be that")

        def span(form: Form) -> tuple[Q, Q]:
            return self.program.between([form], point)[0]

        sure, perhaps = self.verdict(("and", self.truths), span)
        need(perhaps, "witness: it breaks a constraint")
        need(sure, "limits: a witness too near a constraint's edge")
        found = self.program.between([form for form, _ in self.target_rows], point)
        values, most = [*zip(*found, strict=True)] or [(), ()]
        strict = [strict for _, strict in self.target_rows]
        need(not any(map(misses, most, strict)), "witness: it does not have the target outcome")
        need(not any(map(misses, values, strict)), "limits: a witness too near the target's edge")
        needed = any(map(misses, (small(value - self.slack) for value in values), strict))
        deltas = [f.delta(v) for f, v in zip(self.features, point, strict=True)]
        return self.distance(deltas), needed


def misses(value: Q, strict: bool) -> bool:
    """Whether a value is not at least 0 or, if strict, not above."""
    return value < 0 or (strict and value == 0)


def rows_of(truth: Any) -> list[Row]:
    """Rows that hold wherever something is true; those it cannot be put into are left out."""
    kind, parts = truth
    if kind == "and":
        return [row for part in parts for row in rows_of(part)]
    if kind == "not" and parts[0][0] in ("ge", "gt"):
        return [(plus({}, parts[0][1][0], -ONE), parts[0][0] == "ge")]
    return [(parts[0], kind == "gt")] if kind in ("ge", "gt") else []
