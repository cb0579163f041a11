r"""Rows of a feature space that a plan may hold, through the exact mixed-integer engine.

A row may be in a plan if it is admissible for the instance (types, ranges, actions, constraints,
causes), the original model gives it the target outcome, and μ̂ᵀx ≥ ε.  Two questions are asked:

- the row nearest to any point a, in the Euclidean distance of vectors.  The square of a category's
  part is a table over its labels, exactly; that of a number lies above its tangents, and where a
  row found is farther than they say, tangents are added there.  So what they say is a lower bound.
- the row within Δ of x_j with the largest r(x) = μ̂ᵀx/|Σ̂^½x|.  r is larger than r₀ somewhere iff
  max μ̂ᵀx - r₀|Σ̂^½x| > 0 (Dinkelbach 1967); the norm lies above its tangents gᵀx, g = Σ̂x̄/|Σ̂^½x̄|.
  The best row met becomes the next r₀, and every row met gives a tangent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...answers.original import Original
from ...arrays import Floats
from ...ir import Builder, Literal, Operand, Program, ops
from ...question.criteria import Constraint, MaxChanges
from ...question.distances import Distance
from ...question.hull import Combining, vector_of
from ...question.query import Query
from ...solvers import mio
from ...solvers.base import Limits, Outcome, Point
from ...stopping import INTERRUPTED, now
from .encoding import Encoding

ACCURACY = Fraction(1, 10**5)  # of squared distances, and of μ̂ᵀx - r₀|Σ̂^½x|
TANGENTS = 8  # of each square, before any row is known
ROUNDS = 25


@dataclass(frozen=True)
class Found:
    """A row of a plan: its exact values and its vector, shape (d,)."""

    point: Point
    vector: Floats


class NoRowError(Exception):
    """No admissible row is left that a plan could hold; who proved it."""


class OutOfTimeError(Exception):
    """The time is up before a row was found, or proved not to be."""


@dataclass
class Admissible:
    """The rows that an instance's plan may hold.

    Attributes:
        query: Of the instance: target, constraints, and μ̂ᵀx ≥ ε among these; its distance is not
            used.
        original: The original model, which every row must flip.
        deadline: As of ``cfxc.stopping.now``.
        apart: By what share of its range a number must differ from another row's, unless another
            feature does.
    """

    query: Query
    original: Original
    encoding: Encoding
    deadline: float
    rng: np.random.Generator
    apart: Fraction = Fraction(0)

    def found(self, point: Point) -> Found:
        """A point with its vector."""
        return Found(point, self.encoding.vector(point))

    def allows(self, point: Point) -> bool:
        """Whether the plan may hold this row: exact program, rules, and the original model."""
        query = self.query
        inside = not query.violated(point) and query.in_target(point)
        return inside and self.original.flips(point)

    def nearest(self, anchor: Floats, taken: Sequence[Point]) -> Found:
        """The row nearest to a vector, other than those taken.

        Raises:
            NoRowError, OutOfTimeError: there is none; the time is up.
        """
        squares = _Squares(self.encoding, self.query, anchor)
        best: Found | None = None
        least, before = np.inf, Fraction(-1)
        for _ in range(ROUNDS):
            outcome = self._ask(squares.distance(), taken, (), best)
            if outcome is None:
                break
            assert outcome.best is not None
            found = self.found(outcome.best.point)
            away = float(squares.exact(found.point))
            if away < least:
                best, least = found, away
            known = least - float(outcome.lower) <= 2 * ACCURACY
            if known or outcome.lower - before <= ACCURACY or not squares.touch(found.point):
                break
            before = outcome.lower
        if best is None:
            raise OutOfTimeError
        return best

    def steepest(
        self, start: Found, mean: Floats, covariance: Floats, limit: float, taken: Sequence[Point]
    ) -> Found:
        """The row within ``limit`` of a row with the largest r(x); itself if there is no better.

        There is none either where the row itself is not apart from those taken, and no other is.
        """
        ball = _Squares(self.encoding, self.query, start.vector)
        within, best, ratio = Fraction(limit) ** 2, start, _ratio(start.vector, mean, covariance)
        slopes = [_slope(start.vector, covariance)]
        for _ in range(ROUNDS):
            goal = _gain(self.encoding, mean, ratio, slopes, self.query)
            near = (Constraint(f"within {limit:g}", ball.at_most(within)),)
            try:
                outcome = self._ask(goal, taken, near, best)
            except NoRowError:
                break
            if outcome is None:
                break
            assert outcome.best is not None
            found = self.found(outcome.best.point)
            inside = ball.exact(found.point) <= within
            here = _ratio(found.vector, mean, covariance)
            touched = ball.touch(found.point) if not inside else False
            if inside and here > ratio * (1 + 1e-9):
                best, ratio = found, here
            elif not touched and _says(slopes[-1], found.vector, covariance):
                break  # no new tangent: the gain is what it is
            slopes.append(_slope(found.vector, covariance))
        return best

    def _ask(
        self,
        distance: Distance,
        taken: Sequence[Point],
        constraints: tuple[Constraint, ...],
        seed: Found | None,
    ) -> Outcome | None:
        """One search; ``None`` if the time is up before anything was found."""
        left = self.deadline - now()
        if left <= 0:
            return None
        query = replace(
            self.query, distance=distance, constraints=(*self.query.constraints, *constraints)
        )
        for point in taken:
            query = self._other_than(query, point)
        outcome = mio.search(
            query, self.original.flips,
            Limits(ACCURACY, left, () if seed is None else (seed.point,), self.rng),
            regions=False,  # what is linear but for maxima solvers close faster
        )  # fmt: skip
        if outcome.reason == INTERRUPTED:
            raise KeyboardInterrupt
        if outcome.infeasible:
            raise NoRowError(", ".join(outcome.proved_by))
        return None if outcome.best is None else outcome

    def _other_than(self, query: Query, point: Point) -> Query:
        """The same, with a vector other than that of a point, and apart from it."""
        names = {entry.feature for entry in self.encoding.entries}
        seen = tuple(domain for domain in query.domains if domain.name in names)
        narrowed = replace(query, domains=seen).without(point, self.apart)
        return replace(narrowed, domains=query.domains)


def at_rest(query: Query, encoding: Encoding) -> Query:
    """The same, where what neither scores nor constraints read keeps the instance's value."""
    read = {entry.feature for entry in encoding.entries}
    for each in query.constraints:
        if not isinstance(each.by, MaxChanges):
            read |= {name for name, _ in each.program.inputs}
    return query.keeping(domain.name for domain in query.domains if domain.name not in read)


