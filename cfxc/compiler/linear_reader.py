"""Programs read as linear forms: of trees, of functions of one feature, of units ``max(z, 0)``.

Each reader is a table, op → rule, on the rules that keep forms linear.  Their sources:

* :class:`SeparableReader`, whose forms decide most forests and boosted models once they are
  ``simplified``: ``(name, column)`` of an ensemble, or a ``Unary`` function of one feature;
* :class:`UnitReader`, for networks, scores and constraints: ``("x", feature)``, a number;
  ``("is", feature, place)``, 1 for one label, 0 for the others; ``("unit", k)``, the maximum of
  unit k's form and 0, where forms use earlier units alone; ``("step", k)``, 1 where a form of one
  number is at least 0 (or above it), else 0; ``("noise", k)``, by how much rounding to float32
  changes a form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial, reduce
from typing import Any, ClassVar

import numpy as np

from ..errors import UnsupportedError
from ..ir import Let, Literal, Op, Operand, Program, ops
from ..ir.linear import ONE, ZERO, Inequality, LinearForm
from ..ir.op import rule_of
from ..stopping import poll, polled
from .splits import Column, Unary, resolve_columns

Form = LinearForm[Any]
Entries = list[Form]
Rule = Callable[[Any, str, Any], Entries]


class Reader:
    """Looks values up by name, each once.

    ``rules`` say which ops are read, and as what; ``given`` are inputs that are known.
    """

    rules: ClassVar[Mapping[type, Rule]]
    given: Mapping[str, Entries] = {}

    def __init__(self, program: Program) -> None:
        self.definitions: dict[str, Op] = {}
        self.program = program
        for statement in program.body:
            if not isinstance(statement, Let):
                raise UnsupportedError("the outcome branches outside of its trees")
            self.definitions[statement.name] = statement.op
        self.known: dict[str, Entries] = {}

    def conjunction(self, operand: Operand) -> list[Inequality]:
        """What a Boolean stands for, as comparisons that all must hold."""
        if isinstance(operand, Literal):
            return [Inequality(LinearForm.of(0 if operand.value else -1))]
        op = self.definitions.get(operand)
        if isinstance(op, ops.And):
            return [one for part in op.operands() for one in self.conjunction(part)]
        if isinstance(op, ops.Le | ops.Lt | ops.Ge | ops.Gt):
            (x,), (y,) = self.entries(op.x), self.entries(op.y)
            low, high = (x, y) if isinstance(op, ops.Le | ops.Lt) else (y, x)
            return [Inequality(high - low, isinstance(op, ops.Lt | ops.Gt))]
        raise UnsupportedError(
            f"'{kind_of(op)}' decides, which is no comparison of sums over trees"
        )

    def entries(self, operand: Operand) -> Entries:
        """A number or vector as one form per entry."""
        if isinstance(operand, Literal):
            return [LinearForm.of(operand.value)]
        if operand in self.given:
            return self.given[operand]
        if operand not in self.known:
            poll()
            op = self.definitions.get(operand)
            rule = rule_of(self.rules, op) if op is not None else None
            if rule is None:
                raise UnsupportedError(
                    f"'{kind_of(op)}' enters the outcome, which is no linear form"
                )
            self.known[operand] = rule(self, operand, op)
        return self.known[operand]

    def pairs(self, op: Any) -> list[tuple[Form, Form]]:
        """The entries of both operands, of which one may be a scalar."""
        x, y = self.entries(op.x), self.entries(op.y)
        size = max(len(x), len(y))
        return list(zip(spread(x, size), spread(y, size), strict=True))


def spread(entries: Sequence[Any], size: int) -> list[Any]:
    """Entries as many as asked for: a single one stands for all."""
    return list(entries) * size if len(entries) == 1 else list(entries)


def kind_of(op: Op | None) -> str:
    """What messages call what makes a value."""
    return "a feature" if op is None else type(op).__name__.lower()


def _ensemble(reader: Reader, name: str, op: ops.TreeEnsemble) -> Entries:
    base = op.base.exact()
    return [LinearForm.one((name, k)) + Fraction(base[k]) for k in range(op.base.shape[0])]


def _affine(reader: Reader, name: str, op: ops.Affine) -> Entries:
    x, weight, bias = reader.entries(op.x), op.weight.exact(), op.bias.exact()
    return [
        LinearForm.sum(zip(map(Fraction, row), x, strict=True), Fraction(shift))
        for row, shift in polled(zip(weight, bias, strict=True), 1)
    ]


def _product(reader: Reader, name: str, op: ops.Mul | ops.Div) -> Entries:
    pairs = reader.pairs(op)
    if isinstance(op, ops.Mul) and any(y.terms for _, y in pairs):
        pairs = [(y, x) for x, y in pairs]
    divides = isinstance(op, ops.Div)
    if any(y.terms or (divides and not y.constant) for _, y in pairs):
        raise UnsupportedError("sums over trees are multiplied or divided by each other")
    return [x / y.constant if divides else x * y.constant for x, y in pairs]


LINEAR: Mapping[type, Rule] = {
    ops.Affine: _affine,
    ops.Add: lambda r, _, op: [x + y for x, y in r.pairs(op)],
    ops.Sub: lambda r, _, op: [x - y for x, y in r.pairs(op)],
    ops.Mul: _product,
    ops.Div: _product,
    ops.ReduceSum: lambda r, _, op: [LinearForm.sum((ONE, x) for x in r.entries(op.x))],
    ops.Neg: lambda r, _, op: [-entry for entry in r.entries(op.x)],
    ops.Identity: lambda r, _, op: r.entries(op.x),
    ops.Reshape: lambda r, _, op: r.entries(op.x),
    ops.Item: lambda r, _, op: [r.entries(op.x)[op.index]],
    ops.Take: lambda r, _, op: [r.entries(op.x)[i] for i in op.indices],
    ops.Concat: lambda r, _, op: [entry for part in op.operands() for entry in r.entries(part)],
    ops.Constant: lambda r, _, op: [
        LinearForm.of(value) for value in np.ravel(op.value.exact()).tolist()
    ],
}
"""How ops are read that keep forms linear."""
Reader.rules = {**LINEAR, ops.TreeEnsemble: _ensemble}


class SeparableReader(Reader):
    """Reads sums over trees and over functions of one feature; their sources are ``Unary``."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.columns = resolve_columns(program)

    def entries(self, operand: Operand) -> Entries:
        """A number or vector as one form per entry."""
        columns = self.columns.get(operand) if isinstance(operand, str) else None
        if columns and all(column is not None for column in columns):
            return [_form(column) for column in columns]
        return super().entries(operand)


