"""Programs as linear forms over features and units ``max(z, 0)``: networks, scores, constraints.

Every scalar of a program is read as a constant plus multiples of

* ``("x", feature)``, a number, and ``("is", feature, place)``, 1 for one label, 0 for the others;
* ``("unit", k)``, the maximum of unit k's form and 0, where forms use earlier units alone;
* ``("step", k)``, 1 where a form of one number is at least 0 (or above it), else 0;
* ``("noise", k)``, by how much rounding to float32 changes a form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..errors import UnsupportedError
from ..ir import Operand, Program, ops
from .additive import LINEAR, Additive, Entries, Reader, Requirement, constant

HALF_ULP = Fraction(1, 2**24)  # of float32, relative
SMALLEST = Fraction(1, 2**150)  # half of the least float32


@dataclass
class Units:
    """The units and roundings of all programs read so far, in order."""

    forms: list[Additive] = field(default_factory=list)
    rounded: list[Additive] = field(default_factory=list)
    steps: list[Requirement] = field(default_factory=list)

    def positive(self, form: Additive) -> Additive:
        """``max(form, 0)``."""
        if not form.terms:
            return constant(max(form.constant, Fraction(0)))
        self.forms.append(form)
        return Additive(Fraction(0), {("unit", len(self.forms) - 1): Fraction(1)})

    def step(self, form: Additive, strict: bool) -> Additive:
        """1 where a form of one number is at least 0 (or above it), else 0."""
        if not form.terms:
            holds = form.constant > 0 or (form.constant == 0 and not strict)
            return constant(int(holds))
        if len(form.terms) > 1 or next(iter(form.terms))[0] != "x":
            raise UnsupportedError("a truth value that several features decide is used as a number")
        self.steps.append(Requirement(form, strict))
        return Additive(Fraction(0), {("step", len(self.steps) - 1): Fraction(1)})

    def noise(self, form: Additive) -> Additive:
        """The form rounded to float32."""
        self.rounded.append(form)
        return form.plus(Additive(Fraction(0), {("noise", len(self.rounded) - 1): Fraction(1)}))


class UnitReader(Reader):
    """Reads one program; ``units`` are shared with others over the same features.

    ``given`` are the numeric inputs, ``labels`` what categories are: the name of the feature, or
    the label that a factual has.

    Raises:
        UnsupportedError: something is neither linear nor a maximum.
    """

    def __init__(
        self,
        program: Program,
        given: Mapping[str, Entries],
        labels: Mapping[str, Any],
        units: Units,
    ) -> None:
        super().__init__(program)
        self.given, self.labels, self.units = given, labels, units
        self.sorts = dict(program.inputs)

    def conjunction(self, operand: Operand) -> list[Requirement]:
        """Comparisons and label tests that all must hold."""
        op = self.definitions.get(operand) if isinstance(operand, str) else None
        if isinstance(op, ops.IsLabel):
            return [Requirement(self.is_label(op).plus(constant(-1)), strict=False)]
        if isinstance(op, ops.Not):
            inner = self.definitions.get(op.x) if isinstance(op.x, str) else None
            if isinstance(inner, ops.IsLabel):
                negated = self.is_label(inner).scaled(Fraction(-1))
                return [Requirement(negated, strict=False)]
        if isinstance(op, ops.Eq):
            (x,), (y,) = self.entries(op.x), self.entries(op.y)
            difference = x.plus(y.scaled(Fraction(-1)))
            return [Requirement(difference.scaled(Fraction(f)), strict=False) for f in (1, -1)]
        return super().conjunction(operand)

    def is_label(self, op: ops.IsLabel) -> Additive:
        """1 where a category has a label, else 0."""
        if not isinstance(op.x, str) or op.x not in self.labels:
            raise UnsupportedError("a label is tested that no feature has")
        place = self.sorts[op.x].labels.position(op.label)
        held = self.labels[op.x]
        if isinstance(held, int):
            return constant(int(held == place))
        return Additive(Fraction(0), {("is", held, place): Fraction(1)})


def _indicators(reader: Any, name: str, op: ops.ToReal) -> Entries:
    """Numbers as they are; truth values of comparisons with constants as steps."""
    compared = reader.definitions.get(op.x)
    if not isinstance(compared, ops.Le | ops.Lt | ops.Ge | ops.Gt):
        entries: Entries = reader.entries(op.x)
        return entries
    x, y = reader.entries(compared.x), reader.entries(compared.y)
    size, less = max(len(x), len(y)), isinstance(compared, ops.Le | ops.Lt)
    x, y = (each * size if len(each) == 1 else each for each in (x, y))
    strict = isinstance(compared, ops.Lt | ops.Gt)
    return [
        reader.units.step(b.plus(a.scaled(Fraction(-1))) if less else
                          a.plus(b.scaled(Fraction(-1))), strict)
        for a, b in zip(x, y, strict=True)
    ]  # fmt: skip


def _unary(function: Any) -> Any:
    """A rule that goes entry by entry."""
    return lambda reader, _, op: [function(reader.units, x, op) for x in reader.entries(op.x)]


def _leaky(units: Units, x: Additive, op: ops.LeakyRelu) -> Additive:
    return x.scaled(op.alpha).plus(units.positive(x).scaled(1 - op.alpha))


def _clipped(units: Units, x: Additive, op: ops.Clip) -> Additive:
    above = units.positive(x.plus(constant(-op.lower)))
    beyond = units.positive(x.plus(constant(-op.upper)))
    return constant(op.lower).plus(above).plus(beyond.scaled(Fraction(-1)))


def _magnitude(units: Units, x: Additive, op: ops.Abs) -> Additive:
    return units.positive(x).scaled(Fraction(2)).plus(x.scaled(Fraction(-1)))


def _larger(units: Units, x: Additive, y: Additive) -> Additive:
    return y.plus(units.positive(x.plus(y.scaled(Fraction(-1)))))


def _pairs(sign: int) -> Any:
    """Maximum (1) or minimum (-1) of two, entry by entry."""

    def rule(reader: Any, name: str, op: Any) -> Entries:
        x, y = reader.entries(op.x), reader.entries(op.y)
        size, factor = max(len(x), len(y)), Fraction(sign)
        x, y = (each * size if len(each) == 1 else each for each in (x, y))
        return [
            _larger(reader.units, a.scaled(factor), b.scaled(factor)).scaled(factor)
            for a, b in zip(x, y, strict=True)
        ]

    return rule


def _extreme(sign: int) -> Any:
    """Maximum (1) or minimum (-1) of a vector."""

    def rule(reader: Any, name: str, op: Any) -> Entries:
        factor = Fraction(sign)
        entries = [entry.scaled(factor) for entry in reader.entries(op.x)]
        best = entries[0]
        for entry in entries[1:]:
            best = _larger(reader.units, best, entry)
        return [best.scaled(factor)]

    return rule


def _lookup(reader: Any, name: str, op: ops.Lookup) -> Entries:
    if not isinstance(op.x, str) or op.x not in reader.labels:
        raise UnsupportedError("a table is looked up by what is no feature")
    held, table = reader.labels[op.x], op.table.exact().reshape(len(op.labels), -1)
    if isinstance(held, int):
        return [constant(value) for value in table[held]]
    return [
        Additive(
            Fraction(0),
            {("is", held, i): Fraction(v) for i, v in enumerate(column.tolist()) if v},
        )
        for column in table.T
    ]


UnitReader.rules = {
    **LINEAR,
    ops.ToReal: _indicators,
    ops.Lookup: _lookup,
    ops.Relu: _unary(lambda units, x, op: units.positive(x)),
    ops.LeakyRelu: _unary(_leaky),
    ops.Clip: _unary(_clipped),
    ops.Abs: _unary(_magnitude),
    ops.RoundFloat32: _unary(lambda units, x, op: units.noise(x)),
    ops.Maximum: _pairs(1),
    ops.Minimum: _pairs(-1),
    ops.ReduceMax: _extreme(1),
    ops.ReduceMin: _extreme(-1),
}

__all__ = ["HALF_ULP", "SMALLEST", "UnitReader", "Units"]