class _Squares:
    """|x - a|² of rows, from below: tables of categories, tangents of numbers."""

    def __init__(self, encoding: Encoding, query: Query, anchor: Floats) -> None:
        self.encoding, self.query = encoding, query
        self.anchor = [Fraction(value) for value in anchor.tolist()]
        low, high = encoding.box(query.domains)
        self.places: list[set[Fraction]] = []
        for entry, a, least, most in zip(encoding.entries, anchor, low, high, strict=False):
            ends = [] if entry.table else np.linspace(least - a, most - a, TANGENTS).tolist()
            self.places.append({Fraction(y) for y in ends})

    def exact(self, point: Point) -> Fraction:
        """|x - a|²."""
        return sum((away**2 for away in self._away(point)), Fraction(0))

    def _away(self, point: Point) -> list[Fraction]:
        x = vector_of(self.encoding.entries, self.encoding.space, point)
        return [z - a for z, a in zip(x, self.anchor, strict=False)]

    def touch(self, point: Point) -> bool:
        """Add tangents where a row is; whether some of them are new."""
        new = False
        away = self._away(point)
        for entry, at, places in zip(self.encoding.entries, away, self.places, strict=True):
            if not entry.table and all(abs(at - other) > Fraction(1, 10**7) for other in places):
                places.add(at)
                new = True
        return new

    def distance(self) -> Distance:
        """The lower bound on |x - a|², to minimise."""
        writing = _Writing(self.encoding, "x.")
        return _to_minimise("squared distance of vectors", writing, self._total(writing))

    def at_most(self, square: Fraction) -> Program:
        """Features → ``holds``: the lower bound is at most ``square``."""
        writing = _Writing(self.encoding)
        return writing.build(holds=writing.let(ops.Le(self._total(writing), Literal(square))))

    def _total(self, writing: _Writing) -> Operand:
        parts: list[Operand] = []
        tables: list[tuple[str, list[Fraction]]] = []
        for entry, a, places in zip(self.encoding.entries, self.anchor, self.places, strict=False):
            if entry.table:
                tables.append((entry.feature, [(z - a) ** 2 for z in entry.table]))
                continue
            lines = []
            for t in sorted(places):  # y² >= 2ty - t², y = (v - offset)·scale - a
                scaled = writing.times(entry.feature, 2 * t * entry.scale)
                shift = -2 * t * (entry.offset * entry.scale + a) - t * t
                lines.append(writing.let(ops.Add(scaled, Literal(shift))))
            parts.append(writing.positive_part(lines))
        return writing.total([*parts, *writing.looked_up(tables)])


