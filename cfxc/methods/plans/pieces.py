r"""The affine piece of a program at a point, in exact rationals, and the region where it holds.

A program of affine maps, kinks (ReLU, maxima, clips, tables, comparisons, trees) is affine on
pieces.  Run at a point x̂, each kink takes a side; while every argument stays on its side, all
values are affine in the coordinates.  So the forms that :class:`Reader` carries along are exact on
the region of those inequalities, whatever x is in it: ``form(x) = value(x)``.  Only what the output
needs is read, and of a Boolean only what settles it, so that no side is fixed in vain.

Smooth functions and products have no such region.  Their tangent is taken instead, which makes the
forms exact at x̂ alone, and right to first order near it; ``Piece.is_exact`` tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from ...arrays import Array, Floats
from ...compiler.linear_reader import LINEAR, Entries, Form, Reader, spread
from ...errors import UnsupportedError
from ...ir import Literal, Operand, Program, ops
from ...ir.evaluator import run
from ...ir.linear import ONE, Inequality, LinearForm
from ...question.hull import Coordinate, column_of, coordinates_of, indicators_of, vector_of
from ...space import FeatureSpace

MINUS = Fraction(-1)


@dataclass(frozen=True)
class Coordinates:
    """A feature space as numbers z_1 … z_d, over which pieces are affine.

    ``x_j / R_j`` for each feature of numbers, of range R_j > 0; for each label of a category or a
    labelled order but the first, whether it is the feature's.

    Attributes:
        names: The feature, or ``feature = label``.
        parts: What each is of its feature.
        place: Feature → index of its first coordinate.
    """

    space: FeatureSpace
    names: tuple[str, ...]
    parts: tuple[Coordinate, ...]
    place: Mapping[str, int]

    @classmethod
    def of(cls, space: FeatureSpace) -> Coordinates:
        named, place = list[tuple[str, Coordinate]](), dict[str, int]()
        for feature in space:
            place[feature.name] = len(named)
            named += indicators_of(feature) if feature.is_symbolic else coordinates_of(feature)
        return cls(space, tuple(name for name, _ in named), tuple(z for _, z in named), place)

    def at(self, point: Mapping[str, Any]) -> tuple[Fraction, ...]:
        """z of a point (feature → exact value)."""
        return vector_of(self.parts, self.space, point)

    def rows(self, columns: Mapping[str, Array]) -> Floats:
        """z of rows, columns of numbers and codes by feature; shape (n, d)."""
        found = [column_of(each, columns[each.feature]) for each in self.parts]
        count = len(next(iter(columns.values())))
        return np.array(found, dtype=np.float64).T.reshape(count, len(found))

    def number(self, name: str, point: Mapping[str, Any]) -> Form:
        """A numeric feature as a form."""
        feature = self.space[name]
        if not feature.range:
            return LinearForm.of(point[name])
        return feature.range * LinearForm.one(self.place[name])

    def table(self, name: str, values: Sequence[Fraction]) -> Form:
        """What a label is worth, one value each, as a form."""
        first, start = self.place[name], values[0]
        terms = {first + i: value - start for i, value in enumerate(values[1:])}
        return LinearForm({i: factor for i, factor in terms.items() if factor}, start)


@dataclass(frozen=True)
class Piece:
    """How far a target is reached, as a form that is exact on a region.

    In it, a point is in the target iff ``form >= 0`` (``> 0`` if ``strict``).

    Attributes:
        region: Inequalities that the point meets.
        sides: Kinks that the point lies on, and the side that was taken there.
        is_exact: Whether no tangent was taken: else the form is exact at the point alone.
    """

    form: Form
    strict: bool
    region: tuple[Inequality, ...]
    sides: tuple[str, ...]
    is_exact: bool


def piece_at(target: Program, space: FeatureSpace, point: Mapping[str, Any]) -> Piece:
    """The piece of a target program (features → ``in_target``) at a point.

    Of several requirements (a lead over each rival, both ends of a range) it is the one that is
    nearest to failing; that it stays so is part of the region.

    Raises:
        UnsupportedError: no comparison of numbers decides, or an op is not read.
    """
    reader = PieceReader(target, Coordinates.of(space), point)
    leads = reader.conjunction(target.output("in_target"))
    values = [lead.form.at(reader.z) for lead in leads]
    first = min(range(len(leads)), key=lambda i: (values[i], not leads[i].strict))
    chosen = leads[first]
    for i, lead in enumerate(leads):
        if i != first:
            ahead = lead.form - chosen.form
            reader.keep(ahead, strict=lead.strict and not chosen.strict)
            if values[i] == values[first]:
                reader.sides.append(f"requirements {first} and {i} are met alike: {first} is taken")
    return Piece(
        chosen.form, chosen.strict, reader.region, tuple(reader.sides), not reader.tangents
    )


class PieceReader(Reader):
    """Reads values at a point as forms, and collects the region where they hold."""

    def __init__(
        self, program: Program, coordinates: Coordinates, point: Mapping[str, Any]
    ) -> None:
        super().__init__(program)
        self.coordinates, self.z = coordinates, coordinates.at(point)
        self.values: dict[str, Any] = program.arguments(point)
        self.features = {name for name, sort in program.inputs if sort.labels}
        self.given = {
            name: [coordinates.number(name, point)]
            for name, sort in program.inputs
            if not sort.labels
        }
        self.sides: list[str] = []
        self.tangents = False
        self._rows: dict[tuple[Any, ...], Inequality] = {}
        run(program.body, self.values)

    @property
    def region(self) -> tuple[Inequality, ...]:
        """The inequalities so far, the strictest of each direction."""
        return tuple(self._rows.values())

    def conjunction(self, operand: Operand) -> list[Inequality]:
        """Comparisons that all must hold; of other Booleans whether they are 1."""
        op = self.program.definition(operand)
        known = ops.And | ops.Le | ops.Lt | ops.Ge | ops.Gt
        if isinstance(operand, Literal) or isinstance(op, known):
            return super().conjunction(operand)
        raise UnsupportedError(
            "no score is known to decide, so none is affine near a row",
            remedy="fit a surrogate: cfxc.methods.plans.surrogate",
        )

    def value(self, operand: Operand) -> Any:
        """What an operand is at the point."""
        return operand.value if isinstance(operand, Literal) else self.values[operand]

    def numbers(self, operand: Operand) -> list[Fraction]:
        """What a number or vector is at the point, flat."""
        return [Fraction(v) for v in np.ravel(np.asarray(self.value(operand), dtype=object))]

    def both(self, op: Any) -> Iterator[tuple[Form, Form, Fraction, Fraction]]:
        """Entries of both operands of an op, and what they are at the point."""
        x, y = self.entries(op.x), self.entries(op.y)
        u, v = self.numbers(op.x), self.numbers(op.y)
        size = max(len(x), len(y))
        return zip(*(spread(each, size) for each in (x, y, u, v)), strict=True)

    def keep(self, form: Form, *, strict: bool) -> None:
        """Restrict the region to ``form >= 0`` (``> 0``), which the point meets."""
        if not form.terms:
            return
        lead = abs(form.terms[min(form.terms)])
        made = Inequality(1 / lead * form, strict)
        key = tuple(sorted(made.form.terms.items()))
        old = self._rows.get(key)
        worth = made.form.constant, not strict
        if old is None or worth < (old.form.constant, not old.strict):
            self._rows[key] = made

    def side(self, form: Form, value: Fraction, name: str, closed: int) -> bool:
        """Whether ``form`` is above 0 at the point, where it is ``value``; the region keeps it so.

        At 0 it counts as above if ``closed`` > 0.  ``closed`` = 0: the pieces on both sides meet
        there, so 0 belongs to either; it counts as below.
        """
        above = value > 0 or (closed > 0 and value == 0)
        self.keep(form if above else -form, strict=bool(closed) and above != (closed > 0))
        if not value and form.terms:
            self.sides.append(f"{name} is at 0: the side {'>=' if above else '<='} 0 is taken")
        return above

    def larger(self, x: Form, y: Form, gap: Fraction, name: str) -> Form:
        """The larger of two forms that differ by ``gap = x - y`` at the point."""
        return x if self.side(x - y, gap, name, 0) else y


def _each(function: Callable[[PieceReader, Form, Fraction, Any, str], Form]) -> Any:
    """A rule that goes entry by entry: form and value at the point."""

    def rule(reader: Any, name: str, op: Any) -> Entries:
        pairs = zip(reader.entries(op.x), reader.numbers(op.x), strict=True)
        return [function(reader, x, v, op, f"{name}[{i}]") for i, (x, v) in enumerate(pairs)]

    return rule


def _piecewise(
    reader: PieceReader, x: Form, v: Fraction, op: ops.PiecewiseLinear, name: str
) -> Form:
    """The line of the piece where the point is."""
    places, slopes, intercepts = op.hinges().lines
    piece = 0
    while piece < len(places) and reader.side(x - places[piece], v - places[piece], name, 0):
        piece += 1
    return slopes[piece] * x + intercepts[piece]


def _smooth(reader: PieceReader, x: Form, v: Fraction, op: Any, name: str) -> Form:
    """The tangent."""
    kind = type(op)
    reader.tangents |= bool(x.terms)
    return LinearForm.sum([(kind.slope(v), x - v)], kind.function(v))


def _softmax(reader: Any, name: str, op: ops.Softmax) -> Entries:
    shares, x = reader.numbers(name), reader.entries(op.x)
    moves = [form - v for form, v in zip(x, reader.numbers(op.x), strict=True)]
    reader.tangents |= any(form.terms for form in x)
    mean = LinearForm.sum(zip(shares, moves, strict=True))
    return [
        LinearForm.sum([(p, move), (-p, mean)], p) for p, move in zip(shares, moves, strict=True)
    ]  # fmt: skip


def _product(reader: Any, name: str, op: ops.Mul | ops.Div) -> Entries:
    found = []
    for a, b, p, q in reader.both(op):
        if isinstance(op, ops.Div):  # p/q + (a - p)/q - (b - q) p/q²
            reader.tangents |= bool(b.terms)
            found.append(LinearForm.sum([(1 / q, a), (-p / (q * q), b - q)]))
        else:  # p q + (a - p) q + (b - q) p
            reader.tangents |= bool(a.terms and b.terms)
            found.append(LinearForm.sum([(q, a), (p, b - q)]))
    return found


def _pairs(sign: int) -> Any:
    """Maximum (1) or minimum (-1) of two, entry by entry."""

    def rule(reader: Any, name: str, op: Any) -> Entries:
        s = Fraction(sign)
        return [
            s * reader.larger(s * a, s * b, s * (p - q), f"{name}[{i}]")
            for i, (a, b, p, q) in enumerate(reader.both(op))
        ]

    return rule


def _extreme(sign: int) -> Any:
    """Maximum (1) or minimum (-1) of a vector: the entry that it is at the point."""

    def rule(reader: Any, name: str, op: Any) -> Entries:
        x, v = reader.entries(op.x), [sign * value for value in reader.numbers(op.x)]
        top = v.index(max(v))
        for i, entry in enumerate(x):
            if i != top:
                gap = Fraction(sign) * (entry - x[top])
                reader.side(gap, v[i] - v[top], f"{name}: entry {i} less entry {top}", 0)
        return [x[top]]

    return rule


def _compare(reader: Any, name: str, op: Any) -> Entries:
    """Truth values of comparisons, which the region keeps."""
    found = []
    for i, (a, b, p, q) in enumerate(reader.both(op)):
        gap, less = a - b, isinstance(op, ops.Le | ops.Lt)
        where = f"{name}[{i}]"
        if isinstance(op, ops.Eq | ops.Ne):
            if p == q:
                reader.keep(gap, strict=False)
                reader.keep(-gap, strict=False)
            else:
                reader.keep((ONE if p > q else MINUS) * gap, strict=True)
            truth = (p == q) == isinstance(op, ops.Eq)
        else:  # of x <= y and x > y 0 belongs to the side below
            closed = -1 if isinstance(op, ops.Le | ops.Gt) else 1
            truth = reader.side(gap, p - q, where, closed) != less
        found.append(LinearForm.of(int(truth)))
    return found


def _is_label(reader: Any, name: str, op: ops.IsLabel) -> Entries:
    assert isinstance(op.x, str)  # no literal is a category
    if op.x not in reader.features:
        _settle(reader, op.x)
        return [LinearForm.of(int(reader.value(name)))]
    labels = reader.coordinates.space[op.x].label_tuple
    own = labels.position(op.label)
    return [reader.coordinates.table(op.x, [Fraction(i == own) for i in range(len(labels))])]


def _settle(reader: PieceReader, operand: str) -> None:
    """Keep a category that is no feature what it is at the point."""
    op = reader.definitions[operand]
    if isinstance(op, ops.Category):
        index = reader.entries(op.index)[0]
        at = index.at(reader.z)
        for sign in (ONE, MINUS):
            reader.keep(sign * (index - at), strict=False)
    elif isinstance(op, ops.Select):
        chosen = op.x if _truth(reader, op.condition) else op.y
        _keep_label(reader, chosen)
    else:
        _keep_label(reader, next(op.operands()))


def _keep_label(reader: PieceReader, operand: Operand) -> None:
    assert isinstance(operand, str)  # no literal is a category
    if operand in reader.features:
        (form,) = _is_label(reader, operand, ops.IsLabel(operand, reader.value(operand)))
        reader.keep(form - 1, strict=False)
    else:
        _settle(reader, operand)


def _lookup(reader: Any, name: str, op: ops.Lookup) -> Entries:
    assert isinstance(op.x, str)  # no literal is a category
    if op.x not in reader.features:
        _settle(reader, op.x)
        return [LinearForm.of(v) for v in reader.numbers(name)]
    table = op.table.exact().reshape(len(op.labels), -1)
    return [
        reader.coordinates.table(op.x, [Fraction(v) for v in column]) for column in table.T
    ]  # fmt: skip


def _truth(reader: PieceReader, operand: Operand) -> bool:
    """A scalar Boolean, which the region keeps."""
    return _truths(reader, operand)[0]


def _truths(reader: PieceReader, operand: Operand) -> list[bool]:
    """Booleans, which the region keeps: their forms are 0 or 1 everywhere."""
    found = []
    for form in reader.entries(operand):
        holds = form.at(reader.z) == 1
        kept = form - 1 if holds else -form
        reader.keep(kept, strict=False)
        found.append(holds)
    return found


def _connective(reader: Any, name: str, op: ops.And | ops.Or) -> Entries:
    """All of the parts, or the one that settles it."""
    settles = isinstance(op, ops.Or)
    parts = list(op.operands())
    if all(np.ndim(reader.value(part)) == 0 for part in parts):
        decided = [part for part in parts if bool(reader.value(part)) == settles]
        parts = decided[:1] or parts
    rows = [_truths(reader, part) for part in parts]
    size = max(map(len, rows))
    join, columns = (any if settles else all), zip(*(spread(r, size) for r in rows), strict=True)
    return [LinearForm.of(int(join(each))) for each in columns]


def _not(reader: Any, name: str, op: ops.Not) -> Entries:
    return [LinearForm.of(1) - form for form in reader.entries(op.x)]


def _select(reader: Any, name: str, op: ops.Select) -> Entries:
    size = max(prod(np.shape(reader.value(each))) for each in (op.condition, op.x, op.y))
    truths = spread(_truths(reader, op.condition), size)
    if len(set(truths)) == 1:  # only one of the two matters
        return spread(reader.entries(op.x if truths[0] else op.y), size)
    x, y = (spread(reader.entries(each), size) for each in (op.x, op.y))
    return [a if c else b for c, a, b in zip(truths, x, y, strict=True)]


def _argmax(reader: Any, name: str, op: ops.Argmax) -> Entries:
    x, v = reader.entries(op.x), reader.numbers(op.x)
    top = v.index(max(v))
    for i, entry in enumerate(x):
        if i != top:  # ties go to the lower index
            gap = x[top] - entry
            reader.side(
                gap, v[top] - v[i], f"{name}: entry {top} less entry {i}", 1 if top < i else -1
            )
    return [LinearForm.of(top)]


def _rounded(reader: PieceReader, x: Form, v: Fraction, op: Any, name: str) -> Form:
    if not x.terms:
        return LinearForm.of(op.evaluate(v))
    raise UnsupportedError(
        "the model computes with float32, so that its program is flat between their steps",
        remedy="fit a surrogate: cfxc.methods.plans.surrogate",
    )


def _trees(reader: Any, name: str, op: ops.TreeEnsemble) -> Entries:
    """Constants: the leaves, kept by the splits on the way to them."""
    x, v = reader.entries(op.x), reader.numbers(op.x)
    feature, threshold = op.feature.array, op.threshold.exact()
    for root in op.roots.array.tolist():
        node = root
        while (column := int(feature[node])) >= 0:
            cut = Fraction(threshold[node])
            gap = x[column] - cut
            above = reader.side(gap, v[column] - cut, f"{name}: split {node}", -1)
            node = int((op.right if above else op.left).array[node])
    return [LinearForm.of(value) for value in reader.numbers(name)]


PieceReader.rules = {
    **LINEAR,
    ops.Mul: _product,
    ops.Div: _product,
    ops.PiecewiseLinear: _each(_piecewise),
    ops.Smooth: _each(_smooth),
    ops.Softmax: _softmax,
    ops.Maximum: _pairs(1),
    ops.Minimum: _pairs(-1),
    ops.ReduceMax: _extreme(1),
    ops.ReduceMin: _extreme(-1),
    **dict.fromkeys((ops.Le, ops.Lt, ops.Ge, ops.Gt, ops.Eq, ops.Ne), _compare),
    ops.IsLabel: _is_label,
    ops.And: _connective,
    ops.Or: _connective,
    ops.Not: _not,
    ops.Select: _select,
    ops.Argmax: _argmax,
    ops.Lookup: _lookup,
    ops.ToReal: lambda reader, _, op: reader.entries(op.x),
    ops.RoundFloat32: _each(_rounded),
    ops.TreeEnsemble: _trees,
}
