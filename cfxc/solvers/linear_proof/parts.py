"""Why nothing is nearer than a radius, for programs of linear forms and units ``max(z, 0)``.

A tree of splits covers the ball: on the sign of a unit's form, on a number, on a label.  A part of
it is closed by multipliers.  Let every g_i >= 0 be an inequality that holds for all points of the
part in the target, d a lower bound of the distance, r the radius.  Then with y, μ >= 0

    max over the part's ranges of  Σ_i y_i g_i(x) + μ (r - d(x))  <  0

(or <= 0 with μ > 0) shows that the part holds no such point nearer than r.  The inequalities, and
how they are named:

* ``("row", i)``: requirement i of the target or a constraint;
* ``("sign", k)``: the sign of unit k's form, where the part is a side of a split on it;
* ``("above", k)``: h >= z, and ``("chord", k)``: h <= u (z - l) / (u - l), of a unit h = max(z, 0)
  whose sign is open, l and u being the range of z over the part: doubles rounded outward, as is
  the slope, and the line raised until it lies above h at both ends;
* ``("peak", j)``: what d has of the largest change under linf: the maximum of the weighted δ_j is
  at least ``Σ_j y_j / (μ γ) * peak_j δ_j``, where the y_j sum to at most μ γ.

Ranges follow from the part by interval arithmetic in rationals, and from lemmas: bounds of units
over the whole ball, each with multipliers of its own (``± z <= max …`` as above).  Linear programs
only choose multipliers and splits; whatever they say is checked in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from ...compiler.additive import Additive, Requirement, constant, mixed
from ...compiler.pipeline import simplified
from ...compiler.units import HALF_ULP, SMALLEST, UnitReader, Units
from ...errors import UnsupportedError, VerificationError
from ...frontends.query import Query
from ...ir import Label, Program
from ...ir.interval import ceil_float, floor_float
from ..ball import shares_of, weights_of
from ..smt.encoding import Encoder

ZERO = Fraction(0)
Key = tuple[str, int]
Range = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Multipliers:
    """``y`` of inequalities by name, and ``budget``, the μ of the distance."""

    y: Mapping[Key, Fraction]
    budget: Fraction


@dataclass(frozen=True)
class Lemma:
    """``side * z <= bound`` for unit ``unit`` over all of the ball."""

    unit: int
    side: Literal[1, -1]
    bound: Fraction
    by: Multipliers


@dataclass(frozen=True)
class Branch:
    """A part in two: ``z <= 0`` and ``z >= 0`` of a unit, or ``x <= cut`` and ``x >= after``, or a
    label and the others; ``children`` in this order.
    """

    unit: int | None
    feature: str
    cut: Fraction | None
    after: Fraction | None
    label: Label
    children: tuple[int, int]


@dataclass(frozen=True)
class Part:
    """A part of the ball: ranges of numbers, labels by place, and signs of units."""

    ranges: Mapping[str, Range]
    labels: Mapping[str, frozenset[int]]
    signs: Mapping[int, int] = field(default_factory=dict)

    def within(self, name: str, low: Fraction, high: Fraction) -> Part:
        """The same with one number in another range."""
        return Part({**self.ranges, name: (low, high)}, self.labels, self.signs)

    def among(self, name: str, places: frozenset[int]) -> Part:
        """The same with other labels."""
        return Part(self.ranges, {**self.labels, name: places}, self.signs)

    def signed(self, unit: int, sign: int) -> Part:
        """The same with the sign of a unit known."""
        return Part(self.ranges, self.labels, {**self.signs, unit: sign})


class Ball:
    """A query within a radius as requirements, units and costs.

    Raises:
        UnsupportedError: the target is no conjunction of linear forms over units.
    """

    def __init__(self, query: Query, radius: Fraction) -> None:
        assert query.distance.norms is not None
        self.query, self.radius, self.norms = query, radius, query.distance.norms
        self.units = Units()
        program, _ = simplified(query.target_program)
        self.rows = self._read(program, "in_target")
        for _, constraint in query.constraints:
            try:
                self.rows += self._read(constraint, "holds")
            except UnsupportedError:
                continue  # what is left out makes the claim stronger
        self.shares, self.peaks = shares_of(tuple(weights_of(query)))
        self.root = self._root()

    def _read(self, program: Program, output: str) -> list[Requirement]:
        """What an output of a program over features, and ``factual.…``, asks for."""
        numbers, labels = declared(self.query)
        reader = UnitReader(program, numbers, labels, self.units)
        return reader.conjunction(program.output(output))

    def _root(self) -> Part:
        ranges, labels = {}, {}
        windows = Encoder(self.query).windows(self.radius)
        for domain, (low, high, limit) in zip(self.query.domains, windows, strict=True):
            if domain.is_symbolic:
                kept = (x for x in domain.allowed if limit is None or domain.delta(x) <= limit)
                labels[domain.name] = frozenset(domain.labels.position(label) for label in kept)
            else:
                least, most = domain.ceil(low), domain.floor(high)
                assert least is not None  # the factual's own value is within the radius
                assert most is not None
                ranges[domain.name] = (least, most)
        return Part(ranges, labels)

    # -- what a part's points cost, and reach -----------------------------------------------------

    def cost(self, j: int, delta: Fraction) -> Fraction:
        """What a change δ_j adds to the distance, without linf."""
        norms = self.norms
        each = norms.l0 * (delta > 0) + delta * (norms.l1 + norms.l2 * delta)
        return self.shares[j] * each

    def paid(self, j: int, delta: Fraction, by: Multipliers) -> Fraction:
        """``μ d``'s share of feature j at a change δ_j."""
        peak = by.y.get(("peak", j), ZERO) * self.peaks[j]
        return by.budget * self.cost(j, delta) + peak * delta

    def best(self, j: int, factor: Fraction, by: Multipliers, part: Part) -> Fraction:
        """The largest ``factor * x`` less what it pays, of number j in its range."""
        domain = self.query.domains[j]
        low, high = part.ranges[domain.name]
        own, size = Fraction(domain.factual), domain.feature.range
        places = {low, high}
        if low < own < high:
            places.add(own)
        squares = 2 * by.budget * self.norms.l2 * self.shares[j]
        if squares and size:  # the parabola's vertex, on the side that the factor points to
            places.add(min(max(own + factor * size * size / squares, low), high))
        return max(factor * x - self.paid(j, domain.delta(x), by) for x in places)

    def spans(self, part: Part, lemmas: Mapping[tuple[int, int], Fraction]) -> Spans | None:
        """The ranges of all units over a part; ``None`` if a sign cannot be what it should."""
        return Spans.of(self, part, lemmas)

    def most(self, form: Additive, by: Multipliers, part: Part, spans: Spans) -> Fraction:
        """The largest ``form + Σ y g + μ (r - d)`` over a part's ranges, exact.

        Raises:
            VerificationError: the multipliers are none: negative, or the peaks' above μ γ.
        """
        parts = [(Fraction(1), form)]
        peaks = sum((y for (kind, _), y in by.y.items() if kind == "peak"), ZERO)
        if min([by.budget, *by.y.values()]) < 0 or peaks > by.budget * self.norms.linf:
            raise VerificationError("multipliers are negative, or share more than the maximum has")
        for (kind, k), y in by.y.items():
            parts += [(y * f, g) for f, g in self._inequality(kind, k, part, spans)]
        total = mixed(parts)
        terms, value = dict(total.terms), total.constant + by.budget * self.radius
        for k in range(len(self.units.forms) - 1, -1, -1):
            factor = terms.pop(("unit", k), ZERO)
            low, high = spans.units[k]
            if not factor or high <= 0:
                continue
            if low >= 0:
                value += factor * self.units.forms[k].constant
                for key, own in self.units.forms[k].terms.items():
                    terms[key] = terms.get(key, ZERO) + factor * own
            else:
                value += max(factor * high, ZERO)
        for k, ends in enumerate(spans.steps):
            value += max(terms.get(("step", k), ZERO) * end for end in ends)
        for k, size in enumerate(spans.noise):
            value += abs(terms.get(("noise", k), ZERO)) * size
        for j, domain in enumerate(self.query.domains):
            name = domain.name
            if not domain.is_symbolic:
                value += self.best(j, terms.get(("x", name), ZERO), by, part)
                continue
            labels = domain.labels
            value += max(
                terms.get(("is", name, i), ZERO) - self.paid(j, domain.delta(labels[i]), by)
                for i in part.labels[name]
            )
        return value

    def closes(self, by: Multipliers, part: Part, spans: Spans) -> bool:
        """Whether multipliers show that a part holds nothing nearer than the radius."""
        most = self.most(constant(0), by, part, spans)
        return most < 0 or (most == 0 and by.budget > 0)

    def _inequality(
        self, kind: str, k: int, part: Part, spans: Spans
    ) -> Iterator[tuple[Fraction, Additive]]:
        """The parts of g >= 0."""
        if kind == "peak":
            return
        if kind == "row":
            yield Fraction(1), self.rows[k].form
            return
        z, one = self.units.forms[k], Fraction(1)
        h = Additive(ZERO, {("unit", k): one})
        if kind == "sign":
            yield Fraction(part.signs[k]), z
            return
        low, high = spans.units[k]
        assert low < 0 < high  # an open sign
        if kind == "above":
            yield from ((one, h), (-one, z))
        else:
            steep = Fraction(float(high / (high - low)))
            offset = max(-steep * low, high - steep * high)
            yield from ((steep, z), (offset, constant(1)), (-one, h))