def linear_program(encoding: Encoding, weights: Floats, least: float) -> Program:
    """Features → ``holds``: weightsᵀx ≥ least, exactly in the features."""
    writing = _Writing(encoding)
    total = writing.linear(weights)
    return writing.build(holds=writing.let(ops.Ge(total, Literal(Fraction(least)))))


def _gain(
    encoding: Encoding, mean: Floats, ratio: float, slopes: Sequence[Floats], query: Query
) -> Distance:
    """M - (μ̂ᵀx - r₀ max(0, gᵀx)), to minimise; M the largest μ̂ᵀx, so that it is at least 0."""
    writing = _Writing(encoding, "x.")
    low, high = encoding.box(query.domains)
    most = float(np.where(mean > 0, high, low) @ mean) + 1.0
    worst = writing.positive_part([writing.linear(ratio * slope) for slope in slopes])
    gone = writing.linear(np.append(-mean[:-1], most - mean[-1]))
    result = writing.let(ops.Add(worst, gone))
    return _to_minimise("what is missing of the radius", writing, result)


def _to_minimise(name: str, builder: Builder, result: Operand) -> Distance:
    program = builder.build(result=result)
    return Distance(name, program, None, str(program), is_absolute=True)


def _slope(x: Floats, covariance: Floats) -> Floats:
    """g with gᵀy ≤ |Σ̂^½y| for all y, equal at x."""
    return np.asarray(covariance @ x / np.sqrt(max(float(x @ covariance @ x), 1e-300)))


def _says(slope: Floats, x: Floats, covariance: Floats) -> bool:
    """Whether a tangent is as high at x as what it is a tangent of."""
    return bool(np.sqrt(float(x @ covariance @ x)) - float(slope @ x) <= float(ACCURACY))


def _ratio(x: Floats, mean: Floats, covariance: Floats) -> float:
    return float(mean @ x) / float(np.sqrt(max(float(x @ covariance @ x), 1e-300)))


class _Writing(Combining):
    """A program over the features that an encoding's entries stand for."""

    def __init__(self, encoding: Encoding, record: str = "") -> None:
        super().__init__("plan", encoding.space, encoding.entries, record)

    def linear(self, weights: Floats) -> Operand:
        """weightsᵀx over the features, exactly."""
        *own, constant = map(Fraction, weights.tolist())
        return self.combined(own, constant)

    def positive_part(self, lines: Sequence[Operand]) -> str:
        """The largest of some numbers and 0."""
        return self.let(ops.ReduceMax(self.let(ops.Concat((Literal(Fraction(0)), *lines)))))