def _form(column: Column) -> Form:
    """A function of one feature as a source, its factor and its constant apart."""
    if column is None:
        raise UnsupportedError("a column mixes several features")
    if isinstance(column, Fraction):
        return LinearForm.of(column)
    if column.table is not None:
        return LinearForm.one(column) if any(column.table) else LinearForm({})
    step: Form = LinearForm({})
    if column.below is not None:
        place, factor, shift = column.below
        if factor != column.factor:
            raise UnsupportedError("a column is linear in two ways")
        table = (shift - column.shift, ZERO)
        step = LinearForm.one(Unary(column.input, table=table, steps=(place,)))
    plain = replace(column, factor=ONE, shift=ZERO, below=None)
    return column.factor * LinearForm.one(plain) + column.shift + step


def requirements(program: Program, output: str) -> list[Inequality]:
    """The conjunction that a Boolean output of a straight-line program stands for.

    A constant output gives one requirement on a constant.  Sources are ``(name, column)`` of an
    ensemble, or a ``Unary``.

    Raises:
        UnsupportedError: something other than trees and functions of one feature decides.
    """
    reader = SeparableReader(program)
    return reader.conjunction(program.output(output))


@dataclass
class Units:
    """The units and roundings of all programs read so far, in order."""

    forms: list[Form] = field(default_factory=list)
    rounded: list[Form] = field(default_factory=list)
    steps: list[Inequality] = field(default_factory=list)

    def positive(self, form: Form) -> Form:
        """``max(form, 0)``."""
        if not form.terms:
            return LinearForm.of(max(form.constant, ZERO))
        self.forms.append(form)
        return LinearForm.one(("unit", len(self.forms) - 1))

    def step(self, form: Form, strict: bool) -> Form:
        """1 where a form of one number is at least 0 (or above it), else 0."""
        if not form.terms:
            holds = form.constant > 0 or (form.constant == 0 and not strict)
            return LinearForm.of(int(holds))
        if len(form.terms) > 1 or next(iter(form.terms))[0] != "x":
            raise UnsupportedError("a truth value that several features decide is used as a number")
        self.steps.append(Inequality(form, strict))
        return LinearForm.one(("step", len(self.steps) - 1))

    def noise(self, form: Form) -> Form:
        """The form rounded to float32."""
        self.rounded.append(form)
        return form + LinearForm.one(("noise", len(self.rounded) - 1))


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

    def conjunction(self, operand: Operand) -> list[Inequality]:
        """Comparisons and label tests that all must hold."""
        op = self.definitions.get(operand) if isinstance(operand, str) else None
        if isinstance(op, ops.IsLabel):
            return [Inequality(self.is_label(op) - 1)]
        if isinstance(op, ops.Not):
            inner = self.definitions.get(op.x) if isinstance(op.x, str) else None
            if isinstance(inner, ops.IsLabel):
                return [Inequality(-self.is_label(inner))]
        if isinstance(op, ops.Eq):
            ((x, y),) = self.pairs(op)
            return [Inequality(x - y), Inequality(y - x)]
        return super().conjunction(operand)

    def is_label(self, op: ops.IsLabel) -> Form:
        """1 where a category has a label, else 0."""
        if not isinstance(op.x, str) or op.x not in self.labels:
            raise UnsupportedError("a label is tested that no feature has")
        place = self.sorts[op.x].labels.position(op.label)
        held = self.labels[op.x]
        if isinstance(held, int):
            return LinearForm.of(int(held == place))
        return LinearForm.one(("is", held, place))