def declared(query: Query) -> tuple[dict[str, list[Additive]], dict[str, str | int]]:
    """Features, and ``factual.…``, as a ``UnitReader`` reads them: forms, and labels by place."""
    numbers: dict[str, list[Additive]] = {}
    labels: dict[str, str | int] = {}
    for domain in query.domains:
        name, own = domain.name, domain.factual
        if domain.is_symbolic:
            labels[name] = name
            labels[f"factual.{name}"] = domain.labels.position(own)
        else:
            numbers[name] = [Additive(ZERO, {("x", name): Fraction(1)})]
            numbers[f"factual.{name}"] = [constant(own)]
    return numbers, labels


@dataclass(frozen=True)
class Spans:
    """Ranges over a part: of units' forms, and of steps; the largest error of each rounding."""

    units: list[Range]
    noise: list[Fraction]
    steps: list[tuple[int, int]]

    @classmethod
    def of(cls, ball: Ball, part: Part, lemmas: Mapping[tuple[int, int], Fraction]) -> Spans | None:
        """Interval arithmetic, unit by unit, cut by lemmas and signs."""
        spans = cls([], [], [])
        for step in ball.units.steps:
            low, high = spans.range(ball, step.form, part)
            certain = low > 0 or (low == 0 and not step.strict)
            possible = high > 0 or (high == 0 and not step.strict)
            spans.steps.append((int(certain), int(possible)))
        for k, form in enumerate(ball.units.forms):
            low, high = spans.range(ball, form, part)
            high = min(high, lemmas.get((k, 1), high))
            low = max(low, -lemmas.get((k, -1), -low))
            sign = part.signs.get(k, 0)
            low = max(low, ZERO) if sign > 0 else low
            high = min(high, ZERO) if sign < 0 else high
            if low > high:
                return None
            spans.units.append((Fraction(floor_float(low)), Fraction(ceil_float(high))))
        for k in range(len(ball.units.rounded)):
            spans._error(ball, k, part)
        return spans

    def range(self, ball: Ball, form: Additive, part: Part) -> Range:
        """The least and largest value of a form over earlier units."""
        low = high = form.constant
        grouped: dict[str, dict[int, Fraction]] = {}
        for key, factor in form.terms.items():
            if key[0] == "is":
                grouped.setdefault(key[1], {})[key[2]] = factor
                continue
            if key[0] == "x":
                least, most = part.ranges[key[1]]
            elif key[0] == "unit":
                least, most = (max(end, ZERO) for end in self.units[key[1]])
            elif key[0] == "step":
                least, most = map(Fraction, self.steps[key[1]])
            else:
                most = self._error(ball, key[1], part)
                least = -most
            ends = (factor * least, factor * most)
            low, high = low + min(ends), high + max(ends)
        for name, factors in grouped.items():
            found = [factors.get(i, ZERO) for i in part.labels[name]]
            low, high = low + min(found), high + max(found)
        return low, high

    def _error(self, ball: Ball, k: int, part: Part) -> Fraction:
        """How far rounding k can move its form."""
        while len(self.noise) <= k:
            ends = self.range(ball, ball.units.rounded[len(self.noise)], part)
            self.noise.append(HALF_ULP * max(map(abs, ends)) + SMALLEST)
        return self.noise[k]


@dataclass(frozen=True)
class LinearTree:
    """A proof that no counterfactual is nearer than ``radius``: node 0 is the ball."""

    query: Query
    radius: Fraction
    lemmas: tuple[Lemma, ...]
    nodes: tuple[Branch | Multipliers, ...]


__all__ = ["Ball", "Branch", "Key", "Lemma", "LinearTree", "Multipliers", "Part", "Spans"]