def _indicators(reader: Any, name: str, op: ops.ToReal) -> Entries:
    """Numbers as they are; truth values of comparisons with constants as steps."""
    compared = reader.definitions.get(op.x)
    if not isinstance(compared, ops.Le | ops.Lt | ops.Ge | ops.Gt):
        entries: Entries = reader.entries(op.x)
        return entries
    less, strict = isinstance(compared, ops.Le | ops.Lt), isinstance(compared, ops.Lt | ops.Gt)
    return [reader.units.step(y - x if less else x - y, strict) for x, y in reader.pairs(compared)]


def _unary(function: Any) -> Any:
    """A rule that goes entry by entry."""
    return lambda reader, _, op: [function(reader.units, x, op) for x in reader.entries(op.x)]


def _piecewise(units: Units, x: Form, op: ops.PiecewiseLinear) -> Form:
    constant, slope, turns = op.hinges()
    parts = [(change, units.positive(x - place)) for place, change in turns]
    return LinearForm.sum([(slope, x), *parts], constant)


def _larger(units: Units, x: Form, y: Form) -> Form:
    return y + units.positive(x - y)


def _pairs(sign: int) -> Any:
    """Maximum (1) or minimum (-1) of two, entry by entry."""
    return lambda reader, _, op: [
        sign * _larger(reader.units, sign * x, sign * y) for x, y in reader.pairs(op)
    ]


def _extreme(sign: int) -> Any:
    """Maximum (1) or minimum (-1) of a vector."""

    def rule(reader: Any, name: str, op: Any) -> Entries:
        entries = [sign * entry for entry in reader.entries(op.x)]
        return [sign * reduce(partial(_larger, reader.units), entries)]

    return rule


def _lookup(reader: Any, name: str, op: ops.Lookup) -> Entries:
    if not isinstance(op.x, str) or op.x not in reader.labels:
        raise UnsupportedError("a table is looked up by what is no feature")
    held, table = reader.labels[op.x], op.table.exact().reshape(len(op.labels), -1)
    if isinstance(held, int):
        return [LinearForm.of(value) for value in table[held]]
    return [
        LinearForm({("is", held, i): Fraction(v) for i, v in enumerate(column.tolist()) if v})
        for column in table.T
    ]


UnitReader.rules = {
    **LINEAR,
    ops.ToReal: _indicators,
    ops.Lookup: _lookup,
    ops.PiecewiseLinear: _unary(_piecewise),
    ops.RoundFloat32: _unary(lambda units, x, op: units.noise(x)),
    ops.Maximum: _pairs(1),
    ops.Minimum: _pairs(-1),
    ops.ReduceMax: _extreme(1),
    ops.ReduceMin: _extreme(-1),
}
